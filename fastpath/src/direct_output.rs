//! The output port of a burst's frames, looked up once for many of them.

use bofuss_datapath::Sink;
use bofuss_datapath::engine::{Hooks, Pipeline, PortQueues};
use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::PortNo;

use super::direct::Burst;
use super::engine::{FastContext, FastPath};

/// The output port, for as long as frames go to the same port.
#[derive(Default)]
pub(super) struct DirectOutput {
    pub(super) port: PortNo,
    /// True if complete frames (with no offload to finish) may be sent as they are.
    pub(super) open: bool,
    pub(super) capabilities: OffloadCapabilities,
    /// Packets and bytes that are not yet in its counters.
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

/// Returns true if a frame, which is no super-frame, may be sent by a port as it is; if so, counts
/// it there.
#[inline]
pub(super) fn leaves<S: Sink>(
    cx: &mut FastContext<'_, S>,
    burst: &mut Burst<'_>,
    frame: &Frame,
    port: PortNo,
) -> bool {
    if port != burst.output.port {
        change_output(cx, burst, port);
    }
    let output = &mut burst.output;
    let leaves = output.open && output.capabilities.take(&frame.offload, 0);
    if leaves {
        output.packets += 1;
        output.bytes += frame.len() as u64;
    }
    leaves
}

/// Switches to another output port. The previous port is kept, because the frames of a group
/// often alternate between two.
#[inline(never)]
pub(super) fn change_output<S: Sink>(
    cx: &mut FastContext<'_, S>,
    burst: &mut Burst<'_>,
    port: PortNo,
) {
    core::mem::swap(&mut burst.output, &mut burst.other_output);
    if port != burst.output.port {
        close_outputs(cx, &[&burst.output]);
        burst.output = open_output(cx, port, burst.ingress);
    }
}

/// Looks up a port as the output of frames that arrived on `ingress`.
pub(super) fn open_output<S: Sink>(
    cx: &FastContext<'_, S>,
    number: PortNo,
    ingress: PortNo,
) -> DirectOutput {
    let around = (&*cx.pipeline, &*cx.egress, &*cx.hooks);
    let port = cx.pipeline.ports.get(&number);
    DirectOutput {
        port: number,
        open: output_obstacle(around, number, ingress).is_none(),
        capabilities: port.map(|port| port.capabilities).unwrap_or_default(),
        ..DirectOutput::default()
    }
}

/// What keeps complete frames that arrived on `ingress` from being sent by a port as they are.
pub(super) fn output_obstacle(
    (pipeline, egress, hooks): (&Pipeline<FastPath>, &PortQueues, &Hooks),
    number: PortNo,
    ingress: PortNo,
) -> Option<&'static str> {
    let from = pipeline.ports.get(&ingress);
    let is_without = from.is_some_and(|from| from.without_ethernet);
    let Some(port) = pipeline.ports.get(&number) else {
        return Some("does not exist");
    };
    if number == ingress {
        Some("is the one that they arrive on")
    } else if port.egress_block().is_some() {
        Some("is down or does not forward")
    } else if port.without_ethernet != is_without {
        Some("takes packets of another type")
    } else if pipeline.shape.first_egress.is_some() {
        Some("is behind egress tables")
    } else if egress.ports.contains_key(&number) {
        Some("has queues")
    } else if !hooks.at_egress.is_empty() {
        Some("has an extension at egress")
    } else {
        None
    }
}

/// Adds the counts of outputs to their ports.
pub(super) fn close_outputs<S: Sink>(cx: &mut FastContext<'_, S>, outputs: &[&DirectOutput]) {
    for output in outputs {
        if let Some(port) = cx.pipeline.ports.get_mut(&output.port) {
            port.stats.tx_packets += output.packets;
            port.stats.tx_bytes += output.bytes;
        }
    }
}
