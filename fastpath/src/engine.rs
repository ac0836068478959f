//! The fast path as an engine: what the pipeline calls, and what is noted of packets and groups.

use alloc::{boxed::Box, collections::BTreeMap, string::String, vec::Vec};

use bofuss_datapath::engine::{
    BegunCall, Classifier, Context, EngineNotes, FrameEngine, GroupOf, HookCall, HookReply, Hooks,
    Meter, Pipeline, PlainEngine, PortQueues, ReviewScope, ThroughTables, Walk, each_table,
    receive_each,
};
use bofuss_datapath::{Config, DropReason, Engine, EntryKey, HookEffect, Port, Sink, Table, Time};
use bofuss_frame::Frame;
use bofuss_oflib::message::group_mod::GroupType;
use bofuss_oflib::types::{GroupId, MeterId, TableId};
use bofuss_oflib::{Action, Catalogue, FieldSet, PortNo};

use super::cache::Cache;
use super::direct::process_frames;
use super::direct_path::DirectPath;
use super::mask_groups::MaskGroups;
use super::offer::why_inside;
use super::paths::known_paths;

/// The most copies that a group makes of a frame on the direct path, so that they are little work.
const MAX_DIRECT_COPIES: usize = 16;

/// The notes about a packet on its path.
#[derive(Clone, Debug, Default)]
pub struct FlowNotes {
    /// Its flow in the cache, if that was found.
    pub(super) flow: Option<u32>,
    /// True if hooks have prepared it for the current table.
    pub(super) prepared: bool,
    /// True if hooks have had it looked up again in the current table.
    pub(super) looked_up_again: bool,
    /// True if an action of an extension did more than the recorder may cache, or a meter remarked
    /// the packet.
    pub(super) uncacheable: bool,
    /// The fields that such actions have read.
    pub(super) action_reads: FieldSet,
    /// Actions of extensions that were begun before it became a packet. Copies have none.
    pub(super) begun: BegunNotes,
}

impl FlowNotes {
    /// The notes of a packet whose flow may have been found.
    pub(super) fn of(flow: Option<u32>) -> Self {
        Self {
            flow,
            ..Self::default()
        }
    }
}

/// Actions of extensions that were begun before a frame became a packet; a copy has none.
#[derive(Debug, Default)]
pub struct BegunNotes(pub(super) Option<BegunActions>);

impl Clone for BegunNotes {
    fn clone(&self) -> Self {
        Self(None)
    }
}

/// Actions of extensions whose hooks were called with the frame, before it became a packet.
#[derive(Debug)]
pub struct BegunActions {
    /// The number of them that are completely done.
    pub(super) done: usize,
    /// The reply to the next action, which still has to be carried out.
    pub(super) reply: Box<HookReply>,
}

/// The fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FastPath {}

/// The parts of the datapath that a packet may touch.
pub(crate) type FastContext<'a, S> = Context<'a, S, FastPath>;

/// A packet on its path.
pub(crate) type FastWalk<'a> = Walk<'a, FastPath>;

impl EngineNotes for FastPath {
    type State = Cache;
    type PathNotes = FlowNotes;
    /// The direct path of the bucket's actions, if they have one.
    type BucketNotes = Option<DirectPath>;
    /// The most by which its buckets decrement the TTL of frames on the direct path; `None` if
    /// frames cannot pass it there, because not all buckets have a direct path or there are too
    /// many.
    type GroupNotes = Option<u8>;

    fn new(config: &Config) -> Cache {
        Cache::new(config.secret, config.cache_flows, config.cache_changes)
    }

    fn classifier(engine: Engine, secret: u64) -> Box<dyn Classifier> {
        match engine {
            Engine::Reference => PlainEngine::classifier(engine, secret),
            Engine::Tables | Engine::Cache => Box::new(MaskGroups::new(secret)),
        }
    }

    fn copies_once(cache: &Cache, notes: &FlowNotes) -> bool {
        notes.flow.is_some_and(|flow| cache.flows[flow].is_simple())
    }

    #[inline(always)]
    fn take_prepared(notes: &mut FlowNotes) -> bool {
        core::mem::take(&mut notes.prepared)
    }

    #[inline(always)]
    fn take_looked_up_again(notes: &mut FlowNotes) -> bool {
        core::mem::take(&mut notes.looked_up_again)
    }

    fn begun_call(notes: &mut FlowNotes) -> BegunCall {
        match notes.begun.0.take() {
            None => BegunCall::Nothing,
            Some(mut begun) if begun.done > 0 => {
                begun.done -= 1;
                notes.begun.0 = Some(begun);
                BegunCall::Done
            }
            Some(begun) => BegunCall::Replied(begun.reply),
        }
    }

    fn note_action(notes: &mut FlowNotes, call: &HookCall, effect: impl FnOnce() -> HookEffect) {
        if call.uncacheable {
            notes.uncacheable |= effect() != HookEffect::Pure || !call.only_sets;
        }
        notes.action_reads.insert(call.read);
    }

    #[inline(always)]
    fn note_read(notes: &mut FlowNotes, fields: FieldSet) {
        notes.action_reads.insert(fields);
    }

    fn note_remark(notes: &mut FlowNotes) {
        notes.uncacheable = true;
    }

    fn bucket_notes(actions: &[Action]) -> Option<DirectPath> {
        DirectPath::of_bucket(actions)
    }

    fn group_notes<'a>(
        ty: GroupType,
        buckets: impl ExactSizeIterator<Item = &'a Option<DirectPath>>,
    ) -> Option<u8> {
        let copies = if ty == GroupType::ALL {
            buckets.len()
        } else {
            1
        };
        if copies > MAX_DIRECT_COPIES {
            return None;
        }
        let mut hops = 0;
        for path in buckets {
            hops = hops.max(path.as_ref()?.hops);
        }
        Some(hops)
    }

    fn entry_added(
        cache: &mut Cache,
        catalogue: &Catalogue,
        tables: &mut [Table],
        table: TableId,
        key: EntryKey,
    ) {
        cache.entry_added(catalogue, tables, table, key);
    }

    fn entry_staged(
        cache: &mut Cache,
        catalogue: &Catalogue,
        tables: &mut [Table],
        table: TableId,
        key: EntryKey,
    ) {
        cache.entry_staged(catalogue, tables, table, key);
    }

    fn entry_gone(cache: &mut Cache, tables: &mut [Table], table: TableId, key: EntryKey) {
        cache.entry_gone(tables, table, key);
    }

    fn all_changed(cache: &mut Cache) {
        cache.all_changed();
    }

    fn forget_all(cache: &mut Cache, catalogue: &Catalogue, tables: &mut [Table]) {
        cache.forget_all(catalogue, tables);
    }

    fn replace_tables(
        cache: &mut Cache,
        catalogue: &Catalogue,
        tables: &mut [Table],
        fields: FieldSet,
    ) {
        cache.widen(catalogue, tables, fields);
    }

    fn settle(cache: &mut Cache, tables: &mut [Table]) {
        cache.settle(tables);
    }

    fn is_unsettled(cache: &Cache) -> bool {
        !cache.unsettled.is_empty() || cache.below.is_unsettled()
    }

    fn settle_ports(
        cache: &mut Cache,
        ports: &mut BTreeMap<PortNo, Port>,
        drops: &mut [u64; DropReason::ALL.len()],
    ) {
        cache.below.settle_ports(ports, drops);
    }

    fn settle_groups(cache: &mut Cache, groups: &mut BTreeMap<GroupId, GroupOf<Self>>) {
        cache.below.settle_groups(groups);
    }

    fn settle_meters(cache: &mut Cache, meters: &mut BTreeMap<MeterId, Meter>) {
        cache.below.settle_meters(meters);
    }

    fn groups_change(cache: &mut Cache, groups: &mut BTreeMap<GroupId, GroupOf<Self>>) {
        cache.take_back_grouped();
        cache.below.settle_groups(groups);
    }

    fn next_clean(cache: &Cache) -> Option<Time> {
        cache.next_clean()
    }

    fn clean(cache: &mut Cache, catalogue: &Catalogue, tables: &mut [Table], now: Time) {
        cache.clean(catalogue, tables, now);
    }
}

impl FrameEngine for FastPath {
    fn receive_burst<S: Sink>(cx: &mut FastContext<'_, S>, port: PortNo, frames: &mut Vec<Frame>) {
        let is_plain = frames.iter().all(|frame| frame.tunnel_id == 0);
        if is_plain && uses_cache::<S>(&cx.pipeline.config) {
            process_frames(cx, port, frames);
        } else {
            receive_each(cx, port, frames);
        }
    }

    fn through_tables<S: Sink>(config: &Config) -> ThroughTables<S, Self> {
        if uses_cache::<S>(config) {
            known_paths
        } else {
            each_table
        }
    }

    fn review(
        cache: &mut Cache,
        now: Time,
        scope: ReviewScope,
        (pipeline, egress, hooks): (&mut Pipeline<Self>, &PortQueues, &Hooks),
    ) {
        cache.review_stations(now, &mut pipeline.bridge, &pipeline.config);
        cache.review(scope, pipeline, egress, hooks);
    }

    fn why_inside(
        cache: &Cache,
        now: Time,
        around: (&Pipeline<Self>, &PortQueues, &Hooks),
        port: PortNo,
        frame: Frame,
    ) -> Option<String> {
        why_inside(cache, now, around, port, frame)
    }
}

/// Returns true if packets whose effects go to such a sink take cached paths.
fn uses_cache<S: Sink>(config: &Config) -> bool {
    config.engine == Engine::Cache && !S::TRACES && !S::DRY
}
