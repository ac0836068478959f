//! The case of barriers: whether rules act once the barrier after them is answered.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bofuss_oflib::message::FlowModCommand;

use crate::cases::flow_mods::{flow_mods, judged};
use crate::cases::point::{CaseVerdict, Point, PointOutcome};
use crate::cases::workbench::{Limits, Workbench};
use crate::error::{Error, Result};
use crate::statistics::greatest;
use crate::subject::probe::{Observation, ProbeLoad};
use crate::subject::template::Template;
use crate::testbed::traffic::flow_ports;

/// Rules whose first packets show when they act.
const PROBED: [u32; 3] = [10, 100, 1_000];
const SHORT_PROBED: [u32; 1] = [10];
/// Further rules: one that is there from the beginning, and one that drops all other frames.
const OTHER_RULES: u32 = 2;
/// Frames per second for all rules together; how many seconds they go on at least after the
/// barrier's reply; and how many frames each rule has then at least: fewer do not show whether the
/// rule acts.
const PROBING: (f64, f64) = (20_000.0, 1.0);
const SHORT_PROBING: (f64, f64) = (5_000.0, 0.6);
const FRAMES_AFTER: f64 = 3.0;
/// The least number of frames that no rule handles after the barrier's reply that shows a lie: a
/// single one may have been lost, even where no other was.
const LEAST_EVIDENCE: u32 = 2;
/// The time for which frames are sent before the rules are.
const BEFORE: Duration = Duration::from_millis(100);
/// Attempts at a run without losses.
const ATTEMPTS: usize = 4;
/// The least time between frames that wait for a rule to act.
const BETWEEN: Duration = Duration::from_millis(5);

/// The rules of many that are probed at most.
const MOST_PROBED: u32 = 50;
const SHORT_MOST_PROBED: u32 = 10;
/// The metrics of the time from the first rule that is sent to the barrier's reply, and to the
/// first frame that the last rule handles.
pub const BARRIER: &str = "time of the barrier";
/// See [`BARRIER`].
pub const OBEYED: &str = "time until packets obey";

/// The points of `barrier-truth`.
pub fn barrier_points(limits: &Limits) -> Vec<Point> {
    let counts: &[u32] = if limits.short { &SHORT_PROBED } else { &PROBED };
    let within = counts
        .iter()
        .filter(|count| **count + OTHER_RULES <= limits.max_rules);
    within
        .map(|count| Point::of("rules").rules(*count))
        .collect()
}

/// Returns true if the rule of a flow acts before the switch counts as hanging.
fn acts(bench: &Workbench<'_>, flow: u32) -> Result<bool> {
    let mut probe = bench.subject.probe(false)?;
    let mut template = Template::plain(0);
    template.set_ports(flow_ports(flow));
    let frame = template.sent.bytes;
    let between = BETWEEN.max(Duration::from_secs_f64(1.0 / bench.limits.max_rate));
    let start = Instant::now();
    while start.elapsed() < bench.limits.stall && !(bench.over)() {
        probe.send_one(&frame)?;
        if probe.sees(&frame, between)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sends rules and a barrier while frames of all of them arrive: a frame that departs after the
/// barrier's reply and is not handled shows that the reply came too early. Every other frame is of
/// one more rule, which is there from the beginning. If one of these is lost, others may have been
/// lost, too, so that nothing is said of the switch, and it is tried again.
pub fn barrier_truth(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    added_and_probed(bench, point.rules, point.rules)
}

/// The same for some of many rules that are added together, to see when the last of them acts:
/// [`BARRIER`] and [`OBEYED`] are of all rules as far as these show it.
pub fn many_obeyed(bench: &mut Workbench<'_>, rules: u32) -> Result<PointOutcome> {
    let most = bench.limits.max_rules - OTHER_RULES;
    let probed = bench.count(MOST_PROBED, SHORT_MOST_PROBED);
    added_and_probed(bench, rules.min(most), probed)
}

fn added_and_probed(bench: &mut Workbench<'_>, rules: u32, most: u32) -> Result<PointOutcome> {
    let mut outcome = tried_barrier(bench, rules, most)?;
    for _ in 1..ATTEMPTS {
        let is_result = outcome.marks.is_empty() && outcome.beyond.is_empty();
        if is_result || (bench.over)() {
            break;
        }
        outcome = tried_barrier(bench, rules, most)?;
    }
    Ok(outcome)
}

/// The flows of the rules that frames are sent for: all of some rules, or as many, evenly spread;
/// always that of the last one.
fn probed_flows(rules: u32, most: u32) -> Vec<u32> {
    let count = u64::from(rules.min(most));
    let each = |number| (number * u64::from(rules) / count) as u32 - 1;
    (1..=count).map(each).collect()
}

/// The metric of the time by which a barrier was early.
pub const UNHANDLED: &str = "last unhandled frame after the barrier";

/// Seconds between two frames of a rule: every other frame is for the rule that is there from the
/// beginning.
fn seconds_between(rules: u32, rate: f64) -> f64 {
    f64::from(2 * rules) / rate
}

/// The rule whose frame this is; number `rules` is that which is there from the beginning.
fn probed_rule(frame: u32, rules: u32) -> u32 {
    if frame % 2 == 1 {
        return rules;
    }
    frame / 2 % rules
}

fn tried_barrier(bench: &mut Workbench<'_>, rules: u32, most: u32) -> Result<PointOutcome> {
    let flows = probed_flows(rules, most);
    let probed = flows.len() as u32;
    let actions = format!("output:{}", bench.ports[1]);
    let control = bench.flow_rule(rules, &actions);
    bench.set_rules(&[control, "priority=1,actions=drop".into()])?;
    let adds = flow_mods(bench, 0..rules, &actions, FlowModCommand::ADD)?;
    if !bench.served(|bench| acts(bench, rules))? {
        let note = "a rule that was there did not act";
        return Ok(PointOutcome::of(CaseVerdict::Lies, note));
    }
    let (rate, seconds) = if bench.limits.short {
        SHORT_PROBING
    } else {
        PROBING
    };
    let rate = rate.min(bench.limits.max_rate);
    let after = f64::max(seconds, FRAMES_AFTER * seconds_between(probed, rate));
    let longest = BEFORE.as_secs_f64() + bench.limits.stall.as_secs_f64() + after;
    let probing_ends = OnceLock::new();
    let subject = bench.subject;
    let over = bench.over;
    let controller = bench.control()?;
    let (seen, answered) = std::thread::scope(|scope| {
        let probing = scope.spawn(|| {
            let flow = |frame| {
                let of_flow = flows.get(probed_rule(frame, probed) as usize);
                flow_ports(of_flow.copied().unwrap_or(rules))
            };
            let load = ProbeLoad {
                frames: (rate * longest) as u32,
                warm_up: 0,
                rate,
                flow: Some(&flow),
                counts_only: false,
            };
            let is_over = || {
                let ends: Option<&Instant> = probing_ends.get();
                over() || ends.is_some_and(|ends| Instant::now() > *ends)
            };
            subject
                .probe(false)?
                .run(&Template::plain(0), &load, &is_over)
        });
        std::thread::sleep(BEFORE);
        let sent = Instant::now();
        let answered = controller
            .send_all(&adds)
            .and_then(|()| controller.barrier())
            .map(|answered| (answered, answered.saturating_duration_since(sent)));
        probing_ends.get_or_init(|| Instant::now() + Duration::from_secs_f64(after));
        // A slow load goes on for a while, in which the switch is to be answered.
        let seen = controller.serve_during(|| probing.join());
        Ok::<_, Error>((seen.map_err(|_| "the prober died")??, answered))
    })?;
    match answered {
        Err(error) => judged(Err(error)),
        Ok(answered) => Ok(barrier_outcome(&seen, answered, probed, rate)),
    }
}

/// The observations of the frames of a rule. Units: microseconds since the run began.
#[derive(Clone)]
struct ProbedRule {
    /// The departure of the first frame that it handled; infinite if there is none.
    first_handled: f64,
    /// The departure of the last frame before that one.
    last_unhandled: f64,
    /// True if a frame of it departed after the barrier's reply.
    is_probed_after: bool,
    /// Frames that departed after the reply, and that it did not handle before it handled one.
    unhandled_after: u32,
}

impl ProbedRule {
    /// Returns true if it handled no frame at all.
    fn is_idle(&self) -> bool {
        self.first_handled.is_infinite()
    }
}

/// Returns the observations of the frames of each rule, the one that is there from the beginning
/// last; and whether frames were lost: those that a rule did not handle after it had begun to.
fn probed_rules(seen: &Observation, rules: u32, barrier_us: f64) -> (Vec<ProbedRule>, bool) {
    let unseen = ProbedRule {
        first_handled: f64::INFINITY,
        last_unhandled: 0.0,
        is_probed_after: false,
        unhandled_after: 0,
    };
    let mut probed = vec![unseen; rules as usize + 1];
    let mut lost = false;
    // The last ones that were made may not have been sent.
    let sent = seen.departures_ns.iter().take(seen.sent as usize);
    for (number, departed_ns) in sent.enumerate() {
        let index = probed_rule(number as u32, rules) as usize;
        let rule = &mut probed[index];
        let departed_us = *departed_ns as f64 / 1e3;
        let is_after = departed_us > barrier_us;
        rule.is_probed_after |= is_after;
        if seen.arrivals_ns[number] != 0 {
            rule.first_handled = rule.first_handled.min(departed_us);
        } else if index == rules as usize || rule.first_handled.is_finite() {
            lost = true;
        } else {
            rule.last_unhandled = departed_us;
            rule.unhandled_after += u32::from(is_after);
        }
    }
    (probed, lost)
}

/// The evidence of the frames about the barrier.
fn barrier_outcome(
    seen: &Observation,
    (answered, until_answered): (Instant, Duration),
    rules: u32,
    rate: f64,
) -> PointOutcome {
    let start = seen.start.expect("the run began");
    let barrier_us = answered.saturating_duration_since(start).as_secs_f64() * 1e6;
    let (mut probed, lost) = probed_rules(seen, rules, barrier_us);
    probed.pop();
    let last_unhandled: Vec<f64> = probed.iter().map(|rule| rule.last_unhandled).collect();
    let first_handled: Vec<f64> = probed.iter().map(|rule| rule.first_handled).collect();
    let unhandled = greatest(&last_unhandled) - barrier_us;
    let handled = greatest(&first_handled) - barrier_us;
    let resolution = seconds_between(rules, rate) * 1e6;
    let mut outcome = PointOutcome {
        frames_per_second: rate,
        ..PointOutcome::default()
    };
    // The reply was under way for a part of the time until it was here, and the rule may have acted
    // from the last unhandled frame until the next one.
    let most = unhandled + resolution + until_answered.as_secs_f64() * 1e6;
    outcome.add_within(UNHANDLED, "us", unhandled, (unhandled, most));
    if handled.is_finite() {
        let name = "first handled frame of the last rule after the barrier";
        outcome.add(name, "us", handled);
        let before = until_answered.as_secs_f64() * 1e6;
        let least = (before + unhandled).max(0.0);
        let obeyed = (before + handled).max(least);
        outcome.add(BARRIER, "us", before);
        outcome.add_within(OBEYED, "us", obeyed, (least, obeyed));
    }
    outcome.add("time between frames of a rule", "us", resolution);
    outcome.notes.push(format!(
        "each rule is probed every {resolution:.0} us: a reply that is early by less is not seen"
    ));
    let suspicion = if probed
        .iter()
        .any(|rule| rule.is_idle() && rule.is_probed_after)
    {
        "the barrier was answered, and a rule never acted".to_string()
    } else if unhandled > 0.0 {
        format!("the barrier was answered at least {unhandled:.0} us before the last rule acted")
    } else {
        if probed.iter().any(ProbedRule::is_idle) {
            // The machine was too busy to send one: nothing is known of the rule.
            let mark = "a rule had no frame after the barrier's reply";
            outcome.marks.push(mark.into());
        }
        return outcome;
    };
    let unhandled_after: u32 = probed.iter().map(|rule| rule.unhandled_after).sum();
    if let Some(own) = seen.own_loss() {
        outcome.beyond.push(own);
    } else if lost {
        let mark = "frames of rules that acted were lost";
        outcome.marks.push(mark.into());
    } else if unhandled_after < LEAST_EVIDENCE {
        let mark = "one frame after the barrier's reply was not handled, and may have been lost";
        outcome.marks.push(mark.into());
    } else {
        outcome.verdict = CaseVerdict::Lies;
        outcome.notes.push(suspicion);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::point::LEAST;

    /// A run of two rules and the control's, a frame every microsecond; rule 1, of every fourth
    /// frame, acts from `acts_us` on, the others from the beginning.
    fn seen(acts_us: u64) -> Observation {
        let departures_ns: Vec<u64> = (0..30).map(|n| n * 1_000).collect();
        let arrivals = departures_ns.iter().map(|departed| {
            let handled = departed / 1_000 % 4 != 2 || departed / 1_000 >= acts_us;
            if handled { departed + 500 } else { 0 }
        });
        Observation {
            sent: 30,
            start: Some(Instant::now()),
            arrivals_ns: arrivals.collect(),
            departures_ns,
            ..Observation::default()
        }
    }

    fn judged_at(acts_us: u64, barrier_us: u64) -> PointOutcome {
        let seen = seen(acts_us);
        let answered = seen.start.expect("it began") + Duration::from_micros(barrier_us);
        barrier_outcome(&seen, (answered, Duration::ZERO), 2, 1e6)
    }

    #[test]
    fn of_many_rules_some_are_probed_and_the_last_always() {
        assert_eq!(probed_flows(4, 10), [0, 1, 2, 3]);
        assert_eq!(probed_flows(1_000, 4), [249, 499, 749, 999]);
        assert_eq!(probed_flows(7, 3), [1, 3, 6]);
    }

    #[test]
    fn the_time_until_packets_obey_is_beside_that_of_the_barrier() {
        let seen = seen(20);
        let answered = seen.start.expect("it began") + Duration::from_micros(8);
        // The rules were sent at 2 us, and the first frame of rule 1 that it handled at 22 us.
        let outcome = barrier_outcome(&seen, (answered, Duration::from_micros(6)), 2, 1e6);
        let value = |name: &str| {
            let found = outcome.metrics.iter().find(|metric| metric.name == name);
            found.expect("it is there").value.round()
        };
        assert_eq!((value(BARRIER), value(OBEYED)), (6.0, 20.0));
        assert_eq!(value(&format!("{OBEYED}{LEAST}")), 16.0);
    }

    #[test]
    fn a_barrier_after_the_last_unhandled_frame_is_true() {
        let outcome = judged_at(10, 12);
        assert_eq!(outcome.verdict, CaseVerdict::Ok);
        assert!(outcome.metrics[0].value <= 0.0);
        assert!(outcome.marks.is_empty());
    }

    #[test]
    fn a_barrier_before_it_is_a_lie_and_by_how_much_is_known() {
        let outcome = judged_at(20, 5);
        assert_eq!(outcome.verdict, CaseVerdict::Lies);
        // The last frame of rule 1 before 20 us departed at 18 us.
        assert!((outcome.metrics[0].value - 13.0).abs() < 1e-9);
    }

    #[test]
    fn a_time_in_which_all_frames_are_lost_says_nothing_about_the_barrier() {
        let mut seen = seen(10);
        let answered = seen.start.expect("it began") + Duration::from_micros(9);
        seen.arrivals_ns[9..20].fill(0);
        let outcome = barrier_outcome(&seen, (answered, Duration::ZERO), 2, 1e6);
        assert_eq!(outcome.verdict, CaseVerdict::Ok);
        assert_eq!(outcome.marks, ["frames of rules that acted were lost"]);
    }

    #[test]
    fn frames_that_the_instrument_dropped_accuse_no_switch() {
        let mut seen = seen(20);
        let answered = seen.start.expect("it began") + Duration::from_micros(5);
        seen.dropped_here = 3;
        let outcome = barrier_outcome(&seen, (answered, Duration::ZERO), 2, 1e6);
        assert_eq!(outcome.verdict, CaseVerdict::Ok);
        assert_eq!(outcome.beyond.len(), 1);
    }

    #[test]
    fn a_single_frame_that_was_not_handled_is_no_lie() {
        // Of rule 1, only the frame at 18 us departed after the barrier and before the rule acted.
        let outcome = judged_at(20, 17);
        assert_eq!(outcome.verdict, CaseVerdict::Ok);
        let mark = "one frame after the barrier's reply was not handled, and may have been lost";
        assert_eq!(outcome.marks, [mark]);
        assert_eq!(judged_at(20, 13).verdict, CaseVerdict::Lies);
    }

    #[test]
    fn frames_that_were_not_sent_hide_no_lie() {
        let mut seen = seen(20);
        let answered = seen.start.expect("it began") + Duration::from_micros(5);
        // The port had no room for the last four.
        seen.sent = 26;
        seen.arrivals_ns[26..].fill(0);
        let outcome = barrier_outcome(&seen, (answered, Duration::ZERO), 2, 1e6);
        assert_eq!(outcome.verdict, CaseVerdict::Lies);
        assert_eq!(outcome.marks, [""; 0]);
    }

    #[test]
    fn a_rule_that_never_acts_is_a_lie() {
        assert_eq!(judged_at(1_000, 20).verdict, CaseVerdict::Lies);
    }

    #[test]
    fn a_rule_without_a_frame_after_the_barrier_is_no_lie() {
        // The last frame of rule 1 departed at 26 us.
        let outcome = judged_at(1_000, 27);
        assert_eq!(outcome.verdict, CaseVerdict::Ok);
        let mark = "a rule had no frame after the barrier's reply";
        assert_eq!(outcome.marks, [mark]);
    }
}
