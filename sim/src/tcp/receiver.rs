//! The receiving end of a TCP connection, which also accepts it.

use bofuss_datapath::Time;

use super::segment::{ACK, CE, CWR, ECE, FIN, RST, SYN, Segment};
use super::{Ports, WINDOW_BYTES, WINDOW_SCALE, timestamp, unwrap};

/// The number of segments in order that make an acknowledgement due. Spec: RFC 5681 section 4.2.
const SEGMENTS_PER_ACK: u32 = 2;
/// The time that an acknowledgement may wait (Linux: `TCP_DELACK_MIN`; RFC 5681 allows 500 ms).
const ACK_DELAY_NS: u64 = 40_000_000;
/// The number of first segments that are acknowledged at once, to let the sender's window grow
/// (Linux: `TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u32 = 16;
/// The most ranges received out of order that are remembered. A segment that would begin a further
/// one is dropped.
const MAX_RANGES: usize = 1_024;
/// The time to the first retransmission of SYN and FIN; it doubles each time.
const RETRY_NS: u64 = Time::SEC;
/// The number of times that SYN and FIN are sent again before the connection is forgotten (Linux:
/// `tcp_synack_retries`).
const RETRIES: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReceiverState {
    SynReceived,
    Established,
    /// All data has arrived, and our FIN was sent.
    LastAck,
    Closed,
}

/// A receiver. Sequence numbers count from the peer's SYN, which is number 0, and do not wrap.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    ports: Ports,
    state: ReceiverState,
    initial_seq: u32,
    peer_initial_seq: u32,
    mss: u16,
    /// The sequence number that is expected next.
    next: u64,
    /// The ranges that arrived after it: the first number, and the one after the last. The range
    /// that grew last is first.
    ranges: Vec<(u64, u64)>,
    fin: Option<u64>,
    /// Segments that are not acknowledged yet, and how many were acknowledged at once at the
    /// beginning.
    unacknowledged: u32,
    quick_acks: u32,
    ack_at: Time,
    retry_at: Time,
    retries: u32,
    peer_timestamp: u32,
    payload_bytes: u64,
    /// True if the sender supports explicit congestion notification.
    uses_ecn: bool,
    /// True if each packet's mark is echoed, for a sender of DCTCP.
    echoes_each: bool,
    /// True if a mark still has to be echoed to the sender.
    echoes: bool,
}

impl TcpReceiver {
    /// Answers a SYN. `mss` is the longest segment that this end accepts, `initial_seq` its initial
    /// sequence number.
    pub fn accept(
        now: Time,
        ports: Ports,
        mss: u16,
        initial_seq: u32,
        syn: &Segment,
        out: &mut Vec<Segment>,
    ) -> Self {
        let mut receiver = Self {
            ports,
            state: ReceiverState::SynReceived,
            initial_seq,
            peer_initial_seq: syn.seq,
            mss,
            next: 1,
            ranges: Vec::new(),
            fin: None,
            unacknowledged: 0,
            quick_acks: 0,
            ack_at: Time::NEVER,
            retry_at: Time::NEVER,
            retries: 0,
            peer_timestamp: 0,
            payload_bytes: 0,
            uses_ecn: syn.flags & (ECE | CWR) == ECE | CWR,
            echoes_each: syn.ecn != 0,
            echoes: false,
        };
        receiver.note_timestamp(syn);
        receiver.send_syn(now, out);
        receiver
    }

    /// Returns true if the connection is over.
    pub fn is_over(&self) -> bool {
        self.state == ReceiverState::Closed
    }

    /// Bytes of data that arrived in order.
    pub fn received_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Returns when [`TcpReceiver::tick`] has something to do.
    pub fn next_tick(&self) -> Time {
        self.ack_at.min(self.retry_at)
    }

    /// Handles timers that have expired.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.ack_at <= now {
            self.acknowledge(now, out);
        }
        if self.retry_at > now {
            return;
        }
        if self.retries == RETRIES {
            self.close();
            return;
        }
        self.retries += 1;
        match self.state {
            ReceiverState::SynReceived => self.send_syn(now, out),
            ReceiverState::LastAck => self.send_fin(now, out),
            ReceiverState::Established | ReceiverState::Closed => self.retry_at = Time::NEVER,
        }
    }

    /// Handles a segment of the peer.
    pub fn receive(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        let seq = unwrap(self.next, self.peer_initial_seq, segment.seq);
        if segment.flags & RST != 0 {
            // One that guesses its sequence number has no effect. Spec: RFC 5961 section 3.
            if seq == self.next {
                self.close();
            }
            return;
        }
        if segment.flags & SYN != 0 {
            if self.state == ReceiverState::SynReceived && seq == 0 {
                self.send_syn(now, out);
            }
            return;
        }
        if segment.flags & ACK == 0 || seq.saturating_add(segment.len as u64) > self.limit() {
            return;
        }
        let ours = segment.ack.wrapping_sub(self.initial_seq);
        match self.state {
            ReceiverState::SynReceived if ours == 1 => {
                self.state = ReceiverState::Established;
                self.retry_at = Time::NEVER;
                self.retries = 0;
            }
            ReceiverState::LastAck if ours == 2 => {
                self.close();
                return;
            }
            ReceiverState::SynReceived => return,
            ReceiverState::Established | ReceiverState::LastAck | ReceiverState::Closed => {}
        }
        self.note_timestamp(segment);
        self.note_mark(now, segment, out);
        self.take(now, seq, segment, out);
    }

    /// The end of the sequence numbers that are accepted: one window.
    fn limit(&self) -> u64 {
        self.next + WINDOW_BYTES
    }

    fn take(&mut self, now: Time, seq: u64, segment: &Segment, out: &mut Vec<Segment>) {
        let data_end = seq + segment.len as u64;
        let has_fin = segment.flags & FIN != 0;
        let end = data_end + u64::from(has_fin);
        if end == seq {
            return;
        }
        if has_fin {
            self.fin.get_or_insert(data_end);
        }
        let expected = self.next;
        let had_gaps = !self.ranges.is_empty();
        if seq <= expected {
            self.advance(end);
        } else {
            self.add_range(seq, end);
        }
        if self.fin.is_some_and(|fin| self.next > fin) {
            self.send_fin(now, out);
            return;
        }
        let is_in_order = seq == expected && !had_gaps;
        if is_in_order && self.may_delay(segment.len) {
            self.ack_at = self.ack_at.min(now.after(ACK_DELAY_NS));
        } else {
            self.acknowledge(now, out);
        }
    }

    fn advance(&mut self, end: u64) {
        let before = self.next;
        self.next = self.next.max(end);
        while let Some(at) = self.ranges.iter().position(|r| r.0 <= self.next) {
            let range = self.ranges.remove(at);
            self.next = self.next.max(range.1);
        }
        let with_fin = self.fin.is_some_and(|fin| self.next > fin && before <= fin);
        self.payload_bytes += self.next - before - u64::from(with_fin);
    }

    /// Adds a range in front, joined with those that it touches.
    fn add_range(&mut self, start: u64, end: u64) {
        let mut joined = (start, end);
        self.ranges.retain(|&(first, after)| {
            let touches = first <= end && start <= after;
            if touches {
                joined = (joined.0.min(first), joined.1.max(after));
            }
            !touches
        });
        if self.ranges.len() < MAX_RANGES {
            self.ranges.insert(0, joined);
        }
    }

    /// Counts a segment in order. Returns true if its acknowledgement may be delayed.
    fn may_delay(&mut self, len: usize) -> bool {
        if self.quick_acks < QUICK_ACKS {
            self.quick_acks += 1;
            return false;
        }
        self.unacknowledged += 1;
        self.unacknowledged < SEGMENTS_PER_ACK && len > 0
    }

    fn acknowledge(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.unacknowledged = 0;
        self.ack_at = Time::NEVER;
        let mut segment = self.segment(now);
        for (slot, &(start, end)) in segment.sack.iter_mut().zip(&self.ranges) {
            *slot = Some((self.on_wire(start), self.on_wire(end)));
        }
        out.push(segment);
    }

    fn send_syn(&mut self, now: Time, out: &mut Vec<Segment>) {
        let empty = self.segment(now);
        out.push(Segment {
            seq: self.initial_seq,
            flags: SYN | ACK | if self.uses_ecn { ECE } else { 0 },
            mss: Some(self.mss),
            window_scale: Some(WINDOW_SCALE),
            sack_permitted: true,
            ..empty
        });
        self.retry_at = now.after(RETRY_NS << self.retries);
    }

    fn send_fin(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.state = ReceiverState::LastAck;
        self.ack_at = Time::NEVER;
        let empty = self.segment(now);
        out.push(Segment {
            flags: ACK | FIN,
            ..empty
        });
        self.retry_at = now.after(RETRY_NS << self.retries);
    }

    fn segment(&self, now: Time) -> Segment {
        Segment {
            src_port: self.ports.local,
            dst_port: self.ports.peer,
            seq: self.initial_seq.wrapping_add(1),
            ack: self.on_wire(self.next),
            flags: ACK | if self.echoes { ECE } else { 0 },
            window: u16::MAX,
            timestamps: Some((timestamp(now), self.peer_timestamp)),
            ..Segment::default()
        }
    }

    fn on_wire(&self, number: u64) -> u32 {
        self.peer_initial_seq.wrapping_add(number as u32)
    }

    /// Echoes a mark until the sender says, with CWR, that it has reduced its window. Spec: RFC
    /// 3168 section 6.1.3. With DCTCP, acknowledgements say whether the packets that they cover
    /// were marked, so that a change ends one. Spec: RFC 8257 section 3.2.
    fn note_mark(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        if self.uses_ecn && self.echoes_each {
            let is_marked = segment.ecn == CE;
            if is_marked != self.echoes && self.unacknowledged > 0 {
                self.acknowledge(now, out);
            }
            self.echoes = is_marked;
            return;
        }
        if segment.flags & CWR != 0 {
            self.echoes = false;
        }
        if self.uses_ecn && segment.ecn == CE {
            self.echoes = true;
        }
    }

    fn note_timestamp(&mut self, segment: &Segment) {
        if let Some((value, _)) = segment.timestamps {
            self.peer_timestamp = value;
        }
    }

    fn close(&mut self) {
        self.state = ReceiverState::Closed;
        self.ack_at = Time::NEVER;
        self.retry_at = Time::NEVER;
        self.ranges = Vec::new();
    }
}
