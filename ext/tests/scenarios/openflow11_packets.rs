//! Entries of OpenFlow 1.1 count the packets that section A.2.3 says, in all engines.

use super::engines::Random;
use super::openflow10::{self, NO_VLAN, one_of};
use super::*;

/// Matches that are tried in each engine, and packets that each of them is compared with.
const MATCHES: usize = 500;
const PACKETS: usize = 16;
/// The least number of times that each has to happen.
const HITS: usize = 1500;
const MISSES: usize = 1500;

/// Boundary values of each field. The Ethernet type of a second tag is skipped with the tag.
const TYPES: [u16; 10] = [
    0x0800, 0x0800, 0x0800, 0x86dd, 0x0806, 0x88b5, 0x8847, 0x8848, 0x8100, 0x88a8,
];
const VLAN_ANY: u16 = 0xfffe;
const LABELS: [u32; 4] = [0, 3, 0x8_0000, 0xf_ffff];
const CLASSES: [u8; 3] = [0, 1, 7];
/// The metadata that table 0 writes for packets of ports 1 and 2.
const METADATA: [u64; 2] = [0, 0x8000_0000_0000_0012];
/// Masks with ones in the bits of an address, or of the metadata, that do not count.
const ADDRESS_MASKS: [u64; 4] = [0, 1, 0xff00_0000_0000, 0xffff_ffff_ffff];
const NETWORK_MASKS: [u32; 5] = [0, 1, 0xff, 0x00ff_ff00, u32::MAX];
const METADATA_MASKS: [u64; 4] = [0, 2, 0xffff, u64::MAX];

/// The wildcard bits. Spec: OpenFlow 1.1.0 section A.2.3.
mod wild {
    pub const IN_PORT: u32 = 1 << 0;
    pub const DL_VLAN: u32 = 1 << 1;
    pub const DL_VLAN_PCP: u32 = 1 << 2;
    pub const DL_TYPE: u32 = 1 << 3;
    pub const NW_TOS: u32 = 1 << 4;
    pub const NW_PROTO: u32 = 1 << 5;
    pub const TP_SRC: u32 = 1 << 6;
    pub const TP_DST: u32 = 1 << 7;
    pub const MPLS_LABEL: u32 = 1 << 8;
    pub const MPLS_TC: u32 = 1 << 9;
}

/// The fields of a packet or of a match: those of 1.0, and those that 1.1 added.
#[derive(Clone, Copy, Debug)]
struct Fields {
    old: openflow10::Fields,
    mpls_label: u32,
    mpls_tc: u8,
    metadata: u64,
}

/// The part of a match that does not count: one wildcard bit for a field, or ones in a mask.
#[derive(Clone, Copy, Debug)]
struct Ignored {
    wildcards: u32,
    dl_src: u64,
    dl_dst: u64,
    nw_src: u32,
    nw_dst: u32,
    metadata: u64,
}

impl Fields {
    fn random(random: &mut Random) -> Self {
        let mut old = openflow10::Fields::random(random);
        old.dl_type = one_of(random, &TYPES);
        Self {
            old,
            mpls_label: one_of(random, &LABELS),
            mpls_tc: one_of(random, &CLASSES),
            metadata: METADATA[usize::from(old.in_port) - 1],
        }
    }

    /// The fields for a match, which may also want any tag, other metadata, and ICMP's types and
    /// codes.
    fn as_wanted(mut self, random: &mut Random) -> Self {
        self.old.dl_vlan = one_of(random, &[self.old.dl_vlan, self.old.dl_vlan, VLAN_ANY]);
        self.metadata = one_of(random, &METADATA);
        if self.old.nw_proto == 1 {
            self.old.tp_src &= 0xff;
            self.old.tp_dst &= 0xff;
        }
        self
    }

    /// The same fields, except for one that is taken from `other`.
    fn with_one_of(mut self, other: &Self, field: u64) -> Self {
        match field {
            12 => self.mpls_label = other.mpls_label,
            13 => self.mpls_tc = other.mpls_tc,
            _ => self.old = self.old.with_one_of(&other.old, field),
        }
        self
    }

    /// The fields that a packet can have: there is a second tag only after a first, and the
    /// metadata is that of the port.
    fn as_packet(mut self) -> Self {
        self.old = self.old.as_packet();
        self.metadata = METADATA[usize::from(self.old.in_port) - 1];
        self
    }

    /// The fields that entries see of a packet: all tags are skipped.
    fn seen(mut self) -> Self {
        if self.old.is_tagged_twice() {
            self.old.dl_type = 0x0800;
        }
        self.as_packet()
    }

    /// A frame of a packet with these fields.
    fn frame(&self, ecn: u8) -> Vec<u8> {
        let mut bytes = self.old.frame(ecn);
        if matches!(self.old.dl_type, 0x8847 | 0x8848) {
            let at = if self.old.dl_vlan == NO_VLAN { 14 } else { 18 };
            let entry = self.mpls_label << 12 | u32::from(self.mpls_tc) << 9 | 0x140;
            bytes[at..at + 4].copy_from_slice(&entry.to_be_bytes());
        }
        bytes
    }

    /// The 88 bytes of a match.
    fn match_bytes(&self, ignored: &Ignored) -> Vec<u8> {
        let old = &self.old;
        let mut bytes = vec![0, 0, 0, 88];
        bytes.extend(u32::from(old.in_port).to_be_bytes());
        bytes.extend(ignored.wildcards.to_be_bytes());
        for address in [old.dl_src, ignored.dl_src, old.dl_dst, ignored.dl_dst] {
            bytes.extend(&address.to_be_bytes()[2..]);
        }
        bytes.extend(old.dl_vlan.to_be_bytes());
        bytes.extend([old.dl_vlan_pcp, 0]);
        bytes.extend(old.dl_type.to_be_bytes());
        bytes.extend([old.nw_tos, old.nw_proto]);
        for address in [old.nw_src, ignored.nw_src, old.nw_dst, ignored.nw_dst] {
            bytes.extend(address.to_be_bytes());
        }
        bytes.extend(old.tp_src.to_be_bytes());
        bytes.extend(old.tp_dst.to_be_bytes());
        bytes.extend(self.mpls_label.to_be_bytes());
        bytes.extend([self.mpls_tc, 0, 0, 0]);
        bytes.extend(self.metadata.to_be_bytes());
        bytes.extend(ignored.metadata.to_be_bytes());
        bytes
    }

    /// Returns true if a match with these fields matches a packet, by section A.2.3, with ICMP's
    /// type and code as ports.
    fn is_for(&self, ignored: &Ignored, packet: &Self) -> bool {
        let wants = |bit: u32| ignored.wildcards & bit == 0;
        let (own, other) = (&self.old, &packet.old);
        let tagged = other.dl_vlan != NO_VLAN;
        let vlan = match own.dl_vlan {
            NO_VLAN => !tagged,
            VLAN_ANY => tagged,
            id => id == other.dl_vlan,
        };
        let knows_tag = wants(wild::DL_VLAN) && own.dl_vlan != NO_VLAN;
        let link = (!wants(wild::IN_PORT) || own.in_port == other.in_port)
            && (own.dl_src ^ other.dl_src) & !ignored.dl_src == 0
            && (own.dl_dst ^ other.dl_dst) & !ignored.dl_dst == 0
            && (!wants(wild::DL_VLAN) || vlan)
            && (!knows_tag || !wants(wild::DL_VLAN_PCP) || own.dl_vlan_pcp == other.dl_vlan_pcp)
            && (!wants(wild::DL_TYPE) || own.dl_type == other.dl_type);
        // Fields that the Ethernet type does not have are ignored.
        let is_type = |types: &[u16]| wants(wild::DL_TYPE) && types.contains(&own.dl_type);
        let (ip, addresses) = (is_type(&[0x0800]), is_type(&[0x0800, 0x0806]));
        let mpls = is_type(&[0x8847, 0x8848]);
        let transport = ip && wants(wild::NW_PROTO) && matches!(own.nw_proto, 1 | 6 | 17 | 132);
        let network = (!ip || !wants(wild::NW_TOS) || own.nw_tos == other.nw_tos)
            && (!addresses || !wants(wild::NW_PROTO) || own.nw_proto == other.nw_proto)
            && (!addresses || (own.nw_src ^ other.nw_src) & !ignored.nw_src == 0)
            && (!addresses || (own.nw_dst ^ other.nw_dst) & !ignored.nw_dst == 0)
            && (!transport || !wants(wild::TP_SRC) || own.tp_src == other.tp_src)
            && (!transport || !wants(wild::TP_DST) || own.tp_dst == other.tp_dst);
        link && network
            && (!mpls || !wants(wild::MPLS_LABEL) || self.mpls_label == packet.mpls_label)
            && (!mpls || !wants(wild::MPLS_TC) || self.mpls_tc == packet.mpls_tc)
            && (self.metadata ^ packet.metadata) & !ignored.metadata == 0
    }
}

impl Ignored {
    fn random(random: &mut Random) -> Self {
        // Most entries name a type and a protocol, without which little else counts.
        let dense = (random.below(1 << 10) & random.below(1 << 10)) as u32;
        let sparse = dense & !(wild::DL_TYPE | wild::NW_PROTO);
        Self {
            wildcards: one_of(random, &[dense, sparse, sparse, 0]),
            dl_src: one_of(random, &ADDRESS_MASKS),
            dl_dst: one_of(random, &ADDRESS_MASKS),
            nw_src: one_of(random, &NETWORK_MASKS),
            nw_dst: one_of(random, &NETWORK_MASKS),
            metadata: one_of(random, &METADATA_MASKS),
        }
    }
}

/// The body of a flow-mod of this match that adds an entry to a table, which outputs to port 2 and
/// sends FLOW_REMOVED.
fn added(table: u8, priority: u16, fields: &[u8]) -> String {
    let head = format!(
        "{} {table:02x} 00 0000 0000 {priority:04x}",
        "00".repeat(16)
    );
    let filter = "ffffffff ffffffff ffffffff 0001 0000";
    let output = "0004 0018 00000000 0000 0010 00000002 0000 000000000000";
    format!("{head} {filter} {} {output}", hex(fields))
}

/// Packets that the only entry of table 1 has counted.
fn counted(stage: &mut Stage) -> usize {
    stage.io.effects.clear();
    stage.play("aggregate table=1");
    let line = stage.io.effects.pop().unwrap();
    let packets = line.split_once("packets=").unwrap().1;
    packets.split_once(' ').unwrap().0.parse().unwrap()
}

fn entries_count_what_the_text_says(engine: Engine) {
    let mut stage = engines::stage(engine, 1 << 10, 64);
    stage.play("connect 2 controller 1.1");
    stage.play("as 2");
    for (port, metadata) in (1..).zip(METADATA) {
        let actions = format!("actions=write_metadata:{metadata:#x},goto_table:1");
        stage.play(&format!("flow add in_port={port},{actions}"));
    }
    let (mut random, mut hits, mut misses) = (Random(10), 0, 0);
    for _ in 0..MATCHES {
        let fields = Fields::random(&mut random);
        let wanted = fields.as_wanted(&mut random);
        let ignored = Ignored::random(&mut random);
        let body = added(1, 5, &wanted.match_bytes(&ignored));
        stage.io.effects.clear();
        stage.play(&format!("bytes 14 {body}"));
        assert!(stage.io.effects.is_empty(), "{:?}", stage.io.effects);
        let mut before = 0;
        for number in 0..PACKETS {
            let other = Fields::random(&mut random);
            let mut packet = if number == 0 { other } else { fields };
            for _ in 0..random.below(3) {
                packet = packet.with_one_of(&other, random.below(14));
            }
            let frame = hex(&packet.as_packet().frame(random.below(4) as u8));
            let packet = packet.as_packet().seen();
            // Twice, since the second may take a remembered path.
            for _ in 0..2 {
                stage.play(&format!("send {} hex {frame}", packet.old.in_port));
            }
            let after = counted(&mut stage);
            let is_hit = wanted.is_for(&ignored, &packet);
            let expected = if is_hit { 2 } else { 0 };
            (hits, misses) = (hits + expected, misses + 2 - expected);
            assert_eq!(
                after - before,
                expected,
                "{ignored:x?} {wanted:x?}\n{packet:x?}"
            );
            before = after;
        }
        stage.play("flow delete table=1");
    }
    assert!(
        hits >= HITS && misses >= MISSES,
        "{hits} hits, {misses} misses"
    );
}

#[test]
fn entries_of_1_1_count_what_the_text_says_by_the_plain_scan() {
    entries_count_what_the_text_says(Engine::Reference);
}

#[test]
fn entries_of_1_1_count_what_the_text_says_by_hash_tables() {
    entries_count_what_the_text_says(Engine::Tables);
}

#[test]
fn entries_of_1_1_count_what_the_text_says_by_the_cache() {
    entries_count_what_the_text_says(Engine::Cache);
}

/// The offset of the match in FLOW_REMOVED, and in a FLOW reply of one entry.
const MATCH_IN_REMOVED: usize = 48;
const MATCH_IN_FLOWS: usize = 64;

#[test]
fn a_match_of_1_1_is_reported_in_the_bytes_in_which_it_was_sent() {
    let mut stage = engines::stage(Engine::Cache, 1 << 10, 64);
    stage.play("connect 2 controller 1.1");
    let mut random = Random(11);
    for number in 0..2000 {
        let wanted = Fields::random(&mut random).as_wanted(&mut random);
        let mut bytes = wanted.match_bytes(&Ignored::random(&mut random));
        if random.below(2) == 0 {
            // Undefined wildcard bits, and padding.
            for at in [8, 39, 69, 71] {
                bytes[at] |= random.below(256) as u8;
            }
        }
        stage.play("as 2");
        stage.play(&format!("bytes 14 {}", added(0, 5, &bytes)));
        // A change of actions, from a connection of either version, leaves the match.
        stage.play(if number % 2 == 0 { "as 1" } else { "as 2" });
        stage.play("flow modify actions=output:3");
        stage.play("as 2");
        stage.play("flows");
        let reported = &stage.io.bytes[MATCH_IN_FLOWS..][..bytes.len()];
        assert_eq!(reported, bytes, "{wanted:x?}");
        stage.play("flow delete");
        let reported = &stage.io.bytes[MATCH_IN_REMOVED..][..bytes.len()];
        assert_eq!(reported, bytes, "{wanted:x?}");
    }
}

#[test]
fn a_match_of_1_1_is_kept_only_where_other_bytes_would_be_reported() {
    let codec = Codec::new(Version::V1_1, Arc::new(bofuss_ext::catalogue()));
    let mut random = Random(12);
    let exact = Fields {
        mpls_label: 0,
        mpls_tc: 0,
        ..Fields::random(&mut random)
    };
    let none = Ignored {
        wildcards: wild::MPLS_LABEL | wild::MPLS_TC,
        dl_src: 0,
        dl_dst: 0,
        nw_src: 0,
        nw_dst: 0,
        metadata: 0,
    };
    let keeps = |change: fn(&mut Fields, &mut Ignored)| {
        let (mut fields, mut ignored) = (exact, none);
        fields.old.dl_type = 0x0800;
        fields.old.nw_proto = 6;
        fields.old.dl_vlan = 7;
        change(&mut fields, &mut ignored);
        let body = added(0, 5, &fields.match_bytes(&ignored)).replace(' ', "");
        let body = frame(&["hex", &body]);
        let header = [2, 14, 0, 8 + body.len() as u8, 0, 0, 0, 7];
        let read = codec.decode(&[&header, body.as_slice()].concat());
        let Ok((_, Message::FlowMod(flow_mod))) = read else {
            panic!("{read:?}");
        };
        flow_mod.fields.sent().is_some()
    };
    assert!(!keeps(|_, _| ()), "every field, exactly");
    assert!(keeps(|_, ignored| ignored.wildcards |= wild::IN_PORT));
    assert!(!keeps(|fields, ignored| {
        fields.old.in_port = 0;
        ignored.wildcards |= wild::IN_PORT;
    }));
    assert!(keeps(|fields, _| fields.mpls_label = 1), "ignored in IPv4");
    assert!(
        keeps(|fields, _| fields.old.dl_vlan = NO_VLAN),
        "a priority"
    );
    assert!(!keeps(|fields, _| fields.old.dl_vlan = VLAN_ANY));
    assert!(keeps(|fields, ignored| {
        fields.old.nw_src = 1;
        ignored.nw_src = 1;
    }));
}
