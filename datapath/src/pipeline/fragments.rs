//! IP fragments that are treated specially: dropped, or put together before the tables.

use bofuss_oflib::message::config::ConfigFlags;
use bofuss_packet::Packet;

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;
use crate::{DropReason, Sink, Step};

/// Drops a fragment, or keeps it until its packet is complete and can be sent through the tables.
pub(super) fn handle_fragment<S: Sink, E: EngineNotes>(
    cx: &mut Context<'_, S, E>,
    packet: &mut Packet,
) {
    if cx.pipeline.fragments.has(ConfigFlags::FRAG_DROP) {
        return cx.drop(DropReason::Fragment);
    }
    if S::TRACES {
        cx.sink.step(Step::Fragment);
    }
    let (whole, lost) = if S::DRY {
        (None, 0)
    } else {
        cx.lane.reassembler.add(cx.now.0, packet.take())
    };
    (0..lost).for_each(|_| cx.drop(DropReason::FragmentRefused));
    if let Some(mut whole) = whole {
        cx.run(&mut whole, E::PathNotes::default());
    }
}
