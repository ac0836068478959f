//! Bundles: messages that a connection collects and then has carried out together. Spec: OpenFlow
//! 1.4.1 section 7.3.9.
//!
//! A bundle belongs to the connection that opened it. A message is kept as it was decoded and
//! executed only at the commit, so the errors that depend on the switch come then. `commit.rs`
//! takes the bundle out.
//!
//! `no_bundles.rs` is in the place of this module in a switch without bundles.

mod commit;
mod requests;
mod schedule;

use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};

use bofuss_datapath::{ChunkedQueue, Time};
use bofuss_oflib::error::BundleFailed;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::features::Capabilities;
use bofuss_oflib::message::{BundleAdd, BundleControl, ErrorMsg};
use bofuss_oflib::{ErrorCode, Message};

use crate::io::SwitchIo;
use crate::request::{ConnId, HandlerResult, Origin, Outcome, refuse_experimenters};

pub(crate) use commit::Commit;
pub(crate) use requests::{begin_due_commit, bundle_features, bundle_message, go_on_with_commit};
pub use schedule::{CommitClock, CommitErrors, ERROR_COUNTS, FIRST_ERROR_BOUND_NS};
use schedule::{ScheduledCommit, Tolerances};

/// What FEATURES_REPLY says of bundles.
pub(crate) const CAPABILITIES: Capabilities = Capabilities::BUNDLES;

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
/// The number of messages of a discarded bundle that are freed in one turn, which takes some 10 us.
const FREED_PER_TURN: usize = 64;

/// An open bundle and the messages that were added to it.
pub(crate) struct Bundle {
    /// The flags of its first message without TIME; all later messages must have the same.
    flags: BundleFlags,
    /// True after a request to close it: it takes no more messages, and can only be committed or
    /// discarded.
    is_closed: bool,
    /// The messages, each with its transaction id, in the order in which they were added.
    messages: ChunkedQueue<(u32, Box<Message>)>,
    /// The places of port-mods in `messages`.
    port_mods: Vec<usize>,
    /// True if any message changes groups or meters.
    changes_groups: bool,
    /// The memory that its messages take, by the estimate.
    held_bytes: usize,
    /// The commit that waits for its time, if one does.
    scheduled: Option<ScheduledCommit>,
    /// The time when the last message for this bundle came.
    used: Time,
    /// The transaction id of the message that opened it, which TIMEOUT quotes.
    xid: u32,
    /// The first bytes of that message, which TIMEOUT quotes as well.
    head: Vec<u8>,
}

impl Bundle {
    /// The time when it will be discarded as idle; never if its commit is scheduled.
    fn idle_end(&self) -> Option<Time> {
        let end = self.used.after(MAX_IDLE_NS);
        self.scheduled.is_none().then_some(end)
    }

    /// The time when its preparation begins if its commit is scheduled, in nanoseconds since 1970.
    fn begins_ns(&self) -> Option<u64> {
        let commit = self.scheduled.as_ref()?;
        Some(commit.begins_ns(self.messages.len()))
    }
}

/// The bundles of all connections, and the clock of their commits.
#[derive(Default)]
pub(crate) struct Bundles {
    /// The open ones, by connection and bundle id.
    open: BTreeMap<(ConnId, u32), Bundle>,
    /// Finished and discarded ones, whose memory is freed in slices.
    discarded: Vec<Bundle>,
    /// The clock of scheduled commits.
    pub(crate) clock: CommitClock,
    /// The limits of scheduling that a channel has set, by its main connection.
    tolerances: BTreeMap<ConnId, Tolerances>,
}

/// Estimates the memory of a message from the length in its header.
fn held_bytes(head: &[u8]) -> usize {
    // Bytes 2 and 3 of the header.
    let length = head.get(2..4).map_or(0, |length| {
        usize::from(length[0]) << 8 | usize::from(length[1])
    });
    MESSAGE_BYTES + length * BYTES_PER_WIRE_BYTE
}

impl Bundles {
    /// Handles a BUNDLE_CONTROL that opens, closes or discards a bundle, and returns its reply. One
    /// that commits does not come here.
    ///
    /// Errors: BUNDLE_FAILED with BAD_ID, BUNDLE_CLOSED, OUT_OF_BUNDLES, BAD_TYPE or BAD_FLAGS;
    /// BAD_PROPERTY/BAD_EXPERIMENTER.
    fn control(
        &mut self,
        now: Time,
        from: Origin<'_>,
        control: &BundleControl,
    ) -> Result<BundleControl, ErrorCode> {
        let conn = from.conn;
        let id = control.bundle_id;
        let reply = match control.ty {
            BundleControlType::OPEN_REQUEST => {
                // The bundle that has the number is discarded, too. Spec: OpenFlow 1.4.1 section
                // 7.3.9.
                if self.discard(conn, id).is_ok() {
                    return Err(BundleFailed::BAD_ID);
                }
                self.start(now, from, id, control.flags)?;
                BundleControlType::OPEN_REPLY
            }
            BundleControlType::CLOSE_REQUEST => {
                let bundle = self.find(conn, id, control.flags)?;
                if core::mem::replace(&mut bundle.is_closed, true) {
                    self.discard(conn, id)?;
                    return Err(BundleFailed::BUNDLE_CLOSED);
                }
                bundle.used = now;
                BundleControlType::CLOSE_REPLY
            }
            BundleControlType::DISCARD_REQUEST => {
                self.discard(conn, id)?;
                BundleControlType::DISCARD_REPLY
            }
            _ => return Err(BundleFailed::BAD_TYPE),
        };
        Ok(control.reply(reply))
    }

    /// Checks whether a message may be added to its bundle, and opens the bundle if it does not
    /// exist. [`Bundles::add`] then adds the message.
    ///
    /// Errors: BUNDLE_FAILED with BUNDLE_CLOSED, OUT_OF_BUNDLES, BAD_FLAGS, MSG_BAD_XID, MSG_UNSUP
    /// or MSG_TOO_MANY; BAD_PROPERTY/BAD_EXPERIMENTER.
    fn check_add(&mut self, now: Time, from: Origin<'_>, add: &BundleAdd) -> HandlerResult {
        let Origin { conn, xid, head } = from;
        refuse_experimenters(&add.experimenters)?;
        if add.xid != xid {
            return Err(BundleFailed::MSG_BAD_XID);
        }
        let id = add.bundle_id;
        let has_memory = held_bytes(head) <= self.free_bytes(conn);
        if !self.open.contains_key(&(conn, id)) {
            // A message that is refused opens no bundle.
            check_added(&add.message, has_memory)?;
            self.start(now, from, id, add.flags)?;
        }
        let bundle = self.find(conn, id, add.flags)?;
        if bundle.is_closed || bundle.scheduled.is_some() {
            self.discard(conn, id)?;
            return Err(BundleFailed::BUNDLE_CLOSED);
        }
        let is_port_mod = matches!(*add.message, Message::PortMod(_));
        let is_full = bundle.messages.len() >= MAX_MESSAGES
            || is_port_mod && bundle.port_mods.len() >= MAX_PORT_MODS;
        check_added(&add.message, has_memory && !is_full)?;
        bundle.used = now;
        Ok(Outcome::Kept)
    }

    /// Adds a message that [`Bundles::check_add`] accepted.
    pub(crate) fn add(&mut self, from: Origin<'_>, message: Message) {
        let Message::BundleAdd(add) = message else {
            return;
        };
        if let Some(bundle) = self.open.get_mut(&(from.conn, add.bundle_id)) {
            if matches!(*add.message, Message::PortMod(_)) {
                bundle.port_mods.push(bundle.messages.len());
            }
            bundle.changes_groups |=
                matches!(*add.message, Message::GroupMod(_) | Message::MeterMod(_));
            bundle.held_bytes += held_bytes(from.head);
            bundle.messages.push((add.xid, add.message));
        }
    }

    /// Opens a bundle. Whether one of its number is open is the caller's to check.
    ///
    /// Errors: BUNDLE_FAILED with OUT_OF_BUNDLES or BAD_FLAGS.
    fn start(
        &mut self,
        now: Time,
        from: Origin<'_>,
        id: u32,
        flags: BundleFlags,
    ) -> Result<(), ErrorCode> {
        if flags.0 & !BundleFlags::ALL.0 != 0 {
            return Err(BundleFailed::BAD_FLAGS);
        }
        if self.of(from.conn).count() >= MAX_BUNDLES {
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
        self.open.insert((from.conn, id), bundle);
        Ok(())
    }

    /// Finds a bundle of a connection.
    ///
    /// Errors: BUNDLE_FAILED with BAD_ID; or BAD_FLAGS if it was opened with other flags, which
    /// discards it.
    fn find(
        &mut self,
        conn: ConnId,
        id: u32,
        flags: BundleFlags,
    ) -> Result<&mut Bundle, ErrorCode> {
        let flags = flags.without(BundleFlags::TIME);
        let bundle = self.open.get(&(conn, id));
        let has_others = bundle.is_some_and(|bundle| bundle.flags != flags);
        if has_others {
            self.discard(conn, id)?;
            return Err(BundleFailed::BAD_FLAGS);
        }
        self.open.get_mut(&(conn, id)).ok_or(BundleFailed::BAD_ID)
    }

    /// Takes a bundle out, closed or not, to be committed or discarded.
    /// Errors: BUNDLE_FAILED/BAD_ID.
    fn take(&mut self, conn: ConnId, id: u32) -> Result<Bundle, ErrorCode> {
        self.open.remove(&(conn, id)).ok_or(BundleFailed::BAD_ID)
    }

    /// Discards an open bundle; the memory is freed later, slice by slice.
    /// Errors: BUNDLE_FAILED/BAD_ID.
    fn discard(&mut self, conn: ConnId, id: u32) -> Result<(), ErrorCode> {
        let bundle = self.take(conn, id)?;
        self.discarded.push(bundle);
        Ok(())
    }

    /// Returns how many bytes a connection may still add to its bundles. It may hold at most as
    /// much as is free, so this is the free memory less what it already holds.
    fn free_bytes(&self, conn: ConnId) -> usize {
        let all: usize = self.open.values().map(|bundle| bundle.held_bytes).sum();
        let own: usize = self.of(conn).map(|bundle| bundle.held_bytes).sum();
        let left = MAX_HELD_BYTES.saturating_sub(all);
        left.saturating_sub(own)
    }

    /// Frees a few messages of a discarded bundle.
    pub(crate) fn free_some(&mut self) {
        if let Some(bundle) = self.discarded.last_mut() {
            for _ in 0..FREED_PER_TURN {
                bundle.messages.pop();
            }
            if bundle.messages.is_empty() {
                self.discarded.pop();
            }
        }
    }

    /// The time when the next bundle will be discarded as idle, or the preparation of the next
    /// scheduled commit has to begin. While a prepared bundle waits for a time, `waits_until`, no
    /// other is prepared, and that time counts.
    pub(crate) fn next_tick(&self, waits_until: Option<Time>) -> Option<Time> {
        let scheduled_ns = self.next_scheduled_ns();
        let scheduled = scheduled_ns.and_then(|at| self.clock.time_of(at));
        let idle = self.open.values().filter_map(Bundle::idle_end);
        idle.chain(waits_until.or(scheduled)).min()
    }

    /// Discards idle bundles. Their connections get BUNDLE_FAILED/TIMEOUT.
    pub(crate) fn end_idle<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        let is_over = |bundle: &Bundle| bundle.idle_end().is_some_and(|end| end <= now);
        let over = self.open.iter().filter(|(_, bundle)| is_over(bundle));
        let over: Vec<_> = over.map(|(key, _)| *key).collect();
        for (conn, bundle) in self.take_open(over) {
            let error = ErrorMsg::quoting(BundleFailed::TIMEOUT, &bundle.head);
            io.send(conn, bundle.xid, Message::Error(error));
            self.discarded.push(bundle);
        }
    }

    /// The open bundles of a connection.
    fn of(&self, conn: ConnId) -> impl Iterator<Item = &Bundle> {
        let range = self.open.range((conn, 0)..=(conn, u32::MAX));
        range.map(|(_, bundle)| bundle)
    }

    /// Checks whether a bundle may be committed. Errors: BUNDLE_FAILED with BAD_ID, BAD_FLAGS, or
    /// BUNDLE_IN_PROGRESS if its commit is scheduled.
    fn check_commit(&mut self, conn: ConnId, control: &BundleControl) -> Result<(), ErrorCode> {
        let bundle = self.find(conn, control.bundle_id, control.flags)?;
        match bundle.scheduled {
            Some(_) => Err(BundleFailed::BUNDLE_IN_PROGRESS),
            None => Ok(()),
        }
    }

    /// Opens a bundle again that waits for the time of its commit. Until then it may be discarded,
    /// but takes no message and no other commit.
    fn put_back(&mut self, conn: ConnId, bundle: Bundle, scheduled: ScheduledCommit) {
        let id = scheduled.control.bundle_id;
        let scheduled = Some(scheduled);
        self.open.insert(
            (conn, id),
            Bundle {
                scheduled,
                ..bundle
            },
        );
    }

    /// Discards a bundle that is not open any more.
    fn dispose(&mut self, bundle: Bundle) {
        self.discarded.push(bundle);
    }

    /// Discards the bundles of a connection that was closed, and forgets its limits.
    pub(crate) fn end(&mut self, conn: ConnId) {
        self.tolerances.remove(&conn);
        let range = (conn, 0)..=(conn, u32::MAX);
        let keys = self.open.range(range).map(|(key, _)| *key).collect();
        let ended = self.take_open(keys);
        self.discarded
            .extend(ended.into_iter().map(|(_, bundle)| bundle));
    }

    /// Takes open bundles, with their connections.
    fn take_open(&mut self, keys: Vec<(ConnId, u32)>) -> Vec<(ConnId, Bundle)> {
        let keys = keys.into_iter();
        keys.filter_map(|key| Some((key.0, self.open.remove(&key)?)))
            .collect()
    }

    /// Returns true if memory of discarded bundles is still to be freed.
    pub(crate) fn has_discarded(&self) -> bool {
        !self.discarded.is_empty()
    }

    /// The time when the preparation of the next scheduled commit has to begin, in nanoseconds
    /// since 1970.
    pub(crate) fn next_scheduled_ns(&self) -> Option<u64> {
        self.open.values().filter_map(Bundle::begins_ns).min()
    }

    /// Takes the earliest scheduled bundle whose preparation is due.
    fn take_due(&mut self, clock_ns: u64) -> Option<(ConnId, ScheduledCommit, Bundle)> {
        let due = self.open.iter().filter(|(_, bundle)| {
            let begins_ns = bundle.begins_ns();
            begins_ns.is_some_and(|begins_ns| begins_ns <= clock_ns)
        });
        let at_ns = |bundle: &Bundle| bundle.scheduled.as_ref().map(|commit| commit.at_ns);
        let (place, _) = due.min_by_key(|(_, bundle)| at_ns(bundle))?;
        let (conn, id) = *place;
        let mut bundle = self.take(conn, id).ok()?;
        let commit = bundle.scheduled.take()?;
        Some((conn, commit, bundle))
    }
}

/// Errors: BUNDLE_FAILED with MSG_UNSUP, or MSG_TOO_MANY if there is no room.
fn check_added(message: &Message, has_room: bool) -> Result<(), ErrorCode> {
    if !may_be_in_bundle(message) {
        return Err(BundleFailed::MSG_UNSUP);
    }
    has_room.then_some(()).ok_or(BundleFailed::MSG_TOO_MANY)
}

/// Returns true if a message may be part of a bundle: it changes flows, groups, meters or ports, or
/// sends a packet.
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
