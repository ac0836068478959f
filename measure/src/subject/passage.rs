//! How long the meter's frames are inside of something that they pass, by the stamps of their
//! arrival and of their departure.

use std::collections::HashMap;

use bofuss_ports::StampedFrame;

use crate::subject::template::{FrameSignature, Template};

/// The arrivals of plain frames of a run that have not departed.
pub struct Passage {
    template: Template,
    run: u16,
    /// Their stamps, nanoseconds, by their number.
    inside: HashMap<u32, u64>,
}

impl Passage {
    /// No frame is inside.
    pub fn new() -> Self {
        Self {
            template: Template::plain(0),
            run: 0,
            inside: HashMap::new(),
        }
    }

    /// Notes an arrival. The first of another run ends that of all before it.
    pub fn arrived(&mut self, frame: &StampedFrame<'_>) {
        let Some((signature, at)) = self.read(frame) else {
            return;
        };
        if signature.run != self.run {
            (self.run, self.inside) = (signature.run, HashMap::new());
        }
        self.inside.insert(signature.number, at);
    }

    /// The number of a frame that departed, and how long it was inside, nanoseconds, if it is the
    /// first of its number; 0 if the clock was set back meanwhile.
    pub fn departed(&mut self, frame: &StampedFrame<'_>) -> Option<(u32, u64)> {
        let (signature, at) = self.read(frame)?;
        if signature.run != self.run {
            return None;
        }
        let arrived = self.inside.remove(&signature.number)?;
        Some((signature.number, at.saturating_sub(arrived)))
    }

    fn read(&self, frame: &StampedFrame<'_>) -> Option<(FrameSignature, u64)> {
        self.template.sent.read(frame.bytes).zip(frame.nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamped(bytes: &[u8], nanos: u64) -> StampedFrame<'_> {
        let nanos = Some(nanos);
        StampedFrame { bytes, nanos }
    }

    #[test]
    fn a_departure_of_the_run_before_takes_no_arrival_of_this_one() {
        let mut template = Template::plain(0);
        let [old, new] = [1, 2].map(|run| {
            template.sent.sign(FrameSignature {
                run,
                number: 5,
                departed_ns: 0,
            });
            template.sent.bytes.clone()
        });
        let mut passage = Passage::new();
        passage.arrived(&stamped(&old, 100));
        passage.arrived(&stamped(&new, 200));
        assert_eq!(passage.departed(&stamped(&old, 250)), None);
        assert_eq!(passage.departed(&stamped(&new, 260)), Some((5, 60)));
        assert_eq!(passage.departed(&stamped(&new, 270)), None);
    }
}
