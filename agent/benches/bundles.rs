//! What a bundle costs: how long packets wait during its commit, and how many flow-mods a second it
//! handles, compared with the same flow-mods without a bundle.
//!
//! `cargo bench -p bofuss-agent --bench bundles`. Probes are sent between all steps. The first and
//! last flow-mod of the bundle belong together, and no probe may see one of them alone. Interrupts
//! count as time of the thread, so each step is given by its median over the rounds. It fails if a
//! step of a commit takes longer than [`LONGEST_GAP`].
//!
//! Large bundles on a switch with 200,000 entries come last. Another connection's echo is answered
//! before each of their steps, so a step is also how long others wait.
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Duration;

use bofuss_agent::{ConnId, FailMode, Request};
use bofuss_datapath::Engine;
use bofuss_oflib::message::bundle::{BundleControlType as T, BundleFlags, Timestamp};
use bofuss_oflib::message::{BundleAdd, BundleControl, Empty, FlowModCommand as C};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Mac, Message, Version};
use bofuss_packet::craft;
use bofuss_ports::thread_time;
use common::{Lab, MS};

const ROUNDS: usize = 5;
/// The time that packets may wait between two of their batches while a bundle is carried out.
const LONGEST_GAP: Duration = Duration::from_micros(200);
/// The same for large bundles: a block of some MiB in which all slots have become free takes
/// longest.
const LONGEST_LARGE_GAP: Duration = Duration::from_micros(300);
const CONN: ConnId = ConnId(2);
/// The connection that must not be silenced.
const OTHER: ConnId = ConnId(3);
/// The number of entries that the switch has before a large bundle.
const ENTRIES: u32 = 200_000;
/// The time when the switch's clock starts.
const CLOCK_NS: u64 = 1_700_000_000_000_000_000;

/// The switch's own allocator, because freeing memory is part of what is measured.
#[global_allocator]
static ALLOCATOR: bofuss_ports::Allocator = bofuss_ports::allocator();

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

fn ask(lab: &mut Lab, message: Message) {
    let request = Request {
        xid: 7,
        head: &[],
        message: Ok(message),
    };
    lab.switch.message(lab.now, CONN, request, &mut lab.io);
}

fn control(ty: T) -> Message {
    Message::BundleControl(BundleControl {
        bundle_id: 1,
        ty,
        flags: BundleFlags::ALL.without(BundleFlags::TIME),
        ..BundleControl::default()
    })
}

fn add(lab: &mut Lab, message: Message) {
    let add = BundleAdd {
        bundle_id: 1,
        flags: BundleFlags::ALL.without(BundleFlags::TIME),
        xid: 7,
        message: Box::new(message),
        experimenters: Vec::new(),
    };
    ask(lab, Message::BundleAdd(add));
}

/// The flow-mods between the two that belong together.
fn mods(lab: &Lab, count: u32) -> Vec<Message> {
    let text = |n: u32| {
        let [_, a, b, c] = n.to_be_bytes();
        format!("table=1,priority=1,tcp,nw_src=10.{a}.{b}.{c},tp_dst=80,actions=output:4")
    };
    let flow = |text: &str| Message::FlowMod(parse_flow(text, C::ADD, &lab.catalogue).unwrap());
    (0..count).map(|n| flow(&text(n))).collect()
}

/// Where a probe leaves the switch.
fn probe(lab: &mut Lab, frame: &[u8]) -> [u32; 2] {
    lab.io.out.clear();
    lab.send(1, frame);
    lab.io.out[..].try_into().unwrap()
}

/// The time that each step of one bundle took.
fn bundle(engine: Engine, count: u32) -> Vec<Duration> {
    let mut lab = Lab::with_engine(1_000_000, FailMode::Secure, engine);
    lab.switch.connected(lab.now, CONN, Version::V1_4, false);
    lab.flow(C::ADD, "priority=5,actions=output:2,goto_table:1");
    lab.flow(C::ADD, "table=1,priority=5,actions=output:2");
    let frame = craft::ethernet(
        Mac([2; 6]),
        Mac([4; 6]),
        craft::Layer::new(0x88b5, &[0; 60]),
    );
    let flow = |text: &str, c| Message::FlowMod(parse_flow(text, c, &lab.catalogue).unwrap());
    let first = flow("actions=output:3,goto_table:1", C::MODIFY);
    let last = flow("table=1,priority=5,actions=output:3", C::ADD);
    let mut all = vec![first];
    all.extend(mods(&lab, count));
    all.push(last);
    assert_eq!(probe(&mut lab, &frame), [2, 2]);
    let mut steps = Vec::new();
    ask(&mut lab, control(T::OPEN_REQUEST));
    for message in all {
        let start = thread_time();
        add(&mut lab, message);
        steps.push(thread_time() - start);
    }
    let start = thread_time();
    ask(&mut lab, control(T::COMMIT_REQUEST));
    steps.push(thread_time() - start);
    let mut is_new = false;
    while lab.switch.has_work(&lab.io) {
        let start = thread_time();
        lab.switch.work(lab.now, &mut lab.io);
        steps.push(thread_time() - start);
        let seen = probe(&mut lab, &frame);
        assert!(seen == [3, 3] || seen == [2, 2] && !is_new, "{seen:?}");
        is_new |= seen == [3, 3];
    }
    assert!(is_new);
    assert_eq!(
        lab.io.messages,
        [control(T::OPEN_REPLY), control(T::COMMIT_REPLY)]
    );
    assert_eq!(lab.switch.datapath().tables()[1].len(), count as usize + 1);
    steps
}

/// The time that the flow-mods take in a bundle, from its opening to its reply, without probes.
fn bundled(engine: Engine, count: u32) -> Duration {
    let mut lab = Lab::with_engine(1_000_000, FailMode::Secure, engine);
    lab.switch.connected(lab.now, CONN, Version::V1_4, false);
    let all = mods(&lab, count);
    let start = thread_time();
    ask(&mut lab, control(T::OPEN_REQUEST));
    for message in all {
        add(&mut lab, message);
    }
    ask(&mut lab, control(T::COMMIT_REQUEST));
    while lab.switch.has_work(&lab.io) {
        lab.switch.work(lab.now, &mut lab.io);
    }
    let took = thread_time() - start;
    assert_eq!(lab.io.messages.last(), Some(&control(T::COMMIT_REPLY)));
    assert_eq!(lab.switch.datapath().tables()[1].len(), count as usize);
    took
}

/// The time that the same flow-mods take without a bundle.
fn plain(engine: Engine, count: u32) -> Duration {
    let mut lab = Lab::with_engine(1_000_000, FailMode::Secure, engine);
    lab.switch.connected(lab.now, CONN, Version::V1_4, false);
    let all = mods(&lab, count);
    let start = thread_time();
    for message in all {
        ask(&mut lab, message);
    }
    ask(&mut lab, Message::BarrierRequest(Empty));
    let took = thread_time() - start;
    assert_eq!(lab.switch.datapath().tables()[1].len(), count as usize);
    took
}

/// The time that each step of a bundle takes on a switch with many entries, and what it is
/// answered. Another connection's echo is answered before each step.
fn large(messages: impl FnOnce(&Lab) -> Vec<Message>, is_scheduled: bool) -> (Vec<Duration>, bool) {
    let mut lab = Lab::with_engine(1_000_000, FailMode::Secure, Engine::Cache);
    lab.switch.connected(lab.now, CONN, Version::V1_4, false);
    lab.switch.connected(lab.now, OTHER, Version::V1_4, false);
    lab.switch.clock_mut().set(CLOCK_NS);
    for message in mods(&lab, ENTRIES) {
        ask(&mut lab, message);
    }
    let flags = BundleFlags::ALL;
    let mut commit = BundleControl {
        bundle_id: 1,
        ty: T::COMMIT_REQUEST,
        flags: flags.without(BundleFlags::TIME),
        ..BundleControl::default()
    };
    if is_scheduled {
        commit.flags = flags;
        commit.scheduled = Some(Timestamp::of_nanos(CLOCK_NS + MS));
    }
    ask(&mut lab, control(T::OPEN_REQUEST));
    messages(&lab)
        .into_iter()
        .for_each(|message| add(&mut lab, message));
    ask(&mut lab, Message::BundleControl(commit));
    lab.io.messages.clear();
    let mut steps = Vec::new();
    let mut told = Vec::new();
    let echo = Message::EchoRequest(Bytes(vec![7]));
    while told.is_empty() || lab.switch.has_work(&lab.io) {
        assert!(lab.switch.takes(OTHER, Some(&echo), &lab.io));
        lab.now = lab.now.after(MS / 1000);
        let start = thread_time();
        let reply = lab.ask(OTHER, 9, echo.clone());
        lab.switch.tick(lab.now, &mut lab.io);
        lab.switch.work(lab.now, &mut lab.io);
        steps.push(thread_time() - start);
        assert!(matches!(reply[..], [Message::EchoReply(_)]), "{reply:?}");
        told.append(&mut lab.io.messages);
    }
    let is_committed = told.iter().all(|message| match message {
        Message::BundleControl(reply) => reply.ty == T::COMMIT_REPLY,
        _ => false,
    });
    (steps, is_committed)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The longest step by the median of rounds, as far as all have it.
fn longest(rounds: &[Vec<Duration>]) -> Duration {
    let count = rounds.iter().map(Vec::len).min().unwrap();
    let of_step = |step: usize| median(rounds.iter().map(|round| round[step]).collect());
    (0..count).map(of_step).max().unwrap()
}

/// As many mods that change all entries.
fn modify_alls(lab: &Lab, count: usize) -> Vec<Message> {
    let text = "table=1,actions=output:3";
    let modify = parse_flow(text, C::MODIFY, &lab.catalogue).unwrap();
    vec![Message::FlowMod(modify); count]
}

/// Prints the longest steps of large bundles. Returns whether none was too long.
fn print_large() -> bool {
    println!("bundles on a switch with {ENTRIES} entries: longest step, seen, and all steps");
    let of_mods = |count| move |lab: &Lab| mods(lab, count);
    let all_within = [
        print_one("8 that change all entries", true, || {
            large(|lab| modify_alls(lab, 8), false)
        }),
        print_one("100 such: refused", false, || {
            large(|lab| modify_alls(lab, 100), false)
        }),
        print_one("176,000 adds, scheduled", true, || {
            large(of_mods(176_000), true)
        }),
    ];
    all_within.iter().all(|is_within| *is_within)
}

/// Runs a large bundle, which is committed or not, as `is_done` says, and prints its longest step.
/// Returns whether that was short enough.
fn print_one(name: &str, is_done: bool, run: impl Fn() -> (Vec<Duration>, bool)) -> bool {
    let rounds: Vec<Vec<Duration>> = (0..ROUNDS)
        .map(|_| {
            let (steps, is_committed) = run();
            assert_eq!(is_committed, is_done, "{name}");
            steps
        })
        .collect();
    let longest = longest(&rounds);
    let seen = rounds.iter().flatten().max().unwrap();
    let (count, all) = (rounds[0].len(), rounds[0].iter().sum::<Duration>());
    println!(
        "{name:<28} {:>8.1} us, seen {:>8.1} us, {all:.1?} in {count} steps",
        micros(longest),
        micros(*seen)
    );
    longest <= LONGEST_LARGE_GAP
}

fn main() -> std::process::ExitCode {
    bofuss_ports::return_memory_at_once();
    bofuss_ports::return_memory_in_background();
    let mut is_within = print_large();
    println!("mods of a bundle: longest step, seen, and rate as a part of that without a bundle");
    for (engine, name) in [(Engine::Tables, "tables"), (Engine::Cache, "cache")] {
        for count in [1, 1_000, 100_000] {
            let mut rounds = Vec::new();
            let mut bundles = Vec::new();
            let mut plains = Vec::new();
            for _ in 0..ROUNDS {
                rounds.push(bundle(engine, count));
                bundles.push(bundled(engine, count));
                plains.push(plain(engine, count));
            }
            let longest = longest(&rounds);
            is_within &= longest <= LONGEST_GAP;
            let seen = rounds.iter().flatten().max().unwrap();
            let part = median(plains).as_secs_f64() / median(bundles).as_secs_f64();
            println!(
                "{name:<8} {count:>8} mods {:>8.1} us, seen {:>8.1} us, {part:.2}",
                micros(longest),
                micros(*seen),
            );
        }
    }
    if is_within {
        return std::process::ExitCode::SUCCESS;
    }
    println!(
        "a step takes longer than {:.0} us, or {:.0} us of a large bundle",
        micros(LONGEST_GAP),
        micros(LONGEST_LARGE_GAP)
    );
    std::process::ExitCode::FAILURE
}
