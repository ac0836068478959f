//! When a switch is quiet, and what is said of waits for that: it may still remove a million rules
//! after the barrier's reply.

use std::time::Duration;

use crate::cases::point::PointOutcome;

/// The longest wait for a switch.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time for which a switch is observed, and that between two observations.
pub(super) const WINDOW: Duration = Duration::from_millis(100);
/// The processors that a quiet switch may have more than at the start: a tenth of one.
const MORE_PROCESSORS: f64 = 0.1;
/// An echo of a quiet switch may take this many times as long as at the start, or this many seconds
/// longer: a busy machine delays single ones.
const TIMES_LONGER: f64 = 2.0;
/// See [`TIMES_LONGER`].
const SECONDS_LONGER: f64 = 0.01;

/// How busy a switch is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Activity {
    /// The processors that its program has: 0.5 is half of one. 0 if the meter did not start it.
    pub(super) processors: f64,
    /// The median time of an echo. Unit: seconds. 0 if its processor time is known.
    pub(super) echo: f64,
}

impl Activity {
    /// Returns true if the switch does hardly more than at the start.
    fn is_quiet(self, at_start: Self) -> bool {
        let longest = f64::max(at_start.echo * TIMES_LONGER, at_start.echo + SECONDS_LONGER);
        self.processors <= at_start.processors + MORE_PROCESSORS && self.echo <= longest
    }
}

/// Returns whether the switch is quiet if that is decided after a time, and none if it is to be
/// waited for longer.
pub(super) fn decided(now: Activity, at_start: Activity, waited: Duration) -> Option<bool> {
    if now.is_quiet(at_start) {
        return Some(true);
    }
    (waited >= PATIENCE).then_some(false)
}

/// The waits for a switch.
#[derive(Debug, Default)]
pub struct Settling {
    /// How busy the switch was when it was connected to first, if that is known.
    pub(super) at_start: Option<Activity>,
    /// The waits at the point that is measured now, together.
    waited: Duration,
    /// True if one of these was in vain.
    is_in_vain: bool,
    /// Points that waited, and those of them at which this was in vain.
    points: (u32, u32),
    /// The waits of all points together.
    all: Duration,
}

impl Settling {
    /// Keeps a wait; none that ended at once.
    pub(super) fn keep(&mut self, waited: Duration, is_quiet: bool) {
        if waited >= WINDOW {
            self.waited += waited;
            self.is_in_vain |= !is_quiet;
        }
    }

    /// Says at a point how long the switch was waited for, and marks the point if this was in vain.
    pub fn tell(&mut self, outcome: &mut PointOutcome) {
        let waited = std::mem::take(&mut self.waited);
        let is_in_vain = std::mem::take(&mut self.is_in_vain);
        if waited.is_zero() {
            return;
        }
        self.all += waited;
        self.points.0 += 1;
        if is_in_vain {
            self.points.1 += 1;
            let limit = PATIENCE.as_secs();
            let mark = format!("the switch was not quiet after {limit} s");
            outcome.beyond.push(mark);
        } else {
            let seconds = waited.as_secs_f64();
            let note = format!("waited {seconds:.1} s until the switch was quiet");
            outcome.notes.push(note);
        }
    }

    /// The waits of a session in a sentence, if there were any.
    pub fn fact(&self) -> Option<String> {
        let (points, in_vain) = self.points;
        let seconds = self.all.as_secs_f64();
        (points > 0).then(|| {
            format!(
                "points that waited until the switch was quiet: {points}, {seconds:.1} s in all, \
                 {in_vain} in vain"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_program(processors: f64) -> Activity {
        Activity {
            processors,
            echo: 0.0,
        }
    }

    fn of_echo(echo: f64) -> Activity {
        Activity {
            processors: 0.0,
            echo,
        }
    }

    #[test]
    fn a_switch_is_quiet_if_it_does_hardly_more_than_at_the_start() {
        let decides = |now, then, seconds| decided(now, then, Duration::from_secs(seconds));
        assert_eq!(decides(of_program(0.05), of_program(0.0), 0), Some(true));
        assert_eq!(decides(of_program(1.0), of_program(0.0), 59), None);
        assert_eq!(decides(of_program(1.0), of_program(0.0), 60), Some(false));
        assert_eq!(decides(of_program(0.0), of_program(0.0), 60), Some(true));
        // It polls its ports.
        assert_eq!(decides(of_program(1.0), of_program(1.0), 0), Some(true));
        assert_eq!(decides(of_echo(0.005), of_echo(1e-4), 0), Some(true));
        assert_eq!(decides(of_echo(0.02), of_echo(1e-4), 1), None);
        assert_eq!(decides(of_echo(0.09), of_echo(0.05), 0), Some(true));
        assert_eq!(decides(of_echo(0.2), of_echo(0.05), 61), Some(false));
    }

    #[test]
    fn a_wait_is_said_once_and_one_in_vain_marks_the_point() {
        let mut settling = Settling::default();
        let told = |settling: &mut Settling| {
            let mut outcome = PointOutcome::default();
            settling.tell(&mut outcome);
            (outcome.notes, outcome.beyond)
        };
        settling.keep(Duration::from_millis(1), true);
        assert_eq!(told(&mut settling), (vec![], vec![]));
        assert_eq!(settling.fact(), None);
        settling.keep(Duration::from_secs(2), true);
        settling.keep(Duration::from_secs(3), true);
        let said = "waited 5.0 s until the switch was quiet".to_string();
        assert_eq!(told(&mut settling), (vec![said], vec![]));
        settling.keep(PATIENCE, false);
        let mark = "the switch was not quiet after 60 s".to_string();
        assert_eq!(told(&mut settling), (vec![], vec![mark]));
        assert_eq!(told(&mut settling), (vec![], vec![]));
        let fact = "points that waited until the switch was quiet: 2, 65.0 s in all, 1 in vain";
        assert_eq!(settling.fact().as_deref(), Some(fact));
    }
}
