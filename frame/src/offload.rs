//! What a frame's sender left for others to do: finish a checksum, cut into segments.

/// How a super-frame is to be cut.
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
    /// How to cut.
    pub kind: GsoKind,
    /// Payload bytes of each segment but the last; never 0.
    pub segment_bytes: u16,
    /// The TCP CWR flag belongs on the first segment only.
    pub ecn: bool,
}

/// The offload record of a frame.
///
/// Shape: `checksum` is `(start, offset)` in bytes from the frame's first byte: the ones' complement
/// sum (CRC32c for SCTP) over `start..` belongs at `start + offset`, where the pseudo-header's sum
/// already stands. Invariant: edits that insert or remove bytes before `start` move it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// The checksum that the sender left unfinished.
    pub checksum: Option<(u16, u16)>,
    /// The cut that the sender left undone.
    pub gso: Option<Gso>,
}

impl Offload {
    /// The record of an ordinary frame: nothing left to do.
    pub const NONE: Self = Self {
        checksum: None,
        gso: None,
    };
}
