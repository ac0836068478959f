//! Cases of flow-mods: how long they take, and whether packets obey them.

use bofuss_oflib::Message;
use bofuss_oflib::message::{FlowMod, FlowModCommand};

use crate::cases::barriers;
use crate::cases::flow_mods::{flow_mods, judged};
use crate::cases::point::{CaseVerdict, Point, PointOutcome};
use crate::cases::rule_check;
use crate::cases::workbench::{Limits, Workbench};
use crate::error::{ControlError, Result};
use crate::subject::controller::{ControlSession, Controlled, METER_COOKIE};

/// Rules of a bulk change, and flow-mods that are timed one by one.
const BULK: [u32; 2] = [1_000, 10_000];
const SHORT_BULK: [u32; 1] = [100];
const SINGLES: u32 = 1_000;
const SHORT_SINGLES: u32 = 50;
/// The points of changes.
pub fn change_points(limits: &Limits) -> Vec<Point> {
    let counts: &[u32] = if limits.short { &SHORT_BULK } else { &BULK };
    let within = counts.iter().filter(|count| **count <= limits.max_rules);
    within
        .map(|count| Point::of("bulk").rules(*count))
        .collect()
}

/// Times changes, each alone with its barrier.
fn timed_singles(bench: &mut Workbench<'_>, singles: &[Message]) -> Result<PointOutcome> {
    let over = bench.over;
    let controller = bench.control()?;
    let mut outcome = PointOutcome::default();
    for change in singles {
        if over() {
            break;
        }
        match controller.change(std::slice::from_ref(change)) {
            Ok(took) => outcome.delays_ns.push(took.as_nanos() as u64),
            Err(error) => return ended_at(error, outcome.delays_ns.len() + 1),
        }
    }
    Ok(outcome)
}

/// The outcome if a change failed: it says at which the switch ended or hangs.
///
/// Errors: the connection's, with that number.
fn ended_at(error: ControlError, number: usize) -> Result<PointOutcome> {
    let at = format!("at flow-mod {number} of those that were sent one by one");
    match error {
        ControlError::Hangs => {
            let why = format!("{}, {at}", ControlError::Hangs);
            Ok(PointOutcome::of(CaseVerdict::Hangs, why))
        }
        ControlError::Other(why) => Err(ControlError::Other(format!("{why}, {at}")).into()),
        error @ (ControlError::Refused(_) | ControlError::Unsupported(_)) => judged(Err(error)),
    }
}

/// Times changes that are sent together, with one barrier, and adds their rate.
fn time_bulk(
    bench: &mut Workbench<'_>,
    bulk: &[Message],
    outcome: &mut PointOutcome,
) -> Result<(), ControlError> {
    let controller = bench.control()?;
    let took = controller.change(bulk)?;
    let rate = bulk.len() as f64 / took.as_secs_f64();
    outcome.add("rate", "flow-mods/s", rate);
    Ok(())
}

/// Removes all entries. Returns the number of those that the switch keeps, as some have entries of
/// their own; those of the meter are not among them.
fn emptied(bench: &mut Workbench<'_>) -> Result<u64> {
    bench.set_rules(&[])?;
    kept_entries(bench.control()?, 0, ControlSession::entry_count)
}

/// The number of entries of a switch that are not the meter's, of which it has `ours` by a count.
///
/// Errors: the connection's.
pub fn kept_entries(
    controller: &mut ControlSession,
    ours: u64,
    count: fn(&mut ControlSession) -> Controlled<u64>,
) -> Result<u64> {
    if controller.count_until(ours, count)? == ours {
        return Ok(0);
    }
    Ok(own_entries(&controller.entries()?))
}

/// The number of some entries that are not the meter's.
fn own_entries(entries: &[FlowMod]) -> u64 {
    let own = entries.iter().filter(|entry| entry.cookie != METER_COOKIE);
    own.count() as u64
}

/// Compares the number of entries with what there should be: those of the switch's own, and
/// others.
fn check_count(
    bench: &mut Workbench<'_>,
    (own, acknowledged): (u64, u64),
    outcome: &mut PointOutcome,
) -> Result<()> {
    if outcome.verdict != CaseVerdict::Ok {
        return Ok(());
    }
    let wanted = own + acknowledged;
    let controller = bench.control()?;
    let count = controller.count_until(wanted, ControlSession::entry_count)?;
    if count != wanted {
        outcome.verdict = CaseVerdict::Lies;
        outcome.notes.push(count_note(count, own, acknowledged));
    }
    Ok(())
}

/// Says that a switch counts another number of entries than it acknowledged, where it has some of
/// its own.
fn count_note(count: u64, own: u64, acknowledged: u64) -> String {
    let besides = match own {
        0 => String::new(),
        own => format!(" besides {own} of its own"),
    };
    format!("the switch has {count} rules, and acknowledged {acknowledged}{besides}")
}

/// Checks by packets that the first rules forward.
fn check_forwarding(
    bench: &mut Workbench<'_>,
    rules: u32,
    outcome: &mut PointOutcome,
) -> Result<()> {
    if outcome.verdict == CaseVerdict::Ok {
        let check = bench.served(|bench| rule_check::forwarding(bench, 0..rules))?;
        check.judge(bench, "do not forward", outcome);
    }
    Ok(())
}

/// Checks by packets that the first of a point's rules forward no more.
fn check_removed(
    bench: &mut Workbench<'_>,
    (rules, all): (u32, u32),
    outcome: &mut PointOutcome,
) -> Result<()> {
    if outcome.verdict != CaseVerdict::Ok {
        return Ok(());
    }
    // One rule is there: if its frames arrive, those of others are not lost.
    let actions = format!("output:{}", bench.ports[1]);
    let there = bench.flow_rule(all, &actions);
    bench.control()?.add(&[there])?;
    let checked = bench.served(|bench| rule_check::removed(bench, 0..rules, (all, all + 1)))?;
    match checked {
        Ok(check) => check.judge(bench, "still forward", outcome),
        Err(why) => mark_unseen(why, outcome),
    }
    Ok(())
}

/// Marks removals of which packets show nothing, once: their rate is no result.
fn mark_unseen(why: &str, outcome: &mut PointOutcome) {
    if outcome.beyond.iter().all(|mark| mark != why) {
        outcome.beyond.push(why.into());
    }
}

/// The flow-mods of a command: for the first rules of a point, which are timed one by one, and for
/// all of its rules.
fn both(
    bench: &mut Workbench<'_>,
    point: &Point,
    actions: &str,
    command: FlowModCommand,
) -> Result<(Vec<Message>, Vec<Message>)> {
    let singles = bench.count(SINGLES, SHORT_SINGLES).min(point.rules);
    let one_by_one = flow_mods(bench, 0..singles, actions, command)?;
    let together = flow_mods(bench, 0..point.rules, actions, command)?;
    Ok((one_by_one, together))
}

/// Adding rules. Those that were added one by one are removed before all are added together, so
/// that there are never more than the point says.
pub fn add(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let actions = format!("output:{}", bench.ports[1]);
    let (one_by_one, together) = both(bench, point, &actions, FlowModCommand::ADD)?;
    let own = emptied(bench)?;
    let mut outcome = timed_singles(bench, &one_by_one)?;
    let added = outcome.delays_ns.len() as u32;
    check_count(bench, (own, added.into()), &mut outcome)?;
    check_forwarding(bench, added, &mut outcome)?;
    if outcome.verdict != CaseVerdict::Ok {
        return Ok(outcome);
    }
    bench.set_rules(&[])?;
    let timed = time_bulk(bench, &together, &mut outcome);
    let mut outcome = judged(timed.map(|()| outcome))?;
    check_count(bench, (own, point.rules.into()), &mut outcome)?;
    check_forwarding(bench, point.rules, &mut outcome)?;
    add_obeyed(bench, point.rules, &mut outcome)?;
    Ok(outcome)
}

/// Adds all rules once more, while frames pass, which would lower the rate: how long it takes until
/// packets obey, beside the time of the barrier. A switch whose rules act later lies.
fn add_obeyed(bench: &mut Workbench<'_>, rules: u32, outcome: &mut PointOutcome) -> Result<()> {
    if outcome.verdict != CaseVerdict::Ok {
        return Ok(());
    }
    let probed = barriers::many_obeyed(bench, rules)?;
    outcome.verdict = probed.verdict;
    if let Some(why) = probed.marks.iter().chain(&probed.beyond).next() {
        let note = format!("no time until packets obey: {why}");
        outcome.notes.push(note);
        return Ok(());
    }
    let times = probed.metrics.into_iter();
    let is_time = |name: &str| name == barriers::BARRIER || name.starts_with(barriers::OBEYED);
    outcome
        .metrics
        .extend(times.filter(|metric| is_time(&metric.name)));
    outcome.notes.extend(probed.notes);
    Ok(())
}

/// Modifying rules: they drop, and then they forward.
pub fn modify(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let actions = format!("output:{}", bench.ports[1]);
    let (one_by_one, together) = both(bench, point, &actions, FlowModCommand::MODIFY_STRICT)?;
    fill(bench, point.rules, "drop")?;
    let mut outcome = timed_singles(bench, &one_by_one)?;
    let modified = outcome.delays_ns.len() as u32;
    check_forwarding(bench, modified, &mut outcome)?;
    if outcome.verdict != CaseVerdict::Ok {
        return Ok(outcome);
    }
    let own = fill(bench, point.rules, "drop")?;
    let timed = time_bulk(bench, &together, &mut outcome);
    let mut outcome = judged(timed.map(|()| outcome))?;
    check_count(bench, (own, point.rules.into()), &mut outcome)?;
    check_forwarding(bench, point.rules, &mut outcome)?;
    Ok(outcome)
}

/// Removing rules, which forward: some one by one; then all are added again, and removed together.
pub fn delete(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let actions = format!("output:{}", bench.ports[1]);
    let (one_by_one, together) = both(bench, point, "", FlowModCommand::DELETE_STRICT)?;
    let own = fill(bench, point.rules, &actions)?;
    let mut outcome = timed_singles(bench, &one_by_one)?;
    let removed = outcome.delays_ns.len() as u32;
    let left = u64::from(point.rules - removed);
    check_count(bench, (own, left), &mut outcome)?;
    check_removed(bench, (removed, point.rules), &mut outcome)?;
    if outcome.verdict != CaseVerdict::Ok {
        return Ok(outcome);
    }
    fill(bench, point.rules, &actions)?;
    let timed = time_bulk(bench, &together, &mut outcome);
    let mut outcome = judged(timed.map(|()| outcome))?;
    check_count(bench, (own, 0), &mut outcome)?;
    check_removed(bench, (point.rules, point.rules), &mut outcome)?;
    Ok(outcome)
}

/// Replaces all entries by rules of single flows with these actions. Returns the number of entries
/// that the switch keeps.
fn fill(bench: &mut Workbench<'_>, rules: u32, actions: &str) -> Result<u64> {
    let adds = flow_mods(bench, 0..rules, actions, FlowModCommand::ADD)?;
    let own = emptied(bench)?;
    bench.control()?.change(&adds)?;
    bench.settle();
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn the_flow_mod_at_which_a_switch_ends_or_hangs_is_said() {
        let hangs = ended_at(ControlError::Hangs, 500).unwrap();
        assert_eq!(hangs.verdict, CaseVerdict::Hangs);
        assert!(hangs.notes[0].contains("in time, at flow-mod 500 of"));
        let closed = ended_at(ControlError::Other("closed".into()), 500);
        let said = "closed, at flow-mod 500 of those that were sent one by one";
        let wanted = Error::Control(ControlError::Other(said.into()));
        assert_eq!(closed.unwrap_err(), wanted);
    }

    #[test]
    fn removals_of_which_packets_show_nothing_are_marked_once() {
        let mut outcome = PointOutcome::default();
        mark_unseen("lost", &mut outcome);
        mark_unseen("lost", &mut outcome);
        assert_eq!(outcome.beyond, ["lost"]);
    }

    #[test]
    fn entries_that_a_switch_keeps_are_not_among_those_that_it_acknowledged() {
        let entry = |cookie| FlowMod {
            cookie,
            ..FlowMod::default()
        };
        // One of the meter that was not removed is none of the switch's own.
        let left = [entry(0), entry(METER_COOKIE), entry(7)];
        assert_eq!(own_entries(&left), 2);
        let said = count_note(40, 0, 50);
        assert_eq!(said, "the switch has 40 rules, and acknowledged 50");
        let said = count_note(42, 2, 50);
        let besides = "the switch has 42 rules, and acknowledged 50 besides 2 of its own";
        assert_eq!(said, besides);
    }
}
