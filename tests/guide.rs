//! Pages with Mininet, run by a plain user: each command in a `console` block prints what follows
//! it there, with sudo only where the page has it.
//!
//! A line `…` on a page means any lines, and `…` in a line any text.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use bofuss_tests::{as_user, have_users};

const PROMPT: &str = "mininet> ";

/// A command of the page, whether it is one for Mininet, and what it has to print.
struct Step {
    command: &'static str,
    for_mininet: bool,
    wanted: Vec<&'static str>,
}

fn steps(page: &'static str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_console = line == "```console";
        } else if is_console {
            let of_mininet = line.strip_prefix(PROMPT);
            match of_mininet.or(line.strip_prefix("$ ")) {
                Some(command) => steps.push(Step {
                    command,
                    for_mininet: of_mininet.is_some(),
                    wanted: Vec::new(),
                }),
                None => steps.last_mut().unwrap().wanted.push(line.trim_end()),
            }
        }
    }
    steps
}

/// The steps as a shell script: each command of the shell prints a mark first, and the commands for
/// Mininet that follow it are its input.
fn script(steps: &[Step]) -> String {
    let mut text = String::new();
    let is_mininet = |step: Option<&Step>| step.is_some_and(|step| step.for_mininet);
    for (number, step) in steps.iter().enumerate() {
        let next = is_mininet(steps.get(number + 1));
        if step.for_mininet {
            writeln!(text, "{}", step.command).unwrap();
            if !next {
                writeln!(text, "END").unwrap();
            }
            continue;
        }
        let command = step.command.replace("/usr/local/share/bofuss", "/run/bin");
        let here = if next { " <<'END'" } else { "" };
        let quiet = command
            .strip_suffix('&')
            .map(|own| format!("{own}>/dev/null 2>&1 &"));
        writeln!(text, "echo; echo '#step'").unwrap();
        writeln!(text, "{}{here}", quiet.unwrap_or(command)).unwrap();
    }
    text
}

/// The page's program in Python.
fn python(page: &str) -> &str {
    let program = page.split_once("```python\n").unwrap().1;
    program.split_once("```").unwrap().0
}

/// Whether a text matches a pattern, in which `…` is any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            let Some((_, after)) = rest.split_once(before) else {
                return false;
            };
            rest = after;
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

/// Whether lines match those wanted, where `…` is any number of lines.
fn are(wanted: &[&str], lines: &[&str]) -> bool {
    match wanted {
        [] => lines.is_empty(),
        ["…", rest @ ..] => (0..=lines.len()).any(|skip| are(rest, &lines[skip..])),
        [first, rest @ ..] => {
            lines.first().is_some_and(|line| fits(first, line)) && are(rest, &lines[1..])
        }
    }
}

#[test]
fn the_lecture_goes_as_the_page_says() {
    goes_as_it_says(include_str!("../docs/guide/lecture.md"), 26);
}

#[test]
fn a_network_with_loops_goes_as_the_page_says() {
    goes_as_it_says(include_str!("../docs/guide/arp-path.md"), 14);
}

#[test]
fn a_shared_link_goes_as_the_page_says() {
    goes_as_it_says(include_str!("../docs/guide/openqflow.md"), 20);
}

/// Runs a page, which has at least this many commands; again if something differs, because what
/// else runs on the machine may lose packets.
fn goes_as_it_says(page: &'static str, commands: usize) {
    if !have_users(&["ip", "unshare", "sudo", "mn", "tshark", "curl", "iperf"]) {
        return;
    }
    let mut wrong = String::new();
    for _ in 0..3 {
        wrong = differences(page, commands);
        if wrong.is_empty() {
            return;
        }
    }
    panic!("{wrong}");
}

/// Runs a page. Returns which commands printed something else.
fn differences(page: &'static str, commands: usize) -> String {
    let steps = steps(page);
    assert!(steps.len() >= commands, "the page has commands");
    let script = format!(
        "cat >net.py <<'END'\n{}END\n{}",
        python(page),
        script(&steps)
    );
    let said = as_user(&script.replace("/usr/local/share/bofuss", "/run/bin"));
    // What the commands of the shell print, and what Mininet prints after each of its prompts.
    let parts = said.split("#step\n").skip(1);
    let mut printed = parts.flat_map(|part| part.split(PROMPT));
    let mut wrong = String::new();
    for step in &steps {
        let lines = printed.next().unwrap_or("nothing more was printed").lines();
        let lines: Vec<&str> = lines.map(str::trim_end).filter(|l| !l.is_empty()).collect();
        let is_noise = |line: &&str| !line.starts_with("Running as user");
        let lines: Vec<&str> = lines.into_iter().filter(is_noise).collect();
        let wanted: Vec<&str> = step
            .wanted
            .iter()
            .copied()
            .filter(|l| !l.is_empty())
            .collect();
        if !are(&wanted, &lines) {
            let (command, lines, wanted) = (step.command, lines.join("\n"), wanted.join("\n"));
            writeln!(
                wrong,
                "{command}\nit printed\n{lines}\nand the page has\n{wanted}\n"
            )
            .unwrap();
        }
    }
    wrong
}
