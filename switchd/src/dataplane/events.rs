//! Handles the events of connections: messages, and connections that come and go.

use bofuss_agent::ConnId;
use bofuss_channel::{Event, Origin, Reason, TlsError};
use bofuss_datapath::Time;
use bofuss_embed::record::RecordedInput;
use bofuss_oflib::{EncodeError, Message, Version};
use tracing::{debug, info, warn};

use super::connection_set::{conn_id, is_local_tool};
use super::{DataPlane, missing_ports, status};
use crate::refusal;

impl DataPlane {
    /// Handles one event.
    pub(super) fn handle(&mut self, event: Event) {
        let now = self.live.now();
        match event {
            Event::Up {
                conn,
                origin,
                version,
                sender,
            } => {
                if self.connect(now, conn_id(conn), version, &origin) {
                    log_connected(&origin, version);
                    self.live
                        .io_mut()
                        .connections
                        .add(now, conn_id(conn), sender, origin, version);
                }
            }
            Event::Message {
                conn,
                xid,
                head,
                message,
                place,
            } => {
                self.inbox.hold(place);
                self.handle_message(now, conn_id(conn), xid, &head, message);
            }
            Event::BadMessage {
                conn,
                xid,
                name,
                reply,
                cause,
                place,
            } => {
                self.inbox.hold(place);
                let peer = self.live.io().connections.peer(conn_id(conn));
                let error = refusal::cause(self.live.switch().datapath().catalogue(), &cause);
                refusal::log(&peer, name, xid, &error, "");
                if let Some(error) = reply {
                    self.live.refuse(now, conn_id(conn), xid, error);
                }
            }
            Event::Unsent {
                conn, name, cause, ..
            } => {
                log_unsent(
                    &self.live.io().connections.peer(conn_id(conn)),
                    name,
                    &cause,
                );
            }
            Event::Room { .. } => {}
            Event::TlsFiles(read) => log_tls_files(read),
            Event::Down { conn, reason } => {
                self.live.close_connection(
                    conn_id(conn),
                    &reason.to_string(),
                    is_usual_end(&reason),
                );
            }
            // A peer that connects only to see whether the port is open is logged at debug level.
            Event::Failed {
                origin: origin @ Origin::Passive { .. },
                reason,
            } if is_usual_end(&reason) => debug!("{origin}: {reason}"),
            Event::Failed { origin, reason } => warn!("{origin}: {reason}"),
        }
    }

    /// Answers a request for the status, and gives other messages to the switch; `head` are the
    /// first bytes.
    fn handle_message(&mut self, now: Time, conn: ConnId, xid: u32, head: &[u8], message: Message) {
        self.live.workers().stop();
        let controllers = &self.config.current.controllers;
        if !status::is_answered(&mut self.live, controllers, (conn, xid), &message) {
            self.note_missing_ports(&message);
            self.live.message(now, conn, xid, head, message);
        }
    }

    /// Logs the ports that an entry or group outputs to and that do not exist, each once.
    fn note_missing_ports(&mut self, message: &Message) {
        let ports = self.live.switch().datapath().ports();
        let exists = |port| ports.contains_key(&port);
        for port in self.missing_ports.new_in(message, exists) {
            let known = &self.config.current.ports;
            warn!("{}", missing_ports::sentence(port, known));
        }
    }

    /// Adds a connection to the switch. Returns false if it is not wanted any more: its controller
    /// was removed while we connected, or its main connection is gone.
    pub(super) fn connect(
        &mut self,
        now: Time,
        conn: ConnId,
        version: Version,
        origin: &Origin,
    ) -> bool {
        if !self.config.wants(origin) {
            return false;
        }
        match origin {
            Origin::Active(_) | Origin::Passive { .. } => {
                let is_controller = matches!(origin, Origin::Active(_));
                self.live.give(
                    now,
                    |_| Some(RecordedInput::Connect(conn, version, is_controller)),
                    |switch, _| switch.connected(now, conn, version, is_controller),
                );
                let uri = origin.uri();
                self.live.give(
                    now,
                    |_| Some(RecordedInput::Peer(conn, uri.clone())),
                    |switch, _| switch.set_peer(conn, &uri),
                );
                if is_controller {
                    self.config.follow_first_controller(&mut self.live);
                }
                true
            }
            Origin::Auxiliary { main, id, .. } => {
                let datagrams = origin.is_datagrams();
                let main = conn_id(*main);
                // What has no effect here is no input that a record or another worker can play.
                if self.live.switch().role(main).is_none() {
                    return false;
                }
                let input = RecordedInput::ConnectBeside {
                    conn,
                    main,
                    id: *id,
                    datagrams,
                };
                self.live.give(
                    now,
                    |_| Some(input),
                    |switch, _| switch.connected_auxiliary(main, conn, *id, datagrams),
                )
            }
        }
    }
}

/// Logs that the files of TLS changed.
pub fn log_tls_files(read: Result<(), TlsError>) {
    match read {
        Ok(()) => info!("TLS: new connections use the changed files"),
        Err(error) => warn!("TLS: {error}; the previous contents of the files stay in use"),
    }
}

/// Logs a new connection; those of local tools at debug level.
fn log_connected(origin: &Origin, version: Version) {
    if is_local_tool(origin) {
        debug!("{origin}: connected, OpenFlow {version}");
    } else {
        info!("{origin}: connected, OpenFlow {version}");
    }
}

/// Logs a message that is too long, or that the connection's version has no form for.
fn log_unsent(peer: &str, name: &str, cause: &EncodeError) {
    match cause {
        EncodeError::TooLong => warn!("{peer}: a {name} was not sent: {cause}"),
        EncodeError::Unsupported(_) => debug!("{peer}: a {name} was not sent: {cause}"),
    }
}

/// Returns true if the peer closed the connection, or the socket failed, as it does when the peer
/// is gone.
fn is_usual_end(reason: &Reason) -> bool {
    matches!(reason, Reason::Io(_) | Reason::PeerClosed)
}
