//! What changes of tables, groups and meters may touch.

use bofuss_oflib::Action;
use bofuss_packet::Packet;

use crate::control::bundle::StagedBundle;
use crate::control::changes::Changes;
use crate::control::check::Checker;
use crate::control::entries::EntryEditor;
use crate::control::extensions::HookCalls;
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Context;
#[cfg(feature = "text")]
use crate::pipeline::tracing::trace;
use crate::{DropReason, Sink};

/// The state that a change of tables, groups or meters may touch: all that a packet may, and the
/// changes in progress. Each file of this folder that changes one of them has the methods for it.
pub struct Control<'a, S: Sink, E: FrameEngine> {
    pub(super) cx: Context<'a, S, E>,
    pub(super) changes: &'a mut Changes<E>,
}

impl<'a, S: Sink, E: FrameEngine> Control<'a, S, E> {
    pub(crate) fn new(cx: Context<'a, S, E>, changes: &'a mut Changes<E>) -> Self {
        Self { cx, changes }
    }

    /// Applies a packet-out's actions to its packet.
    ///
    /// The caller has checked the actions. A packet-out is carried out at once, also while a change
    /// is in progress.
    pub fn packet_out(&mut self, packet: Packet, actions: &[Action]) {
        self.cx.packet_out(packet, actions);
    }

    /// Counts a packet that was dropped before it was one: there is no frame for its bytes.
    pub fn drop(&mut self, reason: DropReason) {
        self.cx.drop(reason);
    }

    /// Sends a packet through the tables to trace its steps. With a sink that is [`Sink::DRY`],
    /// nothing is counted, learned or changed.
    ///
    /// The sink gets each step while it happens.
    #[cfg(feature = "text")]
    pub fn trace(&mut self, packet: Packet) {
        trace(&mut self.cx, packet);
    }

    /// Returns a checker of lists of actions.
    pub(super) fn checker(&self) -> Checker<'_, E> {
        Checker::new(self.cx.pipeline, self.cx.hooks)
    }

    /// Calls of extensions that no packet causes.
    pub(super) fn hook_calls(&mut self) -> HookCalls<'_, S, E> {
        HookCalls::new(self.cx.reborrow())
    }

    /// Returns what a change of an entry touches. All changes are made through this, so that the
    /// engine and flow monitors are notified of each.
    pub(super) fn editor(&mut self) -> EntryEditor<'_, E> {
        EntryEditor {
            pipeline: self.cx.pipeline,
            engine: &mut self.cx.lane.engine,
            news: &mut self.changes.news,
        }
    }

    /// The bundle that is being prepared, if one is: then changes of entries are staged in it.
    ///
    /// While this is `Some`, a method that changes an entry has to hand the change to the bundle.
    pub(super) fn staging(&mut self) -> Option<(&mut StagedBundle<E>, EntryEditor<'_, E>)> {
        let bundle = self.changes.bundle.as_mut();
        let bundle = bundle.filter(|bundle| bundle.is_prepared())?;
        let editor = EntryEditor {
            pipeline: self.cx.pipeline,
            engine: &mut self.cx.lane.engine,
            news: &mut self.changes.news,
        };
        Some((bundle, editor))
    }
}
