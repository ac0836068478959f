//! The outstanding segments of a TCP sender: which arrived, which are lost, which are in flight.

use std::collections::VecDeque;

use bofuss_datapath::Time;

use super::rtt::RoundTrip;

/// A segment is lost if one that was sent this many transmissions later has arrived (DupThresh of
/// RFC 6675, counted in the order of transmission as in RFC 9002 section 6.1.1).
const REORDERING_THRESHOLD: u64 = 3;

/// The place of a segment, as far as its sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SegmentPlace {
    InFlight,
    /// Arrived out of order.
    Sacked,
    /// To be sent again.
    Lost,
}

/// A segment that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// Sequence numbers `start` to `end - 1`, counted from the SYN.
    start: u64,
    end: u64,
    /// The number of its last transmission, among all of the connection.
    order: u64,
    sent_at: Time,
    retransmitted: bool,
    place: SegmentPlace,
}

/// The report of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Bytes by which the cumulative acknowledgement advanced.
    pub acknowledged: u64,
    /// True if any segment was reported as arrived for the first time.
    pub any: bool,
    /// A sample of the round-trip time: of the reported segments that were sent only once, from the
    /// one sent last.
    pub rtt_ns: Option<u64>,
}

/// The outstanding segments of a connection, in the order of their sequence numbers.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    outstanding: VecDeque<Outstanding>,
    in_flight_bytes: u64,
    lost: usize,
    sacked: usize,
    transmissions: u64,
    /// The latest transmission that is known to have arrived.
    arrived: Option<u64>,
}

impl Scoreboard {
    /// Bytes in flight: sent, not acknowledged, and neither reported as arrived nor lost.
    pub fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    /// Returns true if nothing waits for an acknowledgement.
    pub fn is_empty(&self) -> bool {
        self.outstanding.is_empty()
    }

    /// Returns true if no segment has arrived out of order, and none is lost.
    pub fn is_in_order(&self) -> bool {
        self.sacked == 0 && self.lost == 0
    }

    /// The number of segments that are outstanding.
    pub fn len(&self) -> usize {
        self.outstanding.len()
    }

    /// Notes that a new segment with bytes `start` to `end - 1` was sent.
    pub fn sent(&mut self, now: Time, start: u64, end: u64) {
        let order = self.next_order();
        self.in_flight_bytes += end - start;
        self.outstanding.push_back(Outstanding {
            start,
            end,
            order,
            sent_at: now,
            retransmitted: false,
            place: SegmentPlace::InFlight,
        });
    }

    fn next_order(&mut self) -> u64 {
        self.transmissions += 1;
        self.transmissions
    }

    /// The first lost segment, as its first byte and the one after its last.
    pub fn first_lost(&self) -> Option<(u64, u64)> {
        if self.lost == 0 {
            return None;
        }
        let lost = self
            .outstanding
            .iter()
            .find(|s| s.place == SegmentPlace::Lost)?;
        Some((lost.start, lost.end))
    }

    /// The last segment, likewise, unless it has arrived.
    pub fn last(&self) -> Option<(u64, u64)> {
        let last = self.outstanding.back()?;
        (last.place != SegmentPlace::Sacked).then_some((last.start, last.end))
    }

    /// Notes that the segment that begins at `start` was sent again.
    pub fn sent_again(&mut self, now: Time, start: u64) {
        let order = self.next_order();
        let at = self.outstanding.partition_point(|s| s.start < start);
        let Some(segment) = self.outstanding.get_mut(at) else {
            return;
        };
        if segment.place == SegmentPlace::Lost {
            self.lost -= 1;
            self.in_flight_bytes += segment.end - segment.start;
        }
        segment.order = order;
        segment.sent_at = now;
        segment.retransmitted = true;
        segment.place = SegmentPlace::InFlight;
    }

    /// Notes that everything before `ack` has arrived, and the ranges in `sacked`. Ranges that were
    /// not sent are ignored; the caller has checked `ack`.
    pub fn acknowledge(
        &mut self,
        now: Time,
        ack: u64,
        sacked: &[(u64, u64)],
        rtt: &RoundTrip,
    ) -> Delivered {
        let mut delivered = Delivered::default();
        let mut sampled = 0;
        while let Some(&first) = self.outstanding.front() {
            if first.end > ack {
                break;
            }
            self.outstanding.pop_front();
            delivered.acknowledged += first.end - first.start;
            self.arrived(now, first, rtt, &mut sampled, &mut delivered);
        }
        for &(start, end) in sacked {
            let mut at = self.outstanding.partition_point(|s| s.start < start);
            while let Some(&segment) = self.outstanding.get(at).filter(|s| s.end <= end) {
                if segment.place != SegmentPlace::Sacked {
                    self.arrived(now, segment, rtt, &mut sampled, &mut delivered);
                    self.outstanding[at].place = SegmentPlace::Sacked;
                    self.sacked += 1;
                }
                at += 1;
            }
        }
        delivered
    }

    /// Notes the arrival of a segment. `sampled` is the number of the transmission that the sample
    /// of the round-trip time is from.
    fn arrived(
        &mut self,
        now: Time,
        segment: Outstanding,
        rtt: &RoundTrip,
        sampled: &mut u64,
        delivered: &mut Delivered,
    ) {
        match segment.place {
            SegmentPlace::InFlight => self.in_flight_bytes -= segment.end - segment.start,
            SegmentPlace::Lost => self.lost -= 1,
            SegmentPlace::Sacked => {
                self.sacked -= 1;
                return;
            }
        }
        delivered.any = true;
        let since_sent_ns = now.since(segment.sent_at);
        if !segment.retransmitted && segment.order > *sampled {
            *sampled = segment.order;
            delivered.rtt_ns = Some(since_sent_ns);
        }
        // An acknowledgement sooner than any round trip is for an earlier transmission. Spec: RFC
        // 8985 section 6.2.
        if !segment.retransmitted || since_sent_ns >= rtt.min_ns() {
            self.arrived = self.arrived.max(Some(segment.order));
        }
    }

    /// Marks as lost what was sent before a segment that arrived: at least [`REORDERING_THRESHOLD`]
    /// transmissions before it, or at least 9/8 of a round trip ago (RFC 9002 section 6.1.2).
    /// Returns whether it marked any, and when the next one may be lost by its time.
    pub fn find_losses(&mut self, now: Time, rtt: &RoundTrip) -> (bool, Time) {
        let mut next_check = Time::NEVER;
        let mut found = false;
        let Some(arrived) = self.arrived else {
            return (found, next_check);
        };
        if self.sacked == 0 && self.outstanding.front().is_none_or(|s| s.order > arrived) {
            return (found, next_check);
        }
        let patience_ns = rtt.recent_ns() + rtt.recent_ns() / 8;
        for segment in &mut self.outstanding {
            if segment.place != SegmentPlace::InFlight || segment.order > arrived {
                continue;
            }
            let lost_at = segment.sent_at.after(patience_ns);
            if segment.order + REORDERING_THRESHOLD <= arrived || lost_at <= now {
                segment.place = SegmentPlace::Lost;
                self.lost += 1;
                self.in_flight_bytes -= segment.end - segment.start;
                found = true;
            } else {
                next_check = next_check.min(lost_at);
            }
        }
        (found, next_check)
    }

    /// Marks everything that has not arrived as lost, after a timeout.
    pub fn lose_all(&mut self) {
        for segment in &mut self.outstanding {
            if segment.place == SegmentPlace::InFlight {
                segment.place = SegmentPlace::Lost;
                self.lost += 1;
            }
        }
        self.in_flight_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Ten segments of 100 bytes, sent at 1 to 10 ms, and a round trip of 50 ms.
    fn ten() -> (Scoreboard, RoundTrip) {
        let mut board = Scoreboard::default();
        let mut rtt = RoundTrip::new(0);
        rtt.sample(50 * MS);
        for i in 0..10 {
            board.sent(Time((i + 1) * MS), 1 + 100 * i, 101 + 100 * i);
        }
        (board, rtt)
    }

    #[test]
    fn cumulative_and_selective_acknowledgements_empty_the_flight() {
        let (mut board, rtt) = ten();
        assert_eq!(board.in_flight_bytes(), 1_000);
        let delivered = board.acknowledge(Time(60 * MS), 201, &[(301, 501)], &rtt);
        assert_eq!(delivered.acknowledged, 200);
        assert_eq!(delivered.rtt_ns, Some(55 * MS), "of the fifth segment");
        assert_eq!(board.in_flight_bytes(), 600);
        let again = board.acknowledge(Time(61 * MS), 201, &[(301, 501)], &rtt);
        assert_eq!(again, Delivered::default());
        let rest = board.acknowledge(Time(62 * MS), 1_001, &[], &rtt);
        assert_eq!((rest.acknowledged, board.in_flight_bytes()), (800, 0));
        assert!(board.is_empty() && board.is_in_order());
    }

    #[test]
    fn the_third_later_segment_makes_one_lost() {
        let (mut board, rtt) = ten();
        board.acknowledge(Time(52 * MS), 1, &[(101, 301)], &rtt);
        let (found, next_check) = board.find_losses(Time(52 * MS), &rtt);
        assert!(!found, "two are later");
        assert_eq!(next_check, Time(MS + 50 * MS * 9 / 8), "by its time");
        board.acknowledge(Time(53 * MS), 1, &[(101, 401)], &rtt);
        assert!(board.find_losses(Time(53 * MS), &rtt).0);
        assert_eq!(board.first_lost(), Some((1, 101)));
        assert_eq!(board.in_flight_bytes(), 600);
    }

    #[test]
    fn time_makes_one_lost_that_has_no_three_later() {
        let (mut board, rtt) = ten();
        board.acknowledge(Time(60 * MS), 801, &[(901, 1_001)], &rtt);
        let (found, next_check) = board.find_losses(Time(60 * MS), &rtt);
        assert!(!found);
        assert!(board.find_losses(next_check, &rtt).0);
        assert_eq!(board.first_lost(), Some((801, 901)));
    }

    #[test]
    fn a_retransmission_is_lost_again_if_later_ones_arrive() {
        let (mut board, rtt) = ten();
        board.acknowledge(Time(53 * MS), 1, &[(101, 401)], &rtt);
        board.find_losses(Time(53 * MS), &rtt);
        board.sent_again(Time(54 * MS), 1);
        assert_eq!(board.first_lost(), None);
        board.sent(Time(55 * MS), 1_001, 1_101);
        board.sent(Time(56 * MS), 1_101, 1_201);
        board.sent(Time(57 * MS), 1_201, 1_301);
        board.acknowledge(Time(70 * MS), 1, &[(101, 1_001)], &rtt);
        assert!(
            !board.find_losses(Time(70 * MS), &rtt).0,
            "it was sent later"
        );
        board.acknowledge(Time(108 * MS), 1, &[(101, 1_301)], &rtt);
        assert!(board.find_losses(Time(108 * MS), &rtt).0);
        assert_eq!(board.first_lost(), Some((1, 101)));
    }

    #[test]
    fn a_timeout_loses_all_but_what_arrived() {
        let (mut board, rtt) = ten();
        board.acknowledge(Time(60 * MS), 1, &[(101, 201)], &rtt);
        board.lose_all();
        assert_eq!(board.in_flight_bytes(), 0);
        board.sent_again(Time(61 * MS), 1);
        assert_eq!(board.first_lost(), Some((201, 301)));
        assert_eq!(board.in_flight_bytes(), 100);
    }
}
