//! The match fields: one row of constant data each, from which everything else about a field
//! follows.

#[cfg(feature = "names")]
mod names;

use core::fmt;
use core::hash::{Hash, Hasher};

use crate::added_header::AnyHeader;
use crate::error::ErrorCode;
use crate::field_set::FieldSet;
use crate::field_word;
use crate::key_layout::place;
use crate::version::{Span, span};

/// The headers that a parser finds, and the small places within them that move. Each counts bits
/// from its own first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Header {
    /// Ethernet: destination, source.
    Eth,
    /// The outermost VLAN tag, from its TPID on.
    Vlan,
    /// The two bytes of the Ethernet type of the payload, after all VLAN tags.
    EthType,
    /// The outermost MPLS label stack entry.
    Mpls,
    /// The PBB I-TAG, from its TPID on.
    Pbb,
    /// ARP for IPv4 over Ethernet.
    Arp,
    /// IPv4.
    Ipv4,
    /// IPv6, the fixed header.
    Ipv6,
    /// The byte that names the upper protocol: in the IPv6 header or in the last extension header.
    NextHeader,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
    /// ICMP for IPv4.
    Icmpv4,
    /// ICMP for IPv6.
    Icmpv6,
    /// A neighbour solicitation or advertisement, from the ICMPv6 type on.
    Nd,
    /// The source link-layer address option of neighbour discovery.
    NdSll,
    /// The target link-layer address option of neighbour discovery.
    NdTll,
    /// The pseudo-header that says the type of a packet without an Ethernet header.
    PacketType,
}

/// The number of [`Header`]s.
pub const HEADERS: usize = Header::PacketType as usize + 1;

/// The place of a field in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The header.
    pub header: AnyHeader,
    /// Bits from the header's start to the field's first bit.
    pub bit: u16,
    /// The field's width there, in bits.
    pub bits: u16,
}

/// The value that another field must hold for this one to be matched or set.
#[derive(Clone, Copy, Debug)]
pub struct Need<'a> {
    /// The id of the other field.
    pub id: u8,
    /// Its bits that matter.
    pub mask: u64,
    /// The values that these bits may have.
    pub any_of: &'a [u64],
}

/// The way in which a field's value differs between the segments of a TCP or UDP super-frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differs {
    /// All segments have the same value. A field in the payload may differ nevertheless.
    Nowhere,
    /// The bits of `first` are set in the first segment at most, those of `last` in the last.
    Ends {
        /// Bits of the first segment.
        first: u64,
        /// Bits of the last segment.
        last: u64,
    },
    /// Each segment has its own.
    Every,
}

/// The notation of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Decimal number.
    Dec,
    /// Hexadecimal number.
    Hex,
    /// Hexadecimal number, or under a mask `+name-name`: the bits wanted set and clear, from the
    /// lowest.
    Bits(&'static [&'static str]),
    /// Port number or name.
    Port,
    /// Ethernet address.
    Mac,
    /// IPv4 address.
    Ip4,
    /// IPv6 address.
    Ip6,
    /// `(namespace,type)`, the type in hexadecimal.
    PacketType,
}

/// One match field.
#[derive(Clone, Copy)]
pub struct Field {
    /// The OpenFlow name, in lower case, without its prefix.
    pub name: &'static str,
    /// Other names that users know; the first is the one printed.
    pub aliases: &'static [&'static str],
    /// The experimenter that defines the field; 0 for the OpenFlow basic class, and
    /// [`PACKET_REGISTERS`](crate::registers::PACKET_REGISTERS) for that of the packet registers.
    pub experimenter: u32,
    /// The field's number in its class.
    pub number: u8,
    /// Width in bits; on the wire [`Field::bytes`], filled up with zero bits in front.
    pub bits: u16,
    /// True if a mask is allowed.
    pub maskable: bool,
    /// True if set-field may write it.
    pub settable: bool,
    /// The prerequisite, if there is one.
    pub need: Option<Need<'static>>,
    /// The places of the field in headers; if empty, it is in no header and the switch supplies it.
    pub at: &'static [At],
    /// The way in which it differs between the segments of a super-frame.
    pub differs: Differs,
    /// The notation of a value.
    pub style: Style,
    /// The versions that have it.
    pub versions: Span,
    /// The value that each packet has from the start, if the field is a register.
    pub initial: Option<u64>,
    /// True if packets of one flow have many values of it, such as the time: a path through the
    /// tables ends where an entry matches on it, and is not remembered from there on.
    pub volatile: bool,
    /// The error for a value with bits outside its mask, if its experimenter has one of its own.
    pub bad_wildcards: Option<ErrorCode>,
    /// Position among all fields of the catalogue, by which a [`FieldSet`] knows the field.
    pub id: u8,
    /// Byte offset of the value in a key.
    pub offset: u16,
}

impl Field {
    /// Bytes of a value on the wire and in a key: as many as its bits fill, else those of the next
    /// integer that holds it (20 bits take 4). Spec: OpenFlow 1.3.5 section 7.2.3.7, table 12.
    pub const fn bytes(&self) -> usize {
        let bytes = self.bits.div_ceil(8) as usize;
        if self.bits % 8 == 0 {
            bytes
        } else {
            bytes.next_power_of_two()
        }
    }

    /// Returns true if it is of the pipeline, and not of a header: packets have it by where they
    /// came from, or from entries and hooks.
    pub fn is_pipeline(&self) -> bool {
        let is_of_header = !self.at.is_empty() && self != PACKET_TYPE;
        !is_of_header && self.need.is_none_or(|need| need.id == IN_PORT.id)
    }

    /// Returns true if it is a packet register: every packet has it, 0 from the start, and a key
    /// takes no memory for it until it is set.
    #[inline(always)]
    pub const fn is_packet_register(&self) -> bool {
        self.id >= crate::registers::FIRST_REGISTER
    }

    /// Returns true if it is in the Ethernet header or in a VLAN tag: packets of other types have
    /// none.
    pub fn is_of_ethernet(&self) -> bool {
        let headers = [Header::Eth, Header::Vlan, Header::EthType];
        let mut places = self.at.iter().filter_map(|at| at.header.known());
        places.any(|header| headers.contains(&header))
    }

    /// Returns true if copy_field may write it. Choice: the metadata, which set-field may not
    /// write, as in Open vSwitch.
    pub fn is_copied_to(&self) -> bool {
        self.settable || self == METADATA
    }

    /// All bits of a value set, as a number.
    pub fn ones_number(&self) -> u128 {
        u128::MAX >> (128 - u32::from(self.bits))
    }

    /// All bits of a value set, in the last bits of the first [`Field::bytes`] bytes.
    pub fn ones(&self) -> [u8; 16] {
        let unused = 128 - 8 * self.bytes() as u32;
        (self.ones_number() << unused).to_be_bytes()
    }

    /// A register: a field of an extension that every packet has, in each table, with this value
    /// from the start. Hooks write it; so does set-field, if `settable` is made true.
    ///
    /// ```
    /// use bofuss_oflib::Field;
    /// const PRIORITY: Field = Field {
    ///     settable: true,
    ///     ..Field::register(0x0062_6f73, 1, "traffic_class", 8, 4)
    /// };
    /// # assert_eq!(PRIORITY.initial, Some(4));
    /// ```
    pub const fn register(
        experimenter: u32,
        number: u8,
        name: &'static str,
        bits: u16,
        initial: u64,
    ) -> Self {
        Self {
            initial: Some(initial),
            ..Self::extension(experimenter, number, name, bits, true)
        }
    }

    /// A row that an extension brings: no place in any header, no prerequisite, an id still to
    /// come.
    pub const fn extension(
        experimenter: u32,
        number: u8,
        name: &'static str,
        bits: u16,
        maskable: bool,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            experimenter,
            number,
            bits,
            maskable,
            settable: false,
            need: None,
            at: &[],
            differs: Differs::Nowhere,
            style: Style::Dec,
            versions: span!(since V1_2),
            initial: None,
            volatile: false,
            bad_wildcards: None,
            id: 0,
            offset: 0,
        }
    }
}

impl fmt::Debug for Field {
    /// The name alone: messages hold fields, and a row says more than they need.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        (self.experimenter, self.number) == (other.experimenter, other.number)
    }
}
impl Eq for Field {}

impl Hash for Field {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.experimenter, self.number).hash(state);
    }
}

/// The Open Networking Foundation, as experimenter.
pub const ONF: u32 = 0x4f4e_4600;
/// The namespace of packet types that are Ethernet types. Spec: OpenFlow 1.5.1 section 7.2.3.11.
pub const OFPHTN_ETHERTYPE: u64 = 1;
/// The bit of a VLAN_VID value that says that there is a tag. Spec: OpenFlow 1.3.5 section 7.2.3.8.
pub const VID_PRESENT: u16 = 0x1000;
/// Bytes of every key for the values of extensions' fields; what does not fit is in its tail.
const KEY_EXTENSION_BYTES: usize = 32;
/// Bytes of every key that say which fields are present; further bytes begin its tail.
pub const KEY_PRESENT_BYTES: usize = 8;

const TCP_FLAG_NAMES: &[&str] = &["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ns"];
const EXTHDR_NAMES: &[&str] = &[
    "nonext", "esp", "auth", "dest", "frag", "router", "hop", "unrep", "unseq",
];

macro_rules! need {
    () => { None };
    ($dep:ident & $m:literal = $($v:literal)|+) => {
        Some(Need { id: Id::$dep as u8, mask: $m, any_of: &[$($v),+] })
    };
}
macro_rules! versions {
    () => { span!(since V1_2) };
    ($($span:tt)+) => { span!($($span)+) };
}
macro_rules! fields {
    ($(
        $number:literal $ID:ident $name:literal [$($alias:literal)*] $bits:literal
        $mask:ident $set:ident $style:ident $(($names:ident))? $(class $class:ident)?
        $(at $($h:ident $bit:literal $(: $own:literal)?),+)?
        $(differs $differs:ident $(($first:literal, $last:literal))?)?
        $(need $dep:ident & $m:literal = $($v:literal)|+)? $(initial $initial:literal)?
        $([$($span:tt)*])? ;
    )*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        #[repr(u8)]
        pub(crate) enum Id { $($ID),* }
        /// The number of fields that the specification defines.
        pub const STANDARD_FIELDS: usize = [$(Id::$ID),*].len();
        const ROWS: [Field; STANDARD_FIELDS] = [$(Field {
            name: $name,
            aliases: &[$($alias),*],
            experimenter: 0 $(+ $class)?,
            number: $number,
            bits: $bits,
            maskable: field_word!(mask $mask),
            settable: field_word!(set $set),
            need: need!($($dep & $m = $($v)|+)?),
            at: field_word!(at $bits $($($h $bit $(: $own)?),+)?),
            differs: field_word!(differs $($differs $($first $last)?)?),
            style: Style::$style $(($names))?,
            versions: versions!($($($span)*)?),
            initial: field_word!(initial $($initial)?),
            volatile: false,
            bad_wildcards: None,
            id: Id::$ID as u8,
            offset: 0,
        }),*];
        $(
            #[doc = concat!("`", $name, "`, ", stringify!($bits), " bits.")]
            pub const $ID: &Field = &FIELDS[Id::$ID as usize];
        )*
    };
}

// number, name, other names (the first is printed), bits, mask allowed, set-field allowed, style,
// class if not the basic one, places in headers (bit, width there if another), how it differs
// between segments if it does (bits of the first and of the last), prerequisite (field & mask =
// values), the value from the start.
// Spec: OpenFlow 1.3.5 section 7.2.3.7, table 12, OpenFlow 1.4.1 for PBB_UCA; TCP_FLAGS is ONF
// extension 109, ACTSET_OUTPUT 233; OpenFlow 1.5.1 for PACKET_TYPE, which is the first of a match:
// so it has the first row.
fields! {
    44 PACKET_TYPE "packet_type" [] 32 exact fixed PacketType at PacketType 0 [since V1_5];
    0 IN_PORT "in_port" ["in_port" "in_port_oxm"] 32 exact fixed Port;
    1 IN_PHY_PORT "in_phy_port" [] 32 exact fixed Port need IN_PORT & 0 = 0;
    2 METADATA "metadata" [] 64 masked fixed Hex;
    3 ETH_DST "eth_dst" ["dl_dst"] 48 masked set Mac at Eth 0;
    4 ETH_SRC "eth_src" ["dl_src"] 48 masked set Mac at Eth 48;
    5 ETH_TYPE "eth_type" ["dl_type"] 16 exact set Hex at EthType 0;
    6 VLAN_VID "vlan_vid" [] 13 masked set Hex at Vlan 20:12;
    7 VLAN_PCP "vlan_pcp" ["dl_vlan_pcp"] 3 exact set Dec at Vlan 16
        need VLAN_VID & 0x1000 = 0x1000;
    8 IP_DSCP "ip_dscp" [] 6 exact set Dec at Ipv4 8, Ipv6 4
        need ETH_TYPE & 0xffff = 0x0800 | 0x86dd;
    9 IP_ECN "ip_ecn" ["nw_ecn"] 2 exact set Dec at Ipv4 14, Ipv6 10
        need ETH_TYPE & 0xffff = 0x0800 | 0x86dd;
    10 IP_PROTO "ip_proto" ["nw_proto"] 8 exact set Dec at Ipv4 72, NextHeader 0
        need ETH_TYPE & 0xffff = 0x0800 | 0x86dd;
    11 IPV4_SRC "ipv4_src" ["nw_src" "ip_src"] 32 masked set Ip4 at Ipv4 96
        need ETH_TYPE & 0xffff = 0x0800;
    12 IPV4_DST "ipv4_dst" ["nw_dst" "ip_dst"] 32 masked set Ip4 at Ipv4 128
        need ETH_TYPE & 0xffff = 0x0800;
    13 TCP_SRC "tcp_src" [] 16 exact set Dec at Tcp 0 need IP_PROTO & 0xff = 6;
    14 TCP_DST "tcp_dst" [] 16 exact set Dec at Tcp 16 need IP_PROTO & 0xff = 6;
    15 UDP_SRC "udp_src" [] 16 exact set Dec at Udp 0 need IP_PROTO & 0xff = 17;
    16 UDP_DST "udp_dst" [] 16 exact set Dec at Udp 16 need IP_PROTO & 0xff = 17;
    17 SCTP_SRC "sctp_src" [] 16 exact set Dec at Sctp 0 need IP_PROTO & 0xff = 132;
    18 SCTP_DST "sctp_dst" [] 16 exact set Dec at Sctp 16 need IP_PROTO & 0xff = 132;
    19 ICMPV4_TYPE "icmpv4_type" ["icmp_type"] 8 exact set Dec at Icmpv4 0
        need IP_PROTO & 0xff = 1;
    20 ICMPV4_CODE "icmpv4_code" ["icmp_code"] 8 exact set Dec at Icmpv4 8
        need IP_PROTO & 0xff = 1;
    21 ARP_OP "arp_op" [] 16 exact set Dec at Arp 48 need ETH_TYPE & 0xffff = 0x0806;
    22 ARP_SPA "arp_spa" [] 32 masked set Ip4 at Arp 112 need ETH_TYPE & 0xffff = 0x0806;
    23 ARP_TPA "arp_tpa" [] 32 masked set Ip4 at Arp 192 need ETH_TYPE & 0xffff = 0x0806;
    24 ARP_SHA "arp_sha" [] 48 masked set Mac at Arp 64 need ETH_TYPE & 0xffff = 0x0806;
    25 ARP_THA "arp_tha" [] 48 masked set Mac at Arp 144 need ETH_TYPE & 0xffff = 0x0806;
    26 IPV6_SRC "ipv6_src" [] 128 masked set Ip6 at Ipv6 64 need ETH_TYPE & 0xffff = 0x86dd;
    27 IPV6_DST "ipv6_dst" [] 128 masked set Ip6 at Ipv6 192 need ETH_TYPE & 0xffff = 0x86dd;
    28 IPV6_FLABEL "ipv6_flabel" ["ipv6_label"] 20 masked set Hex at Ipv6 12
        need ETH_TYPE & 0xffff = 0x86dd;
    29 ICMPV6_TYPE "icmpv6_type" [] 8 exact set Dec at Icmpv6 0 need IP_PROTO & 0xff = 58;
    30 ICMPV6_CODE "icmpv6_code" [] 8 exact set Dec at Icmpv6 8 need IP_PROTO & 0xff = 58;
    31 IPV6_ND_TARGET "ipv6_nd_target" ["nd_target"] 128 exact set Ip6 at Nd 64
        need ICMPV6_TYPE & 0xff = 135 | 136;
    32 IPV6_ND_SLL "ipv6_nd_sll" ["nd_sll"] 48 exact set Mac at NdSll 16
        need ICMPV6_TYPE & 0xff = 135;
    33 IPV6_ND_TLL "ipv6_nd_tll" ["nd_tll"] 48 exact set Mac at NdTll 16
        need ICMPV6_TYPE & 0xff = 136;
    34 MPLS_LABEL "mpls_label" [] 20 exact set Dec at Mpls 0
        need ETH_TYPE & 0xffff = 0x8847 | 0x8848;
    35 MPLS_TC "mpls_tc" [] 3 exact set Dec at Mpls 20 need ETH_TYPE & 0xffff = 0x8847 | 0x8848;
    36 MPLS_BOS "mpls_bos" [] 1 exact set Dec at Mpls 23
        need ETH_TYPE & 0xffff = 0x8847 | 0x8848 [since V1_3];
    37 PBB_ISID "pbb_isid" [] 24 masked set Hex at Pbb 24
        need ETH_TYPE & 0xffff = 0x88e7 [since V1_3];
    38 TUNNEL_ID "tunnel_id" ["tun_id"] 64 masked set Hex [since V1_3];
    39 IPV6_EXTHDR "ipv6_exthdr" [] 9 masked fixed Bits(EXTHDR_NAMES)
        need ETH_TYPE & 0xffff = 0x86dd [since V1_3];
    41 PBB_UCA "pbb_uca" [] 1 exact set Dec at Pbb 20
        need ETH_TYPE & 0xffff = 0x88e7 [since V1_4];
    42 TCP_FLAGS "tcp_flags" [] 12 masked fixed Bits(TCP_FLAG_NAMES) class ONF at Tcp 100
        differs Ends(0x80, 0x09) need IP_PROTO & 0xff = 6;
    43 ACTSET_OUTPUT "actset_output" [] 32 exact fixed Port class ONF initial 0xffff_fff7
        [since V1_3];
}

/// All fields of the specification, in the order of their ids, which satisfies every prerequisite.
pub static FIELDS: [Field; STANDARD_FIELDS] = place(ROWS);

/// The first byte of a key that no standard field takes: the last one that has a place there is
/// [`PACKET_TYPE`].
pub const KEY_STANDARD_BYTES: usize = {
    let last = place(ROWS)[0];
    last.offset as usize + last.bytes()
};

/// Bytes of a key but for its tail: presence bits, standard values, extension values; a multiple of
/// 8.
pub const KEY_BYTES: usize = (KEY_STANDARD_BYTES + KEY_EXTENSION_BYTES).next_multiple_of(8);

const _: () = assert!(
    STANDARD_FIELDS + FieldSet::MAX_FACTS <= 8 * KEY_PRESENT_BYTES,
    "every key has presence bits for OpenFlow's fields"
);
