//! The header graph: how long each header is, which follows which, and which checksum covers it.
//!
//! A new header is a function here, an arm where it follows another, and an arm in `cover`; or a
//! row that an extension brings (`bofuss_oflib::added_header`).

use bofuss_oflib::added_header::{AddedHeader, After, AnyHeader, Sum};
use bofuss_oflib::field::{ETH_TYPE, Header, IPV6_EXTHDR, VLAN_VID};
use bofuss_oflib::field_set::StandardFields;

use crate::parse::{Flaw, Fragment, HeaderWalk};

/// Ethernet types.
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// IEEE 802.1Q customer VLAN tag.
    pub const VLAN: u16 = 0x8100;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// MPLS.
    pub const MPLS: u16 = 0x8847;
    /// MPLS with upstream-assigned labels, once multicast.
    pub const MPLS_MULTICAST: u16 = 0x8848;
    /// IEEE 802.1ad service VLAN tag.
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// IEEE 802.1ah backbone service instance tag.
    pub const PBB: u16 = 0x88e7;
    /// VLAN tag of equipment that is older than IEEE 802.1ad.
    pub const OLD_SERVICE_VLAN: u16 = 0x9100;
    /// No Ethernet type: an IEEE 802.3 frame without one.
    pub const NONE: u16 = 0x05ff;
    /// The least number that is a type; one below is the length of an IEEE 802.3 frame.
    pub const MIN: u16 = 0x0600;
}

/// The fact that at most one VLAN tag precedes the Ethernet type. OpenFlow 1.0 skips one; it needs
/// no more than this fact, and no value in the key. One of these four facts holds for each frame
/// that has an Ethernet type.
pub(crate) const NO_SECOND_TAG: StandardFields = StandardFields::fact(0);
/// The fact that a packet begins with an Ethernet header. Every match depends on it, as on the
/// presence of a field, but for those that name another packet type.
pub(crate) const ETHERNET: StandardFields = StandardFields::fact(4);
/// The facts that there is a second tag, of this type.
const SECOND_TAGS: [(u16, StandardFields); 3] = [
    (ethertype::VLAN, StandardFields::fact(1)),
    (ethertype::SERVICE_VLAN, StandardFields::fact(2)),
    (ethertype::OLD_SERVICE_VLAN, StandardFields::fact(3)),
];

/// The fact that there is a second tag of this type. Errors: `None` if it is no tag's.
pub(crate) fn second_tag(number: u16) -> Option<StandardFields> {
    let found = SECOND_TAGS.iter().find(|(tag, _)| *tag == number);
    found.map(|(_, fact)| *fact)
}

/// The type of the second VLAN tag, as facts tell it.
pub(crate) fn second_tag_in(facts: StandardFields) -> Option<u16> {
    let found = SECOND_TAGS
        .iter()
        .find(|(_, fact)| facts.is_superset(*fact));
    found.map(|(number, _)| *number)
}

/// IP protocol numbers.
pub mod protocol {
    /// ICMP.
    pub const ICMPV4: u8 = 1;
    /// IPv4 in IP.
    pub const IPV4: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// IPv6 in IP.
    pub const IPV6: u8 = 41;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// SCTP.
    pub const SCTP: u8 = 132;
}

/// The checksums that cover the bytes of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// None.
    Nothing,
    /// The IPv4 header's own, and in part that of the transport header, by the pseudo-header.
    Ipv4,
    /// In part that of the transport header, by the pseudo-header.
    Pseudo,
    /// The checksum of the transport header.
    Transport,
}

/// Returns the checksums that cover the bytes of `header`.
pub(crate) fn cover(header: AnyHeader) -> Cover {
    match header {
        AnyHeader::Known(header) => cover_of_known(header),
        AnyHeader::Spare => Cover::Nothing,
        AnyHeader::Added(row) => match row.after {
            After::EthType => Cover::Nothing,
            After::IpProtocol | After::UdpPort => Cover::Transport,
        },
    }
}

fn cover_of_known(header: Header) -> Cover {
    match header {
        Header::Eth | Header::Vlan | Header::EthType | Header::PacketType => Cover::Nothing,
        Header::Mpls | Header::Pbb | Header::Arp => Cover::Nothing,
        Header::Ipv4 => Cover::Ipv4,
        Header::Ipv6 | Header::NextHeader => Cover::Pseudo,
        Header::Tcp | Header::Udp | Header::Sctp | Header::Icmpv4 => Cover::Transport,
        Header::Icmpv6 | Header::Nd | Header::NdSll | Header::NdTll => Cover::Transport,
    }
}

/// The transport headers with a checksum: byte offset in the header, and kind.
pub(crate) const CHECKSUMS: &[(Header, usize, Sum)] = &[
    (Header::Tcp, 16, Sum::Pseudo),
    (Header::Udp, 6, Sum::PseudoOrNone),
    (Header::Sctp, 8, Sum::Crc32c),
    (Header::Icmpv4, 2, Sum::Ones),
    (Header::Icmpv6, 2, Sum::Pseudo),
];

/// Ethernet, VLAN tags, and the type after them. Fields of a stack of tags are the outermost tag's.
///
/// Choice: an IEEE 802.3 frame has the type of its SNAP header, or else 0x05ff.
pub(crate) fn ethernet(w: &mut HeaderWalk<'_>, start: usize) -> Option<()> {
    w.take::<{ Header::Eth as usize }, 12>(start)?;
    let mut at = start + 12;
    let mut number = w.u16(at)?;
    w.layout.vlan_tags = 0;
    let mut facts = const { StandardFields::of(VLAN_VID).union(NO_SECOND_TAG) };
    if is_vlan_tag(number) {
        (number, at) = vlan_tags(w, number, at)?;
        if w.layout.vlan_tags > 1 {
            facts = StandardFields::of(VLAN_VID);
        }
    }
    // Without a tag VLAN_VID is 0.
    w.layout.fields.insert(facts);
    if number < ethertype::MIN {
        let Some([0xaa, 0xaa, 3, 0, 0, 0, high, low]) = w.look::<8>(at + 2) else {
            w.derive(ETH_TYPE, ethertype::NONE);
            return Some(());
        };
        number = u16::from_be_bytes([*high, *low]);
        at += 8;
    }
    w.take::<{ Header::EthType as usize }, 2>(at)?;
    match number {
        ethertype::IPV4 => ipv4(w, at + 2),
        ethertype::IPV6 => ipv6(w, at + 2),
        ethertype::ARP => arp(w, at + 2),
        ethertype::MPLS | ethertype::MPLS_MULTICAST => mpls(w, at + 2),
        ethertype::PBB => pbb(w, at),
        other => added(w, After::EthType, other, at + 2),
    }
}

pub(crate) fn is_vlan_tag(number: u16) -> bool {
    matches!(
        number,
        ethertype::VLAN | ethertype::SERVICE_VLAN | ethertype::OLD_SERVICE_VLAN
    )
}

/// VLAN tags, the first of type `number`, from `at` on; returns the type after them, and its place.
#[inline(never)]
fn vlan_tags(w: &mut HeaderWalk<'_>, mut number: u16, mut at: usize) -> Option<(u16, usize)> {
    while is_vlan_tag(number) {
        match w.layout.vlan_tags {
            0 => {
                w.take::<{ Header::Vlan as usize }, 4>(at)?;
            }
            1 => w
                .layout
                .fields
                .insert(second_tag(number).unwrap_or_default()),
            _ => {}
        }
        w.layout.vlan_tags = w.layout.vlan_tags.saturating_add(1);
        at += 4;
        number = w.u16(at)?;
    }
    Some((number, at))
}

/// A header that an extension brings, if one of that number follows. A frame that ends before is no
/// worse for it: perhaps something else has that number there.
#[inline(always)]
fn added(w: &mut HeaderWalk<'_>, after: After, number: u16, at: usize) -> Option<()> {
    if !w.layout.additions.headers.is_empty() {
        find_added(w, after, number, at);
    }
    Some(())
}

#[cold]
#[inline(never)]
fn find_added(w: &mut HeaderWalk<'_>, after: After, number: u16, at: usize) {
    let mut headers = w.layout.additions.headers.iter();
    let is_named =
        |row: &&&'static AddedHeader| row.after == after && row.number == [u64::from(number)];
    let row = headers.find(is_named);
    if let Some(row) = row.filter(|row| at + usize::from(row.bytes) <= w.layout.end) {
        w.layout.added = Some((row, at));
    }
}

/// MPLS: the fields are the outermost entry's.
#[inline(never)]
fn mpls(w: &mut HeaderWalk<'_>, at: usize) -> Option<()> {
    let mut entry = w.take::<{ Header::Mpls as usize }, 4>(at)?;
    if w.depth == 0 {
        return Some(());
    }
    let mut at = at + 4;
    while entry[2] & 1 == 0 {
        entry = w.peek(at)?;
        at += 4;
    }
    match w.peek::<1>(at)?[0] >> 4 {
        4 => ipv4(w, at),
        6 => ipv6(w, at),
        _ => Some(()),
    }
}

/// A backbone service instance tag, from its TPID on; a complete frame follows.
#[inline(never)]
fn pbb(w: &mut HeaderWalk<'_>, at: usize) -> Option<()> {
    w.take::<{ Header::Pbb as usize }, 6>(at)?;
    if w.depth == 0 {
        return Some(());
    }
    w.depth -= 1;
    ethernet(w, at + 6)
}

/// ARP; other address types than Ethernet and IPv4 have no fields.
#[inline(never)]
fn arp(w: &mut HeaderWalk<'_>, at: usize) -> Option<()> {
    if *w.peek::<6>(at)? == [0, 1, 8, 0, 6, 4] {
        w.take::<{ Header::Arp as usize }, 28>(at)?;
    }
    Some(())
}

/// IPv4 with options.
#[inline(always)]
fn ipv4(w: &mut HeaderWalk<'_>, at: usize) -> Option<()> {
    let ip = w.peek::<20>(at)?;
    let header_bytes = 4 * usize::from(ip[0] & 15);
    let total_bytes = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    if ip[0] >> 4 != 4 || header_bytes < 20 || total_bytes < header_bytes {
        return w.fail(Flaw::Malformed);
    }
    w.reach(at + header_bytes)?;
    w.take::<{ Header::Ipv4 as usize }, 20>(at)?;
    w.end_at(at + total_bytes);
    let fragment = u16::from_be_bytes([ip[6], ip[7]]);
    w.layout.fragment = fragment_kind(fragment & 0x1fff, fragment & 0x2000);
    transport(w, Header::Ipv4, ip[9], at + header_bytes)
}

/// IPv6 with its extension headers.
#[inline(never)]
fn ipv6(w: &mut HeaderWalk<'_>, at: usize) -> Option<()> {
    let ip = w.peek::<40>(at)?;
    if ip[0] >> 4 != 6 {
        return w.fail(Flaw::Malformed);
    }
    w.take::<{ Header::Ipv6 as usize }, 40>(at)?;
    w.end_at(at + 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]])));
    let mut chain = Chain::default();
    let upper = extensions(w, at + 6, at + 40, &mut chain);
    w.derive(IPV6_EXTHDR, chain.flags);
    let (number_at, at) = upper?;
    let number = w.take::<{ Header::NextHeader as usize }, 1>(number_at)?[0];
    transport(w, Header::Ipv6, number, at)
}

/// The bits of IPV6_EXTHDR. Spec: OpenFlow 1.3.5 section 7.2.3.8.
mod exthdr {
    pub(super) const NONEXT: u16 = 1;
    pub(super) const ESP: u16 = 1 << 1;
    pub(super) const AUTH: u16 = 1 << 2;
    pub(super) const DEST: u16 = 1 << 3;
    pub(super) const FRAG: u16 = 1 << 4;
    pub(super) const ROUTER: u16 = 1 << 5;
    pub(super) const HOP: u16 = 1 << 6;
    pub(super) const UNREP: u16 = 1 << 7;
    pub(super) const UNSEQ: u16 = 1 << 8;
}

/// The extension headers seen in a chain.
#[derive(Default)]
struct Chain {
    flags: u16,
    seen: u16,
    /// Place of the last header in the preferred order, from 1.
    rank: u8,
    destinations: u8,
}

impl Chain {
    /// Notes a header; `rank` is its place in the order of RFC 2460 section 4.1.
    ///
    /// Choice: HOP is set only for a first header, as the text has it; a destination header before
    /// anything but hop-by-hop has the first of its two places, any other the last.
    fn note(&mut self, flag: u16, rank: u8) {
        self.destinations += u8::from(flag == exthdr::DEST && self.destinations < 3);
        if self.seen & flag != 0 && (flag != exthdr::DEST || self.destinations > 2) {
            self.flags |= exthdr::UNREP;
        }
        if rank < self.rank {
            self.flags |= exthdr::UNSEQ;
        }
        if flag != exthdr::HOP || self.rank == 0 {
            self.flags |= flag;
        }
        self.seen |= flag;
        self.rank = rank;
    }
}

/// Walks the extension headers from the one named at `number_at`, which stands at `at`; gives where
/// the upper protocol is named and where it begins.
fn extensions(
    w: &mut HeaderWalk<'_>,
    mut number_at: usize,
    mut at: usize,
    chain: &mut Chain,
) -> Option<(usize, usize)> {
    loop {
        let number = w.look::<1>(number_at)?[0];
        let (flag, rank) = match number {
            0 => (exthdr::HOP, 1),
            60 if chain.rank < 2 => (exthdr::DEST, 2),
            43 => (exthdr::ROUTER, 3),
            44 => (exthdr::FRAG, 4),
            51 => (exthdr::AUTH, 5),
            50 => (exthdr::ESP, 6),
            60 => (exthdr::DEST, 7),
            59 => (exthdr::NONEXT, 8),
            _ => return Some((number_at, at)),
        };
        chain.note(flag, rank);
        if flag & (exthdr::ESP | exthdr::NONEXT) != 0 {
            return Some((number_at, at));
        }
        let header = w.peek::<8>(at)?;
        let length = usize::from(header[1]);
        let bytes = match flag {
            exthdr::FRAG => 8,
            exthdr::AUTH => 4 * length + 8,
            _ => 8 * length + 8,
        };
        w.reach(at + bytes)?;
        w.layout.routed |= flag == exthdr::ROUTER && header[3] != 0;
        number_at = at;
        at += bytes;
        if flag == exthdr::FRAG {
            w.layout.fragment_header = number_at;
            let fragment = u16::from_be_bytes([header[2], header[3]]);
            w.layout.fragment = fragment_kind(fragment & 0xfff8, fragment & 1);
            if w.layout.fragment == Fragment::Later {
                return Some((number_at, at));
            }
        }
    }
}

fn fragment_kind(offset: u16, more: u16) -> Fragment {
    match (offset, more) {
        (0, 0) => Fragment::No,
        (0, _) => Fragment::First,
        _ => Fragment::Later,
    }
}

/// Reads what IP carries. A later fragment carries no header.
#[inline]
fn transport(w: &mut HeaderWalk<'_>, ip: Header, number: u8, at: usize) -> Option<()> {
    if w.layout.fragment == Fragment::Later {
        return Some(());
    }
    w.layout.payload = at;
    w.layout.transport = Some(match number {
        protocol::TCP => {
            if w.peek::<20>(at)?[12] >> 4 < 5 {
                return w.fail(Flaw::Malformed);
            }
            w.take::<{ Header::Tcp as usize }, 20>(at)?;
            Header::Tcp
        }
        protocol::UDP => {
            let udp = w.take::<{ Header::Udp as usize }, 8>(at)?;
            w.layout.transport = Some(Header::Udp);
            let port = u16::from_be_bytes([udp[2], udp[3]]);
            return added(w, After::UdpPort, port, at + 8);
        }
        protocol::SCTP => {
            w.take::<{ Header::Sctp as usize }, 12>(at)?;
            Header::Sctp
        }
        protocol::ICMPV4 if ip == Header::Ipv4 => {
            w.take::<{ Header::Icmpv4 as usize }, 8>(at)?;
            Header::Icmpv4
        }
        protocol::ICMPV6 if ip == Header::Ipv6 => {
            let icmp = w.take::<{ Header::Icmpv6 as usize }, 4>(at)?;
            w.layout.transport = Some(Header::Icmpv6);
            return neighbour_discovery(w, icmp[0], at);
        }
        other => return added(w, After::IpProtocol, other.into(), at),
    });
    Some(())
}

/// Neighbour solicitation with the source's, advertisement with the target's link-layer address.
///
/// Choice: of repeated options the first counts.
#[inline(never)]
fn neighbour_discovery(w: &mut HeaderWalk<'_>, icmp_type: u8, at: usize) -> Option<()> {
    let wanted = match icmp_type {
        135 => 1,
        136 => 2,
        _ => return Some(()),
    };
    w.take::<{ Header::Nd as usize }, 24>(at)?;
    let mut at = at + 24;
    while at < w.layout.end {
        let [option, length, ..] = *w.peek::<8>(at)?;
        if length == 0 {
            return w.fail(Flaw::Malformed);
        }
        w.reach(at + 8 * usize::from(length))?;
        if option == wanted {
            match icmp_type {
                135 => w.take::<{ Header::NdSll as usize }, 8>(at)?,
                _ => w.take::<{ Header::NdTll as usize }, 8>(at)?,
            };
            break;
        }
        at += 8 * usize::from(length);
    }
    Some(())
}
