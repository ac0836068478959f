//! Bundles: messages that a connection collects and then has carried out together. Spec: OpenFlow
//! 1.4.1 section 7.3.9.

use alloc::{boxed::Box, vec::Vec};

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{ChunkedQueue, Time};
use bofuss_oflib::error::BundleFailed;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::{BundleAdd, BundleControl, ErrorMsg};
use bofuss_oflib::{ErrorCode, Message};

use crate::handle::refuse_experimenters;
use crate::request::{ConnId, HandlerResult, Origin, Outcome};
use crate::schedule::ScheduledCommit;
use crate::switch::{Switch, SwitchIo};

/// The most bundles that a connection may have open.
const MAX_BUNDLES: usize = 16;
/// The most messages in one bundle.
const MAX_MESSAGES: usize = 1 << 18;
/// The most port-mods in one bundle. They are all applied in the slice that commits the bundle, and
/// packets wait for that slice.
const MAX_PORT_MODS: usize = 256;
/// The most memory that the messages of all bundles together may take, in bytes, by an estimate.
/// One connection may use at most as much of it as then remains free, so that others find room.
const MAX_HELD_BYTES: usize = 256 << 20;
/// The estimated memory of a message, in bytes, besides what grows with its length.
const MESSAGE_BYTES: usize = size_of::<Message>() + 64;
/// The estimated memory, in bytes, that each byte of a message on the wire takes once decoded.
const BYTES_PER_WIRE_BYTE: usize = 4;
/// A bundle whose connection sends nothing for it in this time is discarded; Open vSwitch waits as
/// long.
const MAX_IDLE_NS: u64 = 10 * Time::SEC;
/// How many messages of a discarded bundle are freed in one turn, which takes some 10 us.
const FREED_PER_TURN: usize = 64;

/// An open bundle and the messages that were added to it.
pub(crate) struct Bundle {
    flags: BundleFlags,
    is_closed: bool,
    /// The messages, each with its transaction id, in the order in which they were added.
    pub(crate) messages: ChunkedQueue<(u32, Box<Message>)>,
    /// The places of port-mods in `messages`.
    pub(crate) port_mods: Vec<usize>,
    /// Whether any message changes groups or meters.
    pub(crate) changes_groups: bool,
    held_bytes: usize,
    /// The commit that waits for its time, if one does.
    pub(crate) scheduled: Option<ScheduledCommit>,
    /// When the last message for this bundle came.
    used: Time,
    /// The transaction id of the message that opened it, which TIMEOUT quotes.
    xid: u32,
    head: Vec<u8>,
}

impl Bundle {
    /// When it will be discarded as idle; never if its commit is scheduled.
    fn idle_end(&self) -> Option<Time> {
        let end = self.used.after(MAX_IDLE_NS);
        self.scheduled.is_none().then_some(end)
    }
}

/// Estimates the memory of a message from the length in its header.
fn held_bytes(head: &[u8]) -> usize {
    let length = head.get(2..4).map_or(0, |length| {
        usize::from(length[0]) << 8 | usize::from(length[1])
    });
    MESSAGE_BYTES + length * BYTES_PER_WIRE_BYTE
}

impl<E: FrameEngine> Switch<E> {
    /// Handles BUNDLE_CONTROL: opens, closes, commits or discards a bundle.
    ///
    /// Errors: BUNDLE_FAILED with BAD_ID, BUNDLE_CLOSED, OUT_OF_BUNDLES, BAD_TYPE or BAD_FLAGS;
    /// BAD_PROPERTY/BAD_EXPERIMENTER.
    pub(crate) fn bundle_control(
        &mut self,
        now: Time,
        from: Origin<'_>,
        control: &BundleControl,
    ) -> HandlerResult {
        refuse_experimenters(&control.experimenters)?;
        let conn = from.conn;
        let id = control.bundle_id;
        let reply = match control.ty {
            BundleControlType::OPEN_REQUEST => {
                if self.discard_bundle(conn, id).is_ok() {
                    return Err(BundleFailed::BAD_ID);
                }
                self.open_bundle(now, from, id, control.flags)?;
                BundleControlType::OPEN_REPLY
            }
            BundleControlType::CLOSE_REQUEST => {
                let bundle = self.bundle(conn, id, control.flags)?;
                if core::mem::replace(&mut bundle.is_closed, true) {
                    self.discard_bundle(conn, id)?;
                    return Err(BundleFailed::BUNDLE_CLOSED);
                }
                bundle.used = now;
                BundleControlType::CLOSE_REPLY
            }
            BundleControlType::COMMIT_REQUEST => {
                if self.bundle(conn, id, control.flags)?.scheduled.is_some() {
                    return Err(BundleFailed::BUNDLE_IN_PROGRESS);
                }
                if control.flags.has(BundleFlags::TIME) {
                    return self.schedule_commit(now, from, control);
                }
                let bundle = self.take_bundle(conn, id)?;
                self.begin_commit(from, control, bundle);
                return Ok(Outcome::Begun);
            }
            BundleControlType::DISCARD_REQUEST => {
                self.discard_bundle(conn, id)?;
                BundleControlType::DISCARD_REPLY
            }
            _ => return Err(BundleFailed::BAD_TYPE),
        };
        Ok(Outcome::Reply(Message::BundleControl(control.reply(reply))))
    }

    /// Checks whether a message may be added to its bundle, and opens the bundle if it does not
    /// exist. [`Switch::put_into_bundle`] then adds the message.
    ///
    /// Errors: BUNDLE_FAILED with BUNDLE_CLOSED, OUT_OF_BUNDLES, BAD_FLAGS, MSG_BAD_XID, MSG_UNSUP
    /// or MSG_TOO_MANY; BAD_PROPERTY/BAD_EXPERIMENTER.
    pub(crate) fn bundle_add(
        &mut self,
        now: Time,
        from: Origin<'_>,
        add: &BundleAdd,
    ) -> HandlerResult {
        let Origin { conn, xid, head } = from;
        refuse_experimenters(&add.experimenters)?;
        if add.xid != xid {
            return Err(BundleFailed::MSG_BAD_XID);
        }
        let id = add.bundle_id;
        let has_memory = held_bytes(head) <= self.free_bytes(conn);
        if !self.connections[&conn].bundles.contains_key(&id) {
            // A message that is refused opens no bundle.
            check_added(&add.message, has_memory)?;
            self.open_bundle(now, from, id, add.flags)?;
        }
        let bundle = self.bundle(conn, id, add.flags)?;
        if bundle.is_closed || bundle.scheduled.is_some() {
            self.discard_bundle(conn, id)?;
            return Err(BundleFailed::BUNDLE_CLOSED);
        }
        let is_port_mod = matches!(*add.message, Message::PortMod(_));
        let is_full = bundle.messages.len() >= MAX_MESSAGES
            || is_port_mod && bundle.port_mods.len() >= MAX_PORT_MODS;
        check_added(&add.message, has_memory && !is_full)?;
        bundle.used = now;
        Ok(Outcome::Kept)
    }

    /// Adds a message that [`Switch::bundle_add`] accepted.
    pub(crate) fn put_into_bundle(&mut self, from: Origin<'_>, message: Message) {
        if let Message::BundleAdd(add) = message
            && let Some(connection) = self.connections.get_mut(&from.conn)
            && let Some(bundle) = connection.bundles.get_mut(&add.bundle_id)
        {
            if matches!(*add.message, Message::PortMod(_)) {
                bundle.port_mods.push(bundle.messages.len());
            }
            bundle.changes_groups |=
                matches!(*add.message, Message::GroupMod(_) | Message::MeterMod(_));
            bundle.held_bytes += held_bytes(from.head);
            bundle.messages.push((add.xid, add.message));
        }
    }

    /// Errors: BUNDLE_FAILED with OUT_OF_BUNDLES or BAD_FLAGS.
    fn open_bundle(
        &mut self,
        now: Time,
        from: Origin<'_>,
        id: u32,
        flags: BundleFlags,
    ) -> Result<(), ErrorCode> {
        if flags.0 & !BundleFlags::ALL.0 != 0 {
            return Err(BundleFailed::BAD_FLAGS);
        }
        let Some(connection) = self.connections.get_mut(&from.conn) else {
            return Ok(());
        };
        if connection.bundles.len() >= MAX_BUNDLES {
            return Err(BundleFailed::OUT_OF_BUNDLES);
        }
        let bundle = Bundle {
            flags: flags.without(BundleFlags::TIME),
            is_closed: false,
            messages: ChunkedQueue::default(),
            port_mods: Vec::new(),
            changes_groups: false,
            held_bytes: 0,
            scheduled: None,
            used: now,
            xid: from.xid,
            head: from.head.into(),
        };
        connection.bundles.insert(id, bundle);
        Ok(())
    }

    /// Finds a bundle of a connection.
    ///
    /// Errors: BUNDLE_FAILED with BAD_ID; or BAD_FLAGS if it was opened with other flags, which
    /// discards it.
    fn bundle(
        &mut self,
        conn: ConnId,
        id: u32,
        flags: BundleFlags,
    ) -> Result<&mut Bundle, ErrorCode> {
        let bundles = &self.connections[&conn].bundles;
        let flags = flags.without(BundleFlags::TIME);
        let has_others = bundles.get(&id).is_some_and(|b| b.flags != flags);
        if has_others {
            self.discard_bundle(conn, id)?;
            return Err(BundleFailed::BAD_FLAGS);
        }
        let connection = self.connections.get_mut(&conn);
        let bundle = connection.and_then(|connection| connection.bundles.get_mut(&id));
        bundle.ok_or(BundleFailed::BAD_ID)
    }

    /// Errors: BUNDLE_FAILED/BAD_ID.
    pub(crate) fn take_bundle(&mut self, conn: ConnId, id: u32) -> Result<Bundle, ErrorCode> {
        let connection = self.connections.get_mut(&conn);
        let bundle = connection.and_then(|connection| connection.bundles.remove(&id));
        bundle.ok_or(BundleFailed::BAD_ID)
    }

    /// Errors: BUNDLE_FAILED/BAD_ID.
    fn discard_bundle(&mut self, conn: ConnId, id: u32) -> Result<(), ErrorCode> {
        let bundle = self.take_bundle(conn, id)?;
        self.discarded.push(bundle);
        Ok(())
    }

    /// How many bytes a connection may still add to its bundles. It may hold at most as much as is
    /// free, so this is the free memory less what it already holds.
    fn free_bytes(&self, conn: ConnId) -> usize {
        let mut own = 0;
        let mut all = 0;
        for (id, connection) in &self.connections {
            let held = connection.bundles.values().map(|b| b.held_bytes).sum();
            all += held;
            if *id == conn {
                own = held;
            }
        }
        let left = MAX_HELD_BYTES.saturating_sub(all);
        left.saturating_sub(own)
    }

    /// Frees a few messages of a discarded bundle.
    pub(crate) fn free_discarded(&mut self) {
        if let Some(bundle) = self.discarded.last_mut() {
            for _ in 0..FREED_PER_TURN {
                bundle.messages.pop();
            }
            if bundle.messages.is_empty() {
                self.discarded.pop();
            }
        }
    }

    /// When the next bundle will be discarded as idle.
    pub(crate) fn next_bundle_end(&self) -> Option<Time> {
        let connections = self.connections.values();
        let bundles = connections.flat_map(|conn| conn.bundles.values());
        bundles.filter_map(Bundle::idle_end).min()
    }

    /// Discards idle bundles. Their connections get BUNDLE_FAILED/TIMEOUT.
    pub(crate) fn end_idle_bundles<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        for (conn, connection) in &mut self.connections {
            let bundles = &mut connection.bundles;
            let over = bundles.extract_if(.., |_, bundle| {
                bundle.idle_end().is_some_and(|end| end <= now)
            });
            for (_, bundle) in over {
                let error = ErrorMsg::quoting(BundleFailed::TIMEOUT, &bundle.head);
                io.send(*conn, bundle.xid, Message::Error(error));
                self.discarded.push(bundle);
            }
        }
    }
}

/// Errors: BUNDLE_FAILED with MSG_UNSUP, or MSG_TOO_MANY if there is no room.
fn check_added(message: &Message, has_room: bool) -> Result<(), ErrorCode> {
    if !may_be_in_bundle(message) {
        return Err(BundleFailed::MSG_UNSUP);
    }
    has_room.then_some(()).ok_or(BundleFailed::MSG_TOO_MANY)
}

/// Whether a message may be part of a bundle: it changes flows, groups, meters or ports, or sends a
/// packet.
fn may_be_in_bundle(message: &Message) -> bool {
    matches!(
        message,
        Message::FlowMod(_)
            | Message::GroupMod(_)
            | Message::MeterMod(_)
            | Message::PortMod(_)
            | Message::PacketOut(_)
    )
}
