//! The flow table, compared with a plain model, and the tests of OpenQFlow's evaluation (`t16` and
//! others) for it.

use alloc::vec::Vec;

use hashbrown::HashMap;

use super::*;
use crate::openqflow::aggregate::KeyMod;
use crate::openqflow::write::FlowWrite;

const SECOND: u64 = Time::SEC;

fn tuple(number: u32) -> FlowTuple {
    FlowTuple {
        source: 0x0a00_0001,
        destination: (0x0b00_0000 + number / 4).into(),
        in_port: 1,
        eth_type: 0x800,
        ports: [number as u16, 80],
        ip_proto: 17,
        ..FlowTuple::default()
    }
}

fn packet(bytes: u32) -> CountedPacket {
    CountedPacket {
        packets: 1,
        bytes,
        closes: false,
    }
}

fn touch(table: &mut FlowTable, now: u64, tuple: FlowTuple, bytes: u32) -> Touched {
    let sought = table.seek(tuple);
    table.reroute_after_gap(Time(now), &sought, |_, _| false);
    table.touch(Time(now), &sought, packet(bytes))
}

/// Makes a flow whose packets go to a port; its slot.
fn known(table: &mut FlowTable, now: u64, number: u32, port: u32) -> u32 {
    let touched = touch(table, now, tuple(number), 100);
    let rule = ForwardRecord::to(PortNo(port));
    assert!(table.resolve(touched.slot, &rule, &QosRecord::default()));
    touched.slot
}

fn expire_all(table: &mut FlowTable, now: u64) -> Vec<FlowRecord> {
    let mut reports = Vec::new();
    loop {
        let slice = table.expire(Time(now), 64, true);
        reports.extend(slice.reports);
        if slice.is_last {
            break;
        }
    }
    while let Some(record) = table.ended.pop() {
        reports.push(record);
    }
    reports
}

/// Pseudo-random numbers: Knuth's MMIX generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % bound
    }
}

/// A flow in the plain model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Plain {
    packets: u64,
    bytes: u64,
    used: u64,
}

#[test]
fn flows_come_and_go_as_in_a_plain_model() {
    let mut table = FlowTable {
        reports_ends: true,
        ..FlowTable::default()
    };
    let mut model: HashMap<FlowTuple, Plain> = HashMap::new();
    let mut ended = Plain::default();
    let mut now = 0;
    let mut random = Random(1);
    for _ in 0..30_000 {
        now += random.below(100) * SECOND / 1000;
        let tuple = tuple(random.below(400) as u32);
        let bytes = random.below(1500) as u32;
        touch(&mut table, now, tuple, bytes);
        let flow = model.entry(tuple).or_default();
        if flow.packets > 0 && now - flow.used >= 10 * SECOND {
            ended.packets += flow.packets;
            ended.bytes += flow.bytes;
            *flow = Plain::default();
        }
        flow.packets += 1;
        flow.bytes += u64::from(bytes);
        flow.used = now;
    }
    model.retain(|_, flow| {
        let lives = now - flow.used < 10 * SECOND;
        if !lives {
            ended.packets += flow.packets;
            ended.bytes += flow.bytes;
        }
        lives
    });
    let reports = expire_all(&mut table, now);
    let gone = reports
        .iter()
        .filter(|one| one.reason == ReportReason::Idle);
    let mut packets = 0;
    let mut bytes = 0;
    for one in gone {
        packets += one.packets;
        bytes += one.bytes;
    }
    assert_eq!((packets, bytes), (ended.packets, ended.bytes));
    assert_eq!(table.len(), model.len());
    let mut from = 0;
    while let Some((slot, tuple, flow)) = table.next(from) {
        let plain = model[tuple];
        assert_eq!((flow.packets, flow.bytes), (plain.packets, plain.bytes));
        assert_eq!(flow.used, Time(plain.used));
        from = slot + 1;
    }
}

#[test]
fn t16_reports_of_ten_thousand_flows_that_end_have_every_byte() {
    let mut table = FlowTable {
        reports_ends: true,
        limits: FlowLimits {
            flows: 1000,
            ..FlowLimits::default()
        },
        ..FlowTable::default()
    };
    let mut random = Random(7);
    // Packets and bytes.
    let mut sent = (0, 0);
    let mut reported = (0, 0);
    let mut now = 0;
    for round in 0..50 {
        for n in 0..500 {
            let bytes = 60 + random.below(1400) as u32;
            touch(&mut table, now, tuple(round * 200 + n), bytes);
            sent = (sent.0 + 1, sent.1 + u64::from(bytes));
            now += 2_000_000;
        }
        assert!(table.len() <= 1000);
        while let Some(record) = table.ended.pop() {
            reported = (reported.0 + record.packets, reported.1 + record.bytes);
        }
    }
    assert!(table.counts.created >= 10_000 && table.counts.evicted > 0);
    for record in expire_all(&mut table, now + 60 * SECOND) {
        reported = (reported.0 + record.packets, reported.1 + record.bytes);
    }
    assert_eq!(sent, reported);
    assert_eq!((table.len(), table.counts.unreported), (0, 0));
}

#[test]
fn t23_a_full_table_makes_room_for_each_newcomer_by_one_that_was_idle() {
    let mut table = FlowTable {
        limits: FlowLimits {
            flows: 16,
            ..FlowLimits::default()
        },
        ..FlowTable::default()
    };
    for n in 0..16 {
        touch(&mut table, u64::from(n), tuple(n), 100);
    }
    touch(&mut table, 20, tuple(0), 100);
    touch(&mut table, 21, tuple(99), 100);
    assert_eq!((table.len(), table.counts.evicted), (16, 1));
    assert_eq!(table.find(&tuple(1)), None, "it was idle for longest");
    assert!(table.find(&tuple(0)).is_some());
}

#[test]
fn aggregates_have_as_many_flows_as_live_and_go_with_the_last_one() {
    let mut table = FlowTable::default();
    for n in 0..8 {
        known(&mut table, 0, n, 2);
    }
    assert_eq!(table.aggregates.len(), 2);
    let (_, _, aggregate) = table.aggregates.next(0).expect("there are two");
    assert_eq!(aggregate.flows, 4);
    known(&mut table, 5 * SECOND, 0, 2);
    expire_all(&mut table, 12 * SECOND);
    assert_eq!((table.len(), table.aggregates.len()), (1, 1));
    let (_, _, aggregate) = table.aggregates.next(0).expect("one has a flow");
    assert_eq!(
        (aggregate.flows, aggregate.packets, aggregate.bytes),
        (1, 5, 500)
    );
    expire_all(&mut table, 60 * SECOND);
    assert_eq!((table.aggregates.len(), table.paths.n_forwards()), (0, 0));
}

#[test]
fn t21_a_flow_of_an_earlier_epoch_is_looked_up_again() {
    let mut table = FlowTable::default();
    known(&mut table, 0, 1, 2);
    assert_eq!(
        touch(&mut table, 1, tuple(1), 100).lookup,
        FlowLookup::Known
    );
    table.begin_epoch();
    assert_eq!(
        touch(&mut table, 2, tuple(1), 100).lookup,
        FlowLookup::LookUp
    );
    let slot = known(&mut table, 3, 1, 3);
    assert_eq!(
        table.resolved(slot).map(|known| known.port),
        Some(PortNo(3))
    );
    assert_eq!(
        touch(&mut table, 4, tuple(1), 100).lookup,
        FlowLookup::Known
    );
}

#[test]
fn t22_the_controller_is_asked_once_a_second_for_a_flow() {
    let mut table = FlowTable::default();
    let mut asked = 0;
    for n in 0..35 {
        let now = n * SECOND / 10;
        let touched = touch(&mut table, now, tuple(1), 100);
        if touched.lookup == FlowLookup::LookUp {
            asked += u32::from(table.wait(Time(now), touched.slot));
        } else {
            table.suppress(touched.slot, &tuple(1), packet(100));
        }
    }
    assert_eq!((asked, table.counts.suppressed), (4, 31));
    // After a change of rules it is looked up, and the controller is not asked again.
    table.begin_epoch();
    let now = 35 * SECOND / 10;
    let touched = touch(&mut table, now, tuple(1), 1);
    assert_eq!(touched.lookup, FlowLookup::LookUp);
    assert!(!table.wait(Time(now), touched.slot));
}

#[test]
fn t18_all_flows_of_a_record_follow_its_failover_port_and_return() {
    let mut table = FlowTable::default();
    (1..=3).for_each(|port| table.paths.port_changed(PortNo(port), true));
    let rule = ForwardRecord {
        failover: PortNo(3),
        ..ForwardRecord::to(PortNo(2))
    };
    let mut slots = Vec::new();
    for n in 0..1000 {
        let touched = touch(&mut table, 0, tuple(n), 100);
        table.resolve(touched.slot, &rule, &QosRecord::default());
        slots.push(touched.slot);
    }
    let ports = |table: &FlowTable| -> Vec<u32> {
        let known = slots
            .iter()
            .map(|slot| table.resolved(*slot).expect("it is resolved"));
        known.map(|known| known.port.0).collect()
    };
    assert_eq!(
        table.paths.n_forwards(),
        1,
        "so one store switches them all"
    );
    table.paths.port_changed(PortNo(2), false);
    assert_eq!(ports(&table), [3; 1000]);
    table.paths.port_changed(PortNo(2), true);
    assert_eq!(ports(&table), [2; 1000]);
    table.paths.set_stays(true);
    table.paths.port_changed(PortNo(2), false);
    table.paths.port_changed(PortNo(2), true);
    assert_eq!(ports(&table), [3; 1000]);
    table.paths.port_changed(PortNo(3), false);
    assert_eq!(ports(&table), [2; 1000]);
}

#[test]
fn what_an_engine_chose_outlasts_rules_until_it_is_given_back() {
    let mut table = FlowTable::default();
    let slot = known(&mut table, 0, 1, 2);
    let write = FlowWrite {
        forward: Some(ForwardRecord::to(PortNo(5))),
        ..FlowWrite::of(tuple(1))
    };
    table.write(&write, false).expect("there is room");
    let port = |table: &FlowTable| table.resolved(slot).expect("it is resolved").port.0;
    assert_eq!(port(&table), 5);
    table.begin_epoch();
    known(&mut table, 1, 1, 2);
    assert_eq!(port(&table), 5);
    let back = FlowWrite {
        gives_back: true,
        ..FlowWrite::of(tuple(1))
    };
    table.write(&back, false).expect("there is room");
    assert_eq!(touch(&mut table, 2, tuple(1), 1).lookup, FlowLookup::LookUp);
    known(&mut table, 2, 1, 2);
    assert_eq!(port(&table), 2);
    assert_eq!(
        table.write(&FlowWrite::of(tuple(9)), false),
        Err(crate::openqflow::error::NO_FLOW)
    );
}

#[test]
fn a_flow_takes_its_new_path_at_a_gap() {
    let mut table = FlowTable::default();
    let slot = known(&mut table, 0, 1, 2);
    table.reroute(slot, PortNo(3), 500).expect("there is room");
    let port = |table: &FlowTable| table.resolved(slot).expect("it is resolved").port.0;
    for now in (0..10).map(|n| n * 100_000) {
        touch(&mut table, now, tuple(1), 100);
        assert_eq!(port(&table), 2);
    }
    touch(&mut table, 1_400_000, tuple(1), 100);
    assert_eq!(port(&table), 3);
}

#[test]
fn a_port_or_a_record_may_have_another_key() {
    let mut table = FlowTable::default();
    let source = KeyMod::Set {
        id: 3,
        key: crate::openqflow::AggregateKey {
            ipv4: [0xffff_ff00, 0],
            ..Default::default()
        },
    };
    table.aggregates.keys.change(&source).expect("it is new");
    table
        .aggregates
        .keys
        .change(&KeyMod::Port {
            id: 3,
            port: PortNo(2),
        })
        .expect("it is there");
    for n in 0..8 {
        known(&mut table, 0, n, 2);
    }
    assert_eq!(table.aggregates.len(), 1);
    for n in 8..16 {
        known(&mut table, 0, n, 4);
    }
    assert_eq!(table.aggregates.len(), 3, "port 4 has the default key");
    let gone = KeyMod::Delete { id: 9 };
    assert_eq!(
        table.aggregates.keys.change(&gone),
        Err(crate::openqflow::error::NO_KEY)
    );
}
