//! The fields that Open vSwitch knows, and lists of them as ovs-ofctl prints them.

use std::collections::BTreeSet;

use bofuss_oflib::message::multipart::table_features::{FieldId, PropertyList};
use bofuss_oflib::registers::PACKET_REGISTERS;

/// Open vSwitch's fields in its order, as `NAME=CLASS:NUMBER`. `reg*16` stands for `reg0` to
/// `reg15`, with consecutive numbers.
const FIELDS: &str = "
    dp_hash=nxm1:35 recirc_id=nxm1:36 packet_type=oxm:44 conj_id=nxm1:37 tun_id=oxm:38
    tun_src=nxm1:31 tun_dst=nxm1:32 tun_ipv6_src=nxm1:109 tun_ipv6_dst=nxm1:110
    tun_flags=nxm1:104 tun_gbp_id=nxm1:38 tun_gbp_flags=nxm1:39 tun_erspan_idx=nx:11
    tun_erspan_ver=nx:12 tun_erspan_dir=nx:13 tun_erspan_hwid=nx:14 tun_gtpu_flags=nx:15
    tun_gtpu_msgtype=nx:16 tun_metadata*64=nxm1:40 metadata=oxm:2 in_port=nxm0:0
    in_port_oxm=oxm:0 actset_output=onf:43 pkt_mark=nxm1:33 ct_state=nxm1:105 ct_zone=nxm1:106
    ct_mark=nxm1:107 ct_label=nxm1:108 ct_nw_proto=nxm1:119 ct_nw_src=nxm1:120
    ct_nw_dst=nxm1:121 ct_ipv6_src=nxm1:122 ct_ipv6_dst=nxm1:123 ct_tp_src=nxm1:124
    ct_tp_dst=nxm1:125 reg*16=nxm1:0 xreg*8=pkt:0 xxreg*4=nxm1:111 eth_src=oxm:4 eth_dst=oxm:3
    eth_type=oxm:5 vlan_tci=nxm0:4 vlan_vid=oxm:6 vlan_pcp=oxm:7 mpls_label=oxm:34 mpls_tc=oxm:35
    mpls_bos=oxm:36 mpls_ttl=nxm1:30 ip_src=oxm:11 ip_dst=oxm:12 ipv6_src=oxm:26 ipv6_dst=oxm:27
    ipv6_label=oxm:28 nw_proto=oxm:10 nw_tos=nxm0:5 ip_dscp=oxm:8 nw_ecn=oxm:9 nw_ttl=nxm1:29
    ip_frag=nxm1:26 arp_op=oxm:21 arp_spa=oxm:22 arp_tpa=oxm:23 arp_sha=oxm:24 arp_tha=oxm:25
    tcp_src=oxm:13 tcp_dst=oxm:14 tcp_flags=onf:42 udp_src=oxm:15 udp_dst=oxm:16 sctp_src=oxm:17
    sctp_dst=oxm:18 icmp_type=oxm:19 icmp_code=oxm:20 icmpv6_type=oxm:29 icmpv6_code=oxm:30
    nd_target=oxm:31 nd_sll=oxm:32 nd_tll=oxm:33 nd_reserved=eric:1 nd_options_type=eric:2
    nsh_flags=nsh:1 nsh_mdtype=nsh:2 nsh_np=nsh:3 nsh_spi=nsh:4 nsh_si=nsh:5 nsh_c1=nsh:6
    nsh_c2=nsh:7 nsh_c3=nsh:8 nsh_c4=nsh:9 nsh_ttl=nsh:10";
/// The classes of [`FIELDS`]: name, OXM class, experimenter.
const CLASSES: &[(&str, u32, u32)] = &[
    ("nxm0", 0x0000, 0),
    ("nxm1", 0x0001, 0),
    ("eric", 0x1000, 0),
    ("oxm", 0x8000, 0),
    ("pkt", 0x8001, 0),
    ("nx", 0xffff, 0x2320),
    ("nsh", 0xffff, 0x5a_d650),
    ("onf", 0xffff, 0x4f4e_4600),
];
/// Fields that ovs-ofctl prints by another name for a switch of OpenFlow 1.0 or 1.1.
const OLDER_NAMES: [(&str, &str); 2] = [("in_port_oxm", "in_port"), ("ip_dscp", "nw_tos")];

/// Fields, by their place in Open vSwitch's order.
pub(super) type Fields = BTreeSet<usize>;

/// The fields that a property lists.
#[derive(Default)]
pub(super) struct FoundFields {
    /// Those that Open vSwitch knows.
    pub(super) all: Fields,
    /// Those of them that may have a mask.
    pub(super) masked: Fields,
}

/// A field's id on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
struct OxmId {
    class: u32,
    number: u32,
    /// 0 for a field of no experimenter.
    experimenter: u32,
}

impl From<&FieldId> for OxmId {
    fn from(field: &FieldId) -> Self {
        match *field {
            FieldId::Known(field, _) => {
                let (class, experimenter) = match field.experimenter {
                    0 => (0x8000, 0),
                    PACKET_REGISTERS => (PACKET_REGISTERS, 0),
                    own => (0xffff, own),
                };
                Self {
                    class,
                    number: u32::from(field.number),
                    experimenter,
                }
            }
            FieldId::Unknown(header, experimenter) => Self {
                class: header >> 16,
                number: header >> 9 & 0x7f,
                experimenter,
            },
        }
    }
}

/// Returns true if a list of fields allows a mask for one of them.
fn has_mask(field: &FieldId) -> bool {
    match *field {
        FieldId::Known(_, has_mask) => has_mask,
        FieldId::Unknown(header, _) => header >> 8 & 1 == 1,
    }
}

/// The names and ids of the fields that Open vSwitch knows, in its order.
pub(super) struct FieldNames(Vec<(String, OxmId)>);

impl FieldNames {
    pub(super) fn new() -> Self {
        let mut names = Vec::new();
        for word in FIELDS.split_whitespace() {
            let (name, id) = row(word).expect("each word is NAME=CLASS:NUMBER");
            let Some((stem, count)) = name.split_once('*') else {
                names.push((name.to_string(), id));
                continue;
            };
            let count: u32 = count.parse().expect("a number follows *");
            for i in 0..count {
                let number = id.number + i;
                names.push((format!("{stem}{i}"), OxmId { number, ..id }));
            }
        }
        Self(names)
    }

    /// The place of a field in Open vSwitch's order, by its name.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|row| row.0 == name)
    }

    /// Replaces fields by those of [`OLDER_NAMES`].
    pub(super) fn use_older(&self, fields: &mut Fields) {
        for (newer, older) in OLDER_NAMES {
            if let (Some(newer), Some(older)) = (self.place(newer), self.place(older))
                && fields.remove(&newer)
            {
                fields.insert(older);
            }
        }
    }

    /// The fields in the list of a property; none if it is not there.
    pub(super) fn find(&self, list: Option<&PropertyList>) -> FoundFields {
        let mut found = FoundFields::default();
        let Some(PropertyList::Fields(list)) = list else {
            return found;
        };
        for field in list {
            let id = OxmId::from(field);
            let Some(place) = self.0.iter().position(|row| row.1 == id) else {
                continue;
            };
            found.all.insert(place);
            if has_mask(field) {
                found.masked.insert(place);
            }
        }
        found
    }

    /// The names of fields, abbreviated.
    pub(super) fn text(&self, fields: &Fields) -> String {
        let names: Vec<&str> = fields.iter().map(|at| self.0[*at].0.as_str()).collect();
        abbreviated(&names, " ")
    }
}

/// Reads `NAME=CLASS:NUMBER`.
fn row(word: &str) -> Option<(&str, OxmId)> {
    let (name, at) = word.split_once('=')?;
    let (class, number) = at.split_once(':')?;
    let (_, class, experimenter) = CLASSES.iter().find(|row| row.0 == class)?;
    let id = OxmId {
        class: *class,
        number: number.parse().ok()?,
        experimenter: *experimenter,
    };
    Some((name, id))
}

/// Joins names, and abbreviates them: `eth_{src,dst}` for a common prefix, `reg0...reg3` for
/// consecutive numbers.
fn abbreviated(names: &[&str], between: &str) -> String {
    let mut words = Vec::new();
    let mut rest = names;
    while let Some(first) = rest.first() {
        let run = consecutive(rest);
        let prefix = first.find('_').map_or("", |at| &first[..=at]);
        let shared = if prefix.is_empty() {
            0
        } else {
            let sharing = rest.iter().take_while(|name| name.starts_with(prefix));
            sharing.count()
        };
        let count = if run > 1 { run } else { shared.max(1) };
        words.push(if run > 1 {
            format!("{first}...{}", rest[run - 1])
        } else if shared > 1 {
            let tails: Vec<&str> = rest[..shared].iter().map(|n| &n[prefix.len()..]).collect();
            format!("{prefix}{{{}}}", abbreviated(&tails, ","))
        } else {
            first.to_string()
        });
        rest = &rest[count..];
    }
    words.join(between)
}

/// A name without the number at its end, and that number; `None` without one.
fn stem_and_number(name: &str) -> Option<(&str, usize)> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[stem.len()..].parse().ok()?;
    Some((stem, number))
}

/// Returns how many names at the start are one name with consecutive numbers; 1 if the first has
/// none.
fn consecutive(names: &[&str]) -> usize {
    let Some((stem, number)) = stem_and_number(names[0]) else {
        return 1;
    };
    names
        .iter()
        .enumerate()
        .take_while(|(i, name)| stem_and_number(name) == Some((stem, number + i)))
        .count()
}
