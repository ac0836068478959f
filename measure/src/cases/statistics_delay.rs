//! The case of statistics: how long the switch takes to the last part of its reply, and what
//! happens to frames meanwhile.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bofuss_oflib::PortNo;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::message::multipart::port::PortRequest;
use bofuss_oflib::message::multipart::{FlowStatsRequest, ReplyBody, RequestBody};

use crate::cases::background::send_until;
use crate::cases::changes::kept_entries;
use crate::cases::point::{CaseVerdict, Point, PointOutcome};
use crate::cases::table_size::room_left;
use crate::cases::workbench::{Limits, Workbench};
use crate::error::{ControlError, Error, Result};
use crate::statistics::Summary;
use crate::subject::controller::{ControlSession, Controlled};
use crate::subject::probe::Observation;

/// The loads: 1 MB/s, and frames as fast as the generator makes them, in Mb/s.
const LIGHT_MBPS: f64 = 8.0;
const HEAVY_MBPS: f64 = 10_000.0;
/// Requests of a run and the time between them, and in the shortest form.
const REQUESTS: u32 = 100;
const SHORT_REQUESTS: u32 = 5;
const INTERVAL: Duration = Duration::from_secs(1);
const SHORT_INTERVAL: Duration = Duration::from_millis(20);
/// Bytes of the frames of the load.
const BYTES: usize = 1_024;
/// Rules of the full table in the shortest form.
const SHORT_RULES: u32 = 1_000;
/// Rules that are added in one piece.
const PIECE: u32 = 1_000;

/// The name of the case.
pub const NAME: &str = "stats-delay";

/// The points: what is asked, how many rules there are, how much load.
pub fn points(limits: &Limits) -> Vec<Point> {
    let wanted = if limits.short { SHORT_RULES } else { u32::MAX };
    let full = wanted.min(limits.max_rules);
    let mut points = Vec::new();
    for asked in ["flow", "port"] {
        for (table, rules) in [("one", 1), ("full", full)] {
            for (load, mbps) in [("light", LIGHT_MBPS), ("heavy", HEAVY_MBPS)] {
                let kind = format!("{asked}, {load}");
                points.push(Point {
                    name: format!("{kind} {table}"),
                    kind,
                    bytes: BYTES,
                    mbps,
                    rules,
                });
            }
        }
    }
    points
}

/// Adds rules that no frame hits until there are this many, or the table is full. Returns how many
/// there are.
fn fill(bench: &mut Workbench<'_>, rules: u32) -> Result<u32> {
    let mut count = 1;
    while count < rules {
        let until = rules.min(count + PIECE);
        let mut batch = Vec::new();
        for flow in count..until {
            let text = bench.flow_rule(flow, "drop");
            batch.push(bench.control()?.flow(&text, FlowModCommand::ADD)?);
        }
        match bench.control()?.change(&batch) {
            Ok(_) => count = until,
            Err(error) if error.is_table_full() => return Ok(count + room_left(bench, &batch)?),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(count)
}

/// The number of entries that the switch lists.
fn listed(controller: &mut ControlSession) -> Controlled<u64> {
    Ok(controller.entries()?.len() as u64)
}

/// Says so if a reply has another number of entries than the rules and those of its own that the
/// switch keeps.
fn miscounted(entries: usize, rules: u32, kept: u64) -> Option<String> {
    let wanted = u64::from(rules) + kept;
    let besides = match kept {
        0 => String::new(),
        kept => format!(" and {kept} of its own"),
    };
    (entries as u64 != wanted)
        .then(|| format!("{entries} entries in the reply, of {rules} rules{besides}"))
}

/// Asks once. Returns how many entries or ports the whole reply has.
fn ask(bench: &mut Workbench<'_>, of_flows: bool) -> Result<usize, ControlError> {
    let body = if of_flows {
        RequestBody::Flow(FlowStatsRequest::all())
    } else {
        RequestBody::PortStats(PortRequest {
            port_no: PortNo::ANY,
        })
    };
    let controller = bench.control()?;
    let reply = controller.multipart(body)?;
    if let ReplyBody::Flow(entries) = &reply {
        Ok(entries.len())
    } else if let ReplyBody::PortStats(ports) = &reply {
        Ok(ports.len())
    } else {
        Err(ControlError::another_reply())
    }
}

/// The outcome of the load while the statistics were served.
fn meanwhile(seen: &Observation, rules: u32) -> PointOutcome {
    let mut outcome = PointOutcome {
        background_rate: seen.rate.1,
        ..PointOutcome::default()
    }
    .with("rules", "", f64::from(rules))
    .with("rate achieved", "frames/s", seen.rate.1)
    .with("sent meanwhile", "frames", f64::from(seen.sent))
    .with("lost meanwhile", "%", seen.loss() * 100.0);
    if seen.sent == 0 {
        let why = "the machine sent no frame of the load meanwhile";
        outcome.beyond.push(why.into());
    }
    outcome.notes.extend(seen.own_loss());
    if let Some(frames) = Summary::of(&seen.delays_ns) {
        outcome.add("frame delay meanwhile, p99", "us", frames.p99 / 1e3);
    }
    outcome
}

/// The time from one request to the next.
fn interval(limits: &Limits) -> Duration {
    if limits.short {
        SHORT_INTERVAL
    } else {
        INTERVAL
    }
}

/// About how many seconds a point takes, without filling its table.
pub fn seconds(limits: &Limits) -> f64 {
    f64::from(limits.count(REQUESTS, SHORT_REQUESTS)) * interval(limits).as_secs_f64()
}

/// The delay of statistics.
pub fn run(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let [near, far] = bench.ports;
    bench.set_rules(&[format!("priority=10,in_port={near},actions=output:{far}")])?;
    let of_flows = point.kind.starts_with("flow");
    let mut kept = 0;
    if of_flows {
        // What fails here fails in the requests, too, which say so.
        kept = kept_entries(bench.control()?, 1, listed).unwrap_or(0);
    }
    let rules = fill(bench, point.rules)?;
    let count = bench.count(REQUESTS, SHORT_REQUESTS);
    let interval = interval(bench.limits);
    let subject = bench.subject;
    let over = bench.over;
    let rate = point.frames_per_second().min(bench.limits.max_rate);
    bench.settle();
    bench.control()?.take_packet_ins()?;
    let is_done = AtomicBool::new(false);
    let done = &is_done;
    let (delays, failed, seen) = std::thread::scope(|scope| {
        let (begun, ready) = mpsc::channel();
        let sending = scope.spawn(move || send_until(subject, BYTES, rate, &begun, done, over));
        // If the sender failed, it reports that when it ends.
        let _ = ready.recv();
        let mut delays = Vec::new();
        let mut failed = None;
        for _ in 0..count {
            if over() || failed.is_some() {
                break;
            }
            let start = Instant::now();
            match ask(bench, of_flows) {
                Ok(parts) => {
                    let took = start.elapsed();
                    match miscounted(parts, rules, kept).filter(|_| of_flows) {
                        Some(why) => failed = Some((CaseVerdict::Lies, why)),
                        None => delays.push(took.as_nanos() as u64),
                    }
                }
                Err(ControlError::Hangs) => {
                    failed = Some((CaseVerdict::Hangs, "no reply in time".into()));
                }
                Err(error) => failed = Some((bench.verdict(), error.to_string())),
            }
            std::thread::sleep(interval.saturating_sub(start.elapsed()));
        }
        done.store(true, Relaxed);
        let seen = sending.join().map_err(|_| "the sender died")?;
        Ok::<_, Error>((delays, failed, seen?))
    })?;
    let mut outcome = meanwhile(&seen, rules);
    if let Some(times) = Summary::of(&delays)
        && of_flows
    {
        let entries = f64::from(rules) + kept as f64;
        outcome.add("exported", "rules/ms", entries / (times.p50 / 1e6));
    }
    outcome.delays_ns = delays;
    if let Some((verdict, why)) = failed {
        outcome.verdict = verdict;
        outcome.notes.push(why);
        return Ok(outcome);
    }
    let packet_ins = bench.control()?.take_packet_ins()?;
    outcome.count_packet_ins(packet_ins);
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_the_switchs_own_in_a_reply_are_no_lie() {
        assert_eq!(miscounted(100, 100, 0), None);
        assert_eq!(miscounted(103, 100, 3), None);
        let said = "100 entries in the reply, of 100 rules and 3 of its own";
        assert_eq!(miscounted(100, 100, 3).as_deref(), Some(said));
        let said = "99 entries in the reply, of 100 rules";
        assert_eq!(miscounted(99, 100, 0).as_deref(), Some(said));
    }
}
