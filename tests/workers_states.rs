//! States of flows on several threads: each is where its packets are, also while these are divided
//! anew.
#![allow(clippy::unwrap_used)]

mod threads;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use bofuss_tests::{Lab, PATIENCE, get, printed, until};

use threads::{Tap, counted, ctl, lab, packets, standing};

/// The port that knocks open, and the ports to knock at.
const OPEN: u16 = 22;
const KNOCKS: [u16; 3] = [5001, 5002, 5003];
/// Senders that are let in.
const SENDERS: u8 = 60;
/// The Ethernet type of a VLAN tag, and a tag.
const TAG: [u8; 4] = [0x81, 0, 0, 7];

/// Sends a command that succeeds.
fn does(lab: &Lab, words: &[&str]) {
    let (done, said) = ctl(lab, words);
    assert!(done, "{words:?}: {said}");
}

/// Waits until frames are divided by this; if all are with worker 0, with such a reason.
fn is_divided(lab: &Lab, by: &str, why: &str) {
    until(&format!("frames are divided by {by}"), || {
        let standing = standing(lab);
        let said = standing["why"].as_str().unwrap_or_default();
        standing["dispatch"] == by && said.contains(why)
    });
}

/// Makes table 0 stateful, with these scopes.
fn make_stateful(lab: &Lab, lookup: &str, update: &str) {
    lab.asks(&["state_mod", "table_config,table=0,stateful=1"]);
    for (scope, fields) in [("lookup", lookup), ("update", update)] {
        let text = format!("set_{scope}_extractor,table=0,fields={fields}");
        lab.asks(&["state_mod", &text]);
    }
}

/// Port knocking by the sender's address: those who may reach host 2, others host 3.
fn make_knocking(lab: &Lab) {
    make_stateful(lab, "ipv4_src", "ipv4_src");
    for (state, port) in KNOCKS.into_iter().enumerate() {
        let next = state + 1;
        let text = format!(
            "priority=10,udp,udp_dst={port},state={state},actions=set_state(table=0,state={next})"
        );
        lab.asks(&["add-flow", &text]);
    }
    let passes = format!("priority=10,udp,udp_dst={OPEN},state=3,actions=output:2");
    lab.asks(&["add-flow", &passes]);
    lab.asks(&["add-flow", "priority=1,in_port=1,actions=output:3"]);
}

/// A datagram of a sender to a port, with its number and with VLAN tags.
fn datagram(sender: u8, port: u16, number: u32, tags: usize) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    (0..tags).for_each(|_| bytes.extend(TAG));
    bytes.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0]);
    bytes.extend([10, 0, 2, sender, 10, 0, 0, 9, 0x10, 0]);
    bytes.extend(port.to_be_bytes());
    bytes.extend([0, 20, 0, 0]);
    bytes.extend(number.to_be_bytes());
    bytes.resize(bytes.len().max(60), 0);
    bytes
}

/// The sender and number of a [`datagram`] to the port that is open to some.
fn numbers(frame: &[u8]) -> Option<(u8, u32)> {
    let mut rest = &frame[12..];
    while let Some(inner) = rest.strip_prefix(&TAG) {
        rest = inner;
    }
    if !rest.starts_with(&[8, 0, 0x45]) || rest.get(24..26) != Some(&[0, OPEN as u8]) {
        return None;
    }
    let number = rest[30..34].try_into().unwrap();
    Some((rest[17], u32::from_be_bytes(number)))
}

/// Says that a test is over, also if it fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Lets senders in.
fn let_in(tap: &mut Tap<(u8, u32)>) {
    for port in KNOCKS {
        tap.send((1..=SENDERS).map(|sender| datagram(sender, port, 0, 0)));
    }
}

/// The flows that have state 3.
fn n_known(lab: &Lab) -> usize {
    let text = lab.asks(&["state_tables"]);
    text.lines()
        .filter(|line| line.contains("set_flow_state") && line.contains("state=3"))
        .count()
}

/// Changes a switch in all the ways that divide frames or states anew.
fn change_all(lab: &Lab, round: u8) {
    lab.asks(&["add-flow", "priority=7,arp,actions=NORMAL"]);
    is_divided(lab, "one", "NORMAL");
    lab.asks(&["del-flows", "arp"]);
    is_divided(lab, "fields=ipv4_src", "");
    let state = format!("set_flow_state,table=0,key=(ipv4_src=10.9.0.{round}),state=3");
    lab.asks(&["state_mod", &state]);
    assert_eq!(n_known(lab), usize::from(SENDERS) + 1 + usize::from(round));
    // Other scopes are refused because flows have states, whichever worker has them.
    lab.asks(&["state_mod", "table_config,table=0,stateful=1"]);
    let other = "set_lookup_extractor,table=0,fields=eth_src";
    let refused = lab.dpctl(&["state_mod", other]);
    assert!(!refused.status.success(), "{}", printed(&refused));
    does(lab, &["set", "dispatch = 'fields=ipv4_dst'"]);
    is_divided(lab, "one", "do not agree");
    does(lab, &["unset", "dispatch"]);
    does(lab, &["add-port", "9=tap:wst9"]);
    is_divided(lab, "one", "port 9 is no interface");
    does(lab, &["set", "tables = 9"]);
    does(lab, &["del-port", "9"]);
    does(lab, &["set", "datapath = 'tables'"]);
    does(lab, &["unset", "datapath"]);
    does(lab, &["unset", "tables"]);
    is_divided(lab, "fields=ipv4_src", "");
    let traced = format!("in_port=1,udp,nw_src=10.0.2.{},udp_dst={OPEN}", 1 + round);
    let (done, said) = ctl(lab, &["trace", &traced]);
    assert!(done && said.contains("output:2"), "{said}");
}

#[test]
fn no_frame_of_a_known_sender_misses_while_states_change_hands() {
    const MOST_UNDER_WAY: usize = 1000;
    const ROUNDS: u8 = 6;
    for workers in ["2", "3"] {
        let Some(lab) = lab(3, workers, &[]) else {
            return;
        };
        make_knocking(&lab);
        is_divided(&lab, "fields=ipv4_src", "");
        let [mut from, mut to, mut misses] = [1, 2, 3].map(|host| Tap::of(&lab, host, numbers));
        let_in(&mut from);
        until("all are known", || n_known(&lab) == usize::from(SENDERS));
        let is_over = AtomicBool::new(false);
        let n_arrived = AtomicUsize::new(0);
        let (rounds, mut arrived) = thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let mut number = 0;
                while !is_over.load(Relaxed) {
                    // A busy machine gets no more than the sockets of a stopped switch hold.
                    let n_sent = usize::from(SENDERS) * number as usize;
                    if n_sent <= n_arrived.load(Relaxed) + MOST_UNDER_WAY {
                        from.send((1..=SENDERS).map(|sender| datagram(sender, OPEN, number, 0)));
                        number += 1;
                    }
                    thread::sleep(Duration::from_millis(2));
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
            let over = Over(&is_over);
            (0..ROUNDS).for_each(|round| change_all(&lab, round));
            drop(over);
            (sending.join().unwrap(), receiving.join().unwrap())
        });
        let all = usize::from(SENDERS) * rounds as usize;
        let (end, mut missed) = (Instant::now() + PATIENCE, misses.receive());
        while arrived.len() + missed.len() < all && Instant::now() < end {
            arrived.extend(to.receive());
            missed.extend(misses.receive());
        }
        assert_eq!(missed, []);
        assert_eq!(arrived.len(), all);
        let mut next: BTreeMap<u8, u32> = BTreeMap::new();
        for (sender, number) in arrived {
            let expected = next.entry(sender).or_default();
            assert_eq!(number, *expected, "sender {sender}, {workers} workers");
            *expected += 1;
        }
        assert_eq!(counted(&lab, &format!("udp,udp_dst={OPEN}")), all as u64);
        assert_eq!(n_known(&lab), usize::from(SENDERS + ROUNDS));
        let packets = packets(&lab);
        assert!(packets.iter().all(|count| *count > 0), "{packets:?}");
        assert!(
            lab.log()
                .contains("each ipv4_src in one of all workers, which has the states")
        );
    }
}

#[test]
fn frames_that_the_kernel_reads_otherwise_find_their_states_too() {
    let Some(lab) = lab(3, "2", &["--metrics", "16797"]) else {
        return;
    };
    make_knocking(&lab);
    let [mut from, mut to, mut others] = [1, 2, 3].map(|host| Tap::of(&lab, host, numbers));
    let_in(&mut from);
    until("all are known", || n_known(&lab) == usize::from(SENDERS));
    // The kernel takes one tag out, and the program of the sockets reads eight.
    for (number, tags) in [0, 1, 2, 9, 10, 30].into_iter().enumerate() {
        let number = number as u32;
        from.send((1..=SENDERS).map(|sender| datagram(sender, OPEN, number, tags)));
        let arrived = to.waits_for(usize::from(SENDERS));
        assert!(
            arrived.iter().all(|(_, seen)| *seen == number),
            "{arrived:?}"
        );
    }
    assert_eq!(others.receive(), []);
    assert_eq!(standing(&lab)["lost_frames"], 0);
    // A knock in many tags counts, too.
    for port in KNOCKS {
        from.send((101..=140).map(|sender| datagram(sender, port, 0, 30)));
    }
    until("they are known", || {
        n_known(&lab) == usize::from(SENDERS) + 40
    });
    from.send((101..=140).map(|sender| datagram(sender, OPEN, 9, 0)));
    assert_eq!(to.waits_for(40).len(), 40);
    assert!(packets(&lab).iter().all(|count| *count > 0));
    // The metrics are those of all workers; a message is no transition by an action.
    let state = "set_flow_state,table=0,key=(ipv4_src=10.9.0.1),state=3";
    lab.asks(&["state_mod", state]);
    let all = u64::from(SENDERS) + 40;
    for (name, value) in [("transitions_total", 3 * all), ("states", all + 1)] {
        let line = format!(
            "openstate_{name}{{switch=\"{}\",table=\"0\"}} {value}\n",
            lab.name
        );
        let (_, metrics) = get("127.0.0.1:16797", "/metrics", "");
        let own = metrics.lines().filter(|line| line.contains("openstate"));
        assert!(
            metrics.contains(&line),
            "{line}{:?}",
            own.collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_frame_without_the_key_changes_no_state_and_one_sender_hinders_no_other() {
    let Some(lab) = lab(3, "2", &["--lock-down"]) else {
        return;
    };
    make_knocking(&lab);
    let [mut from, mut to, mut others] = [1, 2, 3].map(|host| Tap::of(&lab, host, numbers));
    let_in(&mut from);
    until("all are known", || n_known(&lab) == usize::from(SENDERS));
    // Frames without an IPv4 header, and one that ends in it.
    let mut of_type = datagram(1, OPEN, 0, 0);
    of_type[12..14].copy_from_slice(&[0x88, 0xb5]);
    let cut = datagram(1, OPEN, 0, 0)[..24].to_vec();
    from.send((0..50).flat_map(|_| [of_type.clone(), cut.clone()]));
    // All of these are in one worker.
    let before = packets(&lab);
    for number in 0..20 {
        from.send((0..64).map(|_| datagram(7, OPEN, number, 0)));
        from.send((1..=SENDERS).map(|sender| datagram(sender, OPEN, number, 0)));
    }
    let arrived = to.waits_for(20 * (64 + usize::from(SENDERS)));
    let mut last = BTreeMap::new();
    for (sender, number) in arrived {
        let before = last.insert(sender, number);
        assert!(before.is_none_or(|before| before <= number), "{sender}");
    }
    assert_eq!(others.receive(), []);
    assert_eq!(n_known(&lab), usize::from(SENDERS));
    let after = packets(&lab);
    assert!(
        after
            .iter()
            .zip(&before)
            .all(|(after, before)| after > before)
    );
    assert_eq!(after.iter().sum::<u64>() - before.iter().sum::<u64>(), 2480);
}

#[test]
fn a_machine_whose_scopes_cross_runs_on_one_worker_and_works() {
    let Some(lab) = lab(3, "2", &[]) else { return };
    make_stateful(&lab, "eth_dst", "eth_src");
    is_divided(&lab, "one", "do not agree");
    // A switch that learns: the state of an address is the port behind which it is.
    for from in 1..=3 {
        for to in 0..=3 {
            let out = if to == 0 {
                "FLOOD".into()
            } else {
                format!("{to}")
            };
            let text = format!(
                "in_port={from},state={to},actions=set_state(table=0,state={from}),output:{out}"
            );
            lab.asks(&["add-flow", &text]);
        }
    }
    lab.all_ping();
    let states = lab.asks(&["state_tables"]);
    let learned = states
        .lines()
        .filter(|line| line.contains("set_flow_state"));
    assert!(learned.count() >= 3, "{states}");
    is_divided(&lab, "one", "do not agree");
    // With the port in both scopes, frames are divided by that.
    lab.asks(&["del-flows"]);
    lab.asks(&["state_mod", "table_config,table=0,stateful=0"]);
    make_stateful(&lab, "in_port", "in_port");
    is_divided(&lab, "port", "");
}

#[test]
fn what_was_asked_for_counts_if_the_pipeline_allows_it() {
    let Some(lab) = lab(3, "2", &["--dispatch", "fields=ipv4_src,ipv4_dst"]) else {
        return;
    };
    is_divided(&lab, "fields=ipv4_src,ipv4_dst", "");
    make_knocking(&lab);
    is_divided(&lab, "one", "do not agree");
    for (by, dispatch, why) in [
        ("port", "one", "do not agree"),
        ("five-tuple", "one", "do not agree"),
        ("fields=ipv4_src", "fields=ipv4_src", ""),
        ("auto", "fields=ipv4_src", ""),
    ] {
        does(&lab, &["set", &format!("dispatch = '{by}'")]);
        is_divided(&lab, dispatch, why);
    }
    lab.asks(&["state_mod", "table_config,table=0,stateful=0"]);
    is_divided(&lab, "flows", "");
    let [mut from, mut to] = [1, 3].map(|host| Tap::of(&lab, host, numbers));
    lab.asks(&["del-flows"]);
    lab.asks(&["add-flow", "in_port=1,actions=output:3"]);
    for (number, by) in ["port", "fields=ipv4_src", "five-tuple", "auto"]
        .into_iter()
        .enumerate()
    {
        does(&lab, &["set", &format!("dispatch = '{by}'")]);
        let number = number as u32;
        from.send((1..=SENDERS).map(|sender| datagram(sender, OPEN, number, 0)));
        assert_eq!(
            to.waits_for(usize::from(SENDERS)).len(),
            usize::from(SENDERS)
        );
    }
    let (done, said) = ctl(&lab, &["set", "dispatch = 'fields=tcp_src'"]);
    assert!(!done && said.contains("'tcp_src' is none of"), "{said}");
}

/// Sends a frame as one that came in by port 1.
fn packet_out(lab: &Lab, frame: &[u8]) {
    let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
    lab.asks(&["packet-out", "1", "TABLE", &hex]);
}

#[test]
fn a_controller_reads_and_changes_the_states_of_all_workers() {
    const MANY: usize = 5_000;
    let Some(lab) = lab(3, "3", &[]) else { return };
    make_knocking(&lab);
    let [mut from, mut to, mut others] = [1, 2, 3].map(|host| Tap::of(&lab, host, numbers));
    // Senders that a controller lets in by packets of its own.
    for sender in 1..=6 {
        for port in KNOCKS {
            packet_out(&lab, &datagram(sender, port, 0, 0));
        }
    }
    from.send((1..=6).map(|sender| datagram(sender, OPEN, 1, 0)));
    assert_eq!(to.waits_for(6).len(), 6);
    let flow = "priority=7,tcp,actions=drop";
    let bundle = ["--bundle", "--at", "+1", "add-flow", flow];
    // While a bundle waits for its time, worker 0 has all states.
    thread::scope(|scope| {
        let waiting = scope.spawn(|| lab.asks(&bundle));
        is_divided(&lab, "one", "a bundle may need any state");
        from.send((1..=6).map(|sender| datagram(sender, OPEN, 2, 0)));
        assert_eq!(to.waits_for(6).len(), 6);
        waiting.join().unwrap();
    });
    is_divided(&lab, "fields=ipv4_src", "");
    // A list that takes several turns has each state once, while frames come.
    let states = (0..MANY).map(|number| {
        let (high, low) = (number / 250, number % 250);
        format!("set_flow_state,table=0,key=(ipv4_src=10.1.{high}.{low}),state=3\n")
    });
    let file = std::env::temp_dir().join(format!("bofuss-states-{}", std::process::id()));
    std::fs::write(&file, states.collect::<String>()).unwrap();
    lab.asks(&["state_mod", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    let mut n_sent = 0;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let _over = Over(&is_over);
            assert_eq!(n_known(&lab), MANY + 6);
        });
        while !is_over.load(Relaxed) {
            from.send((1..=6).map(|sender| datagram(sender, OPEN, 3, 0)));
            n_sent += 6;
            thread::sleep(Duration::from_millis(2));
        }
        reading.join().unwrap();
    });
    assert_eq!(to.waits_for(n_sent).len(), n_sent);
    assert_eq!(others.receive(), []);
    assert_eq!(n_known(&lab), MANY + 6);
    is_divided(&lab, "fields=ipv4_src", "");
    assert!(
        lab.log()
            .contains("controllers change or read states often")
    );
}
