//! Received frames: counted, checked, and kept for a later turn if earlier ones caused much work.

use alloc::vec::Vec;

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_packet::{offload, packet_type};

use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Context;
use crate::{DropReason, Port, Sink};

/// Processes frames that arrived on `port`; leaves `frames` empty.
pub(crate) fn receive<S: Sink, E: FrameEngine>(
    cx: &mut Context<'_, S, E>,
    port: PortNo,
    frames: &mut Vec<Frame>,
) {
    let ingress = cx.pipeline.ports.get_mut(&port);
    let block = match &ingress {
        Some(ingress) => ingress.ingress_block(),
        None => Some(DropReason::NoSuchIngress),
    };
    let unknown_types = match &ingress {
        Some(ingress) if ingress.without_ethernet => note_types(frames),
        _ => 0,
    };
    let mut packets = 0;
    let mut bytes = 0;
    let mut refused = 0;
    for frame in frames.iter() {
        match offload::plausible_count(frame) {
            Some((count, length)) => {
                packets += count;
                bytes += length;
            }
            None => {
                packets += 1;
                bytes += frame.len() as u64;
                refused += 1;
            }
        }
    }
    if refused > 0 {
        frames.retain(|frame| offload::plausible_count(frame).is_some());
    }
    if let Some(ingress) = ingress {
        ingress.stats.rx_packets += packets + unknown_types;
        ingress.stats.rx_bytes += bytes;
        ingress.stats.rx_dropped += if block.is_some() { packets } else { refused };
        ingress.stats.rx_dropped += unknown_types;
    }
    (0..unknown_types).for_each(|_| cx.drop(DropReason::PacketType));
    (0..refused).for_each(|_| cx.drop(DropReason::Offload));
    if let Some(reason) = block {
        return frames.drain(..).for_each(|_| cx.drop(reason));
    }
    if !cx.lane.backlog.extend(port, frames) {
        E::receive_burst(cx, port, frames);
    }
}

/// Processes waiting frames of one port for one turn; ports take turns.
pub(crate) fn catch_up<S: Sink, E: FrameEngine>(cx: &mut Context<'_, S, E>) {
    let Some((port, mut frames)) = cx.lane.backlog.take_next() else {
        return;
    };
    match cx.pipeline.ports.get(&port).map(Port::ingress_block) {
        Some(None) => E::receive_burst(cx, port, &mut frames),
        blocked => {
            let reason = blocked.flatten().unwrap_or(DropReason::NoSuchIngress);
            frames.drain(..).for_each(|_| cx.drop(reason));
        }
    }
}

/// Notes the packet types of frames without Ethernet. Removes those with an unknown type, and
/// returns how many there were.
fn note_types(frames: &mut Vec<Frame>) -> u64 {
    let before = frames.len();
    frames.retain_mut(packet_type::write_front);
    (before - frames.len()) as u64
}
