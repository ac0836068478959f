//! The embedded switch: its inputs, each with its time, and its effects.

use alloc::{sync::Arc, vec::Vec};

use bofuss_agent::{ConnId, Request, Switch};
use bofuss_datapath::reconfigure::Obstacle;
use bofuss_datapath::{Settled, Time};
use bofuss_ext::trace::Trace;
use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::handshake::Handshake;
use bofuss_oflib::message::port::PortState;
use bofuss_oflib::message::{ErrorMsg, PortDesc};
use bofuss_oflib::{Assembler, Catalogue, Codec, Message, PortNo, Version};

use crate::config::{EmbedError, EmbeddedConfig};
use crate::effects::{CloseReason, Effect, Effects, MAX_UNREAD_BYTES};
use crate::peer::{Arrived, Kind, MAX_BUFFERED_BYTES, MAX_MULTIPART_REQUEST_BYTES, Peer, Phase};

/// An OpenFlow switch in a program: everything but threads, sockets and clocks.
///
/// Each input has done all that it causes when it returns, unless a peer does not read: then a long
/// reply waits for [`drain`](Self::drain) and [`work`](Self::work). Times are nanoseconds of any
/// clock that does not go back.
pub struct EmbeddedSwitch {
    switch: Switch,
    effects: Effects,
    versions: Vec<Version>,
    next_conn: u64,
}

impl EmbeddedSwitch {
    /// Makes a switch without ports. Errors: the value of `config` that cannot be.
    pub fn new(now: Time, config: EmbeddedConfig) -> Result<Self, EmbedError> {
        if config.versions.is_empty() {
            return Err(EmbedError::Config("no version is offered".into()));
        }
        let versions = config.versions.clone();
        let links_fixed = config.links_fixed;
        let mut this = Self::of(config.build(now)?);
        this.versions = versions;
        this.effects.links_fixed = links_fixed;
        Ok(this)
    }

    /// Embeds a switch that was made otherwise and has no connections.
    pub fn of(switch: Switch) -> Self {
        Self {
            switch,
            effects: Effects::default(),
            versions: Version::SPOKEN.into(),
            next_conn: 1,
        }
    }

    /// The same, with connections that speak one of these versions.
    #[must_use]
    pub fn offering(self, versions: &[Version]) -> Self {
        Self {
            versions: versions.into(),
            ..self
        }
    }

    /// The switch, to be looked at.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// The switch, its counters to be read.
    pub fn settled(&mut self) -> Settled<'_> {
        self.switch.settled()
    }

    /// The fields and messages that it knows.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        self.switch.datapath().catalogue()
    }

    /// Takes over the configuration of `other`, which is new, and keeps ports, connections and
    /// entries. Errors: the first thing that does not fit; then nothing changes.
    pub fn reconfigure(&mut self, now: Time, mut other: Self) -> Result<(), Obstacle> {
        self.switch
            .check_reconfigure(now, &mut other.switch, &mut self.effects)?;
        self.switch
            .reconfigure(now, other.switch, &mut self.effects);
        self.effects.links_fixed = other.effects.links_fixed;
        self.versions = other.versions;
        self.finish(now);
        Ok(())
    }

    /// Whether controllers may not set links up and down.
    pub fn set_links_fixed(&mut self, fixed: bool) {
        self.effects.links_fixed = fixed;
    }

    // Ports and frames.

    /// Adds a port, or changes the one with this number; `capabilities` say what it takes off the
    /// switch's hands, usually nothing. Errors: [`EmbedError::BadPortNumber`].
    pub fn add_port(
        &mut self,
        now: Time,
        desc: PortDesc,
        capabilities: OffloadCapabilities,
    ) -> Result<(), EmbedError> {
        if !desc.port_no.is_port() {
            return Err(EmbedError::BadPortNumber(desc.port_no));
        }
        self.switch
            .port_changed(now, desc, capabilities, &mut self.effects);
        self.finish(now);
        Ok(())
    }

    /// Removes a port. Errors: [`EmbedError::NoPort`].
    pub fn remove_port(&mut self, now: Time, port: PortNo) -> Result<(), EmbedError> {
        self.port(port)?;
        self.effects.room.remove(&port);
        self.switch.port_removed(now, port, &mut self.effects);
        self.finish(now);
        Ok(())
    }

    /// The link of a port came up, or went down. Errors: [`EmbedError::NoPort`].
    pub fn set_link(&mut self, now: Time, port: PortNo, up: bool) -> Result<(), EmbedError> {
        let known = self.port(port)?;
        let capabilities = known.capabilities;
        let mut desc = known.desc.clone();
        desc.state.0 &= !PortState::LINK_DOWN.0;
        if !up {
            desc.state.0 |= PortState::LINK_DOWN.0;
        }
        self.add_port(now, desc, capabilities)
    }

    /// A port takes at most `frames` more frames until it is told again; `None`: it takes all, as a
    /// new port does. What is over waits in the port's queues if it has some, and is else given to
    /// the port all the same, which may drop it. Errors: [`EmbedError::NoPort`].
    pub fn set_port_room(
        &mut self,
        now: Time,
        port: PortNo,
        frames: Option<u32>,
    ) -> Result<(), EmbedError> {
        self.port(port)?;
        match frames {
            Some(frames) => self.effects.room.insert(port, frames),
            None => self.effects.room.remove(&port),
        };
        self.switch.port_has_room(now, port, &mut self.effects);
        self.finish(now);
        Ok(())
    }

    /// A copy of a frame, from the address on and without FCS, for [`receive`](Self::receive);
    /// `None` if the pool is exhausted, or it is too long.
    pub fn frame(&self, bytes: &[u8]) -> Option<Frame> {
        self.switch.datapath().pool().frame(bytes)
    }

    /// Frames arrived on a port; leaves `frames` empty. Errors: [`EmbedError::NoPort`].
    pub fn receive(
        &mut self,
        now: Time,
        port: PortNo,
        frames: &mut Vec<Frame>,
    ) -> Result<(), EmbedError> {
        self.port(port)?;
        self.switch.receive(now, port, frames, &mut self.effects);
        self.finish(now);
        Ok(())
    }

    /// What would become of a frame on a port, and why; nothing changes. Its text is what
    /// `bofuss trace` prints, and it can be serialised. Errors: [`EmbedError::Trace`].
    pub fn explain(&mut self, now: Time, port: PortNo, frame: &[u8]) -> Result<Trace, EmbedError> {
        Trace::of(&mut self.switch, now, port, frame).map_err(EmbedError::Trace)
    }

    // Connections.

    /// A controller's connection is open: our HELLO is queued. A tool's does not end what the
    /// switch does without a controller.
    pub fn connect(&mut self, is_controller: bool) -> ConnId {
        let kind = if is_controller {
            Kind::Controller
        } else {
            Kind::Tool
        };
        let versions = self.versions.clone();
        self.open(kind, &versions)
    }

    /// An auxiliary connection beside `main` is open, with a number from 1 that `main` does not
    /// have beside it yet; `datagrams`: whether what is sent on it may be lost.
    /// Spec: OpenFlow 1.3.5 section 6.3.6.
    ///
    /// Errors: [`EmbedError::NoConnection`] if `main` is not there, [`EmbedError::WrongKind`] if it
    /// has not agreed on a version.
    pub fn connect_auxiliary(
        &mut self,
        main: ConnId,
        id: u8,
        datagrams: bool,
    ) -> Result<ConnId, EmbedError> {
        let codec = self.peer(main)?.codec();
        let version = codec.ok_or(EmbedError::WrongKind(main))?.version;
        let kind = Kind::Auxiliary {
            main,
            id,
            datagrams,
        };
        Ok(self.open(kind, &[version]))
    }

    /// A controller within this program is there: it speaks `version` in messages without bytes,
    /// see [`message`](Self::message) and [`Effect::Message`]. What the version's wire cannot say
    /// is not left out.
    pub fn connect_typed(&mut self, now: Time, version: Version) -> ConnId {
        let conn = self.number();
        let peer = Peer::new(Kind::Controller, Phase::Typed);
        self.effects.peers.insert(conn, peer);
        self.switch.connected(now, conn, version, true);
        self.finish(now);
        conn
    }

    /// Bytes came on a connection, cut anywhere. Returns how many were taken: fewer than came if
    /// [`MAX_BUFFERED_BYTES`] wait until the peer reads; the rest is to be given again after
    /// [`work`](Self::work). A wrong message is answered and the next is served, or the connection
    /// ends with [`Effect::Close`].
    ///
    /// Errors: [`EmbedError::NoConnection`], also after it was closed; [`EmbedError::WrongKind`].
    pub fn feed(&mut self, now: Time, conn: ConnId, bytes: &[u8]) -> Result<usize, EmbedError> {
        if matches!(self.peer(conn)?.phase, Phase::Typed) {
            return Err(EmbedError::WrongKind(conn));
        }
        let mut taken = 0;
        while taken < bytes.len() {
            let Some(peer) = self.effects.peers.get_mut(&conn) else {
                // It was closed: the rest is for nobody.
                return Ok(bytes.len());
            };
            let room = MAX_BUFFERED_BYTES - peer.framer.buffered().len();
            if room == 0 {
                break;
            }
            let part = &bytes[taken..][..room.min(bytes.len() - taken)];
            peer.framer.push(part);
            taken += part.len();
            self.serve(now, conn);
        }
        self.finish(now);
        Ok(taken)
    }

    /// A message came on a connection without bytes. `false`, and it is not taken, if a reply is
    /// unfinished or the peer does not read: it is to be given again after [`work`](Self::work).
    ///
    /// Errors: [`EmbedError::NoConnection`], [`EmbedError::WrongKind`].
    pub fn message(
        &mut self,
        now: Time,
        conn: ConnId,
        xid: u32,
        message: Message,
    ) -> Result<bool, EmbedError> {
        if !matches!(self.peer(conn)?.phase, Phase::Typed) {
            return Err(EmbedError::WrongKind(conn));
        }
        if !self.becomes_ready(now, conn) {
            return Ok(false);
        }
        self.request(now, conn, xid, &[], Ok(message));
        self.finish(now);
        Ok(true)
    }

    /// The embedding holds this many bytes that the peer of a connection did not take yet; 0 until
    /// it is told. Errors: [`EmbedError::NoConnection`].
    pub fn set_held_bytes(&mut self, conn: ConnId, bytes: usize) -> Result<(), EmbedError> {
        self.peer(conn)?;
        if let Some(peer) = self.effects.peers.get_mut(&conn) {
            peer.held_bytes = bytes;
        }
        Ok(())
    }

    /// A connection is gone, and with a main one those beside it.
    /// Errors: [`EmbedError::NoConnection`].
    pub fn disconnect(&mut self, now: Time, conn: ConnId) -> Result<(), EmbedError> {
        self.peer(conn)?;
        self.end(now, conn);
        self.finish(now);
        Ok(())
    }

    // Time and effects.

    /// Whether something waits for [`work`](Self::work): the rest of a reply, or messages, for a
    /// peer that has read meanwhile.
    pub fn has_work(&self) -> bool {
        self.switch.has_work(&self.effects)
            || self.effects.peers.iter().any(|(conn, peer)| {
                peer.has_message() && self.switch.is_ready(*conn, &self.effects)
            })
    }

    /// Goes on with what waits, as far as the peers read.
    pub fn work(&mut self, now: Time) {
        self.finish(now);
        for conn in self.conns(|_| true) {
            self.serve(now, conn);
        }
        self.finish(now);
    }

    /// When [`tick`](Self::tick) is to be called next: at once if that is in the past; `None` if
    /// nothing waits for time.
    pub fn next_tick(&self) -> Option<Time> {
        self.switch.next_tick()
    }

    /// Expires entries and serves timers that are due.
    pub fn tick(&mut self, now: Time) {
        self.switch.tick(now, &mut self.effects);
        self.finish(now);
    }

    /// The clock by which bundles are committed at a time said so many nanoseconds since 1970 at
    /// [`Time`] 0; without it no commit is scheduled. It is told again when it is set.
    pub fn set_clock(&mut self, nanos_at_0: u64) {
        self.switch.set_clock(nanos_at_0);
    }

    /// Takes the next effect.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop()
    }

    /// Takes the effects, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Effect> {
        core::iter::from_fn(|| self.effects.pop())
    }

    // Below, what inputs have in common.

    fn port(&self, number: PortNo) -> Result<&bofuss_datapath::Port, EmbedError> {
        let ports = self.switch.datapath().ports();
        ports.get(&number).ok_or(EmbedError::NoPort(number))
    }

    fn peer(&self, conn: ConnId) -> Result<&Peer, EmbedError> {
        let peer = self.effects.peers.get(&conn);
        peer.ok_or(EmbedError::NoConnection(conn))
    }

    /// The connections that satisfy `is_meant`.
    fn conns(&self, is_meant: impl Fn(&Peer) -> bool) -> Vec<ConnId> {
        let peers = self.effects.peers.iter();
        let meant = peers.filter(|(_, peer)| is_meant(peer));
        meant.map(|(conn, _)| *conn).collect()
    }

    fn number(&mut self) -> ConnId {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        conn
    }

    /// Opens a connection with our HELLO.
    fn open(&mut self, kind: Kind, versions: &[Version]) -> ConnId {
        let conn = self.number();
        let handshake = Handshake::new(versions, self.catalogue().clone());
        let hello = handshake.hello();
        let peer = Peer::new(kind, Phase::Hello(handshake));
        self.effects.peers.insert(conn, peer);
        self.effects.write(conn, hello);
        conn
    }

    /// Serves what came on a connection, as far as that can be done now.
    fn serve(&mut self, now: Time, conn: ConnId) {
        while self.becomes_ready(now, conn)
            && let Some(peer) = self.effects.peers.get_mut(&conn)
            && let Some(arrived) = peer.next()
        {
            match arrived {
                Arrived::Agreed(codec) => self.agreed(now, conn, codec),
                Arrived::NotAgreed(error, farewell) => {
                    if let Some(bytes) = farewell {
                        self.effects.write(conn, bytes);
                    }
                    self.close(now, conn, CloseReason::Handshake(error));
                }
                Arrived::Message { xid, head, message } => {
                    self.request(now, conn, xid, &head, message);
                }
                Arrived::Fatal { xid, answer, cause } => {
                    if let Some(error) = answer {
                        self.request(now, conn, xid, &[], Err(error));
                    }
                    self.close(now, conn, CloseReason::Malformed(cause));
                }
            }
        }
    }

    /// A version is agreed: the switch has one more connection.
    fn agreed(&mut self, now: Time, conn: ConnId, codec: Codec) {
        let Some(peer) = self.effects.peers.get_mut(&conn) else {
            return;
        };
        let version = codec.version;
        let mut assembler = Assembler::new(codec, MAX_MULTIPART_REQUEST_BYTES);
        assembler.is_switch = true;
        peer.phase = Phase::Up(assembler);
        match peer.kind {
            Kind::Controller => self.switch.connected(now, conn, version, true),
            Kind::Tool => self.switch.connected(now, conn, version, false),
            Kind::Auxiliary {
                main,
                id,
                datagrams,
            } => {
                if !self.switch.connected_auxiliary(main, conn, id, datagrams) {
                    self.close(now, conn, CloseReason::MainGone);
                }
            }
        }
    }

    fn request(
        &mut self,
        now: Time,
        conn: ConnId,
        xid: u32,
        head: &[u8],
        message: Result<Message, ErrorMsg>,
    ) {
        let request = Request { xid, head, message };
        self.switch.message(now, conn, request, &mut self.effects);
    }

    /// Goes on with what is under way until a connection takes its next message. `false` if its
    /// peer has to read first.
    fn becomes_ready(&mut self, now: Time, conn: ConnId) -> bool {
        while !self.switch.is_ready(conn, &self.effects) {
            if !self.switch.has_work(&self.effects) {
                return false;
            }
            self.switch.work(now, &mut self.effects);
        }
        true
    }

    /// Completes what is under way, and closes connections that do not read.
    fn finish(&mut self, now: Time) {
        while self.switch.has_work(&self.effects) {
            self.switch.work(now, &mut self.effects);
        }
        self.switch.measure_commit(now);
        let over = self.conns(|peer| peer.unread_bytes() > MAX_UNREAD_BYTES);
        for conn in over {
            self.close(now, conn, CloseReason::Overflow);
        }
    }

    /// Ends a connection, and says so.
    fn close(&mut self, now: Time, conn: ConnId, why: CloseReason) {
        if self.effects.peers.contains_key(&conn) {
            self.end(now, conn);
            self.effects.waiting.push_back(Effect::Close { conn, why });
        }
    }

    /// Forgets a connection; those beside it are closed.
    fn end(&mut self, now: Time, conn: ConnId) {
        self.effects.peers.remove(&conn);
        let beside =
            self.conns(|peer| matches!(peer.kind, Kind::Auxiliary { main, .. } if main == conn));
        for other in beside {
            self.effects.peers.remove(&other);
            self.effects.waiting.push_back(Effect::Close {
                conn: other,
                why: CloseReason::MainGone,
            });
        }
        self.switch.disconnected(now, conn);
    }
}
