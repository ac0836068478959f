//! What forwards frames of known flows below the switch: begun, kept in step with ports and
//! captures, and shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use bofuss_accel::{FlowBelow, InKernel, Interface, Standing, Waiting};
use bofuss_datapath::Time;
use bofuss_datapath::engine::ReviewScope;
use bofuss_ext::Switch;
use bofuss_oflib::PortNo;
use bofuss_ports::Link;
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use super::traces::PendingTraces;
use crate::config::{Accelerate, AccelerateOptions};
use crate::dataplane::io::DataPlaneIo;
use crate::dataplane::thread_clock::ThreadClock;
use crate::error::Result;
use crate::successor::Below;

/// The most flows that are shown, so that this takes no longer than some frames do.
const MOST_SHOWN: usize = 256;

/// Why a port is not accelerated of which an export sees all frames.
const EXPORTED: &str = "sFlow or IPFIX see its frames";
/// Why one is not whose interface has got an address.
const ADDRESSED: &str = "it has got an address, so the host's stack receives its frames, too";
/// Why one is not that other interfaces receive frames by.
const SHARED: &str = "an interface lies upon it, which receives its frames, too";
/// Why one is not that a bridge or bond has got.
const ENSLAVED: &str = "it has got a master, which receives its frames, too";
/// The reasons that hold for as long as they are found.
const FOUND: [&str; 4] = [EXPORTED, ADDRESSED, SHARED, ENSLAVED];

/// Why one is not that the kernel does not know.
const NO_INTERFACE: &str = "it has no interface";

/// What forwards frames below the switch.
pub struct Acceleration {
    /// The accelerator, or why there is none.
    kernel: std::result::Result<InKernel, String>,
    /// Whether the user has asked for it, and wants to know which ports it leaves out.
    is_required: bool,
    /// Why ports are not accelerated.
    refused: BTreeMap<PortNo, String>,
    /// Why it is paused.
    paused: Option<&'static str>,
    /// True if flows that are not below stay above.
    takes_no_more: bool,
    /// The addresses that interfaces have got since the switch began, by their numbers.
    addresses: BTreeSet<(u32, IpAddr)>,
    /// The interfaces that lie upon others and are up, by their numbers, and the others.
    uppers: BTreeMap<u32, u32>,
}

impl Acceleration {
    /// None, for this reason.
    pub fn off(why: impl Into<String>) -> Self {
        Self {
            kernel: Err(why.into()),
            is_required: false,
            refused: BTreeMap::new(),
            paused: None,
            takes_no_more: false,
            addresses: BTreeSet::new(),
            uppers: BTreeMap::new(),
        }
    }

    /// How many frames were dropped that arrived on a port, so that others of their flows could
    /// leave first.
    pub fn held_back(&self, number: PortNo) -> u64 {
        let kernel = self.kernel.as_ref();
        kernel.map_or(0, |kernel| kernel.held(number))
    }

    /// Where frames of a packet's flow are forwarded, if there is an accelerator.
    pub fn place(
        &self,
        now: Time,
        switch: &Switch,
        number: PortNo,
        frame: &[u8],
    ) -> Option<String> {
        let kernel = self.kernel.as_ref().ok()?;
        let why = match kernel.has_flow(number, frame) {
            Ok(true) => {
                let why = kernel.leaves(number, frame);
                let but = why.map_or(String::new(), |why| format!(", but not this one: {why}"));
                return Some(format!("in the kernel, below the switch{but}"));
            }
            Ok(false) => switch.datapath().why_inside(now, number, frame),
            Err(why) => Some(why.to_string()),
        };
        let why = why.unwrap_or_else(|| "its next frames may bring it below".into());
        Some(format!("by the switch: {why}"))
    }

    /// What it does now, if there is an accelerator.
    pub fn standing(&self) -> Option<Standing> {
        self.kernel.as_ref().ok().map(InKernel::standing)
    }

    /// Whether it is `on`, `idle` or `off`, and why it is not on.
    pub fn state(&self) -> (&'static str, Option<String>) {
        match self.kernel.as_ref().map(InKernel::standing) {
            Err(why) => ("off", Some(why.clone())),
            Ok(standing) => match standing.idle_because {
                Some(why) => ("idle", Some(why.to_string())),
                None => ("on", None),
            },
        }
    }

    /// The reason why a port is not accelerated, if it is not.
    pub fn why_not(&self, number: PortNo) -> Option<String> {
        match &self.kernel {
            Err(why) => Some(why.clone()),
            Ok(kernel) if kernel.accelerates(number) => None,
            Ok(_) => {
                let why = self.refused.get(&number);
                Some(why.map_or(NO_INTERFACE, String::as_str).into())
            }
        }
    }

    /// Why others receive the frames of an interface, too, if they do.
    fn why_shared(&self, link: &Link) -> Option<&'static str> {
        if self.addresses.iter().any(|(index, _)| *index == link.index) {
            Some(ADDRESSED)
        } else if self.uppers.values().any(|lower| *lower == link.index) {
            Some(SHARED)
        } else {
            link.master.map(|_| ENSLAVED)
        }
    }

    /// The same as its text, as JSON.
    fn json(&self) -> Value {
        let kernel = match &self.kernel {
            Ok(kernel) => kernel,
            Err(why) => return json!({"state": "off", "why": why}),
        };
        let standing = kernel.standing();
        let is_idle = standing.idle_because.is_some();
        let accelerated = kernel.ports().into_iter().map(|number| {
            json!({"port": number.to_string(), "on": true, "held_back": kernel.held(number)})
        });
        let refused = self
            .refused
            .iter()
            .map(|(number, why)| json!({"port": number.to_string(), "on": false, "why": why}));
        json!({
            "state": if is_idle { "idle" } else { "on" },
            "why": standing.idle_because.map(|why| why.to_string()),
            "flows": standing.flows,
            "packets": standing.packets,
            "ports": accelerated.chain(refused).collect::<Value>(),
        })
    }

    /// Describes the accelerator, as text or with `--json`; with `--flows`, also the first flows.
    ///
    /// Errors: there is another option.
    pub(in crate::dataplane) fn describe(&self, options: &str) -> Result<String> {
        let (mut with_flows, mut json) = (false, false);
        for option in options.split_whitespace() {
            match option {
                "--flows" => with_flows = true,
                "--json" => json = true,
                other => return Err(format!("accelerator has no option '{other}'").into()),
            }
        }
        let kernel = self.kernel.as_ref().ok().filter(|_| with_flows);
        let flows = kernel.map_or(Vec::new(), |kernel| kernel.flows(MOST_SHOWN));
        if json {
            let mut value = self.json();
            if with_flows {
                value["first"] = flows.iter().map(flow_json).collect();
            }
            return Ok(format!("{value}\n"));
        }
        let mut text = self.to_string();
        for flow in &flows {
            text += &format!("flow {flow}\n");
        }
        let all = self.standing().map_or(0, |standing| standing.flows);
        if with_flows && all > flows.len() {
            text += &format!("and {} more\n", all - flows.len());
        }
        Ok(text)
    }
}

/// A flow as JSON.
fn flow_json(flow: &FlowBelow) -> Value {
    json!({
        "match": flow.matching.to_string(),
        "meter": flow.meter.map(|meter| meter.0),
        "legs": flow.legs,
        "packets": flow.packets,
        "bytes": flow.bytes,
        "idle_seconds": flow.idle.map(|idle| idle.as_secs_f64()),
    })
}

impl fmt::Display for Acceleration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = match &self.kernel {
            Ok(kernel) => kernel,
            Err(why) => return writeln!(f, "off: {why}"),
        };
        let standing = kernel.standing();
        match &standing.idle_because {
            Some(why) => writeln!(f, "idle: {why}")?,
            None => writeln!(f, "on")?,
        }
        writeln!(f, "flows {}", standing.flows)?;
        writeln!(f, "packets {}", standing.packets)?;
        for number in kernel.ports() {
            writeln!(f, "port {number} on, held_back {}", kernel.held(number))?;
        }
        for (number, why) in &self.refused {
            writeln!(f, "port {number} off: {why}")?;
        }
        Ok(())
    }
}

/// The accelerator of a live switch, with what it follows.
pub(in crate::dataplane) struct Accelerator<'a> {
    pub(super) acceleration: &'a mut Acceleration,
    pub(super) switch: &'a mut Switch,
    pub(super) io: &'a mut DataPlaneIo,
    pub(super) traces: &'a PendingTraces,
    pub(super) clock: &'a ThreadClock,
}

impl Accelerator<'_> {
    /// Loads the accelerator as configured, which takes up to 0.2 s; [`Self::begin`] lets it see
    /// frames. Needs the rights that the switch gives up later.
    ///
    /// Errors: it is to be on, and cannot be.
    pub(in crate::dataplane) fn load(&mut self, wanted: AccelerateOptions) -> Result<()> {
        let AccelerateOptions { when, flows } = wanted;
        if when == Accelerate::Off {
            return Ok(());
        }
        if self.io.followers.is_some() {
            let why = "--workers: several threads forward packets, and it works for one";
            if when == Accelerate::On {
                return Err(format!("--accelerate on: {why}").into());
            }
            info!("accelerator: off: {why}");
            *self.acceleration = Acceleration::off(why);
            return Ok(());
        }
        self.acceleration.is_required = when == Accelerate::On;
        let seed = self.switch.datapath().config().secret;
        match InKernel::load(flows, seed, self.clock.now()) {
            Ok(kernel) => {
                let accelerator = Box::new(kernel.clone());
                self.switch.engine_mut().accelerate(accelerator);
                self.acceleration.kernel = Ok(kernel);
                Ok(())
            }
            Err(why) if when == Accelerate::On => Err(format!("--accelerate on: {why}").into()),
            Err(why) => {
                info!("accelerator: off: {why}");
                *self.acceleration = Acceleration::off(why.to_string());
                Ok(())
            }
        }
    }

    /// Begins to accelerate the ports that there are, if it was loaded.
    pub(in crate::dataplane) fn begin(&mut self) {
        if self.acceleration.kernel.is_ok() {
            self.follow_ports();
            self.follow_copiers();
            info!("accelerator: {}", one_line(self.acceleration));
        }
    }

    /// Lets a successor's sockets have the filter, too, from now on: one that has given up may
    /// still use it. Returns it; `None` without an accelerator.
    pub(in crate::dataplane) fn share(&mut self) -> Option<Below> {
        let kernel = self.acceleration.kernel.as_ref().ok()?;
        kernel.share();
        let ports = kernel.ports().into_iter();
        let names = ports.filter_map(|number| self.io.ports.get(number)?.interface());
        Some(Below {
            filter: kernel.filter(),
            interfaces: names.map(String::from).collect(),
        })
    }

    /// Takes no further flows: frames of theirs wait in a successor's sockets, which others may not
    /// overtake.
    pub(in crate::dataplane) fn take_no_more(&mut self) {
        if let Ok(kernel) = &self.acceleration.kernel {
            kernel.end_holds();
            self.acceleration.takes_no_more = true;
        }
    }

    /// Ends, with all packets counted, when no program decides any more, because another process
    /// has taken the ports over. The programs that obeyed stay, and go with this process: to take
    /// one away takes the kernel some 10 ms.
    pub(in crate::dataplane) fn end(&mut self) {
        if self.acceleration.kernel.is_ok() {
            self.hear_of_stations();
            self.switch.engine_mut().take_back_flows();
        }
    }

    /// Notes that an interface has got an address, whose frames are for the host, too, or lost it.
    pub(in crate::dataplane) fn follow_address(&mut self, address: (u32, IpAddr), is_there: bool) {
        let known = &mut self.acceleration.addresses;
        if is_there {
            known.insert(address);
        } else {
            known.remove(&address);
        }
        self.follow_ports();
    }

    /// Notes which interface another one lies upon that is there, or is gone.
    pub(in crate::dataplane) fn follow_upper(&mut self, link: &Link, is_there: bool) {
        let lower = link.lower.filter(|_| is_there && link.admin_up);
        let known = &mut self.acceleration.uppers;
        let before = match lower {
            Some(lower) => known.insert(link.index, lower),
            None => known.remove(&link.index),
        };
        if before != lower {
            self.follow_ports();
        }
    }

    /// Lets the accelerator learn of changes.
    pub(super) fn review(&mut self, scope: ReviewScope) {
        if self.acceleration.kernel.is_ok() {
            let now = self.clock.now();
            self.switch.review(now, scope);
        }
    }

    /// Notes which frames of a port have left; `count` were just taken.
    pub(super) fn note_drained(&self, number: PortNo, count: usize) {
        if let Ok(kernel) = &self.acceleration.kernel
            && !self.acceleration.takes_no_more
        {
            let is_behind = self.switch.datapath().lane().backlog.has(number);
            let ports = &self.io.ports;
            kernel.drained(number, count, || {
                let room = ports.receive_room(number);
                Waiting {
                    is_none: !is_behind && ports.is_drained(number),
                    is_none_inside: !is_behind && ports.have_sent_all(),
                    most: room.map(|room| room.frames),
                    is_crowded: room.is_none_or(|room| room.is_half_full),
                }
            });
        }
    }

    /// Lets NORMAL know when stations were seen whose frames the kernel forwards.
    pub(in crate::dataplane) fn hear_of_stations(&mut self) {
        self.switch.settled();
        self.review(ReviewScope::All);
    }

    /// Has all frames come up while something needs to see them: a capture, a mirror, the record or
    /// a trace.
    pub(in crate::dataplane) fn follow_copiers(&mut self) {
        let Ok(kernel) = &self.acceleration.kernel else {
            return;
        };
        let why = if !self.io.ports.copiers.is_empty() {
            Some("captures or mirrors copy frames")
        } else if self.io.recorder.is_some() {
            Some("the record has all frames")
        } else if !self.traces.is_empty() {
            Some("a trace waits for its packet")
        } else {
            None
        };
        if why != self.acceleration.paused {
            self.acceleration.paused = why;
            kernel.pause(why);
            self.switch.engine_mut().take_back_flows();
        }
    }

    /// Accelerates the ports that there are, with their interfaces as they are now.
    pub(in crate::dataplane) fn follow_ports(&mut self) {
        let Self {
            io, acceleration, ..
        } = self;
        let Ok(kernel) = acceleration.kernel.clone() else {
            return;
        };
        let ports = &mut io.ports;
        let mut wanted = BTreeMap::new();
        let mut unwanted = BTreeMap::new();
        for port in ports.all() {
            let Some(link) = port.link() else { continue };
            let exported = ports.is_exported(port.number).then_some(EXPORTED);
            if let Some(why) = exported.or_else(|| acceleration.why_shared(link)) {
                unwanted.insert(port.number, why.into());
            } else {
                wanted.insert(port.number, interface(link));
            }
        }
        let is_right = |number: &PortNo| {
            let port = wanted.get(number);
            port.is_some_and(|port| kernel.has_port(*number, port))
        };
        let wrong: Vec<PortNo> = kernel
            .ports()
            .into_iter()
            .filter(|n| !is_right(n))
            .collect();
        if !wrong.is_empty() {
            self.switch.engine_mut().take_back_flows();
            for number in wrong {
                // A filter that nobody obeys would leave its section open, and each wait in vain.
                ports.clear_filter(number);
                kernel.remove_port(number);
            }
        }
        let is_kept = |why: &str| !FOUND.contains(&why);
        acceleration
            .refused
            .retain(|number, why| wanted.contains_key(number) && is_kept(why));
        acceleration.refused.append(&mut unwanted);
        for (number, interface) in wanted {
            if kernel.has_port(number, &interface) || acceleration.refused.contains_key(&number) {
                continue;
            }
            let filter = kernel.filter();
            let filtered = ports.set_filter(number, &filter);
            let added = filtered.map_err(|error| error.to_string()).and_then(|()| {
                kernel
                    .add_port(number, interface)
                    .map_err(|error| error.to_string())
            });
            if let Err(why) = added {
                ports.clear_filter(number);
                if acceleration.is_required {
                    warn!("accelerator: port {number}: {why}");
                } else {
                    debug!("accelerator: port {number}: {why}");
                }
                acceleration.refused.insert(number, why);
            }
        }
        kernel.explain(&acceleration.refused);
    }
}

fn interface(link: &Link) -> Interface {
    Interface {
        name: link.name.clone(),
        index: link.index,
        mtu_bytes: link.mtu_bytes,
    }
}

/// The lines of a text as one.
fn one_line(text: &impl fmt::Display) -> String {
    text.to_string().trim_end().replace('\n', ", ")
}
