//! Handles the events of connections: messages, and connections that come and go.

use bofuss_agent::{ConnId, Request};
use bofuss_channel::{Endpoint, Event, Origin, Reason};
use bofuss_datapath::Time;
use bofuss_embed::record::RecordedInput;
use bofuss_oflib::message::ErrorMsg;
use bofuss_oflib::{EncodeError, Message, Version};
use tracing::{debug, info, warn};

use super::connection_set::RemovedPeer;
use super::io::conn_id;
use super::quick_closes::CloseReport;
use super::{DataPlane, missing_ports, reconfigure};
use crate::refusal;

impl DataPlane {
    /// Handles one event.
    pub(super) fn handle(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::Up {
                conn,
                origin,
                version,
                sender,
            } => {
                if self.connect(now, conn_id(conn), version, &origin) {
                    log_connected(&origin, version);
                    self.io.connections.add(now, conn_id(conn), sender, origin);
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
                if !self.answers_status(conn_id(conn), xid, &message) {
                    self.handle_message(now, conn_id(conn), xid, &head, message);
                }
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
                let peer = self.io.connections.peer(conn_id(conn));
                let error = refusal::cause(self.switch.datapath().catalogue(), &cause);
                refusal::log(&peer, name, xid, &error, "");
                if let Some(error) = reply {
                    self.refuse(now, conn_id(conn), xid, error);
                }
            }
            Event::Unsent {
                conn, name, cause, ..
            } => {
                log_unsent(&self.io.connections.peer(conn_id(conn)), name, &cause);
            }
            Event::Room { .. } => {}
            Event::TlsFiles(Ok(())) => info!("TLS: new connections use the changed files"),
            Event::TlsFiles(Err(error)) => {
                warn!("TLS: {error}; the previous contents of the files stay in use");
            }
            Event::Down { conn, reason } => {
                self.close_connection(conn_id(conn), &reason.to_string(), is_usual_end(&reason));
            }
            // A peer that connects only to see whether the port is open is logged at debug level.
            Event::Failed {
                origin: origin @ Origin::Passive { .. },
                reason,
            } if is_usual_end(&reason) => debug!("{origin}: {reason}"),
            Event::Failed { origin, reason } => warn!("{origin}: {reason}"),
        }
    }

    /// Gives a message to the switch and counts how long it took; `head` are its first bytes.
    fn handle_message(&mut self, now: Time, conn: ConnId, xid: u32, head: &[u8], message: Message) {
        let name = message.name();
        if let Some(recorder) = &mut self.io.recorder {
            recorder.begin(now, |known| known.message(conn, xid, head, &message));
        }
        self.note_missing_ports(&message);
        let request = Request {
            xid,
            head,
            message: Ok(message),
        };
        self.switch.message(now, conn, request, &mut self.io);
        if let Some(recorder) = &mut self.io.recorder {
            recorder.end();
        }
        self.review();
        self.lane.counters.message(name, self.now().since(now));
    }

    /// Logs the ports that an entry or group outputs to and that do not exist, each once.
    fn note_missing_ports(&mut self, message: &Message) {
        let exists = |port| self.io.ports.get(port).is_some();
        for port in self.lane.missing_ports.new_in(message, exists) {
            warn!("{}", missing_ports::sentence(port, &self.config.ports));
        }
    }

    /// Answers a message that could not be decoded, in its order.
    fn refuse(&mut self, now: Time, conn: ConnId, xid: u32, error: ErrorMsg) {
        let noted = error.clone();
        let request = Request {
            xid,
            head: &[],
            message: Err(error),
        };
        self.give(
            now,
            |known| known.wrong(conn, xid, &noted),
            |switch, io| switch.message(now, conn, request, io),
        );
    }

    /// Adds a connection to the switch. Returns false if it is not wanted any more: its controller
    /// was removed while we connected, or its main connection is gone.
    fn connect(&mut self, now: Time, conn: ConnId, version: Version, origin: &Origin) -> bool {
        if !reconfigure::is_wanted(&self.config, origin) {
            return false;
        }
        match origin {
            Origin::Active(_) | Origin::Passive { .. } => {
                let is_controller = matches!(origin, Origin::Active(_));
                self.give(
                    now,
                    |_| Some(RecordedInput::Connect(conn, version, is_controller)),
                    |switch, _| switch.connected(now, conn, version, is_controller),
                );
                let uri = origin.uri();
                self.give(
                    now,
                    |_| Some(RecordedInput::Peer(conn, uri.clone())),
                    |switch, _| switch.set_peer(conn, &uri),
                );
                if is_controller {
                    self.follow_first_controller();
                }
                true
            }
            Origin::Auxiliary { main, id, .. } => {
                let datagrams = origin.is_datagrams();
                let main = conn_id(*main);
                let input = RecordedInput::ConnectBeside {
                    conn,
                    main,
                    id: *id,
                    datagrams,
                };
                self.give(
                    now,
                    |_| Some(input),
                    |switch, _| switch.connected_auxiliary(main, conn, *id, datagrams),
                )
            }
        }
    }

    /// Closes a connection, unless it is closed already. The usual end of a local tool's connection
    /// is logged at debug level.
    pub(super) fn close_connection(&mut self, conn: ConnId, reason: &str, is_usual: bool) {
        if let Some(peer) = self.io.connections.remove(conn) {
            let now = self.now();
            self.log_closed(now, conn, &peer, reason, is_usual);
            self.give(
                now,
                |_| Some(RecordedInput::Disconnect(conn)),
                |switch, _| switch.disconnected(now, conn),
            );
        }
    }
}

impl DataPlane {
    /// Logs the end of a connection; what is usual for a local tool, or was said before of a
    /// controller, at debug level.
    fn log_closed(
        &mut self,
        now: Time,
        conn: ConnId,
        peer: &RemovedPeer,
        reason: &str,
        is_usual: bool,
    ) {
        let origin = &peer.origin;
        let mut report = CloseReport::Usual;
        if is_usual && let Origin::Active(_) = origin {
            let closes = &mut self.lane.quick_closes;
            report = closes.closed(&origin.uri(), now.since(peer.since), peer.last);
        }
        if let CloseReport::Warning(text) = &report {
            warn!("{origin}: {text}");
        }
        let is_known = report == CloseReport::Known || is_usual && is_local_tool(origin);
        match self.switch.lost_packet_ins(conn) {
            0 if is_known => debug!("{origin}: disconnected: {reason}"),
            0 => info!("{origin}: disconnected: {reason}"),
            lost => info!("{origin}: disconnected: {reason} ({lost} packet-ins lost)"),
        }
    }
}

/// Whether the peer is a local tool, such as a call of `dpctl`.
fn is_local_tool(origin: &Origin) -> bool {
    match origin {
        Origin::Passive { listener, .. } => matches!(listener.0, Endpoint::Unix(_)),
        Origin::Active(_) | Origin::Auxiliary { .. } => false,
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

/// Whether the peer closed the connection, or the socket failed, as it does when the peer is gone.
fn is_usual_end(reason: &Reason) -> bool {
    matches!(reason, Reason::Io(_) | Reason::PeerClosed)
}
