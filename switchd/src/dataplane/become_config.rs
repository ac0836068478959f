//! A running switch becomes what a configuration says: all of it, or nothing where that cannot be.

use std::sync::Arc;

use bofuss_agent::{FailMode, Identity, Switch};
use bofuss_channel::{ActiveAddress, Origin};
use bofuss_datapath::{Datapath, Egress, QueueSpec, Time};
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;
use bofuss_ports::AfPacketOptions;
use tracing::info;

use super::Plane;
use super::command::Answer;
use crate::config::{Config, PortSpec, QueueConfig};
use crate::port::{self, OpenPort};
use crate::rights::LOCKED;

impl Plane {
    /// Changes ports, queues, controllers and fail mode, and leaves alone what stays.
    ///
    /// Errors: a port that cannot be opened, a queue that cannot be; nothing is changed then.
    pub(super) fn become_config(&mut self, config: &Config) -> Answer {
        let opened = self.open_ports(&config.ports, config.port_options())?;
        self.check_queues(&config.ports, &opened, &config.queues)?;
        self.options = config.port_options();
        let old = std::mem::replace(&mut self.queues, config.queues.clone());
        self.have_ports(config.ports.clone(), opened)?;
        self.have_queues(&old)?;
        self.follow(&config.controllers, config.fail_mode);
        Ok(String::new())
    }

    /// Has these controllers and no others.
    pub(super) fn follow(&mut self, controllers: &[ActiveAddress], fail_mode: FailMode) {
        self.controllers = controllers.into();
        for conn in self
            .face
            .connections_from(|origin| !is_wanted(controllers, origin))
        {
            self.lose_connection(conn, "it is no controller any more");
        }
        let now = self.now();
        self.switch.set_fail_mode(now, fail_mode);
    }

    /// Opens the ports of `wanted` that there are none of. Errors: one that cannot be opened.
    pub(super) fn open_ports(
        &self,
        wanted: &[PortSpec],
        options: AfPacketOptions,
    ) -> Result<Vec<OpenPort>, String> {
        let is_new = |spec: &&PortSpec| !self.specs.iter().any(|old| old.kind == spec.kind);
        let new = wanted.iter().filter(is_new);
        new.map(|spec| self.open(spec, options)).collect()
    }

    /// Opens a port. Errors: why it cannot be had, and what to type.
    pub(super) fn open(
        &self,
        spec: &PortSpec,
        options: AfPacketOptions,
    ) -> Result<OpenPort, String> {
        if self.face.is_locked {
            return Err(format!("port {}: {LOCKED}", spec.kind));
        }
        port::open(spec, options).map_err(|error| format!("port {}: {error}", spec.kind))
    }

    /// Makes the ports those of `wanted`, of which `opened` are new. One that was there already
    /// goes on, under a new number or with a new rate if that is what changed.
    ///
    /// Errors: the system's.
    pub(super) fn have_ports(
        &mut self,
        wanted: Vec<PortSpec>,
        mut opened: Vec<OpenPort>,
    ) -> Result<(), String> {
        let old_specs = std::mem::replace(&mut self.specs, wanted);
        for old in old_specs {
            let new = self.specs.iter().find(|spec| spec.kind == old.kind);
            match new {
                Some(new) if new == &old => {}
                Some(new) if new.number == old.number => {
                    let changed = self.face.set_port_rate(old.number, new.rate_kbps);
                    if let Some((desc, capabilities)) = changed {
                        let now = self.now();
                        self.switch
                            .port_changed(now, desc, capabilities, &mut self.face);
                    }
                }
                _ => {
                    let moved = new.map(|new| (new.number, new.rate_kbps));
                    info!("port {}: {} was removed", old.number, old.kind);
                    if let (Some(mut port), Some((number, rate_kbps))) =
                        (self.close_port(old.number), moved)
                    {
                        (port.number, port.rate_kbps) = (number, rate_kbps);
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

    /// Tries `queues`, and those of controllers that stay, on a switch that has nothing else but
    /// the ports that there will be.
    ///
    /// Errors: the queue that cannot be.
    fn check_queues(
        &mut self,
        wanted: &[PortSpec],
        opened: &[OpenPort],
        queues: &[QueueConfig],
    ) -> Result<(), String> {
        let now = self.now();
        let catalogue = Arc::clone(self.switch.datapath().catalogue());
        let limits = bofuss_datapath::Config::default();
        let datapath = Datapath::new(limits, catalogue, self.pool.clone());
        let mut trial = Switch::new(now, datapath, Identity::default(), FailMode::Secure);
        for spec in wanted {
            let fresh = opened.iter().find(|port| port.number == spec.number);
            let stays = self.specs.iter().find(|old| old.kind == spec.kind);
            let old = stays.and_then(|old| self.face.port(old.number));
            if let Some(port) = fresh.or(old) {
                let (mut desc, capabilities) = (port.desc(), port.driver.capabilities());
                desc.port_no = spec.number;
                desc.curr_speed = spec.rate_kbps.unwrap_or(port.interface_kbps());
                trial.port_changed(now, desc, capabilities, &mut self.face);
            }
        }
        // Those of controllers may be of ports that go.
        for (port, id, spec) in self.foreign_queues() {
            let is_taken = queues
                .iter()
                .any(|queue| (queue.port, queue.id) == (port, id));
            let _ = is_taken || trial.modify_queue(now, port, id, spec).is_ok();
        }
        for queue in queues {
            // A port whose interface is gone gets its queues when it is back.
            if trial.datapath().ports().contains_key(&queue.port) {
                make_queue(&mut trial, now, queue)?;
            }
        }
        Ok(())
    }

    /// The queues that no configuration named.
    fn foreign_queues(&self) -> Vec<(PortNo, QueueId, QueueSpec)> {
        let datapath = self.switch.datapath();
        let of_port = |port: &PortNo| {
            let (port, queues) = (*port, datapath.egress(*port).map(Egress::queues));
            let queues = queues.unwrap_or_default().iter();
            queues.map(move |queue| (port, queue.id, queue.spec))
        };
        let all = datapath.ports().keys().flat_map(of_port);
        let own = |port, id| {
            self.queues
                .iter()
                .any(|queue| (queue.port, queue.id) == (port, id))
        };
        all.filter(|(port, id, _)| !own(*port, *id)).collect()
    }

    /// Makes the queues of the ports that stayed those that are configured now, and were `old`.
    ///
    /// Errors: a queue that cannot be.
    fn have_queues(&mut self, old: &[QueueConfig]) -> Result<(), String> {
        let now = self.now();
        let wanted = self.queues.clone();
        let names = |queue: &QueueConfig| {
            wanted
                .iter()
                .any(|new| (new.port, new.id) == (queue.port, queue.id))
        };
        for queue in old.iter().filter(|queue| !names(queue)) {
            // It may be gone already, or be the default queue, which goes with the last other.
            let _ = self
                .switch
                .delete_queue(now, queue.port, queue.id, &mut self.face);
        }
        let there = |queue: &&QueueConfig| self.face.has_port(queue.port);
        let changed = wanted
            .iter()
            .filter(|queue| !old.contains(queue))
            .filter(there);
        let changed: Vec<&QueueConfig> = changed.collect();
        // What was promised is given back first, so that the order does not matter.
        for queue in &changed {
            let spec = QueueSpec {
                min: None,
                ..queue.spec
            };
            make_queue(&mut self.switch, now, &QueueConfig { spec, ..**queue })?;
        }
        changed
            .into_iter()
            .try_for_each(|queue| make_queue(&mut self.switch, now, queue))
    }
}

/// Makes a queue or changes it. Errors: why it cannot be.
pub(super) fn make_queue(
    switch: &mut Switch,
    now: Time,
    queue: &QueueConfig,
) -> Result<(), String> {
    let (port, id) = (queue.port, queue.id);
    let made = switch.modify_queue(now, port, id, queue.spec);
    made.map_err(|error| format!("--queue {port}:{id}: {}", error.1))
}

/// Whether a connection may be: of those that we make, the ones to configured controllers.
pub(super) fn is_wanted(controllers: &[ActiveAddress], origin: &Origin) -> bool {
    match origin {
        Origin::Active(address) => controllers.contains(address),
        Origin::Passive { .. } | Origin::Auxiliary { .. } => true,
    }
}
