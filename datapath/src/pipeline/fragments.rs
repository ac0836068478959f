//! IP fragments that are treated specially: dropped, or put together before the tables.

use bofuss_oflib::message::config::ConfigFlags;
use bofuss_packet::Packet;

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;
use crate::{DropReason, Sink, Step};

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// Drops a fragment, or keeps it until its packet is complete and can be sent through the
    /// tables.
    pub(super) fn handle_fragment(&mut self, packet: &mut Packet) {
        if self.pipeline.fragments.has(ConfigFlags::FRAG_DROP) {
            return self.drop(DropReason::Fragment);
        }
        if S::TRACES {
            self.sink.step(Step::Fragment);
        }
        let (whole, lost) = if S::DRY {
            (None, 0)
        } else {
            self.lane.reassembler.add(self.now.0, packet.take())
        };
        (0..lost).for_each(|_| self.drop(DropReason::FragmentRefused));
        if let Some(mut whole) = whole {
            self.run(&mut whole, E::PathNotes::default());
        }
    }
}
