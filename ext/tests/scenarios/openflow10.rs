//! Entries of OpenFlow 1.0 count the packets that section 3.4 says, in all engines.

use super::engines::Random;
use super::*;

/// Matches that are tried in each engine, and packets that each of them is compared with.
const MATCHES: usize = 500;
const PACKETS: usize = 16;
/// The least number of times that each has to happen.
const HITS: usize = 1500;
const MISSES: usize = 1500;

/// Boundary values of each field. A packet's TOS has ECN bits; those of a match are ignored.
const IN_PORTS: [u16; 2] = [1, 2];
const ADDRESSES: [u64; 3] = [0x0200_0000_0001, 0x0200_0000_0002, 0x0300_0000_0001];
const VIDS: [u16; 4] = [0, 1, 0x7ff, 0xfff];
pub(super) const NO_VLAN: u16 = 0xffff;
const PCPS: [u8; 3] = [0, 1, 7];
/// Ethernet types. That of a second tag is the type of the frame.
const TYPES: [u16; 8] = [
    0x0800, 0x0800, 0x86dd, 0x86dd, 0x0806, 0x88b5, 0x8100, 0x88a8,
];
const TOSES: [u8; 4] = [0, 4, 0xf8, 0xfc];
const PROTOCOLS: [u8; 8] = [6, 17, 132, 1, 58, 0xfd, 2, 0xfe];
const NETWORKS: [u32; 4] = [0x0a00_0001, 0x0a00_0000, 0x0a80_0001, 0x8a00_0001];
/// ICMP has types and codes of 8 bits: a match with a larger one matches no packet.
const PORTS: [u16; 6] = [0, 1, 0xff, 0x100, 0x7fff, 0xffff];
/// The number of low bits of an address that do not count: 32 and more mean all.
const PREFIXES: [u32; 6] = [0, 1, 8, 31, 32, 63];

/// The wildcard bits. Spec: OpenFlow 1.0.2 section 5.2.3.
mod wild {
    pub const IN_PORT: u32 = 1 << 0;
    pub const DL_VLAN: u32 = 1 << 1;
    pub const DL_SRC: u32 = 1 << 2;
    pub const DL_DST: u32 = 1 << 3;
    pub const DL_TYPE: u32 = 1 << 4;
    pub const NW_PROTO: u32 = 1 << 5;
    pub const TP_SRC: u32 = 1 << 6;
    pub const TP_DST: u32 = 1 << 7;
    pub const NW_SRC_SHIFT: u32 = 8;
    pub const NW_DST_SHIFT: u32 = 14;
    pub const DL_VLAN_PCP: u32 = 1 << 20;
    pub const NW_TOS: u32 = 1 << 21;
}

/// The fields of section 3.4, of a packet or of a match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub(super) in_port: u16,
    pub(super) dl_src: u64,
    pub(super) dl_dst: u64,
    pub(super) dl_vlan: u16,
    pub(super) dl_vlan_pcp: u8,
    pub(super) dl_type: u16,
    pub(super) nw_tos: u8,
    pub(super) nw_proto: u8,
    pub(super) nw_src: u32,
    pub(super) nw_dst: u32,
    pub(super) tp_src: u16,
    pub(super) tp_dst: u16,
}

pub(super) fn one_of<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize]
}

impl Fields {
    pub(super) fn random(random: &mut Random) -> Self {
        let vlan = one_of(random, &VIDS);
        Self {
            in_port: one_of(random, &IN_PORTS),
            dl_src: one_of(random, &ADDRESSES),
            dl_dst: one_of(random, &ADDRESSES),
            dl_vlan: one_of(random, &[vlan, NO_VLAN]),
            dl_vlan_pcp: one_of(random, &PCPS),
            dl_type: one_of(random, &TYPES),
            nw_tos: one_of(random, &TOSES),
            nw_proto: one_of(random, &PROTOCOLS),
            nw_src: one_of(random, &NETWORKS),
            nw_dst: one_of(random, &NETWORKS),
            tp_src: one_of(random, &PORTS),
            tp_dst: one_of(random, &PORTS),
        }
    }

    /// The same fields, except for one that is taken from `other`.
    pub(super) fn with_one_of(mut self, other: &Self, field: u64) -> Self {
        match field {
            0 => self.in_port = other.in_port,
            1 => self.dl_src = other.dl_src,
            2 => self.dl_dst = other.dl_dst,
            3 => self.dl_vlan = other.dl_vlan,
            4 => self.dl_vlan_pcp = other.dl_vlan_pcp,
            5 => self.dl_type = other.dl_type,
            6 => self.nw_tos = other.nw_tos,
            7 => self.nw_proto = other.nw_proto,
            8 => self.nw_src = other.nw_src,
            9 => self.nw_dst = other.nw_dst,
            10 => self.tp_src = other.tp_src,
            _ => self.tp_dst = other.tp_dst,
        }
        self
    }

    /// The 40 bytes of a match.
    fn match_bytes(&self, wildcards: u32) -> Vec<u8> {
        let mut bytes = wildcards.to_be_bytes().to_vec();
        bytes.extend(self.in_port.to_be_bytes());
        bytes.extend(&self.dl_src.to_be_bytes()[2..]);
        bytes.extend(&self.dl_dst.to_be_bytes()[2..]);
        bytes.extend(self.dl_vlan.to_be_bytes());
        bytes.extend([self.dl_vlan_pcp, 0]);
        bytes.extend(self.dl_type.to_be_bytes());
        bytes.extend([self.nw_tos, self.nw_proto, 0, 0]);
        bytes.extend(self.nw_src.to_be_bytes());
        bytes.extend(self.nw_dst.to_be_bytes());
        bytes.extend(self.tp_src.to_be_bytes());
        bytes.extend(self.tp_dst.to_be_bytes());
        bytes
    }

    /// A frame with the fields that its type and protocol have, and these ECN bits.
    pub(super) fn frame(&self, ecn: u8) -> Vec<u8> {
        let mut bytes = self.dl_dst.to_be_bytes()[2..].to_vec();
        bytes.extend(&self.dl_src.to_be_bytes()[2..]);
        if self.dl_vlan != NO_VLAN {
            let tag = self.dl_vlan | u16::from(self.dl_vlan_pcp) << 13;
            bytes.extend(0x8100u16.to_be_bytes());
            bytes.extend(tag.to_be_bytes());
        }
        bytes.extend(self.dl_type.to_be_bytes());
        let mut dl_type = self.dl_type;
        if self.is_tagged_twice() {
            // After the second tag, of the same VLAN, comes an IPv4 packet that could match.
            dl_type = 0x0800;
            bytes.extend(self.dl_vlan.to_be_bytes());
            bytes.extend(dl_type.to_be_bytes());
        }
        let (payload, tos) = (self.transport(), self.nw_tos | ecn);
        let (src, dst) = (self.nw_src.to_be_bytes(), self.nw_dst.to_be_bytes());
        match dl_type {
            0x0800 => {
                let length = (20 + payload.len() as u16).to_be_bytes();
                bytes.extend([0x45, tos, length[0], length[1], 0, 0, 0, 0]);
                bytes.extend([64, self.nw_proto, 0, 0]);
                bytes.extend([src, dst].concat());
                let start = bytes.len() - 20;
                let checksum = !fold(sum(&bytes[start..]));
                bytes[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
                bytes.extend(payload);
            }
            0x86dd => {
                let length = (payload.len() as u16).to_be_bytes();
                bytes.extend([0x60 | tos >> 4, tos << 4, 0, 0]);
                bytes.extend([length[0], length[1], self.nw_proto, 64]);
                // Bytes where 1.0 might look for IPv4 addresses.
                bytes.extend([src, dst].concat().repeat(4));
                bytes.extend(payload);
            }
            0x0806 => {
                bytes.extend([0, 1, 8, 0, 6, 4, 0, self.nw_proto]);
                bytes.extend([[2, 0, 0, 0, 0, 1].as_slice(), &src, &[0; 6], &dst].concat());
            }
            _ => bytes.extend([0; 46]),
        }
        bytes
    }

    /// The payload of IP: 32 bytes, which begin with a header if the protocol is known.
    fn transport(&self) -> Vec<u8> {
        let mut bytes = vec![0; 32];
        if self.nw_proto == 1 || self.nw_proto == 58 {
            bytes[..2].copy_from_slice(&[self.tp_src as u8, self.tp_dst as u8]);
        } else {
            bytes[..2].copy_from_slice(&self.tp_src.to_be_bytes());
            bytes[2..4].copy_from_slice(&self.tp_dst.to_be_bytes());
        }
        match self.nw_proto {
            6 => bytes[12] = 5 << 4,
            17 => bytes[5] = 32,
            _ => {}
        }
        bytes
    }

    pub(super) fn is_tagged_twice(&self) -> bool {
        matches!(self.dl_type, 0x8100 | 0x88a8)
    }

    /// The fields that a packet can have: ICMP's type and code have 8 bits, and there is a second
    /// tag only after a first.
    pub(super) fn as_packet(mut self) -> Self {
        if self.is_tagged_twice() && self.dl_vlan == NO_VLAN {
            self.dl_vlan = VIDS[1];
        }
        if self.has_icmp() {
            (self.tp_src, self.tp_dst) = (self.tp_src & 0xff, self.tp_dst & 0xff);
        }
        self
    }

    fn has_icmp(&self) -> bool {
        matches!((self.dl_type, self.nw_proto), (0x0800, 1) | (0x86dd, 58))
    }

    fn has_transport(&self) -> bool {
        matches!(self.nw_proto, 6 | 17 | 132) || self.has_icmp()
    }

    /// Returns true if a match with these fields and wildcards matches a packet, by section 3.4.
    /// For IPv6, which the text does not know, as Open vSwitch normalises it: all fields but the
    /// addresses.
    fn is_for(&self, wildcards: u32, packet: &Self) -> bool {
        let wants = |bit: u32| wildcards & bit == 0;
        let no_vlan = wants(wild::DL_VLAN) && self.dl_vlan == NO_VLAN;
        let tagged = packet.dl_vlan != NO_VLAN;
        let ethernet = (!wants(wild::IN_PORT) || self.in_port == packet.in_port)
            && (!wants(wild::DL_SRC) || self.dl_src == packet.dl_src)
            && (!wants(wild::DL_DST) || self.dl_dst == packet.dl_dst)
            && (!wants(wild::DL_VLAN) || self.dl_vlan == packet.dl_vlan)
            && (!wants(wild::DL_VLAN_PCP)
                || no_vlan
                || tagged && self.dl_vlan_pcp == packet.dl_vlan_pcp)
            && (!wants(wild::DL_TYPE) || self.dl_type == packet.dl_type);
        // Fields that the Ethernet type does not have are ignored.
        let known = wants(wild::DL_TYPE);
        let ip = known && matches!(self.dl_type, 0x0800 | 0x86dd);
        let addresses = known && matches!(self.dl_type, 0x0800 | 0x0806);
        let proto = ip || addresses;
        let network = (!ip || !wants(wild::NW_TOS) || self.nw_tos == packet.nw_tos)
            && (!proto || !wants(wild::NW_PROTO) || self.nw_proto == packet.nw_proto)
            && (!addresses || agree(wildcards >> wild::NW_SRC_SHIFT, self.nw_src, packet.nw_src))
            && (!addresses || agree(wildcards >> wild::NW_DST_SHIFT, self.nw_dst, packet.nw_dst));
        let transport = ip && wants(wild::NW_PROTO) && self.has_transport();
        ethernet
            && network
            && (!transport || !wants(wild::TP_SRC) || self.tp_src == packet.tp_src)
            && (!transport || !wants(wild::TP_DST) || self.tp_dst == packet.tp_dst)
    }
}

/// Returns true if addresses agree, without as many of their low bits as the low six bits of
/// `wildcards` say.
fn agree(wildcards: u32, one: u32, other: u32) -> bool {
    let ignored = wildcards & 0x3f;
    ignored >= 32 || one >> ignored == other >> ignored
}

fn wildcards(random: &mut Random) -> u32 {
    // Most entries name a type and a protocol, without which little else counts.
    let dense = (random.below(1 << 22) & random.below(1 << 22)) as u32;
    let sparse = dense & !(wild::DL_TYPE | wild::NW_PROTO);
    let chosen = one_of(random, &[dense, sparse, sparse, 0]);
    let prefixes = one_of(random, &PREFIXES) << wild::NW_SRC_SHIFT
        | one_of(random, &PREFIXES) << wild::NW_DST_SHIFT;
    let of_prefixes = 0xfff << wild::NW_SRC_SHIFT;
    if chosen == 0 {
        0
    } else {
        chosen & 0x3f_ffff & !of_prefixes | prefixes
    }
}

/// Returns what follows the match in a flow-mod that adds: an entry of this priority that outputs
/// to port 2 and sends FLOW_REMOVED.
fn added(priority: u16) -> String {
    format!("0000000000000000 0000 0000 0000 {priority:04x} ffffffff ffff 0001 0000000800020000")
}

/// Packets that the only entry has counted.
fn counted(stage: &mut Stage) -> usize {
    stage.io.effects.clear();
    stage.play("aggregate");
    let line = stage.io.effects.pop().unwrap();
    let packets = line.split_once("packets=").unwrap().1;
    packets.split_once(' ').unwrap().0.parse().unwrap()
}

fn entries_count_what_the_text_says(engine: Engine) {
    let mut stage = engines::stage(engine, 1 << 10, 64);
    stage.play("connect 2 controller 1.0");
    stage.play("as 2");
    let (mut random, mut hits, mut misses) = (Random(10), 0, 0);
    for _ in 0..MATCHES {
        let wanted = Fields::random(&mut random);
        let wildcards = wildcards(&mut random);
        let fields = hex(&wanted.match_bytes(wildcards));
        stage.play(&format!("bytes 14 {fields} {}", added(5)));
        let mut before = 0;
        for number in 0..PACKETS {
            let other = Fields::random(&mut random);
            let mut packet = if number == 0 { other } else { wanted };
            for _ in 0..random.below(3) {
                packet = packet.with_one_of(&other, random.below(12));
            }
            let packet = packet.as_packet();
            let frame = hex(&packet.frame(random.below(4) as u8));
            // Twice, since the second may take a remembered path.
            for _ in 0..2 {
                stage.play(&format!("send {} hex {frame}", packet.in_port));
            }
            let after = counted(&mut stage);
            let is_hit = wanted.is_for(wildcards, &packet);
            let expected = if is_hit { 2 } else { 0 };
            (hits, misses) = (hits + expected, misses + 2 - expected);
            assert_eq!(
                after - before,
                expected,
                "{wildcards:#x} {wanted:x?}\n{packet:x?}"
            );
            before = after;
        }
        stage.play("flow delete");
    }
    assert!(
        hits >= HITS && misses >= MISSES,
        "{hits} hits, {misses} misses"
    );
}

#[test]
fn entries_of_1_0_count_what_the_text_says_by_the_plain_scan() {
    entries_count_what_the_text_says(Engine::Reference);
}

#[test]
fn entries_of_1_0_count_what_the_text_says_by_hash_tables() {
    entries_count_what_the_text_says(Engine::Tables);
}

#[test]
fn entries_of_1_0_count_what_the_text_says_by_the_cache() {
    entries_count_what_the_text_says(Engine::Cache);
}

/// The offset of the match in FLOW_REMOVED, and in a FLOW reply of one entry.
const MATCH_IN_REMOVED: usize = 8;
const MATCH_IN_FLOWS: usize = 16;

#[test]
fn a_match_of_1_0_is_reported_in_the_bytes_in_which_it_was_sent() {
    let mut stage = engines::stage(Engine::Cache, 1 << 10, 64);
    stage.play("connect 2 controller 1.0");
    let mut random = Random(11);
    for number in 0..2000 {
        let wanted = Fields::random(&mut random);
        let mut bytes = wanted.match_bytes(wildcards(&mut random));
        if random.below(2) == 0 {
            // Undefined wildcard bits, and padding.
            for at in [0, 21, 26, 27] {
                bytes[at] |= random.below(256) as u8;
            }
        }
        let priority = if random.below(2) == 0 { 5 } else { 0xffff };
        stage.play("as 2");
        stage.play(&format!("bytes 14 {} {}", hex(&bytes), added(priority)));
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
    // If a connection of another version adds the same entry, the kept bytes are gone.
    let ignored = Fields::random(&mut random).match_bytes(0x303f7f);
    stage.play(&format!("bytes 14 {} {}", hex(&ignored), added(5)));
    stage.play("as 1");
    stage.play("flow add priority=5,actions=output:2");
    stage.play("as 2");
    stage.play("flows");
    assert_eq!(stage.io.bytes[MATCH_IN_FLOWS..][..4], [0, 0x3f, 0xff, 0xff]);
}

#[test]
fn a_match_of_1_0_is_kept_only_where_other_bytes_would_be_reported() {
    let codec = Codec::new(Version::V1_0, Arc::new(bofuss_ext::catalogue()));
    let keeps = |fields: &Fields, wildcards: u32| {
        let body = [hex(&fields.match_bytes(wildcards)), added(5)].concat();
        let body = frame(&["hex", &body.replace(' ', "")]);
        let header = [1, 14, 0, 8 + body.len() as u8, 0, 0, 0, 7];
        let read = codec.decode(&[&header, body.as_slice()].concat());
        let Ok((_, Message::FlowMod(flow_mod))) = read else {
            panic!("{read:?}");
        };
        flow_mod.fields.sent().is_some()
    };
    let untagged = Fields {
        in_port: 1,
        dl_src: 1,
        dl_dst: 2,
        dl_vlan: NO_VLAN,
        dl_vlan_pcp: 0,
        dl_type: 0x0800,
        nw_tos: 0,
        nw_proto: 1,
        nw_src: 3,
        nw_dst: 4,
        tp_src: 8,
        tp_dst: 0,
    };
    assert!(!keeps(&untagged, 0), "what learning switches send");
    assert!(keeps(
        &Fields {
            tp_src: 0x108,
            ..untagged
        },
        0
    ));
    assert!(keeps(
        &Fields {
            dl_vlan_pcp: 1,
            ..untagged
        },
        0
    ));
    assert!(keeps(
        &Fields {
            nw_tos: 1,
            ..untagged
        },
        0
    ));
    assert!(
        keeps(&untagged, 1 << wild::NW_SRC_SHIFT),
        "a bit beyond the prefix"
    );
    let tagged = Fields {
        dl_vlan: 7,
        ..untagged
    };
    assert!(!keeps(&tagged, 0));
    assert!(keeps(&tagged, wild::IN_PORT), "a value that is ignored");
    assert!(!keeps(
        &Fields {
            in_port: 0,
            ..tagged
        },
        wild::IN_PORT
    ));
}

#[test]
fn a_trace_shows_that_an_entry_of_1_0_sees_the_second_tag() {
    let mut stage = engines::stage(Engine::Cache, 1 << 10, 64);
    stage.play("connect 2 controller 1.0");
    stage.play("as 2");
    stage.play("flow add priority=5,tcp,actions=output:2");
    let frame = frame(&["vlan", "7", "vlan", "8", "tcp", "1", "2", "80"]);
    let (outs, text) = stage.told(PortNo(1), &frame).unwrap();
    assert!(outs.is_empty());
    assert!(text.contains("0x8100"), "{text}");
}
