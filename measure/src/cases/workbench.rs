//! The workbench of a case: the subject, a controller of it, and the amount to measure.

use std::time::{Duration, Instant};

use bofuss_oflib::{PortNo, Version};

use crate::cases::point::{CaseVerdict, FrameLoad, Point, PointOutcome};
use crate::cases::settle::Settling;
use crate::error::{ControlError, Result};
use crate::statistics::{mean, median};
use crate::subject::TestSubject;
use crate::subject::address::{SwitchAddress, patiently};
use crate::subject::controller::{ControlSession, Controlled, STALL_SECONDS};
use crate::subject::probe::{FrameProbe, Observation, ProbeLoad, SINGLE_FRAMES};
use crate::subject::template::{FrameSignature, Template};
use crate::testbed::openflow::exact;
use crate::testbed::traffic::flow_ports;

/// Frames of a series, in one direction and for round trips. Both numbers are those of the papers.
const FORTH_FRAMES: u32 = 30_000;
const ECHO_FRAMES: u32 = 10_000;
/// The same in the shortest form.
const SHORT_FRAMES: u32 = 300;
/// The load of cases that have none of their own, in Mb/s.
pub const USUAL_MBPS: f64 = 10.0;
/// Rules that a switch that the meter starts is given at most, unless the user says otherwise.
pub const MAX_OWN_RULES: u32 = 1_000_000;
/// The factor by which links of a live data centre are slower than the paper's, unless the user
/// says otherwise.
pub const USUAL_SCALE: u32 = 8;
/// The time to wait for a packet-out before another port is tried, and for all of them in the end:
/// a slow switch may take longer for each.
const PORT_PATIENCE: Duration = Duration::from_millis(300);
const ALL_PORTS_PATIENCE: Duration = Duration::from_secs(3);
/// The metrics of what the meter has to find of a forwarder with faults.
const TRUE_MEDIAN: &str = "true delay between its ports, p50";
/// See [`TRUE_MEDIAN`].
const TRUE_MEAN: &str = "true delay between its ports, mean";
/// The metric of the part of a round trip that is not the switch's.
const FAR_END: &str = "time at the far end, p50";
/// The rule priority that cases use for forwarding from one side to the other.
const BASE_PRIORITY: u16 = 10;

/// The priority of rules of single flows, above that of all other rules.
const FLOW_PRIORITY: u16 = 20;

/// Seconds of a step in which it sends no frames: it sets rules, and waits for late frames.
const MOMENT_SECONDS: f64 = 0.5;

/// The amount to measure, and the limits of a case.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Frames of a series; 0 is the case's own number.
    pub frames: u32,
    /// The repeats that share the case's own number of frames or requests: each has one part of it.
    pub parts: u32,
    /// True if all is in its shortest form.
    pub short: bool,
    /// Seconds of a trial of RFC 2544.
    pub trial_seconds: f64,
    /// True if a data centre has fewer flows and loads, and other cases few frames, so that all
    /// cases of a paper take at most ten minutes.
    pub reduced: bool,
    /// True if frames go there and back.
    pub echo: bool,
    /// Rules in the switch at most.
    pub max_rules: u32,
    /// Frames per second at most.
    pub max_rate: f64,
    /// The time that a switch may take to answer.
    pub stall: Duration,
    /// Bytes at which flows of a data centre are cut off, if the user says so.
    pub largest_flow: Option<f64>,
    /// The factor by which the links of a live data centre are slower.
    pub scale: u32,
}

impl Limits {
    /// Everything that the cases ask for.
    pub fn unbounded(short: bool) -> Self {
        Self {
            frames: 0,
            parts: 1,
            short,
            trial_seconds: trial_seconds(None, short),
            reduced: false,
            echo: false,
            max_rules: MAX_OWN_RULES,
            max_rate: f64::MAX,
            stall: Duration::from_secs(STALL_SECONDS),
            largest_flow: None,
            scale: USUAL_SCALE,
        }
    }

    /// Frames of a series, one way or there and back.
    fn frames(&self, is_echo: bool) -> u32 {
        let usual = if is_echo { ECHO_FRAMES } else { FORTH_FRAMES };
        match self.frames {
            0 if self.short || self.reduced => SHORT_FRAMES,
            0 => self.part(usual),
            other => other,
        }
    }

    /// The part of a case's own number that one repeat has.
    fn part(&self, usual: u32) -> u32 {
        usual.div_ceil(self.parts)
    }

    /// A count of a case in one repeat: a part of the usual one, or that of the shortest form.
    pub fn count(&self, usual: u32, short: u32) -> u32 {
        if self.short { short } else { self.part(usual) }
    }

    /// About how many seconds a step takes that sends the load of a point once.
    pub fn seconds(&self, point: &Point, is_echo: bool) -> f64 {
        let load = self.load(point, is_echo);
        MOMENT_SECONDS + f64::from(load.frames + load.warm_up) / load.rate
    }

    /// The load of a point, one way or there and back.
    pub fn load(&self, point: &Point, is_echo: bool) -> ProbeLoad<'static> {
        let mbps = if point.mbps > 0.0 {
            point.mbps
        } else {
            USUAL_MBPS
        };
        let rate = Point {
            mbps,
            ..point.clone()
        }
        .frames_per_second();
        ProbeLoad::new(self.frames(is_echo), rate.min(self.max_rate))
    }
}

/// Seconds of a trial. Spec: RFC 2544 section 24.
pub const TRIAL_SECONDS: f64 = 60.0;
/// Those of the shortest form.
const SHORT_TRIAL_SECONDS: f64 = 0.2;

/// Seconds of a trial: what the user says, or what is usual.
pub fn trial_seconds(wanted: Option<u32>, short: bool) -> f64 {
    let usual = if short {
        SHORT_TRIAL_SECONDS
    } else {
        TRIAL_SECONDS
    };
    wanted.map_or(usual, f64::from)
}

/// The place where a case runs.
pub struct Workbench<'a> {
    /// The subject.
    pub subject: &'a TestSubject,
    /// Its controller, if it speaks OpenFlow.
    pub controller: Option<ControlSession>,
    /// The versions that the controller offers.
    versions: Vec<Version>,
    /// The OpenFlow numbers of the ports that frames go into and come out of.
    pub ports: [PortNo; 2],
    /// The amount to measure.
    pub limits: &'a Limits,
    /// The number of this repeat, from 1.
    pub round: u32,
    /// The waits until the switch is quiet.
    pub settling: Settling,
    /// Returns true if the user wants an end.
    pub over: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Workbench<'a> {
    /// Connects to the subject, and finds its ports.
    ///
    /// Errors: the connection's; a side at which none of the switch's ports is.
    pub fn new(
        subject: &'a TestSubject,
        versions: &[Version],
        limits: &'a Limits,
        over: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self> {
        let mut this = Self {
            subject,
            controller: None,
            versions: versions.to_vec(),
            ports: [PortNo(1), PortNo(2)],
            limits,
            round: 1,
            settling: Settling::default(),
            over,
        };
        this.connect()?;
        if let Some(controller) = &mut this.controller {
            this.ports = find_ports(subject, controller)?;
        }
        this.note_rest();
        Ok(this)
    }

    /// The controller.
    ///
    /// Errors: the subject does not speak OpenFlow.
    pub fn control(&mut self) -> Controlled<&mut ControlSession> {
        let missing = || ControlError::Other("this set-up does not speak OpenFlow".into());
        self.controller.as_mut().ok_or_else(missing)
    }

    /// Connects anew if the switch has closed the connection, as some do whose echo requests were
    /// not answered while their controller did something else.
    ///
    /// Errors: the switch takes no connection, or does not answer.
    pub fn reconnect_if_closed(&mut self) -> Result<()> {
        let controller = self.controller.as_mut();
        if controller.is_some_and(ControlSession::is_closed) {
            self.connect()?;
        }
        Ok(())
    }

    /// Connects to a subject that speaks OpenFlow.
    ///
    /// Errors: the switch takes no connection, or does not answer.
    pub fn connect(&mut self) -> Result<()> {
        if let Some(address) = &self.subject.address {
            let mut fresh = ControlSession::connect(address, &self.versions, self.limits.stall)?;
            if let Some(old) = &mut self.controller {
                fresh.take_over(old);
            }
            self.controller = Some(fresh);
        }
        Ok(())
    }

    /// Connects anew if the connection is closed, to a switch that may be restarting. It has as
    /// long as it may take to answer.
    ///
    /// Errors: it is still gone.
    pub fn await_switch(&mut self) -> Result<()> {
        let (stall, over) = (self.limits.stall, self.over);
        patiently(stall, over, || self.reconnect_if_closed())
    }

    /// Connects anew to a switch that has ended or hangs: it may do so on one connection only. One
    /// that connects to the meter has only one, and is waited for if that is closed.
    ///
    /// Errors: it takes no connection, or does not answer.
    pub fn connect_anew(&mut self) -> Result<()> {
        if let Some(SwitchAddress::Active(_)) = self.subject.address {
            let (stall, over) = (self.limits.stall, self.over);
            return patiently(stall, over, || self.connect());
        }
        self.await_switch()
    }

    /// The verdict on a switch that did not do what was requested, by whether it has closed its
    /// connection.
    pub fn verdict(&mut self) -> CaseVerdict {
        let controller = self.controller.as_mut();
        if controller.is_some_and(ControlSession::is_closed) {
            return CaseVerdict::Crashes;
        }
        CaseVerdict::Fails
    }

    /// The version that is spoken, if any.
    pub fn version(&self) -> Option<Version> {
        self.controller.as_ref().map(ControlSession::version)
    }

    /// Returns true if frames go there and back.
    pub fn is_echo(&self) -> bool {
        self.limits.echo || self.subject.is_reflected_elsewhere()
    }

    /// Frames of a series.
    pub fn frames(&self) -> u32 {
        self.limits.frames(self.is_echo())
    }

    /// A count of the case in one repeat; see [`Limits::count`].
    pub fn count(&self, usual: u32, short: u32) -> u32 {
        self.limits.count(usual, short)
    }

    /// The rules of a case, within what is permitted.
    pub fn rules(&self, wanted: u32) -> u32 {
        wanted.min(self.limits.max_rules)
    }

    /// Removes all entries of the switch, and adds the two that connect its ports.
    pub fn reset(&mut self) -> Result<()> {
        let [near, far] = self.ports;
        let forth = format!("priority={BASE_PRIORITY},in_port={near},actions=output:{far}");
        Ok(self.set_rules(&[forth, self.back_rule()])?)
    }

    /// Replaces all entries of the switch, and waits until it is quiet.
    pub fn set_rules(&mut self, rules: &[String]) -> Controlled<()> {
        let Some(controller) = &mut self.controller else {
            return Ok(());
        };
        controller.remove_all()?;
        controller.add(rules)?;
        self.settle();
        Ok(())
    }

    /// The rule for frames that come back.
    pub fn back_rule(&self) -> String {
        let [near, far] = self.ports;
        format!("priority={BASE_PRIORITY},in_port={far},actions=output:{near}")
    }

    /// The rule of one flow.
    pub fn flow_rule(&self, flow: u32, actions: &str) -> String {
        let (source, destination) = flow_ports(flow);
        let near = self.ports[0];
        let fields = exact(source, destination);
        format!("priority={FLOW_PRIORITY},in_port={near},{fields},actions={actions}")
    }

    /// The load of a point.
    pub fn load(&self, point: &Point) -> ProbeLoad<'static> {
        self.limits.load(point, self.is_echo())
    }

    /// Sends a load from one side to the other, stamped by the clock of the run.
    pub fn observe(&self, template: &Template, load: &ProbeLoad<'_>) -> Result<Observation> {
        self.observe_by(template, load, true)
    }

    /// The same, stamped by this program: for rates, as it can send most.
    pub fn observe_rate(&self, template: &Template, load: &ProbeLoad<'_>) -> Result<Observation> {
        self.observe_by(template, load, false)
    }

    fn observe_by(
        &self,
        template: &Template,
        load: &ProbeLoad<'_>,
        stamped: bool,
    ) -> Result<Observation> {
        let mut reflector = None;
        let mut template = template.clone();
        // Only plain frames go back.
        let echo = self.is_echo() && template.is_reflectable();
        if echo {
            reflector = self.subject.reflector(stamped, load.warm_up)?;
            template.arriving = template.arriving.reflected();
        } else if self.subject.is_reflected_elsewhere() {
            return Err("this case needs both ends at this machine".into());
        }
        let probe = if stamped {
            self.subject.stamped_probe(echo)
        } else {
            self.subject.probe(echo)
        };
        let mut seen = probe?.run(&template, load, self.over)?;
        if let Some(reflector) = reflector {
            let reflected = reflector.end()?;
            seen.far_end_ns = reflected.median_ns();
            seen.dropped_here += reflected.dropped;
        }
        Ok(seen)
    }

    /// Runs `work` while the switch's echo requests are answered: it may take minutes, in which the
    /// switch would close the connection.
    pub fn served<T>(&mut self, work: impl FnOnce(&Self) -> T) -> T {
        let Some(mut controller) = self.controller.take() else {
            return work(self);
        };
        let result = controller.serve_during(|| work(self));
        self.controller = Some(controller);
        result
    }

    /// The number of packet-ins that have come since this was asked last, if there is a controller.
    fn take_packet_ins(&mut self) -> Result<Option<u64>> {
        let controller = self.controller.as_mut();
        let taken = controller.map(ControlSession::take_packet_ins);
        Ok(taken.transpose()?)
    }

    /// The load of frames that a wire and the yardstick are measured at, too.
    pub fn frame_load(&self, template: &Template, load: &ProbeLoad<'_>) -> FrameLoad {
        FrameLoad {
            bytes: template.sent.bytes.len(),
            frames: load.frames,
            rate: load.rate,
            echo: self.is_echo() && template.is_reflectable(),
        }
    }

    /// The outcome of a load, which is no result if packet-ins came meanwhile.
    pub fn outcome(&mut self, template: &Template, load: &ProbeLoad<'_>) -> Result<PointOutcome> {
        self.take_packet_ins()?;
        let truth = self.subject.true_delays();
        let seen = self.served(|bench| bench.observe(template, load))?;
        let mut outcome = outcome_of(&seen, self.take_packet_ins()?)?;
        let echo = self.is_echo() && template.is_reflectable();
        let known = truth
            .map(|delays| delays.read(load.warm_up, echo))
            .transpose()?;
        if let Some(known) = known.filter(|known| !known.is_empty()) {
            outcome.add(TRUE_MEDIAN, "us", median(&known) / 1e3);
            outcome.add(TRUE_MEAN, "us", mean(&known) / 1e3);
        }
        if seen.far_end_ns > 0.0 {
            outcome.add(FAR_END, "us", seen.far_end_ns / 1e3);
        }
        outcome.load = Some(self.frame_load(template, load));
        if self.is_echo() && !echo {
            let note = "one way: the far end does not send such frames back";
            outcome.notes.push(note.into());
        }
        Ok(outcome)
    }
}

/// The outcome of a load, with the packet-ins that were counted, if there is a controller.
fn outcome_of(seen: &Observation, packet_ins: Option<u64>) -> Result<PointOutcome> {
    if seen.received == 0 {
        return Err("no frame arrived".into());
    }
    let mut outcome = PointOutcome::observed(seen);
    if let Some(packet_ins) = packet_ins {
        outcome.count_packet_ins(packet_ins);
    }
    Ok(outcome)
}

/// The frame that is sent out of a port to find where it comes out.
fn port_frame(port: PortNo) -> Vec<u8> {
    let mut template = Template::plain(0);
    template.sent.sign(FrameSignature {
        run: SINGLE_FRAMES,
        number: port.0,
        departed_ns: 0,
    });
    template.sent.bytes
}

/// The port whose frame arrives in time, of all that have been sent.
fn arrived_from(
    probe: &mut FrameProbe,
    ports: &[PortNo],
    within: Duration,
) -> Result<Option<PortNo>> {
    let template = Template::plain(0);
    let start = Instant::now();
    let mut found = None;
    while found.is_none() && start.elapsed() < within {
        probe.poll(|bytes| {
            let signature = template.sent.read(bytes);
            let single = signature.filter(|signature| signature.run == SINGLE_FRAMES);
            let port = single.map(|signature| PortNo(signature.number));
            found = found.or(port.filter(|port| ports.contains(port)));
        })?;
    }
    Ok(found)
}

/// The port of the switch that is at this side: a packet-out to it comes out here.
fn port_at(
    probe: &mut FrameProbe,
    controller: &mut ControlSession,
    ports: &[PortNo],
) -> Result<Option<PortNo>> {
    for port in ports {
        controller.change(&[ControlSession::packet_out(&port_frame(*port), *port)])?;
        let found = arrived_from(probe, ports, PORT_PATIENCE)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    arrived_from(probe, ports, ALL_PORTS_PATIENCE)
}

/// Finds the OpenFlow numbers of the ports at both sides.
fn find_ports(subject: &TestSubject, controller: &mut ControlSession) -> Result<[PortNo; 2]> {
    let ports = controller.ports()?;
    let near = port_at(&mut subject.probe(true)?, controller, &ports)?
        .ok_or("no port of the switch is at the interface that frames go into")?;
    let mut far = None;
    if !subject.is_reflected_elsewhere() {
        far = port_at(&mut subject.probe(false)?, controller, &ports)?;
    }
    match far {
        Some(far) => Ok([near, far]),
        // The other machine is at one of the other ports: with two of them, it is known which.
        None => match &ports[..] {
            [one, two] => Ok([near, if *one == near { *two } else { *one }]),
            _ => Err("no port of the switch is at the interface that frames come out of".into()),
        },
    }
}
