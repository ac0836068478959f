//! The embedded switch: its inputs, most of them with a time, and its effects.

use alloc::{string::ToString, sync::Arc, vec::Vec};

use bofuss_agent::{ConnId, Request};
use bofuss_datapath::Time;
use bofuss_datapath::reconfigure::Obstacle;
use bofuss_ext::{Switch, trace::Trace};
use bofuss_fastpath::Settled;
use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::handshake::Handshake;
use bofuss_oflib::message::{ErrorMsg, PortDesc, port::PortState};
use bofuss_oflib::{Assembler, Catalogue, Codec, Message, PortNo, Version};

use crate::config::{EmbedError, EmbeddedConfig};
use crate::effects::{CloseReason, Effect, Effects, MAX_UNREAD_BYTES};
use crate::peer::{Arrived, Kind, MAX_BUFFERED_BYTES, MAX_MULTIPART_REQUEST_BYTES, Peer, Phase};

/// An OpenFlow switch for use within a program: it has no threads, sockets or clock.
///
/// When a call returns, everything that it causes is done, except for a peer that does not read: a
/// long reply to it waits for [`drain`](Self::drain) and [`work`](Self::work). Times are
/// nanoseconds of any monotonic clock.
pub struct EmbeddedSwitch {
    switch: Switch,
    effects: Effects,
    versions: Vec<Version>,
    next_conn: u64,
}

impl EmbeddedSwitch {
    /// Makes a switch without ports. Errors: [`EmbedError::Config`].
    pub fn new(now: Time, config: EmbeddedConfig) -> Result<Self, EmbedError> {
        if config.versions.is_empty() {
            return Err(EmbedError::Config("no version is offered".into()));
        }
        let versions = config.versions.clone();
        let links_fixed = config.links_fixed;
        let mut this = Self::of(config.build(now)?).offering(&versions);
        this.effects.links_fixed = links_fixed;
        Ok(this)
    }

    /// Embeds a switch that was made elsewhere and has no connections. It offers all versions in
    /// [`Version::SPOKEN`].
    pub fn of(switch: Switch) -> Self {
        Self {
            switch,
            effects: Effects::default(),
            versions: Version::SPOKEN.into(),
            next_conn: 1,
        }
    }

    /// Sets the versions that connections offer from now on; at least one.
    #[must_use]
    pub fn offering(self, versions: &[Version]) -> Self {
        Self {
            versions: versions.into(),
            ..self
        }
    }

    /// The switch itself, read-only.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// The switch itself, as it is; its connections stay up.
    pub fn into_switch(self) -> Switch {
        self.switch
    }

    /// The switch with settled counters.
    pub fn settled(&mut self) -> Settled<'_> {
        self.switch.settled()
    }

    /// The fields and messages that it knows.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        self.switch.datapath().catalogue()
    }

    /// Takes over the configuration of `other`, which is new and has the same catalogue; ports,
    /// connections and entries stay. Errors: the first obstacle; then nothing changes.
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

    /// Sets [`EmbeddedConfig::links_fixed`].
    pub fn set_links_fixed(&mut self, fixed: bool) {
        self.effects.links_fixed = fixed;
    }

    // Ports and frames.

    /// Adds a port, or changes the port with this number. `capabilities` are the offloads that it
    /// does itself, usually none. Errors: [`EmbedError::BadPortNumber`].
    pub fn add_port(
        &mut self,
        now: Time,
        desc: PortDesc,
        capabilities: OffloadCapabilities,
    ) -> Result<(), EmbedError> {
        if !desc.port_no.is_port() {
            return Err(EmbedError::BadPortNumber(desc.port_no));
        }
        self.switch.ports(now, &mut self.effects, |ports| {
            ports.changed(desc, capabilities)
        });
        self.finish(now);
        Ok(())
    }

    /// Removes a port. Errors: [`EmbedError::NoPort`].
    pub fn remove_port(&mut self, now: Time, port: PortNo) -> Result<(), EmbedError> {
        self.port(port)?;
        self.effects.room.remove(&port);
        self.switch
            .ports(now, &mut self.effects, |ports| ports.removed(port));
        self.finish(now);
        Ok(())
    }

    /// Reports that the link of a port came up or went down. Errors: [`EmbedError::NoPort`].
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

    /// Sets how many more frames a port accepts until the next call; `None` means any number, as
    /// for a new port. Further frames wait in the port's queues. If it has no queues, they are
    /// transmitted nevertheless, and the caller may drop them. Errors: [`EmbedError::NoPort`].
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
        self.switch
            .ports(now, &mut self.effects, |ports| ports.has_room(port));
        self.finish(now);
        Ok(())
    }

    /// Copies a frame, from its destination address on and without FCS, into a buffer for
    /// [`receive`](Self::receive). `None`: the pool is exhausted, or the frame is too long.
    pub fn frame(&self, bytes: &[u8]) -> Option<Frame> {
        self.switch.datapath().pool().frame(bytes)
    }

    /// Handles frames that arrived on a port, and leaves `frames` empty. The `tunnel_id` of a frame
    /// is the field TUNNEL_ID of its packet; a frame that a switch sent has the one that it leaves
    /// by, and keeps it until the caller says otherwise. Errors: [`EmbedError::NoPort`]; then the
    /// frames stay in `frames`.
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

    /// Returns what the switch would do with a frame that comes by a tunnel, or 0, and why; nothing
    /// changes. It prints as `bofuss trace` does. Errors: [`EmbedError::Trace`].
    pub fn explain(
        &mut self,
        now: Time,
        port: PortNo,
        tunnel_id: u64,
        frame: &[u8],
    ) -> Result<Trace, EmbedError> {
        let trace = Trace::of(&mut self.switch, now, port, tunnel_id, frame);
        trace.map_err(|error| EmbedError::Trace(error.to_string()))
    }

    // Connections.

    /// Opens a connection, and queues our HELLO. If `is_controller` is false, the peer is a tool:
    /// its connection does not end the fail mode.
    pub fn connect(&mut self, is_controller: bool) -> ConnId {
        let kind = if is_controller {
            Kind::Controller
        } else {
            Kind::Tool
        };
        let versions = self.versions.clone();
        self.open(kind, &versions)
    }

    /// Opens an auxiliary connection of `main`, which is a main connection. `id` is at least 1, and
    /// no other connection of `main` has it: this is not checked. `datagrams` says whether the
    /// transport may lose messages. Spec: OpenFlow 1.3.5 section 6.3.6.
    ///
    /// Errors: [`EmbedError::NoConnection`] if `main` does not exist, [`EmbedError::WrongKind`] if
    /// it has not agreed on a version or takes no bytes.
    pub fn connect_auxiliary(
        &mut self,
        main: ConnId,
        id: u8,
        datagrams: bool,
    ) -> Result<ConnId, EmbedError> {
        let codec = self.effects.peer(main)?.codec();
        let version = codec.ok_or(EmbedError::WrongKind(main))?.version;
        let kind = Kind::Auxiliary {
            main,
            id,
            datagrams,
        };
        Ok(self.open(kind, &[version]))
    }

    /// Connects a controller within this program, which exchanges messages as values: see
    /// [`message`](Self::message) and [`Effect::Message`]. As they are not encoded, they may have
    /// what the wire format of `version` cannot express.
    pub fn connect_typed(&mut self, now: Time, version: Version) -> ConnId {
        let conn = self.number();
        let peer = Peer::new(Kind::Controller, Phase::Typed);
        self.effects.peers.insert(conn, peer);
        self.switch.connected(now, conn, version, true);
        self.finish(now);
        conn
    }

    /// Passes bytes that arrived on a connection, cut anywhere. Returns how many were taken: fewer
    /// than passed if [`MAX_BUFFERED_BYTES`] wait until the peer reads; then pass the rest again
    /// after [`work`](Self::work). A message that is wrong is answered with an ERROR, and the next
    /// one is served; or the connection ends with [`Effect::Close`].
    ///
    /// Errors: [`EmbedError::NoConnection`], also after it was closed; [`EmbedError::WrongKind`].
    pub fn feed(&mut self, now: Time, conn: ConnId, bytes: &[u8]) -> Result<usize, EmbedError> {
        if matches!(self.effects.peer(conn)?.phase, Phase::Typed) {
            return Err(EmbedError::WrongKind(conn));
        }
        let mut taken = 0;
        while taken < bytes.len() {
            let Some(peer) = self.effects.peers.get_mut(&conn) else {
                // The connection was closed, so the rest is ignored.
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

    /// Passes a message on a connection of [`connect_typed`](Self::connect_typed). Returns false,
    /// and does not take it, if a reply is unfinished because the peer does not read; then pass it
    /// again after [`work`](Self::work).
    ///
    /// Errors: [`EmbedError::NoConnection`], [`EmbedError::WrongKind`].
    pub fn message(
        &mut self,
        now: Time,
        conn: ConnId,
        xid: u32,
        message: Message,
    ) -> Result<bool, EmbedError> {
        if !matches!(self.effects.peer(conn)?.phase, Phase::Typed) {
            return Err(EmbedError::WrongKind(conn));
        }
        if !self.becomes_ready(now, conn) {
            return Ok(false);
        }
        self.request(now, conn, xid, &[], Ok(message));
        self.finish(now);
        Ok(true)
    }

    /// Sets how many drained bytes the caller holds that the peer of a connection has not read yet;
    /// initially 0. Errors: [`EmbedError::NoConnection`].
    pub fn set_held_bytes(&mut self, conn: ConnId, bytes: usize) -> Result<(), EmbedError> {
        self.effects.peer(conn)?;
        if let Some(peer) = self.effects.peers.get_mut(&conn) {
            peer.held_bytes = bytes;
        }
        Ok(())
    }

    /// Removes a connection that its peer closed, and with a main connection its auxiliary
    /// connections. Errors: [`EmbedError::NoConnection`].
    pub fn disconnect(&mut self, now: Time, conn: ConnId) -> Result<(), EmbedError> {
        self.effects.peer(conn)?;
        self.end(now, conn);
        self.finish(now);
        Ok(())
    }

    // Time and effects.

    /// Returns true if [`work`](Self::work) has something to do: the rest of a reply, or messages
    /// that waited for it, and the peer has read meanwhile.
    pub fn has_work(&self) -> bool {
        self.switch.has_work(&self.effects)
            || self.effects.peers.iter().any(|(conn, peer)| {
                peer.has_message() && self.switch.is_ready(*conn, &self.effects)
            })
    }

    /// Continues with what waits, as far as the peers have read.
    pub fn work(&mut self, now: Time) {
        self.finish(now);
        for conn in self.effects.conns(|_| true) {
            self.serve(now, conn);
        }
        self.finish(now);
    }

    /// Returns when [`tick`](Self::tick) has to be called next, or at once if that time is past;
    /// `None` if there is no timer.
    pub fn next_tick(&self) -> Option<Time> {
        self.switch.next_tick()
    }

    /// Handles all timers that are due; entries expire, for example.
    pub fn tick(&mut self, now: Time) {
        self.switch.tick(now, &mut self.effects);
        self.finish(now);
    }

    /// Sets the clock for scheduled bundles: what it showed at [`Time`] 0, in nanoseconds since
    /// 1970. Without it, no commit can be scheduled. Call this again when the clock is set.
    pub fn set_clock(&mut self, nanos_at_0: u64) {
        self.switch.clock_mut().set(nanos_at_0);
    }

    /// Takes the next effect.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop()
    }

    /// Takes the effects, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Effect> {
        core::iter::from_fn(|| self.effects.pop())
    }

    fn port(&self, number: PortNo) -> Result<&bofuss_datapath::Port, EmbedError> {
        let ports = self.switch.datapath().ports();
        ports.get(&number).ok_or(EmbedError::NoPort(number))
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

    /// Serves what has arrived on a connection, as far as that can be done now.
    fn serve(&mut self, now: Time, conn: ConnId) {
        while self.becomes_ready(now, conn) {
            let arrived = self.effects.peers.get_mut(&conn).and_then(Peer::next);
            let Some(arrived) = arrived else { return };
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

    /// Adds a connection to the switch, now that a version is agreed on.
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

    /// Continues work in progress until a connection takes its next message. Returns false if its
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

    /// Completes work in progress, and closes connections that do not read.
    fn finish(&mut self, now: Time) {
        loop {
            while self.switch.has_work(&self.effects) {
                self.switch.work(now, &mut self.effects);
            }
            let effects = &self.effects;
            let over = effects.conns(|peer| peer.unread_bytes() > MAX_UNREAD_BYTES);
            if over.is_empty() {
                break;
            }
            for conn in over {
                self.close(now, conn, CloseReason::Overflow);
            }
        }
        self.switch.clock_mut().measure(now);
    }

    /// Ends a connection, and reports it with [`Effect::Close`].
    fn close(&mut self, now: Time, conn: ConnId, why: CloseReason) {
        if self.effects.peers.contains_key(&conn) {
            self.end(now, conn);
            self.effects.waiting.push_back(Effect::Close { conn, why });
        }
    }

    /// Removes a connection, and closes its auxiliary connections.
    fn end(&mut self, now: Time, conn: ConnId) {
        let effects = &mut self.effects;
        effects.peers.remove(&conn);
        for conn in effects.conns(|peer| peer.is_beside(conn)) {
            effects.peers.remove(&conn);
            let why = CloseReason::MainGone;
            effects.waiting.push_back(Effect::Close { conn, why });
        }
        self.switch.disconnected(now, conn);
    }
}

#[cfg(test)]
mod tests;
