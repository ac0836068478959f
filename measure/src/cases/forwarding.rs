//! Cases of frames that a rule forwards: by match, by action, by size, by load.

use crate::cases::point::{CaseVerdict, CountedLoad, DEFAULT_BYTES, Point, PointOutcome};
use crate::cases::rewrites::REWRITES;
use crate::cases::table_size::AT_LEAST;
use crate::cases::workbench::{Limits, USUAL_MBPS, Workbench};
use crate::error::{ControlError, Result};
use crate::statistics::Summary;
use crate::subject::TestSubject;
use crate::subject::probe::ProbeLoad;
use crate::subject::template::{A_ADDRESS6, B_ADDRESS6, FrameHeaders, PORTS, Template};
use crate::testbed::net::{A_ADDRESS, A_MAC, B_ADDRESS, HOST_PORT, SWITCH_PORTS, mac_text, run};
use crate::testbed::traffic::ABSENT_HOSTS;

/// Frame sizes in bytes without the check sequence: those of the papers, and some between them.
pub const SIZES: [usize; 11] = [64, 128, 150, 256, 400, 512, 800, 1024, 1280, 1400, 1514];
/// Loads in Mb/s, and the size of their frames.
pub const LOADS: [f64; 12] = [
    10.0, 20.0, 50.0, 100.0, 125.0, 200.0, 260.0, 400.0, 500.0, 580.0, 800.0, 1000.0,
];
/// See [`LOADS`].
pub const LOAD_BYTES: usize = 150;
/// Those of the shortest form: three sizes, and three loads, up to this one.
const SHORT_SIZE_STEP: usize = 5;
const SHORT_LOAD_STEP: usize = 2;
const SHORT_MOST_MBPS: f64 = 125.0;
/// The knee: runs that must lose nothing, steps of the search, and the load at which it ends.
const KNEE_RUNS: usize = 3;
const KNEE_STEPS: usize = 6;
const KNEE_MOST_MBPS: f64 = 100_000.0;
/// A load is beyond the second knee if its 99th percentile is this many times that when idle.
const KNEE_DELAY: f64 = 10.0;
/// Frames above the usual MTU, and the MTU that takes them.
const LARGE_BYTES: usize = 1_614;
const JUMBO_BYTES: usize = 9_000;
const JUMBO_MTU: usize = 9_000;
const USUAL_MTU: usize = 1_500;
/// Bytes of an Ethernet header, which the MTU is without.
const HEADER_BYTES: usize = 14;
/// The VLANs of the action that changes a VLAN.
const VLAN: u16 = 5;
const OTHER_VLAN: u16 = 6;

/// The points of `action-delay`.
pub fn action_delay_points(limits: &Limits) -> Vec<Point> {
    let mut points = Vec::new();
    for kind in ["output", "vlan"] {
        let (size_step, load_step) = if limits.short {
            (SHORT_SIZE_STEP, SHORT_LOAD_STEP)
        } else {
            (1, 1)
        };
        for bytes in SIZES.iter().step_by(size_step) {
            points.push(Point::of(kind).bytes(*bytes).mbps(USUAL_MBPS));
        }
        let loads = LOADS.iter().step_by(load_step);
        for mbps in loads.take_while(|mbps| !limits.short || **mbps <= SHORT_MOST_MBPS) {
            points.push(Point::of(kind).bytes(LOAD_BYTES).mbps(*mbps));
        }
    }
    points.push(Point::of("knee").bytes(LOAD_BYTES));
    points
}

/// The delay of one action.
pub fn action_delay(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    match &point.kind[..] {
        "knee" => {
            bench.reset()?;
            knee(bench, point)
        }
        "vlan" if bench.controller.is_none() => {
            let note = "without OpenFlow there is no such action";
            Ok(PointOutcome::of(CaseVerdict::Unsupported, note))
        }
        "vlan" => {
            let template = Template::rewritten(point.bytes, tagged(VLAN), tagged(OTHER_VLAN));
            let actions = format!("mod_vlan_vid:{OTHER_VLAN}");
            with_rule(
                bench,
                point,
                &format!("dl_vlan={VLAN}"),
                &actions,
                &template,
            )
        }
        _ => {
            bench.reset()?;
            let load = bench.load(point);
            bench.outcome(&Template::plain(point.bytes), &load)
        }
    }
}

/// The headers of a frame of a VLAN.
fn tagged(vlan: u16) -> FrameHeaders {
    FrameHeaders {
        vlan: Some((0x8100, vlan)),
        ..FrameHeaders::default()
    }
}

/// Measures with one rule for each direction.
fn with_rule(
    bench: &mut Workbench<'_>,
    point: &Point,
    fields: &str,
    actions: &str,
    template: &Template,
) -> Result<PointOutcome> {
    let [near, far] = bench.ports;
    let mut all = vec![format!("output:{far}")];
    if !actions.is_empty() {
        all.insert(0, actions.into());
    }
    let actions = all.join(",");
    let forth = format!("priority=20,in_port={near},{fields},actions={actions}");
    let rules = [forth, bench.back_rule()];
    with_rules(bench, point, &rules, template)
}

/// Measures with some rules; a switch that refuses them does not support what they ask.
fn with_rules(
    bench: &mut Workbench<'_>,
    point: &Point,
    rules: &[String],
    template: &Template,
) -> Result<PointOutcome> {
    match bench.set_rules(rules) {
        Ok(()) => {}
        Err(error @ (ControlError::Refused(_) | ControlError::Unsupported(_))) => {
            return Ok(PointOutcome::of(
                CaseVerdict::Unsupported,
                error.to_string(),
            ));
        }
        Err(error) => return Err(error.into()),
    }
    let load = bench.load(point);
    bench.outcome(template, &load)
}

/// The highest load without loss, and that at which delays have grown.
///
/// Errors: no frame arrives, or the interfaces'.
pub fn knee(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    bench.served(|bench| search_knee(bench, point))
}

/// The same; the switch is served meanwhile.
fn search_knee(bench: &Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let template = Template::plain(point.bytes);
    let idle = bench.observe_rate(&template, &bench.load(point))?;
    let idle_p99 = Summary::of(&idle.delays_ns).ok_or("no frame arrived")?.p99;
    let idle_lost = idle.lost();
    let permitted = point.mbps_at(bench.limits.max_rate);
    let most = KNEE_MOST_MBPS.min(permitted);
    let mut passed = USUAL_MBPS.min(most);
    let lowest = passed;
    let mut failed = f64::INFINITY;
    let mut quick = passed;
    let mut by_instrument = false;
    for _ in 0..2 * KNEE_STEPS {
        let narrow = failed / passed < 1.05;
        if narrow || passed >= most || (bench.over)() {
            break;
        }
        let next = if failed.is_finite() {
            (passed + failed) / 2.0
        } else {
            (passed * 4.0).min(most)
        };
        let tried = try_load(bench, point, &template, next)?;
        if tried.passes {
            passed = next;
            if tried.p99 <= KNEE_DELAY * idle_p99 {
                quick = quick.max(next);
            }
        } else {
            failed = next;
            by_instrument = tried.by_instrument;
        }
    }
    // The delays, which this program stamped whatever the clock of the run is, are no result.
    let mut outcome = PointOutcome {
        frames_per_second: rate_of(point, passed),
        ..PointOutcome::default()
    }
    .with("highest load without loss", "Mb/s", passed)
    .with(
        "highest rate without loss",
        "frames/s",
        rate_of(point, passed),
    )
    .with(
        "highest load with p99 below 10 times the idle one",
        "Mb/s",
        quick,
    );
    if passed <= lowest && idle_lost > 0 {
        let lost = format!("{idle_lost} frames were lost at the lowest load");
        outcome.beyond.push(lost);
    }
    if failed.is_finite() && !by_instrument {
        let load = ProbeLoad::new(bench.frames(), rate_of(point, failed));
        outcome.ended_by = Some(counted_load(bench, &template, &load));
    }
    if by_instrument {
        outcome.notes.push(format!(
            "{AT_LEAST}: the instrument, not the switch, ends the search"
        ));
    }
    if passed >= permitted {
        outcome
            .notes
            .push(format!("{AT_LEAST}: --max-rate ended the search"));
    }
    Ok(outcome)
}

/// A load of which a wire loses nothing, if it is the switch that did.
pub fn counted_load(
    bench: &Workbench<'_>,
    template: &Template,
    load: &ProbeLoad<'_>,
) -> CountedLoad {
    CountedLoad {
        load: bench.frame_load(template, load),
        warm_up: load.warm_up,
    }
}

/// Frames per second of a point at a load.
fn rate_of(point: &Point, mbps: f64) -> f64 {
    let loaded = Point {
        mbps,
        ..point.clone()
    };
    loaded.frames_per_second()
}

/// The result of a load of the search.
struct Tried {
    passes: bool,
    /// True if it failed because the instrument did not send at the rate, or lost frames itself.
    by_instrument: bool,
    /// The greatest 99th percentile, nanoseconds.
    p99: f64,
}

/// Times that a load is tried.
fn knee_runs(limits: &Limits) -> usize {
    if limits.short || limits.reduced {
        1
    } else {
        KNEE_RUNS
    }
}

/// The most seconds that the search for a knee takes, roughly: all its loads are above the first.
pub fn knee_seconds(limits: &Limits, point: &Point) -> f64 {
    let loads = 1 + 2 * KNEE_STEPS * knee_runs(limits);
    loads as f64 * limits.seconds(point, limits.echo)
}

fn try_load(bench: &Workbench<'_>, point: &Point, template: &Template, mbps: f64) -> Result<Tried> {
    let rate = rate_of(point, mbps);
    let mut tried = Tried {
        passes: true,
        by_instrument: false,
        p99: 0.0,
    };
    for _ in 0..knee_runs(bench.limits) {
        if !tried.passes {
            break;
        }
        let seen = bench.observe_rate(template, &ProbeLoad::new(bench.frames(), rate))?;
        tried.by_instrument = !seen.is_trustworthy();
        tried.passes = seen.lost() == 0 && seen.is_faithful();
        let p99 = Summary::of(&seen.delays_ns).map_or(f64::INFINITY, |all| all.p99);
        tried.p99 = tried.p99.max(p99);
    }
    Ok(tried)
}

/// The fields of a match by the kind of the point: those of the papers first.
fn fields(kind: &str) -> String {
    let macs = format!(
        "dl_src={},dl_dst={}",
        mac_text(A_MAC),
        mac_text(ABSENT_HOSTS[0])
    );
    let ip = format!("nw_src={A_ADDRESS},nw_dst={B_ADDRESS}");
    let ports = format!("tp_src={},tp_dst={}", PORTS.0, PORTS.1);
    match kind {
        "mac" => macs,
        "ip" => format!("ip,{ip}"),
        "udp" => format!("udp,{ip},{ports}"),
        "exact" => format!("udp,{macs},dl_vlan=0xffff,nw_tos=0,{ip},{ports}"),
        "lpm" => "ip,nw_dst=10.9.0.0/16".into(),
        "ternary" => "dl_dst=02:00:00:00:00:00/ff:ff:00:00:00:00".into(),
        "ipv6" => format!("udp6,ipv6_src={A_ADDRESS6},ipv6_dst={B_ADDRESS6},{ports}"),
        _ => String::new(),
    }
}

/// The points of `match-type`.
pub fn match_type_points(limits: &Limits) -> Vec<Point> {
    let kinds = [
        "port", "mac", "ip", "udp", "exact", "lpm", "ternary", "ipv6", "2 tables", "8 tables",
    ];
    let sizes: &[usize] = if limits.short {
        &[64]
    } else {
        &[64, 128, 256, 512, 1024, 1514]
    };
    let mut points = Vec::new();
    for bytes in sizes {
        points.extend(kinds.map(|kind| Point::of(kind).bytes(*bytes)));
    }
    points
}

/// The delay by what is matched.
pub fn match_type(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let kind = &point.kind[..];
    let mut headers = FrameHeaders::default();
    if kind == "ipv6" {
        headers.ip6 = Some([A_ADDRESS6, B_ADDRESS6]);
        headers.has_checksum = true;
    }
    let template = Template::rewritten(point.bytes, headers, headers);
    let tables = kind.strip_suffix(" tables");
    let Some(tables) = tables.and_then(|n| n.parse::<u8>().ok()) else {
        return with_rule(bench, point, &fields(kind), "", &template);
    };
    let [near, far] = bench.ports;
    let mut rules = vec![bench.back_rule()];
    rules.push(format!(
        "priority=20,in_port={near},actions=write_metadata:1,goto_table:1"
    ));
    for table in 1..tables - 1 {
        let next = table + 1;
        rules.push(format!(
            "table={table},metadata=1,actions=write_metadata:1,goto_table:{next}"
        ));
    }
    rules.push(format!(
        "table={},metadata=1,actions=output:{far}",
        tables - 1
    ));
    with_rules(bench, point, &rules, &template)
}

/// The points of `mode-speedup`.
pub fn mode_points(limits: &Limits) -> Vec<Point> {
    let sizes: &[usize] = if limits.short { &[64] } else { &[64, 128, 256] };
    let mut points = Vec::new();
    for bytes in sizes {
        points.extend(["openflow", "legacy"].map(|kind| Point::of(kind).bytes(*bytes)));
    }
    points
}

/// The delay in OpenFlow mode, and in the switch's own mode: by NORMAL, or without OpenFlow.
pub fn mode(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let template = Template::plain(point.bytes);
    if point.kind == "openflow" {
        if bench.controller.is_none() {
            let note = "this set-up speaks no OpenFlow";
            return Ok(PointOutcome::of(CaseVerdict::Unsupported, note));
        }
        return with_rule(bench, point, "", "", &template);
    }
    with_rules(
        bench,
        point,
        &["priority=10,actions=NORMAL".into()],
        &template,
    )
}

/// The points of `rewrite`.
pub fn rewrite_points(_: &Limits) -> Vec<Point> {
    let bytes = DEFAULT_BYTES;
    REWRITES
        .iter()
        .map(|row| Point::of(row.name).bytes(bytes))
        .collect()
}

/// The delay of one rewrite.
pub fn rewrite(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let mut rows = REWRITES.iter();
    let row = rows
        .find(|row| row.name == point.kind)
        .ok_or("no such rewrite")?;
    let template = Template::rewritten(point.bytes, (row.sent)(), (row.arriving)());
    with_rule(bench, point, row.fields, row.actions, &template)
}

/// The points of `mtu`.
pub fn mtu_points(_: &Limits) -> Vec<Point> {
    vec![
        Point::of("usual MTU").bytes(1_514),
        Point::of("usual MTU").bytes(LARGE_BYTES),
        Point::of("jumbo MTU").bytes(JUMBO_BYTES),
    ]
}

/// Measures how large frames are treated. Where the hosts are the meter's, the MTU of the switch's
/// interfaces is as the point says; elsewhere the user has set it.
pub fn mtu(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    bench.reset()?;
    let jumbo = point.kind == "jumbo MTU";
    let switch = if jumbo { JUMBO_MTU } else { USUAL_MTU };
    set_mtu(bench.subject, JUMBO_MTU, switch)?;
    let load = bench.load(point);
    let template = Template::plain(point.bytes);
    let seen = bench.served(|bench| bench.observe(&template, &load));
    set_mtu(bench.subject, USUAL_MTU, USUAL_MTU)?;
    let seen = seen?;
    let mut outcome = PointOutcome::observed(&seen);
    outcome.load = Some(bench.frame_load(&template, &load));
    outcome.notes.push(match (seen.received, seen.lost()) {
        (0, _) => "dropped".into(),
        (_, 0) => "forwarded whole".into(),
        (some, lost) => format!("{some} forwarded, {lost} lost"),
    });
    Ok(outcome)
}

/// The MTU by which frames of a size pass.
pub fn mtu_of(bytes: usize) -> usize {
    if bytes > USUAL_MTU + HEADER_BYTES {
        JUMBO_MTU
    } else {
        USUAL_MTU
    }
}

/// Sets the MTU of the hosts, and of the switch's ports, if they are the meter's.
///
/// Errors: the system's.
pub fn set_mtu(subject: &TestSubject, hosts: usize, switch: usize) -> Result<()> {
    let Some(bed) = subject.bed() else {
        return Ok(());
    };
    for far in [false, true] {
        bed.host(far, || run(&format!("ip link set {HOST_PORT} mtu {hosts}")))?;
    }
    for port in SWITCH_PORTS {
        // Two hosts on one cable have no ports of a switch.
        let _ = run(&format!("ip link set {port} mtu {switch}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_an_mtu_by_which_it_passes_a_wire() {
        assert!(SIZES.map(mtu_of) == [USUAL_MTU; SIZES.len()]);
        for point in mtu_points(&Limits::unbounded(false)) {
            let most = mtu_of(point.bytes) + HEADER_BYTES;
            assert!(point.bytes <= most, "{}", point.name);
        }
    }
}
