//! The switch as a state machine: tables, actions, ports, NORMAL forwarding, hooks; frames in,
//! effects out.
//!
//! Does not know connections (see `agent`) nor sockets. Start at [`Datapath`], then
//! `pipeline/mod.rs`. `xtask/arrows.toml` says which folder may import from which.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

extern crate alloc;

// These are used by every folder.
mod action_set;
mod blocks;
mod config;
mod control_context;
#[cfg(feature = "replicas")]
mod flow_states;
mod hook;
mod hook_context;
mod hook_effect;
mod hook_list;
mod hooks;
#[cfg(feature = "metrics")]
mod metric;
mod option_error;
mod port;
mod qos;
mod references;
mod sink;
mod slab;
mod time;
mod tokens;
#[cfg(feature = "text")]
mod trace_text;
mod trial;
#[cfg(feature = "lookahead")]
mod upcoming;
mod vlan;
#[cfg(feature = "wanted")]
mod wanted_entries;

// The folders, each above those before it.
pub mod egress;
mod engine_notes;
mod frame_engine;
mod groups;
mod meters;
mod pipeline;
mod tables;

// The switch that joins them.
mod control;
mod datapath;
mod ingress;

pub use config::{Algorithm, Config, Engine, MAX_ADDRESSES, Station};
#[cfg(feature = "bundles")]
pub use control::bundle::{BundleControl, ChunkedQueue};
#[cfg(feature = "reconfigure")]
pub use control::reconfigure;
#[cfg(feature = "replicas")]
pub use control::replica::dispatch::{DispatchBy, Division, OneWorker, replica_of_port};
#[cfg(feature = "replicas")]
pub use control::replica::{EntryUse, OutOfStep, Replica, ReplicaCounts};
#[cfg(feature = "restore")]
pub use control::restore::{EntryPast, Restore};
pub use control::{
    Control,
    bulk_change::Cursor,
    changes::Changes,
    check::Checker,
    extensions::HookCalls,
    filling::FILLING_BITS,
    flow_mod::Filter,
    groups::GroupsView,
    meters::MetersView,
    news::{EntryFate, EntryNews, News, RemovedEntry},
    ports::PortControl,
    queues::{MAX_QUEUES, MAX_QUEUES_PER_PORT, QueueError, check_queue},
};
pub use control_context::{Asker, ControlContext, HookAnswer, ReplyPart};
pub use datapath::{Datapath, Settled, TableCounts};
#[cfg(feature = "microflows")]
pub use egress::{Aggregate, Guarantees, MAX_MICROFLOWS, Microflow, Standing};
pub use egress::{
    DEFAULT_QUEUE, Egress, MAX_QUEUE_BYTES, MAX_QUEUE_PACKETS, Queue, QueueSpec, Rate,
};
#[cfg(feature = "replicas")]
pub use flow_states::{
    Agreement, DispatchFields, FlowStates, HashedWord, StateKey, TakenStates, last_factor,
    may_use_states,
};
pub use groups::select::flow_hash;
pub use hook::Hook;
#[cfg(feature = "resubmit")]
pub use hook_context::Resubmit;
pub use hook_context::{HeldPacket, HookContext, LookupNote, NOTE_WORDS};
pub use hook_effect::{HookEffect, Verdict};
#[cfg(feature = "replicas")]
pub use meters::sharing::MeterShare;
#[cfg(feature = "metrics")]
pub use metric::{Metric, MetricKind};
pub use option_error::OptionError;
pub use pipeline::{
    bridge::Bridge,
    queueing::MAX_WAITING_BYTES,
    work::{MAX_BUCKETS_PER_PACKET, MAX_CHAIN, WORK_PER_FRAME, WORK_PER_TURN},
};
pub use port::{Port, PortProperties};
pub use qos::{EgressDrop, Entitlement, PRIORITIES, PacketOwner, Qos};
pub use sink::{DropReason, Lost, PacketInEvent, Sink, Step};
pub use tables::{
    entry::{Entry, EntryKey},
    features::TABLE_CONFIG_BITS,
    hit_entry::HitEntry,
    labels::Label,
    shape::PipelineShape,
    step_map::StepMap,
    table::Table,
};
pub use time::Time;
pub use tokens::Tokens;
pub use trial::Trial;
#[cfg(feature = "lookahead")]
pub use upcoming::{Upcoming, UpcomingPacket};
pub use vlan::{PortVlans, VlanMode};
#[cfg(feature = "wanted")]
pub use wanted_entries::WantedResult;

/// The items that an engine works with: see [`engine::FrameEngine`].
pub mod engine {
    pub use crate::action_set::ActionSet;
    pub use crate::engine_notes::{EngineNotes, GroupOf};
    pub use crate::frame_engine::{FrameEngine, NoNotes, PlainEngine, ReviewScope, receive_each};
    pub use crate::groups::{Group, Plan};
    pub use crate::hook::HookPoint;
    pub use crate::hook_context::{HookOutcome, LookupNote, Subject, set_field};
    pub use crate::hook_list::HookList;
    pub use crate::hooks::Hooks;
    #[cfg(feature = "replicas")]
    pub use crate::meters::{Meter, shared::BucketPlace, sharing::DropBand};
    pub use crate::pipeline::backlog::Backlog;
    pub use crate::pipeline::context::{Context, Lane, Pipeline, PortQueues, ThroughTables};
    pub use crate::pipeline::each_table;
    pub use crate::pipeline::hook_call::{BegunCall, HookCall, HookReply, MissReply};
    pub use crate::pipeline::hooking::HookQuery;
    pub use crate::pipeline::metering::remarked;
    #[cfg(feature = "super_frames")]
    pub use crate::pipeline::super_frames::SuperFrame;
    pub use crate::pipeline::walk::{PendingOutput, Walk};
    pub use crate::pipeline::work::Work;
    pub use crate::references::{count, sole_output};
    pub use crate::slab::{NONE, Slab};
    pub use crate::tables::classifier::{Classifier, Scan};
    pub use crate::tables::entry::View;
    pub use crate::tables::tag_table::TagTable;
    #[cfg(feature = "lookahead")]
    pub use crate::upcoming::{Lookahead, Predicted, WORDS, arriving_value};
}
