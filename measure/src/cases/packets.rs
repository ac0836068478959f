//! Cases of packets between switch and controller, and of echoes while frames pass.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bofuss_oflib::Message;
use bofuss_oflib::wire::Bytes;

use crate::cases::background::send_until;
use crate::cases::point::{CaseVerdict, Point, PointOutcome};
use crate::cases::table_size::AT_LEAST;
use crate::cases::workbench::{Limits, Workbench};
use crate::error::{ControlError, Error, Result};
use crate::subject::TestSubject;
use crate::subject::controller::{ControlSession, Controlled};
use crate::subject::probe::{Observation, ProbeLoad, SINGLE_FRAMES};
use crate::subject::template::{FrameSignature, Template};
use crate::testbed::traffic::flow_ports;

/// Packets that are timed one by one.
pub(super) const SINGLES: u32 = 1_000;
pub(super) const SHORT_SINGLES: u32 = 50;
/// The time to wait for a packet before the next one is sent, or the last one counts as lost.
const PATIENCE: Duration = Duration::from_millis(500);
/// Frames per second that flood a controller, and for how long.
const FLOOD_RATE: f64 = 200_000.0;
const FLOOD_SECONDS: f64 = 2.0;
const SHORT_FLOOD_SECONDS: f64 = 0.3;
/// The time after a flood within which its packet-ins are counted.
const DRAIN: Duration = Duration::from_secs(30);
/// Packet-outs of a run.
const PACKET_OUTS: u32 = 20_000;
const SHORT_PACKET_OUTS: u32 = 500;
/// Loads of `echo-under-load` in Mb/s, the pause between its echoes, and the size of its frames.
const ECHO_LOADS: [f64; 4] = [0.0, 10.0, 100.0, 400.0];
const ECHO_PAUSE: Duration = Duration::from_millis(2);
const ECHO_BYTES: usize = 150;
/// The time that a controller waits for a packet-in before it looks whether the run is over.
pub(super) const LOOK: Duration = Duration::from_millis(5);
/// Packet-outs that arrive at this share of the rate at which they were sent were not delayed.
const NOT_SLOWER: f64 = 0.9;
/// The share of what was sent of which it is said that all arrived.
const NEARLY_ALL: f64 = 0.999;
/// What is said of a switch that sends no frame up.
const NO_PACKET_IN: &str = "no packet-in came";
/// What is said of packet-outs whose arrivals have no clock.
const UNSTAMPED: &str = "no rate: fewer than two packet-outs arrived with a time stamp";
/// The time that a sender of packet-outs waits when it has sent as many as the rate permits, and a
/// receiver when all that have arrived are counted.
const PACE: Duration = Duration::from_micros(200);

/// The one point of a case without parameters.
pub fn one_point(_: &Limits) -> Vec<Point> {
    vec![Point::of("64 B")]
}

/// The frame of a flow with this number.
pub(super) fn numbered(number: u32, flow: u32) -> Vec<u8> {
    let mut template = Template::plain(0);
    template.set_ports(flow_ports(flow));
    template.sent.sign(FrameSignature {
        run: SINGLE_FRAMES,
        number,
        departed_ns: 0,
    });
    template.sent.bytes
}

/// Makes the switch send every frame from the near side to the controller.
pub(super) fn send_all_up(bench: &mut Workbench<'_>) -> Result<()> {
    let near = bench.ports[0];
    let rule = format!("priority=10,in_port={near},actions=CONTROLLER:65535");
    Ok(bench.set_rules(&[rule])?)
}

/// Frames that are sent one by one, each when the one before has arrived or [`PATIENCE`] is over. A
/// frame that arrives later counts, too: a slow switch has lost nothing.
#[derive(Default)]
pub(super) struct TimedSingles {
    /// The time at which each departed; none once it has arrived.
    departures: Vec<Option<Instant>>,
    /// The departure of the last one.
    last: Option<Instant>,
    delays_ns: Vec<u64>,
}

impl TimedSingles {
    /// Notes that the next frame has departed.
    pub(super) fn departed(&mut self, at: Instant) {
        self.departures.push(Some(at));
        self.last = Some(at);
    }

    /// Waits until the next one may depart, so that at most `rate` do in a second.
    pub(super) fn wait(&self, rate: f64) {
        let passed = self.last.map_or(Duration::MAX, |last| last.elapsed());
        std::thread::sleep(Duration::from_secs_f64(1.0 / rate).saturating_sub(passed));
    }

    /// Notes the arrival of a frame, if it is one of these that has not arrived yet.
    pub(super) fn arrived(&mut self, number: u32, at: Instant) {
        let departure = self.departures.get_mut(number as usize);
        if let Some(departed) = departure.and_then(Option::take) {
            let delay = at.saturating_duration_since(departed);
            self.delays_ns.push(delay.as_nanos() as u64);
        }
    }

    /// Returns true if the last frame may still arrive.
    pub(super) fn is_awaited(&self) -> bool {
        let last = self.departures.last().copied().flatten();
        last.is_some_and(|departed| departed.elapsed() < PATIENCE)
    }

    /// The delays, how many were sent, and how many never arrived; if none did, `silence` says so.
    pub(super) fn outcome(self, silence: &str) -> PointOutcome {
        if self.delays_ns.is_empty() {
            return PointOutcome::of(CaseVerdict::Hangs, silence);
        }
        let sent = self.departures.len() as f64;
        let lost = sent - self.delays_ns.len() as f64;
        let mut outcome = PointOutcome::default()
            .with("sent", "frames", sent)
            .with("lost", "frames", lost);
        outcome.delays_ns = self.delays_ns;
        outcome
    }
}

/// The number of a frame that was sent alone.
pub(super) fn number_of(template: &Template, frame: &[u8]) -> Option<u32> {
    let signature = template.sent.read(frame)?;
    (signature.run == SINGLE_FRAMES).then_some(signature.number)
}

/// The delay from a frame to its packet-in, one at a time.
pub fn packet_in_delay(bench: &mut Workbench<'_>, _: &Point) -> Result<PointOutcome> {
    send_all_up(bench)?;
    let mut probe = bench.subject.probe(true)?;
    let template = Template::plain(0);
    let mut singles = TimedSingles::default();
    for number in 0..bench.count(SINGLES, SHORT_SINGLES) {
        if (bench.over)() {
            break;
        }
        singles.wait(bench.limits.max_rate);
        singles.departed(probe.send_one(&numbered(number, 0))?);
        let controller = bench.control()?;
        while singles.is_awaited() {
            let received = controller.receive(PATIENCE)?;
            let now = Instant::now();
            if let Some((_, Message::PacketIn(packet))) = received
                && let Some(arrived) = number_of(&template, &packet.data.0)
                && packet.data.0[..] == numbered(arrived, 0)
            {
                singles.arrived(arrived, now);
            }
        }
    }
    Ok(singles.outcome(NO_PACKET_IN))
}

/// Packet-ins per second during a flood.
pub fn packet_in_rate(bench: &mut Workbench<'_>, _: &Point) -> Result<PointOutcome> {
    send_all_up(bench)?;
    let seconds = if bench.limits.short {
        SHORT_FLOOD_SECONDS
    } else {
        FLOOD_SECONDS
    };
    let rate = FLOOD_RATE.min(bench.limits.max_rate);
    let frames = (rate * seconds) as u32;
    let subject = bench.subject;
    let over = bench.over;
    let controller = bench.control()?;
    let (sent, count, took, goes_on) = std::thread::scope(|scope| {
        let flooding = scope.spawn(|| {
            let load = ProbeLoad {
                warm_up: 0,
                ..ProbeLoad::new(frames, rate)
            };
            subject.probe(false)?.run(&Template::plain(0), &load, over)
        });
        let mut count = 0u32;
        let mut first = None;
        let mut last = Instant::now();
        let mut drain_end = None;
        let mut goes_on = false;
        // What waits in the switch when the flood ends counts, too.
        while !flooding.is_finished() || last.elapsed() < PATIENCE {
            if flooding.is_finished() {
                goes_on = over() || is_drain_over(&mut drain_end, Instant::now());
                if goes_on {
                    break;
                }
            }
            if let Some((_, Message::PacketIn(_))) = controller.receive(LOOK)? {
                count += 1;
                last = Instant::now();
                first = first.or(Some(last));
            }
        }
        let sent = flooding.join().map_err(|_| "the sender died")??;
        let took = first.map_or(Duration::ZERO, |first| last - first);
        Ok::<_, Error>((sent, count, took, goes_on))
    })?;
    let mut outcome = flood_outcome(&sent, count, took);
    if goes_on {
        outcome.notes.push(still_coming());
    }
    Ok(outcome)
}

/// Returns true if [`DRAIN`] is over, which begins with the first call.
fn is_drain_over(end: &mut Option<Instant>, now: Instant) -> bool {
    now >= *end.get_or_insert(now + DRAIN)
}

/// What is said if packet-ins came until nobody waited for more.
fn still_coming() -> String {
    format!(
        "packet-ins still came {} s after the flood: the rate has others than those of its frames",
        DRAIN.as_secs()
    )
}

/// The outcome of a flood of which so many packet-ins came: `took` is the time from the first to
/// the last.
fn flood_outcome(sent: &Observation, count: u32, took: Duration) -> PointOutcome {
    if count == 0 && sent.sent > 0 {
        return PointOutcome::of(CaseVerdict::Hangs, NO_PACKET_IN);
    }
    let mut outcome = PointOutcome::default();
    if are_nearly_all(count, sent.sent) {
        outcome.notes.push(format!(
            "{AT_LEAST}: each frame of the flood arrived, so that the flood ended the rate"
        ));
    }
    outcome
        .with("rate", "packet-ins/s", rate_within(count, took))
        .with("sent", "frames", f64::from(sent.sent))
        .with("rate achieved", "frames/s", sent.rate.1)
        .with(
            "arrived",
            "%",
            100.0 * f64::from(count) / f64::from(sent.sent.max(1)),
        )
}

/// Returns true if as good as all have arrived: a busy machine may lose single ones.
fn are_nearly_all(arrived: u32, sent: u32) -> bool {
    f64::from(arrived) >= NEARLY_ALL * f64::from(sent)
}

/// The rate of arrivals by their own clock: `took` is the time from the first to the last.
fn rate_within(arrivals: u32, took: Duration) -> f64 {
    f64::from(arrivals.saturating_sub(1)) / took.as_secs_f64().max(1e-9)
}

/// Packet-outs per second that come out of the far port.
pub fn packet_out_rate(bench: &mut Workbench<'_>, _: &Point) -> Result<PointOutcome> {
    bench.set_rules(&[])?;
    let count = bench.count(PACKET_OUTS, SHORT_PACKET_OUTS);
    let far = bench.ports[1];
    let mut messages = Vec::new();
    for number in 0..count {
        messages.push(ControlSession::packet_out(&numbered(number, 0), far));
    }
    let subject = bench.subject;
    let max_rate = bench.limits.max_rate;
    let controller = bench.control()?;
    let are_done = AtomicBool::new(false);
    let (seen, sending) = std::thread::scope(|scope| {
        let (opened, ready) = mpsc::channel();
        let watching = scope.spawn(|| watch_packet_outs(subject, count, opened, &are_done));
        // An error of the receiver closes the channel.
        let _ = ready.recv();
        let start = Instant::now();
        let sent = send_paced(controller, &messages, max_rate).map(|()| start.elapsed());
        let sent = sent.and_then(|took| controller.barrier().map(|_| took));
        are_done.store(true, Relaxed);
        let seen = watching.join().map_err(|_| "the receiver died")??;
        Ok::<_, Error>((seen, sent?))
    })?;
    Ok(packet_outs_outcome(&seen, count, sending))
}

/// The outcome of this many packet-outs that were sent within a time.
fn packet_outs_outcome(seen: &PacketOutsSeen, count: u32, sending: Duration) -> PointOutcome {
    if seen.arrived == 0 {
        return PointOutcome::of(CaseVerdict::Fails, "no packet-out came out of the port");
    }
    let mut outcome = PointOutcome::default()
        .with("sent", "packet-outs", f64::from(count))
        .with("lost", "packet-outs", f64::from(count - seen.arrived));
    if seen.stamped < 2 {
        outcome.beyond.push(UNSTAMPED.into());
        return outcome;
    }
    let rate = rate_within(seen.stamped, seen.span);
    let is_as_fast = rate >= NOT_SLOWER * rate_within(count, sending);
    if are_nearly_all(seen.arrived, count) && is_as_fast {
        outcome.notes.push(format!(
            "{AT_LEAST}: they came as fast as they were sent, so that the controller ended the rate"
        ));
    }
    outcome.with("rate", "packet-outs/s", rate)
}

/// The packet-outs that came out of a port.
#[derive(Default)]
struct PacketOutsSeen {
    /// Different ones that arrived.
    arrived: u32,
    /// Those of them that the kernel stamped, and the time from the first to the last.
    stamped: u32,
    span: Duration,
}

/// Counts the packet-outs that come out of the far port, until they are done and no more come.
/// `opened` gets a value when the port is open. The kernel stamps them, as this program may get
/// many at once, when it gets a processor.
fn watch_packet_outs(
    subject: &TestSubject,
    count: u32,
    opened: mpsc::Sender<()>,
    are_done: &AtomicBool,
) -> Result<PacketOutsSeen> {
    let mut socket = subject.arrivals()?;
    let template = Template::plain(0);
    let _ = opened.send(());
    let mut is_there = vec![false; count as usize];
    let mut seen = PacketOutsSeen::default();
    let mut first_ns = None;
    let mut idle_since = Instant::now();
    while idle_since.elapsed() < PATIENCE {
        // A slow switch has not begun yet, or pauses.
        if !are_done.load(Relaxed) {
            idle_since = Instant::now();
        }
        std::thread::sleep(PACE);
        while let Some(frame) = socket.next_received().map_err(|e| e.to_string())? {
            let number = number_of(&template, frame.bytes).map_or(usize::MAX, |n| n as usize);
            let place = is_there.get_mut(number);
            if place.is_none_or(|is_there| std::mem::replace(is_there, true)) {
                continue;
            }
            idle_since = Instant::now();
            seen.arrived += 1;
            if let Some(at) = frame.nanos {
                let first = *first_ns.get_or_insert(at);
                seen.stamped += 1;
                seen.span = seen
                    .span
                    .max(Duration::from_nanos(at.saturating_sub(first)));
            }
        }
    }
    Ok(seen)
}

/// Returns the number of messages that may have been sent after a time, so that at most `rate` go
/// out in a second.
fn permitted(elapsed: Duration, rate: f64, all: usize) -> usize {
    let count = (elapsed.as_secs_f64() * rate) as usize;
    count.saturating_add(1).min(all)
}

/// Sends messages as fast as possible, but at most `rate` in a second.
fn send_paced(controller: &mut ControlSession, messages: &[Message], rate: f64) -> Controlled<()> {
    let start = Instant::now();
    let mut sent = 0;
    while sent < messages.len() {
        let next = permitted(start.elapsed(), rate, messages.len());
        if next == sent {
            // The switch's echo requests are answered meanwhile: it may close the connection.
            if let Some((_, Message::Error(error))) = controller.receive(PACE)? {
                return Err(ControlError::Refused(error.error));
            }
            continue;
        }
        controller.send_all(&messages[sent..next])?;
        sent = next;
    }
    Ok(())
}

/// The points of `echo-under-load`.
pub fn echo_points(limits: &Limits) -> Vec<Point> {
    let loads: &[f64] = if limits.short {
        &ECHO_LOADS[..2]
    } else {
        &ECHO_LOADS
    };
    let all = loads.iter();
    all.map(|mbps| Point::of("load").bytes(ECHO_BYTES).mbps(*mbps))
        .collect()
}

/// The delay of OpenFlow echoes while frames pass.
pub fn echo_under_load(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    bench.reset()?;
    let count = bench.count(SINGLES, SHORT_SINGLES);
    let subject = bench.subject;
    let over = bench.over;
    let rate = point.frames_per_second().min(bench.limits.max_rate);
    let bytes = point.bytes;
    let controller = bench.control()?;
    let is_done = AtomicBool::new(false);
    let done = &is_done;
    let (delays, seen) = std::thread::scope(|scope| {
        let (begun, ready) = mpsc::channel();
        let sending = scope.spawn(move || {
            if rate == 0.0 {
                return Ok(None);
            }
            send_until(subject, bytes, rate, &begun, done, over).map(Some)
        });
        // Without a load, or after an error of the sender, the channel is closed.
        let _ = ready.recv();
        let mut delays = Vec::new();
        let mut asked = Ok(());
        for number in 0..count {
            let start = Instant::now();
            let data = Bytes(number.to_be_bytes()[..].into());
            asked = controller.request(&Message::EchoRequest(data)).map(drop);
            if asked.is_err() || over() {
                break;
            }
            delays.push(start.elapsed().as_nanos() as u64);
            std::thread::sleep(ECHO_PAUSE);
        }
        done.store(true, Relaxed);
        let seen = sending.join().map_err(|_| "the sender died")?;
        asked?;
        Ok::<_, Error>((delays, seen?))
    })?;
    let mut outcome = PointOutcome::default();
    if let Some(seen) = seen {
        outcome = PointOutcome::observed(&seen);
    }
    outcome.delays_ns = delays;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_arrives_late_is_not_lost_and_counts_once() {
        let mut singles = TimedSingles::default();
        let now = Instant::now();
        singles.departed(now.checked_sub(2 * PATIENCE).unwrap());
        assert!(!singles.is_awaited());
        singles.departed(now);
        assert!(singles.is_awaited());
        for number in [0, 0, 7] {
            singles.arrived(number, now);
        }
        assert!(singles.is_awaited(), "the last one is still under way");
        let outcome = singles.outcome("nothing");
        assert_eq!(outcome.delays_ns.len(), 1);
        let values: Vec<f64> = outcome.metrics.iter().map(|metric| metric.value).collect();
        assert_eq!(values, [2.0, 1.0]);
    }

    #[test]
    fn a_rate_that_the_meter_ended_is_a_bound_also_if_the_machine_lost_a_few() {
        let is_bound = |outcome: &PointOutcome| {
            let mut notes = outcome.notes.iter();
            notes.any(|note| note.starts_with(AT_LEAST))
        };
        let sent = Observation {
            sent: 10_000,
            ..Observation::default()
        };
        let second = Duration::from_secs(1);
        let flood = |count| flood_outcome(&sent, count, second);
        assert!(is_bound(&flood(10_000)) && is_bound(&flood(9_990)));
        assert!(!is_bound(&flood(9_900)));
        let outs = |arrived, span| {
            let seen = PacketOutsSeen {
                arrived,
                stamped: arrived,
                span,
            };
            packet_outs_outcome(&seen, 10_000, second)
        };
        assert!(is_bound(&outs(9_990, second)));
        assert!(!is_bound(&outs(9_900, second)) && !is_bound(&outs(10_000, 2 * second)));
    }

    #[test]
    fn packet_ins_that_never_end_are_waited_for_no_longer_than_the_drain() {
        let (start, mut end) = (Instant::now(), None);
        let after = |end: &mut _, passed| is_drain_over(end, start + passed);
        assert!(!after(&mut end, Duration::ZERO));
        assert!(!after(&mut end, DRAIN - Duration::from_millis(1)));
        assert!(after(&mut end, DRAIN));
        assert!(still_coming().contains("30 s after the flood"));
    }

    #[test]
    fn a_switch_of_which_nothing_comes_has_no_rate() {
        let sent = Observation {
            sent: 10,
            ..Observation::default()
        };
        let flood = flood_outcome(&sent, 0, Duration::ZERO);
        assert_eq!(flood.verdict, CaseVerdict::Hangs);
        let outs = packet_outs_outcome(&PacketOutsSeen::default(), 10, Duration::ZERO);
        assert_eq!(outs.verdict, CaseVerdict::Fails);
        assert!(flood.metrics.is_empty() && outs.metrics.is_empty());
    }

    #[test]
    fn packet_outs_without_time_stamps_have_no_rate() {
        let seen = PacketOutsSeen {
            arrived: 8,
            stamped: 1,
            span: Duration::ZERO,
        };
        let outs = packet_outs_outcome(&seen, 10, Duration::from_secs(1));
        assert_eq!(outs.beyond, [UNSTAMPED]);
        let names: Vec<&str> = outs.metrics.iter().map(|one| &one.name[..]).collect();
        assert_eq!(names, ["sent", "lost"]);
    }

    #[test]
    fn single_frames_are_not_sent_faster_than_the_rate_permits() {
        let start = Instant::now();
        let mut singles = TimedSingles::default();
        for number in 0..4 {
            singles.wait(100.0);
            singles.departed(Instant::now());
            singles.arrived(number, Instant::now());
        }
        assert!(start.elapsed() >= Duration::from_millis(30));
    }

    #[test]
    fn no_more_messages_go_out_than_the_rate_permits() {
        let after = |ms| permitted(Duration::from_millis(ms), 1_000.0, 50);
        assert_eq!([after(0), after(10), after(1_000)], [1, 11, 50]);
        assert_eq!(permitted(Duration::from_secs(1), f64::MAX, 50), 50);
    }
}
