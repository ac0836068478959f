//! The other end of each port: a switch with ARP-Path, or hosts.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_datapath::{Time, Tokens};
use bofuss_oflib::PortNo;

use super::frame::PathFrame;
use super::options::PathOptions;
use super::sessions::{Freshness, Nonces, Sessions};

/// The repairs that one port may start in a second, and those at once.
const REPAIRS_PER_SEC: u64 = 200;
/// The challenges and answers that one port may send in a second, and those at once.
const CHALLENGES_PER_SEC: u64 = 100;

/// The other end of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NeighbourKind {
    /// Not known yet: the port has been up for less time than a neighbour may be silent.
    New,
    /// No switch with ARP-Path.
    Hosts,
    /// One switch with ARP-Path, directly on the link.
    Switch,
    /// One or several, across an ordinary bridge, which may also have hosts.
    Shared,
    /// A switch that does not receive from this one; nothing may be sent or accepted there.
    Unidirectional,
    /// No other switch with ARP-Path, and this switch's own HELLOs come back.
    Loop,
}

impl NeighbourKind {
    /// The kinds by name.
    pub const NAMES: [(Self, &'static str); 6] = [
        (Self::New, "new"),
        (Self::Hosts, "hosts"),
        (Self::Switch, "switch"),
        (Self::Shared, "shared"),
        (Self::Unidirectional, "unidirectional"),
        (Self::Loop, "loop"),
    ];

    /// Returns true if a switch with ARP-Path is there, so that frames of the protocol are
    /// accepted.
    pub fn is_switch(self) -> bool {
        matches!(self, Self::Switch | Self::Shared)
    }
}

/// A switch whose HELLOs were received.
#[derive(Clone, Copy, Debug)]
struct Heard {
    id: u64,
    first: Time,
    last: Time,
    /// The time when its HELLO last named this switch.
    confirmed: Time,
}

impl Heard {
    /// Returns true if a HELLO arrived within the last `hold` nanoseconds.
    fn lives(&self, now: Time, hold: u64) -> bool {
        now.since(self.last) < hold
    }
}

/// One port.
#[derive(Clone, Debug)]
pub(super) struct PathPort {
    up: bool,
    /// The time when it came up, or lost its neighbour.
    since: Time,
    /// The neighbour whose HELLOs arrive directly on the link.
    near: Option<Heard>,
    /// The neighbour whose HELLOs pass an ordinary bridge.
    far: Option<Heard>,
    /// The time when a HELLO of this switch last came back.
    looped: Option<Time>,
    /// The neighbours whose signed frames are accepted.
    sessions: Sessions,
    /// True if it had a neighbour at the last check.
    had_neighbour: bool,
    floods: Tokens,
    repairs: Tokens,
    challenges: Tokens,
}

/// The ports of the switch.
#[derive(Debug, Default)]
pub(super) struct PathNeighbours {
    ports: BTreeMap<PortNo, PathPort>,
}

impl PathNeighbours {
    /// Adds or changes a port. Returns true if it has just come up.
    pub(super) fn set_link(&mut self, now: Time, port: PortNo, up: bool, floods: u64) -> bool {
        let before = self.ports.get(&port).is_some_and(|known| known.up);
        if up == before {
            return false;
        }
        if !up {
            self.ports.remove(&port);
            return false;
        }
        let fresh = PathPort {
            up,
            since: now,
            near: None,
            far: None,
            looped: None,
            sessions: Sessions::default(),
            had_neighbour: false,
            floods: Tokens::new(floods, now),
            repairs: Tokens::new(REPAIRS_PER_SEC, now),
            challenges: Tokens::new(CHALLENGES_PER_SEC, now),
        };
        self.ports.insert(port, fresh);
        true
    }

    /// The ports that are up.
    pub(super) fn up(&self) -> impl Iterator<Item = PortNo> {
        self.ports.keys().copied()
    }

    /// Returns true if frames of hosts may arrive on a port, decided without comparing times: no
    /// neighbour is directly on the link, or it receives from this switch.
    #[inline]
    pub(super) fn is_plain(&self, port: PortNo) -> bool {
        let known = self.ports.get(&port);
        known.is_some_and(|known| known.near.is_none_or(|near| near.confirmed == near.last))
    }

    /// Returns true if a port is up.
    pub(super) fn is_up(&self, port: PortNo) -> bool {
        self.ports.contains_key(&port)
    }

    /// Returns what is at the other end of a port.
    pub(super) fn kind(&self, now: Time, port: PortNo, options: &PathOptions) -> NeighbourKind {
        let hold = options.hold;
        let Some(known) = self.ports.get(&port) else {
            return NeighbourKind::Hosts;
        };
        let near = known.near.as_ref().filter(|heard| heard.lives(now, hold));
        let far = known.far.as_ref().filter(|heard| heard.lives(now, hold));
        match (near, far) {
            (Some(near), Some(far)) if near.id != far.id => NeighbourKind::Shared,
            (Some(near), _) if now.since(near.confirmed.max(near.first)) >= hold => {
                NeighbourKind::Unidirectional
            }
            (Some(_), _) => NeighbourKind::Switch,
            (None, Some(_)) => NeighbourKind::Shared,
            (None, None) if options.host_ports.contains(&port) => NeighbourKind::Hosts,
            (None, None) if known.looped.is_some_and(|at| now.since(at) < hold) => {
                NeighbourKind::Loop
            }
            (None, None) if now.since(known.since) < hold => NeighbourKind::New,
            (None, None) => NeighbourKind::Hosts,
        }
    }

    /// The switch whose HELLO last arrived on a port, for the `to` of our HELLOs; 0 if there is
    /// none.
    pub(super) fn heard(&self, now: Time, port: PortNo, hold: u64) -> u64 {
        let known = self.ports.get(&port);
        let near = known.and_then(|known| known.near);
        near.filter(|near| now.since(near.last) < hold)
            .map_or(0, |near| near.id)
    }

    /// Handles a HELLO from a switch, which says whether that receives from us; `near` if it came
    /// directly on the link. Returns true if the port had no such neighbour before, so that a HELLO
    /// should be sent at once. Of several switches across a bridge, only the last one is stored.
    pub(super) fn hear(
        &mut self,
        now: Time,
        port: PortNo,
        (id, hears_us): (u64, bool),
        near: bool,
        hold: u64,
    ) -> bool {
        let Some(known) = self.ports.get_mut(&port) else {
            return false;
        };
        let place = if near {
            &mut known.near
        } else {
            &mut known.far
        };
        let living = place.filter(|heard| now.since(heard.last) < hold);
        let before = living.filter(|heard| heard.id == id);
        let first = before.map_or(now, |heard| heard.first);
        let confirmed = before.map_or(Time(0), |heard| heard.confirmed);
        *place = Some(Heard {
            id,
            first,
            last: now,
            confirmed: if hears_us { now } else { confirmed },
        });
        known.had_neighbour = true;
        living.is_none()
    }

    /// Notes that a HELLO of this switch came back.
    pub(super) fn hear_itself(&mut self, now: Time, port: PortNo) {
        if let Some(known) = self.ports.get_mut(&port) {
            known.looped = Some(now);
        }
    }

    /// Returns how a signed frame from a port compares with earlier ones; `None` if the port is not
    /// up.
    pub(super) fn freshness(
        &mut self,
        now: Time,
        port: PortNo,
        nonces: &Nonces,
        frame: &PathFrame,
        options: &PathOptions,
    ) -> Option<Freshness> {
        let known = self.ports.get_mut(&port)?;
        let at = (port, known.since);
        Some(known.sessions.take(now, at, nonces, frame, options))
    }

    /// Ports whose neighbours have been lost since this was called last.
    pub(super) fn lost(&mut self, now: Time, options: &PathOptions) -> Vec<PortNo> {
        let ports: Vec<PortNo> = self.up().collect();
        let mut lost = Vec::new();
        for port in ports {
            let has_neighbour = self.kind(now, port, options).is_switch();
            let known = self.ports.get_mut(&port).expect("it is one of them");
            if known.had_neighbour && !has_neighbour {
                known.since = now;
                lost.push(port);
            }
            known.had_neighbour = has_neighbour;
        }
        lost
    }

    /// The time when the next neighbour is lost if no HELLO arrives; `None` without neighbours.
    pub(super) fn next_loss(&self, hold: u64) -> Option<Time> {
        let ports = self.ports.values().filter(|port| port.had_neighbour);
        let heard = ports.flat_map(|port| port.near.into_iter().chain(port.far));
        // The earlier of the two is early enough.
        heard.map(|heard| heard.last.after(hold)).min()
    }

    /// Returns true if a port may flood one more frame.
    pub(super) fn may_flood(&mut self, now: Time, port: PortNo, rate: u64, dry: bool) -> bool {
        let known = self.ports.get_mut(&port);
        known.is_none_or(|known| known.floods.take(now, rate, dry))
    }

    /// Returns true if a port may start one more repair.
    pub(super) fn may_repair(&mut self, now: Time, port: PortNo) -> bool {
        let known = self.ports.get_mut(&port);
        known.is_none_or(|known| known.repairs.take(now, REPAIRS_PER_SEC, false))
    }

    /// Returns true if a port may send one more challenge or answer.
    pub(super) fn may_challenge(&mut self, now: Time, port: PortNo) -> bool {
        let known = self.ports.get_mut(&port);
        known.is_some_and(|known| known.challenges.take(now, CHALLENGES_PER_SEC, false))
    }
}
