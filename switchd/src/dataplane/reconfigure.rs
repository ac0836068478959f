//! A running switch takes over another configuration: all of it, or nothing if a part is refused.

use bofuss_agent::FailMode;
use bofuss_channel::{ActiveAddress, Origin};
use bofuss_datapath::QueueSpec;
use bofuss_embed::record::RecordedInput;
use tokio::sync::oneshot;
use tracing::{info, warn};

use super::command::Answer;
use super::trial_switch::{TrialSwitch, datapath_id_of, is_named};
use super::{DataPlane, copiers};
use crate::config::{Config, ConfiguredCopier, ConfiguredQueue, PortSpec};
use crate::error::Result;
use crate::port::OpenPort;

/// The fail mode now, and the one that it becomes once a controller has connected.
#[derive(Clone, Copy)]
struct FailModes {
    now: FailMode,
    later: Option<FailMode>,
}

impl DataPlane {
    /// Takes over a changed configuration; what is equal in both stays untouched. Everything that
    /// can fail is prepared first; then this reports `ready` and waits for `go`. If `go` is closed,
    /// nothing changes.
    ///
    /// Errors: a port or file that cannot be opened, a queue that is refused, an entry that would
    /// not fit. Nothing has changed then.
    pub(super) fn reconfigure(
        &mut self,
        mut new: Config,
        ready: oneshot::Sender<()>,
        go: oneshot::Receiver<()>,
    ) -> Answer {
        check_numbers(&self.config, &new.ports)?;
        let opened = self.open_ports(&new.ports)?;
        let copiers = copiers::configured(&self.live, &new, &self.config.copiers)?;
        self.live.workers().gather_states();
        self.live.complete_changes();
        let fail_modes = self.fail_modes(new.fail_mode, new.has_fail_mode);
        new.fail_mode = fail_modes.now;
        let trial = TrialSwitch {
            old: &self.config,
            new: &new,
            opened: &opened,
        };
        let (mut other, recorded) = trial.build(&mut self.live)?;
        let now = self.live.now();
        let (switch, io) = self.live.unrecorded();
        let checked = switch.check_reconfigure(now, &mut other, io);
        checked.map_err(|obstacle| trial.describe_obstacle(obstacle))?;
        if ready.send(()).is_err() || go.blocking_recv().is_err() {
            return Err("another switch refused its part of the change".into());
        }
        let mut effects = self.note_fail_modes(fail_modes);
        let id = self.live.switch().identity().datapath_id;
        let now = self.live.now();
        self.live.give(
            now,
            |_| Some(RecordedInput::Reconfigure(Box::new(recorded))),
            |switch, io| switch.reconfigure(now, other, io),
        );
        self.live.workers().lead();
        self.live.workers().divide_by(new.dispatch);
        let ports = std::mem::replace(&mut new.ports, std::mem::take(&mut self.config.ports));
        let old = std::mem::replace(&mut self.config, new);
        self.remove_queues(&old.queues);
        effects += &self.replace_ports(ports, opened)?;
        self.replace_queues(&old.queues)?;
        let before = old.copiers.iter();
        let after = &self.config.copiers;
        let gone: Vec<_> = before
            .filter(|copier| !after.contains(copier))
            .map(ConfiguredCopier::words)
            .collect();
        self.live
            .io_mut()
            .ports
            .copiers
            .retain(|copier| !gone.contains(&&*copier.words));
        self.live.io_mut().ports.copiers.extend(copiers);
        if self.live.switch().identity().datapath_id != id {
            self.live
                .close_connections(|_| true, "the datapath id changed");
        }
        if old.auxiliaries != self.config.auxiliaries {
            self.live.close_connections(
                |origin| matches!(origin, Origin::Auxiliary { .. }),
                "the auxiliary connections changed",
            );
        }
        self.close_unwanted_connections();
        self.exports.set(&mut self.live, &self.config.exports);
        let (now, interval) = (self.live.now(), self.config.state.interval);
        self.saver.set_interval(now, interval);
        Ok(effects)
    }

    /// The datapath id as the configuration has it, if a start with these ports would give another
    /// one; else an empty text.
    pub(super) fn kept_datapath_id(&self) -> String {
        let id = self.live.switch().identity().datapath_id;
        if datapath_id_of(&self.config, &self.live) == id {
            return String::new();
        }
        format!("{id:#x}")
    }

    /// Replaces the list of controllers, and the fail mode.
    pub(super) fn set_controllers(
        &mut self,
        controllers: Vec<ActiveAddress>,
        fail_mode: FailMode,
        is_configured: bool,
    ) {
        self.config.controllers = controllers;
        self.close_unwanted_connections();
        let fail_modes = self.fail_modes(fail_mode, is_configured);
        let _ = self.note_fail_modes(fail_modes);
        self.set_fail_mode(fail_modes.now);
    }

    /// The fail modes of a changed configuration that wants `wanted`. A default follows from the
    /// list of controllers, and nobody may listen at a new address: the mode that forwards stays
    /// until a controller has connected.
    fn fail_modes(&self, wanted: FailMode, is_configured: bool) -> FailModes {
        let now = self.config.fail_mode;
        let forwards = now != FailMode::Secure && wanted == FailMode::Secure;
        if forwards && !is_configured && !self.live.io().connections.have_controller() {
            let later = Some(wanted);
            FailModes { now, later }
        } else {
            let later = None;
            FailModes { now: wanted, later }
        }
    }

    /// Logs changed fail modes, and remembers the later one. Returns the effects, a line each.
    fn note_fail_modes(&mut self, modes: FailModes) -> String {
        let old = self.config.fail_mode;
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
    pub(super) fn follow_first_controller(&mut self) {
        if let Some(mode) = self.later_fail_mode.take() {
            info!("fail mode: {} before, {mode} now", self.config.fail_mode);
            self.set_fail_mode(mode);
        }
    }

    fn set_fail_mode(&mut self, fail_mode: FailMode) {
        self.config.fail_mode = fail_mode;
        let now = self.live.now();
        self.live.give(
            now,
            |_| Some(RecordedInput::FailMode(fail_mode)),
            |switch, _| switch.set_fail_mode(now, fail_mode),
        );
    }

    fn close_unwanted_connections(&mut self) {
        let config = self.config.clone();
        self.live.close_connections(
            |origin| !is_wanted(&config, origin),
            "it is no controller any more",
        );
    }

    /// Opens the ports of `wanted` that do not exist yet. Errors: a port that cannot be opened.
    fn open_ports(&self, wanted: &[PortSpec]) -> Result<Vec<OpenPort>> {
        let old = &self.config.ports;
        let new = wanted
            .iter()
            .filter(|spec| !old.iter().any(|old| old.kind == spec.kind));
        new.map(|spec| self.live.io().open(spec)).collect()
    }

    /// Replaces the ports by those of `wanted`, of which `opened` are new. A port that existed
    /// before keeps its driver, even if its number, rate or ring changes.
    ///
    /// Returns the effects, a line each. Errors: the system's.
    fn replace_ports(
        &mut self,
        wanted: Vec<PortSpec>,
        mut opened: Vec<OpenPort>,
    ) -> Result<String> {
        let mut effects = String::new();
        let old_specs = std::mem::replace(&mut self.config.ports, wanted);
        for old in old_specs {
            let new = self.config.ports.iter().find(|spec| spec.kind == old.kind);
            match new.cloned() {
                Some(new) if new == old => {}
                Some(new) if new.number == old.number => {
                    if let Some((desc, capabilities)) = self.live.io_mut().ports.adjust(&new) {
                        self.live.workers().tell_of_options(&new);
                        let now = self.live.now();
                        self.live.port_changed(now, desc, capabilities);
                    }
                }
                moved => {
                    let line = format!("port {}: {} was removed", old.number, old.kind);
                    tell(&mut effects, &line);
                    if let (Some(mut port), Some(new)) = (self.live.close_port(old.number), moved) {
                        port.adjust(&new);
                        opened.push(port);
                    }
                }
            }
        }
        for port in opened {
            let line = format!("port {}: {} was added", port.number, port.name);
            tell(&mut effects, &line);
            self.add_port(port)?;
        }
        Ok(effects)
    }

    /// Removes those of the queues `old` that are not configured now.
    fn remove_queues(&mut self, old: &[ConfiguredQueue]) {
        let now = self.live.now();
        let wanted = self.config.queues.clone();
        for ConfiguredQueue { port, id, .. } in old
            .iter()
            .filter(|queue| !is_named(&wanted, queue.port, queue.id))
        {
            // The queue may be gone already, or be the default queue, which is removed together
            // with the last other one.
            let _ = self.live.give(
                now,
                |_| Some(RecordedInput::QueueGone(*port, *id)),
                |switch, io| switch.ports(now, io, |ports| ports.delete_queue(*port, *id)),
            );
        }
    }

    /// Changes the queues of the ports from `old` to those configured now.
    ///
    /// Errors: a queue that is refused.
    fn replace_queues(&mut self, old: &[ConfiguredQueue]) -> Result<()> {
        let now = self.live.now();
        let wanted = self.config.queues.clone();
        let changed: Vec<&ConfiguredQueue> = wanted
            .iter()
            .filter(|queue| !old.contains(queue) && self.live.io().ports.contains(queue.port))
            .collect();
        // Guaranteed rates are released first, so that the order of changes does not matter.
        for queue in &changed {
            let spec = QueueSpec {
                min: None,
                ..queue.spec
            };
            self.live
                .make_queue(now, &ConfiguredQueue { spec, ..**queue })?;
        }
        let mut changed = changed.into_iter();
        changed.try_for_each(|queue| self.live.make_queue(now, queue))
    }
}

/// Logs an effect of a change, and adds it to those that an operator is told.
fn tell(effects: &mut String, line: &str) {
    info!("{line}");
    effects.push_str(line);
    effects.push('\n');
}

/// Returns true if the configuration wants a connection: one that a peer made, one to a configured
/// controller, or an auxiliary connection that is configured.
pub(super) fn is_wanted(config: &Config, origin: &Origin) -> bool {
    match origin {
        Origin::Active(address) => config.controllers.contains(address),
        Origin::Auxiliary { id, transport, .. } => {
            let wanted = config.auxiliaries.get(usize::from(*id) - 1);
            wanted.is_some_and(|wanted| wanted.transport == *transport)
        }
        Origin::Passive { .. } => true,
    }
}

/// Errors: with several workers, a port would get another number.
fn check_numbers(config: &Config, wanted: &[PortSpec]) -> Result<()> {
    let is_moved = |old: &&PortSpec| {
        let mut new = wanted.iter();
        new.any(|new| new.kind == old.kind && new.number != old.number)
    };
    match config.ports.iter().find(is_moved) {
        Some(port) if config.workers > 1 => Err(format!(
            "port {}: with --workers, a port keeps its number; remove it, and then add it",
            port.kind
        )
        .into()),
        Some(_) | None => Ok(()),
    }
}
