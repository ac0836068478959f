//! An interface as a group of ports: which member gets a frame.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use bofuss_frame::Pool;
use bofuss_ports::{
    AfPacket, AfPacketOptions, BATCH_FRAMES, Fanout, FanoutHeader, FanoutRule, FanoutWord,
    MAX_VLAN_TAGS, OpenError, PortDriver, set_link,
};

use crate::common::{in_namespace, open, push, settle, until, veth};

const MEMBERS: usize = 3;
const SECRET: u64 = 0x5ec2_e700_0bad_cafe;
/// The bytes at the end of each frame: the numbers of its flow, and of the frame in it.
const MARK: usize = 4;

/// A group at one end of a cable, and a port at the other.
struct Rig {
    pool: Pool,
    members: Vec<AfPacket>,
    fanout: Fanout,
    far: AfPacket,
}

impl Rig {
    fn new() -> Self {
        veth("g1", "g2");
        let mut opened = Err(OpenError::InUse(String::new()));
        // The claim of the port that has settled the cable may be another program's for a moment.
        until("the claim is free", || {
            opened = AfPacket::open_group("g1", AfPacketOptions::default(), MEMBERS, SECRET);
            !matches!(opened, Err(OpenError::InUse(_)))
        });
        let (mut members, fanout) = opened.expect("it is suitable");
        let mut far = open("g2");
        settle(&mut members[0], &mut far);
        let pool = Pool::new(1 << 24);
        let mut this = Self {
            pool,
            members,
            fanout,
            far,
        };
        this.received(0);
        this
    }

    /// Sends frames from the far end.
    fn send(&mut self, flow: u16, number: u16, headers: &[u8], tags: &[(u16, u16)]) {
        let mut bytes = headers.to_vec();
        bytes.resize(headers.len().max(60), 0);
        bytes.extend(flow.to_be_bytes());
        bytes.extend(number.to_be_bytes());
        let mut frame = self.pool.frame(&bytes).expect("there is room");
        push(&mut frame, tags);
        until("there is room", || {
            let mut frames = vec![frame.try_clone().expect("there is room")];
            self.far.send(&mut frames).expect("it is there") == 1
        });
    }

    /// Receives at least `count` frames. Returns the member, flow and number of each.
    fn received(&mut self, count: usize) -> Vec<(usize, u16, u16)> {
        let mut all = Vec::new();
        let mut take = |all: &mut Vec<_>| {
            for (member, port) in self.members.iter_mut().enumerate() {
                let mut frames = Vec::new();
                let taken = port.recv(&self.pool, &mut frames, BATCH_FRAMES);
                taken.expect("it is there");
                all.extend(frames.iter().map(|frame| {
                    let mark = frame.bytes().last_chunk::<MARK>().expect("it is long");
                    let [a, b, c, d] = *mark;
                    (
                        member,
                        u16::from_be_bytes([a, b]),
                        u16::from_be_bytes([c, d]),
                    )
                }));
            }
        };
        until("all frames arrive", || {
            take(&mut all);
            all.len() >= count
        });
        // Whatever else comes would be a copy.
        thread::sleep(Duration::from_millis(20));
        take(&mut all);
        all
    }
}

fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend(kind.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// IPv4 with words of options, and the first bytes of what is in it.
fn ipv4(protocol: u8, source: [u8; 4], options: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45 + options, 0, 0, 60, 0, 0];
    bytes.extend(fragment.to_be_bytes());
    bytes.extend([64, protocol, 0, 0]);
    bytes.extend(source);
    bytes.extend([10, 0, 0, 2]);
    bytes.resize(20 + 4 * usize::from(options), 1);
    bytes.extend(payload);
    ethernet(0x0800, &bytes)
}

fn ipv6(protocol: u8, last: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0, 0, 20, protocol, 64];
    bytes.extend([0xfd; 15]);
    bytes.push(last);
    bytes.extend([0xfe; 16]);
    bytes.extend(payload);
    ethernet(0x86dd, &bytes)
}

fn ports(number: u16) -> [u8; 4] {
    let [high, low] = number.to_be_bytes();
    [high, low, 0, 80]
}

/// Makes the headers of a flow of this number.
type Headers = fn(u16) -> Vec<u8>;

/// Kinds of traffic, each with flows that differ in one thing.
fn kinds() -> [(&'static str, Headers); 7] {
    const HERE: [u8; 4] = [10, 0, 0, 1];
    [
        ("UDP", |flow| ipv4(17, HERE, 0, 0, &ports(flow))),
        ("TCP with options", |flow| ipv4(6, HERE, 3, 0, &ports(flow))),
        ("SCTP", |flow| ipv4(132, HERE, 0, 0, &ports(flow))),
        ("ICMP", |flow| {
            ipv4(1, [10, 0, 1, flow as u8], 0, 0, &[8, 0])
        }),
        ("UDP over IPv6", |flow| ipv6(17, 1, &ports(flow))),
        ("ICMPv6", |flow| ipv6(58, flow as u8, &[128, 0])),
        ("neither", |flow| {
            let mut bytes = ethernet(0x88b5, &[]);
            bytes[11] = flow as u8;
            bytes
        }),
    ]
}

#[test]
fn each_flow_is_at_one_member_in_order_and_all_have_flows() {
    in_namespace(|| {
        const FLOWS: u16 = 90;
        const FRAMES: u16 = 5;
        let mut rig = Rig::new();
        rig.fanout
            .set_rule(&FanoutRule::Flows)
            .expect("it is there");
        let tags: [&[(u16, u16)]; 3] = [&[], &[(0x8100, 7)], &[(0x88a8, 7), (0x8100, 8)]];
        for (name, headers) in kinds() {
            for tags in tags {
                // With two tags, MAC addresses are all that is known of a flow.
                let is_one_flow = tags.len() == 2 && name != "neither";
                for number in 0..FRAMES {
                    for flow in 0..FLOWS {
                        rig.send(flow, number, &headers(flow), tags);
                    }
                }
                let all = rig.received(usize::from(FLOWS * FRAMES));
                assert_eq!(all.len(), usize::from(FLOWS * FRAMES), "{name}: once each");
                let mut next: BTreeMap<u16, (usize, u16)> = BTreeMap::new();
                let mut shares = [0; MEMBERS];
                for (member, flow, number) in all {
                    let expected = next.entry(flow).or_insert((member, 0));
                    assert_eq!((member, number), *expected, "{name} {tags:?}: flow {flow}");
                    expected.1 += 1;
                    shares[member] += 1;
                }
                let used = shares.iter().filter(|share| **share > 0).count();
                let wanted = if is_one_flow { 1 } else { MEMBERS };
                assert_eq!(used, wanted, "{name} {tags:?}: {shares:?}");
            }
        }
    });
}

/// Makes the headers of a flow of this number, and says whether it has IPv4 and IPv6.
type Kind<'a> = (&'a dyn Fn(u16) -> Vec<u8>, [bool; 2]);

/// The member for a sum of words.
fn member_of(sum: u32, last_factor: u32) -> usize {
    let mixed = (sum ^ sum >> 16).wrapping_mul(last_factor) >> 16;
    (mixed as usize * MEMBERS) >> 16
}

#[test]
fn words_choose_the_member_wherever_the_headers_are() {
    in_namespace(|| {
        const FACTORS: [u32; 4] = [0x9e37_79b9, 0x85eb_ca6b, 0xc2b2_ae35, 0x27d4_eb2f];
        let mut rig = Rig::new();
        let word = |header, at, bytes, factor| FanoutWord {
            header,
            at,
            bytes,
            factor: FACTORS[factor],
        };
        let words = vec![
            word(FanoutHeader::Ethernet, 10, 2, 0),
            word(FanoutHeader::Ipv4, 12, 4, 1),
            word(FanoutHeader::Ipv6, 20, 4, 2),
        ];
        let last_factor = FACTORS[3];
        let rule = FanoutRule::Words { words, last_factor };
        rig.fanout.set_rule(&rule).expect("it is there");
        let snap = |mut frame: Vec<u8>| {
            frame.splice(12..12, [0, 60, 0xaa, 0xaa, 3, 0, 0, 0]);
            frame
        };
        let llc = |mut frame: Vec<u8>| {
            frame.splice(12..14, [0, 60, 0, 0, 8, 0]);
            frame
        };
        let of_ipv4 = |flow: u16| ipv4(17, [10, 0, 2, flow as u8], 0, 0, &ports(1));
        let of_ipv6 = |flow: u16| ipv6(17, flow as u8, &ports(1));
        let kinds: [Kind<'_>; 6] = [
            (&of_ipv4, [true, false]),
            (&of_ipv6, [false, true]),
            (&|flow| snap(of_ipv4(flow)), [true, false]),
            (&|flow| snap(of_ipv6(flow)), [false, true]),
            (&|flow| llc(of_ipv4(flow)), [false, false]),
            (&|_| ethernet(0x88b5, &[]), [false, false]),
        ];
        let tag = (0x8100, 7);
        let mut stacks = vec![
            Vec::new(),
            vec![tag],
            vec![(0x9100, 7)],
            vec![tag, (0x88a8, 1)],
        ];
        stacks.push(vec![tag; MAX_VLAN_TAGS + 1]);
        stacks.push(vec![tag; MAX_VLAN_TAGS + 2]);
        for (kind, (headers, [has_ipv4, has_ipv6])) in kinds.into_iter().enumerate() {
            for tags in &stacks {
                let mut used = [0; MEMBERS];
                for flow in 0..30 {
                    let mut bytes = headers(flow);
                    bytes[11] = flow as u8;
                    rig.send(flow, 0, &bytes, tags);
                }
                for (member, flow, _) in rig.received(30) {
                    let source = u32::from_be_bytes([10, 0, 2, flow as u8]);
                    let last = u32::from_be_bytes([0xfd, 0xfd, 0xfd, flow as u8]);
                    let sum = (0x0200 + u32::from(flow)).wrapping_mul(FACTORS[0]);
                    let of_ipv4 = source.wrapping_mul(FACTORS[1] * u32::from(has_ipv4));
                    let of_ipv6 = last.wrapping_mul(FACTORS[2] * u32::from(has_ipv6));
                    let sum = sum.wrapping_add(of_ipv4).wrapping_add(of_ipv6);
                    let is_read = tags.len() <= MAX_VLAN_TAGS + 1;
                    let expected = if is_read {
                        member_of(sum, last_factor)
                    } else {
                        0
                    };
                    assert_eq!(member, expected, "kind {kind} {tags:?}: flow {flow}");
                    used[member] += 1;
                }
                let all_used = used.iter().all(|count| *count > 0);
                assert_eq!(all_used, tags.len() <= MAX_VLAN_TAGS + 1, "{used:?}");
            }
        }
    });
}

#[test]
fn fragments_of_a_packet_are_at_one_member_whatever_they_begin_with() {
    in_namespace(|| {
        let mut rig = Rig::new();
        rig.fanout
            .set_rule(&FanoutRule::Flows)
            .expect("it is there");
        for packet in 0..40 {
            for (number, fragment) in [(0, 0x2000), (1, 0x2010), (2, 0x0020)] {
                let source = [10, 0, 2, packet as u8];
                let headers = ipv4(17, source, 0, fragment, &ports(number * 7_919));
                rig.send(packet, number, &headers, &[]);
            }
        }
        let mut members = BTreeMap::new();
        for (member, packet, _) in rig.received(120) {
            assert_eq!(*members.entry(packet).or_insert(member), member);
        }
    });
}

#[test]
fn the_first_member_gets_all_until_told_otherwise_and_after_the_link_was_down() {
    in_namespace(|| {
        let mut rig = Rig::new();
        let (_, udp) = kinds()[0];
        let used = |rig: &mut Rig| {
            (0..60).for_each(|flow| rig.send(flow, 0, &udp(flow), &[]));
            let all = rig.received(60);
            assert_eq!(all.len(), 60);
            (0..MEMBERS)
                .map(|m| all.iter().any(|(member, ..)| *member == m))
                .collect::<Vec<_>>()
        };
        assert_eq!(used(&mut rig), [true, false, false]);
        for _ in 0..3 {
            rig.fanout
                .set_rule(&FanoutRule::Flows)
                .expect("it is there");
            assert_eq!(used(&mut rig), [true; MEMBERS]);
            rig.fanout
                .set_rule(&FanoutRule::Only(2))
                .expect("it is there");
            assert_eq!(used(&mut rig), [false, false, true]);
            rig.fanout
                .set_rule(&FanoutRule::Only(0))
                .expect("it is there");
            assert_eq!(used(&mut rig), [true, false, false]);
            set_link("g1", false).expect("it is there");
            set_link("g1", true).expect("it is there");
            settle(&mut rig.members[0], &mut rig.far);
            rig.received(0);
        }
    });
}

#[test]
fn what_members_and_the_host_send_does_not_come_back() {
    in_namespace(|| {
        let mut rig = Rig::new();
        rig.fanout
            .set_rule(&FanoutRule::Flows)
            .expect("it is there");
        for member in 0..MEMBERS {
            let bytes = ethernet(0x88b5, &[member as u8; 50]);
            let mut frames = vec![rig.pool.frame(&bytes).expect("there is room")];
            let sent = rig.members[member].send(&mut frames).expect("it is there");
            assert_eq!(sent, 1);
        }
        let mut frames = Vec::new();
        until("the far end has them", || {
            let taken = rig.far.recv(&rig.pool, &mut frames, BATCH_FRAMES);
            taken.expect("it is there");
            frames.len() == MEMBERS
        });
        assert_eq!(rig.received(0), []);
    });
}

#[test]
fn a_group_has_the_interface_until_its_last_member_is_gone() {
    in_namespace(|| {
        let Rig { mut members, .. } = Rig::new();
        let last = members.pop();
        drop(members);
        let again = AfPacket::open("g1", AfPacketOptions::default());
        assert!(matches!(again, Err(OpenError::InUse(_))));
        drop(last);
        drop(open("g1"));
    });
}
