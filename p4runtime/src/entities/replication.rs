//! Multicast groups, clone sessions, and which digests a controller wants.

use std::collections::{BTreeSet, HashSet};

use bofuss_p4::{Backups, Int, MAX_REPLICAS, Replica as Copy, Session};
use tonic::Code;

use super::{Target, View, check_there, entity};
use crate::digests::DigestQueue;
use crate::error::{Refusal, Result};
use crate::value::{canonical, parse};
use crate::wire::entities::{
    BackupReplica, CloneSessionEntry, DigestEntry, Entity, EntityKind, MulticastGroupEntry,
    PacketReplicationEngineEntry, PacketReplicationEngineEntryType as Kind, Replica,
    ReplicaPortKind,
};
use crate::wire::messages::UpdateType;

impl Target<'_> {
    pub fn write_multicast(&mut self, kind: UpdateType, entry: &MulticastGroupEntry) -> Result<()> {
        let id = entry.multicast_group_id;
        let there = self.switch.replication().groups().contains_key(&id);
        check_there(kind, there, format_args!("multicast group {id}"))?;
        let replication = self.switch.replication_mut();
        if kind == UpdateType::Delete {
            replication.set_group(id, None)?;
        } else {
            let (replicas, backups) = copies(&entry.replicas)?;
            replication.set_backed_group(id, replicas, backups)?;
        }
        note_form(&mut self.side.groups_in_bytes, id, &entry.replicas);
        self.side.multicast.remove(&id);
        if kind != UpdateType::Delete && !entry.metadata.is_empty() {
            self.side.multicast.insert(id, entry.metadata.clone());
        }
        Ok(())
    }

    pub fn write_session(&mut self, kind: UpdateType, entry: &CloneSessionEntry) -> Result<()> {
        let id = entry.session_id;
        if id == 0 {
            return Err(Refusal::invalid("a clone session has a number above 0"));
        }
        let there = self.switch.replication().sessions().contains_key(&id);
        check_there(kind, there, format_args!("clone session {id}"))?;
        if kind == UpdateType::Delete {
            self.switch.replication_mut().set_session(id, None)?;
            self.side.sessions_in_bytes.remove(&id);
            return Ok(());
        }
        if entry.class_of_service != 0 {
            return Err(Refusal::missing("classes of service are not there"));
        }
        let wrong = |_| Refusal::invalid("packet_length_bytes is below 0");
        let truncate = u32::try_from(entry.packet_length_bytes).map_err(wrong)?;
        let (replicas, backups) = copies(&entry.replicas)?;
        let session = Session {
            replicas,
            truncate: Some(truncate).filter(|bytes| *bytes > 0),
        };
        let replication = self.switch.replication_mut();
        replication.set_backed_session(id, session, backups)?;
        note_form(&mut self.side.sessions_in_bytes, id, &entry.replicas);
        Ok(())
    }

    pub fn write_digest(&mut self, kind: UpdateType, entry: &DigestEntry) -> Result<()> {
        let id = entry.digest_id;
        if !self.info.digests.values().any(|digest| digest.id == id) {
            return Err(Refusal::not_found(format!("there is no digest {id}")));
        }
        let there = self.side.digests.contains_key(&id);
        check_there(kind, there, format_args!("the request for digest {id}"))?;
        if kind == UpdateType::Delete {
            self.side.digests.remove(&id);
            return Ok(());
        }
        let config = entry.config.unwrap_or_default();
        let times = [config.max_timeout_ns, config.ack_timeout_ns];
        if times.iter().any(|time| *time < 0) || config.max_list_size < 0 {
            return Err(Refusal::invalid("a time or size is below 0"));
        }
        match self.side.digests.get_mut(&id) {
            Some(queue) => queue.configure(config),
            None => drop(self.side.digests.insert(id, DigestQueue::new(config))),
        }
        Ok(())
    }
}

impl View<'_> {
    /// The multicast groups from the number `from` on, at most `most`, and the last of them.
    pub fn show_multicast(&self, from: u32, only: u32, most: usize) -> (Vec<Entity>, u32) {
        let replication = self.switch.replication();
        let groups = replication.groups().range(from..);
        let groups = groups.filter(|(id, _)| only == 0 || **id == only);
        let mut last = 0;
        let shown = groups.take(most).map(|(id, replicas)| {
            last = *id;
            let metadata = self.side.multicast.get(id).cloned();
            shown_entry(Kind::MulticastGroupEntry(MulticastGroupEntry {
                multicast_group_id: *id,
                replicas: shown_copies(
                    replicas,
                    replication.group_backups(*id),
                    self.side.groups_in_bytes.contains(id),
                ),
                metadata: metadata.unwrap_or_default(),
            }))
        });
        (shown.collect(), last)
    }

    /// The clone sessions from the number `from` on, at most `most`, and the last of them.
    pub fn show_sessions(&self, from: u32, only: u32, most: usize) -> (Vec<Entity>, u32) {
        let replication = self.switch.replication();
        let sessions = replication.sessions().range(from..);
        let sessions = sessions.filter(|(id, _)| only == 0 || **id == only);
        let mut last = 0;
        let shown = sessions.take(most).map(|(id, session)| {
            last = *id;
            let bytes = session.truncate.unwrap_or(0);
            shown_entry(Kind::CloneSessionEntry(CloneSessionEntry {
                session_id: *id,
                replicas: shown_copies(
                    &session.replicas,
                    replication.session_backups(*id),
                    self.side.sessions_in_bytes.contains(id),
                ),
                class_of_service: 0,
                packet_length_bytes: i32::try_from(bytes).unwrap_or(i32::MAX),
            }))
        });
        (shown.collect(), last)
    }

    /// The digests that a controller wants.
    pub fn show_digests(&self, only: u32) -> Vec<Entity> {
        let digests = self.side.digests.iter();
        let digests = digests.filter(|(id, _)| only == 0 || **id == only);
        let shown = digests.map(|(id, queue)| {
            entity(EntityKind::DigestEntry(DigestEntry {
                digest_id: *id,
                config: Some(queue.config),
            }))
        });
        shown.collect()
    }
}

fn shown_entry(kind: Kind) -> Entity {
    let entry = PacketReplicationEngineEntry { r#type: Some(kind) };
    entity(EntityKind::PacketReplicationEngineEntry(entry))
}

/// The copies that replicas say, with their backups. Errors: too many, a port that is missing or
/// too wide, one pair twice, a backup with the port that it is for.
fn copies(replicas: &[Replica]) -> Result<(Vec<Copy>, Backups)> {
    // This is on the thread that forwards packets.
    let backed = replicas.iter().map(|one| one.backup_replicas.len());
    if replicas.len() + backed.sum::<usize>() > MAX_REPLICAS {
        let what = format!("there are more than {MAX_REPLICAS} replicas");
        return Err(Refusal::new(Code::ResourceExhausted, what));
    }
    let mut seen = BTreeSet::new();
    let mut copy = |port: u32, instance: u32| -> Result<Copy> {
        let wrong = |_| Refusal::invalid("an instance has more than 16 bits");
        let instance = u16::try_from(instance).map_err(wrong)?;
        let copy = Copy { port, instance };
        if !seen.insert(copy) {
            return Err(Refusal::invalid("a port and instance is there twice"));
        }
        Ok(copy)
    };
    let mut copies = Vec::new();
    let mut backups = Backups::new();
    for replica in replicas {
        let port = match &replica.port_kind {
            Some(ReplicaPortKind::EgressPort(port)) => *port,
            Some(ReplicaPortKind::Port(bytes)) => parse(bytes, 32, "the port")?.low() as u32,
            None => return Err(Refusal::invalid("a replica has no port")),
        };
        let first = copy(port, replica.instance)?;
        copies.push(first);
        let mut others = Vec::new();
        for backup in &replica.backup_replicas {
            let port = parse(&backup.port, 32, "the port of a backup")?.low() as u32;
            if port == first.port {
                let what = "a backup has the port of its replica";
                return Err(Refusal::invalid(what));
            }
            others.push(copy(port, backup.instance)?);
        }
        if !others.is_empty() {
            backups.insert(first, others);
        }
    }
    Ok((copies, backups))
}

/// Notes whether the ports of replicas are bytes, as P4Runtime 1.4 has them.
fn note_form(in_bytes: &mut HashSet<u32>, id: u32, replicas: &[Replica]) {
    let is_bytes = |replica: &Replica| matches!(replica.port_kind, Some(ReplicaPortKind::Port(_)));
    if replicas.iter().any(is_bytes) {
        in_bytes.insert(id);
    } else {
        in_bytes.remove(&id);
    }
}

fn shown_copies(copies: &[Copy], backups: Option<&Backups>, in_bytes: bool) -> Vec<Replica> {
    let bytes = |port: u32| canonical(&Int::Small(port.into()), u32::BITS);
    let shown = copies.iter().map(|copy| {
        let others = backups.and_then(|all| all.get(copy));
        let others = others.into_iter().flatten().map(|other| BackupReplica {
            port: bytes(other.port),
            instance: other.instance.into(),
        });
        Replica {
            port_kind: Some(if in_bytes {
                ReplicaPortKind::Port(bytes(copy.port))
            } else {
                ReplicaPortKind::EgressPort(copy.port)
            }),
            instance: copy.instance.into(),
            backup_replicas: others.collect(),
        }
    });
    shown.collect()
}
