//! The sending end of a TCP connection, which also opens it.

use bofuss_datapath::Time;

use super::congestion::{CongestionControl, Window};
use super::dctcp::MarkedShare;
use super::rtt::RoundTrip;
use super::scoreboard::Scoreboard;
use super::segment::{
    ACK, CWR, ECE, ECT_0, FIN, MAX_SACK_RANGES, PSH, RST, SYN, Segment, TIMESTAMPS_BYTES,
};
use super::{Ports, WINDOW_SCALE, unwrap};

/// The number of times that a SYN is sent again before the connection is given up (Linux:
/// `tcp_syn_retries`).
const SYN_RETRIES: u32 = 6;
/// The number of times that the timer expires without progress before the connection is given up
/// (Linux: `tcp_retries2`).
const DATA_RETRIES: u32 = 15;
/// Added to the probe timeout if one segment is in flight, as its acknowledgement may be delayed.
/// Spec: RFC 8985 section 7.2, `TLP.max_ack_delay`.
const MAX_ACK_DELAY_NS: u64 = 200_000_000;

/// The configuration of a sender.
#[derive(Clone, Copy, Debug)]
pub struct TcpSenderConfig {
    /// The ports, seen from this end.
    pub ports: Ports,
    /// Bytes to send; `u64::MAX` for no end.
    pub size_bytes: u64,
    /// Congestion control.
    pub algorithm: CongestionControl,
    /// The MSS: the longest segment, in bytes after a TCP header without options.
    pub mss: u16,
    /// The most bytes in flight, whatever the peer's window and that of congestion control.
    pub window_bytes: u64,
    /// The minimum retransmission timeout.
    pub min_timeout_ns: u64,
    /// The initial sequence number.
    pub initial_seq: u32,
    /// True if it offers explicit congestion notification.
    pub ecn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SenderState {
    /// Nothing was sent yet.
    Idle,
    SynSent,
    Established,
    Closed,
    /// The other end refused the connection, or did not answer.
    Failed,
}

/// A sender. Sequence numbers count from the SYN, which is number 0, and do not wrap.
#[derive(Clone, Debug)]
pub struct TcpSender {
    config: TcpSenderConfig,
    state: SenderState,
    board: Scoreboard,
    window: Window,
    rtt: RoundTrip,
    /// The payload of a full segment: the MSS less the timestamps.
    segment_bytes: u64,
    /// The first byte that is not acknowledged, and the first that was never sent.
    unacknowledged: u64,
    next: u64,
    /// The peer's window, and the bits by which the peer shifts it.
    peer_window: u64,
    peer_scale: u8,
    peer_next: u32,
    peer_timestamp: u32,
    /// During recovery, the number at which it ends. The window was reduced already for losses
    /// below this number.
    recovery_end: Option<u64>,
    /// True if both ends support explicit congestion notification.
    uses_ecn: bool,
    /// The window was reduced already for marks below this number.
    marks_end: u64,
    /// The share of marked bytes, with DCTCP.
    share: Option<MarkedShare>,
    /// True if the next new data has to say, with CWR, that the window was reduced.
    owes_cwr: bool,
    /// True if recovery began with a timeout; then the window grows during it.
    after_timeout: bool,
    /// True if the congestion window kept the last transmission from sending more.
    limited: bool,
    probed: bool,
    retries: u32,
    syn_sent_at: Time,
    timeout_at: Time,
    probe_at: Time,
    loss_at: Time,
    completed_at: Option<Time>,
    retransmissions: u64,
}

impl TcpSender {
    /// Makes a sender; [`TcpSender::open`] opens its connection.
    pub fn new(config: TcpSenderConfig) -> Self {
        let segment_bytes = u64::from(config.mss) - TIMESTAMPS_BYTES as u64;
        let is_dctcp = config.algorithm == CongestionControl::Dctcp;
        Self {
            config,
            state: SenderState::Idle,
            board: Scoreboard::default(),
            window: Window::new(config.algorithm, segment_bytes),
            rtt: RoundTrip::new(config.min_timeout_ns),
            segment_bytes,
            unacknowledged: 0,
            next: 0,
            peer_window: 0,
            peer_scale: 0,
            peer_next: 0,
            peer_timestamp: 0,
            recovery_end: None,
            uses_ecn: false,
            marks_end: 0,
            share: is_dctcp.then(MarkedShare::default),
            owes_cwr: false,
            after_timeout: false,
            limited: false,
            probed: false,
            retries: 0,
            syn_sent_at: Time::NEVER,
            timeout_at: Time::NEVER,
            probe_at: Time::NEVER,
            loss_at: Time::NEVER,
            completed_at: None,
            retransmissions: 0,
        }
    }

    /// Sends the SYN.
    pub fn open(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.state = SenderState::SynSent;
        self.send_syn(now, out);
    }

    /// Sends no more new data; the connection closes when all that was sent is acknowledged.
    pub fn stop(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.config.size_bytes = self.config.size_bytes.min(self.next.saturating_sub(1));
        if self.state == SenderState::Established {
            self.transmit(now, out);
        }
    }

    /// Returns true if the connection is over.
    pub fn is_over(&self) -> bool {
        matches!(self.state, SenderState::Closed | SenderState::Failed)
    }

    /// Returns true if the connection was refused or given up.
    pub fn has_failed(&self) -> bool {
        self.state == SenderState::Failed
    }

    /// Returns when the last byte of data was acknowledged; `None` if that is not so yet.
    pub fn completed_at(&self) -> Option<Time> {
        self.completed_at
    }

    /// Bytes of data that were acknowledged.
    pub fn acknowledged_bytes(&self) -> u64 {
        let data = self.unacknowledged.saturating_sub(1);
        data.min(self.config.size_bytes)
    }

    /// The number of segments that were retransmitted.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Returns when [`TcpSender::tick`] has something to do.
    pub fn next_tick(&self) -> Time {
        self.timeout_at.min(self.probe_at).min(self.loss_at)
    }

    /// Handles timers that have expired.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.loss_at <= now {
            self.react_to_losses(now, out);
            self.transmit(now, out);
        } else if self.timeout_at <= now {
            self.time_out(now, out);
        } else if self.probe_at <= now {
            self.probe(now, out);
        }
    }

    /// Handles a segment of the peer.
    pub fn receive(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        let acknowledged = segment.flags & ACK != 0;
        let ack = unwrap(self.unacknowledged, self.config.initial_seq, segment.ack);
        let is_known = acknowledged && (self.unacknowledged..=self.next).contains(&ack);
        if segment.flags & RST != 0 {
            // One that guesses its sequence number has no effect. Spec: RFC 5961 section 3.
            let in_order = self.state == SenderState::Established && segment.seq == self.peer_next;
            if in_order || (self.state == SenderState::SynSent && is_known) {
                self.end(SenderState::Failed);
            }
            return;
        }
        match self.state {
            SenderState::SynSent if is_known && ack == 1 && segment.flags & SYN != 0 => {
                self.establish(now, segment, out);
            }
            SenderState::Established if is_known => self.acknowledge(now, ack, segment, out),
            SenderState::Idle
            | SenderState::SynSent
            | SenderState::Established
            | SenderState::Closed
            | SenderState::Failed => {}
        }
    }

    fn send_syn(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.next = 1;
        self.syn_sent_at = now;
        let offer = if self.config.ecn { ECE | CWR } else { 0 };
        out.push(Segment {
            flags: SYN | offer,
            // By this the receiver knows DCTCP. Spec: RFC 8257 section 3.5.
            ecn: if self.share.is_some() { ECT_0 } else { 0 },
            ack: 0,
            mss: Some(self.config.mss),
            window_scale: Some(WINDOW_SCALE),
            sack_permitted: true,
            ..self.segment(now, 0, 0)
        });
        self.timeout_at = now.after(self.rtt.timeout_ns());
    }

    fn establish(&mut self, now: Time, segment: &Segment, out: &mut Vec<Segment>) {
        self.state = SenderState::Established;
        self.unacknowledged = 1;
        self.peer_next = segment.seq.wrapping_add(1);
        self.peer_scale = segment.window_scale.unwrap_or(0);
        self.peer_window = u64::from(segment.window);
        self.uses_ecn = self.config.ecn && segment.flags & (ECE | CWR) == ECE;
        self.note_timestamp(segment);
        let mss = self.config.mss.min(segment.mss.unwrap_or(self.config.mss));
        let payload = mss.saturating_sub(TIMESTAMPS_BYTES as u16).max(1);
        self.segment_bytes = u64::from(payload);
        self.window = Window::new(self.config.algorithm, self.segment_bytes);
        if self.retries == 0 {
            self.rtt.sample(now.since(self.syn_sent_at));
        }
        self.retries = 0;
        self.timeout_at = Time::NEVER;
        out.push(self.segment(now, 1, 0));
        self.transmit(now, out);
        self.note_completion(now);
    }

    fn acknowledge(&mut self, now: Time, ack: u64, segment: &Segment, out: &mut Vec<Segment>) {
        self.peer_window = u64::from(segment.window) << self.peer_scale;
        self.note_timestamp(segment);
        let mut ranges = [(0, 0); MAX_SACK_RANGES];
        for (range, &(start, end)) in ranges.iter_mut().zip(segment.sack.iter().flatten()) {
            let initial = self.config.initial_seq;
            *range = (unwrap(ack, initial, start), unwrap(ack, initial, end));
        }
        let delivered = self.board.acknowledge(now, ack, &ranges, &self.rtt);
        self.unacknowledged = ack;
        if let Some(rtt_ns) = delivered.rtt_ns {
            self.rtt.sample(rtt_ns);
        }
        if delivered.any {
            self.probed = false;
            self.retries = 0;
        }
        self.note_completion(now);
        self.react_to_losses(now, out);
        if self.recovery_end.is_some_and(|end| ack >= end) {
            self.recovery_end = None;
            self.after_timeout = false;
        }
        let is_marked = self.uses_ecn && segment.flags & ECE != 0;
        if let Some(share) = &mut self.share {
            share.acknowledged(ack, delivered.acknowledged, is_marked, self.next);
        }
        if is_marked {
            self.react_to_mark(ack);
        }
        let is_calm = self.recovery_end.is_none() || self.after_timeout;
        let may_grow = is_calm && !is_marked;
        if may_grow && self.limited && delivered.acknowledged > 0 {
            let round_trip_ns = self.rtt.smoothed_ns().unwrap_or(0);
            self.window
                .acknowledged(now, delivered.acknowledged, round_trip_ns);
        }
        if segment.flags & FIN != 0 && ack > self.fin() {
            self.peer_next = segment.seq.wrapping_add(segment.len as u32 + 1);
            out.push(self.segment(now, self.next, 0));
            self.end(SenderState::Closed);
            return;
        }
        self.transmit(now, out);
        if delivered.any {
            self.set_timers(now);
        }
    }

    /// The sequence number of the FIN; the largest number if there is none.
    fn fin(&self) -> u64 {
        self.config.size_bytes.saturating_add(1)
    }

    fn note_completion(&mut self, now: Time) {
        if self.completed_at.is_none() && self.unacknowledged >= self.fin() {
            self.completed_at = Some(now);
        }
    }

    fn note_timestamp(&mut self, segment: &Segment) {
        if let Some((value, _)) = segment.timestamps {
            self.peer_timestamp = value;
        }
    }

    fn react_to_losses(&mut self, now: Time, out: &mut Vec<Segment>) {
        let (found, next_check) = self.board.find_losses(now, &self.rtt);
        self.loss_at = next_check;
        if !found || self.recovery_end.is_some() {
            return;
        }
        self.window.lost();
        self.recovery_end = Some(self.next);
        // The first lost segment is sent at once, whatever is in flight. Spec: RFC 6675 section 5
        // (4.3).
        if let Some((start, end)) = self.board.first_lost() {
            self.send_again(now, start, end, out);
        }
    }

    /// Reacts to a mark that the receiver echoes: reduces the window as after a loss, once per
    /// window of data. Spec: RFC 3168 section 6.1.2.
    fn react_to_mark(&mut self, ack: u64) {
        if ack <= self.marks_end || self.recovery_end.is_some() {
            return;
        }
        match &self.share {
            Some(share) => self.window.marked(share.alpha()),
            None => self.window.lost(),
        }
        self.marks_end = self.next;
        self.owes_cwr = true;
    }

    fn time_out(&mut self, now: Time, out: &mut Vec<Segment>) {
        let most = if self.state == SenderState::SynSent {
            SYN_RETRIES
        } else {
            DATA_RETRIES
        };
        if self.retries == most {
            self.end(SenderState::Failed);
            return;
        }
        self.retries += 1;
        self.rtt.back_off();
        if self.state == SenderState::SynSent {
            self.send_syn(now, out);
            return;
        }
        let first = self.retries == 1 && self.recovery_end.is_none();
        self.window.timed_out(first);
        self.board.lose_all();
        self.recovery_end = Some(self.next);
        self.after_timeout = true;
        self.limited = true;
        self.loss_at = Time::NEVER;
        self.transmit(now, out);
        self.set_timers(now);
        self.probe_at = Time::NEVER;
    }

    /// Tail loss probe: retransmits the last segment, so that its acknowledgement shows what is
    /// missing before it. Spec: RFC 8985 section 7.3.
    fn probe(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.probe_at = Time::NEVER;
        self.probed = true;
        if let Some((start, end)) = self.board.last() {
            self.send_again(now, start, end, out);
            self.timeout_at = now.after(self.rtt.timeout_ns());
        }
    }

    fn set_timers(&mut self, now: Time) {
        self.timeout_at = Time::NEVER;
        self.probe_at = Time::NEVER;
        if self.board.is_empty() {
            return;
        }
        self.timeout_at = now.after(self.rtt.timeout_ns());
        let calm = self.recovery_end.is_none() && self.board.is_in_order();
        if calm && !self.probed {
            let delay_ns = 2 * self.rtt.smoothed_ns().unwrap_or(Time::SEC / 2);
            let alone_ns = u64::from(self.board.len() == 1) * MAX_ACK_DELAY_NS;
            let probe_at = now.after(delay_ns + alone_ns);
            if probe_at < self.timeout_at {
                self.probe_at = probe_at;
            }
        }
    }

    /// Sends what the windows allow: first what was lost, then new data.
    fn transmit(&mut self, now: Time, out: &mut Vec<Segment>) {
        let was_idle = self.board.is_empty();
        let before = out.len();
        self.limited = false;
        while let Some((start, end)) = self.next_to_send() {
            let in_flight = self.board.in_flight_bytes();
            if in_flight > 0 && in_flight + end - start > self.window.bytes() {
                self.limited = true;
                break;
            }
            if start < self.next {
                self.send_again(now, start, end, out);
                continue;
            }
            if end - self.unacknowledged > self.peer_window.min(self.config.window_bytes) {
                break;
            }
            self.board.sent(now, start, end);
            self.next = end;
            let mut segment = self.data(now, start, end);
            // Only new data may be marked. Spec: RFC 3168 section 6.1.5.
            if self.uses_ecn && segment.len > 0 {
                segment.ecn = ECT_0;
                if core::mem::take(&mut self.owes_cwr) {
                    segment.flags |= CWR;
                }
            }
            out.push(segment);
        }
        if was_idle && out.len() > before {
            self.set_timers(now);
        }
    }

    fn next_to_send(&self) -> Option<(u64, u64)> {
        let fin = self.fin();
        if let Some(lost) = self.board.first_lost() {
            return Some(lost);
        }
        match self.next {
            next if next < fin => Some((next, fin.min(next + self.segment_bytes))),
            next if next == fin => Some((next, next + 1)),
            _ => None,
        }
    }

    fn send_again(&mut self, now: Time, start: u64, end: u64, out: &mut Vec<Segment>) {
        self.retransmissions += 1;
        self.board.sent_again(now, start);
        out.push(self.data(now, start, end));
    }

    fn data(&self, now: Time, start: u64, end: u64) -> Segment {
        if start == self.fin() {
            let empty = self.segment(now, start, 0);
            return Segment {
                flags: ACK | FIN,
                ..empty
            };
        }
        let is_last = end == self.fin();
        let flags = if is_last { ACK | PSH } else { ACK };
        Segment {
            flags,
            ..self.segment(now, start, (end - start) as usize)
        }
    }

    fn segment(&self, now: Time, start: u64, len: usize) -> Segment {
        Segment {
            src_port: self.config.ports.local,
            dst_port: self.config.ports.peer,
            seq: self.config.initial_seq.wrapping_add(start as u32),
            ack: self.peer_next,
            flags: ACK,
            window: u16::MAX,
            timestamps: Some((super::timestamp(now), self.peer_timestamp)),
            len,
            ..Segment::default()
        }
    }

    fn end(&mut self, state: SenderState) {
        self.state = state;
        self.timeout_at = Time::NEVER;
        self.probe_at = Time::NEVER;
        self.loss_at = Time::NEVER;
        self.board = Scoreboard::default();
    }
}
