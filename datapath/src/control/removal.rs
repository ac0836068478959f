//! Removing one entry, and informing hooks and controllers.

use bofuss_oflib::Match;
use bofuss_oflib::message::{FlowModFlags, FlowRemoved, FlowRemovedReason};
use bofuss_oflib::types::TableId;

use crate::control::Control;
use crate::control::entries::EntryEdit;
use crate::frame_engine::FrameEngine;
use crate::tables::stage::EntryStage;
use crate::{Entry, EntryKey, Sink, Time};

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Removes an entry and informs hooks and, if it asked for it, controllers.
    ///
    /// While a bundle is prepared, the removal is part of it: packets see the entry until the
    /// commit, and hooks and controllers learn of it after that.
    pub(crate) fn remove_entry(
        &mut self,
        table: TableId,
        key: EntryKey,
        reason: FlowRemovedReason,
    ) {
        if let Some((bundle, mut editor)) = self.staging() {
            bundle.remove(&mut editor, table, key, reason);
        } else {
            self.remove_at_once(table, key, reason);
        }
    }

    /// Removes an expired entry, also while a bundle is prepared; then neither packets nor the
    /// bundle see it any more. One that the bundle removes waits for the bundle's end.
    pub(crate) fn expire_entry(
        &mut self,
        table: TableId,
        key: EntryKey,
        reason: FlowRemovedReason,
    ) {
        let Some(entry) = self.cx.pipeline.tables[usize::from(table.0)].get_mut(key) else {
            return;
        };
        if entry.stage != EntryStage::Settled {
            // If the bundle is undone, its deadline is set again.
            entry.due = Time::NEVER;
            return;
        }
        // The bundle has counted the entry in its own groups and meters as well, so these have to
        // learn that it is gone. The swap makes them the pipeline's for that moment.
        let instructions = entry.instructions.clone();
        self.remove_at_once(table, key, reason);
        let staging = self.staging();
        if let Some((groups, editor)) = staging.and_then(|(b, editor)| Some((b.groups()?, editor)))
        {
            groups.swap(editor.pipeline);
            editor.pipeline.count_references(&instructions, false);
            groups.swap(editor.pipeline);
        }
    }

    /// Removes an entry now, also if a bundle is in progress.
    ///
    /// Counters in the FLOW_REMOVED are complete: the engine adds what it has counted before the
    /// edit takes the entry.
    pub(crate) fn remove_at_once(
        &mut self,
        table: TableId,
        key: EntryKey,
        reason: FlowRemovedReason,
    ) {
        let before = &self.cx.pipeline.tables[usize::from(table.0)];
        // The match can only be printed while the entry is in its table, which knows how it was
        // sent. That takes memory, so it is left out if nobody asks.
        let reported = before.get(key).filter(|entry| {
            entry.flags().has(FlowModFlags::SEND_FLOW_REM) || !self.cx.hooks.all.is_empty()
        });
        let fields = reported.map(|entry| before.fields_of(entry, &self.cx.pipeline.catalogue));
        let entry = self.editor().edit(table, EntryEdit::Remove(key, reason));
        let Some((entry, fields)) = entry.zip(fields) else {
            return;
        };
        let removed = removal(self.cx.now, table, &entry, fields, reason);
        self.hook_calls().notify(|hook, cx| {
            hook.on_flow_removed(cx, &removed);
        });
        // Hooks come first: what they do for the entry is done when controllers learn that it is
        // gone.
        if entry.flags().has(FlowModFlags::SEND_FLOW_REM) {
            self.cx.sink.flow_removed(removed);
        }
    }
}

/// The FLOW_REMOVED of a removed entry.
///
/// The duration is that since the entry was added or, in a bundle, committed. A counter that the
/// entry does not keep is all ones. Spec: OpenFlow 1.3.5 section 7.4.2.
fn removal(
    now: Time,
    table_id: TableId,
    entry: &Entry,
    fields: Match,
    reason: FlowRemovedReason,
) -> FlowRemoved {
    let (duration_sec, duration_nsec) = now.duration(entry.created);
    FlowRemoved {
        cookie: entry.cookie,
        priority: entry.key.priority.0,
        reason,
        table_id,
        duration_sec,
        duration_nsec,
        idle_timeout: entry.idle_timeout,
        hard_timeout: entry.hard_timeout,
        packet_count: entry.packet_count(),
        byte_count: entry.byte_count(),
        fields,
        idle_time: entry.stats(now).idle_time,
    }
}
