//! Offers flows to what forwards frames below the switch, and says why others are not offered.

use alloc::string::{String, ToString};

use bofuss_datapath::engine::{Hooks, Lookahead, Pipeline, PortQueues};
use bofuss_datapath::{DropReason, Engine, HookEffect, Sink, Time};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::TableId;
use bofuss_packet::{Fragment, Packet};

use super::engine::{FastContext, FastPath};
use super::ways::WayMaker;
use crate::cache::{Cache, End, Flow, Way};
use crate::executed::each_action;
use crate::obstacles::{Obstacle, obstacle};
use crate::paths::start_word;

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
    let (frame, lookahead) = (&frames[chosen], &mut lookaheads[chosen]);
    if lookahead.layout.fragment != Fragment::No {
        return;
    }
    let Some(flow) = cache.flow(lookahead) else {
        return;
    };
    if !may_go_below(flow) {
        return;
    }
    let flow = lookahead.guess;
    let around = (&*cx.pipeline, &*cx.egress, &*cx.hooks);
    let maker = WayMaker::new(cx.now, around, port, frame, &lookahead.layout);
    let cache = &mut cx.lane.engine;
    if let Ok(way) = way_of(&cache.flows[flow], maker) {
        if cache.below.share_meter(&way, &mut cx.pipeline.meters) {
            cache.offer(cx.now, flow, frame, port, way);
        }
    }
}

/// Returns true if the actions of a flow do not keep its frames from going below.
fn may_go_below(flow: &Flow) -> bool {
    match flow.end {
        End::Port { acts, .. } => !acts,
        End::Drop { reason, acts } => !acts && reason == DropReason::NoOutput,
        End::Steps | End::Other => flow.program.may_go_below,
    }
}

/// The way of the frames of a flow that [`may_go_below`]. Errors: why they cannot.
fn way_of(flow: &Flow, mut maker: WayMaker<'_>) -> Result<Way, Obstacle> {
    match flow.end {
        End::Port { port, .. } => maker.output(port)?,
        End::Drop { .. } => {}
        End::Steps | End::Other => {
            let mut result = Ok(());
            each_action(&flow.program, |step| {
                result = maker.execute(&step);
                result.is_ok().then_some(())
            });
            result?;
        }
    }
    Ok(maker.way())
}

/// The reason why frames like this one, which arrives on `port`, are not forwarded below the
/// switch; `None` if those of its flow are offered.
pub(super) fn why_inside(
    cache: &Cache,
    now: Time,
    around: (&Pipeline<FastPath>, &PortQueues, &Hooks),
    port: PortNo,
    frame: Frame,
) -> Option<String> {
    let (pipeline, _, hooks) = around;
    let additions = pipeline.catalogue.additions();
    let packet = Packet::with_additions(frame, port, additions);
    let start = start_word(hooks.plan(), TableId(0), false, false);
    let words = cache.key.words(start, packet.key());
    let is_shown = hooks.effect(TableId(0)) >= HookEffect::Branch
        || cache.volatile_tables.contains(TableId(0));
    if pipeline.config.engine != Engine::Cache {
        return Some("it has no flow cache".into());
    }
    if is_shown {
        return Some(Obstacle::Extension.to_string());
    }
    let words = words.padded();
    let found = cache.find(cache.key.hash(words), words);
    let is_right = |flow: &u32| cache.is_current(*flow) || cache.is_unchanged(*flow, words);
    let Some(flow) = found.filter(is_right) else {
        return Some("no frame of its flow came lately".into());
    };
    let flow = &cache.flows[flow];
    if !may_go_below(flow) {
        return Some(why_never(flow).to_string());
    }
    let maker = WayMaker::new(now, around, port, &packet.frame, packet.layout());
    match way_of(flow, maker) {
        Ok(way) => cache.below.refusal(now, &packet.frame, port, &way),
        Err(obstacle) => Some(obstacle.to_string()),
    }
}

/// What keeps the frames of a flow from going below that does not [`may_go_below`].
fn why_never(flow: &Flow) -> Obstacle {
    match flow.end {
        End::Drop {
            reason: DropReason::TableMiss,
            ..
        } => Obstacle::Miss,
        End::Drop { .. } | End::Port { .. } => Obstacle::Extension,
        End::Steps | End::Other => obstacle(&flow.program).unwrap_or(Obstacle::Path),
    }
}
