//! A switch that ends, and the next one: interfaces get their settings back, and names, interfaces
//! and addresses are free at once.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bofuss_ports::NetNs;
use bofuss_tests::{PATIENCE, Process, have, ip, ok, printed, program, run, until};

/// The settings that a port changes, and other values that they have before.
const SETTINGS: [(&str, &str); 4] = [
    ("ipv6/conf/IF/disable_ipv6", "0"),
    ("ipv4/conf/IF/arp_ignore", "2"),
    ("ipv4/conf/IF/rp_filter", "2"),
    ("ipv4/conf/IF/forwarding", "1"),
];
const ON_A_PORT: [&str; 4] = ["1", "8", "1", "0"];

fn path(setting: &str, interface: &str) -> String {
    format!("/proc/sys/net/{}", setting.replace("IF", interface))
}

fn settings(interface: &str) -> [String; 4] {
    SETTINGS.map(|(setting, _)| {
        let value = fs::read_to_string(path(setting, interface)).unwrap();
        value.trim().to_string()
    })
}

/// A pair of interfaces with these values, removed when dropped.
struct Pair(&'static str);

impl Pair {
    fn new(name: &'static str) -> Self {
        ip(&format!("link add {name} type veth peer name {name}x"));
        for (setting, value) in SETTINGS {
            fs::write(path(setting, name), value).unwrap();
        }
        Self(name)
    }

    fn is_a_port(&self) {
        assert_eq!(settings(self.0), ON_A_PORT, "{}", self.0);
    }

    fn is_as_before(&self, when: &str) {
        let before = SETTINGS.map(|(_, value)| value);
        assert_eq!(settings(self.0), before, "{} {when}", self.0);
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        ip(&format!("link del {}", self.0));
    }
}

/// A switch that is started by a command line, and its log.
struct Started(Process, PathBuf);

impl Started {
    fn new(words: &str) -> Self {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let log = format!("bofuss-restart-{}-{number}", std::process::id());
        let log = std::env::temp_dir().join(log);
        let mut words = words.split(' ');
        let mut command = Command::new(PathBuf::from(words.next().unwrap()));
        command.args(words).stdout(Stdio::null());
        command.stderr(fs::File::create(&log).unwrap());
        Self(Process::start(&mut command), log)
    }

    fn bofuss(words: &str) -> Self {
        Self::new(&format!("{} run {words}", program("bofuss").display()))
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.1).unwrap()
    }

    fn runs(mut self) -> Self {
        let log = self.1.clone();
        let said = || fs::read_to_string(&log).unwrap();
        until("it runs", || {
            let ended = self.0.0.try_wait().unwrap();
            assert!(ended.is_none(), "{}", said());
            said().contains("waiting for controllers")
        });
        self
    }

    fn signal(&self, name: &str) {
        ok(Command::new("kill").args([name, &self.0.0.id().to_string()]));
    }

    fn ends(&mut self) {
        let process = &mut self.0.0;
        until("it ends", || process.try_wait().unwrap().is_some());
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.1);
    }
}

fn bofuss(words: &str) -> String {
    ok(Command::new(program("bofuss")).args(words.split(' ')))
}

fn dpctl(words: &str) -> (bool, String) {
    let output = run(Command::new(program("dpctl")).args(words.split(' ')));
    (output.status.success(), printed(&output))
}

#[test]
fn interfaces_have_their_settings_back_however_the_switch_ends() {
    if !have(&["ip"]) {
        return;
    }
    let pairs = ["back1", "back2", "back3"].map(Pair::new);
    let file = std::env::temp_dir().join(format!("bofuss-back-{}.toml", std::process::id()));
    let switches = "[[switch]]\nname = 'b1'\nport = ['back1', 'back2']\n\
                    [[switch]]\nname = 'b2'\nport = ['back3']\n";
    fs::write(&file, switches).unwrap();
    for time in 1..=4 {
        for way in ["-TERM", "-INT", "shutdown"] {
            let mut both = Started::bofuss(&format!("--config {}", file.display()));
            both = both.runs();
            until("both run", || {
                both.log().matches("waiting for").count() == 2
            });
            pairs.iter().for_each(Pair::is_a_port);
            if way == "shutdown" {
                bofuss("ctl b1 shutdown");
                until("the first ends", || settings("back1") != ON_A_PORT);
                pairs[2].is_a_port();
                bofuss("ctl b2 shutdown");
            } else {
                both.signal(way);
            }
            both.ends();
            for pair in &pairs {
                pair.is_as_before(&format!("after {way}, time {time}"));
            }
        }
    }
    fs::remove_file(file).unwrap();
    // A switch that does not come up gives back what it took.
    let mut wrong = Started::bofuss("--port back1 --port nosuch0");
    wrong.ends();
    pairs[0].is_as_before("after an interface that is not there");
    let mut wrong = Started::bofuss("--port back1 --listen ptcp:1:192.0.2.1");
    wrong.ends();
    pairs[0].is_as_before("after an address that is not there");
}

#[test]
fn the_switch_after_a_killed_one_restores_the_settings() {
    if !have(&["ip"]) {
        return;
    }
    let pairs = ["kill1", "kill2"].map(Pair::new);
    let line = "--name k1 --port kill1 --port kill2";
    for _ in 0..3 {
        let mut killed = Started::bofuss(line).runs();
        killed.signal("-KILL");
        killed.ends();
        pairs.iter().for_each(Pair::is_a_port);
    }
    // Meanwhile somebody sets one of them to the value that a port needs.
    fs::write(path(SETTINGS[1].0, "kill2"), "1").unwrap();
    let mut last = Started::bofuss(line).runs();
    pairs.iter().for_each(Pair::is_a_port);
    last.signal("-TERM");
    last.ends();
    pairs[0].is_as_before("after all");
    let second = settings("kill2");
    assert_eq!(second[1], "1", "what was set since counts");
    assert_eq!((&*second[0], &*second[2], &*second[3]), ("0", "2", "1"));
    let kept = ["kill1", "kill2"].map(files_about);
    assert_eq!(kept, [0, 0], "nothing is left that is done");
}

#[test]
fn the_switch_after_a_locked_one_restores_the_settings() {
    if !have(&["ip"]) {
        return;
    }
    let pair = Pair::new("lock1");
    let line = "--name locked --port lock1";
    for way in ["-TERM", "shutdown", "-KILL"] {
        let mut locked = Started::bofuss(&format!("{line} --lock-down")).runs();
        until("it is locked down", || {
            locked.log().contains("locked down:")
        });
        match way {
            "shutdown" => drop(bofuss("ctl locked shutdown")),
            signal => locked.signal(signal),
        }
        locked.ends();
        // It has no rights to set them any more.
        pair.is_a_port();
    }
    let mut next = Started::bofuss(line).runs();
    next.signal("-TERM");
    next.ends();
    pair.is_as_before("after one that is not locked down");
}

/// The files in which settings of interfaces are that have this name.
fn files_about(interface: &str) -> usize {
    let files = fs::read_dir("/run/bofuss").into_iter().flatten().flatten();
    let texts = files.map(|file| fs::read_to_string(file.path()).unwrap_or_default());
    texts
        .filter(|text| text.starts_with(&format!("{interface} ")))
        .count()
}

#[test]
fn any_switch_clears_what_killed_ones_have_left_and_nothing_else() {
    if !have(&["ip"]) {
        return;
    }
    let pairs = ["left1", "left2", "left3"].map(Pair::new);
    let kill = |words: &str| {
        let mut killed = Started::bofuss(words).runs();
        killed.signal("-KILL");
        killed.ends();
    };
    kill("--name l1 --port left1");
    let next = Started::bofuss("--name l2 --port left2").runs();
    pairs[0].is_as_before("after the start of a switch on another interface");
    pairs[1].is_a_port();
    // That of a running switch stays, also when others come and go.
    kill("--name l3 --port left3");
    assert_eq!(["left1", "left2", "left3"].map(files_about), [0, 1, 1]);
    let mut last = Started::bofuss("--name l4").runs();
    assert_eq!(["left1", "left2", "left3"].map(files_about), [0, 1, 0]);
    pairs[1].is_a_port();
    pairs[2].is_as_before("after the start of a switch without ports");
    last.signal("-TERM");
    last.ends();
    // What is in another namespace is for a switch there, as long as there is that namespace.
    let space = NetNs::new().unwrap();
    space
        .run(|| {
            std::mem::forget(Pair::new("left4"));
            kill("--name l5 --port left4");
        })
        .unwrap();
    let start = |count: usize| {
        let mut other = Started::bofuss("--name l6").runs();
        assert_eq!(files_about("left4"), count);
        other.signal("-TERM");
        other.ends();
    };
    start(1);
    let within = || {
        start(0);
        let pair = Pair("left4");
        pair.is_as_before("after the start of a switch there");
        kill("--name l7 --port left4x");
        // It ends with its namespace.
        std::mem::forget(pair);
    };
    space.run(within).unwrap();
    assert_eq!(files_about("left4x"), 1);
    drop(space);
    start(0);
    assert_eq!(files_about("left4x"), 0, "its namespace is gone");
    drop((next, pairs));
}

/// The number of times that both switches are restarted at once.
const BURSTS: usize = 20;

#[test]
fn switches_in_two_namespaces_restart_in_bursts_and_after_kills() {
    if !have(&["ip"]) {
        return;
    }
    let spaces = [NetNs::new().unwrap(), NetNs::new().unwrap()];
    let within = |space: &NetNs, work: &mut (dyn FnMut() + Send)| space.run(work).unwrap();
    let start = |space: &NetNs| space.run(|| Started::bofuss("--port burst1")).unwrap();
    for space in &spaces {
        // The switch ends with its namespace.
        within(space, &mut || std::mem::forget(Pair::new("burst1")));
    }
    let mut before: Vec<_> = spaces.iter().map(|space| start(space).runs()).collect();
    for burst in 0..BURSTS {
        let signal = if burst % 2 == 0 { "-TERM" } else { "-KILL" };
        before.iter().for_each(|one| one.signal(signal));
        // They start while the former ones are ending.
        let next: Vec<_> = spaces.iter().map(start).collect();
        let next: Vec<_> = next.into_iter().map(Started::runs).collect();
        before.iter_mut().for_each(Started::ends);
        for space in &spaces {
            within(space, &mut || {
                let (done, said) = dpctl("show");
                assert!(done && said.contains("(burst1)"), "burst {burst}: {said}");
                assert_eq!(settings("burst1"), ON_A_PORT);
            });
        }
        let names = dpctl("switches").1;
        assert_eq!(names.lines().count(), 2, "burst {burst}: {names}");
        before = next;
    }
    before.iter().for_each(|one| one.signal("-TERM"));
    before.iter_mut().for_each(Started::ends);
    for space in &spaces {
        within(space, &mut || {
            assert_eq!(settings("burst1"), SETTINGS.map(|(_, value)| value))
        });
    }
}

#[test]
fn a_switch_starts_while_the_one_before_is_ending() {
    if !have(&["ip"]) {
        return;
    }
    let _pair = Pair::new("again1");
    let line = "--name again --port again1 --listen ptcp:16695";
    let mut before = Started::bofuss(line).runs();
    for _ in 0..10 {
        before.signal("-TERM");
        let next = Started::bofuss(line).runs();
        before.ends();
        assert!(dpctl("again show").1.contains("again1"));
        assert!(dpctl("tcp:127.0.0.1:16695 show").0);
        before = next;
    }
    // Nothing waits for a switch that goes on.
    let start = std::time::Instant::now();
    let mut other = Started::bofuss("--name another --port again1");
    other.ends();
    assert!(
        other.log().contains("already opened by another switch"),
        "{}",
        other.log()
    );
    let mut other = Started::bofuss("--name again");
    other.ends();
    assert!(
        other
            .log()
            .contains("--name again: a switch of this name runs"),
        "{}",
        other.log()
    );
    assert!(start.elapsed() < PATIENCE / 2);
}

#[test]
fn switches_without_a_name_get_the_next_one_that_is_free() {
    if !have(&["ip"]) {
        return;
    }
    let first = Started::bofuss("--datapath tables").runs();
    let second = Started::bofuss("--datapath tables").runs();
    assert!(
        second
            .log()
            .contains("switch s0 runs already: this one is s1"),
        "{}",
        second.log()
    );
    let (done, said) = dpctl("show");
    assert!(
        !done && said.contains("several switches run: s0, s1"),
        "{said}"
    );
    assert!(dpctl("s1 show").0 && dpctl("s0 show").0);
    // Eight at once.
    let many: Vec<_> = (0..8).map(|_| Started::bofuss("--tables 2")).collect();
    let many: Vec<_> = many.into_iter().map(Started::runs).collect();
    let names = dpctl("switches").1;
    for number in 0..10 {
        assert!(names.contains(&format!("s{number}\tunix:")), "{names}");
    }
    drop(many);
    drop((first, second));
    // What killed switches left is used again.
    assert!(
        !Started::bofuss("--tables 2")
            .runs()
            .log()
            .contains("runs already")
    );
}

#[test]
fn a_command_needs_no_name_of_the_only_switch() {
    if !have(&["ip"]) {
        return;
    }
    // It has the name of a command.
    let only = Started::bofuss("--name ports --tables 2").runs();
    for words in ["ctl switches", "ctl ports switches"] {
        assert_eq!(bofuss(words), "ports\n", "{words}");
    }
    assert_eq!(bofuss("ctl ports"), "", "it has none");
    let said = |words: &str| {
        let output = run(Command::new(program("bofuss")).args(words.split(' ')));
        assert!(!output.status.success(), "{words}");
        printed(&output)
    };
    assert!(said("ctl prots").contains("there is no command 'prots'"));
    let _other = Started::bofuss("--name other --tables 2").runs();
    assert!(said("ctl switches").contains("several switches run: other, ports; give the name"));
    assert_eq!(bofuss("ctl other switches"), "other\n");
    drop(only);
}

#[test]
fn a_tool_finds_the_switch_of_its_own_network_namespace_first() {
    if !have(&["ip"]) {
        return;
    }
    let (left, right) = (NetNs::new().unwrap(), NetNs::new().unwrap());
    let start = |within: &NetNs, words: &str| within.run(|| Started::bofuss(words).runs()).unwrap();
    let _left = start(&left, "--dpid 0x11");
    let _right = start(&right, "--dpid 0x22");
    for (within, id) in [(&left, "0011"), (&right, "0022")] {
        let (done, said) = within.run(|| dpctl("show")).unwrap();
        assert!(done && said.contains(id), "{said}");
    }
    let (done, said) = dpctl("show");
    assert!(
        !done && said.contains("several switches run: s0, s1"),
        "{said}"
    );
    assert!(dpctl("s1 show").1.contains("0022"), "by name everywhere");
}

#[test]
fn the_programs_of_bofuss_find_each_other_in_their_own_namespace() {
    if !have(&["ip"]) {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bofuss-own-{}", std::process::id()));
    // A test that failed may have left it: process ids repeat.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let bofuss = fs::canonicalize(program("bofuss")).unwrap();
    for name in ["ofdatapath", "ofprotocol"] {
        std::os::unix::fs::symlink(&bofuss, folder.join(name)).unwrap();
    }
    let at = folder.display();
    let spaces = [NetNs::new().unwrap(), NetNs::new().unwrap()];
    let mut all = Vec::new();
    for (number, space) in spaces.iter().enumerate() {
        space
            .run(|| {
                ip("link set lo up");
                let line = format!(
                    "{at}/ofdatapath ptcp:6633 --no-local-port -d {}",
                    number + 1
                );
                all.push(Started::new(&line).runs());
                let controller = format!("tcp:127.0.0.1:{}", 7000 + number);
                all.push(Started::new(&format!(
                    "{at}/ofprotocol tcp:127.0.0.1:6633 {controller}"
                )));
                until("it has its controller", || {
                    dpctl("status tcp:127.0.0.1:6633").1.contains(&controller)
                });
            })
            .unwrap();
    }
    let names = dpctl("switches").1;
    assert!(
        names.contains("dp-6633\t") && names.contains("dp-6633-1\t"),
        "{names}"
    );
    drop(all);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_manager_keeps_tap_interfaces_and_listening_sockets_through_restarts() {
    if !have(&["ip", "python3"]) {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/kept.py");
    let mut python = Command::new("python3");
    python
        .arg(script)
        .args([program("bofuss"), program("dpctl")]);
    let said = ok(python.arg(format!("kept{}", std::process::id())));
    assert!(said.contains("passed\n"), "{said}");
}
