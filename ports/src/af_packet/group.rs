//! An interface that is opened as several ports, each of which receives a part of its frames.

use std::sync::Arc;

use super::claim::Claim;
use super::{AfPacket, AfPacketOptions};
use crate::link::set_link;
use crate::packet_socket::{PacketSocket, SocketOptions};
use crate::{Fanout, Link, OpenError};

impl AfPacket {
    /// Opens the interface `name` as `members` ports, at least one, among which it divides the
    /// frames that arrive: at first, the first gets all. Each receives by system calls, without a
    /// ring, and sends what it is given. The interface is set up. `secret` is that of
    /// [`FanoutRule::Flows`](crate::FanoutRule::Flows).
    ///
    /// Errors: as [`Self::open`]; Linux before 5.15 has no such groups.
    pub fn open_group(
        name: &str,
        options: AfPacketOptions,
        members: usize,
        secret: u64,
    ) -> Result<(Vec<Self>, Fanout), OpenError> {
        let link = Link::by_name(name)?;
        let claim = Arc::new(Claim::new(&link, options)?);
        // Older kernels have no groups at interfaces that are down.
        set_link(name, true)?;
        let socket_options = SocketOptions {
            index: link.index,
            qdisc_bypass: options.qdisc_bypass,
            ring_slots: 0,
        };
        let (sockets, fanout) = PacketSocket::group(socket_options, members, secret)
            .map_err(|e| OpenError::new(name, "opening a group of packet sockets", e))?;
        let ports = sockets.into_iter().map(|socket| Self {
            is_member: true,
            ..Self::with_socket(link.clone(), Arc::clone(&claim), socket, options)
        });
        Ok((ports.collect(), fanout))
    }

    /// Another port at the socket of a member of a group: each frame goes to the one that asks
    /// first.
    pub fn beside(&self) -> Self {
        let options = AfPacketOptions {
            pad_runts: self.pad_runts,
            ..self.options
        };
        let (link, claim) = (self.link.clone(), Arc::clone(&self.claim));
        Self {
            is_member: true,
            ..Self::with_socket(link, claim, self.socket.beside(), options)
        }
    }
}
