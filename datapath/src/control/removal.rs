//! Removing one entry, and informing hooks and controllers.

use bofuss_oflib::Match;
use bofuss_oflib::message::{FlowModFlags, FlowRemoved, FlowRemovedReason};
use bofuss_oflib::types::TableId;

use crate::control::entries::{EntryEdit, EntryEditor};
use crate::control::staged_bundle::StagedBundle;
use crate::frame_engine::FrameEngine;
use crate::tables::stage::EntryStage;
use crate::{Datapath, Entry, EntryKey, Sink, Time};

impl<E: FrameEngine> Datapath<E> {
    /// What a change of an entry touches. All changes are made through this, so that the engine and
    /// flow monitors are notified of each.
    pub(crate) fn editor(&mut self) -> EntryEditor<'_, E> {
        EntryEditor {
            pipeline: &mut self.pipeline,
            engine: &mut self.lane.engine,
            news: &mut self.news,
        }
    }

    /// The bundle that is being prepared, if one is: then changes of entries are staged in it.
    pub(crate) fn staging(&mut self) -> Option<(&mut StagedBundle<E>, EntryEditor<'_, E>)> {
        let bundle = self.bundle.as_mut().filter(|bundle| bundle.is_prepared())?;
        let editor = EntryEditor {
            pipeline: &mut self.pipeline,
            engine: &mut self.lane.engine,
            news: &mut self.news,
        };
        Some((bundle, editor))
    }

    /// Removes an entry and informs hooks and, if it asked for it, controllers.
    pub(crate) fn remove_entry<S: Sink>(
        &mut self,
        now: Time,
        table: TableId,
        key: EntryKey,
        reason: FlowRemovedReason,
        sink: &mut S,
    ) {
        if let Some((bundle, mut editor)) = self.staging() {
            bundle.remove(&mut editor, table, key, reason);
        } else {
            self.remove_at_once(now, table, key, reason, sink);
        }
    }

    /// Removes an expired entry, also while a bundle is prepared; then neither packets nor the
    /// bundle see it any more. One that the bundle removes waits for the bundle's end.
    pub(crate) fn expire_entry<S: Sink>(
        &mut self,
        now: Time,
        table: TableId,
        key: EntryKey,
        reason: FlowRemovedReason,
        sink: &mut S,
    ) {
        let Some(entry) = self.pipeline.tables[usize::from(table.0)].get_mut(key) else {
            return;
        };
        if entry.stage != EntryStage::Settled {
            // If the bundle is undone, its deadline is set again.
            entry.due = Time::NEVER;
            return;
        }
        let instructions = entry.instructions.clone();
        self.remove_at_once(now, table, key, reason, sink);
        if let Some((bundle, editor)) = self.staging()
            && let Some(groups) = bundle.groups()
        {
            groups.swap(editor.pipeline);
            editor.pipeline.count_references(&instructions, false);
            groups.swap(editor.pipeline);
        }
    }

    pub(crate) fn remove_at_once<S: Sink>(
        &mut self,
        now: Time,
        table: TableId,
        key: EntryKey,
        reason: FlowRemovedReason,
        sink: &mut S,
    ) {
        let before = &self.pipeline.tables[usize::from(table.0)];
        let reported = before.get(key).filter(|entry| {
            entry.flags().has(FlowModFlags::SEND_FLOW_REM) || !self.hooks.all.is_empty()
        });
        let fields = reported.map(|entry| before.fields_of(entry, &self.pipeline.catalogue));
        let entry = self.editor().edit(table, EntryEdit::Remove(key, reason));
        let Some((entry, fields)) = entry.zip(fields) else {
            return;
        };
        let removed = removal(now, table, &entry, fields, reason);
        self.notify_hooks(now, sink, |hook, cx| {
            hook.on_flow_removed(cx, &removed);
        });
        if entry.flags().has(FlowModFlags::SEND_FLOW_REM) {
            sink.flow_removed(removed);
        }
    }
}

/// The FLOW_REMOVED of a removed entry.
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
