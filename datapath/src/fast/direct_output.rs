//! The output port of a burst's frames, looked up once for many of them.

use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::PortNo;

use super::direct::Burst;
use crate::Sink;
use crate::pipeline::context::Context;

/// The output port, for as long as frames go to the same one.
#[derive(Default)]
pub(super) struct DirectOutput {
    pub(super) port: PortNo,
    /// Whether complete frames (with no offload to finish) may be sent as they are.
    pub(super) open: bool,
    pub(super) capabilities: OffloadCapabilities,
    /// Packets and bytes that are not yet in its counters.
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl<S: Sink> Context<'_, S> {
    /// Whether a frame, which is no super-frame, may be sent by a port as it is; if so, counts it
    /// there.
    #[inline]
    pub(super) fn leaves(&mut self, burst: &mut Burst<'_>, frame: &Frame, port: PortNo) -> bool {
        if port != burst.output.port {
            self.change_output(burst, port);
        }
        let output = &mut burst.output;
        let leaves = output.open && output.capabilities.take(&frame.offload, 0);
        if leaves {
            output.packets += 1;
            output.bytes += frame.len() as u64;
        }
        leaves
    }

    /// Switches to another output port. The previous one is kept, because the frames of a group
    /// often alternate between two.
    #[inline(never)]
    pub(super) fn change_output(&mut self, burst: &mut Burst<'_>, port: PortNo) {
        core::mem::swap(&mut burst.output, &mut burst.other_output);
        if port != burst.output.port {
            self.close(&[&burst.output]);
            burst.output = self.open(port, burst.ingress);
        }
    }

    /// Looks up a port as the output of frames that arrived on `ingress`.
    fn open(&self, number: PortNo, ingress: PortNo) -> DirectOutput {
        let known = self.pipeline.ports.get(&number);
        let from = self.pipeline.ports.get(&ingress);
        let is_without = from.is_some_and(|from| from.without_ethernet);
        let port = known.filter(|port| {
            number != ingress
                && port.egress_block().is_none()
                && port.without_ethernet == is_without
        });
        DirectOutput {
            port: number,
            open: port.is_some()
                && self.pipeline.first_egress.is_none()
                && !self.egress.ports.contains_key(&number)
                && self.hooks.at_egress.is_empty(),
            capabilities: port.map(|port| port.capabilities).unwrap_or_default(),
            ..DirectOutput::default()
        }
    }

    /// Adds the counts of outputs to their ports.
    pub(super) fn close(&mut self, outputs: &[&DirectOutput]) {
        for output in outputs {
            if let Some(port) = self.pipeline.ports.get_mut(&output.port) {
                port.stats.tx_packets += output.packets;
                port.stats.tx_bytes += output.bytes;
            }
        }
    }
}
