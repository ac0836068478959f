//! Packets that wait for a port without room: after ingress, and before egress.

use alloc::collections::{BTreeMap, VecDeque};

use crate::run::packet::Packet;

/// The priorities of `standard_metadata.priority`, which has three bits.
const PRIORITIES: usize = 8;
/// The packets of one priority that wait for one port at most.
const MAX_PACKETS: usize = 1024;
/// The memory of all packets that wait, by a rough count, from which on there is no room.
const MAX_BYTES: usize = 64 << 20;

/// The time and place of a packet that waited.
#[derive(Clone, Copy, Debug)]
pub struct Stay {
    /// The time since when, in microseconds.
    pub since: u64,
    /// The packets of its priority that waited for the port when it came.
    pub found: u64,
    /// Those of its priority that wait when it leaves.
    pub left: u64,
}

impl Stay {
    /// That of a packet whose port has room.
    pub fn none(now: u64) -> Self {
        Self {
            since: now,
            found: 0,
            left: 0,
        }
    }
}

/// The packets that wait for one port, by priority.
#[derive(Clone, Debug, Default)]
struct PortQueue {
    levels: [VecDeque<(Packet<'static>, Stay)>; PRIORITIES],
}

impl PortQueue {
    fn len(&self) -> usize {
        self.levels.iter().map(VecDeque::len).sum()
    }
}

/// The ports without room, with the packets that wait for them.
#[derive(Clone, Debug, Default)]
pub struct Queues {
    held: BTreeMap<u32, PortQueue>,
    bytes: usize,
}

impl Queues {
    /// Lets packets for a port wait. Returns false if they do already.
    pub fn hold(&mut self, port: u32) -> bool {
        let is_new = !self.holds(port);
        self.held.entry(port).or_default();
        is_new
    }

    /// Returns true if packets for a port wait.
    pub fn holds(&self, port: u32) -> bool {
        // Most of the time, no port is without room.
        !self.held.is_empty() && self.held.contains_key(&port)
    }

    /// The number of packets that wait, for all ports.
    pub fn len(&self) -> usize {
        self.held.values().map(PortQueue::len).sum()
    }

    /// Lets a packet wait for a port that holds packets, behind those of its priority; above 7
    /// counts as 7. Returns true if there is room for it.
    pub fn push(&mut self, port: u32, priority: u64, packet: Packet<'static>, now: u64) -> bool {
        let Some(queue) = self.held.get_mut(&port) else {
            return false;
        };
        let level = &mut queue.levels[(priority as usize).min(PRIORITIES - 1)];
        let stay = Stay {
            found: level.len() as u64,
            ..Stay::none(now)
        };
        let bytes = packet.held_bytes();
        let has_room = level.len() < MAX_PACKETS && self.bytes + bytes <= MAX_BYTES;
        if has_room {
            self.bytes += bytes;
            level.push_back((packet, stay));
        }
        has_room
    }

    /// Takes the packet of the highest priority that waits for a port, and of those the first.
    pub fn pop(&mut self, port: u32) -> Option<(Packet<'static>, Stay)> {
        let queue = self.held.get_mut(&port)?;
        let mut levels = queue.levels.iter_mut().rev();
        let level = levels.find(|level| !level.is_empty())?;
        let (packet, stay) = level.pop_front()?;
        self.bytes -= packet.held_bytes();
        let left = level.len() as u64;
        Some((packet, Stay { left, ..stay }))
    }

    /// Lets packets for a port wait no longer if none does.
    pub fn release(&mut self, port: u32) {
        if self.held.get(&port).is_some_and(|queue| queue.len() == 0) {
            self.held.remove(&port);
        }
    }

    /// Lets packets for a port wait no longer. Returns how many are gone with it.
    pub fn discard(&mut self, port: u32) -> usize {
        let mut count = 0;
        while self.pop(port).is_some() {
            count += 1;
        }
        self.release(port);
        count
    }
}
