//! IP fragments that are treated specially: dropped, or put together before the tables.
//!
//! Spec: OpenFlow 1.3.5 section 7.3.2. The flags come by SET_CONFIG and hold for all ports. With
//! FRAG_NORMAL, the default, fragments go through the tables like other packets, and this file is
//! not used.
//!
//! Without the feature `reassembly`, `no_fragments.rs` takes the place of this file.

use bofuss_frame::Frame;
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_packet::{Packet, reassemble};

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::{Context, Lane};
use crate::{DropReason, Sink, Step, Time};

/// Drops a fragment, or keeps it until its packet is complete and can be sent through the tables.
pub(super) fn handle_fragment<S: Sink, E: EngineNotes>(
    cx: &mut Context<'_, S, E>,
    packet: &mut Packet,
) {
    // The flags exclude each other: SET_CONFIG with both is refused.
    if cx.pipeline.fragments.has(ConfigFlags::FRAG_DROP) {
        return cx.drop(DropReason::Fragment);
    }
    if S::TRACES {
        cx.sink.step(Step::Fragment);
    }
    // A trace must not keep a fragment, which would then be part of a live packet.
    let (whole, lost) = if S::DRY {
        (None, 0)
    } else {
        cx.lane.reassembler.add(cx.now.0, packet.take())
    };
    // The reassembler has bounded memory, and trusts no fragments that overlap: it may lose this
    // fragment, and those that it overlaps.
    (0..lost).for_each(|_| cx.drop(DropReason::FragmentRefused));
    if let Some(mut whole) = whole {
        cx.run(&mut whole, E::PathNotes::default());
    }
}

/// The time when fragments that wait may have to be forgotten; `None` if there are none.
pub(crate) fn next_deadline<E: EngineNotes>(lane: &Lane<E>) -> Option<Time> {
    lane.reassembler.deadline_ns().map(Time)
}

/// Forgets the fragments of packets that did not become whole in time.
pub(crate) fn expire<S: Sink, E: EngineNotes>(cx: &mut Context<'_, S, E>) {
    for _ in 0..cx.lane.reassembler.expire(cx.now.0) {
        cx.drop(DropReason::FragmentLost);
    }
}

/// Cuts a packet again that was put together: calls `emit` with fragments no longer than those that
/// came. Returns false if the pool is exhausted, which may be after some fragments.
pub(super) fn cut_again(frame: &Frame, emit: impl FnMut(Frame)) -> bool {
    reassemble::fragment(frame, emit)
}
