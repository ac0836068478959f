//! The messages for controllers, which all workers have: bounded for packet-ins.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bofuss_agent::{ConnId, Refusal, SwitchIo};
use bofuss_frame::Frame;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Message, PortNo};

use crate::source::Source;

/// The most messages that wait while packet-ins are added.
const MAX_WAITING: usize = 1024;

/// A message for a controller.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its connection.
    pub conn: ConnId,
    /// Its transaction id.
    pub xid: u32,
    /// The message.
    pub message: Message,
}

/// The messages that were not taken yet, and how many packet-ins found no room.
#[derive(Default)]
struct Waiting {
    messages: VecDeque<Sent>,
    lost_packet_ins: u64,
}

/// The queue of messages, which all workers fill.
#[derive(Clone, Default)]
pub(crate) struct Outbox(Arc<Mutex<Waiting>>);

impl Outbox {
    /// Takes all messages.
    pub(crate) fn take(&self) -> Vec<Sent> {
        self.waiting().messages.drain(..).collect()
    }

    /// How many packet-ins found no room.
    pub(crate) fn lost_packet_ins(&self) -> u64 {
        self.waiting().lost_packet_ins
    }

    /// Returns true if there is room for a packet-in. If not, it counts as lost.
    fn takes_packet_in(&self) -> bool {
        let mut waiting = self.waiting();
        let has_room = waiting.messages.len() < MAX_WAITING;
        waiting.lost_packet_ins += u64::from(!has_room);
        has_room
    }

    fn push(&self, sent: Sent) {
        self.waiting().messages.push_back(sent);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // The queue is whole after each call, so a panic elsewhere has not broken it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the outputs of one replica go.
pub(crate) struct WorkerIo<S> {
    pub(crate) source: S,
    pub(crate) outbox: Outbox,
    /// True in the leader, which answers messages and carries out what they ask for.
    pub(crate) leads: bool,
    /// True while a change is made: what it sends is sent by the leader alone, and never dropped.
    pub(crate) is_changing: bool,
    /// True if a message of an extension was refused since the change began.
    pub(crate) is_refused: bool,
}

impl<S: Source> SwitchIo for WorkerIo<S> {
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame) {
        if self.leads || !self.is_changing {
            self.source.transmit(port, queue, frame);
        }
    }

    fn flush(&mut self) {}

    fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        // What packets cause besides packet-ins is for them to have room, too.
        let is_bounded = !self.is_changing && !matches!(message, Message::PacketIn(_));
        if self.is_changing && !self.leads || is_bounded && !self.outbox.takes_packet_in() {
            return;
        }
        self.outbox.push(Sent { conn, xid, message });
    }

    fn refused(&mut self, _: ConnId, _: u32, message: &Message, _: &Refusal) {
        self.is_refused |= matches!(message, Message::Experimenter(_));
    }

    /// A held packet would be in one replica, and the message that asks for it in all.
    fn holds_packets(&self) -> bool {
        false
    }

    /// All replies to a call are there when it returns, so a connection always has room.
    fn has_room(&self, _: ConnId) -> bool {
        true
    }

    fn takes_packet_in(&mut self, _: ConnId, _: PortNo) -> bool {
        self.outbox.takes_packet_in()
    }

    /// A port that is down by configuration sends nothing; a [`Source`] has no links.
    fn set_link(&mut self, _: PortNo, _: bool) {}
}
