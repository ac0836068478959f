//! The connections that are up: messages out, and who the peers are.

use std::collections::BTreeMap;

use bofuss_agent::ConnId;
use bofuss_channel::{Origin, Sender};
use bofuss_ext::Switch;
use bofuss_oflib::message::ControllerRole;
use bofuss_oflib::{Message, PortNo};

use super::io::conn_id;

/// The connections that are up.
#[derive(Default)]
pub struct ConnectionSet {
    senders: BTreeMap<ConnId, (Sender, Origin)>,
    /// Messages sent, by type.
    sent: BTreeMap<&'static str, u64>,
}

impl ConnectionSet {
    /// Adds a connection.
    pub fn add(&mut self, conn: ConnId, sender: Sender, origin: Origin) {
        self.senders.insert(conn, (sender, origin));
    }

    /// Removes a connection and its auxiliary connections. Returns the origin of the connection.
    pub fn remove(&mut self, conn: ConnId) -> Option<Origin> {
        let (_, gone) = self.senders.remove(&conn)?;
        self.senders.retain(|_, (_, origin)| match origin {
            Origin::Auxiliary { main, .. } => conn_id(*main) != conn,
            Origin::Active(_) | Origin::Passive { .. } => true,
        });
        Some(gone)
    }

    /// Lists the peers, one a line, with their roles and lost packet-ins, which `switch` knows.
    pub fn list(&self, switch: &Switch) -> String {
        let mut text = String::new();
        for (conn, (_, origin)) in &self.senders {
            let role = switch.role(*conn).unwrap_or(ControllerRole::EQUAL);
            text += &match switch.lost_packet_ins(*conn) {
                0 => format!("{origin} {role}\n"),
                count => format!("{origin} {role} ({count} packet-ins lost)\n"),
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
        all.filter(|(_, (_, origin))| is_meant(origin))
            .map(|(conn, _)| *conn)
            .collect()
    }

    /// Whether a configured controller is connected.
    pub fn have_controller(&self) -> bool {
        let mut origins = self.senders.values().map(|(_, origin)| origin);
        origins.any(|origin| matches!(origin, Origin::Active(_)))
    }

    /// The peer of a connection, for the log.
    pub fn peer(&self, conn: ConnId) -> String {
        self.senders
            .get(&conn)
            .map_or_else(String::new, |(_, origin)| origin.to_string())
    }

    /// Sends a message, unless the connection is gone.
    pub fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        if let Some((sender, _)) = self.senders.get(&conn) {
            *self.sent.entry(message.name()).or_default() += 1;
            sender.send(xid, message);
        }
    }

    /// Whether a connection has room for messages.
    pub fn has_room(&self, conn: ConnId) -> bool {
        self.senders
            .get(&conn)
            .is_none_or(|(sender, _)| sender.has_room())
    }

    /// Whether a connection has room for a packet-in from this port; if so, the packet-in counts as
    /// sent.
    pub fn takes_packet_in(&self, conn: ConnId, in_port: PortNo) -> bool {
        let sender = self.senders.get(&conn);
        sender.is_none_or(|(sender, _)| sender.takes_packet_in(in_port))
    }
}
