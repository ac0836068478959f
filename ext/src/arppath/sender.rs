//! Frames of the protocol as a switch makes, numbers and signs them, until they are sent.

use alloc::vec::Vec;

use bofuss_oflib::{Mac, PortNo};

use super::frame::{FrameType, HostPair, MAX_HOPS, PathFrame};
use super::options::PathOptions;
use super::sessions::Nonces;

/// The first byte of a switch's own, locally administered address. It differs from those usually
/// given to hosts, because ordinary bridges would learn a wrong place for such an address.
const OWN_PREFIX: u8 = 0x62;

/// Makes the frames of a switch.
pub(super) struct PathSender {
    /// The switch's number in frames.
    id: u64,
    nonces: Nonces,
    /// The number of the last frame that began here.
    last_sequence: u64,
    /// The number of the last frame of all that were sent.
    last_number: u64,
    /// Frames to send, each with its output port.
    frames: Vec<(PortNo, Vec<u8>)>,
}

impl PathSender {
    pub(super) fn new(id: u64, nonces: Nonces) -> Self {
        Self {
            id,
            nonces,
            last_sequence: nonces.first_sequence(),
            last_number: 0,
            frames: Vec::new(),
        }
    }

    /// The switch's number in frames.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn nonces(&self) -> &Nonces {
        &self.nonces
    }

    /// Takes the frames to send, each with its output port.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (PortNo, Vec<u8>)> {
        self.frames.drain(..)
    }

    /// Makes a frame that originates here.
    pub(super) fn frame(&mut self, ty: FrameType, pair: HostPair) -> PathFrame {
        self.last_sequence += 1;
        PathFrame {
            ty,
            hops: MAX_HOPS,
            for_all: false,
            offer: false,
            sender: self.id,
            to: 0,
            epoch: 0,
            number: 0,
            origin: self.id,
            sequence: self.last_sequence,
            challenge: 0,
            answer: 0,
            pair,
        }
    }

    /// Sends a frame out of a port, as the next of the epoch there. A frame that announces a host
    /// has the host's address as its source, so that ordinary bridges learn it as well.
    pub(super) fn send(
        &mut self,
        options: &PathOptions,
        port: PortNo,
        frame: &PathFrame,
        near: bool,
    ) {
        let [.., b, c, d, e, f] = self.id.to_be_bytes();
        let own = Mac([OWN_PREFIX, b, c, d, e, f]);
        let source = match frame.ty {
            FrameType::Hello | FrameType::PathFail => own,
            FrameType::PathRequest => frame.pair.source,
            FrameType::PathReply => frame.pair.destination,
        };
        self.last_number += 1;
        let numbered = PathFrame {
            epoch: self.nonces.epoch(port),
            number: self.last_number,
            ..*frame
        };
        let bytes = numbered.encode(options.ethertype, source, options.key, near);
        self.frames.push((port, bytes));
    }
}
