//! Offers flows to what forwards frames below the switch.

use bofuss_datapath::engine::Lookahead;
use bofuss_datapath::{DropReason, Sink};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_packet::Fragment;

use super::direct_output::open_output;
use super::engine::FastContext;
use crate::cache::End;

/// Offers the flow of one frame of a burst from `port` to the accelerator.
pub(super) fn offer_one<S: Sink>(
    cx: &mut FastContext<'_, S>,
    port: PortNo,
    frames: &[Frame],
    lookaheads: &mut [Lookahead],
) {
    let cache = &mut cx.lane.engine;
    if !cache.has_accelerator() {
        return;
    }
    // Any will do; busy flows are met more often.
    let chosen = cache.stats.hits as usize % frames.len();
    let lookahead = &mut lookaheads[chosen];
    let Some(flow) = cache.flow(lookahead) else {
        return;
    };
    let to = match flow.end {
        End::Port { port, acts: false } => Some(port),
        End::Drop {
            reason: DropReason::NoOutput,
            acts: false,
        } => None,
        End::Port { .. } | End::Drop { .. } | End::Steps | End::Other => return,
    };
    let is_open = to.is_none_or(|to| open_output(cx, to, port).open);
    if !is_open || lookahead.layout.fragment != Fragment::No {
        return;
    }
    let flow = lookahead.guess;
    cx.lane.engine.offer(flow, &frames[chosen], port, to);
}
