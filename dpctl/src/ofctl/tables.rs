//! Tables as ovs-ofctl prints them: their counters and their features.

use std::collections::BTreeSet;

use bofuss_oflib::Version;
use bofuss_oflib::message::multipart::TableStats;
use bofuss_oflib::message::multipart::table_features::{FieldId, PropertyList, TableFeatureSet};
use bofuss_oflib::message::table_mod::{TableConfig, TableMiss};
use bofuss_oflib::registers::PACKET_REGISTERS;

use super::show::{SETTERS, action_names};

/// Open vSwitch's fields in its order: name, `*` and a count if they are numbered, class and
/// number.
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
/// Their classes: name, OXM class, experimenter.
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
/// Fields with other names in ovs-ofctl for a switch of OpenFlow 1.0 or 1.1.
const OLDER_NAMES: [(&str, &str); 2] = [("in_port_oxm", "in_port"), ("ip_dscp", "nw_tos")];
/// ovs-ofctl's order of instructions, by their type.
const INSTRUCTIONS: &[(u16, &str)] = &[
    (6, "meter"),
    (4, "apply_actions"),
    (5, "clear_actions"),
    (3, "write_actions"),
    (2, "write_metadata"),
    (7, "stat_trigger"),
    (1, "goto_table"),
];

/// Fields, by their place in Open vSwitch's order.
type Fields = BTreeSet<usize>;

/// The fields that Open vSwitch knows.
struct Names(Vec<(String, (u32, u32, u32))>);

impl Names {
    /// Where a field's name stands in the list.
    fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|row| row.0 == name)
    }

    fn new() -> Self {
        let mut names = Vec::new();
        for word in FIELDS.split_whitespace() {
            let row = word.split_once('=').and_then(|(name, at)| {
                let (class, number) = at.split_once(':')?;
                let (_, class, experimenter) = CLASSES.iter().find(|row| row.0 == class)?;
                Some((name, (*class, number.parse().ok()?, *experimenter)))
            });
            let (name, id) = row.expect("each word names a class");
            match name.split_once('*') {
                None => names.push((name.to_string(), id)),
                Some((stem, count)) => {
                    let count: u32 = count.parse().expect("a number stands behind *");
                    names
                        .extend((0..count).map(|i| (format!("{stem}{i}"), (id.0, id.1 + i, id.2))));
                }
            }
        }
        Self(names)
    }

    /// Puts the names of OpenFlow 1.0 and 1.1 in the place of later ones.
    fn use_older(&self, fields: &mut Fields) {
        for (newer, older) in OLDER_NAMES {
            if let (Some(newer), Some(older)) = (self.place(newer), self.place(older))
                && fields.remove(&newer)
            {
                fields.insert(older);
            }
        }
    }

    /// The known fields among these, and those with a mask.
    fn find(&self, list: Option<&PropertyList>) -> (Fields, Fields) {
        let mut fields = Fields::new();
        let mut masked = Fields::new();
        let Some(PropertyList::Fields(list)) = list else {
            return (fields, masked);
        };
        for field in list {
            let (id, mask) = match *field {
                FieldId::Known(field, mask) => {
                    let (class, experimenter) = match field.experimenter {
                        0 => (0x8000, 0),
                        PACKET_REGISTERS => (PACKET_REGISTERS, 0),
                        own => (0xffff, own),
                    };
                    ((class, u32::from(field.number), experimenter), mask)
                }
                FieldId::Unknown(header, experimenter) => {
                    let id = (header >> 16, header >> 9 & 0x7f, experimenter);
                    (id, header >> 8 & 1 == 1)
                }
            };
            if let Some(place) = self.0.iter().position(|row| row.1 == id) {
                fields.insert(place);
                masked.extend(mask.then_some(place));
            }
        }
        (fields, masked)
    }

    fn text(&self, fields: &Fields) -> String {
        let names: Vec<&str> = fields.iter().map(|at| self.0[*at].0.as_str()).collect();
        abbreviated(&names, " ")
    }
}

/// Abbreviates names: `eth_{src,dst}` for a common prefix, `reg0...reg3` for consecutive numbers.
fn abbreviated(names: &[&str], between: &str) -> String {
    let mut words = Vec::new();
    let mut rest = names;
    while let Some(first) = rest.first() {
        let row = numbered(rest);
        let stem = first
            .split_inclusive('_')
            .next()
            .filter(|stem| stem.ends_with('_'));
        let count = match stem.map_or(0, |stem| {
            rest.iter()
                .take_while(|name| name.starts_with(stem))
                .count()
        }) {
            _ if row > 1 => {
                words.push(format!("{first}...{}", rest[row - 1]));
                row
            }
            count @ 2.. => {
                let stem = stem.unwrap_or_default();
                let tails: Vec<&str> = rest[..count].iter().map(|n| &n[stem.len()..]).collect();
                words.push(format!("{stem}{{{}}}", abbreviated(&tails, ",")));
                count
            }
            _ => {
                words.push(first.to_string());
                1
            }
        };
        rest = &rest[count..];
    }
    words.join(between)
}

/// A name's parts: a number at its end, and what is before it.
fn stem_and_number(name: &str) -> Option<(&str, usize)> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[stem.len()..].parse().ok()?;
    Some((stem, number))
}

/// How many of the first names differ only in a number that grows by one.
fn numbered(names: &[&str]) -> usize {
    let Some((stem, number)) = stem_and_number(names[0]) else {
        return 1;
    };
    names
        .iter()
        .enumerate()
        .take_while(|(i, name)| stem_and_number(name) == Some((stem, number + i)))
        .count()
}

/// Actions by type, and the fields that set-field may write.
type ActionFeatures = (BTreeSet<u16>, Fields);

/// The features of one kind of entries (with a match, or the table-miss entry).
#[derive(Default, PartialEq, Eq)]
struct EntryFeatures {
    next: BTreeSet<u8>,
    instructions: BTreeSet<u16>,
    write: ActionFeatures,
    apply: ActionFeatures,
}

/// The list in a table's property of this type.
fn property(table: &TableFeatureSet, ty: u16) -> Option<&PropertyList> {
    let found = table.properties.iter().find(|one| one.ty == ty);
    found.map(|one| &one.list)
}

/// The features of a table.
struct Can {
    table: u8,
    metadata: (u64, u64),
    /// What becomes of a miss, in the versions that tell it of a table.
    config: Option<&'static str>,
    /// How the table may be configured, in the versions that tell it.
    fills: Option<TableConfig>,
    max_entries: u32,
    hit: EntryFeatures,
    miss: EntryFeatures,
    matched: Fields,
    masked: Fields,
    wild: Fields,
}

impl EntryFeatures {
    fn new(table: &TableFeatureSet, miss: u16, names: &Names) -> Self {
        let list = |ty| property(table, ty + miss).or_else(|| property(table, ty));
        let types = |ty| match list(ty) {
            Some(PropertyList::Types(list)) => list.iter().map(|one| one.ty).collect(),
            _ => BTreeSet::new(),
        };
        Self {
            next: match list(2) {
                Some(PropertyList::Tables(list)) => list.iter().map(|one| one.0).collect(),
                _ => BTreeSet::new(),
            },
            instructions: types(0),
            write: (types(4), names.find(list(12)).0),
            apply: (types(6), names.find(list(14)).0),
        }
    }

    /// The same as OpenFlow 1.1 has it: actions set fields, and not one action any.
    fn with_setters(mut self, names: &Names) -> Self {
        for (actions, fields) in [&mut self.write, &mut self.apply] {
            for (number, _, field) in SETTERS {
                let place = names.place(field);
                if place.is_some_and(|place| fields.contains(&place)) {
                    actions.insert(*number);
                }
            }
            fields.clear();
        }
        self
    }

    /// Whether both have the same features; next tables up to the later of the two are ignored.
    fn equals(&self, other: &Self, later: u8) -> bool {
        let ours = self.next.iter().filter(|id| **id > later);
        let theirs = other.next.iter().filter(|id| **id > later);
        ours.eq(theirs)
            && (&self.instructions, &self.write, &self.apply)
                == (&other.instructions, &other.write, &other.apply)
    }

    fn text(&self, before: Option<&Self>, names: &Names) -> String {
        let mut text = String::new();
        if !self.next.is_empty() {
            text += &format!("      next tables: {}\n", ranges(&self.next));
        }
        if self.instructions.is_empty() {
        } else if before.is_some_and(|kind| kind.instructions == self.instructions) {
            text += "      (same instructions)\n";
        } else {
            let known: Vec<&str> = INSTRUCTIONS
                .iter()
                .filter(|row| self.instructions.contains(&row.0))
                .map(|row| row.1)
                .collect();
            text += &format!("      instructions: {}\n", known.join(" "));
        }
        let actions = |title: &str, (actions, fields): &ActionFeatures| {
            let actions = action_names(|ty| actions.contains(&ty));
            let mut text = format!("      {title} features:\n        actions: {actions}\n");
            if !fields.is_empty() {
                text += &format!("        supported on Set-Field: {}\n", names.text(fields));
            }
            text
        };
        if before.is_some_and(|kind| (&kind.write, &kind.apply) == (&self.write, &self.apply))
            && !self.write.1.is_empty()
        {
            text + "      (same actions)\n"
        } else if self.write != self.apply {
            text + &actions("Write-Actions", &self.write) + &actions("Apply-Actions", &self.apply)
        } else if self.write != ActionFeatures::default() {
            text + &actions("Write-Actions and Apply-Actions", &self.write)
        } else {
            text
        }
    }
}

/// Numbers as `1-3,5`.
fn ranges(numbers: &BTreeSet<u8>) -> String {
    let numbers: Vec<u8> = numbers.iter().copied().collect();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        run => run[0].to_string(),
    })
    .collect::<Vec<_>>()
    .join(",")
}

impl Can {
    /// The features that a table reports since OpenFlow 1.3.
    fn from_features(table: &TableFeatureSet, names: &Names) -> Self {
        let (matched, masked) = names.find(property(table, 8));
        Self {
            table: table.table_id.0,
            metadata: (table.metadata_match, table.metadata_write),
            config: None,
            fills: None,
            max_entries: table.max_entries,
            hit: EntryFeatures::new(table, 0, names),
            miss: EntryFeatures::new(table, 1, names),
            matched,
            masked,
            wild: names.find(property(table, 10)).0,
        }
    }

    /// The features in a table's statistics; in 1.3 there are none.
    fn counted(version: Version, table: &TableStats, names: &Names) -> Self {
        let mut can = Self::from_features(&table.features, names);
        can.table = table.table_id.0;
        if version < Version::V1_2 {
            for fields in [&mut can.wild, &mut can.matched] {
                names.use_older(fields);
            }
        }
        if version == Version::V1_0 {
            can.matched = can.wild.clone();
        } else if version.table_stats_have_features() {
            let miss = TableMiss::CONTROLLER.0 + (table.features.config & TableMiss::MASK);
            can.config = TableMiss(miss).name();
        }
        if version == Version::V1_1 {
            can.hit = can.hit.with_setters(names);
            can.miss = can.miss.with_setters(names);
        }
        can
    }

    fn same_kinds(&self, other: &Self) -> bool {
        let later = self.table.max(other.table);
        self.hit.equals(&other.hit, later) && self.miss.equals(&other.miss, later)
    }

    fn same_matching(&self, other: &Self) -> bool {
        (&self.matched, &self.masked, &self.wild) == (&other.matched, &other.masked, &other.wild)
    }

    fn equals(&self, other: &Self) -> bool {
        (self.metadata, self.config, self.fills, self.max_entries)
            == (other.metadata, other.config, other.fills, other.max_entries)
            && self.same_kinds(other)
            && self.same_matching(other)
    }

    fn text(&self, before: Option<&Self>, names: &Names) -> String {
        let mut text = String::new();
        if self.metadata != (0, 0) {
            let (matched, written) = self.metadata;
            text += &format!("    metadata: match={matched:#x} write={written:#x}\n");
        }
        if let Some(config) = self.config {
            text += &format!("    config={config}\n");
        }
        if let Some(fills) = self.fills {
            text += &super::filling::abilities(fills);
        }
        if self.max_entries != 0 {
            text += &format!("    max_entries={}\n", self.max_entries);
        }
        let hit = before.map(|can| &can.hit);
        let miss = before.map(|can| &can.miss);
        if self.hit == EntryFeatures::default() && self.miss == EntryFeatures::default() {
        } else if before.is_some_and(|can| can.same_kinds(self)) {
            text += "    (same instructions)\n";
        } else if self.hit != self.miss {
            text += "    instructions (other than table miss):\n";
            text += &self.hit.text(hit, names);
            text += "    instructions (table miss):\n";
            text += &self.miss.text(miss, names);
        } else {
            text += "    instructions (table miss and others):\n";
            text += &self.hit.text(hit, names);
        }
        if self.matched.is_empty() {
            return text;
        }
        if before.is_some_and(|can| can.same_matching(self)) {
            return text + "    (same matching)\n";
        }
        let exact: Fields = self.matched.difference(&self.masked).copied().collect();
        text += "    matching:\n";
        for (title, fields) in [
            ("arbitrary mask", self.masked.clone()),
            ("exact match or wildcard", &exact & &self.wild),
            ("must exact match", &exact - &self.wild),
        ] {
            if !fields.is_empty() {
                text += &format!("      {title}: {}\n", names.text(&fields));
            }
        }
        text
    }
}

/// Tables, with their counters if known; a table equal to the previous one is abbreviated.
fn tables(list: &[(&str, Option<&TableStats>, Can)], names: &Names) -> String {
    let mut text = String::new();
    let mut same: Vec<u8> = Vec::new();
    for (i, (name, did, can)) in list.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| &list[i]);
        let same_can = before.is_some_and(|(_, _, before)| before.equals(can));
        let same_did = before.is_some_and(|(_, before, _)| before.map(figures) == did.map(figures));
        if same_can && same_did && name.is_empty() {
            same.push(can.table);
            continue;
        }
        text += &dittos(&mut same);
        text += &format!("\n  table {}", can.table);
        if !name.is_empty() {
            text += &format!(" (\"{name}\")");
        }
        text.push(':');
        if same_can && same_did {
            text += " ditto";
            continue;
        }
        text.push('\n');
        if let Some(did) = did {
            let (active, lookup, matched) = figures(did);
            text += &format!("    active={active}, lookup={lookup}, matched={matched}\n");
        }
        let is_reported = can.max_entries != 0 || !can.matched.is_empty();
        text += &match before {
            _ if !same_can => can.text(before.map(|one| &one.2), names),
            _ if did.is_some() && is_reported => "    (same features)\n".into(),
            _ => String::new(),
        };
    }
    text + &dittos(&mut same)
}

/// The line for tables that are like the one before them.
fn dittos(same: &mut Vec<u8>) -> String {
    match *std::mem::take(same) {
        [] => String::new(),
        [one] => format!("\n  table {one}: ditto\n"),
        [first, .., last] => format!("\n  tables {first}...{last}: ditto\n"),
    }
}

/// What a table counts, as it is printed.
fn figures(t: &TableStats) -> (u32, u64, u64) {
    (t.active_count, t.lookup_count, t.matched_count)
}

/// The counters of tables; in OpenFlow 1.0 also their features.
pub(super) fn statistics(version: Version, list: &[TableStats]) -> String {
    let names = Names::new();
    let list: Vec<_> = list
        .iter()
        .map(|table| {
            let can = Can::counted(version, table, &names);
            (table.features.name.0.as_str(), Some(table), can)
        })
        .collect();
    format!("{}\n", tables(&list, &names).trim_matches('\n'))
}

/// The features of tables.
pub(super) fn features(version: Version, list: &[&TableFeatureSet]) -> String {
    let names = Names::new();
    let list: Vec<_> = list
        .iter()
        .map(|table| {
            let mut can = Can::from_features(table, &names);
            can.fills = version.has_bundles().then_some(TableConfig(table.config));
            (&*table.name.0, None, can)
        })
        .collect();
    format!("{}\n", tables(&list, &names).trim_start_matches('\n'))
}
