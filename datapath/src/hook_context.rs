//! What a hook is given at a point of a packet's way: the packet, and ways to act.

use alloc::{boxed::Box, string::String, vec::Vec};

use bofuss_frame::{Frame, Pool};
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field::Header;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, ExtValue, Field, FieldSet, PortNo};
use bofuss_packet::{Key, Layout, Packet};

use crate::action_set::ActionSet;
use crate::lazy_packet::LazyPacket;
use crate::qos::QueueClass;
use crate::{Qos, Time, Trial, Verdict};

/// Something that a hook has asked for.
#[derive(Debug)]
pub(crate) enum HookAct {
    /// These actions are applied to the packet.
    Apply(Vec<Action>),
    /// These actions are applied to a packet of its own.
    Emit(Box<Packet>, Vec<Action>),
    /// The controllers that asked for it are told.
    Notify(ExtValue),
    /// A trace has this line.
    Say(String),
}

/// What a hook has done and asked for.
#[derive(Debug, Default)]
pub(crate) struct HookOutcome {
    pub(crate) acts: Vec<HookAct>,
    /// The table to go on with.
    pub(crate) goto: Option<TableId>,
    /// Why the packet is dropped, in the extension's words.
    pub(crate) drop: Option<&'static str>,
    /// Whether the hook has taken the packet.
    pub(crate) taken: bool,
    /// Whether it goes on later, with its action set.
    pub(crate) held: bool,
    /// The port that the hook sends the packet to, and that is all that it does.
    pub(crate) forward: Option<PortNo>,
    /// The QoS record that it gave the packet.
    pub(crate) qos: Option<Qos>,
    /// The fields that it read.
    pub(crate) read: FieldSet,
    /// What it set in the key.
    pub(crate) sets: Vec<(&'static Field, Option<u128>)>,
    /// Whether a field that it set had another value before.
    pub(crate) changed: bool,
    /// The packet's key before the hook was free to edit the packet, if it was.
    pub(crate) before_edit: Option<Box<Key>>,
}

/// A packet that is to go on with its way through the tables later: with its action set, queue and
/// QoS record.
#[derive(Debug)]
pub struct HeldPacket {
    /// The packet.
    pub packet: Packet,
    /// The table to go on with.
    pub(crate) table: TableId,
    pub(crate) progress: Progress,
}

/// What a packet has got on its way, apart from its bytes and key.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    pub(crate) set: ActionSet,
    pub(crate) class: QueueClass,
}

/// What a hook is given of a packet.
pub(crate) enum Subject<'a> {
    /// The packet.
    Packet(&'a mut Packet),
    /// A frame that becomes a packet if need be.
    Lazy(LazyPacket<'a>),
}

impl Subject<'_> {
    /// The packet itself.
    fn packet(&mut self) -> &mut Packet {
        match self {
            Self::Packet(packet) => packet,
            Self::Lazy(lazy) => lazy.packet(),
        }
    }
}

/// A packet at one point of its way, and what a hook can do there. What it asks for is done when it
/// returns, in order.
pub struct HookContext<'a> {
    /// The time.
    pub now: Time,
    /// The table that the packet is in.
    pub table: TableId,
    /// The cookie of the entry that was hit; all ones before one is, and outside of tables.
    pub cookie: u64,
    pub(crate) trial: Trial,
    pub(crate) traces: bool,
    /// Whether what it sets is written down.
    pub(crate) records: bool,
    pub(crate) subject: Subject<'a>,
    /// The packet's action set and how it is to wait for ports, once it is on its way.
    pub(crate) progress: Option<(&'a ActionSet, QueueClass)>,
    pub(crate) pool: &'a Pool,
    pub(crate) additions: &'static Additions,
    pub(crate) outcome: &'a mut HookOutcome,
}

impl HookContext<'_> {
    /// Whether the packet only tries its way: nothing that lasts may be changed. What the hook asks
    /// for here is only traced.
    pub fn is_dry(&self) -> bool {
        self.trial.is_dry()
    }

    /// Which run of packets it is, for a [`crate::TrialMap`].
    pub fn trial(&self) -> Trial {
        self.trial
    }

    /// The value of a field of the key, if the packet has it. Whoever remembers what the hook did
    /// learns that it depends on this field.
    #[inline]
    pub fn get(&mut self, field: &Field) -> Option<u128> {
        match &self.subject {
            Subject::Packet(packet) => packet.key().get(field, &mut self.outcome.read),
            // What a hook does with a frame is not remembered: it is called for each.
            Subject::Lazy(lazy) => lazy.get(field),
        }
    }

    /// Whether the packet begins with an Ethernet header. Each memory of a decision depends on it.
    #[inline]
    pub fn is_of_ethernet(&self) -> bool {
        let layout = match &self.subject {
            Subject::Packet(packet) => packet.layout(),
            Subject::Lazy(lazy) => lazy.layout(),
        };
        layout.offset(Header::PacketType).is_none()
    }

    /// The packet's number among those that [`crate::Hook::prefetch`] was last given, if it is one
    /// of them and its headers are as they were.
    #[inline]
    pub fn upcoming(&self) -> Option<usize> {
        match &self.subject {
            Subject::Packet(_) => None,
            Subject::Lazy(lazy) => lazy.upcoming(),
        }
    }

    /// The key, to be read by who logs what is read.
    pub fn key(&mut self) -> (&Key, &mut FieldSet) {
        (self.subject.packet().key(), &mut self.outcome.read)
    }

    /// Sets a field of the packet, as a set-field action does; a field of a header that
    /// is not there stays absent.
    pub fn set(&mut self, field: &'static Field, value: u128) {
        self.note_set(field, Some(value));
    }

    /// Makes a field that stands in no header absent.
    pub fn clear(&mut self, field: &'static Field) {
        self.note_set(field, None);
    }

    #[inline]
    fn note_set(&mut self, field: &'static Field, value: Option<u128>) {
        if self.records {
            self.outcome.sets.push((field, value));
        }
        match &mut self.subject {
            Subject::Packet(packet) if packet.key().get(field, &mut ()) == value => return,
            Subject::Packet(packet) => set_field(packet, field, value),
            Subject::Lazy(lazy) => lazy.set(field, value),
        }
        self.outcome.changed = true;
    }

    /// The port that the packet came in through.
    pub fn in_port(&mut self) -> PortNo {
        let port = self.get(bofuss_oflib::field::IN_PORT);
        PortNo(port.unwrap_or(0) as u32)
    }

    /// The packet's bytes. What depends on them is [`crate::HookEffect::Live`].
    pub fn frame(&self) -> &Frame {
        match &self.subject {
            Subject::Packet(packet) => &packet.frame,
            Subject::Lazy(lazy) => lazy.frame(),
        }
    }

    /// Where its headers stand.
    pub fn layout(&self) -> &Layout {
        match &self.subject {
            Subject::Packet(packet) => packet.layout(),
            Subject::Lazy(lazy) => lazy.layout(),
        }
    }

    /// The packet, to be edited.
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

    /// Takes the packet off its way, to [go on](crate::ControlContext::resume) with a table later.
    /// `None` if there is no buffer: then nothing is done.
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

    /// A packet made anew, as if it came in through a port; `None` if there is no buffer.
    pub fn packet(&self, bytes: &[u8], in_port: PortNo) -> Option<Packet> {
        let frame = self.pool.frame(bytes)?;
        Some(Packet::with_additions(frame, in_port, self.additions))
    }

    /// Applies actions to the packet: outputs, groups, packet-ins, changes of headers.
    pub fn apply(&mut self, actions: Vec<Action>) {
        self.outcome.acts.push(HookAct::Apply(actions));
    }

    /// Applies actions to another packet; an output to TABLE sends it through the tables.
    pub fn emit(&mut self, packet: Packet, actions: Vec<Action>) {
        self.outcome
            .acts
            .push(HookAct::Emit(packet.into(), actions));
    }

    /// Sends a notification to the controllers that asked for such values.
    pub fn notify(&mut self, value: ExtValue) {
        self.outcome.acts.push(HookAct::Notify(value));
    }

    /// Adds a line to a trace, if there is one.
    pub fn say(&mut self, line: impl FnOnce() -> String) {
        if self.traces {
            self.outcome.acts.push(HookAct::Say(line()));
        }
    }

    /// Goes on with a later table: before a lookup and on a miss, at once; after a hit and in an
    /// instruction or action, instead of the table that the entry names. A packet that is sent to
    /// a table that is not there, or not later, is dropped.
    pub fn goto(&mut self, table: TableId) {
        self.outcome.goto = Some(table);
    }

    /// Takes the packet: it has gone where it goes, if only into the extension, and counts neither
    /// as dropped nor, in [`crate::Hook::on_miss`], as unmatched. What was asked for is done.
    pub fn take(&mut self) {
        self.outcome.taken = true;
    }

    /// Sends the packet to a port and [takes](Self::take) it. A hook that asks for nothing else of
    /// a packet does this for frames that never become packets.
    pub fn forward(&mut self, port: PortNo) {
        self.outcome.forward = Some(port);
        self.take();
    }

    /// Gives the packet a QoS record, by which it waits for ports from here on. A hook that does
    /// this in [`crate::Hook::before_lookup`] is not [pure](crate::HookEffect::Pure), and such a
    /// call or action is not [fulfilled](crate::Hook::fulfil) ahead.
    pub fn set_qos(&mut self, qos: Qos) {
        self.outcome.qos = Some(qos);
    }

    /// Drops the packet for a reason of the extension's own, which has a counter.
    pub fn drop(&mut self, reason: &'static str) -> Verdict {
        self.outcome.drop = Some(reason);
        Verdict::Drop
    }
}

/// Gives a field of a packet a value, in the key and in the header that it stands in; or makes one
/// absent that stands in none.
pub(crate) fn set_field(packet: &mut Packet, field: &Field, value: Option<u128>) {
    let Some(value) = value else {
        if field.at.is_empty() {
            packet.key_mut().clear(field);
        }
        return;
    };
    let shifted = value << (128 - 8 * field.bytes());
    // A header that is not there has no field to set.
    let _ = packet.set_field(field, &shifted.to_be_bytes());
}
