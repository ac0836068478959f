//! A switch whose packets are forwarded by several threads: to controllers and hosts it is one.
#![allow(clippy::unwrap_used)]

mod threads;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use bofuss_tests::{Lab, Process, have, printed, program, run, until};

use threads::{Tap, counted, ctl, lab, packets, standing};

/// Bytes of the headers of a frame of [`datagram`].
const HEADERS: usize = 42;

/// Checks that all frames are with worker 0 for a reason; for none, that flows are divided.
fn is_for_one(lab: &Lab, reason: Option<&str>) {
    let standing = standing(lab);
    let why = standing["why"].as_str();
    match reason {
        Some(reason) => assert!(why.is_some_and(|why| why.contains(reason)), "{standing}"),
        None => assert_eq!(why, None, "{standing}"),
    }
    let dispatch = if reason.is_some() { "one" } else { "flows" };
    assert_eq!(standing["dispatch"], dispatch);
}

/// A datagram of a flow, with the number of the flow and its own number in it.
fn datagram(flow: u16, number: u32) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 38];
    bytes.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend((1_000 + flow).to_be_bytes());
    bytes.extend([0, 9, 0, 18, 0, 0]);
    bytes.extend(flow.to_be_bytes());
    bytes.extend(number.to_be_bytes());
    bytes.resize(60, 0);
    bytes
}

/// The flow and number of a [`datagram`].
fn numbers(frame: &[u8]) -> Option<(u16, u32)> {
    if frame.get(36..38) != Some(&[0, 9]) || frame[23] != 17 {
        return None;
    }
    let flow = u16::from_be_bytes([frame[HEADERS], frame[HEADERS + 1]]);
    let number = frame[HEADERS + 2..HEADERS + 6].try_into().unwrap();
    Some((flow, u32::from_be_bytes(number)))
}

/// The datagrams with one number of all flows.
fn round(flows: u16, number: u32) -> Vec<Vec<u8>> {
    (0..flows).map(|flow| datagram(flow, number)).collect()
}

/// Changes a switch in all the ways that divide frames anew, or make all threads wait.
fn change_all(lab: &Lab) {
    lab.asks(&["add-flow", "priority=7,tcp,tp_dst=7,actions=output:2"]);
    lab.asks(&["add-flow", "priority=7,arp,actions=NORMAL"]);
    lab.asks(&["dump-flows"]);
    lab.asks(&["del-flows", "arp"]);
    for words in [
        ["add-port", "9=tap:wt9"],
        ["set", "tables = 9"],
        ["del-port", "9"],
        ["set", "datapath = 'tables'"],
        ["unset", "datapath"],
        ["unset", "tables"],
    ] {
        let (done, said) = ctl(lab, &words);
        assert!(done, "{words:?}: {said}");
    }
    lab.asks(&["del-flows", "tcp,tp_dst=7"]);
}

#[test]
fn no_frame_is_lost_or_overtaken_and_counters_are_exact_while_all_changes() {
    const FLOWS: u16 = 100;
    const MOST_UNDER_WAY: usize = 1000;
    for workers in ["2", "3"] {
        let Some(lab) = lab(2, workers, &[]) else {
            return;
        };
        lab.asks(&["add-flow", "priority=9,udp,in_port=1,actions=output:2"]);
        let (mut from, mut to) = (Tap::of(&lab, 1, numbers), Tap::of(&lab, 2, numbers));
        let is_over = AtomicBool::new(false);
        let n_arrived = AtomicUsize::new(0);
        let (rounds, arrived) = thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let mut number = 0;
                while !is_over.load(Relaxed) {
                    // A busy machine gets no more than the sockets of a stopped switch hold.
                    let n_sent = usize::from(FLOWS) * number as usize;
                    if n_sent <= n_arrived.load(Relaxed) + MOST_UNDER_WAY {
                        from.send(round(FLOWS, number));
                        number += 1;
                    }
                    thread::sleep(Duration::from_millis(3));
                }
                number
            });
            let receiving = scope.spawn(|| {
                let mut all = Vec::new();
                while !is_over.load(Relaxed) {
                    all.extend(to.receive());
                    n_arrived.store(all.len(), Relaxed);
                    thread::sleep(Duration::from_millis(1));
                }
                all
            });
            (0..8).for_each(|_| change_all(&lab));
            is_over.store(true, Relaxed);
            (sending.join().unwrap(), receiving.join().unwrap())
        });
        let all = usize::from(FLOWS) * rounds as usize;
        let mut arrived = arrived;
        arrived.extend(to.waits_for(all.saturating_sub(arrived.len())));
        assert_eq!(arrived.len(), all);
        let mut next: BTreeMap<u16, u32> = BTreeMap::new();
        for (flow, number) in arrived {
            let expected = next.entry(flow).or_default();
            assert_eq!(number, *expected, "flow {flow}, {workers} workers");
            *expected += 1;
        }
        assert_eq!(counted(&lab, "udp"), all as u64);
        let packets = packets(&lab);
        assert_eq!(packets.len().to_string(), workers);
        assert!(packets.iter().all(|count| *count > 0), "{packets:?}");
        assert!(packets.iter().sum::<u64>() >= all as u64, "{packets:?}");
    }
}

#[test]
fn frames_that_wait_for_room_are_not_overtaken_when_their_flows_move() {
    const FLOWS: u16 = 100;
    const ROUNDS: u32 = 3000;
    if !have(&["tc"]) {
        return;
    }
    let Some(lab) = lab(2, "3", &[]) else { return };
    // Slower than frames come, and with room for more than the kernel takes from the switch.
    let slow = format!(
        "qdisc replace dev {} root tbf rate 20mbit burst 20000 limit 100000000",
        lab.port(2)
    );
    if !run(Command::new("tc").args(slow.split(' ')))
        .status
        .success()
    {
        // Not every kernel has it.
        return;
    }
    lab.asks(&["add-flow", "priority=9,udp,in_port=1,actions=output:2"]);
    let (mut from, mut to) = (Tap::of(&lab, 1, numbers), Tap::of(&lab, 2, numbers));
    let is_over = AtomicBool::new(false);
    let arrived = thread::scope(|scope| {
        let sending = scope.spawn(|| {
            for number in 0..ROUNDS {
                from.send(round(FLOWS, number));
                thread::sleep(Duration::from_millis(1));
            }
            is_over.store(true, Relaxed);
        });
        let receiving = scope.spawn(|| {
            let mut all = Vec::new();
            while !is_over.load(Relaxed) {
                all.extend(to.receive());
                thread::sleep(Duration::from_millis(1));
            }
            all
        });
        while !sending.is_finished() {
            lab.asks(&["add-flow", "priority=7,arp,actions=NORMAL"]);
            lab.asks(&["del-flows", "arp"]);
        }
        is_over.store(true, Relaxed);
        sending.join().unwrap();
        receiving.join().unwrap()
    });
    // Those for which there is no room are lost.
    let mut last: BTreeMap<u16, u32> = BTreeMap::new();
    for (flow, number) in arrived {
        let before = last.insert(flow, number);
        let is_next = before.is_none_or(|before| before < number);
        assert!(is_next, "flow {flow}: {number} after {before:?}");
    }
    assert_eq!(last.len(), usize::from(FLOWS));
}

#[test]
fn what_needs_one_worker_gets_one_and_the_switch_says_why() {
    let Some(lab) = lab(3, "2", &[]) else { return };
    is_for_one(&lab, None);
    lab.asks(&["add-flow", "priority=3,actions=NORMAL"]);
    is_for_one(&lab, Some("NORMAL"));
    assert!(lab.log().contains("workers: all flows in worker 0"));
    lab.asks(&["del-flows"]);
    is_for_one(&lab, None);
    let commands: [(&[&str], &[&str], &str); 2] = [
        (
            &["add-port", "9=tap:wt8"],
            &["del-port", "9"],
            "port 9 is no interface",
        ),
        (
            &["mirror", "1", "3"],
            &["end-capture", "3"],
            "captures or mirrors",
        ),
    ];
    for (on, off, reason) in commands {
        let (done, said) = ctl(&lab, on);
        assert!(done, "{said}");
        is_for_one(&lab, Some(reason));
        let (done, said) = ctl(&lab, off);
        assert!(done, "{said}");
        is_for_one(&lab, None);
    }
    let (done, said) = ctl(&lab, &["workers"]);
    assert!(
        done && said.starts_with("workers 2\ndispatch each flow in one"),
        "{said}"
    );
    let (done, said) = ctl(&lab, &["accelerator"]);
    assert!(done && said.starts_with("off: --workers"), "{said}");
    let (done, _) = ctl(&lab, &["workers", "--no"]);
    assert!(!done);
}

#[test]
fn openqflow_runs_on_one_worker_and_the_switch_says_so() {
    const OPTIONS: [&str; 6] = [
        "--extension",
        "openqflow.table=0",
        "--extension",
        "openqflow.forwarding=1",
        "--extension",
        "openqflow.qos=2",
    ];
    let Some(lab) = lab(3, "2", &OPTIONS) else {
        return;
    };
    let why = "openqflow acts, which may have a state";
    is_for_one(&lab, Some(why));
    let sentence = format!("all flows in worker 0, because {why}");
    assert!(lab.log().contains(&format!("workers: {sentence}")));
    let (done, said) = ctl(&lab, &["workers"]);
    assert!(
        done && said.contains(&format!("dispatch {sentence}\n")),
        "{said}"
    );
    lab.asks(&["add-flow", "table=0,priority=9,arp,actions=FLOOD"]);
    for host in 1..=3 {
        let to = format!("nw_dst=10.0.0.{host},actions=qflow_forward(port={host})");
        lab.asks(&["add-flow", &format!("table=1,priority=5,ip,{to}")]);
    }
    lab.all_ping();
    let packets = packets(&lab);
    assert!(packets[0] > 0 && packets[1] == 0, "{packets:?}");
}

#[test]
fn after_a_reply_all_workers_have_made_the_change() {
    const FLOWS: u16 = 60;
    let Some(lab) = lab(3, "3", &[]) else { return };
    let mut taps = [1, 2, 3].map(|host| Tap::of(&lab, host, numbers));
    for number in 0..30 {
        let to = 2 + number % 2;
        lab.asks(&[
            "add-flow",
            &format!("priority=9,udp,in_port=1,actions=output:{to}"),
        ]);
        taps[0].send(round(FLOWS, number));
        let arrived = taps[to as usize - 1].waits_for(FLOWS.into());
        assert!(
            arrived.iter().all(|(_, seen)| *seen == number),
            "{arrived:?}"
        );
    }
    // A port that is down by configuration sends nothing, whoever has the flow.
    let before = counted(&lab, "udp");
    lab.asks(&["mod-port", "3", "down"]);
    taps[0].send(round(FLOWS, 99));
    let all = before + u64::from(FLOWS);
    until("all are counted", || counted(&lab, "udp") == all);
    lab.asks(&["mod-port", "3", "up"]);
    // The interface has its link some time after the reply.
    until("the link is up", || {
        !lab.asks(&["dump-ports-desc"]).contains("LINK_DOWN")
    });
    taps[0].send(round(FLOWS, 100));
    let arrived = taps[2].waits_for(FLOWS.into());
    assert!(
        arrived.iter().all(|(_, number)| *number == 100),
        "{arrived:?}"
    );
}

#[test]
fn a_meter_has_one_rate_for_all_workers() {
    const FLOWS: u16 = 60;
    let Some(lab) = lab(2, "3", &[]) else { return };
    // All of the burst passes, and then one packet more of each worker: hardly anything is added.
    let meter = "meter=1,pktps,burst,band=type=drop,rate=1,burst_size=500";
    lab.asks(&["add-meter", meter]);
    lab.asks(&[
        "add-flow",
        "priority=9,udp,in_port=1,actions=meter:1,output:2",
    ]);
    is_for_one(&lab, None);
    let (mut from, mut to) = (Tap::of(&lab, 1, numbers), Tap::of(&lab, 2, numbers));
    let begin = Instant::now();
    let mut arrived = Vec::new();
    for number in 0..20 {
        from.send(round(FLOWS, number));
        arrived.extend(to.receive());
    }
    let all = 20 * u64::from(FLOWS);
    until("all are counted", || counted(&lab, "udp") == all);
    arrived.extend(to.receive());
    let passed = arrived.len() as u64;
    let most = 500 + 3 + begin.elapsed().as_secs() + 1;
    assert!((500..=most).contains(&passed), "{passed}");
    let stats = lab.asks(&["meter-stats"]);
    assert!(stats.contains(&all.to_string()), "{stats}");
    assert!(stats.contains(&(all - passed).to_string()), "{stats}");
    assert!(packets(&lab).iter().all(|count| *count > 0));
}

#[test]
fn an_entry_that_any_worker_uses_does_not_expire() {
    let Some(lab) = lab(2, "3", &[]) else { return };
    lab.asks(&[
        "add-flow",
        "priority=9,udp,in_port=1,idle_timeout=1,actions=output:2",
    ]);
    let (mut from, mut to) = (Tap::of(&lab, 1, numbers), Tap::of(&lab, 2, numbers));
    // One flow, which is with one worker; over the numbers of flows, with each.
    for number in 0..25 {
        from.send([datagram(number, 0)]);
        assert_eq!(to.waits_for(1), [(number, 0)]);
        if number == 12 {
            assert!(ctl(&lab, &["set", "tables = 9"]).0);
        }
        thread::sleep(Duration::from_millis(100));
    }
    until("it expires", || {
        !lab.asks(&["dump-flows", "udp"]).contains("n_packets")
    });
}

#[test]
fn a_killed_switch_leaves_nothing_that_hinders_the_next() {
    let Some(mut lab) = lab(2, "2", &[]) else {
        return;
    };
    lab.asks(&["add-flow", "actions=FLOOD"]);
    lab.all_ping();
    lab.switch.0.kill().unwrap();
    lab.switch.0.wait().unwrap();
    let ports = [1, 2].map(|host| lab.port(host));
    let mut again = Command::new(program("bofuss"));
    again.args([
        "run",
        "--name",
        &lab.name,
        "--workers",
        "2",
        "--fail-mode",
        "standalone",
    ]);
    again.args(["--port", &ports[0], "--port", &ports[1]]);
    again.stdout(Stdio::null()).stderr(Stdio::null());
    lab.switch = Process::start(&mut again);
    until("the next one forwards", || lab.pings(1, 2));
    assert_eq!(lab.switch.terminate(), Some(0));
}

#[test]
fn workers_of_a_switch_that_is_locked_down_have_no_rights_either() {
    let Some(lab) = lab(2, "3", &["--lock-down"]) else {
        return;
    };
    lab.asks(&["add-flow", "in_port=1,actions=output:2"]);
    lab.asks(&["add-flow", "in_port=2,actions=output:1"]);
    lab.all_ping();
    is_for_one(&lab, None);
    let tasks = std::fs::read_dir(format!("/proc/{}/task", lab.switch.0.id())).unwrap();
    let mut workers = 0;
    for task in tasks {
        let path = task.unwrap().path().join("status");
        let status = std::fs::read_to_string(path).unwrap();
        workers += usize::from(status.starts_with("Name:\tworker-"));
        let held = status.lines().find(|line| line.starts_with("CapPrm:"));
        assert_eq!(held, Some("CapPrm:\t0000000000000000"));
    }
    assert_eq!(workers, 2);
}

#[test]
fn a_trace_ends_with_its_requester() {
    let Some(lab) = lab(2, "2", &[]) else {
        return;
    };
    lab.asks(&["add-flow", "in_port=1,actions=output:2"]);
    let mut trace = Command::new(program("bofuss"));
    trace.args(["ctl", &lab.name, "trace-next", "in_port=2,tcp"]);
    trace.stdout(Stdio::null()).stderr(Stdio::null());
    for is_killed in [true, false] {
        let mut requester = Process::start(&mut trace);
        until("the trace waits", || standing(&lab)["dispatch"] == "one");
        is_for_one(&lab, Some("a trace waits for its packet"));
        if is_killed {
            requester.0.kill().unwrap();
        } else {
            // No packet comes: it gives up by itself.
            assert!(!requester.0.wait().unwrap().success());
        }
        until("nothing waits", || standing(&lab)["dispatch"] == "flows");
    }
}

#[test]
fn what_several_workers_cannot_do_is_refused_at_the_start() {
    let refusals: [(&[&str], &str); 4] = [
        (&["--workers", "0"], "--workers: write auto, or 1 to 64"),
        (&["--workers", "many"], "--workers: write auto, or 1 to 64"),
        (
            &["--workers", "2", "--record", "/dev/null"],
            "--record is for one worker",
        ),
        (
            &["--workers", "2", "--accelerate", "on"],
            "--accelerate on: --workers",
        ),
    ];
    for (arguments, reason) in refusals {
        let output = run(Command::new(program("bofuss")).arg("run").args(arguments));
        assert!(!output.status.success());
        let said = printed(&output);
        assert!(said.contains(reason), "{arguments:?}: {said}");
    }
}
