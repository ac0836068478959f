//! Cases of packets between switch and controller, and of echoes while frames pass.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bofuss_oflib::message::{FlowModCommand, PacketOut};
use bofuss_oflib::types::BufferId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Message};

use super::background::send_until;
use super::controller::{ControlSession, Controlled};
use super::point::{CaseVerdict, Point, PointOutcome};
use super::probe::ProbeLoad;
use super::template::{FrameSignature, Template};
use super::workbench::{Limits, Workbench};
use crate::traffic::flow_ports;

/// Packets that are timed one by one.
const SINGLES: u32 = 1_000;
const SHORT_SINGLES: u32 = 50;
/// How long a packet may take before it counts as lost.
const PATIENCE: Duration = Duration::from_millis(500);
/// Frames per second that flood a controller, and for how long.
const FLOOD_RATE: f64 = 200_000.0;
const FLOOD_SECONDS: f64 = 2.0;
const SHORT_FLOOD_SECONDS: f64 = 0.3;
/// Packet-outs of a run.
const PACKET_OUTS: u32 = 20_000;
const SHORT_PACKET_OUTS: u32 = 500;
/// Loads of `echo-under-load` in Mb/s of frames of 150 bytes, the pause between its echoes.
const ECHO_LOADS: [f64; 4] = [0.0, 10.0, 100.0, 400.0];
const ECHO_PAUSE: Duration = Duration::from_millis(2);
const ECHO_BYTES: usize = 150;
/// How long a controller that reacts waits before it looks whether the run is over.
const LOOK: Duration = Duration::from_millis(5);
/// How long a sender of packet-outs sleeps that is at the permitted rate.
const PACE: Duration = Duration::from_micros(200);
/// Flows of `first-packet` begin here, apart from those of other cases.
const FIRST_FLOW: u32 = 1 << 18;

/// The one point of a case without parameters.
pub fn one_point(_: &Limits) -> Vec<Point> {
    vec![Point::of("64 B")]
}

/// A frame of a flow with a number.
fn numbered(number: u32, flow: u32) -> Vec<u8> {
    let mut template = Template::plain(0);
    template.set_ports(flow_ports(flow));
    template.sent.sign(FrameSignature {
        run: u16::MAX,
        number,
        departed_ns: 0,
    });
    template.sent.bytes
}

/// Has the switch send every frame of the near side to the controller.
fn send_all_up(bench: &mut Workbench<'_>) -> Result<(), String> {
    let near = bench.ports[0];
    let rule = format!("priority=10,in_port={near},actions=CONTROLLER:65535");
    Ok(bench.set_rules(&[rule])?)
}

/// The delay from a frame to its packet-in, one at a time.
pub fn packet_in_delay(bench: &mut Workbench<'_>, _: &Point) -> Result<PointOutcome, String> {
    send_all_up(bench)?;
    let mut probe = bench.subject.probe(true)?;
    let mut outcome = PointOutcome::default();
    let mut lost = 0;
    let count = bench.count(SINGLES, SHORT_SINGLES);
    for number in 0..count {
        if (bench.over)() {
            break;
        }
        let frame = numbered(number, 0);
        let departed = probe.send_one(&frame)?;
        let controller = bench.control()?;
        let mut arrived = None;
        while arrived.is_none() && departed.elapsed() < PATIENCE {
            if let Some((_, Message::PacketIn(packet))) = controller.receive(PATIENCE)?
                && packet.data.0[..] == frame
            {
                arrived = Some(departed.elapsed());
            }
        }
        match arrived {
            Some(delay) => outcome.delays_ns.push(delay.as_nanos() as u64),
            None => lost += 1,
        }
    }
    outcome.add("sent", "frames", f64::from(count));
    outcome.add("lost", "frames", f64::from(lost));
    if outcome.delays_ns.is_empty() {
        return Ok(PointOutcome::of(CaseVerdict::Hangs, "no packet-in came"));
    }
    Ok(outcome)
}

/// Packet-ins per second during a flood.
pub fn packet_in_rate(bench: &mut Workbench<'_>, _: &Point) -> Result<PointOutcome, String> {
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
    let done = AtomicBool::new(false);
    let (sent, count, took) = std::thread::scope(|scope| {
        let flooding = scope.spawn(|| {
            let load = ProbeLoad {
                warm_up: 0,
                ..ProbeLoad::new(frames, rate)
            };
            let seen = subject.probe(false)?.run(&Template::plain(0), &load, over);
            done.store(true, Relaxed);
            seen
        });
        let start = Instant::now();
        let mut count = 0u32;
        let mut last = start;
        while !flooding.is_finished() || last.elapsed() < LOOK {
            if let Some((_, Message::PacketIn(_))) = controller.receive(LOOK)? {
                count += 1;
                last = Instant::now();
            }
        }
        let sent = flooding.join().map_err(|_| "the sender died")??;
        Ok::<_, String>((sent, count, last - start))
    })?;
    Ok(PointOutcome::default()
        .with(
            "rate",
            "packet-ins/s",
            f64::from(count) / took.as_secs_f64(),
        )
        .with("sent", "frames", f64::from(sent.sent))
        .with("rate achieved", "frames/s", sent.rate.1)
        .with(
            "arrived",
            "%",
            100.0 * f64::from(count) / f64::from(sent.sent.max(1)),
        ))
}

/// Packet-outs per second that come out of the far port.
pub fn packet_out_rate(bench: &mut Workbench<'_>, _: &Point) -> Result<PointOutcome, String> {
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
    let (arrived, took) = std::thread::scope(|scope| {
        let (tell, ready) = std::sync::mpsc::channel();
        let watching = scope.spawn(move || {
            let mut probe = subject.probe(false)?;
            let template = Template::plain(0);
            let _ = tell.send(());
            let mut seen = vec![false; count as usize];
            let mut first = None;
            let mut last = Instant::now();
            while last.elapsed() < PATIENCE {
                probe.poll(|bytes| {
                    let signature = template.sent.read(bytes);
                    let number = signature.map_or(usize::MAX, |s| s.number as usize);
                    if let Some(seen) = seen.get_mut(number) {
                        *seen = true;
                        last = Instant::now();
                        first = first.or(Some(last));
                    }
                })?;
            }
            let arrived = seen.iter().filter(|seen| **seen).count();
            Ok::<_, String>((arrived, first.map_or(Duration::ZERO, |first| last - first)))
        });
        let _ = ready.recv();
        send_paced(controller, &messages, max_rate)?;
        controller.barrier()?;
        watching.join().map_err(|_| "the receiver died")?
    })?;
    Ok(PointOutcome::default()
        .with(
            "rate",
            "packet-outs/s",
            arrived as f64 / took.as_secs_f64().max(1e-9),
        )
        .with("sent", "packet-outs", f64::from(count))
        .with("lost", "packet-outs", f64::from(count) - arrived as f64))
}

/// How many of some messages may be sent after a time, so that no more than `rate` of them go out
/// in a second.
fn permitted(elapsed: Duration, rate: f64, all: usize) -> usize {
    let count = (elapsed.as_secs_f64() * rate) as usize;
    count.saturating_add(1).min(all)
}

/// Sends messages as fast as they go, and no faster than `rate` in a second.
fn send_paced(controller: &mut ControlSession, messages: &[Message], rate: f64) -> Controlled<()> {
    let start = Instant::now();
    let mut sent = 0;
    while sent < messages.len() {
        let next = permitted(start.elapsed(), rate, messages.len());
        if next == sent {
            std::thread::sleep(PACE);
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
pub fn echo_under_load(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome, String> {
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
        Ok::<_, String>((delays, seen?))
    })?;
    let mut outcome = PointOutcome::default();
    if let Some(seen) = seen {
        outcome = PointOutcome::observed(&seen);
    }
    outcome.delays_ns = delays;
    Ok(outcome)
}

/// The delay of the first packet of each of many flows: the controller adds a rule and sends the
/// packet on.
pub fn first_packet(bench: &mut Workbench<'_>, _: &Point) -> Result<PointOutcome, String> {
    send_all_up(bench)?;
    // One rule sends the frames of new flows to the controller.
    let count = bench.rules(bench.count(10 * SINGLES, SHORT_SINGLES) + 1) - 1;
    let subject = bench.subject;
    let over = bench.over;
    let far = bench.ports[1];
    let near = bench.ports[0];
    let controller = bench.control()?;
    let seen = std::thread::scope(|scope| {
        let probing = scope.spawn(move || first_packets(subject, count, over));
        while !probing.is_finished() {
            let Some((_, Message::PacketIn(packet))) = controller.receive(LOOK)? else {
                continue;
            };
            let Some(signature) = Template::plain(0).sent.read(&packet.data.0) else {
                continue;
            };
            let (source, destination) = flow_ports(FIRST_FLOW + signature.number);
            let fields = crate::openflow::exact(source, destination);
            let text = format!("priority=20,in_port={near},{fields},actions=output:{far}");
            let rule = controller.flow(&text, FlowModCommand::ADD)?;
            let on = Message::PacketOut(PacketOut {
                buffer_id: BufferId::NO_BUFFER,
                in_port: near,
                actions: vec![Action::output(far)],
                data: Bytes(packet.data.0),
                ..PacketOut::default()
            });
            controller.send_all(&[rule, on])?;
        }
        probing.join().map_err(|_| "the prober died")?
    })?;
    let lost = count as usize - seen.len().min(count as usize);
    let mut outcome = PointOutcome::default()
        .with("sent", "frames", f64::from(count))
        .with("lost", "frames", lost as f64);
    outcome.delays_ns = seen;
    if outcome.delays_ns.is_empty() {
        return Ok(PointOutcome::of(
            CaseVerdict::Hangs,
            "no first packet came out",
        ));
    }
    Ok(outcome)
}

/// Sends the first packets of new flows, one at a time. Returns the delays of those that arrived.
fn first_packets(
    subject: &super::subject::TestSubject,
    count: u32,
    over: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<u64>, String> {
    let mut probe = subject.probe(false)?;
    let mut delays = Vec::new();
    for number in 0..count {
        if over() {
            break;
        }
        let frame = numbered(number, FIRST_FLOW + number);
        let departed = probe.send_one(&frame)?;
        if probe.sees(&frame, PATIENCE)? {
            delays.push(departed.elapsed().as_nanos() as u64);
        }
    }
    Ok(delays)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_messages_go_out_than_the_rate_permits() {
        let after = |ms| permitted(Duration::from_millis(ms), 1_000.0, 50);
        assert_eq!([after(0), after(10), after(1_000)], [1, 11, 50]);
        assert_eq!(permitted(Duration::from_secs(1), f64::MAX, 50), 50);
    }
}
