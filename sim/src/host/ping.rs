//! Sends echo requests at intervals, and measures the times to their replies.

use std::net::IpAddr;

use bofuss_datapath::Time;

use super::tally::{Arrival, SequenceWindow};

/// Bytes of a body that are read: identifier and sequence number, and the time of sending, which
/// begins the data.
const BODY_BYTES: usize = 4 + 8;

/// The echo requests that a host sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingProgram {
    /// The destination.
    pub to: IpAddr,
    /// The time at which the first is sent.
    pub start: Time,
    /// Nothing is sent at this time or later.
    pub stop: Time,
    /// The time from one to the next; at least 1.
    pub interval_ns: u64,
    /// The most that are sent.
    pub count: u64,
    /// Bytes after the ICMP header; at least 8, which hold the time of sending.
    pub data_bytes: u16,
}

/// The result of a [`PingProgram`] so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PingCounts {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered.
    pub received: u64,
    /// Further replies to the same request.
    pub duplicates: u64,
    /// Times from request to reply, in the order of the replies.
    pub rtts_ns: Vec<u64>,
}

/// Sends what a program says.
#[derive(Clone, Debug)]
pub(super) struct Pinger {
    program: PingProgram,
    identifier: u16,
    next_at: Time,
    replies: SequenceWindow,
    pub(super) counts: PingCounts,
}

impl Pinger {
    /// `identifier` distinguishes the pingers of one host.
    pub(super) fn new(program: PingProgram, identifier: u16) -> Self {
        let mut pinger = Self {
            program,
            identifier,
            next_at: program.start,
            replies: SequenceWindow::default(),
            counts: PingCounts::default(),
        };
        pinger.end_if_due();
        pinger
    }

    pub(super) fn to(&self) -> IpAddr {
        self.program.to
    }

    pub(super) fn next_tick(&self) -> Time {
        self.next_at
    }

    fn end_if_due(&mut self) {
        if self.counts.sent >= self.program.count || self.next_at >= self.program.stop {
            self.next_at = Time::NEVER;
        }
    }

    /// Makes the next request, without its ICMP header.
    pub(super) fn request(&mut self, now: Time) -> Vec<u8> {
        let sequence = self.counts.sent as u16;
        let mut body = Vec::new();
        body.extend(self.identifier.to_be_bytes());
        body.extend(sequence.to_be_bytes());
        body.extend(now.0.to_be_bytes());
        body.resize(4 + usize::from(self.program.data_bytes), 0);
        self.counts.sent += 1;
        self.next_at = self.next_at.after(self.program.interval_ns);
        self.end_if_due();
        body
    }

    /// Counts a reply. Returns false if it is to none of our requests.
    pub(super) fn reply(&mut self, now: Time, body: &[u8]) -> bool {
        let Some((number, sent_at)) = self.request_of(body) else {
            return false;
        };
        if sent_at > now || sent_at < self.program.start {
            return false;
        }
        let is_repeated = self.replies.arrive(number as u32) == Arrival::Duplicate;
        if is_repeated || self.counts.received == self.counts.sent {
            self.counts.duplicates += 1;
            return true;
        }
        self.counts.received += 1;
        self.counts.rtts_ns.push(now.since(sent_at));
        true
    }

    /// The number of the request that a reply is to, and when that was sent.
    fn request_of(&self, body: &[u8]) -> Option<(u64, Time)> {
        let body = body.first_chunk::<BODY_BYTES>()?;
        let [_, _, high, low, time @ ..] = *body;
        let sent_at = Time(u64::from_be_bytes(time));
        // Only 16 bits of the number are known: it is the latest sent one that has these.
        let low = u16::from_be_bytes([high, low]);
        let newest = self.counts.sent.checked_sub(1)?;
        let age = u64::from((newest as u16).wrapping_sub(low));
        let number = newest.checked_sub(age)?;
        Some((number, sent_at))
    }
}
