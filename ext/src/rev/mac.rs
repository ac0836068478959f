//! The MAC of a packet and of what an entry did with it, and its key.

use core::fmt;
use core::hash::Hasher;

use bofuss_datapath::HitEntry;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::TableId;
use siphasher::sip::SipHasher24;

/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 16;
/// Bytes that the MAC covers before those of the packet.
const HEAD_BYTES: usize = 19;
/// What the shortest frame of Ethernet is filled up with, without its checksum.
const PADDING: [u8; 60] = [0; 60];

/// A key of a switch. Neither its text nor its debugging form shows it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(pub [u8; KEY_BYTES]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// An entry, and what it did with a packet.
#[derive(Clone, Copy, Debug)]
pub struct Enforcement {
    /// Its cookie and priority.
    pub entry: HitEntry,
    /// Its table.
    pub table: TableId,
    /// The packet's ingress port.
    pub in_port: PortNo,
    /// The port to which it sent the packet.
    pub out_port: PortNo,
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HitEntry { cookie, priority } = self.entry;
        let table = self.table.0;
        write!(f, "cookie={cookie:#x},table={table},priority={priority}")?;
        write!(f, ",in_port={},out_port={}", self.in_port, self.out_port)
    }
}

impl Enforcement {
    /// Cookie, priority, table, ingress port and egress port, in network byte order.
    fn head(&self) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&self.entry.cookie.to_be_bytes());
        head[8..10].copy_from_slice(&self.entry.priority.to_be_bytes());
        head[10] = self.table.0;
        head[11..15].copy_from_slice(&self.in_port.0.to_be_bytes());
        head[15..].copy_from_slice(&self.out_port.0.to_be_bytes());
        head
    }
}

impl Key {
    /// SipHash-2-4 of an enforcement and the bytes of its packet, which is padded with zeros as
    /// ports pad frames: kernels remove the padding that a short frame came with.
    pub fn mac(&self, enforcement: &Enforcement, packet: &[u8]) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&enforcement.head());
        hasher.write(packet);
        hasher.write(&PADDING[packet.len().min(PADDING.len())..]);
        hasher.finish()
    }
}
