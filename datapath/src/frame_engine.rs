//! The wall between the pipeline and what makes it faster: the calls that an engine gets, and the
//! plain engine, which has nothing but the pipeline.
//!
//! An engine processes bursts of received frames and finds the path of each packet. It must do so
//! with exactly the effects of [`PlainEngine`], which the tests compare it with.
//!
//! The pipeline itself knows only `EngineNotes`; what calls this trait is around it, in
//! `datapath.rs`, `ingress.rs` and `control`. So the code that a packet passes is the same for all
//! engines.

use alloc::{boxed::Box, string::String, vec::Vec};

use bofuss_frame::Frame;
use bofuss_oflib::message::group_mod::GroupType;
use bofuss_oflib::{Action, PortNo};
use bofuss_packet::arrival;

use crate::engine_notes::EngineNotes;
use crate::hooks::Hooks;
use crate::pipeline::context::{Context, Pipeline, PortQueues, ThroughTables};
use crate::pipeline::each_table;
use crate::pipeline::super_frames::run_frame;
use crate::tables::classifier::{Classifier, Scan};
use crate::{Config, Engine, Sink, Time};

/// An engine: a type without values, which says how frames are processed. What it knows and notes
/// are its [`EngineNotes`].
pub trait FrameEngine: EngineNotes {
    /// Processes frames that arrived on `port`, until the turn is over; then the rest waits in the
    /// backlog. Leaves `frames` empty.
    ///
    /// The caller has counted the frames and checked that the port accepts them.
    fn receive_burst<S: Sink>(cx: &mut Context<'_, S, Self>, port: PortNo, frames: &mut Vec<Frame>);

    /// The function that sends packets through the tables.
    fn through_tables<S: Sink>(_: &Config) -> ThroughTables<S, Self> {
        each_table
    }

    /// Lets what forwards frames outside the switch learn of changes: see
    /// [`Datapath::review`](crate::Datapath::review).
    fn review(
        _: &mut Self::State,
        _now: Time,
        _: ReviewScope,
        _around: (&mut Pipeline<Self>, &PortQueues, &Hooks),
    ) {
    }

    /// Returns why frames like this one, which arrives on `port`, are not forwarded outside the
    /// switch, if what is known of them says so.
    fn why_inside(
        _: &Self::State,
        _now: Time,
        _around: (&Pipeline<Self>, &PortQueues, &Hooks),
        _port: PortNo,
        _: Frame,
    ) -> Option<String> {
        None
    }
}

/// What may have changed on which the ways of frames depend, besides entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewScope {
    /// Ports, queues and hooks: after a message, a timer or an event.
    All,
    /// Only what hooks do and NORMAL learns: after frames.
    Hooks,
}

/// The notes of the plain engine, which are empty.
#[derive(Clone, Debug, Default)]
pub struct NoNotes;

/// The plain engine: each frame becomes a packet, which goes from table to table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlainEngine {}

impl EngineNotes for PlainEngine {
    type State = NoNotes;
    type PathNotes = NoNotes;
    type BucketNotes = NoNotes;
    type GroupNotes = NoNotes;

    fn new(_: &Config) -> NoNotes {
        NoNotes
    }

    fn classifier(_: Engine, _: u64) -> Box<dyn Classifier> {
        Box::new(Scan::default())
    }

    fn bucket_notes(_: &[Action]) -> NoNotes {
        NoNotes
    }

    fn group_notes<'a>(_: GroupType, _: impl ExactSizeIterator<Item = &'a NoNotes>) -> NoNotes {
        NoNotes
    }
}

impl FrameEngine for PlainEngine {
    fn receive_burst<S: Sink>(
        cx: &mut Context<'_, S, Self>,
        port: PortNo,
        frames: &mut Vec<Frame>,
    ) {
        receive_each(cx, port, frames);
    }
}

/// Processes frames that arrived on `port` as the plain engine does: each becomes a packet.
pub fn receive_each<S: Sink, E: FrameEngine>(
    cx: &mut Context<'_, S, E>,
    port: PortNo,
    frames: &mut Vec<Frame>,
) {
    let ingress = cx.pipeline.ports.get(&port);
    let without_ethernet = ingress.is_some_and(|ingress| ingress.without_ethernet);
    // All packets of a burst share what is known of them before their headers are found.
    let mut key = arrival(port, cx.pipeline.catalogue.additions());
    if without_ethernet {
        key.leave_ethernet();
    }
    cx.lane.work.begin_turn();
    let mut waiting = frames.drain(..);
    for frame in waiting.by_ref() {
        let left = run_frame(cx, frame, &key, E::PathNotes::default());
        // Checked after each frame, so the turn exceeds its work by one frame at most.
        if cx.lane.work.is_turn_over() {
            let rest = left.into_iter().chain(waiting).collect();
            cx.lane.backlog.defer(port, rest);
            return;
        }
    }
}
