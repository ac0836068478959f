//! Carries out the effects of the switch: frames go to ports, messages to connections.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use bofuss_agent::{ConnId, Refusal, SwitchIo};
use bofuss_datapath::Time;
use bofuss_embed::record::{Question, RecordedOutput};
use bofuss_embed::saved::SAVER;
use bofuss_frame::Frame;
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Message, PortNo};
use bofuss_ports::Counters;
use tracing::warn;

use super::connection_set::ConnectionSet;
use super::followers::Followers;
use super::port_set::PortSet;
use crate::config::PortSpec;
use crate::error::Result;
use crate::port::{self, OpenPort};
use crate::record::SwitchRecorder;
use crate::refusal;
use crate::rights::LOCKED;

/// The connection by which an operator's command gives an extension a message.
pub(super) const OPERATOR: ConnId = ConnId(u64::MAX - 1);

/// The ports and connections.
pub struct DataPlaneIo {
    /// The open ports.
    pub ports: PortSet,
    /// The connections that are up.
    pub connections: ConnectionSet,
    /// True if the rights to open and change interfaces were given up.
    pub is_locked: bool,
    /// The names of extensions' errors, for the log.
    catalogue: Arc<Catalogue>,
    /// The recorder of the switch's inputs and outputs, if they are recorded.
    pub recorder: Option<SwitchRecorder>,
    /// The other workers.
    pub followers: Option<Followers>,
    /// Replies to the questions by which the state is saved.
    pub for_saver: Vec<Message>,
    /// Replies to the message of an operator's command.
    pub for_operator: Vec<Message>,
}

impl DataPlaneIo {
    /// Starts without ports and connections.
    pub fn new(
        epoll: OwnedFd,
        is_locked: bool,
        catalogue: Arc<Catalogue>,
        recorder: Option<SwitchRecorder>,
    ) -> Self {
        Self {
            ports: PortSet::new(epoll),
            connections: ConnectionSet::default(),
            is_locked,
            catalogue,
            recorder,
            followers: None,
            for_saver: Vec::new(),
            for_operator: Vec::new(),
        }
    }

    /// Opens a port. Errors: why it cannot be opened, and what to type.
    pub fn open(&self, spec: &PortSpec) -> Result<OpenPort> {
        if self.is_locked {
            Err(format!("port {}: {LOCKED}", spec.kind).into())
        } else {
            port::open(spec, self.workers())
        }
    }

    /// The number of threads that forward packets.
    pub fn workers(&self) -> usize {
        1 + self.followers.as_ref().map_or(0, Followers::count)
    }

    /// When the next timer of the other workers is due.
    pub fn followers_tick(&self) -> Option<Time> {
        self.followers.as_ref()?.next_tick()
    }

    /// The drivers' counters, and how many frames each full queue dropped, of all workers.
    pub fn driver_counters(&mut self) -> Vec<(PortNo, Counters, u64)> {
        let mut all = self.ports.driver_counters();
        for (number, counters, overflowed) in &mut all {
            let followers = self.followers.iter();
            for (more, lost) in followers.flat_map(|others| others.port_counters(*number)) {
                counters.add(&more);
                *overflowed += lost;
            }
        }
        all
    }

    /// Records the answer to a question of the switch, and returns it.
    fn answered(&self, question: Question, is_granted: bool) -> bool {
        if let Some(recorder) = &self.recorder {
            recorder.answered(is_granted);
        } else if let Some(followers) = &self.followers {
            followers.answered(question, is_granted);
        }
        is_granted
    }
}

impl SwitchIo for DataPlaneIo {
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame) {
        if let Some(recorder) = &mut self.recorder {
            recorder.frame(port, queue, &frame);
        }
        self.ports.transmit(port, frame);
    }

    fn port_takes_frames(&self, port: PortNo) -> bool {
        self.answered(Question::Frames(port), self.ports.takes_frames(port))
    }

    fn flush(&mut self) {
        self.ports.flush();
    }

    fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        if conn == SAVER {
            return self.for_saver.push(message);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.message(conn, xid, &message);
        }
        if conn == OPERATOR {
            return self.for_operator.push(message);
        }
        self.connections.send(conn, xid, message);
    }

    fn refused(&mut self, conn: ConnId, xid: u32, message: &Message, why: &Refusal) {
        if let Some(followers) = &mut self.followers {
            followers.refused(message);
        }
        let peer = self.connections.peer(conn);
        let text = refusal::beginning(message);
        let mut error = self.catalogue.error_text(why.error);
        if let Some(words) = &why.words {
            error = format!("{error}: {words}");
        }
        refusal::log(&peer, Some(message.name()), xid, &error, &text);
    }

    fn has_room(&self, conn: ConnId) -> bool {
        let has_room = || conn == OPERATOR || self.connections.has_room(conn);
        conn == SAVER || self.answered(Question::Room(conn), has_room())
    }

    fn takes_packet_in(&mut self, conn: ConnId, in_port: PortNo) -> bool {
        let takes = self.connections.takes_packet_in(conn, in_port);
        self.answered(Question::PacketIn(conn), takes)
    }

    /// A held packet would be at one worker, and the message that asks for it at all.
    fn holds_packets(&self) -> bool {
        self.followers.is_none()
    }

    fn may_change_links(&self) -> bool {
        self.answered(Question::Links, !self.is_locked)
    }

    fn advertise(&mut self, port: PortNo, features: PortFeatures) {
        if let Some(recorder) = &mut self.recorder {
            recorder.output(RecordedOutput::Advertise(port, features));
        }
        let open = self.ports.get(port);
        if let Some(Err(error)) = open.and_then(|open| open.advertise(features)) {
            warn!("port {port}: {error}");
        }
    }

    fn set_link(&mut self, port: PortNo, up: bool) {
        if let Some(recorder) = &mut self.recorder {
            recorder.output(RecordedOutput::Link(port, up));
        }
        let Some(name) = self.ports.get(port).and_then(|open| open.interface()) else {
            return;
        };
        if let Err(error) = bofuss_ports::set_link(name, up) {
            warn!("port {port}: {error}");
        }
    }
}
