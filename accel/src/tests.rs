//! The program in the kernel against the parser of the switch, by the kernel's test runs.
#![allow(clippy::unwrap_used)]

mod changes;
mod coming_up;
mod meters;
mod passage;
mod places;
mod sums;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use aya::programs::{TestRun, TestRunOptions};
use bofuss_fastpath::{Departure, Way};
use bofuss_frame::Pool;
use bofuss_oflib::field::{
    ACTSET_OUTPUT, ETH_DST, ETH_SRC, ETH_TYPE, ICMPV4_CODE, ICMPV4_TYPE, ICMPV6_CODE, ICMPV6_TYPE,
    IP_DSCP, IP_ECN, IP_PROTO, IPV4_DST, IPV4_SRC, IPV6_DST, IPV6_FLABEL, IPV6_SRC, TCP_DST,
    TCP_FLAGS, TCP_SRC, UDP_DST, UDP_SRC, VLAN_PCP, VLAN_VID,
};
use bofuss_oflib::{Action, Field, FieldSet, Mac, Match, PortNo};
use bofuss_packet::craft::{Layer, arp, ethernet, icmp, ipv4, ipv6, tcp, udp};
use bofuss_packet::{Key, KeyMask, KeyMatch, Layout, Packet, parse};

use crate::error::Refusal;
use crate::key::{self, KEY_BYTES};
use crate::layout::Size;
use crate::listing::match_of;
use crate::program::Program;
use crate::table::{FlowTable, Known};
use crate::way::changes;

/// The interface of test runs: loopback.
const INTERFACE: u32 = 1;
/// The interface that frames of known flows leave by.
const OUT: u32 = 77;
/// Where `struct __sk_buff` has the mark, which is the tag in test runs, the size of segments, and
/// its own size.
const MARK_AT: usize = 8;
const GSO_SIZE_AT: usize = 176;
const CONTEXT_BYTES: usize = 192;
/// The bit of the mark that says that there is a tag.
const WITH_TAG: u32 = 0x1_0000;
/// Where a frame has its type, or its tag.
const TYPE_AT: usize = 12;
/// Flows that a table has room for, and legs.
const FLOWS: u32 = 1 << 17;
const LEGS: usize = FLOWS as usize / 4;
/// A time before all that the kernel's clock says.
const EARLY_NS: u64 = 2_000_000_000;

/// An empty table, if the kernel has what it needs and lets us use it.
///
/// Panics: in CI, if it does not.
fn table() -> Option<FlowTable> {
    match Program::load(Size::of(FLOWS)) {
        Ok(program) => Some(FlowTable::new(program, 7, 0)),
        Err(why) => {
            assert!(std::env::var_os("CI").is_none(), "no accelerator: {why}");
            println!("not run: no accelerator: {why}");
            None
        }
    }
}

/// Adds the flow of a frame, whose frames that went up have left. Returns whether it has a key.
fn add(table: &mut FlowTable, flow: u32, frame: &[u8], longest: u32) -> bool {
    add_with(table, flow, frame, longest, &[Action::output(PortNo(1))])
}

/// The same of a flow with these actions.
fn add_with(
    table: &mut FlowTable,
    flow: u32,
    frame: &[u8],
    longest: u32,
    actions: &[Action],
) -> bool {
    add_way(table, flow, (frame, longest), way_of(actions))
}

/// The way of frames that these actions are executed for.
fn way_of(actions: &[Action]) -> Way {
    let mut done = Vec::new();
    let mut way = Way::default();
    for action in actions {
        match action {
            Action::Output(output) => way.departures.push(Departure {
                changes: done.clone(),
                port: output.port,
                more_bytes: 0,
            }),
            action => done.push(action.clone()),
        }
    }
    way
}

/// Adds a flow with this way; returns false if it cannot be.
fn add_way(table: &mut FlowTable, flow: u32, (frame, longest): (&[u8], u32), way: Way) -> bool {
    let Some(key) = key::of_frame(frame, INTERFACE) else {
        return false;
    };
    let Ok(changes) = changes(&way, &key, table.mask()) else {
        return false;
    };
    let known = Known {
        flow,
        from: 0,
        way: Rc::new(way),
        route: changes.into_iter().map(|change| (change, OUT)).collect(),
        longest,
        taken: Cell::default(),
    };
    table.add(&key, known, EARLY_NS);
    table.drained(0, EARLY_NS + 1);
    true
}

/// Has the kernel decide about a frame. Returns the interface that it leaves by, if it is known.
fn decide(table: &mut FlowTable, frame: &[u8], gso_size: u32) -> Option<u32> {
    run(table, frame, gso_size).map(|(out, _)| out)
}

/// The same, with the frame as its last departure has it.
fn run(table: &mut FlowTable, frame: &[u8], gso_size: u32) -> Option<(u32, Vec<u8>)> {
    let (frame, tag) = without_tag(frame);
    let mut context = [0; CONTEXT_BYTES];
    context[MARK_AT..MARK_AT + 4].copy_from_slice(&tag.to_ne_bytes());
    context[GSO_SIZE_AT..GSO_SIZE_AT + 4].copy_from_slice(&gso_size.to_ne_bytes());
    let mut after = [0; CONTEXT_BYTES];
    let mut out = vec![0; frame.len() + 64];
    let options = TestRunOptions {
        data_in: Some(&frame),
        data_out: Some(&mut out),
        ctx_in: Some(&context),
        ctx_out: Some(&mut after),
        ..TestRunOptions::new()
    };
    let run = table.program.test().unwrap().test_run(options).unwrap();
    out.truncate(run.data_size_out as usize);
    let tag = u32::from_ne_bytes(after[MARK_AT..MARK_AT + 4].try_into().unwrap());
    if tag & WITH_TAG != 0 {
        let [_, _, high, low] = tag.to_be_bytes();
        out.splice(TYPE_AT..TYPE_AT, [0x81, 0, high, low]);
    }
    (run.return_value != 0).then_some((run.return_value, out))
}

/// A frame as the kernel has it, which keeps its tag apart, and the mark for that.
fn without_tag(frame: &[u8]) -> (Vec<u8>, u32) {
    let mut bytes = frame.to_vec();
    if frame[TYPE_AT..TYPE_AT + 2] != [0x81, 0] {
        return (bytes, 0);
    }
    let tag: Vec<u8> = bytes.drain(TYPE_AT..TYPE_AT + 4).collect();
    let tci = u16::from_be_bytes([tag[2], tag[3]]);
    (bytes, WITH_TAG | u32::from(tci))
}

/// A generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % n
    }

    /// A frame of few values, so that many are of the same flow, and with a byte that may be wrong.
    fn frame(&mut self) -> Vec<u8> {
        let mut mac = || Mac([2, 0, 0, 0, 0, self.below(2) as u8]);
        let (dst, src) = (mac(), mac());
        let mut port = || 1000 + self.below(2) as u16;
        let (from, to) = (port(), port());
        let data = vec![[7, 0xff][self.below(2)]; [0, 30, 60][self.below(3)]];
        let transport = match self.below(8) {
            0..3 => tcp(from, to, self.below(64) as u8, &data),
            3..6 => udp(from, to, &data),
            6 => icmp(
                [1, 58][self.below(2)],
                [8, 128, 135][self.below(3)],
                0,
                &data,
            ),
            // Tunnels and ESP, whose headers are not read.
            _ => Layer::new([4, 41, 47, 50, 115][self.below(5)], &data),
        };
        let mut ip = || [10, 0, 0, self.below(2) as u8].into();
        let (a, b) = (ip(), ip());
        let ttl = [1, 2, 64][self.below(3)];
        let host = self.below(2) as u16;
        let packet = match self.below(8) {
            0 => arp(1, src, a, dst, b),
            1..4 => ipv6(
                [0xfe80, 0, 0, 0, 0, 0, 0, 1].into(),
                [0xfe80, 0, 0, 0, 0, 0, 0, host].into(),
                ttl,
                transport,
            ),
            _ => ipv4(a, b, ttl, transport),
        };
        let mut frame = ethernet(dst, src, packet);
        frame.resize(frame.len().max(68), 0);
        if self.below(2) == 0 {
            // Mostly in the bytes that tell what headers there are.
            let at = [12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 46, 66][self.below(13)];
            frame[at] = [0, 1, 4, 5, 8, 20, 40, 0x45, 0x46, 0x50, 0x81, 0xff][self.below(12)];
        }
        if self.below(4) == 0 {
            // A VID, a PCP, a DEI, or none of these.
            let tci: u16 = [0x0007, 0xa007, 0x1007, 0x0008, 0][self.below(5)];
            let [high, low] = tci.to_be_bytes();
            frame.splice(TYPE_AT..TYPE_AT, [0x81, 0, high, low]);
        }
        frame
    }
}

/// What the switch's parser finds of these fields.
fn words(mask: &KeyMask, frame: &[u8]) -> Vec<u64> {
    let mut key = Key::EMPTY;
    parse(frame, &mut key, &mut Layout::EMPTY.clone());
    mask.of_key(&key, &mut ()).unwrap().collect()
}

const FIELDS: [&Field; 22] = [
    VLAN_PCP,
    IPV6_SRC,
    IPV6_DST,
    IPV6_FLABEL,
    ETH_DST,
    ETH_SRC,
    ETH_TYPE,
    VLAN_VID,
    IP_DSCP,
    IP_ECN,
    IP_PROTO,
    IPV4_SRC,
    IPV4_DST,
    TCP_SRC,
    TCP_DST,
    TCP_FLAGS,
    UDP_SRC,
    UDP_DST,
    ICMPV4_TYPE,
    ICMPV4_CODE,
    ICMPV6_TYPE,
    ICMPV6_CODE,
];

// I14
#[test]
fn a_frame_that_stays_below_has_the_key_of_its_flow() {
    let Some(mut table) = table() else { return };
    let mut numbers = Numbers(3);
    let mut n_known = 0;
    for _ in 0..1_500 {
        let mut chosen: Vec<&'static Field> = FIELDS.to_vec();
        chosen.retain(|_| numbers.below(5) == 0);
        let mut fields = FieldSet::EMPTY;
        for field in &chosen {
            fields.insert(FieldSet::of(field));
        }
        let mask = KeyMask::whole(chosen.into_iter());
        table.forget_all();
        table.set_mask(key::mask_of(fields).unwrap());
        let first = numbers.frame();
        if !add(&mut table, 5, &first, 1514) {
            continue;
        }
        let (known, key, _) = table.first(1).next().unwrap();
        assert_eq!(known.flow, 5);
        let shown = match_of(PortNo(3), &key, table.mask());
        let packet = Packet::new(Pool::new(1 << 20).frame(&first).unwrap(), PortNo(3));
        let is_of_it = packet.key().matches(&KeyMatch::from(&shown), &mut ());
        assert!(is_of_it && shown != Match::ANY, "{shown} {first:x?}");
        // Until one brings the flow up.
        for _ in 0..200 {
            let other = numbers.frame();
            if decide(&mut table, &other, 0).is_some() {
                n_known += 1;
                assert_eq!(
                    words(&mask, &other),
                    words(&mask, &first),
                    "{first:x?} {other:x?}"
                );
            }
        }
    }
    assert!(n_known > 500, "{n_known} frames were known");
}

#[test]
fn a_field_that_no_key_has_is_named() {
    let both = FieldSet::of(IPV6_DST).union(FieldSet::of(ACTSET_OUTPUT));
    assert!(key::mask_of(FieldSet::of(IPV6_DST)).is_ok());
    assert_eq!(key::mask_of(both), Err(Refusal::Field("actset_output")));
}

/// A segment of TCP from a port.
fn of_port(port: u16) -> Vec<u8> {
    let payload = tcp(port, 2, 0, &[0; 50]);
    ethernet(
        Mac([2; 6]),
        Mac([4; 6]),
        ipv4([10; 4].into(), [11; 4].into(), 64, payload),
    )
}

fn segment(data: usize) -> Vec<u8> {
    let payload = tcp(1, 2, 0x10, &vec![1; data]);
    let packet = ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, payload);
    ethernet(Mac([2; 6]), Mac([4; 6]), packet)
}

#[test]
fn a_super_frame_counts_as_its_segments_and_may_be_as_long_as_they_may() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::EMPTY).unwrap());
    assert!(add(&mut table, 5, &segment(100), 1514));
    assert_eq!(decide(&mut table, &segment(2500), 1000), Some(OUT));
    let [counted] = &table.take_counts()[..] else {
        panic!("one flow counts")
    };
    assert_eq!((counted.packets, counted.bytes), (3, 2500 + 3 * 54));
    assert_eq!(counted.known.flow, 5);
    assert_eq!(
        decide(&mut table, &segment(2500), 1461),
        None,
        "segments are too long"
    );
    assert!(table.take_counts().is_empty());
    let of_ipv6 = |data: usize| {
        let payload = tcp(1, 2, 0x10, &vec![1; data]);
        let packet = ipv6([1; 8].into(), [2; 8].into(), 64, payload);
        ethernet(Mac([2; 6]), Mac([4; 6]), packet)
    };
    assert!(add(&mut table, 6, &of_ipv6(100), 1514));
    assert_eq!(decide(&mut table, &of_ipv6(2500), 1000), Some(OUT));
    let [counted] = &table.take_counts()[..] else {
        panic!("one flow counts")
    };
    assert_eq!((counted.packets, counted.bytes), (3, 2500 + 3 * 74));
}

#[test]
fn a_flow_goes_below_only_when_what_went_up_has_left() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::EMPTY).unwrap());
    assert!(add(&mut table, 5, &segment(100), 1514));
    table.drained(0, EARLY_NS);
    assert_eq!(decide(&mut table, &segment(100), 0), None);
    table.drained(0, EARLY_NS + 1);
    assert_eq!(
        decide(&mut table, &segment(100), 0),
        None,
        "another has gone up since"
    );
    table.drained(0, u64::MAX);
    assert_eq!(decide(&mut table, &segment(100), 0), Some(OUT));
    table.drained(0, 0);
    assert_eq!(
        decide(&mut table, &segment(100), 0),
        Some(OUT),
        "it stays below"
    );
}

#[test]
fn forgotten_flows_go_up_and_what_they_counted_remains() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::of(TCP_SRC)).unwrap());
    for port in 0..3 {
        assert!(add(&mut table, port.into(), &of_port(port), 1514));
        assert_eq!(decide(&mut table, &of_port(port), 0), Some(OUT));
    }
    table.forget(&[1, 9]);
    assert_eq!(table.flows(), [0, 2]);
    assert_eq!(decide(&mut table, &of_port(1), 0), None);
    let last: Vec<u32> = table.take_last().iter().map(|one| one.known.flow).collect();
    assert_eq!(last, [1]);
    table.forget_all();
    assert!((0..3).all(|port| decide(&mut table, &of_port(port), 0).is_none()));
    assert_eq!(table.take_last().len(), 2);
    assert!(add(&mut table, 4, &of_port(1), 1514));
    assert_eq!(decide(&mut table, &of_port(1), 0), Some(OUT));
}

#[test]
fn counts_of_many_flows_are_those_of_the_ones_that_had_frames() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::of(TCP_SRC)).unwrap());
    for port in 0..30_000 {
        assert!(add(&mut table, port.into(), &of_port(port), 1514));
    }
    let chosen = [0, 1, 63, 64, 4095, 29_999, 7, 7];
    for _ in 0..2 {
        for port in chosen {
            assert_eq!(decide(&mut table, &of_port(port), 0), Some(OUT));
        }
        let counts = table.take_counts();
        let mut counts: Vec<_> = counts
            .iter()
            .map(|one| (one.known.flow, one.packets))
            .collect();
        counts.sort_unstable();
        let wanted = [
            (0, 1),
            (1, 1),
            (7, 2),
            (63, 1),
            (64, 1),
            (4095, 1),
            (29_999, 1),
        ];
        assert_eq!(counts, wanted);
        assert!(table.take_counts().is_empty());
    }
}

#[test]
fn a_full_place_declines_flows_and_gives_idle_ones_up() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::of(IPV4_SRC)).unwrap());
    const OFFERED: u32 = 150_000;
    /// The first ones find a place, each.
    const FITTING: usize = 96_000;
    let offered = |flow: u32| {
        let mut frame = segment(10);
        frame[26..30].copy_from_slice(&flow.wrapping_mul(0x9e37_79b1).to_be_bytes());
        let key = key::of_frame(&frame, INTERFACE).unwrap();
        let known = Known {
            flow,
            from: 0,
            way: Rc::default(),
            route: [].into(),
            longest: 1514,
            taken: Cell::default(),
        };
        (key, known)
    };
    let add_all = |table: &mut FlowTable, now_ns: u64| {
        for (key, known) in (1..OFFERED).map(offered) {
            table.add(&key, known, now_ns);
        }
    };
    add_all(&mut table, EARLY_NS);
    let full = table.flows();
    assert!(full.iter().copied().take(FITTING).eq(1..=FITTING as u32));
    assert!(
        (129_000..=FLOWS as usize).contains(&full.len()),
        "{}",
        full.len()
    );
    add_all(&mut table, EARLY_NS + 1);
    assert_eq!(table.flows(), full, "none is idle");
    let left_out = (1..OFFERED).find(|flow| full.binary_search(flow).is_err());
    let (key, known) = offered(left_out.unwrap());
    let why = |now_ns| table.refusal(&key, &known, now_ns);
    assert_eq!(why(EARLY_NS + 1), Some(Refusal::Slots));
    assert_eq!(why(10 * EARLY_NS), None);
    add_all(&mut table, 10 * EARLY_NS);
    assert_ne!(table.flows(), full);
    let epoch = table.program.settings[0].epoch.load(Relaxed);
    let live = table
        .program
        .slots
        .iter()
        .filter(|slot| slot.epoch.load(Relaxed) == epoch);
    assert_eq!(live.count(), table.len());
}
