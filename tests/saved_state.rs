//! A switch goes on with its saved state after it was ended or killed, and with none that is cut
//! off or foreign.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bofuss_tests::folder::Folder;
use bofuss_tests::locked::give;
use bofuss_tests::{Process, have, printed, program, run, until};

/// How often a switch is killed while its entries change.
const KILLS: usize = 40;

/// A folder, with one for states in it.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::create_dir(folder.file("disk")).unwrap();
    folder
}

/// Starts a switch with this name, this folder for its state and log, and further arguments.
fn start(folder: &Folder, name: &str, more: &[&str]) -> Process {
    let log = std::fs::File::create(folder.file("log")).unwrap();
    let mut command = Command::new(program("bofuss"));
    command.args(["run", "--name", name, "--accelerate", "off", "--state-dir"]);
    command.arg(folder.file("disk")).args(more);
    let process = Process::start(command.stdout(Stdio::null()).stderr(log));
    until("the switch listens", || {
        log_of(folder).contains("waiting for controllers")
    });
    process
}

fn log_of(folder: &Folder) -> String {
    std::fs::read_to_string(folder.file("log")).unwrap_or_default()
}

fn exists(folder: &Folder, name: &str) -> bool {
    std::fs::symlink_metadata(folder.file(name)).is_ok()
}

fn dpctl(switch: &str, words: &[&str]) -> String {
    let output = run(Command::new(program("dpctl")).arg(switch).args(words));
    assert!(output.status.success(), "{words:?}: {}", printed(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The value of a word such as `duration=` in a line, in seconds.
fn seconds(line: &str, word: &str) -> f64 {
    let rest = line
        .split_once(word)
        .unwrap_or_else(|| panic!("{word}: {line}"))
        .1;
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    rest[..end].parse().unwrap()
}

#[test]
fn a_switch_goes_on_where_it_ended() {
    if !have(&["ip"]) {
        return;
    }
    let folder = folder("state");
    let name = format!("st{}", std::process::id());
    let ports = ["--port", "tap:st0", "--port", "tap:st1"];
    let mut switch = start(&folder, &name, &ports);
    dpctl(
        &name,
        &["add-meter", "meter=3,kbps,bands=type=drop,rate=500"],
    );
    dpctl(
        &name,
        &[
            "add-group",
            "group_id=4,type=all,bucket=output:1,bucket=output:2",
        ],
    );
    let timeouts = "priority=5,cookie=0x7,in_port=1,idle_timeout=100,hard_timeout=200";
    dpctl(&name, &["add-flow", &format!("{timeouts},actions=group:4")]);
    dpctl(
        &name,
        &[
            "add-flow",
            "priority=6,hard_timeout=4,in_port=2,actions=drop",
        ],
    );
    let first = Instant::now();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(switch.terminate(), Some(0));
    let file = std::fs::metadata(folder.file("disk/state")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    assert!(!exists(&folder, "disk/state.new"));
    let mut switch = start(&folder, &name, &ports);
    let log = log_of(&folder);
    assert!(
        log.contains("state: 2 entries, 1 groups, 1 meters"),
        "{log}"
    );
    let flows = dpctl(&name, &["dump-flows"]);
    let line = flows
        .lines()
        .find(|line| line.contains("cookie=0x7,"))
        .unwrap();
    let lived = seconds(line, "duration=");
    let really = first.elapsed().as_secs_f64();
    assert!(
        (lived - really).abs() < 1.0,
        "{lived} s instead of {really} s: {line}"
    );
    assert!(dpctl(&name, &["dump-groups"]).contains("group_id=4"));
    assert!(dpctl(&name, &["dump-meters"]).contains("rate=500"));
    // What was left of 4 s goes on.
    until("the other entry expires", || {
        !dpctl(&name, &["dump-flows"]).contains("priority=6")
    });
    let lived = first.elapsed().as_secs_f64();
    assert!((3.0..5.5).contains(&lived), "{lived}");
    // Another switch may not use the folder.
    let other = run(Command::new(program("bofuss"))
        .args(["run", "--name", "other", "--state-dir"])
        .arg(folder.file("disk")));
    let said = printed(&other);
    assert!(said.contains("another switch uses it"), "{said}");
    assert_eq!(switch.terminate(), Some(0));
}

#[test]
fn states_of_flows_go_on_with_what_is_left_of_their_timers() {
    if !have(&["ip"]) {
        return;
    }
    let folder = folder("flows");
    let name = format!("sf{}", std::process::id());
    let ports = ["--port", "tap:sf0", "--port", "tap:sf1"];
    let mut switch = start(&folder, &name, &ports);
    let key = |host: u8| format!("key=(eth_src=02:00:00:00:00:0{host})");
    let timer = |seconds: u8| format!("hard_timeout={seconds}000000,hard_rollback=9");
    for text in [
        "table_config,table=0,stateful=1".into(),
        "set_lookup_extractor,table=0,fields=eth_src".into(),
        "set_update_extractor,table=0,fields=eth_src".into(),
        "set_global_variable,table=0,id=2,value=77".into(),
        "set_condition,table=0,id=0,condition=fd0+lt+gd2".into(),
        format!("set_flow_state,table=0,{},state=3,{}", key(1), timer(100)),
        format!("set_flow_state,table=0,{},state=4,{}", key(2), timer(5)),
        format!("set_flow_variable,table=0,id=1,{},value=66", key(1)),
        "set_global_state,global_state=5".into(),
    ] {
        dpctl(&name, &["state_mod", &text]);
    }
    let first = Instant::now();
    let counts = "set_data_var(table=0,output=fd0,function=sum,operands=fd0+1)";
    dpctl(
        &name,
        &[
            "add-flow",
            &format!("tcp,condition0=1,actions={counts},output:2"),
        ],
    );
    let before = dpctl(&name, &["state_tables"]);
    assert!(before.contains("value=66"), "{before}");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(switch.terminate(), Some(0));
    let mut switch = start(&folder, &name, &ports);
    let log = log_of(&folder);
    let said = "2 states of extensions";
    assert!(
        log.contains(said) && log.contains("0 things were left out"),
        "{log}"
    );
    assert_eq!(dpctl(&name, &["state_tables"]), before);
    let states = dpctl(&name, &["state_stats"]);
    let line = states
        .lines()
        .find(|line| line.contains("state=3"))
        .unwrap();
    let (lived, really) = (seconds(line, "duration="), first.elapsed().as_secs_f64());
    assert!(
        (lived - really).abs() < 1.0,
        "{lived} s instead of {really} s: {line}"
    );
    until("what was left of 5 s goes on", || {
        dpctl(&name, &["state_stats"]).contains("state=9")
    });
    let lived = first.elapsed().as_secs_f64();
    assert!((4.0..6.5).contains(&lived), "{lived}");
    assert_eq!(switch.terminate(), Some(0));
}

#[test]
fn a_locked_switch_saves_its_state_while_it_runs() {
    let folder = folder("lockst");
    give(folder.0.to_str().unwrap());
    give(&folder.file("disk"));
    let name = format!("lo{}", std::process::id());
    let locked = ["--lock-down", "--state-interval", "1"];
    let mut switch = start(&folder, &name, &locked);
    dpctl(&name, &["add-flow", "table=1,cookie=0x9,actions=drop"]);
    let size = || std::fs::metadata(folder.file("disk/state")).map_or(0, |file| file.len());
    let first = {
        until("the state is saved", || size() > 0);
        size()
    };
    dpctl(&name, &["add-flow", "table=2,cookie=0x9,actions=drop"]);
    until("it is saved again", || size() > first);
    switch.0.kill().unwrap();
    switch.0.wait().unwrap();
    let mut switch = start(&folder, &name, &locked);
    assert!(
        log_of(&folder).contains("state: 2 entries"),
        "{}",
        log_of(&folder)
    );
    assert_eq!(switch.terminate(), Some(0));
}

#[test]
fn a_full_disk_keeps_the_last_state() {
    if !have(&["mount", "umount"]) {
        return;
    }
    let folder = folder("full");
    let disk = folder.file("disk");
    let mount = ["-t", "tmpfs", "-o", "size=64k", "tmpfs"];
    let mounted = run(Command::new("mount").args(mount).arg(&disk));
    assert!(mounted.status.success(), "{}", printed(&mounted));
    let name = format!("fu{}", std::process::id());
    let mut switch = start(&folder, &name, &["--state-interval", "1"]);
    dpctl(&name, &["add-flow", "table=1,cookie=0x9,actions=drop"]);
    let size = || std::fs::metadata(folder.file("disk/state")).map_or(0, |file| file.len());
    until("the entry is saved", || size() > 100);
    let kept = std::fs::read(folder.file("disk/state")).unwrap();
    let _ = std::fs::write(folder.file("disk/filler"), [0; 1 << 16]);
    until("a state finds no room", || {
        log_of(&folder).contains("the last state stays")
    });
    assert!(
        log_of(&folder).contains("No space left"),
        "{}",
        log_of(&folder)
    );
    let now = std::fs::read(folder.file("disk/state")).unwrap();
    assert_eq!(now.len(), kept.len());
    std::fs::remove_file(folder.file("disk/filler")).unwrap();
    dpctl(&name, &["add-flow", "table=2,cookie=0x9,actions=drop"]);
    until("it is saved again", || size() > kept.len() as u64);
    assert_eq!(switch.terminate(), Some(0));
    assert!(run(Command::new("umount").arg(&disk)).status.success());
}

#[test]
fn what_is_no_state_is_set_aside_and_the_switch_starts_empty() {
    let folder = folder("noset");
    let name = format!("no{}", std::process::id());
    let state = folder.file("disk/state");
    let aside = folder.file("disk/state.refused");
    let starts_empty = |why: &str| {
        let mut switch = start(&folder, &name, &[]);
        let log = log_of(&folder);
        assert!(
            log.contains(why) && log.contains("starts empty"),
            "{why}: {log}"
        );
        assert!(exists(&folder, "disk/state.refused") && !exists(&folder, "disk/state"));
        assert_eq!(switch.terminate(), Some(0));
        let _ = std::fs::remove_file(&aside);
    };
    std::fs::write(&state, "hello").unwrap();
    starts_empty("it is no state of a switch");
    let whole = std::fs::read(&state).unwrap();
    std::fs::write(&state, &whole[..whole.len() - 3]).unwrap();
    starts_empty("it is cut off or damaged");
    std::fs::write(&state, "bofuss-state 9\n").unwrap();
    starts_empty("another version of bofuss has written it");
    std::fs::remove_file(&state).unwrap();
    symlink("/etc/passwd", &state).unwrap();
    starts_empty("it is a symbolic link");
    std::fs::remove_file(&state).unwrap();
    assert!(run(Command::new("mkfifo").arg(&state)).status.success());
    starts_empty("it is no file");
    let sparse = std::fs::File::create(&state).unwrap();
    sparse.set_len(257 << 20).unwrap();
    starts_empty("it is larger than 256 MiB");
    let alone = run(Command::new(program("bofuss")).args(["run", "--state-interval", "5"]));
    let said = printed(&alone);
    assert!(
        said.contains("nothing is saved without --state-dir"),
        "{said}"
    );
    for wrong in ["/proc/self", &state, "/nonexistent"] {
        let mut command = Command::new(program("bofuss"));
        let refused = run(command.args(["run", "--state-dir"]).arg(wrong));
        let said = printed(&refused);
        assert!(
            !refused.status.success() && said.contains("--state-dir"),
            "{said}"
        );
    }
}

#[test]
fn a_killed_switch_has_the_last_state_as_a_whole() {
    kill_often(KILLS);
}

#[test]
#[ignore = "a thousand kills take several minutes"]
fn a_thousand_kills_leave_a_whole_state() {
    kill_often(1000);
}

/// Kills a switch that saves every second while pairs of entries are added in one bundle each.
fn kill_often(kills: usize) {
    let folder = folder("kill");
    let name = format!("ki{}", std::process::id());
    let mut confirmed = 0;
    for round in 0..kills {
        let switch = start(&folder, &name, &["--state-interval", "1"]);
        assert!(!log_of(&folder).contains("refused"), "{}", log_of(&folder));
        let flows = dpctl(&name, &["dump-flows"]);
        let count = |table: u8| flows.matches(&format!("table={table},")).count();
        assert_eq!(count(1), count(2), "a pair is whole in round {round}");
        assert!(count(1) >= confirmed, "{} of {confirmed}", count(1));
        // What was confirmed before a state was saved is in all later ones.
        let pair = |number: usize| {
            let priority = 1000 + number;
            let flow = |table: u8| format!("table={table},priority={priority},actions=drop");
            let all = format!("{}\n{}\n", flow(1), flow(2));
            let file = folder.file("flows");
            std::fs::write(&file, all).unwrap();
            dpctl(&name, &["add-flows", "--bundle", &file]);
        };
        pair(count(1));
        let before = std::fs::metadata(folder.file("disk/state"))
            .map(|file| file.ino())
            .ok();
        if round % 10 == 0 {
            until("the state is saved", || {
                let now = std::fs::metadata(folder.file("disk/state"))
                    .map(|file| file.ino())
                    .ok();
                now.is_some() && now != before
            });
            confirmed = count(1) + 1;
        } else {
            std::thread::sleep(Duration::from_millis((round * 37 % 90) as u64));
        }
        let mut process = switch;
        process.0.kill().unwrap();
        process.0.wait().unwrap();
    }
}
