//! A running switch takes over another configuration: all of it, or nothing if a part is refused.

use std::thread::sleep;
use std::time::Duration;

use bofuss_agent::FailMode;
use bofuss_channel::{ActiveAddress, Origin};
use bofuss_datapath::reconfigure::Obstacle;
use bofuss_datapath::{Egress, QueueSpec, Time};
use bofuss_embed::record::{RecordedInput, RecordedReconfiguration};
use bofuss_ext::Switch;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;
use tokio::sync::oneshot;
use tracing::{info, warn};

use super::DataPlane;
use super::command::Answer;
use crate::config::{Config, ConfiguredQueue, PortSpec};
use crate::error::Result;
use crate::port::{self, OpenPort};
use crate::record;
use crate::rights::LOCKED;
use crate::run::{datapath_id, make_switch};

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
        let opened = self.open_ports(&new.ports)?;
        let copiers = self.new_copiers(&new, &self.config.copiers)?;
        self.complete_changes();
        let fail_modes = self.fail_modes(new.fail_mode, new.has_fail_mode);
        new.fail_mode = fail_modes.now;
        let now = self.now();
        let (mut other, recorded) = self.trial(&new, &opened)?;
        let checked = self.switch.check_reconfigure(now, &mut other, &mut self.io);
        checked.map_err(|obstacle| self.describe_obstacle(&new, obstacle))?;
        if ready.send(()).is_err() || go.blocking_recv().is_err() {
            return Err("another switch refused its part of the change".into());
        }
        self.note_fail_modes(fail_modes);
        let now = self.now();
        self.give(
            now,
            |_| Some(RecordedInput::Reconfigure(Box::new(recorded))),
            |switch, io| switch.reconfigure(now, other, io),
        );
        let ports = std::mem::replace(&mut new.ports, std::mem::take(&mut self.config.ports));
        let old = std::mem::replace(&mut self.config, new);
        self.replace_ports(ports, opened)?;
        self.replace_queues(&old.queues)?;
        let before = old.copiers.iter();
        let after = &self.config.copiers;
        let gone: Vec<_> = before
            .filter(|copier| !after.contains(copier))
            .filter_map(|copier| copier.words().split(' ').nth(1))
            .collect();
        self.io
            .ports
            .copiers
            .retain(|copier| !gone.contains(&&*copier.name));
        self.io.ports.copiers.extend(copiers);
        if old.datapath_id != self.config.datapath_id {
            self.close_connections(|_| true, "the datapath id changed");
        }
        if old.auxiliaries != self.config.auxiliaries {
            self.close_connections(
                |origin| matches!(origin, Origin::Auxiliary { .. }),
                "the auxiliary connections changed",
            );
        }
        self.close_unwanted_connections();
        Ok(String::new())
    }

    /// Completes a change in progress; the check of a configuration would do so without a record.
    /// A scheduled commit that is prepared waits for its time, some milliseconds at most.
    fn complete_changes(&mut self) {
        while self.switch.is_changing() {
            if let Some(due) = self.switch.waits_until() {
                sleep(Duration::from_nanos(due.since(self.now())));
            }
            let now = self.now();
            self.give(
                now,
                |_| Some(RecordedInput::Work),
                |switch, io| switch.work(now, io),
            );
        }
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
        self.note_fail_modes(fail_modes);
        self.set_fail_mode(fail_modes.now);
    }

    /// The fail modes of a changed configuration that wants `wanted`. A default follows from the
    /// list of controllers, and nobody may listen at a new address: the mode that forwards stays
    /// until a controller has connected.
    fn fail_modes(&self, wanted: FailMode, is_configured: bool) -> FailModes {
        let now = self.config.fail_mode;
        let forwards = now != FailMode::Secure && wanted == FailMode::Secure;
        if forwards && !is_configured && !self.io.connections.have_controller() {
            let later = Some(wanted);
            FailModes { now, later }
        } else {
            let later = None;
            FailModes { now: wanted, later }
        }
    }

    /// Logs changed fail modes, and remembers the later one.
    fn note_fail_modes(&mut self, modes: FailModes) {
        let old = self.config.fail_mode;
        if old != modes.now {
            info!("fail mode: {old} before, {} now", modes.now);
        }
        if let Some(later) = modes.later
            && self.later_fail_mode != modes.later
        {
            warn!(
                "fail mode: {old} until a controller has connected, then {later}, which is the \
                 default with controllers"
            );
        }
        self.later_fail_mode = modes.later;
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
        let now = self.now();
        self.give(
            now,
            |_| Some(RecordedInput::FailMode(fail_mode)),
            |switch, _| switch.set_fail_mode(now, fail_mode),
        );
    }

    fn close_unwanted_connections(&mut self) {
        let config = self.config.clone();
        self.close_connections(
            |origin| !is_wanted(&config, origin),
            "it is no controller any more",
        );
    }

    fn close_connections(&mut self, are_meant: impl Fn(&Origin) -> bool, reason: &str) {
        for conn in self.io.connections.select(are_meant) {
            self.close_connection(conn, reason, false);
        }
    }

    /// Opens the ports of `wanted` that do not exist yet. Errors: a port that cannot be opened.
    pub(super) fn open_ports(&self, wanted: &[PortSpec]) -> Result<Vec<OpenPort>> {
        let old = &self.config.ports;
        let new = wanted
            .iter()
            .filter(|spec| !old.iter().any(|old| old.kind == spec.kind));
        new.map(|spec| self.open(spec)).collect()
    }

    /// Opens a port. Errors: why it cannot be opened, and what to type.
    pub(super) fn open(&self, spec: &PortSpec) -> Result<OpenPort> {
        if self.io.is_locked {
            Err(format!("port {}: {LOCKED}", spec.kind).into())
        } else {
            port::open(spec)
        }
    }

    /// Replaces the ports by those of `wanted`, of which `opened` are new. A port that existed
    /// before keeps its driver, even if its number, rate or ring changes.
    ///
    /// Errors: the system's.
    pub(super) fn replace_ports(
        &mut self,
        wanted: Vec<PortSpec>,
        mut opened: Vec<OpenPort>,
    ) -> Result<()> {
        let old_specs = std::mem::replace(&mut self.config.ports, wanted);
        for old in old_specs {
            let new = self.config.ports.iter().find(|spec| spec.kind == old.kind);
            match new.cloned() {
                Some(new) if new == old => {}
                Some(new) if new.number == old.number => {
                    if let Some((desc, capabilities)) = self.io.ports.adjust(&new) {
                        let now = self.now();
                        self.port_changed(now, desc, capabilities);
                    }
                }
                moved => {
                    info!("port {}: {} was removed", old.number, old.kind);
                    if let (Some(mut port), Some(new)) = (self.close_port(old.number), moved) {
                        port.adjust(&new);
                        opened.push(port);
                    }
                }
            }
        }
        for port in opened {
            info!("port {}: {} was added", port.number, port.name);
            self.add_port(port)?;
        }
        Ok(())
    }

    /// Builds the switch that `new` describes, with its future ports and queues, and the queues of
    /// controllers that stay. Returns also what a record has of it.
    ///
    /// Errors: a wrong profile, a queue that is refused.
    fn trial(
        &mut self,
        new: &Config,
        opened: &[OpenPort],
    ) -> Result<(Switch, RecordedReconfiguration)> {
        let now = self.now();
        let is_same = new.datapath_id == self.config.datapath_id;
        let mut macs = new.ports.iter().filter_map(|spec| {
            let port = self.future_port(spec, opened)?;
            port.mac()
        });
        let id = if is_same {
            self.switch.identity().datapath_id
        } else {
            datapath_id(new, macs.next())
        };
        let mut trial = make_switch(new, &self.lane.pool, id)?;
        let mut recorded = RecordedReconfiguration {
            config: record::recorded(new, &trial),
            ports: Vec::new(),
            queues: Vec::new(),
        };
        for spec in &new.ports {
            if let Some(port) = self.future_port(spec, opened) {
                let mut desc = port.desc();
                let capabilities = port.driver.capabilities();
                desc.port_no = spec.number;
                let opposite = self.future_opposite(new, opened, port);
                desc.recirculate = opposite.map(|number| vec![number]);
                desc.curr_speed = spec.rate_kbps.unwrap_or(port.interface_kbps());
                recorded.ports.push((desc.clone(), capabilities));
                trial.port_changed(now, desc, capabilities, &mut self.io);
            }
        }
        // A controller's queue may belong to a port that is removed.
        for (port, id, spec) in self.controller_queues() {
            if !is_named(&new.queues, port, id) && trial.modify_queue(now, port, id, spec).is_ok() {
                recorded.queues.push((port, id, spec));
            }
        }
        for queue in &new.queues {
            // A port whose interface is missing gets its queues when it is back.
            if trial.datapath().ports().contains_key(&queue.port) {
                make_queue(&mut trial, now, queue)?;
                recorded.queues.push((queue.port, queue.id, queue.spec));
            }
        }
        Ok((trial, recorded))
    }

    /// The number that the port at the other end of this one's cable will have, if there is one.
    fn future_opposite(
        &self,
        new: &Config,
        opened: &[OpenPort],
        port: &OpenPort,
    ) -> Option<PortNo> {
        let peer = port.peer_index()?;
        let mut specs = new.ports.iter();
        let spec = specs.find(|spec| {
            let other = self.future_port(spec, opened);
            other.is_some_and(|other| other.index() == Some(peer))
        })?;
        Some(spec.number)
    }

    /// The open port that `spec` will describe.
    fn future_port<'a>(&'a self, spec: &PortSpec, opened: &'a [OpenPort]) -> Option<&'a OpenPort> {
        let fresh = opened.iter().find(|port| port.number == spec.number);
        let ports = &self.config.ports;
        let stays = ports.iter().find(|old| old.kind == spec.kind);
        fresh.or(stays.and_then(|old| self.io.ports.get(old.number)))
    }

    /// Describes an entry that would have no room; the sentence begins with the key that changed.
    fn describe_obstacle(&self, new: &Config, (table, error): Obstacle) -> String {
        let old = &self.config.tables;
        let new = &new.tables;
        let key = if old.n_tables != new.n_tables {
            "tables"
        } else if old.max_entries != new.max_entries {
            "max-entries"
        } else if old.max_total_entries != new.max_total_entries {
            "max-total-entries"
        } else {
            "profile"
        };
        format!("--{key}: an entry of table {table} would not fit: {error}; nothing was changed")
    }

    /// The queues that controllers created.
    fn controller_queues(&self) -> Vec<(PortNo, QueueId, QueueSpec)> {
        let datapath = self.switch.datapath();
        let mut created = Vec::new();
        for port in datapath.ports().keys() {
            let queues = datapath.egress(*port).map(Egress::queues);
            for queue in queues.unwrap_or_default() {
                if !is_named(&self.config.queues, *port, queue.id) {
                    created.push((*port, queue.id, queue.spec));
                }
            }
        }
        created
    }

    /// Changes the queues of the remaining ports from `old` to those configured now.
    ///
    /// Errors: a queue that is refused.
    fn replace_queues(&mut self, old: &[ConfiguredQueue]) -> Result<()> {
        let now = self.now();
        let wanted = self.config.queues.clone();
        for ConfiguredQueue { port, id, .. } in old
            .iter()
            .filter(|queue| !is_named(&wanted, queue.port, queue.id))
        {
            // The queue may be gone already, or be the default queue, which is removed together
            // with the last other one.
            let _ = self.give(
                now,
                |_| Some(RecordedInput::QueueGone(*port, *id)),
                |switch, io| switch.delete_queue(now, *port, *id, io),
            );
        }
        let changed: Vec<&ConfiguredQueue> = wanted
            .iter()
            .filter(|queue| !old.contains(queue) && self.io.ports.contains(queue.port))
            .collect();
        // Guaranteed rates are released first, so that the order of changes does not matter.
        for queue in &changed {
            let spec = QueueSpec {
                min: None,
                ..queue.spec
            };
            self.make_queue(now, &ConfiguredQueue { spec, ..**queue })?;
        }
        let mut changed = changed.into_iter();
        changed.try_for_each(|queue| self.make_queue(now, queue))
    }

    /// Creates or changes a queue. Errors: why it is refused.
    pub(super) fn make_queue(&mut self, now: Time, queue: &ConfiguredQueue) -> Result<()> {
        self.give(
            now,
            |_| Some(RecordedInput::Queue(queue.port, queue.id, queue.spec)),
            |switch, _| make_queue(switch, now, queue),
        )
    }
}

/// Whether a queue is configured.
fn is_named(queues: &[ConfiguredQueue], port: PortNo, id: QueueId) -> bool {
    queues
        .iter()
        .any(|queue| (queue.port, queue.id) == (port, id))
}

/// Creates or changes a queue. Errors: why it is refused.
fn make_queue(switch: &mut Switch, now: Time, queue: &ConfiguredQueue) -> Result<()> {
    let port = queue.port;
    let id = queue.id;
    let made = switch.modify_queue(now, port, id, queue.spec);
    made.map_err(|error| format!("--queue {port}:{id}: {}", error.1).into())
}

/// Whether the configuration wants a connection: one that a peer made, one to a configured
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
