//! Multicast nodes and clone sessions as bmv2's command line makes them.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::ControlError;
use crate::replication::{Replica, Replication, Session};

/// The nodes of multicast groups, of which the switch itself knows only the copies.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    /// The copies of each node, which all have one instance.
    nodes: Vec<Vec<Replica>>,
    /// The nodes of multicast groups.
    groups: BTreeMap<u32, Vec<u32>>,
    /// Clone sessions that go to a multicast group.
    session_groups: BTreeMap<u32, u32>,
}

impl Nodes {
    /// Carries out a command with its numbers, of which there are enough. Returns what it says.
    /// Errors: what is not there, what is there already, what has no room; then nothing changes.
    pub fn command(
        &mut self,
        name: &str,
        numbers: &[u32],
        replication: &mut Replication,
    ) -> Result<String, ControlError> {
        let before = self.clone();
        let done = self.carry_out(name, numbers, replication);
        if done.is_err() {
            *self = before;
        }
        done
    }

    fn carry_out(
        &mut self,
        name: &str,
        numbers: &[u32],
        replication: &mut Replication,
    ) -> Result<String, ControlError> {
        let (first, rest) = (numbers[0], &numbers[1..]);
        let second = rest.first().copied().unwrap_or(0);
        let mut said = String::new();
        match name {
            "mirroring_add" => {
                self.session_groups.remove(&first);
                let replica = Replica {
                    port: second,
                    instance: 0,
                };
                let session = Session {
                    replicas: [replica].into(),
                    truncate: None,
                };
                replication.set_session(first, Some(session))?;
            }
            "mirroring_add_mc" => drop(self.session_groups.insert(first, second)),
            "mirroring_delete" => {
                self.session_groups.remove(&first);
                replication.set_session(first, None)?;
            }
            "mc_mgrp_create" => {
                if let Entry::Vacant(group) = self.groups.entry(first) {
                    if replication.groups().contains_key(&first) {
                        return Err(ControlError::Exists);
                    }
                    replication.set_group(first, Some(Vec::new()))?;
                    group.insert(Vec::new());
                }
            }
            "mc_mgrp_destroy" => {
                self.groups.remove(&first).ok_or(ControlError::NotFound)?;
                replication.set_group(first, None)?;
            }
            "mc_node_create" => {
                let wide = |_| ControlError::Invalid("an instance has 16 bits".into());
                let instance = u16::try_from(first).map_err(wide)?;
                for port in rest {
                    replication.check_port(*port)?;
                }
                let replicas = rest.iter().map(|port| Replica {
                    port: *port,
                    instance,
                });
                said = format!("node was created with handle {}\n", self.nodes.len());
                self.nodes.push(replicas.collect());
            }
            _ => {
                let nodes = self.groups.get_mut(&first).ok_or(ControlError::NotFound)?;
                nodes.retain(|node| *node != second);
                if name == "mc_node_associate" {
                    if second as usize >= self.nodes.len() {
                        return Err(ControlError::NotFound);
                    }
                    nodes.push(second);
                }
            }
        }
        self.set_groups(replication)?;
        Ok(said)
    }

    /// Gives the switch its multicast groups, and the sessions that go to one.
    fn set_groups(&self, replication: &mut Replication) -> Result<(), ControlError> {
        for (group, nodes) in &self.groups {
            let nodes = nodes
                .iter()
                .filter_map(|node| self.nodes.get(*node as usize));
            let replicas: Vec<Replica> = nodes.flatten().copied().collect();
            replication.set_group(*group, Some(replicas.clone()))?;
            let sessions = self
                .session_groups
                .iter()
                .filter(|(_, other)| *other == group);
            for (session, _) in sessions {
                let session_row = Session {
                    replicas: replicas.clone(),
                    truncate: None,
                };
                replication.set_session(*session, Some(session_row))?;
            }
        }
        Ok(())
    }
}
