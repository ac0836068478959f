//! The configuration of a running switch, which its ports, queues, connections and fail mode
//! follow.

use bofuss_agent::FailMode;
use bofuss_channel::{ActiveAddress, Origin};
use bofuss_datapath::QueueSpec;
use bofuss_embed::record::RecordedInput;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;
use tracing::{info, warn};

use super::live_switch::LiveSwitch;
use crate::config::{Config, ConfiguredQueue, PortKind, PortSpec};
use crate::error::{Error, Result};
use crate::port::OpenPort;

/// The fail mode now, and the one that it becomes once a controller has connected.
#[derive(Clone, Copy)]
pub(super) struct FailModes {
    pub(super) now: FailMode,
    later: Option<FailMode>,
}

/// The configuration of a running switch, to which changes are given as inputs.
pub(super) struct RunningConfig {
    /// The configuration as it is now.
    pub(super) current: Config,
    /// The fail mode that a change brought, if it waits for the first controller.
    later_fail_mode: Option<FailMode>,
}

/// The error of a port whose interface is one of this switch, which had it by an earlier name.
fn is_port_already(live: &LiveSwitch, spec: &PortSpec) -> Option<Error> {
    let PortKind::Interface(name) = &spec.kind else {
        return None;
    };
    let mut ports = live.io().ports.all();
    let port = ports.find(|port| port.interface() == Some(name.as_str()))?;
    let (number, opened) = (port.number, &port.name);
    Some(format!("port {name}: it is port {number} of this switch, opened as {opened}").into())
}

impl RunningConfig {
    /// The configuration that the switch was started with.
    pub(super) fn new(current: Config) -> Self {
        Self {
            current,
            later_fail_mode: None,
        }
    }

    /// Takes over a configuration that the switch has taken over, with its ports, of which `opened`
    /// are new, and their queues. Adds the effects, a line each, and returns the one before.
    ///
    /// Errors: the system's, a queue that is refused.
    pub(super) fn replace(
        &mut self,
        live: &mut LiveSwitch,
        mut new: Config,
        opened: Vec<OpenPort>,
        effects: &mut String,
    ) -> Result<Config> {
        let ports = std::mem::replace(&mut new.ports, std::mem::take(&mut self.current.ports));
        let old = std::mem::replace(&mut self.current, new);
        self.remove_queues(live, &old.queues);
        self.replace_ports(live, ports, opened, effects)?;
        self.replace_queues(live, &old.queues)?;
        Ok(old)
    }

    /// Replaces the list of controllers, and the fail mode.
    pub(super) fn set_controllers(
        &mut self,
        live: &mut LiveSwitch,
        controllers: Vec<ActiveAddress>,
        fail_mode: FailMode,
        is_configured: bool,
    ) {
        self.current.controllers = controllers;
        self.close_unwanted_connections(live);
        let fail_modes = self.fail_modes(live, fail_mode, is_configured);
        let _ = self.note_fail_modes(fail_modes);
        self.set_fail_mode(live, fail_modes.now);
    }

    /// The fail modes of a changed configuration that wants `wanted`. A default follows from the
    /// list of controllers, and nobody may listen at a new address: the mode that forwards stays
    /// until a controller has connected.
    pub(super) fn fail_modes(
        &self,
        live: &LiveSwitch,
        wanted: FailMode,
        is_configured: bool,
    ) -> FailModes {
        let now = self.current.fail_mode;
        let forwards = now != FailMode::Secure && wanted == FailMode::Secure;
        if forwards && !is_configured && !live.io().connections.have_controller() {
            let later = Some(wanted);
            FailModes { now, later }
        } else {
            let later = None;
            FailModes { now: wanted, later }
        }
    }

    /// Logs changed fail modes, and remembers the later one. Returns the effects, a line each.
    pub(super) fn note_fail_modes(&mut self, modes: FailModes) -> String {
        let old = self.current.fail_mode;
        let mut effects = String::new();
        if old != modes.now {
            let now = modes.now;
            let entry = match now {
                FailMode::Secure => "table 0 has no entry of the switch's own",
                FailMode::Standalone => "without a controller, table 0 forwards as NORMAL",
                FailMode::ArpPath => "without a controller, table 0 forwards as ARP-Path",
            };
            tell(
                &mut effects,
                &format!("fail mode: {old} before, {now} now: {entry}"),
            );
        }
        if let Some(later) = modes.later
            && self.later_fail_mode != modes.later
        {
            let line = format!(
                "fail mode: {old} until a controller has connected, then {later}, which is the \
                 default with controllers"
            );
            warn!("{line}");
            effects += &(line + "\n");
        }
        self.later_fail_mode = modes.later;
        effects
    }

    /// A controller has connected: the fail mode that waited for it is used from now on.
    pub(super) fn follow_first_controller(&mut self, live: &mut LiveSwitch) {
        if let Some(mode) = self.later_fail_mode.take() {
            info!("fail mode: {} before, {mode} now", self.current.fail_mode);
            self.set_fail_mode(live, mode);
        }
    }

    fn set_fail_mode(&mut self, live: &mut LiveSwitch, fail_mode: FailMode) {
        self.current.fail_mode = fail_mode;
        let now = live.now();
        live.give(
            now,
            |_| Some(RecordedInput::FailMode(fail_mode)),
            |switch, _| switch.set_fail_mode(now, fail_mode),
        );
    }

    /// Returns true if the configuration wants a connection: one that a peer made, one to a
    /// configured controller, or an auxiliary connection that is configured.
    pub(super) fn wants(&self, origin: &Origin) -> bool {
        match origin {
            Origin::Active(address) => self.current.controllers.contains(address),
            Origin::Auxiliary { id, transport, .. } => {
                let wanted = self.current.auxiliaries.get(usize::from(*id) - 1);
                wanted.is_some_and(|wanted| wanted.transport == *transport)
            }
            Origin::Passive { .. } => true,
        }
    }

    /// Adds a port and its configured queues. Errors: a sentence for the user.
    pub(super) fn add_port(&self, live: &mut LiveSwitch, port: OpenPort) -> Result<()> {
        let number = port.number;
        live.add_port(port)?;
        let now = live.now();
        let mut queues = self.current.queues.iter();
        queues.try_for_each(|queue| match queue.port {
            port if port == number => live.make_queue(now, queue),
            _ => Ok(()),
        })
    }

    pub(super) fn close_unwanted_connections(&self, live: &mut LiveSwitch) {
        live.close_connections(|origin| !self.wants(origin), "it is no controller any more");
    }

    /// Opens the ports of `wanted` that do not exist yet. Errors: a port that cannot be opened.
    pub(super) fn open_ports(
        &self,
        live: &LiveSwitch,
        wanted: &[PortSpec],
    ) -> Result<Vec<OpenPort>> {
        let old = &self.current.ports;
        let new = wanted
            .iter()
            .filter(|spec| !old.iter().any(|old| old.kind == spec.kind));
        let opened = new.map(|spec| {
            let opened = live.io().open(spec);
            opened.map_err(|error| is_port_already(live, spec).unwrap_or(error))
        });
        opened.collect()
    }

    /// Replaces the ports by those of `wanted`, of which `opened` are new. A port that existed
    /// before keeps its driver, even if its number, rate or ring changes.
    ///
    /// Adds the effects, a line each. Errors: the system's.
    fn replace_ports(
        &mut self,
        live: &mut LiveSwitch,
        wanted: Vec<PortSpec>,
        mut opened: Vec<OpenPort>,
        effects: &mut String,
    ) -> Result<()> {
        let old_specs = std::mem::replace(&mut self.current.ports, wanted);
        for old in old_specs {
            let new = self.current.ports.iter().find(|spec| spec.kind == old.kind);
            match new.cloned() {
                Some(new) if new == old => {}
                Some(new) if new.number == old.number => {
                    if let Some((desc, capabilities)) = live.io_mut().ports.adjust(&new) {
                        live.workers().tell_of_options(&new);
                        let now = live.now();
                        live.port_changed(now, desc, capabilities);
                    }
                }
                moved => {
                    let line = format!("port {}: {} was removed", old.number, old.kind);
                    tell(effects, &line);
                    if let (Some(mut port), Some(new)) = (live.close_port(old.number), moved) {
                        port.adjust(&new);
                        opened.push(port);
                    }
                }
            }
        }
        for port in opened {
            let line = format!("port {}: {} was added", port.number, port.name);
            tell(effects, &line);
            self.add_port(live, port)?;
        }
        Ok(())
    }

    /// Removes those of the queues `old` that are not configured now.
    fn remove_queues(&self, live: &mut LiveSwitch, old: &[ConfiguredQueue]) {
        let now = live.now();
        let wanted = &self.current.queues;
        for ConfiguredQueue { port, id, .. } in old
            .iter()
            .filter(|queue| !is_named(wanted, queue.port, queue.id))
        {
            // The queue may be gone already, or be the default queue, which is removed together
            // with the last other one.
            let _ = live.give(
                now,
                |_| Some(RecordedInput::QueueGone(*port, *id)),
                |switch, io| switch.ports(now, io, |ports| ports.delete_queue(*port, *id)),
            );
        }
    }

    /// Changes the queues of the ports from `old` to those configured now.
    ///
    /// Errors: a queue that is refused.
    fn replace_queues(&self, live: &mut LiveSwitch, old: &[ConfiguredQueue]) -> Result<()> {
        let now = live.now();
        let wanted = &self.current.queues;
        let changed: Vec<&ConfiguredQueue> = wanted
            .iter()
            .filter(|queue| !old.contains(queue) && live.io().ports.contains(queue.port))
            .collect();
        // Guaranteed rates are released first, so that the order of changes does not matter.
        for queue in &changed {
            let spec = QueueSpec {
                min: None,
                ..queue.spec
            };
            live.make_queue(now, &ConfiguredQueue { spec, ..**queue })?;
        }
        let mut changed = changed.into_iter();
        changed.try_for_each(|queue| live.make_queue(now, queue))
    }
}

/// Returns true if a queue is configured.
pub(super) fn is_named(queues: &[ConfiguredQueue], port: PortNo, id: QueueId) -> bool {
    queues
        .iter()
        .any(|queue| (queue.port, queue.id) == (port, id))
}

/// Logs an effect of a change, and adds it to those that an operator is told.
fn tell(effects: &mut String, line: &str) {
    info!("{line}");
    effects.push_str(line);
    effects.push('\n');
}
