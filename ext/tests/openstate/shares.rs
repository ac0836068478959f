//! A flood of flows on one port leaves room for the flows of others.

use bofuss_datapath::{Engine, Time};
use bofuss_ext::openstate::extractor::{FieldSource, FlowKey};
use bofuss_ext::openstate::machine::{MAX_STATES, Machine};
use bofuss_ext::openstate::table::{Timers, Transition};
use bofuss_ext::openstate::{SetState, StateMod};
use bofuss_ext::{flow_state, openstate};
use bofuss_oflib::field::{IN_PORT, IPV4_SRC};
use bofuss_oflib::{Field, Mac, Message};
use bofuss_packet::craft;

use crate::bench::Bench;

/// OXM header of ipv4_src.
const SOURCE: u32 = 0x8000_1604;

/// A packet from a host, through a port.
struct From {
    port: u32,
    host: u32,
}

impl FieldSource for From {
    fn get(&mut self, field: &Field) -> Option<u128> {
        let fields = [(IN_PORT, self.port), (IPV4_SRC, self.host)];
        let (_, value) = fields.into_iter().find(|(one, _)| *one == field)?;
        Some(value.into())
    }
}

/// State tables of which these are enabled, by source address.
struct Tables(Machine);

impl Tables {
    fn new(numbers: &[u8]) -> Self {
        Self::with_layout(numbers, openstate::ExtractorLayout::Beba)
    }

    fn with_layout(numbers: &[u8], layout: openstate::ExtractorLayout) -> Self {
        let mut this = Self(Machine::default());
        for table in numbers.iter().copied() {
            let extractor = |scope| StateMod::SetExtractor {
                table,
                scope,
                layout,
                biflow: false,
                fields: vec![SOURCE],
            };
            let stateful = true;
            assert!(this.tell(StateMod::TableConfig { table, stateful }));
            assert!(this.tell(extractor(openstate::Scope::Lookup)));
            assert!(this.tell(extractor(openstate::Scope::Update)));
        }
        this
    }

    /// A controller's message. Returns false if it is refused.
    fn tell(&mut self, message: StateMod) -> bool {
        let catalogue = bofuss_oflib::Catalogue::default();
        self.0.modify(Time(1), &message, &catalogue).is_ok()
    }

    /// A packet sets the state of its flow. Returns false if the flow gets none.
    fn set(&mut self, now: Time, table: u8, packet: &mut From, transition: Transition) -> bool {
        let action = SetState {
            table,
            transition,
            bit: false,
            is_opp: false,
            scope: None,
        };
        self.0.set_state(now, &action, packet).is_some()
    }

    /// Packets of `count` hosts set states at a port. Returns how many flows have one then.
    fn flood(&mut self, table: u8, port: u32, count: u32) -> usize {
        let mut has = 0;
        for host in 0..count {
            let host = port << 24 | host;
            let set = self.set(Time(1), table, &mut From { port, host }, to(7));
            has += usize::from(set);
        }
        has
    }

    fn state(&self, table: u8, host: u32) -> Option<u32> {
        let key = FlowKey::new(&host.to_be_bytes());
        self.0.flow(Time(1), table, &key).map(|flow| flow.state)
    }

    /// Returns how many flows have a state in all tables.
    fn len(&self) -> usize {
        self.0.state_tables().map(|(_, table)| table.len()).sum()
    }
}

/// A transition without timers.
fn to(state: u32) -> Transition {
    Transition {
        state,
        mask: u32::MAX,
        timers: Timers::default(),
    }
}

#[test]
fn a_flood_of_flows_on_one_port_leaves_half_of_the_room_to_other_ports() {
    let mut tables = Tables::new(&[0, 5]);
    assert_eq!(tables.flood(0, 2, 1000), 1000);
    // Over two tables, and more than all have room for.
    let share = (MAX_STATES - 1000) / 2;
    assert_eq!(tables.flood(0, 1, 300_000), 300_000);
    assert_eq!(tables.flood(5, 1, 900_000), share - 300_000, "its share");
    assert_eq!(tables.0.refused as usize, 1_200_000 - share);
    // The other port keeps its flows, changes them, and gets further ones: half of the rest.
    assert_eq!(tables.flood(0, 2, 1000), 1000);
    assert_eq!(tables.state(0, 2 << 24 | 999), Some(7));
    assert_eq!(tables.flood(5, 2, 100_000), 100_000);
    // Also one that comes later.
    assert_eq!(tables.flood(0, 3, 1000), 1000);
    assert_eq!(tables.len(), share + 102_000);
    // The flood has not, except for flows that it gave up: one past the limit, and at it.
    let past = &mut From {
        port: 1,
        host: 0xfff_ffff,
    };
    assert!(!tables.set(Time(1), 0, past, to(7)));
    // Since others have more now, so many must go that half of what is free is one.
    for host in 0..102_000 / 2 + 1 {
        let key = (1 << 24 | host as u32).to_be_bytes().to_vec();
        assert!(tables.tell(StateMod::DelFlowState { table: 0, key }));
    }
    assert!(tables.set(Time(1), 0, past, to(7)));
    // A controller may use all that is free, and no more.
    let free = MAX_STATES - tables.len();
    for number in 0..=free as u32 {
        let message = StateMod::SetFlowState {
            table: 5,
            key: (9 << 24 | number).to_be_bytes().to_vec(),
            transition: to(1),
        };
        assert_eq!(tables.tell(message), number < free as u32, "{number}");
    }
    assert_eq!(tables.len(), MAX_STATES);
}

#[test]
fn a_port_without_room_gets_it_from_its_flows_that_are_back_in_state_0() {
    let mut tables = Tables::new(&[0]);
    let timers = Timers {
        hard_timeout: 1,
        ..Timers::default()
    };
    let share = MAX_STATES / 2;
    let packet = |host| From { port: 1, host };
    // A flow that is over after a microsecond, where the third search of 64 slots comes to it. The
    // first one is for the last host of the flood.
    tables.flood(0, 1, 150);
    assert!(tables.set(Time(1), 0, &mut packet(7), Transition { timers, ..to(7) }));
    assert_eq!(tables.flood(0, 1, share as u32), share - 1);
    let now = Time(1001);
    assert!(
        !tables.set(now, 0, &mut packet(8), to(3)),
        "it is not over yet"
    );
    assert!(tables.set(now.after(1), 0, &mut packet(8), to(3)));
    assert_eq!((tables.state(0, 7), tables.state(0, 8)), (None, Some(3)));
    assert!(!tables.set(now.after(1), 0, &mut packet(9), to(3)));
    assert_eq!(tables.len(), share);
}

/// A frame from one host to another, of a protocol that is unknown.
fn frame(to: u32, from: u32) -> Vec<u8> {
    let mac = |host: u32| {
        let [a, b, c, d] = host.to_be_bytes();
        Mac([2, 0, a, b, c, d])
    };
    craft::ethernet(mac(to), mac(from), craft::Layer::new(0x88b5, &[0x5a; 46]))
}

/// Returns how many flows have a state of the extension flow_state, and how many were refused one.
fn counts(bench: &mut Bench) -> (u64, u64) {
    let row = flow_state::VALUES[1].ty.to_be_bytes();
    bench.say(
        4,
        &[&flow_state::EXPERIMENTER.to_be_bytes()[..], &row].concat(),
    );
    let Some((_, Message::Experimenter(reply))) = bench.io.messages.pop() else {
        panic!("it replies");
    };
    (reply.args[0], reply.args[1])
}

#[test]
fn a_flood_of_stations_on_one_port_leaves_half_of_flow_state_to_other_ports() {
    const FRAMES: usize = 89_925;
    let mut bench = Bench::new(Engine::default());
    bench.flow("priority=1,in_port=1,actions=set_flow_state(state=7)");
    bench.flow("priority=1,in_port=2,actions=set_flow_state(state=8)");
    bench.flow("priority=5,flow_state=8,actions=output:3");
    for host in 0..1000 {
        assert_eq!(bench.send(2, &frame(1, host)), [0u32; 0]);
    }
    let share = (flow_state::MAX_STATES - 1000) / 2;
    for host in 0..FRAMES as u32 {
        bench.send(1, &frame(2, host));
    }
    let refused = FRAMES - share;
    assert_eq!(counts(&mut bench), ((share + 1000) as u64, refused as u64));
    // The other port's flows have their states, and further ones get some.
    for host in 0..2000 {
        let known = host < 1000;
        let wanted = if known { vec![3] } else { vec![] };
        assert_eq!(bench.send(2, &frame(1, host)), wanted, "{host}");
    }
    for host in 0..2000 {
        assert_eq!(bench.send(2, &frame(1, host)), [3], "{host}");
    }
    assert_eq!(counts(&mut bench), ((share + 2000) as u64, refused as u64));
}

#[test]
fn a_port_without_room_in_flow_state_gets_it_from_its_flows_that_were_idle() {
    let mut bench = Bench::new(Engine::default());
    bench.flow("priority=1,actions=set_flow_state(state=7,idle_timeout=1)");
    bench.flow("priority=5,flow_state=7,actions=output:3");
    let share = flow_state::MAX_STATES as u32 / 2;
    for host in 0..share {
        assert_eq!(bench.send(1, &frame(2, host)), [0u32; 0]);
    }
    // The first one without room finds that all of them live.
    for _ in 0..2 {
        assert_eq!(bench.send(1, &frame(2, share)), [0u32; 0]);
    }
    bench.now = bench.now.after(Time::SEC);
    assert_eq!(bench.send(1, &frame(2, share)), [0u32; 0]);
    assert_eq!(bench.send(1, &frame(2, share)), [3]);
    assert_eq!(counts(&mut bench), (1, 2));
}

#[test]
fn a_deletion_that_comes_after_the_timeout_leaves_nothing_to_count() {
    let mut tables = Tables::with_layout(&[0], openstate::ExtractorLayout::OpenState);
    let timers = Timers {
        hard_timeout: 1,
        ..Timers::default()
    };
    assert!(tables.set(
        Time(1),
        0,
        &mut From { port: 1, host: 7 },
        Transition { timers, ..to(7) }
    ));
    assert!(tables.0.has_states());
    let key = 7_u32.to_be_bytes().to_vec();
    let delete = StateMod::DelFlowState { table: 0, key };
    let catalogue = bofuss_oflib::Catalogue::default();
    let deleted = tables.0.modify(Time(Time::SEC), &delete, &catalogue);
    assert_eq!(deleted, Err(openstate::error::DEL_FLOW_STATE));
    assert!(!tables.0.has_states());
}
