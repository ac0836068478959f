//! The connections that are up: messages out, and who the peers are.

use std::collections::BTreeMap;

use bofuss_agent::ConnId;
use bofuss_channel::{ActiveAddress, Endpoint, Origin, Sender};
use bofuss_datapath::Time;
use bofuss_ext::Switch;
use bofuss_oflib::message::ControllerRole;
use bofuss_oflib::{Message, PortNo, Version};

/// A connection that is up.
struct Peer {
    sender: Sender,
    origin: Origin,
    version: Version,
    /// When it began.
    since: Time,
    /// The message that was sent last.
    last: &'static str,
}

/// A connection that was removed.
pub struct RemovedPeer {
    /// The peer.
    pub origin: Origin,
    /// When the connection began.
    pub since: Time,
    /// The name of the message that was sent last, and its size in bytes.
    pub last: (&'static str, usize),
}

/// The connections that are up.
#[derive(Default)]
pub struct ConnectionSet {
    senders: BTreeMap<ConnId, Peer>,
    /// Messages sent, by type.
    sent: BTreeMap<&'static str, u64>,
}

impl ConnectionSet {
    /// Adds a connection, which began with a HELLO.
    pub fn add(
        &mut self,
        now: Time,
        conn: ConnId,
        sender: Sender,
        origin: Origin,
        version: Version,
    ) {
        let peer = Peer {
            sender,
            origin,
            version,
            since: now,
            last: "HELLO",
        };
        self.senders.insert(conn, peer);
    }

    /// Removes a connection and its auxiliary connections.
    pub fn remove(&mut self, conn: ConnId) -> Option<RemovedPeer> {
        let gone = self.senders.remove(&conn)?;
        self.senders.retain(|_, peer| match &peer.origin {
            Origin::Auxiliary { main, .. } => conn_id(*main) != conn,
            Origin::Active(_) | Origin::Passive { .. } => true,
        });
        Some(RemovedPeer {
            last: (gone.last, gone.sender.last_bytes()),
            origin: gone.origin,
            since: gone.since,
        })
    }

    /// Lists the peers, one a line, with their roles, versions and lost packet-ins, which `switch`
    /// knows.
    pub fn list(&self, switch: &Switch) -> String {
        let mut text = String::new();
        for (conn, peer) in &self.senders {
            let Peer {
                origin, version, ..
            } = peer;
            let role = switch.role(*conn).unwrap_or(ControllerRole::EQUAL);
            text += &format!("{origin} {role} OpenFlow {version}");
            text += &match switch.lost(*conn).packet_ins {
                0 => "\n".into(),
                count => format!(" ({count} packet-ins lost)\n"),
            };
        }
        text
    }

    /// Messages sent, by type.
    pub fn sent(&self) -> &BTreeMap<&'static str, u64> {
        &self.sent
    }

    /// The connections whose origin satisfies `is_meant`.
    pub fn select(&self, is_meant: impl Fn(&Origin) -> bool) -> Vec<ConnId> {
        let all = self.senders.iter();
        all.filter(|(_, peer)| is_meant(&peer.origin))
            .map(|(conn, _)| *conn)
            .collect()
    }

    /// Returns true if a connection to this controller is up.
    pub fn have(&self, controller: &ActiveAddress) -> bool {
        let mut origins = self.senders.values().map(|peer| &peer.origin);
        origins.any(|origin| matches!(origin, Origin::Active(to) if to == controller))
    }

    /// Returns true if a configured controller is connected.
    pub fn have_controller(&self) -> bool {
        let mut origins = self.senders.values().map(|peer| &peer.origin);
        origins.any(|origin| matches!(origin, Origin::Active(_)))
    }

    /// The peer of a connection, for the log.
    pub fn peer(&self, conn: ConnId) -> String {
        self.senders
            .get(&conn)
            .map_or_else(String::new, |peer| peer.origin.to_string())
    }

    /// Sends a message, unless the connection is gone.
    pub fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        if let Some(peer) = self.senders.get_mut(&conn) {
            peer.last = message.name();
            *self.sent.entry(peer.last).or_default() += 1;
            peer.sender.send(xid, message);
        }
    }

    /// Returns true if a connection has room for messages.
    pub fn has_room(&self, conn: ConnId) -> bool {
        self.senders
            .get(&conn)
            .is_none_or(|peer| peer.sender.has_room())
    }

    /// Returns true if a connection is up.
    pub fn contains(&self, conn: ConnId) -> bool {
        self.senders.contains_key(&conn)
    }

    /// Returns true if a connection has room for a packet-in from this port; if so, the packet-in
    /// counts as sent.
    pub fn takes_packet_in(&self, conn: ConnId, in_port: PortNo) -> bool {
        let peer = self.senders.get(&conn);
        peer.is_none_or(|peer| peer.sender.takes_packet_in(in_port))
    }
}

/// Converts the id of a connection from the channel's type to the agent's.
pub fn conn_id(id: bofuss_channel::ConnId) -> ConnId {
    ConnId(id.0)
}

/// Returns true if the peer is a local tool, such as a call of `dpctl`.
pub fn is_local_tool(origin: &Origin) -> bool {
    match origin {
        Origin::Passive { listener, .. } => matches!(listener.0, Endpoint::Unix(_)),
        Origin::Active(_) | Origin::Auxiliary { .. } => false,
    }
}
