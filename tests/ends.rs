//! Tests that a switch ends, that nothing of it is left, and what a service manager is told.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Stdio};

use bofuss_tests::{Lab, Process, have, ip, printed, program, run, until};

#[test]
fn sigterm_ends_the_switch_cleanly() {
    if !have(&["ip"]) {
        return;
    }
    let mut lab = Lab::new(1, &[]);
    let socket = lab.address();
    assert_eq!(lab.switch.terminate(), Some(0));
    assert!(
        !std::path::Path::new(&socket["unix:".len()..]).exists(),
        "the socket is removed"
    );
    let link = ip(&format!("-d link show {}", lab.port(1)));
    assert!(
        link.contains("promiscuity 0"),
        "promiscuous mode is given back: {link}"
    );
}

#[test]
fn ofprotocol_takes_its_controllers_with_it_however_it_ends() {
    let dir = std::env::temp_dir().join(format!("bofuss-front-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let bofuss = std::fs::canonicalize(program("bofuss")).unwrap();
    let under = |name: &str| {
        let link = dir.join(name);
        let _ = std::os::unix::fs::symlink(&bofuss, &link);
        Command::new(link)
    };
    let place = |file: &str| dir.join(file).display().to_string();
    let name = format!("front-{}", std::process::id());
    let datapath = |more: &[&str]| {
        let mut command = under("ofdatapath");
        command.args([&format!("punix:{}", place(&name)), "--no-local-port", "-D"]);
        run(command.args(more))
    };
    let wrong = datapath(&["-i", "nosuch0"]);
    assert_eq!(wrong.status.code(), Some(1));
    let said = printed(&wrong);
    assert!(said.contains("no interface named 'nosuch0'"), "{said}");
    let right = datapath(&[&format!("--pidfile={}", place("pid"))]);
    assert!(right.status.success(), "{}", printed(&right));
    let status = |at: &str| printed(&run(Command::new(program("dpctl")).args(["status", at])));
    let main = format!("unix:{}", place(&name));
    assert!(
        status(&main).contains("local.is-connected=true"),
        "it works once it is detached"
    );
    let mut command = under("ofprotocol");
    command.args([main.as_str(), "tcp:127.0.0.1:1", "--fail=open"]);
    command.arg(format!("--listen=punix:{}", place("tools")));
    let protocol = Process::start(command.stderr(Stdio::null()));
    let tools = format!("unix:{}", place("tools"));
    until("the controller is followed", || {
        status(&tools).contains("remote.1.name=tcp:127.0.0.1:1\n")
    });
    // It is killed, and cannot say goodbye.
    drop(protocol);
    until("the controller is given up, and the listener", || {
        !status(&main).contains("remote.1") && !dir.join("tools").exists()
    });
    let pid = std::fs::read_to_string(dir.join("pid")).unwrap();
    assert!(run(Command::new("kill").arg(pid.trim())).status.success());
    until("the switch ends", || {
        !dir.join(&name).exists() && !dir.join("pid").exists()
    });
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_closed_terminal_ends_a_switch_cleanly_unless_nohup_protects_it() {
    for (number, nohup) in [false, true].into_iter().enumerate() {
        let name = format!("hung-{}-{number}", std::process::id());
        let bofuss = program("bofuss");
        // The test itself may run under nohup.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP");
        command.args(nohup.then_some("nohup"));
        command.arg(&bofuss);
        command.args(["run", "--name", &name]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut switch = Process::start(&mut command);
        let dpctl = |verb: &str| run(Command::new(program("dpctl")).args([&name, verb]));
        until("it runs", || dpctl("show").status.success());
        let socket = printed(&run(Command::new(program("dpctl")).arg("switches")));
        let socket = socket
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}\tunix:")));
        let socket = std::path::PathBuf::from(socket.unwrap());
        run(Command::new("kill").args(["-HUP", &switch.0.id().to_string()]));
        if nohup {
            std::thread::sleep(std::time::Duration::from_millis(300));
            assert!(dpctl("show").status.success());
            assert_eq!(switch.terminate(), Some(0));
        }
        until("it ends", || switch.0.try_wait().unwrap().is_some());
        assert_eq!(switch.0.wait().unwrap().code(), Some(0));
        assert!(!socket.exists(), "{}", socket.display());
    }
}

#[test]
fn a_service_manager_is_told_that_the_switch_works_and_lives() {
    let path = std::env::temp_dir().join(format!("bofuss-manager-{}", std::process::id()));
    let manager = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    manager
        .set_read_timeout(Some(bofuss_tests::PATIENCE))
        .unwrap();
    let mut command = Command::new(program("bofuss"));
    let name = format!("managed-{}", std::process::id());
    command.args(["run", "--name", &name]).stderr(Stdio::null());
    command
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "100000");
    let mut switch = Process::start(&mut command);
    for wanted in ["READY=1", "WATCHDOG=1", "WATCHDOG=1"] {
        let mut said = [0; 64];
        let length = manager.recv(&mut said).unwrap();
        assert_eq!(std::str::from_utf8(&said[..length]).unwrap(), wanted);
    }
    switch.terminate();
    std::fs::remove_file(&path).unwrap();
}
