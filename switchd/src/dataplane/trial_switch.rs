//! The switch that another configuration describes, built to see whether it can be taken over.

use bofuss_datapath::{Egress, QueueSpec, reconfigure::Obstacle};
use bofuss_embed::record::RecordedReconfiguration;
use bofuss_ext::Switch;
use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::types::QueueId;

use super::live_switch::{LiveSwitch, make_queue};
use super::running_config::is_named;
use crate::config::{Config, PortSpec};
use crate::error::Result;
use crate::port::OpenPort;
use crate::record;
use crate::run::{datapath_id, make_switch};

/// A change of the configuration, and the ports that were opened for it.
pub(super) struct TrialSwitch<'a> {
    pub(super) old: &'a Config,
    pub(super) new: &'a Config,
    pub(super) opened: &'a [OpenPort],
}

/// The datapath id that a start with these ports would give.
pub(super) fn datapath_id_of(config: &Config, live: &LiveSwitch) -> u64 {
    let open = &live.io().ports;
    let specs = config.ports.iter();
    let mut macs = specs.filter_map(|spec| open.get(spec.number)?.mac());
    datapath_id(config, macs.next())
}

impl TrialSwitch<'_> {
    /// Builds the switch that the new configuration describes, with its future ports and queues,
    /// and the queues of controllers that stay. Returns also what a record has of it.
    ///
    /// Errors: a wrong profile, a queue that is refused.
    pub(super) fn build(&self, live: &mut LiveSwitch) -> Result<(Switch, RecordedReconfiguration)> {
        let now = live.now();
        let new = self.new;
        let mut trial = make_switch(new, live.pool(), self.datapath_id(live))?;
        let mut recorded = RecordedReconfiguration {
            config: record::recorded(new, &trial),
            ports: self.ports(live),
            queues: Vec::new(),
        };
        for (desc, capabilities) in &recorded.ports {
            trial.ports(now, live.io_mut(), |ports| {
                ports.changed(desc.clone(), *capabilities)
            });
        }
        // A controller's queue may belong to a port that is removed.
        for (port, id, spec) in self.controller_queues(live.switch()) {
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

    fn datapath_id(&self, live: &LiveSwitch) -> u64 {
        if self.new.datapath_id == self.old.datapath_id {
            return live.switch().identity().datapath_id;
        }
        let mut macs = self.new.ports.iter().filter_map(|spec| {
            let port = self.port(live, spec)?;
            port.mac()
        });
        datapath_id(self.new, macs.next())
    }

    /// The future ports, as the switch gets them.
    fn ports(&self, live: &LiveSwitch) -> Vec<(PortDesc, OffloadCapabilities)> {
        let mut ports = Vec::new();
        for spec in &self.new.ports {
            if let Some(port) = self.port(live, spec) {
                let mut desc = port.desc();
                desc.port_no = spec.number;
                let opposite = self.opposite(live, port);
                desc.recirculate = opposite.map(|number| vec![number]);
                desc.curr_speed = spec.rate_kbps.unwrap_or(port.interface_kbps());
                ports.push((desc, port.driver.capabilities()));
            }
        }
        ports
    }

    /// The number that the port at the other end of this one's cable will have, if there is one.
    fn opposite(&self, live: &LiveSwitch, port: &OpenPort) -> Option<PortNo> {
        let peer = port.peer_index()?;
        let mut specs = self.new.ports.iter();
        let spec = specs.find(|spec| {
            let other = self.port(live, spec);
            other.is_some_and(|other| other.index() == Some(peer))
        })?;
        Some(spec.number)
    }

    /// The open port that `spec` will describe.
    fn port<'b>(&'b self, live: &'b LiveSwitch, spec: &PortSpec) -> Option<&'b OpenPort> {
        let mut opened = self.opened.iter();
        let fresh = opened.find(|port| port.number == spec.number);
        let mut ports = self.old.ports.iter();
        let stays = ports.find(|old| old.kind == spec.kind);
        fresh.or(stays.and_then(|old| live.io().ports.get(old.number)))
    }

    /// The queues that controllers created.
    fn controller_queues(&self, switch: &Switch) -> Vec<(PortNo, QueueId, QueueSpec)> {
        let datapath = switch.datapath();
        let mut created = Vec::new();
        for port in datapath.ports().keys() {
            let queues = datapath.queues().of(*port).map(Egress::queues);
            for queue in queues.unwrap_or_default() {
                if !is_named(&self.old.queues, *port, queue.id) {
                    created.push((*port, queue.id, queue.spec));
                }
            }
        }
        created
    }

    /// Describes an entry that would have no room; the sentence begins with the key that changed.
    pub(super) fn describe_obstacle(&self, (table, error): Obstacle) -> String {
        let old = &self.old.tables;
        let new = &self.new.tables;
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
}
