//! Headers that extensions bring: rows that say what names one, how long it is, and its checksum.

#[cfg(feature = "extensions")]
mod declared;

use crate::field::Header;

/// The field whose value says which header follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The Ethernet type after all VLAN tags.
    EthType,
    /// The protocol of IPv4, or of the last header of IPv6.
    IpProtocol,
    /// The destination port of UDP.
    UdpPort,
}

/// The computation of a transport checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// The Internet checksum of header and payload.
    Ones,
    /// The Internet checksum of pseudo-header, header and payload.
    Pseudo,
    /// As `Pseudo`, but zero says that there is none, so that a computed zero is sent as ones.
    PseudoOrNone,
    /// CRC32c of header and payload, lowest byte first.
    Crc32c,
}

/// A header that an extension brings. A frame has at most one: what follows it is its payload.
///
/// Choice: of UDP, the destination port names it, and not the source's.
///
/// ```
/// use bofuss_oflib::added_header::{AddedHeader, Sum};
/// static ICN: AddedHeader = AddedHeader::after_udp_port(6363, "icn", 8);
/// static IGMP: AddedHeader =
///     AddedHeader::after_ip_protocol(2, "igmp", 8).with_checksum(2, Sum::Ones);
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddedHeader {
    /// Its name.
    pub name: &'static str,
    /// The field by which frames name this header.
    pub after: After,
    /// The number that does so.
    pub number: [u64; 1],
    /// The number of its bytes that must be there; otherwise it has no fields.
    pub bytes: u16,
    /// The checksum of it and its payload: offset in the header, in bytes, and kind.
    pub checksum: Option<(u16, Sum)>,
}

impl AddedHeader {
    /// Returns true if the same number after the same thing names both.
    pub fn is_named_as(&self, other: &Self) -> bool {
        (self.after, self.number) == (other.after, other.number)
    }
}

/// A header that a field stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyHeader {
    /// A header that the parser knows.
    Known(Header),
    /// A header that an extension brings.
    Added(&'static AddedHeader),
    /// None: the first place of a spare row, which says that it is one.
    Spare,
}

impl AnyHeader {
    /// The header, if the parser knows it.
    pub const fn known(self) -> Option<Header> {
        match self {
            Self::Known(header) => Some(header),
            Self::Added(_) | Self::Spare => None,
        }
    }
}
