//! The connections of a switch.
//!
//! A channel is a main connection and its auxiliary ones. What a controller sets is stored at the
//! main connection; a long reply and flow monitors are at the connection that asked for them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use bofuss_oflib::Version;

use crate::connection::Connection;
use crate::request::ConnId;

/// All connections, and what their controllers share. Invariant: the main connection of each is
/// here, too.
#[derive(Default)]
pub(crate) struct Connections {
    /// By number: events reach them in this order.
    pub(crate) by_id: BTreeMap<ConnId, Connection>,
    /// The newest generation id of a role request for master or slave; it outlives the connection
    /// that sent it.
    pub(crate) generation_id: Option<u64>,
}

impl Connections {
    /// The main connection of the channel to which `conn` belongs. Panics: if `conn` is closed.
    pub(crate) fn channel(&mut self, conn: ConnId) -> &mut Connection {
        let main = self.by_id.get(&conn).map_or(conn, |conn| conn.main);
        self.by_id
            .get_mut(&main)
            .expect("messages of closed connections are not handled")
    }

    /// Returns true if there is a connection with this number.
    pub(crate) fn has(&self, conn: ConnId) -> bool {
        self.by_id.contains_key(&conn)
    }

    /// Returns true if a long reply to this connection is in progress.
    pub(crate) fn is_busy(&self, conn: ConnId) -> bool {
        let connection = self.by_id.get(&conn);
        connection.is_some_and(|connection| connection.dump.is_some())
    }

    /// Returns true if a configured controller is connected, whatever its role: the fail mode then
    /// ends.
    pub(crate) fn has_controller(&self) -> bool {
        self.by_id.values().any(|conn| conn.is_controller)
    }

    /// Adds a main connection.
    pub(crate) fn add(&mut self, conn: ConnId, version: Version, is_controller: bool) {
        let connection = Connection::new(conn, version, is_controller);
        self.by_id.insert(conn, connection);
    }

    /// Adds an auxiliary connection to the channel of `main`. Returns false if `main` is gone.
    pub(crate) fn add_auxiliary(
        &mut self,
        main: ConnId,
        conn: ConnId,
        auxiliary_id: u8,
        datagrams: bool,
    ) -> bool {
        let Some(of) = self.by_id.get_mut(&main) else {
            return false;
        };
        of.auxiliaries.push(conn);
        let auxiliary = Connection {
            main,
            auxiliary_id,
            datagrams,
            ..Connection::new(conn, of.version, false)
        };
        self.by_id.insert(conn, auxiliary);
        true
    }

    /// Removes a connection; with a main connection also its auxiliary ones. Returns all of them,
    /// none if it was removed before.
    pub(crate) fn remove(&mut self, conn: ConnId) -> Vec<ConnId> {
        let with_it = |(id, other): &(&ConnId, &Connection)| **id == conn || other.main == conn;
        let ended = self.by_id.iter().filter(with_it);
        let ended: Vec<ConnId> = ended.map(|(id, _)| *id).collect();
        self.by_id.retain(|id, _| !ended.contains(id));
        for main in self.by_id.values_mut() {
            main.auxiliaries.retain(|id| *id != conn);
        }
        ended
    }
}
