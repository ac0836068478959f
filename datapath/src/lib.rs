//! The switch as a state machine: tables, actions, ports, NORMAL forwarding, hooks; frames in,
//! effects out.
//!
//! Does not know connections (see `agent`) nor sockets. Start at [`Datapath`], then `reference.rs`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod action_set;
mod apply;
mod bucket;
mod check;
mod classify;
mod datapath;
mod fast;
mod features;
mod fits;
mod flow_mod;
mod group;
mod hook;
mod ingress;
mod meter;
mod metering;
mod normal;
mod output;
mod port;
mod queues;
mod reference;
pub mod refit;
mod scheduler;
mod select;
mod sink;
mod story;
mod sweep;
mod table;
mod uses;
mod work;

pub use bucket::{MAX_BUCKETS_PER_PACKET, MAX_CHAIN};
pub use datapath::{Config, Datapath};
pub use fast::{Engine, cache::CacheStats, index::Label};
pub use features::TABLE_CONFIG_BITS;
pub use flow_mod::Filter;
pub use hook::{Hook, HookEffect, Verdict};
pub use normal::MAX_ADDRESSES;
pub use port::Port;
pub use queues::{MAX_QUEUES, MAX_QUEUES_PER_PORT, MAX_WAITING_BYTES, QueueError};
pub use scheduler::{
    DEFAULT_QUEUE, Egress, MAX_QUEUE_BYTES, MAX_QUEUE_PACKETS, Queue, QueueSpec, Rate,
};
pub use select::{Algorithm, flow_hash};
pub use sink::{DropReason, Lost, PacketInEvent, Sink, Step};
pub use sweep::Cursor;
pub use table::{Entry, EntryKey, Table};
pub use work::{WORK_PER_FRAME, WORK_PER_TURN};

/// Nanoseconds since an origin that whoever drives the switch chooses and keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub u64);

impl Time {
    /// Nanoseconds of a second.
    pub const SEC: u64 = 1_000_000_000;
    /// After all times.
    pub const NEVER: Self = Self(u64::MAX);

    /// Nanoseconds from `earlier` to this time; 0 if that is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This time and `nanos` nanoseconds more.
    pub fn after(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// Whole seconds and nanoseconds beyond from `earlier` to this time, as OpenFlow writes
    /// durations.
    pub fn duration(self, earlier: Self) -> (u32, u32) {
        let nanos = self.since(earlier);
        ((nanos / Self::SEC) as u32, (nanos % Self::SEC) as u32)
    }
}
