//! The port that frames of a burst leave by, looked up once for many of them.

use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::PortNo;

use super::direct::Burst;
use crate::Sink;
use crate::pipeline::context::Context;

/// The port that frames leave by, as long as they go to the same one.
#[derive(Default)]
pub(super) struct DirectOutput {
    pub(super) port: PortNo,
    /// Whether frames that are complete may just leave.
    pub(super) open: bool,
    pub(super) capabilities: OffloadCapabilities,
    /// What its counters do not have yet.
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl<S: Sink> Context<'_, S> {
    /// Whether a frame of a burst that is no super-frame may just leave by a port; it is counted
    /// there then.
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

    /// Makes the frames of a burst leave by another port. That before is kept: the frames of a
    /// group often go to two in turns.
    #[inline(never)]
    pub(super) fn change_output(&mut self, burst: &mut Burst<'_>, port: PortNo) {
        core::mem::swap(&mut burst.output, &mut burst.other_output);
        if port != burst.output.port {
            self.close(&[&burst.output]);
            burst.output = self.open(port, burst.ingress);
        }
    }

    /// The way out of a port for packets that came in through `ingress`.
    fn open(&self, number: PortNo, ingress: PortNo) -> DirectOutput {
        let port = self.pipeline.ports.get(&number);
        let port = port.filter(|port| number != ingress && port.egress_block().is_none());
        let from = self.pipeline.ports.get(&ingress);
        let is_without = from.is_some_and(|from| from.without_ethernet);
        let port = port.filter(|port| port.without_ethernet == is_without);
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

    /// Counts what left by ports.
    pub(super) fn close(&mut self, outputs: &[&DirectOutput]) {
        for output in outputs {
            if let Some(port) = self.pipeline.ports.get_mut(&output.port) {
                port.stats.tx_packets += output.packets;
                port.stats.tx_bytes += output.bytes;
            }
        }
    }
}
