//! Offers flows to what forwards frames below the switch.

use alloc::vec;
use alloc::vec::Vec;

use bofuss_datapath::engine::Lookahead;
use bofuss_datapath::{DropReason, Sink};
use bofuss_frame::Frame;
use bofuss_oflib::{Action, PortNo};
use bofuss_packet::Fragment;

use super::direct_output::open_output;
use super::engine::FastContext;
use crate::cache::{End, Flow};
use crate::end::actions_of;

/// Offers the flow of one frame of a burst from `port` to the accelerator.
pub(super) fn offer_one<S: Sink>(
    cx: &mut FastContext<'_, S>,
    port: PortNo,
    frames: &[Frame],
    lookaheads: &mut [Lookahead],
) {
    let cache = &mut cx.lane.engine;
    if !cache.below.takes_from(port) {
        return;
    }
    // Any will do; busy flows are met more often.
    let chosen = cache.stats.hits as usize % frames.len();
    let lookahead = &mut lookaheads[chosen];
    if lookahead.layout.fragment != Fragment::No {
        return;
    }
    let Some(flow) = cache.flow(lookahead) else {
        return;
    };
    let Some(actions) = actions_below(flow) else {
        return;
    };
    let flow = lookahead.guess;
    let mut outputs = actions.iter().filter_map(|action| {
        let Action::Output(output) = action else {
            return None;
        };
        Some(output.port)
    });
    if outputs.all(|to| open_output(cx, to, port).open) {
        cx.lane.engine.offer(flow, &frames[chosen], port, &actions);
    }
}

/// The actions of a flow's frames, if they may be executed below the switch.
fn actions_below(flow: &Flow) -> Option<Vec<Action>> {
    match flow.end {
        End::Port { port, acts: false } => Some(vec![Action::output(port)]),
        End::Drop {
            reason: DropReason::NoOutput,
            acts: false,
        } => Some(Vec::new()),
        End::Steps if flow.program.direct.as_ref()?.is_plain() => actions_of(&flow.program),
        End::Port { .. } | End::Drop { .. } | End::Steps | End::Other => None,
    }
}
