//! The frames that switches with ARP-Path send each other. docs/reference/arp-path.md describes
//! them byte by byte.

#![allow(deprecated)] // SipHash-2-4 of the core library: nothing else of it is deprecated.

use alloc::vec::Vec;
use core::hash::{Hasher, SipHasher};

use bofuss_oflib::Mac;
use bofuss_oflib::wire::be_number;

/// The default EtherType: the first of IEEE 802's for local experiments.
pub const ETHERTYPE: u16 = 0x88b5;
/// The destination of all frames except a nearest HELLO: a locally administered group address,
/// which ordinary bridges flood.
pub const GROUP: Mac = Mac([0x03, b'b', b'o', b'f', b'u', b's']);
/// The destination of a nearest HELLO: IEEE 802.1Q's "nearest bridge", which ordinary bridges do
/// not forward. If a neighbour's HELLOs arrive only through [`GROUP`], there is such a bridge in
/// between.
pub const NEAREST: Mac = Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);

/// The version of the format.
const VERSION: u8 = 2;
/// The beginning of the body: after the Ethernet header.
const BODY_AT: usize = 14;
/// Bytes of the body without the tag, and of the tag.
const TAGGED_BYTES: usize = 82;
const TAG_BYTES: usize = 8;
/// The size of a frame in bytes.
pub const FRAME_BYTES: usize = BODY_AT + TAGGED_BYTES + TAG_BYTES;
/// The flag that makes the answer reach all switches, and that of an offer; other bits are unused.
const FOR_ALL: u8 = 1;
const OFFER: u8 = 2;
/// The most switches that a frame passes.
pub const MAX_HOPS: u8 = 64;

/// The purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameType {
    /// Announces a switch at the other end of the link. `to` is the switch from which its sender
    /// has received HELLOs there, or that it challenges or answers.
    Hello,
    /// Sent towards the source's edge switch: from here on there is no path from the source to the
    /// destination.
    PathFail,
    /// Sent to all switches: the source is in this direction. The destination's edge switch
    /// answers, unless the destination is zero.
    PathRequest,
    /// Sent towards the source's edge switch: the destination is in this direction.
    PathReply,
}

impl FrameType {
    /// The types with their numbers and names.
    pub const ALL: [(Self, u8, &'static str); 4] = [
        (Self::Hello, 1, "HELLO"),
        (Self::PathFail, 2, "path-fail"),
        (Self::PathRequest, 3, "path-request"),
        (Self::PathReply, 4, "path-reply"),
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        let mut rows = Self::ALL.iter();
        rows.find(|row| row.0 == self).map_or("", |row| row.2)
    }
}

/// The two hosts of a path, and their VLAN (the VLAN_VID value, 0 for untagged).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPair {
    /// The VLAN.
    pub vlan: u16,
    /// The receiving host.
    pub destination: Mac,
    /// The sending host.
    pub source: Mac,
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFrame {
    /// Its type.
    pub ty: FrameType,
    /// The number of switches that it may still pass.
    pub hops: u8,
    /// In a path-fail and a path-request: frames wait at a switch between the edges, so all
    /// switches must learn the answer.
    pub for_all: bool,
    /// In these, too: no edge has answered, so frames on this path are offered to all ports.
    pub offer: bool,
    /// The switch that sent it over this link.
    pub sender: u64,
    /// The switch that should handle it; 0 means every switch on the link.
    pub to: u64,
    /// The sender's random number for this link, which is another one after a restart.
    pub epoch: u64,
    /// The frame's number in the epoch, which grows with each frame.
    pub number: u64,
    /// The switch that created it.
    pub origin: u64,
    /// Its number there, which grows with each frame.
    pub sequence: u64,
    /// In a signed HELLO: the number by which `to` has to show that it is there now; otherwise 0.
    pub challenge: u64,
    /// In a signed HELLO: the challenge of `to`; otherwise 0.
    pub answer: u64,
    /// The path that it concerns.
    pub pair: HostPair,
}

/// The reason why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// They are too few, or contain an unknown value.
    Malformed,
    /// The tag does not match the key.
    BadTag,
}

impl PathFrame {
    /// Encodes the frame with its Ethernet header; numbers are big-endian. The tag is computed with
    /// `key`; without one it is 0.
    pub fn encode(&self, ethertype: u16, source: Mac, key: Option<u128>, near: bool) -> Vec<u8> {
        let row = FrameType::ALL.iter().find(|row| row.0 == self.ty);
        let number = row.map_or(0, |row| row.1);
        let for_all = if self.for_all { FOR_ALL } else { 0 };
        let offer = if self.offer { OFFER } else { 0 };
        let mut body = Vec::with_capacity(FRAME_BYTES);
        body.extend([VERSION, number, self.hops, for_all | offer]);
        body.extend(self.numbers().into_iter().flat_map(u64::to_be_bytes));
        body.extend(self.pair.vlan.to_be_bytes());
        body.extend(self.pair.source.0);
        body.extend(self.pair.destination.0);
        body.extend(tag(&body, key).to_be_bytes());
        let destination = if near { NEAREST } else { GROUP };
        let header = [&destination.0[..], &source.0, &ethertype.to_be_bytes()].concat();
        [header, body].concat()
    }

    /// The numbers of 8 bytes, in their order in the frame.
    fn numbers(&self) -> [u64; 8] {
        [
            self.sender,
            self.to,
            self.epoch,
            self.number,
            self.origin,
            self.sequence,
            self.challenge,
            self.answer,
        ]
    }

    /// Reads what follows the Ethernet header; padding may come after it. Errors: see
    /// [`FrameError`].
    pub fn decode(bytes: &[u8], key: Option<u128>) -> Result<Self, FrameError> {
        let whole = bytes
            .get(..TAGGED_BYTES + TAG_BYTES)
            .ok_or(FrameError::Malformed)?;
        let (body, sent_tag) = whole.split_at(TAGGED_BYTES);
        let row = FrameType::ALL.iter().find(|row| row.1 == body[1]);
        let (Some(row), VERSION) = (row, body[0]) else {
            return Err(FrameError::Malformed);
        };
        if number(sent_tag) != tag(body, key) {
            return Err(FrameError::BadTag);
        }
        Ok(Self {
            ty: row.0,
            hops: body[2],
            for_all: body[3] & FOR_ALL != 0,
            offer: body[3] & OFFER != 0,
            sender: number(&body[4..12]),
            to: number(&body[12..20]),
            epoch: number(&body[20..28]),
            number: number(&body[28..36]),
            origin: number(&body[36..44]),
            sequence: number(&body[44..52]),
            challenge: number(&body[52..60]),
            answer: number(&body[60..68]),
            pair: HostPair {
                vlan: number(&body[68..70]) as u16,
                source: mac(&body[70..76]),
                destination: mac(&body[76..82]),
            },
        })
    }
}

/// The tag of a body: SipHash-2-4 (Aumasson and Bernstein, 2012) with the key that the switches
/// share.
fn tag(body: &[u8], key: Option<u128>) -> u64 {
    let Some(key) = key else { return 0 };
    let mut hasher = SipHasher::new_with_keys((key >> 64) as u64, key as u64);
    hasher.write(body);
    hasher.finish()
}

/// The number of at most 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    be_number(bytes) as u64
}

fn mac(bytes: &[u8]) -> Mac {
    Mac(bytes.try_into().expect("the caller cut six bytes"))
}
