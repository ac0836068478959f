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
        let arrived = self.inside.remove(&signature.number)?;
        let took_ns = at.saturating_sub(arrived);
        (signature.run == self.run).then_some((signature.number, took_ns))
    }

    fn read(&self, frame: &StampedFrame<'_>) -> Option<(FrameSignature, u64)> {
        self.template.sent.read(frame.bytes).zip(frame.nanos)
    }
}
