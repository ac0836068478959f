//! A load that lasts as long as something else is measured.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;

use crate::error::Result;
use crate::subject::TestSubject;
use crate::subject::probe::{Observation, ProbeLoad};
use crate::subject::template::Template;

/// A load is sent in pieces of at most this many seconds and frames: what is kept of each frame
/// until its piece ends takes 24 bytes.
const PIECE_SECONDS: f64 = 60.0;
const PIECE_FRAMES: f64 = 8e6;
/// Delays that are kept of a piece: enough for its 99.9th percentile.
const KEPT_DELAYS: usize = 100_000;

/// Sends frames of a size at a rate until it is done or over. `begun` gets a value when it begins,
/// or is closed by an error. All frames count, as what is measured meanwhile may be over soon.
/// Returns the outcome of all of them, with evenly chosen delays, but the departures of the first
/// piece only.
///
/// Errors: the interfaces'.
pub fn send_until(
    subject: &TestSubject,
    bytes: usize,
    rate: f64,
    begun: &Sender<()>,
    done: &AtomicBool,
    over: &(dyn Fn() -> bool + Sync),
) -> Result<Observation> {
    let frames = (rate * PIECE_SECONDS).clamp(1.0, PIECE_FRAMES) as u32;
    let template = Template::plain(bytes);
    let mut probe = subject.probe(false)?;
    let is_done = || done.load(Relaxed) || over();
    let load = ProbeLoad {
        warm_up: 0,
        ..ProbeLoad::new(frames, rate)
    };
    // If the run is over, there is no receiver.
    let _ = begun.send(());
    in_pieces(is_done, || probe.run(&template, &load, &is_done))
}

/// Adds up pieces of a load until it is done; there is at least one.
fn in_pieces(
    is_done: impl Fn() -> bool,
    mut send: impl FnMut() -> Result<Observation>,
) -> Result<Observation> {
    let mut all = Observation::default();
    let mut seconds = 0.0;
    loop {
        let mut piece = send()?;
        seconds += f64::from(piece.sent) / piece.rate.1.max(f64::MIN_POSITIVE);
        all.sent += piece.sent;
        all.received += piece.received;
        all.reordered += piece.reordered;
        all.duplicated += piece.duplicated;
        all.changed += piece.changed;
        all.unstamped += piece.unstamped;
        all.dropped_here += piece.dropped_here;
        all.start = all.start.or(piece.start);
        if all.departures_ns.is_empty() {
            all.departures_ns = std::mem::take(&mut piece.departures_ns);
        }
        all.rate.0 = piece.rate.0;
        if seconds > 0.0 {
            all.rate.1 = f64::from(all.sent) / seconds;
        }
        let step = piece.delays_ns.len().div_ceil(KEPT_DELAYS).max(1);
        all.delays_ns.extend(piece.delays_ns.iter().step_by(step));
        if is_done() {
            return Ok(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_load_goes_on_until_it_is_done_and_its_pieces_add_up() {
        let pieces = Cell::new(0);
        let send = || {
            pieces.set(pieces.get() + 1);
            Ok(Observation {
                sent: 1_000,
                received: 900,
                duplicated: 1,
                // Two pieces at 1,000 frames/s and one at 500 take 4 s.
                rate: (1_000.0, if pieces.get() == 3 { 500.0 } else { 1_000.0 }),
                delays_ns: vec![1; KEPT_DELAYS * 2],
                ..Observation::default()
            })
        };
        let seen = in_pieces(|| pieces.get() == 3, send).unwrap();
        assert_eq!(
            (seen.sent, seen.received, seen.duplicated),
            (3_000, 2_700, 3)
        );
        assert_eq!(seen.rate, (1_000.0, 750.0));
        assert_eq!(seen.delays_ns.len(), 3 * KEPT_DELAYS);
        assert!((seen.loss() - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_load_that_is_done_before_its_first_frame_has_no_rate() {
        let nothing = Observation {
            rate: (1_000.0, 1_000.0),
            ..Observation::default()
        };
        let seen = in_pieces(|| true, || Ok(nothing.clone())).unwrap();
        assert_eq!(seen.rate, (1_000.0, 0.0));
    }
}
