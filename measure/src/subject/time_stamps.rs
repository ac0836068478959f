//! Chooses the clock that stamps the frames of a run: this program's, the kernel's or the network
//! card's.

use std::time::{Duration, Instant};

use bofuss_frame::Frame;
use bofuss_ports::{StampOffer, StampSource, StampedSocket};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::subject::template::{FrameSignature, SignedFrame};

/// The time for which frames are sent before a run until one is stamped, and the least pause
/// between them.
const WARM_UP: Duration = Duration::from_secs(1);
const WARM_UP_PAUSE: Duration = Duration::from_millis(1);

/// The clock that stamps frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum TimeStamps {
    /// This program, when it sends and receives
    #[default]
    Program,
    /// The kernel, when its driver takes a frame and when one arrives
    Kernel,
    /// The network card, by its own clock
    Card,
}

impl TimeStamps {
    /// Its words in results.
    pub fn words(self) -> &'static str {
        match self {
            Self::Program => "by this program (CLOCK_MONOTONIC)",
            Self::Kernel => "by the kernel, in software (SO_TIMESTAMPING, CLOCK_REALTIME)",
            Self::Card => "by the network card, in hardware (SO_TIMESTAMPING)",
        }
    }

    /// The stamps of a calibration on virtual interfaces, for a run with these. Both send frames in
    /// the same manner.
    pub fn on_virtual_interfaces(self) -> Self {
        match self {
            Self::Program => Self::Program,
            Self::Kernel | Self::Card => Self::Kernel,
        }
    }

    /// The source for sockets; none if this program stamps.
    pub fn source(self) -> Option<StampSource> {
        match self {
            Self::Program => None,
            Self::Kernel => Some(StampSource::Kernel),
            Self::Card => Some(StampSource::Card),
        }
    }

    /// The stamps for interfaces with these offers: the requested ones; or else the card's if both
    /// have one clock; or else the kernel's, which have no wait of this program for a processor; or
    /// else the program's.
    ///
    /// Errors: an interface does not offer what was asked for.
    pub fn choose(wanted: Option<Self>, offers: &[(&str, StampOffer)]) -> Result<Self> {
        let clocks: Vec<Option<u32>> = offers.iter().map(|(_, offer)| offer.card).collect();
        let one_clock = clocks.windows(2).all(|pair| pair[0] == pair[1]);
        let has_card = one_clock && clocks.iter().all(Option::is_some) && !clocks.is_empty();
        let Some(wanted) = wanted else {
            let has_kernel = !offers.is_empty() && offers.iter().all(|(_, offer)| offer.kernel);
            return Ok(match (has_card, has_kernel) {
                (true, _) => Self::Card,
                (false, true) => Self::Kernel,
                (false, false) => Self::Program,
            });
        };
        for (interface, offer) in offers {
            let refused = match wanted {
                Self::Kernel if !offer.kernel => "the kernel in software",
                Self::Card if offer.card.is_none() => "a network card for every frame",
                Self::Program | Self::Kernel | Self::Card => continue,
            };
            return Err(format!("interface {interface} offers no time stamps by {refused}").into());
        }
        if wanted == Self::Card && !has_card {
            return Err("the interfaces' network cards have two clocks, which differ".into());
        }
        Ok(wanted)
    }
}

/// The sockets by which frames of a probe are sent and stamped.
pub struct StampedEnds {
    /// The interface on which frames are sent, and received if there is no other end.
    pub near: StampedSocket,
    /// The interface on which they are received.
    pub far: Option<StampedSocket>,
}

/// The stamps of a run's frames in the order of their numbers, nanoseconds; 0 if there is none.
#[derive(Default)]
pub struct StampTable {
    sent_ns: Vec<u64>,
    arrived_ns: Vec<u64>,
}

impl StampedEnds {
    /// Sends frames that do not count, at most `rate` in a second, until one arrives with a stamp:
    /// the kernel begins to stamp some time after it was asked to. Goes on without one after a
    /// second.
    ///
    /// Errors: the interfaces'.
    pub fn warm_up(&mut self, frame: &[u8], rate: f64) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < WARM_UP {
            self.near.send(frame).map_err(|e| e.to_string())?;
            std::thread::sleep(pause_at(rate));
            let receiver = self.far.as_mut().unwrap_or(&mut self.near);
            while let Some(stamped) = receiver.next_received().map_err(|e| e.to_string())? {
                if stamped.nanos.is_some() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Sends frames, as many as there is room for, and removes them from the list.
    ///
    /// Errors: the interface's.
    pub fn send(&mut self, frames: &mut Vec<Frame>) -> Result<()> {
        self.near.send_all(frames).map_err(|e| e.to_string())?;
        Ok(())
    }

    /// Notes the stamps that have come. `number` says which frame of the run a signature is.
    ///
    /// Errors: the interfaces'.
    pub fn collect(
        &mut self,
        frame: &SignedFrame,
        table: &mut StampTable,
        number: impl Fn(FrameSignature) -> Option<usize>,
    ) -> Result<()> {
        while let Some(stamped) = self.near.next_sent().map_err(|e| e.to_string())? {
            let at = frame.read_from_end(stamped.bytes).and_then(&number);
            note(&mut table.sent_ns, at, stamped.nanos);
        }
        let receiver = self.far.as_mut().unwrap_or(&mut self.near);
        while let Some(stamped) = receiver.next_received().map_err(|e| e.to_string())? {
            let at = frame.read_from_end(stamped.bytes).and_then(&number);
            note(&mut table.arrived_ns, at, stamped.nanos);
        }
        Ok(())
    }
}

/// The pause between two frames of the warm-up of a load of this rate.
fn pause_at(rate: f64) -> Duration {
    WARM_UP_PAUSE.max(Duration::from_secs_f64(1.0 / rate))
}

/// Keeps the first stamp of a frame.
fn note(stamps: &mut [u64], at: Option<usize>, nanos: Option<u64>) {
    let place = at.and_then(|at| stamps.get_mut(at));
    if let (Some(place), Some(nanos)) = (place, nanos)
        && *place == 0
    {
        *place = nanos;
    }
}

impl StampTable {
    /// A table for some frames.
    pub fn new(frames: usize) -> Self {
        Self {
            sent_ns: vec![0; frames],
            arrived_ns: vec![0; frames],
        }
    }

    /// The delays of the frames that have both stamps, in the order of their numbers. One that is
    /// below zero is none: the clock was set back meanwhile.
    pub fn delays_ns(&self) -> Vec<u64> {
        let pairs = self.sent_ns.iter().zip(&self.arrived_ns);
        let stamped = pairs.filter(|(sent, arrived)| **sent > 0 && **arrived > 0);
        stamped
            .filter_map(|(sent, arrived)| arrived.checked_sub(*sent))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: StampOffer = StampOffer {
        kernel: false,
        card: None,
    };
    const KERNEL: StampOffer = StampOffer {
        kernel: true,
        card: None,
    };

    fn card(clock: u32) -> StampOffer {
        StampOffer {
            kernel: true,
            card: Some(clock),
        }
    }

    #[test]
    fn frames_that_warm_up_are_not_sent_faster_than_the_load() {
        assert_eq!(pause_at(1e6), WARM_UP_PAUSE);
        assert_eq!(pause_at(50.0), Duration::from_millis(20));
    }

    #[test]
    fn a_frame_during_which_the_clock_was_set_back_has_no_delay() {
        let table = StampTable {
            sent_ns: vec![100, 0, 300, 400],
            arrived_ns: vec![150, 250, 0, 399],
        };
        assert_eq!(table.delays_ns(), [50]);
    }

    #[test]
    fn a_card_is_used_where_both_ends_have_one_clock_or_else_the_kernel_if_it_stamps() {
        let choose = |offers: &[(&str, StampOffer)]| TimeStamps::choose(None, offers);
        assert_eq!(
            choose(&[("a", card(0)), ("b", card(0))]),
            Ok(TimeStamps::Card)
        );
        assert_eq!(choose(&[("a", card(0))]), Ok(TimeStamps::Card));
        assert_eq!(
            choose(&[("a", card(0)), ("b", card(1))]),
            Ok(TimeStamps::Kernel)
        );
        assert_eq!(
            choose(&[("a", card(0)), ("b", KERNEL)]),
            Ok(TimeStamps::Kernel)
        );
        assert_eq!(
            choose(&[("a", KERNEL), ("b", NONE)]),
            Ok(TimeStamps::Program)
        );
        assert_eq!(choose(&[]), Ok(TimeStamps::Program));
    }

    #[test]
    fn stamps_that_are_not_offered_are_refused_by_the_name_of_their_interface() {
        let refused = |wanted, offers: &[(&str, StampOffer)]| {
            TimeStamps::choose(Some(wanted), offers)
                .unwrap_err()
                .to_string()
        };
        let said = refused(TimeStamps::Card, &[("a", card(0)), ("b", KERNEL)]);
        assert_eq!(
            said,
            "interface b offers no time stamps by a network card for every frame"
        );
        let said = refused(TimeStamps::Kernel, &[("a", NONE)]);
        assert_eq!(
            said,
            "interface a offers no time stamps by the kernel in software"
        );
        let said = refused(TimeStamps::Card, &[("a", card(0)), ("b", card(1))]);
        assert!(said.contains("two clocks"), "{said}");
    }
}
