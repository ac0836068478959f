//! Checks rules of single flows by packets: a frame for each, and again for those that were lost.

use std::ops::Range;
use std::time::Duration;

use crate::cases::point::{CaseVerdict, PointOutcome};
use crate::cases::workbench::Workbench;
use crate::error::Result;
use crate::statistics::special::share_interval;
use crate::subject::probe::ProbeLoad;
use crate::subject::template::Template;
use crate::testbed::traffic::{flow_ports, random};

/// Frames per second of the first round of the check, and the least: each round has half the rate
/// of the one before, so that a slow switch comes to a rate at which it loses none.
const CHECK_RATE: f64 = 50_000.0;
const MIN_CHECK_RATE: f64 = 50.0;
/// The seconds that the first round may take: of more rules than that, some are chosen at random.
const CHECK_SECONDS: f64 = 60.0;
/// The rules that are left have no effect if this many rounds in a row find none that acts, and the
/// least number of frames of a round: of few rules each has several, as one may be lost.
const SILENT_ROUNDS: usize = 3;
const LEAST_FRAMES: usize = 20;
/// Rounds of the check of removals: in each, frames of a rule that is there must not be lost.
const REMOVED_ROUNDS: usize = 6;
/// The time without a frame after which the next round begins, and the longest wait for that.
const SILENCE: Duration = Duration::from_millis(500);
const MAX_SILENCE: Duration = Duration::from_secs(10);
/// The metrics of a check.
const CHECKED: &str = "rules checked by a frame";
const WRONG: &str = "of them without effect";
const MOST_WRONG: &str = "largest share without effect, at 95 %";
/// Rules that are named in a sentence.
const NAMED: usize = 10;
/// Seed of the choice of rules.
const SEED: u64 = 5;

/// The rules that were checked by a frame each.
pub struct RuleCheck {
    /// Rules that were acknowledged.
    pub rules: u32,
    /// Those of them that were tried.
    pub checked: u32,
    /// The numbers of those that do not do what was acknowledged, from 0 and in their order.
    pub wrong: Vec<u32>,
}

impl RuleCheck {
    /// Adds what was checked to an outcome, instead of what an earlier check of it said; `fault`
    /// says what the wrong ones do.
    pub fn judge(&self, bench: &Workbench<'_>, fault: &str, outcome: &mut PointOutcome) {
        let is_earlier = |name: &str| [CHECKED, WRONG, MOST_WRONG].contains(&name);
        outcome.metrics.retain(|metric| !is_earlier(&metric.name));
        outcome.add(CHECKED, "", f64::from(self.checked));
        outcome.add(WRONG, "", self.wrong.len() as f64);
        if self.checked < self.rules {
            // Rules that were not tried may be wrong, too.
            let (_, most) = share_interval(self.wrong.len() as u64, self.checked.into(), 0.9);
            outcome.add(MOST_WRONG, "%", most * 100.0);
        }
        if self.wrong.is_empty() {
            return;
        }
        let named = self.wrong.iter().take(NAMED).map(|rule| {
            let text = bench.flow_rule(*rule, "");
            let fields = text.trim_end_matches(",actions=");
            format!("number {} ({fields})", rule + 1)
        });
        let more = match self.wrong.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        outcome.notes.push(format!(
            "of {} rules that were acknowledged, {} {fault}: {}{more}",
            self.rules,
            self.wrong.len(),
            named.collect::<Vec<_>>().join(", ")
        ));
        outcome.verdict = CaseVerdict::Lies;
    }
}

/// The frames per second of a check.
fn check_rate(bench: &Workbench<'_>) -> f64 {
    CHECK_RATE.min(bench.limits.max_rate)
}

/// All of some rules, or as many of them as there is time for, chosen at random.
fn tried(rules: Range<u32>, most: usize) -> Vec<u32> {
    let mut all: Vec<u32> = rules.collect();
    if all.len() <= most {
        return all;
    }
    let mut next = random(SEED);
    for place in 0..most {
        let left = (all.len() - place) as u64;
        all.swap(place, place + (next() % left) as usize);
    }
    all.truncate(most);
    all.sort_unstable();
    all
}

/// Sends a frame for each rule of single flows that forwards, and again for those of which it was
/// lost, the more for each the fewer are left. The wrong ones never let one through.
///
/// Errors: the interfaces'.
pub fn forwarding(bench: &Workbench<'_>, rules: Range<u32>) -> Result<RuleCheck> {
    let count = rules.len() as u32;
    let mut rate = check_rate(bench);
    let mut idle = tried(rules, (rate * CHECK_SECONDS) as usize);
    let checked = idle.len() as u32;
    let mut probe = bench.subject.probe(false)?;
    let mut silent_rounds = 0;
    while !idle.is_empty() && silent_rounds < SILENT_ROUNDS && !(bench.over)() {
        let flow = |number| flow_ports(idle[number as usize % idle.len()]);
        let load = one_each(&flow, frames_of(idle.len()), rate);
        let seen = probe.run(&Template::plain(0), &load, bench.over)?;
        let left = without_frame(&idle, &seen.arrivals_ns);
        let is_silent = left.len() == idle.len();
        silent_rounds = if is_silent { silent_rounds + 1 } else { 0 };
        idle = left;
        rate = (rate / 2.0).max(MIN_CHECK_RATE.min(bench.limits.max_rate));
        if !idle.is_empty() {
            // Frames that a slow switch still holds are not to delay those of the next round.
            probe.discard_until_idle(SILENCE, MAX_SILENCE)?;
        }
    }
    Ok(RuleCheck {
        rules: count,
        checked,
        wrong: idle,
    })
}

/// Sends a frame for each rule of single flows that was removed. The wrong ones let it through: one
/// frame shows that, unless it was lost. So each is followed by one of the flow `there`, which has
/// a rule: a queue that was full or a receiver that did not run in time loses frames in a row, and
/// with them some of these. If any is lost, all are sent again, more slowly.
///
/// The inner error says why packets show nothing: frames of a flow that never had a rule, `absent`,
/// come through, too, or each round lost some.
///
/// Errors: the interfaces'.
pub fn removed(
    bench: &Workbench<'_>,
    rules: Range<u32>,
    (there, absent): (u32, u32),
) -> Result<Result<RuleCheck, &'static str>> {
    let count = rules.len() as u32;
    let mut rate = check_rate(bench);
    let mut all = tried(rules, (rate * CHECK_SECONDS / 2.0) as usize);
    let checked = all.len() as u32;
    all.push(absent);
    let flow = |frame: u32| {
        flow_ports(if frame.is_multiple_of(2) {
            all[frame as usize / 2]
        } else {
            there
        })
    };
    let mut probe = bench.subject.probe(false)?;
    for _ in 0..REMOVED_ROUNDS {
        let load = one_each(&flow, 2 * all.len(), rate);
        let seen = probe.run(&Template::plain(0), &load, bench.over)?;
        let (of_rules, of_there) = every_other(&seen.arrivals_ns);
        if of_there.contains(&0) {
            rate = (rate / 2.0).max(MIN_CHECK_RATE.min(bench.limits.max_rate));
            probe.discard_until_idle(SILENCE, MAX_SILENCE)?;
            continue;
        }
        let gone = without_frame(&all, &of_rules);
        if gone.last() != Some(&absent) {
            return Ok(Err(
                "packets do not show removals: the switch forwards those without a rule",
            ));
        }
        all.retain(|rule| gone.binary_search(rule).is_err());
        return Ok(Ok(RuleCheck {
            rules: count,
            checked,
            wrong: all,
        }));
    }
    Ok(Err(
        "packets do not show removals: frames of a rule that is there are lost",
    ))
}

/// The first, the third and so on, and those between them.
fn every_other(arrivals_ns: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let pairs = arrivals_ns.chunks_exact(2);
    pairs.map(|pair| (pair[0], pair[1])).unzip()
}

/// A load of one frame for each of some flows.
fn one_each<'a>(flow: &'a dyn Fn(u32) -> (u16, u16), frames: usize, rate: f64) -> ProbeLoad<'a> {
    ProbeLoad {
        frames: frames as u32,
        warm_up: 0,
        rate,
        flow: Some(flow),
        counts_only: false,
    }
}

/// Frames of a round for some rules: as many of each.
fn frames_of(rules: usize) -> usize {
    rules * LEAST_FRAMES.div_ceil(rules.max(1))
}

/// The rules of which no frame arrived; their frames are sent in turns.
fn without_frame(rules: &[u32], arrivals_ns: &[u64]) -> Vec<u32> {
    let mut idle = vec![true; rules.len()];
    for turn in arrivals_ns.chunks(rules.len().max(1)) {
        for (is_idle, arrival) in idle.iter_mut().zip(turn) {
            *is_idle &= *arrival == 0;
        }
    }
    let all = rules.iter().zip(idle);
    all.filter(|(_, is_idle)| *is_idle)
        .map(|(rule, _)| *rule)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_wrong_if_none_of_its_frames_arrives_and_few_rules_have_several() {
        assert_eq!([1, 3, 20, 1_000].map(frames_of), [20, 21, 20, 1_000]);
        // Frames of three rules in two turns: the first one's are lost, the second one's once.
        let arrivals_ns = [0, 0, 7, 0, 9, 0];
        assert_eq!(without_frame(&[4, 5, 8], &arrivals_ns), [4]);
        assert_eq!(without_frame(&[4, 5, 8], &[0, 0, 7]), [4, 5]);
        assert!(without_frame(&[], &[]).is_empty());
    }

    #[test]
    fn all_rules_are_tried_or_different_ones_of_all() {
        assert_eq!(tried(3..8, 5), [3, 4, 5, 6, 7]);
        let some = tried(0..1_000, 100);
        assert_eq!(some.len(), 100);
        assert!(some.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(some[0] < 100 && some[99] > 900, "{some:?}");
    }
}
