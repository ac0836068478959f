//! The case of table sizes: how many rules a switch takes, whether each of them acts, and the delay
//! when the table is full.

use std::ops::Range;
use std::time::Instant;

use bofuss_oflib::Message;
use bofuss_oflib::message::FlowModCommand;

use crate::cases::changes::kept_entries;
use crate::cases::flow_mods::judged;
use crate::cases::point::{CaseVerdict, Point, PointOutcome};
use crate::cases::rule_check::{self, RuleCheck};
use crate::cases::workbench::{Limits, Workbench};
use crate::error::{ControlError, Result};
use crate::statistics::special::share_interval;
use crate::subject::controller::{ControlSession, Controlled};
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
        _ => bench.flow_rule(flow, actions),
    }
}

/// The end of a fill.
struct Fill {
    /// Rules that were acknowledged.
    count: u32,
    /// Rules after these of which it is not known how many the switch took before it ended.
    unsure: u32,
    /// The reason for which it went no further.
    end: Result<(), ControlError>,
    /// The times at which batches were acknowledged, seconds since the start.
    times: Vec<f64>,
    /// The memory of the switch after some of the batches: how many, and KiB.
    memory: Vec<(usize, f64)>,
}

/// KiB of memory of the switch, if it is a process that the meter started.
fn memory(bench: &Workbench<'_>) -> Option<f64> {
    let status = bench.subject.forwarder.as_ref()?.status("VmRSS");
    (status > 0.0).then_some(status)
}

/// Adds rules in batches until the switch refuses one, or as many as are permitted are there, with
/// the other ones that it has.
fn fill(bench: &mut Workbench<'_>, kind: &str, others: u32) -> Result<Fill> {
    let most = bench.limits.max_rules.saturating_sub(others);
    let over = bench.over;
    let start = Instant::now();
    let mut done = Fill {
        count: 0,
        unsure: 0,
        end: Ok(()),
        times: Vec::new(),
        memory: Vec::new(),
    };
    let step = (most as usize / BATCH / MEMORY_SAMPLES).max(1);
    while done.count < most && done.end.is_ok() && !over() {
        let until = most.min(done.count + BATCH as u32);
        let batch = additions(bench, kind, done.count..until)?;
        match bench.control()?.change(&batch) {
            Ok(_) => done.count = until,
            Err(error) => {
                done.count += match error {
                    // Some switches have another error than that of a full table for it.
                    ControlError::Refused(_) => room_left(bench, &batch)?,
                    ControlError::Other(_) | ControlError::Hangs => {
                        let taken = survived(bench, kind, done.count, &batch)?;
                        done.unsure = taken.map_or(batch.len() as u32, |_| 0);
                        taken.unwrap_or(0)
                    }
                    ControlError::Unsupported(_) => 0,
                };
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

/// The number of rules of a batch that a switch takes before it ends or hangs: once it is back on
/// a new connection, those before are added again, and then these one by one. None if it does not
/// come back, or takes all.
///
/// Errors: a rule that is none.
fn survived(
    bench: &mut Workbench<'_>,
    kind: &str,
    before: u32,
    batch: &[Message],
) -> Result<Option<u32>> {
    let catch_all = format!("{CATCH_ALL}drop");
    if bench.connect_anew().is_err() || bench.set_rules(&[catch_all]).is_err() {
        return Ok(None);
    }
    for from in (0..before).step_by(BATCH) {
        let again = additions(bench, kind, from..before.min(from + BATCH as u32))?;
        if bench.control()?.change(&again).is_err() {
            return Ok(None);
        }
    }
    match one_by_one(bench, batch)? {
        (count, Err(_)) => Ok(Some(count)),
        // This time it did not end.
        (_, Ok(())) => Ok(None),
    }
}

/// The messages that add rules of a kind.
///
/// Errors: a rule that is none.
fn additions(bench: &mut Workbench<'_>, kind: &str, flows: Range<u32>) -> Result<Vec<Message>> {
    let actions = format!("output:{}", bench.ports[1]);
    let mut batch = Vec::with_capacity(flows.len());
    for flow in flows {
        let text = rule(bench, kind, flow, &actions);
        batch.push(bench.control()?.flow(&text, FlowModCommand::ADD)?);
    }
    Ok(batch)
}

/// Makes changes one by one until one fails. Returns how many were made, and how the last ended.
///
/// Errors: the subject does not speak OpenFlow.
fn one_by_one(bench: &mut Workbench<'_>, batch: &[Message]) -> Result<(u32, Controlled<()>)> {
    for (count, message) in (0..).zip(batch) {
        let made = bench.control()?.change(std::slice::from_ref(message));
        if let Err(error) = made {
            return Ok((count, Err(error)));
        }
    }
    Ok((batch.len() as u32, Ok(())))
}

/// The number of rules of a batch that the switch has, if it refused one of them. Adding a rule
/// again is no change.
///
/// Errors: the connection's.
pub fn room_left(bench: &mut Workbench<'_>, batch: &[Message]) -> Result<u32> {
    match one_by_one(bench, batch)? {
        (count, Ok(()) | Err(ControlError::Refused(_))) => Ok(count),
        (_, Err(error)) => Err(error.into()),
    }
}

/// The number of rules that a switch takes, and whether all that it took act.
fn limit(bench: &mut Workbench<'_>, kind: &str) -> Result<PointOutcome> {
    let catch_all = format!("{CATCH_ALL}drop");
    bench.set_rules(&[catch_all])?;
    // The rule of frames that no other matches is there, too, and those of the switch's own.
    let others = 1 + kept_entries(bench.control()?, 1, ControlSession::table_count)?;
    let before = memory(bench);
    let filled = fill(bench, kind, 1)?;
    let mut outcome = PointOutcome::default();
    add_rules(&mut outcome, filled.count, filled.unsure);
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
    let wanted = u64::from(filled.count) + others;
    let controller = bench.control()?;
    let counted = controller.count_until(wanted, ControlSession::table_count)?;
    let beyond = counted as f64 - others as f64;
    outcome.add("rules by table statistics", "", beyond);
    if counted != wanted {
        outcome.notes.push(format!(
            "the switch acknowledged {} rules, and counts {}",
            filled.count,
            counted.saturating_sub(others)
        ));
        outcome.verdict = CaseVerdict::Lies;
    }
    let check = bench.served(|bench| rule_check::forwarding(bench, 0..filled.count))?;
    check.judge(bench, "do nothing", &mut outcome);
    add_in_effect(&mut outcome, &check);
    Ok(outcome)
}

/// The rules that a switch took; with bounds if it may have taken some more before it ended.
fn add_rules(outcome: &mut PointOutcome, count: u32, unsure: u32) {
    let rules = f64::from(count);
    if unsure == 0 {
        outcome.add("rules", "", rules);
        return;
    }
    outcome.add_within("rules", "", rules, (rules, rules + f64::from(unsure)));
    outcome.notes.push(format!(
        "at which of the next {unsure} rules it ended was not found by a second fill"
    ));
}

/// The rules that act: exactly if all were tried, else with their 99 % interval.
fn add_in_effect(outcome: &mut PointOutcome, check: &RuleCheck) {
    let idle = check.wrong.len() as u64;
    let tried = u64::from(check.checked.max(1));
    let share = idle as f64 / tried as f64;
    let (low, high) = if check.checked == check.rules {
        (share, share)
    } else {
        share_interval(idle, tried, 0.99)
    };
    let rules = f64::from(check.rules);
    let [least, acting, most] = [high, share, low].map(|share| rules * (1.0 - share));
    outcome.add_within("rules that act", "", acting, (least, most));
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

/// The delay of frames that hit one rule of a full table, or any, or none.
fn delay(bench: &mut Workbench<'_>, point: &Point, kind: &str) -> Result<PointOutcome> {
    let far = bench.ports[1];
    let action = if kind == "miss" {
        format!("output:{far}")
    } else {
        "drop".into()
    };
    let mut first = vec![format!("{CATCH_ALL}{action}")];
    first.extend(bench.is_echo().then(|| bench.back_rule()));
    bench.set_rules(&first)?;
    let mut rules = 1;
    if kind == "one" {
        let one = bench.flow_rule(0, &format!("output:{far}"));
        bench.control()?.add(&[one])?;
    } else {
        let filled = fill(bench, "exact", first.len() as u32)?;
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
    bench.settle();
    let outcome = bench.outcome(&Template::plain(measured.bytes), &load)?;
    Ok(outcome.with("rules", "", f64::from(rules)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_that_stays_away_has_bounds_of_the_rules_that_it_took() {
        let told = |unsure| {
            let mut outcome = PointOutcome::default();
            add_rules(&mut outcome, 400, unsure);
            let values: Vec<f64> = outcome.metrics.iter().map(|metric| metric.value).collect();
            (values, outcome.notes.len())
        };
        assert_eq!(told(0), (vec![400.0], 0));
        assert_eq!(told(100), (vec![400.0, 400.0, 500.0], 1));
    }
}
