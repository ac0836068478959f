//! Echo requests at intervals, and the times to their replies.

use std::net::IpAddr;

use bofuss_datapath::Time;

use super::tally::{Arrival, SequenceWindow};

/// Bytes in front of the data: identifier and sequence number; then the time of sending.
const BODY_BYTES: usize = 4 + 8;

/// What is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingProgram {
    /// To whom.
    pub to: IpAddr,
    /// When the first is sent.
    pub start: Time,
    /// Nothing is sent from then on.
    pub stop: Time,
    /// From one to the next; at least 1.
    pub interval_ns: u64,
    /// How many.
    pub count: u64,
    /// Bytes after the ICMP header; at least 8, which hold the time of sending.
    pub data_bytes: u16,
}

/// What came of it.
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

/// Sends by a program.
#[derive(Clone, Debug)]
pub(super) struct Pinger {
    program: PingProgram,
    identifier: u16,
    next_at: Time,
    replies: SequenceWindow,
    pub(super) counts: PingCounts,
}

impl Pinger {
    /// `identifier` tells the requests of one host apart.
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

    /// The next request, without its ICMP header.
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

    /// Counts a reply, if it is to one of our requests. Returns false if it is not.
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

    /// The number of the request that a reply is to, and when it was sent.
    fn request_of(&self, body: &[u8]) -> Option<(u64, Time)> {
        let body = body.first_chunk::<BODY_BYTES>()?;
        let [_, _, high, low, time @ ..] = *body;
        let sent_at = Time(u64::from_be_bytes(time));
        // The number is known to 16 bits: it is the latest such one that was sent.
        let low = u16::from_be_bytes([high, low]);
        let newest = self.counts.sent.checked_sub(1)?;
        let age = u64::from((newest as u16).wrapping_sub(low));
        let number = newest.checked_sub(age)?;
        Some((number, sent_at))
    }
}
