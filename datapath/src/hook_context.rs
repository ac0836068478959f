//! The context of a hook at a point on a packet's path: the packet, and what the hook can do.

use alloc::{boxed::Box, collections::BTreeMap, string::String, vec::Vec};

use bofuss_frame::{Frame, Pool};
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field::Header;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, ExtValue, Field, FieldSet, PortNo};
use bofuss_packet::{Key, Layout, Packet};

use crate::action_set::ActionSet;
use crate::qos::QueueClass;
use crate::{Egress, HitEntry, Qos, Time, Trial, Verdict};

/// A request of a hook.
#[derive(Debug)]
pub enum HookAct {
    /// Apply these actions to the packet.
    Apply(Vec<Action>),
    /// Apply these actions, and then its action set, to a copy of the packet.
    ApplyToCopy(Vec<Action>),
    /// Apply these actions to another packet.
    Emit(Box<Packet>, Vec<Action>),
    /// Notify the controllers that subscribed.
    Notify(ExtValue),
    /// Add this line to a trace.
    Say(String),
}

/// A lookup in a table of any number, after which the packet continues where it was.
#[cfg(feature = "resubmit")]
#[derive(Clone, Copy, Debug)]
pub struct Resubmit {
    /// The table; one that the pipeline does not have is as one without entries.
    pub table: TableId,
    /// The ingress port in the lookup, if it is not that of the packet.
    pub in_port: Option<PortNo>,
}

/// A note of a hook about a packet before the lookup in a table, for the actions that follow. By
/// then, the headers from which it was computed may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookupNote {
    /// The table.
    pub table: TableId,
    /// The note itself.
    pub words: Option<[u64; NOTE_WORDS]>,
}

/// The number of words that a hook can note about a packet.
pub const NOTE_WORDS: usize = 6;

/// The result of a call of a hook: all that it has done and requested.
#[derive(Debug, Default)]
pub struct HookOutcome {
    /// Its requests, in order.
    pub acts: Vec<HookAct>,
    /// The table to continue with.
    pub goto: Option<TableId>,
    /// The lookup in another table before the packet continues.
    #[cfg(feature = "resubmit")]
    pub resubmit: Option<Resubmit>,
    /// The extension's reason for dropping the packet, if it does.
    pub drop: Option<&'static str>,
    /// True if the hook has taken the packet.
    pub taken: bool,
    /// True if the packet was held, to continue later with its action set.
    pub held: bool,
    /// The port to which the hook sends the packet, if it does nothing else.
    pub forward: Option<PortNo>,
    /// The QoS record that it gave the packet.
    pub qos: Option<Qos>,
    /// Its note about the packet.
    pub note: Option<LookupNote>,
    /// The fields that it read.
    pub read: FieldSet,
    /// The fields that it set in the key.
    pub sets: Vec<(&'static Field, Option<u128>)>,
    /// True if it set a field to a new value.
    pub changed: bool,
    /// The packet's key from before the hook got the packet for editing, if it did.
    pub before_edit: Option<Box<Key>>,
}

/// A packet that continues through the tables later, with its action set, queue and QoS record.
#[derive(Debug)]
pub struct HeldPacket {
    /// The packet.
    pub packet: Packet,
    /// The table to continue with.
    pub(crate) table: TableId,
    pub(crate) progress: Progress,
}

/// All that a packet has collected on its path, apart from its bytes and key.
#[derive(Clone, Debug)]
pub struct Progress {
    pub(crate) set: ActionSet,
    pub(crate) class: QueueClass,
}

/// The packet as a hook gets it.
pub trait Subject {
    /// The value of a field, if the packet has it; `read` learns that the field was read.
    fn get(&self, field: &Field, read: &mut FieldSet) -> Option<u128>;
    /// Sets a field, or marks it as absent if it is in no header. Returns true if that changed it.
    fn set(&mut self, field: &'static Field, value: Option<u128>) -> bool;
    /// The bytes.
    fn frame(&self) -> &Frame;
    /// The places of the headers.
    fn layout(&self) -> &Layout;
    /// The packet itself.
    fn packet(&mut self) -> &mut Packet;
    /// Its number among the packets for which hooks prefetched, if its headers are unchanged.
    fn upcoming(&self) -> Option<usize> {
        None
    }
}

impl Subject for Packet {
    #[inline]
    fn get(&self, field: &Field, read: &mut FieldSet) -> Option<u128> {
        self.key().get(field, read)
    }

    fn set(&mut self, field: &'static Field, value: Option<u128>) -> bool {
        let changes = self.key().get(field, &mut ()) != value;
        if changes {
            set_field(self, field, value);
        }
        changes
    }

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn layout(&self) -> &Layout {
        self.layout()
    }

    fn packet(&mut self) -> &mut Packet {
        self
    }
}

/// Sets a field of a packet, in the key and in its header; or marks a field that is in no header as
/// absent.
pub fn set_field(packet: &mut Packet, field: &Field, value: Option<u128>) {
    let Some(value) = value else {
        if field.at.is_empty() {
            packet.key_mut().clear(field);
        }
        return;
    };
    let shifted = value << (128 - 8 * field.bytes());
    // A missing header has no field to set.
    let _ = packet.set_field(field, &shifted.to_be_bytes());
}

/// A packet at one point on its path, and what a hook can do there. What the hook asks for is done
/// in order, after it returns.
pub struct HookContext<'a> {
    /// The time.
    pub now: Time,
    /// The table that the packet is in.
    pub table: TableId,
    /// The entry that was hit last; [`HitEntry::NONE`] if there is none, in groups and action sets,
    /// and outside of tables.
    pub entry: HitEntry,
    pub(crate) trial: Trial,
    pub(crate) traces: bool,
    /// True if the fields that it sets are recorded.
    pub(crate) records: bool,
    pub(crate) subject: &'a mut dyn Subject,
    /// The packet's action set and queueing class, once it is in the pipeline.
    pub(crate) progress: Option<(&'a ActionSet, QueueClass)>,
    /// The last note about the packet.
    pub(crate) noted: Option<LookupNote>,
    pub(crate) pool: &'a Pool,
    pub(crate) egress: &'a BTreeMap<PortNo, Egress>,
    pub(crate) additions: &'static Additions,
    /// The entries that hooks want, and the number of this hook.
    #[cfg(feature = "wanted")]
    pub(crate) wanted: (&'a mut crate::wanted_entries::WantedEntries, usize),
    pub(crate) outcome: &'a mut HookOutcome,
}

impl HookContext<'_> {
    /// Returns true if this is a trial run, as for a trace: the hook must not change its state.
    /// What it asks for is only traced.
    pub fn is_dry(&self) -> bool {
        self.trial.is_dry()
    }

    /// Returns true if packets wait at a port whose QoS records have this number of a microflow.
    pub fn waits(&self, port: PortNo, flow_id: u64) -> bool {
        let egress = self.egress.get(&port);
        egress.is_some_and(|egress| egress.holds(flow_id))
    }

    /// The number of the trial run, for state that forgets what a trial wrote.
    pub fn trial(&self) -> Trial {
        self.trial
    }

    /// The value of a field of the key, if the packet has it. The flow cache notes that the hook's
    /// result depends on this field.
    #[inline]
    pub fn get(&mut self, field: &Field) -> Option<u128> {
        self.subject.get(field, &mut self.outcome.read)
    }

    /// Returns true if the packet begins with an Ethernet header. The key of every cached flow
    /// contains this.
    #[inline]
    pub fn is_of_ethernet(&self) -> bool {
        self.layout().offset(Header::PacketType).is_none()
    }

    /// The packet's number in the last `Hook::prefetch`, if it was among those packets and its
    /// headers are unchanged.
    #[inline]
    pub fn upcoming(&self) -> Option<usize> {
        self.subject.upcoming()
    }

    /// The key, and the set in which the caller notes the fields that it reads.
    pub fn key(&mut self) -> (&Key, &mut FieldSet) {
        (self.subject.packet().key(), &mut self.outcome.read)
    }

    /// Sets a field of the packet, as a set-field action does. A field of a missing header stays
    /// absent.
    pub fn set(&mut self, field: &'static Field, value: u128) {
        self.note_set(field, Some(value));
    }

    /// Marks a field that is in no header as absent.
    pub fn clear(&mut self, field: &'static Field) {
        self.note_set(field, None);
    }

    #[inline]
    fn note_set(&mut self, field: &'static Field, value: Option<u128>) {
        if self.records {
            self.outcome.sets.push((field, value));
        }
        self.outcome.changed |= self.subject.set(field, value);
    }

    /// The packet's ingress port.
    pub fn in_port(&mut self) -> PortNo {
        let port = self.get(bofuss_oflib::field::IN_PORT);
        PortNo(port.unwrap_or(0) as u32)
    }

    /// The packet's bytes. A hook that reads them is at least [`crate::HookEffect::Live`].
    pub fn frame(&self) -> &Frame {
        self.subject.frame()
    }

    /// The places of its headers.
    pub fn layout(&self) -> &Layout {
        self.subject.layout()
    }

    /// The packet, for editing.
    pub fn edit(&mut self) -> &mut Packet {
        let packet = self.subject.packet();
        let before = &mut self.outcome.before_edit;
        before.get_or_insert_with(|| Box::new(packet.key().clone()));
        packet
    }

    /// A copy of the packet; `None` if there is no buffer.
    pub fn copy(&mut self) -> Option<Packet> {
        self.subject.packet().try_clone()
    }

    /// Takes the packet off its path, so that it can [continue](crate::ControlContext::resume) with
    /// a table later. `None`, with nothing done, if there is no buffer.
    pub fn hold(&mut self, table: TableId) -> Option<HeldPacket> {
        let packet = self.copy()?;
        self.outcome.taken = true;
        self.outcome.held = true;
        let progress = match self.progress {
            Some((set, class)) => Progress {
                set: set.clone(),
                class,
            },
            None => Progress {
                set: ActionSet::default(),
                class: QueueClass::arrived(packet.in_port()),
            },
        };
        Some(HeldPacket {
            packet,
            table,
            progress,
        })
    }

    /// Makes a new packet as if it had arrived on a port; `None` if there is no buffer.
    pub fn packet(&self, bytes: &[u8], in_port: PortNo) -> Option<Packet> {
        let frame = self.pool.frame(bytes)?;
        Some(Packet::with_additions(frame, in_port, self.additions))
    }

    /// Applies actions to the packet: outputs, groups, packet-ins, changes of headers.
    pub fn apply(&mut self, actions: Vec<Action>) {
        self.outcome.acts.push(HookAct::Apply(actions));
    }

    /// Applies actions to a copy of the packet, which begins with its action set, queue and QoS
    /// record; then the copy's action set is executed.
    pub fn apply_to_copy(&mut self, actions: Vec<Action>) {
        self.outcome.acts.push(HookAct::ApplyToCopy(actions));
    }

    /// Looks the packet up in a table of any number, and executes what it hits there and in the
    /// tables after it; then the packet continues here. A miss is no drop. This happens after the
    /// acts that the hook asks for. The [effect](crate::HookEffect) of an action that does so is
    /// unknown.
    #[cfg(feature = "resubmit")]
    pub fn resubmit(&mut self, resubmit: Resubmit) {
        self.outcome.resubmit = Some(resubmit);
    }

    /// Has an entry added as soon as no packet is on its way: the flow-mod is an add. If the same
    /// entry is there, it is kept, and its hard timeout begins anew. Then
    /// [`crate::Hook::on_wanted_entry`] is called. In a trial run nothing is done.
    ///
    /// Returns false, with nothing done, if too many wait.
    #[cfg(feature = "wanted")]
    pub fn want_entry(&mut self, flow_mod: bofuss_oflib::message::FlowMod) -> bool {
        let dry = self.is_dry();
        let (wanted, hook) = &mut self.wanted;
        dry || wanted.push(*hook, flow_mod)
    }

    /// Applies actions to another packet; an output to TABLE sends it through the tables.
    pub fn emit(&mut self, packet: Packet, actions: Vec<Action>) {
        self.outcome
            .acts
            .push(HookAct::Emit(packet.into(), actions));
    }

    /// Sends a notification to the controllers that subscribed.
    pub fn notify(&mut self, value: ExtValue) {
        self.outcome.acts.push(HookAct::Notify(value));
    }

    /// Adds a line to a trace, if there is one.
    pub fn say(&mut self, line: impl FnOnce() -> String) {
        if self.traces {
            self.outcome.acts.push(HookAct::Say(line()));
        }
    }

    /// Makes the packet continue in a later table. Before a lookup and on a miss this happens at
    /// once; after a hit, and in an instruction or action, the table replaces that of the entry's
    /// goto-table. If the table does not exist or is not later, the packet is dropped.
    pub fn goto(&mut self, table: TableId) {
        self.outcome.goto = Some(table);
    }

    /// Takes the packet: the extension has handled it, so it counts neither as dropped nor, in
    /// [`crate::Hook::on_miss`], as a miss. What the hook asked for is done.
    pub fn take(&mut self) {
        self.outcome.taken = true;
    }

    /// Sends the packet to a port and [takes](Self::take) it. If the hook asks for nothing else,
    /// frames are sent without becoming packets.
    pub fn forward(&mut self, port: PortNo) {
        self.outcome.forward = Some(port);
        self.take();
    }

    /// Gives the packet a QoS record, which from here on decides how it waits at ports. A hook that
    /// does this in [`crate::Hook::before_lookup`] is not [pure](crate::HookEffect::Pure), and such
    /// a call or action cannot be applied (`Hook::apply_prediction`) in advance.
    pub fn set_qos(&mut self, qos: Qos) {
        self.outcome.qos = Some(qos);
    }

    /// Notes words about the packet, which replace those that were noted before. They stay with it
    /// and its copies on their path, but not with packets that the hook [emits](Self::emit). Only
    /// one extension of a switch can do this.
    pub fn note(&mut self, words: Option<[u64; NOTE_WORDS]>) {
        let table = self.table;
        self.outcome.note = Some(LookupNote { table, words });
    }

    /// Returns what was noted about the packet last.
    pub fn noted(&self) -> Option<LookupNote> {
        self.noted
    }

    /// Drops the packet for a reason that the extension defines; each reason has a counter.
    pub fn drop(&mut self, reason: &'static str) -> Verdict {
        self.outcome.drop = Some(reason);
        Verdict::Drop
    }
}
