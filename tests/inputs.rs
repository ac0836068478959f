//! Files that commands read: what is no file, has no end or is too large, and pipes of a shell.

use std::fs;
use std::process::{Command, Stdio};

use bofuss_tests::{Lab, Process, have, ok, program, until};

/// Runs a command that waits for nothing. Returns whether it succeeded, and what it prints.
fn at_once(words: &[&str]) -> (bool, String) {
    let log = std::env::temp_dir().join(format!("bofuss-inputs-{}", std::process::id()));
    let mut command = Command::new(program(words[0]));
    command.args(&words[1..]).stdin(Stdio::null());
    command
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).unwrap());
    let mut process = Process::start(&mut command);
    let mut status = None;
    until("it ends", || {
        status = process.0.try_wait().unwrap();
        status.is_some()
    });
    (status.unwrap().success(), fs::read_to_string(log).unwrap())
}

#[test]
fn commands_read_no_pipe_without_an_end_and_no_device_but_pipes_of_a_shell() {
    if !have(&["ip", "mkfifo", "bash"]) {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bofuss-inputs-d{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| folder.join(name).display().to_string();
    let (pipe, large, empty) = (file("pipe"), file("large"), file("s.toml"));
    ok(Command::new("mkfifo").arg(&pipe));
    fs::File::create(&large)
        .unwrap()
        .set_len(300 << 20)
        .unwrap();
    fs::write(&empty, "").unwrap();
    let lab = Lab::new(0, &[]);
    let name = lab.name.as_str();
    for (input, said) in [
        (pipe.as_str(), "neither a regular file nor a pipe"),
        ("/dev/zero", "neither a regular file nor a pipe"),
        (
            folder.to_str().unwrap(),
            "neither a regular file nor a pipe",
        ),
        (&large, "larger than 256 MiB"),
    ] {
        for words in [
            &["dpctl", name, "add-flows", input][..],
            &["dpctl", name, "replace-flows", input],
            &["dpctl", name, "add-groups", input],
            &["bofuss", "sim", input],
            &[
                "bofuss",
                "trace",
                "--config",
                &empty,
                "--flows",
                input,
                "in_port=1",
            ],
            &["bofuss", "replay", input],
        ] {
            let (done, told) = at_once(words);
            let is_clear = told.contains(&format!("{input}: {said}"));
            // A record may be longer; zeros are none.
            let is_record = words[1] == "replay" && input == large;
            assert!(!done && (is_clear || is_record), "{words:?}: {told}");
            assert!(told.len() < 5000, "{words:?}");
        }
    }
    for (words, input) in [
        (&["--config", "/dev/zero", "in_port=1"][..], "/dev/zero"),
        (&["--config", &empty, "--pcap", &pipe], &pipe),
    ] {
        let (done, told) = at_once(&[&["bofuss", "trace"], words].concat());
        let is_clear = told.contains(input) && told.contains("not a regular file");
        assert!(!done && is_clear, "{words:?}: {told}");
    }
    let dpctl = format!("{} {name}", program("dpctl").display());
    for (shell, count) in [
        (format!("{dpctl} add-flows <(echo tcp,actions=drop)"), 1),
        (format!("echo udp,actions=drop | {dpctl} add-flows -"), 2),
        (
            format!("echo arp,actions=drop | {dpctl} add-flows /dev/stdin"),
            3,
        ),
        (
            format!("(sleep 0.3; echo icmp,actions=drop) | {dpctl} add-flows -"),
            4,
        ),
        (
            format!("{dpctl} add-flows <(sleep 0.3; echo sctp,actions=drop)"),
            5,
        ),
        (format!("{dpctl} replace-flows /dev/null"), 0),
    ] {
        ok(Command::new("bash").args(["-c", &format!("set -o pipefail; {shell}")]));
        let flows = lab.asks(&["dump-flows"]);
        assert_eq!(
            flows.matches("actions=drop").count(),
            count,
            "{shell}: {flows}"
        );
    }
    fs::remove_dir_all(folder).unwrap();
}
