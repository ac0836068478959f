//! README's commands, run by a plain user as they are printed, with sudo only where it is printed.
#![allow(clippy::unwrap_used)]

use bofuss_tests::{as_user, have_users};

const PAGE: &str = include_str!("../README.md");
/// Takes the place of a build, and of the time that a reader takes: waits until the switch runs.
const BEFORE: &str = r#"set -e
mkdir -p target && ln -s /run/bin target/release
wait_for_switch() {
    for _ in $(seq 200); do
        ! dpctl switches 2>&1 | grep -q s0 || return 0
        sleep 0.05
    done
    cat log
    exit 1
}
"#;

/// The command lines of the page's section "Run it", without their comments.
fn commands() -> Vec<&'static str> {
    let section = PAGE.split_once("## Run it\n").unwrap().1;
    let section = section.split_once("\n## ").unwrap().0;
    let blocks = section.split("```\n").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines);
    lines
        .map(|line| line.split(" #").next().unwrap().trim_end())
        .collect()
}

#[test]
fn each_line_runs_as_printed() {
    if !have_users(&["ip", "unshare", "setpriv", "sudo", "mn"]) {
        return;
    }
    let mut script = BEFORE.to_owned();
    for line in commands() {
        script += &match line {
            // tests/make.rs runs these.
            "make build" | "sudo make install" => continue,
            _ if line.contains(" run ") => format!("{line} 2>log &\nwait_for_switch\n"),
            _ if line.contains("mn --custom") => {
                let line = line.replace("/usr/local/share/bofuss", "/run/bin");
                format!("{line} --test pingall\n")
            }
            _ => format!("echo '#'; {line}\n"),
        };
    }
    let said = as_user(&format!("{script}echo done"));
    for wanted in ["actions=NORMAL", "table 0", "0% dropped", "done\n"] {
        assert!(said.contains(wanted), "{wanted} in {said}");
    }
}

#[test]
fn times_of_builds_are_processor_time_and_those_of_the_makefile() {
    let makefile = include_str!("../Makefile");
    for (target, time) in [("demo", "two minutes"), ("build", "nine minutes")] {
        let time = format!("{time} of processor time");
        let mut lines = PAGE
            .lines()
            .filter(|l| l.starts_with(&format!("make {target} ")));
        assert!(lines.next().unwrap().contains(&time), "{target}");
        assert!(makefile.contains(&time), "{target}");
    }
    // Other times would be those of one machine.
    assert_eq!(makefile.matches("minute").count(), 3, "fuzz has the third");
}

#[test]
fn the_page_is_short() {
    assert!(PAGE.lines().count() <= 110, "one screen or so");
}
