//! Finds the way of a flow's frames below the switch, or the obstacle on it.

use alloc::rc::Rc;
use alloc::vec::Vec;

use bofuss_datapath::engine::{Hooks, Meter, Pipeline, PortQueues};
use bofuss_datapath::{Station, Time};
use bofuss_frame::Frame;
use bofuss_oflib::field::VID_PRESENT;
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::types::{GroupId, MeterId};
use bofuss_oflib::{Action, Mac, PortNo};
use bofuss_packet::Layout;

use super::engine::FastPath;
use crate::cache::{Departure, GroupPass, KnownStations, MAX_DEPARTURES, Way, parting_flags};
use crate::direct_output::output_obstacle;
use crate::executed::Executed;
use crate::obstacles::{Obstacle, obstacle_of};

/// Bytes of a VLAN tag.
const TAG_BYTES: i64 = 4;
/// The bits of a tag that NORMAL knows VLANs by.
const VID: u16 = 0xfff;

/// Follows the actions of a flow.
pub(super) struct WayMaker<'a> {
    now: Time,
    pipeline: &'a Pipeline<FastPath>,
    egress: &'a PortQueues,
    hooks: &'a Hooks,
    ingress: PortNo,
    frame: &'a Frame,
    layout: &'a Layout,
    way: Way,
    /// What has been done to the frame, and how many VLAN tags it has now.
    done: Vec<Action>,
    tags: u8,
    more_bytes: i64,
}

impl<'a> WayMaker<'a> {
    /// Begins with a frame that arrives on a port.
    pub(super) fn new(
        now: Time,
        (pipeline, egress, hooks): (&'a Pipeline<FastPath>, &'a PortQueues, &'a Hooks),
        ingress: PortNo,
        frame: &'a Frame,
        layout: &'a Layout,
    ) -> Self {
        Self {
            now,
            pipeline,
            egress,
            hooks,
            ingress,
            frame,
            layout,
            way: Way::default(),
            done: Vec::new(),
            tags: layout.vlan_tags,
            more_bytes: 0,
        }
    }

    /// The way so far.
    pub(super) fn way(self) -> Way {
        Way {
            parting: parting_flags(self.pipeline),
            ..self.way
        }
    }

    /// Executes what has no [`obstacle_of`] it. Errors: another obstacle.
    pub(super) fn execute(&mut self, step: &Executed<'_>) -> Result<(), Obstacle> {
        match step {
            Executed::Meter(id) => self.pass_meter(*id),
            Executed::Action(Action::Output(output)) => self.output(output.port),
            Executed::Action(Action::Group(id)) => self.enter_group(*id),
            Executed::Action(action) => {
                self.change(action);
                Ok(())
            }
        }
    }

    /// Lets a meter judge the frame as it arrives. Errors: an obstacle.
    fn pass_meter(&mut self, id: MeterId) -> Result<(), Obstacle> {
        let refuse = |why| Err(Obstacle::Meter(id, why));
        let is_first = self.done.is_empty()
            && self.way.departures.is_empty()
            && self.way.passes.is_empty()
            && self.way.meter.is_none();
        if !is_first {
            return refuse("is not the first that its packets meet");
        }
        let meter = self.pipeline.meters.get(&id);
        if meter.and_then(Meter::drop_band).is_none() {
            return refuse("is none that drops packets above one rate");
        }
        self.way.meter = Some(id);
        Ok(())
    }

    fn change(&mut self, action: &Action) {
        if let Action::PushVlan(_) = action {
            self.tags += 1;
            self.more_bytes += TAG_BYTES;
        } else if matches!(action, Action::PopVlan) && self.tags > 0 {
            self.tags -= 1;
            self.more_bytes -= TAG_BYTES;
        }
        self.done.push(action.clone());
    }

    /// Sends the frame to a port, or floods it. Errors: an obstacle.
    pub(super) fn output(&mut self, port: PortNo) -> Result<(), Obstacle> {
        let except = match port {
            PortNo::FLOOD => PortConfig::NO_FLOOD,
            PortNo::ALL => PortConfig::default(),
            PortNo::NORMAL => return self.normal(),
            port => return self.depart(port),
        };
        let before = self.way.departures.len();
        for (number, port) in &self.pipeline.ports {
            let is_excepted = port.desc.config.0 & except.0 != 0;
            if *number != self.ingress && !is_excepted && port.egress_block().is_none() {
                self.depart(*number)?;
            }
        }
        let departs = self.way.departures.len() > before;
        departs.then_some(()).ok_or(Obstacle::None)
    }

    /// Sends the frame where NORMAL knows its destination to be. Errors: an obstacle.
    fn normal(&mut self) -> Result<(), Obstacle> {
        let refuse = |why| Err(Obstacle::Normal(why));
        if !self.done.is_empty() || self.way.stations.is_some() {
            return refuse("gets a frame that was changed, or a second time");
        }
        if !self.pipeline.config.port_vlans.is_empty() {
            return refuse("knows VLANs of ports");
        }
        let ingress = self.pipeline.ports.get(&self.ingress);
        let stations = stations(self.frame.bytes(), self.layout);
        let Some([source, destination]) = stations.filter(|_| {
            // A frame without an Ethernet header has no stations.
            ingress.is_some_and(|ingress| !ingress.without_ethernet)
        }) else {
            return refuse("forwards only between stations");
        };
        let port_of = |station| {
            let (bridge, config) = (&self.pipeline.bridge, &self.pipeline.config);
            bridge.find(self.now, station, config)
        };
        if port_of(&source) != Some(self.ingress) {
            return refuse("does not know the source at its port");
        }
        let Some(port) = port_of(&destination) else {
            return refuse("does not know the destination");
        };
        self.way.stations = Some(KnownStations {
            source,
            destination,
            port,
        });
        self.depart(port)
    }

    fn depart(&mut self, port: PortNo) -> Result<(), Obstacle> {
        let around = (self.pipeline, self.egress, self.hooks);
        if let Some(why) = output_obstacle(around, port, self.ingress) {
            return Err(Obstacle::Port(port, why));
        }
        if self.way.departures.len() == MAX_DEPARTURES {
            return Err(Obstacle::Departures);
        }
        self.way.departures.push(Departure {
            changes: self.done.clone(),
            port,
            more_bytes: self.more_bytes,
        });
        Ok(())
    }

    /// Sends the frame to the buckets that a group chooses. Errors: an obstacle.
    fn enter_group(&mut self, id: GroupId) -> Result<(), Obstacle> {
        let refuse = |why| Obstacle::Group(id, why);
        let group = self.pipeline.groups.get(&id);
        let group = group.ok_or_else(|| refuse("does not exist"))?;
        if group.notes.is_none() {
            return Err(refuse("does more than to change headers and output"));
        }
        if group.is_per_packet() {
            return Err(refuse("chooses a bucket for each packet"));
        }
        if group.is_select() {
            let keeps_hash = |action: &Action| matches!(action, Action::DecNwTtl);
            if !self.done.iter().all(keeps_hash) {
                return Err(refuse("chooses a bucket by headers that were changed"));
            }
            self.way.is_chosen = true;
        }
        let chosen = group.choice(self.layout, self.frame.bytes());
        let chosen = chosen.ok_or_else(|| refuse("has no live bucket"))?;
        self.count(id, None);
        let plans = Rc::clone(&group.plans);
        for number in (0..group.copies()).chain([chosen]) {
            self.count(id, Some(number));
            let before = (self.done.clone(), self.tags, self.more_bytes);
            for action in &plans[number].actions {
                if let Some(obstacle) = obstacle_of(&Executed::Action(action)) {
                    return Err(obstacle);
                }
                self.execute(&Executed::Action(action))?;
            }
            (self.done, self.tags, self.more_bytes) = before;
        }
        Ok(())
    }

    fn count(&mut self, group: GroupId, bucket: Option<usize>) {
        self.way.passes.push(GroupPass {
            group,
            bucket,
            more_bytes: self.more_bytes,
        });
    }
}

/// The source and the destination of a frame, as NORMAL knows them, if neither is a group.
fn stations(frame: &[u8], layout: &Layout) -> Option<[Station; 2]> {
    let vlan = match frame.get(14..16) {
        Some(&[high, low]) if layout.vlan_tags > 0 => {
            u16::from_be_bytes([high, low]) & VID | VID_PRESENT
        }
        _ => 0,
    };
    let (destination, rest) = frame.split_first_chunk()?;
    let (source, _) = rest.split_first_chunk()?;
    let both = [Mac(*source), Mac(*destination)];
    both.iter()
        .all(|mac| !mac.is_multicast())
        .then_some(both.map(|mac| (vlan, mac)))
}
