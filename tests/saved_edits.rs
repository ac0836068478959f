//! What commands have made of a switch is saved, and gives the same switch again.
#![allow(clippy::unwrap_used)]

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use bofuss_tests::{Lab, Process, have, ok, printed, program, run, until};

use crate::{ctl, refused, told};

/// Checks that a configuration is saved through a link into a file, which keeps its mode, and into
/// nothing else.
fn saves_into_files_only(lab: &Lab) {
    let folder = std::env::temp_dir().join(format!("{}-saved", lab.name));
    std::fs::create_dir(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let [file, link, fifo] = ["file", "link", "fifo"].map(path);
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    symlink("file", &link).unwrap();
    ok(Command::new("mkfifo").arg(&fifo));
    told(lab, &["save-config", &link]);
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("file"));
    let saved = told(lab, &["config"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), saved);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for other in [&fifo, "/dev/null", folder.to_str().unwrap()] {
        let said = refused(lab, &["save-config", other]);
        assert!(said.contains("it is no regular file"), "{said}");
    }
    let nowhere = path("nowhere");
    symlink("missing", &nowhere).unwrap();
    let said = refused(lab, &["save-config", &nowhere]);
    assert!(said.contains("the link leads nowhere"), "{said}");
    let said = refused(lab, &["save-config", &file, "again"]);
    assert!(said.contains("needs one FILE"), "{said}");
    // As on a full disk, no byte can be written.
    let mut limited = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" ctl \"$1\" save-config \"$2\"";
    limited.args(["-c", script]).arg(program("bofuss"));
    let output = run(limited.args([&lab.name, &file]));
    assert!(!output.status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), saved);
    let left = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 4, "no part of a file stays");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_was_saved_gives_the_same_switch_again() {
    if !have(&["ip"]) {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bofuss-edits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("switch.toml");
    let file = file.to_str().unwrap();
    std::fs::write(file, "# Two hosts.\ntables = 7 # few\nport = [\n]\n").unwrap();
    let mut lab = Lab::with_file(3, &["--config", file]);
    for host in 1..=3 {
        told(&lab, &["add-port", &lab.port(host)]);
    }
    told(&lab, &["del-port", "1"]);
    told(&lab, &["set-port", "3", "rate=10M"]);
    told(&lab, &["set-fail-mode", "standalone"]);
    assert!(lab.pings(2, 3));
    let ports = told(&lab, &["ports"]);
    // It began without ports, so its datapath id is not the address of one.
    let shows_id = |lab: &Lab| printed(&lab.dpctl(&["features"])).contains("0000000000000001");
    assert!(shows_id(&lab));
    told(&lab, &["save-config", file]);
    let text = std::fs::read_to_string(file).unwrap();
    assert!(
        text.starts_with("# Two hosts.\ntables = 7 # few\n"),
        "{text}"
    );
    // Read again, it changes nothing.
    told(&lab, &["reload"]);
    assert!(lab.pings(2, 3));
    let is_same = |now: &str| {
        let names = |text: &str| -> Vec<String> {
            let lines = text.lines();
            lines
                .map(|line| line.split(" up").next().unwrap().into())
                .collect()
        };
        names(now) == names(&ports)
    };
    assert!(is_same(&told(&lab, &["ports"])));
    let (done, said) = ctl(&lab.name, &["save-config", "/nonexistent/file"]);
    assert!(!done && said.contains("/nonexistent/file: "), "{said}");
    saves_into_files_only(&lab);
    assert_eq!(lab.switch.terminate(), Some(0));
    let mut again = Command::new(program("bofuss"));
    again.args(["run", "--name", &lab.name, "--config", file]);
    lab.switch = Process::start(again.stderr(Stdio::null()));
    until("it runs again", || ctl(&lab.name, &["ports"]).0);
    assert!(is_same(&told(&lab, &["ports"])));
    assert!(shows_id(&lab));
    let said = printed(&lab.dpctl(&["dump-ports-desc"]));
    assert!(said.contains("10 Mbps now"), "{said}");
    until("its ports are up", || lab.pings(2, 3));
    // A list that was edited by hand moves no port.
    let text = format!("port = ['3={}', '{}']\n", lab.port(3), lab.port(1));
    std::fs::write(file, &text).unwrap();
    told(&lab, &["reload"]);
    let text = format!("port = ['{}', '{}']\n", lab.port(1), lab.port(3));
    std::fs::write(file, text).unwrap();
    told(&lab, &["reload"]);
    let ports = told(&lab, &["ports"]);
    for (number, host) in [(2, 1), (3, 3)] {
        assert!(
            ports.contains(&format!("{number} {} up", lab.port(host))),
            "{ports}"
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn one_of_two_switches_is_changed_and_both_are_saved() {
    if !have(&["ip"]) {
        return;
    }
    let file = std::env::temp_dir().join(format!("bofuss-two-{}.toml", std::process::id()));
    let pid = std::process::id();
    let [one, two] = ["one", "two"].map(|name| format!("{name}-{pid}"));
    let text = format!(
        "fail-mode = 'secure'\n[[switch]]\nname = '{one}' # the first\n[[switch]]\nname = '{two}'\n\
         port = ['tap:two{}']\n",
        pid % 10_000
    );
    std::fs::write(&file, text).unwrap();
    let mut bofuss = Command::new(program("bofuss"));
    bofuss.args(["run", "--config"]).arg(&file);
    let _process = Process::start(bofuss.stderr(Stdio::null()));
    until("both run", || ctl(&two, &["ports"]).0);
    let said = ctl(&one, &["set-fail-mode", "standalone"]);
    assert!(
        said.0 && said.1.contains("secure before, standalone now"),
        "{said:?}"
    );
    let (done, said) = ctl(&one, &["add-port", &format!("tap:two{}", pid % 10_000)]);
    assert!(
        !done && said.contains(&format!("it is a port of switch {two} already")),
        "{said}"
    );
    let (_, text) = ctl(&two, &["config"]);
    let first = text.split("[[switch]]").nth(1).unwrap();
    assert!(
        first.contains("# the first\n") && first.contains("fail-mode = \"standalone\""),
        "{text}"
    );
    assert!(text.ends_with("fail-mode = \"secure\"\n"), "{text}");
    assert!(ctl(&two, &["save-config", file.to_str().unwrap()]).0);
    ok(Command::new(program("bofuss")).args(["reload", &one]));
    assert_eq!(ctl(&one, &["config"]).1, text);
    std::fs::remove_file(file).unwrap();
}
