//! A controller that knows the topology: it installs shortest paths, one or all equal ones.

use std::collections::{BTreeMap, BTreeSet};

use bofuss_datapath::Time;
use bofuss_oflib::field::ETH_DST;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::group_mod::{Bucket, GroupMod, GroupModCommand, GroupType};
use bofuss_oflib::message::multipart::{MultipartRequest, PortDescRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::port::{PortDesc, PortState};
use bofuss_oflib::message::{FlowMod, FlowModCommand};
use bofuss_oflib::types::GroupId;
use bofuss_oflib::wire::be_number;
use bofuss_oflib::{Action, FieldMatch, Mac, Match, Message, PortNo};

use super::graph::{PathChoice, PathGraph, Routes};
use super::{Controller, ControllerOutput, report_error};
use crate::link::{NodeId, NodePort};

/// The priorities of entries for hosts, and of that for broadcast and multicast.
const HOST_PRIORITY: u16 = 2;
const FLOOD_PRIORITY: u16 = 1;
/// The cookie of all entries, by which they are removed before they are installed anew.
const COOKIE: u64 = 0x7061_7468;
/// The bit of addresses of several hosts.
const GROUP_BIT: u128 = 0x0100_0000_0000;

/// Entries for each host by its Ethernet address along the fewest links, and a tree for broadcast
/// and multicast. The states of ports come from the switches; when one changes, the paths are
/// computed anew, and the differences are sent. An ERROR of a switch is reported.
#[derive(Debug)]
pub struct PathsController {
    choice: PathChoice,
    graph: PathGraph,
    /// The ports without a carrier.
    down: BTreeSet<NodePort>,
    /// The switches that are connected and have told their ports, with what they were sent.
    installed: BTreeMap<NodeId, Installed>,
    xid: u32,
}

/// What a switch was sent.
#[derive(Debug, Default)]
struct Installed {
    routes: Routes,
    groups: BTreeMap<Vec<PortNo>, u32>,
}

impl PathsController {
    /// Makes a controller of the switches in `graph`.
    pub fn new(choice: PathChoice, graph: PathGraph) -> Self {
        Self {
            choice,
            graph,
            down: BTreeSet::new(),
            installed: BTreeMap::new(),
            xid: 0,
        }
    }

    fn send(&mut self, switch: NodeId, message: Message, out: &mut ControllerOutput) {
        self.xid = self.xid.wrapping_add(1);
        out.send(switch, self.xid, message);
    }

    /// Notes whether a port has a carrier. Returns true if that is new.
    fn note_port(&mut self, switch: NodeId, desc: &PortDesc) -> bool {
        let port = NodePort {
            node: switch,
            port: desc.port_no,
        };
        if desc.state.0 & PortState::LINK_DOWN.0 != 0 {
            self.down.insert(port)
        } else {
            self.down.remove(&port)
        }
    }

    /// Computes the paths, and sends each switch what it lacks.
    fn update(&mut self, out: &mut ControllerOutput) {
        let all = self.graph.routes(&self.down, self.choice);
        let mut installed = std::mem::take(&mut self.installed);
        for (switch, has) in &mut installed {
            let wanted = all.get(switch).cloned().unwrap_or_default();
            for message in has.change_to(wanted) {
                self.send(*switch, message, out);
            }
        }
        self.installed = installed;
    }
}

impl Controller for PathsController {
    fn connected(&mut self, _: Time, switch: NodeId, out: &mut ControllerOutput) {
        let delete = FlowMod {
            command: FlowModCommand::DELETE,
            cookie: COOKIE,
            cookie_mask: u64::MAX,
            ..FlowMod::add(Match::ANY)
        };
        self.send(switch, Message::FlowMod(delete), out);
        let request = MultipartRequest {
            body: RequestBody::PortDesc(PortDescRequest::ALL),
            more: false,
        };
        self.send(switch, Message::MultipartRequest(request), out);
    }

    fn disconnected(&mut self, _: Time, switch: NodeId, _: &mut ControllerOutput) {
        self.installed.remove(&switch);
    }

    fn message(
        &mut self,
        _: Time,
        switch: NodeId,
        xid: u32,
        message: Message,
        out: &mut ControllerOutput,
    ) {
        if let Message::MultipartReply(reply) = message {
            let ReplyBody::PortDesc(ports) = reply.body else {
                return;
            };
            for desc in &ports {
                self.note_port(switch, desc);
            }
            if !reply.more {
                self.installed.insert(switch, Installed::default());
                self.update(out);
            }
        } else if let Message::PortStatus(status) = message {
            if self.note_port(switch, &status.desc) {
                self.update(out);
            }
        } else if let Message::Error(error) = message {
            report_error(xid, &error, out);
        }
    }
}

impl Installed {
    /// The messages that make a switch forward by other routes, in order: new groups, entries, and
    /// groups that nothing uses any more.
    fn change_to(&mut self, wanted: Routes) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut old_groups = std::mem::take(&mut self.groups);
        for ports in wanted.hosts.values().filter(|ports| ports.len() > 1) {
            if self.groups.contains_key(ports) {
                continue;
            }
            if let Some(number) = old_groups.remove(ports) {
                self.groups.insert(ports.clone(), number);
                continue;
            }
            let taken: BTreeSet<u32> = (self.groups.values())
                .chain(old_groups.values())
                .copied()
                .collect();
            let free = (1..).find(|number| !taken.contains(number));
            let number = free.expect("fewer groups than numbers are in use");
            self.groups.insert(ports.clone(), number);
            // One that an earlier connection has left is replaced.
            messages.push(group(GroupModCommand::DELETE, number, &[]));
            messages.push(group(GroupModCommand::ADD, number, ports));
        }
        for (mac, ports) in &wanted.hosts {
            if self.routes.hosts.get(mac) != Some(ports) {
                messages.push(self.host_entry(*mac, ports));
            }
        }
        for mac in self.routes.hosts.keys() {
            if !wanted.hosts.contains_key(mac) {
                let mut entry = entry(host_match(*mac), HOST_PRIORITY, Vec::new());
                entry.command = FlowModCommand::DELETE_STRICT;
                messages.push(Message::FlowMod(entry));
            }
        }
        if self.routes.flood != wanted.flood {
            let ports = wanted.flood.iter();
            let actions = ports.map(|port| Action::output(*port)).collect();
            let several = FieldMatch::masked(ETH_DST, GROUP_BIT, GROUP_BIT);
            let fields = Match::new(&[several]).expect("the field needs no other");
            let flood = entry(fields, FLOOD_PRIORITY, actions);
            messages.push(Message::FlowMod(flood));
        }
        for number in old_groups.into_values() {
            messages.push(group(GroupModCommand::DELETE, number, &[]));
        }
        self.routes = wanted;
        messages
    }

    /// The entry of a host that is behind one of some ports.
    fn host_entry(&self, mac: Mac, ports: &[PortNo]) -> Message {
        let action = match ports {
            [port] => Action::output(*port),
            _ => Action::Group(GroupId(self.groups[ports])),
        };
        Message::FlowMod(entry(host_match(mac), HOST_PRIORITY, vec![action]))
    }
}

fn host_match(mac: Mac) -> Match {
    let field = FieldMatch::exact(ETH_DST, be_number(&mac.0));
    Match::new(&[field]).expect("the field needs no other")
}

/// An entry with these actions, to be added.
fn entry(fields: Match, priority: u16, actions: Vec<Action>) -> FlowMod {
    FlowMod {
        priority,
        cookie: COOKIE,
        instructions: Instructions::apply(actions),
        ..FlowMod::add(fields)
    }
}

/// A select group with a bucket for each port.
fn group(command: GroupModCommand, number: u32, ports: &[PortNo]) -> Message {
    let mut buckets = Vec::new();
    for (place, port) in ports.iter().enumerate() {
        let mut bucket = Bucket::at(place, vec![Action::output(*port)]);
        bucket.weight = 1;
        buckets.push(bucket);
    }
    Message::GroupMod(GroupMod {
        command,
        ty: GroupType::SELECT,
        group_id: GroupId(number),
        buckets,
        ..GroupMod::default()
    })
}
