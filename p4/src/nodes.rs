//! Multicast nodes and clone sessions as bmv2's command line makes them.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::replication::{Replica, Replication, Session};

/// A multicast group that commands have changed.
#[derive(Clone, Debug, Default)]
struct Group {
    /// The copies that it had before.
    given: Vec<Replica>,
    /// The nodes that it has besides.
    nodes: Vec<u32>,
}

/// The nodes of multicast groups, of which the switch itself knows only the copies.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    /// The copies of each node, which all have one instance.
    nodes: Vec<Vec<Replica>>,
    groups: BTreeMap<u32, Group>,
}

impl Nodes {
    /// Carries out a command with its numbers, of which there are enough. Returns what it says.
    /// Errors: a sentence about what is not there or has no room; then nothing changes.
    pub fn command(
        &mut self,
        name: &str,
        numbers: &[u32],
        replication: &mut Replication,
    ) -> Result<String, String> {
        let (first, rest) = (numbers[0], &numbers[1..]);
        let second = rest.first().copied().unwrap_or(0);
        let session = || format!("session {first}");
        let group = || format!("multicast group {first}");
        match name {
            "mirroring_add" => {
                let replica = Replica {
                    port: second,
                    instance: 0,
                };
                let row = Session {
                    replicas: [replica].into(),
                    truncate: None,
                };
                let set = replication.set_session(first, Some(row));
                set.map_err(|error| error.about(&session()))?;
            }
            "mirroring_add_mc" => {
                let set = replication.set_session_group(first, second);
                set.map_err(|error| error.about(&session()))?;
            }
            "mirroring_delete" => {
                let set = replication.set_session(first, None);
                set.map_err(|error| error.about(&session()))?;
            }
            "mc_mgrp_create" if replication.groups().contains_key(&first) => {}
            "mc_mgrp_create" => {
                let set = replication.set_group(first, Some(Vec::new()));
                set.map_err(|error| error.about(&group()))?;
            }
            "mc_mgrp_destroy" => {
                // One that is not there is refused.
                self.group(first, replication)?;
                let set = replication.set_group(first, None);
                set.map_err(|error| error.about(&group()))?;
                self.groups.remove(&first);
            }
            "mc_node_create" => return self.create(first, rest, replication),
            _ => {
                let mut changed = self.group(first, replication)?;
                changed.nodes.retain(|node| *node != second);
                if name == "mc_node_associate" {
                    if second as usize >= self.nodes.len() {
                        return Err(format!("node {second} is not there"));
                    }
                    changed.nodes.push(second);
                }
                let set = replication.set_group(first, Some(self.copies(&changed)));
                set.map_err(|error| error.about(&group()))?;
                self.groups.insert(first, changed);
            }
        }
        Ok(String::new())
    }

    /// Makes a node with a copy for each port. Returns what that says. Errors: what is too wide.
    fn create(
        &mut self,
        instance: u32,
        ports: &[u32],
        replication: &Replication,
    ) -> Result<String, String> {
        let wide = |_| String::from("an instance has 16 bits");
        let instance = u16::try_from(instance).map_err(wide)?;
        for port in ports {
            let checked = replication.check_port(*port);
            checked.map_err(|error| error.to_string())?;
        }
        let replicas = ports.iter().map(|port| Replica {
            port: *port,
            instance,
        });
        self.nodes.push(replicas.collect());
        let handle = self.nodes.len() - 1;
        Ok(format!("node was created with handle {handle}\n"))
    }

    /// A group of the switch, whoever made it. What others than commands gave it last is given.
    /// Errors: it is not there.
    fn group(&self, number: u32, replication: &Replication) -> Result<Group, String> {
        let copies = replication.groups().get(&number);
        let copies = copies.ok_or_else(|| format!("multicast group {number} is not there"))?;
        let known = self.groups.get(&number);
        let known = known.filter(|group| self.copies(group) == *copies);
        Ok(known.cloned().unwrap_or_else(|| Group {
            given: copies.clone(),
            nodes: Vec::new(),
        }))
    }

    /// The copies that a group makes.
    fn copies(&self, group: &Group) -> Vec<Replica> {
        let nodes = group.nodes.iter();
        let nodes = nodes.filter_map(|node| self.nodes.get(*node as usize));
        group.given.iter().chain(nodes.flatten()).copied().collect()
    }
}
