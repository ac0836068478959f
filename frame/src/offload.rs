//! The work that a frame's sender left for others: finish a checksum, cut into segments.

/// The protocols by which a super-frame is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GsoKind {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP: each segment is a datagram of its own (USO), over either IP version.
    Udp,
    /// UDP over IPv4 or IPv6 to be cut into IP fragments (UFO, obsolete).
    UdpFragment,
    /// SCTP: the chunks travel as separate packets; the kernel never hands over their lengths.
    Sctp,
}

/// A super-frame's cut: its kind and how many payload bytes each segment takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gso {
    /// The protocol by which it is cut.
    pub kind: GsoKind,
    /// Payload bytes of each segment but the last; never 0.
    pub segment_bytes: u16,
    /// The TCP CWR flag belongs on the first segment only.
    pub ecn: bool,
}

/// The offload record of a frame.
///
/// Shape: `checksum` is `(start, offset)` in bytes from the frame's first byte: the ones'
/// complement sum (CRC32c for SCTP) over `start..` belongs at `start + offset`, where the
/// pseudo-header's sum is already stored. Invariant: edits that insert or remove bytes before
/// `start` move it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// The checksum that the sender left unfinished.
    pub checksum: Option<(u16, u16)>,
    /// The cut that the sender left undone.
    pub gso: Option<Gso>,
    /// Of a packet that came in fragments and was put together: bytes of IP payload in each that
    /// leaves; else 0.
    pub fragment_bytes: u16,
}

impl Offload {
    /// The record of an ordinary frame: nothing left to do.
    pub const NONE: Self = Self {
        checksum: None,
        gso: None,
        fragment_bytes: 0,
    };
}

/// The work that a port takes off the switch on transmit. Whatever it does not take is done before:
/// the checksum finished, the super-frame segmented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffloadCapabilities {
    /// Finishes an Internet checksum. The CRC32c of SCTP never: the offload header cannot say it.
    pub checksum: bool,
    /// Cuts TCP over IPv4 and IPv6.
    pub tcp: bool,
    /// Cuts UDP into datagrams.
    pub udp: bool,
    /// VLAN tags below which it still cuts; below an MPLS label or a PBB tag it never does.
    pub vlan_tags: u8,
}

impl OffloadCapabilities {
    /// Returns true if the port takes a frame with this record and this many VLAN tags as it is.
    pub fn take(&self, offload: &Offload, vlan_tags: u8) -> bool {
        let cut = offload.gso.is_none_or(|gso| {
            vlan_tags <= self.vlan_tags
                && match gso.kind {
                    GsoKind::Tcp4 | GsoKind::Tcp6 => self.tcp,
                    GsoKind::Udp => self.udp,
                    GsoKind::UdpFragment | GsoKind::Sctp => false,
                }
        });
        cut && offload.fragment_bytes == 0 && (self.checksum || offload.checksum.is_none())
    }
}
