//! Received frames: counted, checked, and kept for a later turn if earlier ones caused much work.

use alloc::vec::Vec;

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_packet::{offload, packet_type};

use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Context;
use crate::{Datapath, DropReason, Port, Sink, Time};

impl<E: FrameEngine> Datapath<E> {
    /// Processes frames that arrived on `port`; leaves `frames` empty. Frames that exceed the work
    /// of one turn wait for [`Datapath::catch_up`].
    pub fn receive<S: Sink>(
        &mut self,
        now: Time,
        port: PortNo,
        frames: &mut Vec<Frame>,
        sink: &mut S,
    ) {
        self.context(now, sink).receive(port, frames);
    }

    /// Whether frames of a port wait for [`Datapath::catch_up`]. Until they are done, no more
    /// should be read from the port.
    pub fn is_behind(&self, port: PortNo) -> bool {
        self.lane.backlog.contains_key(&port)
    }

    /// Whether frames of any port wait for [`Datapath::catch_up`].
    pub fn has_backlog(&self) -> bool {
        !self.lane.backlog.is_empty()
    }

    /// Processes waiting frames of one port for one turn; ports take turns.
    pub fn catch_up<S: Sink>(&mut self, now: Time, sink: &mut S) {
        self.context(now, sink).catch_up();
    }
}

impl<S: Sink, E: FrameEngine> Context<'_, S, E> {
    fn receive(&mut self, port: PortNo, frames: &mut Vec<Frame>) {
        let ingress = self.pipeline.ports.get_mut(&port);
        let block = match &ingress {
            Some(ingress) => ingress.ingress_block(),
            None => Some(DropReason::NoSuchPort),
        };
        let strange = match &ingress {
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
            ingress.stats.rx_packets += packets + strange;
            ingress.stats.rx_bytes += bytes;
            ingress.stats.rx_dropped += if block.is_some() { packets } else { refused };
            ingress.stats.rx_dropped += strange;
        }
        (0..strange).for_each(|_| self.drop(DropReason::PacketType));
        (0..refused).for_each(|_| self.drop(DropReason::Offload));
        if let Some(reason) = block {
            return frames.drain(..).for_each(|_| self.drop(reason));
        }
        if let Some(waiting) = self.lane.backlog.get_mut(&port) {
            return waiting.append(frames);
        }
        E::receive_burst(self, port, frames);
    }

    fn catch_up(&mut self) {
        let after = PortNo(self.lane.last_served.0.saturating_add(1));
        let mut following = self.lane.backlog.range(after..);
        let next = following.next().or(self.lane.backlog.first_key_value());
        let Some(&port) = next.map(|(port, _)| port) else {
            return;
        };
        let Some((port, mut frames)) = self.lane.backlog.remove_entry(&port) else {
            return;
        };
        self.lane.last_served = port;
        match self.pipeline.ports.get(&port).map(Port::ingress_block) {
            Some(None) => E::receive_burst(self, port, &mut frames),
            blocked => {
                let reason = blocked.flatten().unwrap_or(DropReason::NoSuchPort);
                frames.drain(..).for_each(|_| self.drop(reason));
            }
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
