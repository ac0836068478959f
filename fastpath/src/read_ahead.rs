//! Reads the headers of a burst ahead, so that it waits for memory once.

use alloc::boxed::Box;

use bofuss_datapath::Sink;
use bofuss_datapath::engine::{Lookahead, Predicted};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::TableId;
use bofuss_packet::arrival;

use super::direct_hooks::read_ahead;
use super::engine::FastContext;
use super::paths::{looks_ahead, path_start};
use crate::cache::lookahead::PortArrival;

/// Reads frames ahead, depending on whether they begin with an Ethernet header.
pub(super) fn look_ahead<S: Sink>(
    cx: &mut FastContext<'_, S>,
    arrival: &PortArrival,
    branches: bool,
    frames: &[Frame],
    read: (&mut [Lookahead], &mut Predicted),
) {
    if arrival.key.is_of_ethernet() {
        look_ahead_of::<S, true>(cx, arrival, branches, frames, read);
    } else {
        look_ahead_of::<S, false>(cx, arrival, branches, frames, read);
    }
}

/// Finds the headers of frames and prefetches their flows all together, so that the burst waits
/// for memory once; not if a hook makes one packet depend on another. `branches` says that
/// hooks set fields of each packet before the lookup in table 0. These hooks, and those that
/// act on misses there, see the frames first. `ETHERNET` says whether the frames begin with an
/// Ethernet header.
#[inline(never)]
fn look_ahead_of<S: Sink, const ETHERNET: bool>(
    cx: &mut FastContext<'_, S>,
    arrival: &PortArrival,
    branches: bool,
    frames: &[Frame],
    (lookaheads, predicted): (&mut [Lookahead], &mut Predicted),
) {
    let follows = looks_ahead(cx);
    let is_shown = branches || cx.hooks.has_only_misses(TableId(0));
    let cache = &cx.lane.engine;
    let base = &arrival.words;
    let is_read_now = follows && !is_shown;
    let few = cache.key.few(base.padded()).filter(|_| is_read_now);
    for (frame, lookahead) in frames.iter().zip(&mut *lookaheads) {
        let bytes = frame.bytes();
        lookahead.survey(bytes);
        if !ETHERNET {
            lookahead.leave_ethernet();
        }
        if let Some(few) = few {
            cache.key.look_at_few(bytes, few, lookahead);
            cache.prefetch_few(lookahead);
        } else if is_read_now {
            cache.key.look_at(bytes, base, lookahead);
            cache.prefetch(lookahead);
        }
        if cfg!(any(test, debug_assertions)) {
            assert!(cache.key.is_exact(lookahead, frame, &arrival.key));
        }
    }
    if follows && is_shown {
        read_ahead(cx, frames, arrival, lookaheads, predicted);
    }
    cx.lane.engine.guess_all(lookaheads);
}

/// Returns what packets from a port share now before headers are read.
pub(super) fn port_arrival<S: Sink>(
    cx: &mut FastContext<'_, S>,
    port: PortNo,
    branches: bool,
) -> Box<PortArrival> {
    let start = path_start(cx, TableId(0), branches, false);
    let ingress = cx.pipeline.ports.get(&port);
    let without_ethernet = ingress.is_some_and(|ingress| ingress.without_ethernet);
    let cache = &mut cx.lane.engine;
    let known_as = (port, start, cache.stats.widened);
    let is_known = |known: &PortArrival| {
        known.known_as == known_as && known.key.is_of_ethernet() != without_ethernet
    };
    if !cache.arrival.as_deref().is_some_and(is_known) {
        core::mem::swap(&mut cache.arrival, &mut cache.other_arrival);
    }
    if let Some(known) = cache.arrival.take_if(|known| is_known(known)) {
        return known;
    }
    let mut key = arrival(port, cx.pipeline.catalogue.additions());
    if without_ethernet {
        key.leave_ethernet();
    }
    Box::new(PortArrival {
        known_as,
        words: cache.key.words(start, &key),
        key,
    })
}
