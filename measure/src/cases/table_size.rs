//! The case of table sizes: how many rules a switch takes, whether each of them acts, and the delay
//! when the table is full.

use std::time::{Duration, Instant};

use bofuss_oflib::Message;
use bofuss_oflib::message::FlowModCommand;

use crate::cases::changes::{flow_rule, judged};
use crate::cases::point::{CaseVerdict, Point, PointOutcome};
use crate::cases::workbench::{Limits, Workbench};
use crate::error::{ControlError, Result};
use crate::statistics::special::share_interval;
use crate::subject::controller::ControlSession;
use crate::subject::probe::ProbeLoad;
use crate::subject::template::Template;
use crate::testbed::net::{A_MAC, B_ADDRESS, mac_text};
use crate::testbed::openflow::exact;
use crate::testbed::traffic::{ABSENT_HOSTS, flow_ports, random};

/// The beginning of a note that says that a table may take more than was tried.
pub const AT_LEAST: &str = "at least";
/// Rules between two barriers.
const BATCH: usize = 100;
/// Blocks of the fill of which rate and memory are reported.
const BLOCKS: usize = 10;
/// The number of times that the memory is read during a fill of all rules that are permitted: too
/// rarely to take time from it.
const MEMORY_SAMPLES: usize = 100;
/// Rules that are checked by a frame each.
const CHECKED: u32 = 1_000;
/// Frames per second of the first round of the check, and the least: each round has half the rate
/// of the one before, so that a slow switch comes to a rate at which it loses none.
const CHECK_RATE: f64 = 5_000.0;
const MIN_CHECK_RATE: f64 = 50.0;
/// The rules that are left have no effect if this many rounds in a row find none that acts.
const SILENT_ROUNDS: usize = 3;
/// The time without a frame after which the next round begins, and the longest wait for that.
const SILENCE: Duration = Duration::from_millis(500);
const MAX_SILENCE: Duration = Duration::from_secs(10);
/// Seed of the choice of rules.
const SEED: u64 = 5;
/// The rule of frames that no other matches.
const CATCH_ALL: &str = "priority=1,actions=";

/// The points: limits by what rules match, then delays by the rule that is hit.
pub fn points(_: &Limits) -> Vec<Point> {
    let limits = ["exact", "wildcard", "all fields"];
    let delays = ["one", "first", "middle", "last", "random", "miss"];
    let mut points = Vec::new();
    points.extend(limits.map(|kind| Point::of(&format!("limit, {kind}"))));
    points.extend(delays.map(|kind| Point::of(&format!("delay, {kind}"))));
    points
}

/// Measures at a point.
pub fn run(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    match point.kind.split_once(", ") {
        Some(("limit", kind)) => limit(bench, kind),
        Some(("delay", kind)) => delay(bench, point, kind),
        _ => Err(format!("no point {}", point.kind).into()),
    }
}

/// The rule of a flow by what it matches.
fn rule(bench: &Workbench<'_>, kind: &str, flow: u32, actions: &str) -> String {
    let (source, destination) = flow_ports(flow);
    let near = bench.ports[0];
    match kind {
        "wildcard" => format!(
            "priority=20,udp,nw_dst={B_ADDRESS},tp_src={source},tp_dst={destination},\
             actions={actions}"
        ),
        "all fields" => format!(
            "priority=20,in_port={near},dl_src={},dl_dst={},dl_vlan=0xffff,nw_tos=0,{},\
             actions={actions}",
            mac_text(A_MAC),
            mac_text(ABSENT_HOSTS[0]),
            exact(source, destination)
        ),
        _ => flow_rule(bench, flow, actions),
    }
}

/// The end of a fill.
struct Fill {
    /// Rules that were acknowledged.
    count: u32,
    /// Why it went no further.
    end: Result<(), ControlError>,
    /// When each batch was acknowledged, seconds since the start.
    times: Vec<f64>,
    /// The memory of the switch after some of the batches: how many, and KiB.
    memory: Vec<(usize, f64)>,
}

/// KiB of memory of the switch, if it is a process that the meter started.
fn memory(bench: &Workbench<'_>) -> Option<f64> {
    let status = bench.subject.forwarder.as_ref()?.status("VmRSS");
    (status > 0.0).then_some(status)
}

/// Adds rules in batches until the switch refuses one, or as many as are permitted are there.
fn fill(bench: &mut Workbench<'_>, kind: &str) -> Result<Fill> {
    let actions = format!("output:{}", bench.ports[1]);
    let most = bench.limits.max_rules.saturating_sub(1);
    let over = bench.over;
    let start = Instant::now();
    let mut done = Fill {
        count: 0,
        end: Ok(()),
        times: Vec::new(),
        memory: Vec::new(),
    };
    let step = (most as usize / BATCH / MEMORY_SAMPLES).max(1);
    while done.count < most && done.end.is_ok() && !over() {
        let until = most.min(done.count + BATCH as u32);
        let mut batch = Vec::with_capacity(BATCH);
        for flow in done.count..until {
            let text = rule(bench, kind, flow, &actions);
            batch.push(bench.control()?.flow(&text, FlowModCommand::ADD)?);
        }
        match bench.control()?.change(&batch) {
            Ok(_) => done.count = until,
            Err(error) => {
                // Some switches have another error than that of a full table for it.
                if matches!(error, ControlError::Refused(_)) {
                    done.count += room_left(bench, &batch)?;
                }
                done.end = Err(error);
            }
        }
        done.times.push(start.elapsed().as_secs_f64());
        let batches = done.times.len();
        if batches.is_multiple_of(step) {
            done.memory.extend(memory(bench).map(|kib| (batches, kib)));
        }
    }
    Ok(done)
}

/// The number of rules of a batch that the switch has, if it refused one of them. Adding a rule
/// again is no change.
///
/// Errors: the connection's.
pub fn room_left(bench: &mut Workbench<'_>, batch: &[Message]) -> Result<u32> {
    let mut count = 0;
    for message in batch {
        match bench.control()?.change(std::slice::from_ref(message)) {
            Ok(_) => count += 1,
            Err(ControlError::Refused(_)) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(count)
}

/// The number of rules that a switch takes, and whether all that it took act.
fn limit(bench: &mut Workbench<'_>, kind: &str) -> Result<PointOutcome> {
    let catch_all = format!("{CATCH_ALL}drop");
    bench.set_rules(&[catch_all])?;
    let before = memory(bench);
    let filled = fill(bench, kind)?;
    let mut outcome = PointOutcome::default().with("rules", "", f64::from(filled.count));
    match filled.end {
        Ok(()) => outcome
            .notes
            .push(format!("{AT_LEAST}: --max-rules ended the fill")),
        Err(ControlError::Hangs) => return Ok(with_verdict(outcome, CaseVerdict::Hangs)),
        Err(ControlError::Other(why)) => {
            outcome.notes.push(why);
            return Ok(with_verdict(outcome, bench.verdict()));
        }
        Err(error) if filled.count == 0 => return judged(Err(error)),
        Err(error) => outcome.notes.push(error.to_string()),
    }
    let seconds = filled.times.last().copied().unwrap_or(0.0).max(1e-9);
    outcome.add("rate", "rules/s", f64::from(filled.count) / seconds);
    add_blocks(&mut outcome, &filled.times, &filled.memory);
    if let (Some(before), Some(after)) = (before, memory(bench)) {
        let grown = (after - before) * 1024.0;
        let each = grown / f64::from(filled.count.max(1));
        outcome.add("memory", "bytes/rule", each);
    }
    // The rule of frames that no other matches is there, too.
    let wanted = u64::from(filled.count) + 1;
    let controller = bench.control()?;
    let counted = controller.count_until(wanted, ControlSession::table_count)?;
    outcome.add("rules by table statistics", "", counted as f64 - 1.0);
    let checked = CHECKED.min(filled.count);
    let idle = bench.served(|bench| idle_rules(bench, filled.count, checked))?;
    outcome.add("rules checked by a frame", "", f64::from(checked));
    outcome.add("of them without effect", "", idle.len() as f64);
    add_in_effect(&mut outcome, filled.count, idle.len() as u32, checked);
    if counted != wanted || !idle.is_empty() {
        outcome.notes.push(format!(
            "the switch acknowledged {} rules; it counts {}, and {} of {checked} that were tried \
             do nothing",
            filled.count,
            counted.saturating_sub(1),
            idle.len()
        ));
        outcome.verdict = CaseVerdict::Lies;
    }
    Ok(outcome)
}

/// The rules that act, by those that were tried, with their 99 % interval.
fn add_in_effect(outcome: &mut PointOutcome, rules: u32, idle: u32, checked: u32) {
    let tried = checked.max(1);
    let (low, high) = share_interval(u64::from(idle), u64::from(tried), 0.99);
    let rules = f64::from(rules);
    let acting = rules * (1.0 - f64::from(idle) / f64::from(tried));
    outcome.add_within(
        "rules that act",
        "",
        acting,
        (rules * (1.0 - high), rules * (1.0 - low)),
    );
}

fn with_verdict(mut outcome: PointOutcome, verdict: CaseVerdict) -> PointOutcome {
    outcome.verdict = verdict;
    outcome
}

/// The rate of each tenth of the fill, and the memory after it.
fn add_blocks(outcome: &mut PointOutcome, times: &[f64], memory: &[(usize, f64)]) {
    if times.len() < BLOCKS {
        return;
    }
    let size = times.len() / BLOCKS;
    let mut before = 0.0;
    for block in 1..=BLOCKS {
        let batches = block * size;
        let now = times[batches - 1];
        let rate = (size * BATCH) as f64 / (now - before).max(1e-9);
        outcome.add(&format!("rate of tenth {block}"), "rules/s", rate);
        before = now;
        let mut earlier = memory.iter().rev();
        if let Some((_, kib)) = earlier.find(|(after, _)| *after <= batches) {
            outcome.add(&format!("memory after tenth {block}"), "MiB", kib / 1024.0);
        }
    }
}

/// Sends a frame to each of some rules chosen at random, and again to those of which it was lost.
/// Returns the rules that never let a frame through.
fn idle_rules(bench: &Workbench<'_>, rules: u32, checked: u32) -> Result<Vec<u32>> {
    let mut next = random(SEED);
    let mut idle: Vec<u32> = (0..checked)
        .map(|_| (next() % u64::from(rules.max(1))) as u32)
        .collect();
    let mut probe = bench.subject.probe(false)?;
    let mut rate = CHECK_RATE;
    let mut silent_rounds = 0;
    while !idle.is_empty() && silent_rounds < SILENT_ROUNDS {
        let flow = |number| flow_ports(idle[number as usize]);
        let load = ProbeLoad {
            frames: idle.len() as u32,
            warm_up: 0,
            rate: rate.min(bench.limits.max_rate),
            flow: Some(&flow),
        };
        let seen = probe.run(&Template::plain(0), &load, bench.over)?;
        let left = without_effect(&idle, &seen.arrivals_ns);
        let is_silent = left.len() == idle.len();
        silent_rounds = if is_silent { silent_rounds + 1 } else { 0 };
        idle = left;
        rate = (rate / 2.0).max(MIN_CHECK_RATE);
        // Frames that a slow switch still holds are not to delay those of the next round.
        probe.discard_until_idle(SILENCE, MAX_SILENCE)?;
    }
    Ok(idle)
}

/// The rules of which the frame did not arrive.
fn without_effect(rules: &[u32], arrivals_ns: &[u64]) -> Vec<u32> {
    let all = rules.iter().zip(arrivals_ns);
    all.filter(|(_, arrival)| **arrival == 0)
        .map(|(rule, _)| *rule)
        .collect()
}

/// The delay of frames that hit one rule of a full table, or any, or none.
fn delay(bench: &mut Workbench<'_>, point: &Point, kind: &str) -> Result<PointOutcome> {
    let far = bench.ports[1];
    let action = if kind == "miss" {
        format!("output:{far}")
    } else {
        "drop".into()
    };
    bench.set_rules(&[format!("{CATCH_ALL}{action}")])?;
    let mut rules = 1;
    if kind == "one" {
        let one = flow_rule(bench, 0, &format!("output:{far}"));
        bench.control()?.add(&[one])?;
    } else {
        let filled = fill(bench, "exact")?;
        if let Err(error) = filled.end
            && (filled.count == 0 || !matches!(error, ControlError::Refused(_)))
        {
            return judged(Err(error));
        }
        rules = filled.count.max(1);
    }
    let mut next = random(SEED);
    let hits: Vec<u32> = (0..bench.frames() * 2)
        .map(|_| (next() % u64::from(rules)) as u32)
        .collect();
    let flow = |number: u32| {
        flow_ports(match kind {
            "middle" => rules / 2,
            "last" => rules - 1,
            "random" => hits[number as usize % hits.len()],
            "miss" => rules + 1,
            _ => 0,
        })
    };
    let load = ProbeLoad {
        flow: Some(&flow),
        ..bench.load(point)
    };
    let mut measured = point.clone();
    measured.rules = rules;
    let outcome = bench.outcome(&Template::plain(measured.bytes), &load)?;
    Ok(outcome.with("rules", "", f64::from(rules)))
}
