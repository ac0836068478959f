//! A packet on its path through the pipeline.

use bofuss_oflib::field::ACTSET_OUTPUT;
use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{FieldSet, PortNo};
use bofuss_packet::Packet;

use crate::action_set::ActionSet;
use crate::engine_notes::EngineNotes;
use crate::hook_context::LookupNote;
use crate::pipeline::work::MAX_BUCKETS_PER_PACKET;
use crate::qos::QueueClass;
use crate::{Entry, EntryKey, HitEntry, Table};

/// A packet on its path through the pipeline.
pub struct Walk<'a, E: EngineNotes> {
    /// The packet.
    pub packet: &'a mut Packet,
    /// The table that it is in.
    pub table: TableId,
    pub(crate) set: ActionSet,
    /// Its queue and QoS record at ports.
    pub class: QueueClass,
    pub(crate) stage: Stage,
    /// The cause that a packet-in names now.
    pub cause: PacketInCause,
    /// Where it was sent.
    pub output: OutputState,
    pub(crate) limits: GroupLimits,
    /// The results of lookups.
    pub lookup: LookupState,
    /// The requests of hooks that take effect later.
    pub hook: HookMarks,
    /// The notes of the engine.
    pub notes: E::PathNotes,
}

/// The part of the pipeline that a packet is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// In a list of actions before the tables, in which an output to TABLE is allowed once: that of
    /// a packet-out, or of a packet that a hook emits.
    BeforeTables,
    /// In the tables, or after them.
    Tables,
    /// In the egress tables, which it passes for this port.
    EgressTables(PortNo),
}

/// The cause that a packet-in names if it is sent now.
#[derive(Clone, Copy, Debug)]
pub struct PacketInCause {
    /// The entry that was hit last.
    pub entry: HitEntry,
    /// The reason.
    pub reason: PacketInReason,
}

/// Where a packet was sent so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputState {
    /// An output that is still pending, because the last output needs no copy.
    pub pending: Option<PendingOutput>,
    /// True if the packet or a copy was sent anywhere yet.
    pub(crate) sent: bool,
}

/// An output that is still pending.
#[derive(Clone, Copy, Debug)]
pub enum PendingOutput {
    /// To a port, through the egress tables if there are some.
    To(PortNo),
    /// To the port for which the packet has passed the egress tables.
    AfterEgressTables(PortNo),
}

/// The limits of a packet in groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupLimits {
    /// The levels of nested groups so far.
    pub(crate) depth: u8,
    /// The number of buckets that it may still enter.
    pub(crate) buckets_left: u16,
}

/// The results of a packet's lookups.
#[derive(Clone, Copy, Debug, Default)]
pub struct LookupState {
    /// The entry that was hit last; `None` after a miss.
    pub hit: Option<EntryKey>,
    /// The fields that lookups have read.
    pub read: FieldSet,
}

/// The requests of hooks that take effect later.
#[derive(Clone, Copy, Debug, Default)]
pub struct HookMarks {
    /// The table to which a hook sends the packet.
    pub goto: Option<TableId>,
    /// The last note of a hook about it.
    pub note: Option<LookupNote>,
}

impl<'a, E: EngineNotes> From<&'a mut Packet> for Walk<'a, E> {
    #[inline]
    fn from(packet: &'a mut Packet) -> Self {
        let class = QueueClass::arrived(packet.in_port());
        Self {
            packet,
            table: TableId(0),
            set: ActionSet::default(),
            class,
            stage: Stage::Tables,
            cause: PacketInCause {
                entry: HitEntry::NONE,
                reason: PacketInReason::ACTION,
            },
            output: OutputState::default(),
            limits: GroupLimits {
                depth: 0,
                buckets_left: MAX_BUCKETS_PER_PACKET,
            },
            lookup: LookupState::default(),
            hook: HookMarks::default(),
            notes: E::PathNotes::default(),
        }
    }
}

impl<E: EngineNotes> Walk<'_, E> {
    /// Sets the field ACTSET_OUTPUT of the key to the output in the action set. Spec: OpenFlow
    /// 1.5.1 section 7.2.3.9.
    pub(crate) fn note_output(&mut self) {
        let port = u128::from(self.set.output().0);
        self.packet.key_mut().set(ACTSET_OUTPUT, port);
    }

    /// The entry that was hit; from now on it is the packet's last one.
    #[inline]
    pub fn hit<'t>(&mut self, tables: &'t [Table]) -> Option<&'t Entry> {
        let table = &tables[usize::from(self.table.0)];
        let found = table.at(self.lookup.hit?.slot);
        let entry = found.expect("the entry was hit just now");
        self.cause.entry = entry.into();
        self.cause.reason = entry.reason();
        Some(entry)
    }
}
