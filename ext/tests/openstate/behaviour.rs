//! Packets read and change states, in every engine.

use bofuss_datapath::{Engine, Time};
use bofuss_ext::openstate;
use bofuss_frame::{Gso, GsoKind, Offload, OffloadCapabilities};
use bofuss_oflib::{Catalogue, Mac};
use bofuss_packet::craft;

use crate::bench::{Bench, udp};
use crate::conformance::{DIALECTS, Dialect, del_state, enable, extractor, flow_state};

/// OXM headers.
const ETH_SRC: u32 = 0x8000_0806;
const ETH_DST: u32 = 0x8000_0606;
const IPV4_SRC: u32 = 0x8000_1604;
const UDP_DST: u32 = 0x8000_2002;
const IN_PORT: u32 = 0x8000_0004;

/// The knocks, in their order.
const KNOCKS: [u16; 4] = [5123, 6234, 7345, 8456];
/// The port that they open.
const SSH: u16 = 22;

/// Port knocking: the state of a host in table 0 is its progress.
fn knocking(bench: &mut Bench, dialect: Dialect) {
    enable(bench, dialect, 0, &[IPV4_SRC]);
    for (state, port) in KNOCKS.iter().enumerate() {
        let next = state + 1;
        bench.flow(&format!(
            "priority=10,udp,udp_dst={port},state={state},actions=set_state(state={next})"
        ));
    }
    bench.flow(&format!(
        "priority=10,udp,udp_dst={SSH},state=4,actions=output:2"
    ));
    bench.flow("priority=1,actions=set_state(state=0)");
}

#[test]
fn openstate_works_without_open_packet_processor() {
    let mut catalogue = Catalogue::default();
    catalogue
        .add("openstate", &openstate::FIELDS, &openstate::VALUES)
        .expect("nothing collides");
    let hooks = vec![openstate::hook(&catalogue)];
    let none = OffloadCapabilities::default();
    let mut bench = Bench::with_hooks(Engine::Cache, none, catalogue, hooks);
    knocking(&mut bench, Dialect::Beba);
    for port in KNOCKS {
        assert_eq!(bench.send(1, &udp(1, 2, port)), [0; 0]);
    }
    assert_eq!(bench.send(1, &udp(1, 2, SSH)), [2]);
    // It does not know the commands about registers: BAD_COMMAND.
    bench.state_mod(9, &[0; 12]);
    assert_eq!(bench.error(), Some(1));
}

/// A plain model of it: returns whether a host's packet to a port passes.
fn knock_model(progress: &mut usize, port: u16) -> bool {
    if *progress == KNOCKS.len() && port == SSH {
        return true;
    }
    *progress = if KNOCKS.get(*progress) == Some(&port) {
        *progress + 1
    } else {
        0
    };
    false
}

#[test]
fn port_knocking_is_that_of_a_plain_model_in_every_engine() {
    for dialect in DIALECTS {
        for (name, engine) in Engine::ALL {
            let mut bench = Bench::new(engine);
            knocking(&mut bench, dialect);
            let mut hosts = [0; 8];
            let mut random = 12345_u32;
            for step in 0..3000 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let host = (random >> 24) as usize % hosts.len();
                // Mostly the right knock.
                let port = match random >> 16 & 7 {
                    0 => KNOCKS[(random >> 20) as usize % 4],
                    1 => 9999,
                    _ => *KNOCKS.get(hosts[host]).unwrap_or(&SSH),
                };
                let passes = !bench.send(1, &udp(host as u8 + 1, 99, port)).is_empty();
                let wanted = knock_model(&mut hosts[host], port);
                assert_eq!(passes, wanted, "{name} {dialect:?} step {step}");
            }
        }
    }
}

#[test]
fn a_packet_that_lacks_a_field_of_the_key_has_the_state_of_its_dialect() {
    for (dialect, port) in DIALECTS.into_iter().zip([4, 3, 3]) {
        let mut bench = Bench::new(Engine::default());
        enable(&mut bench, dialect, 0, &[UDP_DST]);
        bench.flow("priority=9,state=0,actions=output:2");
        bench.flow("priority=8,state=0xffffffff,actions=output:3");
        bench.flow("priority=1,actions=set_state(state=7),output:4");
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [2]);
        let mut arp = udp(1, 2, 80);
        arp[12..14].copy_from_slice(&[0x08, 0x06]);
        assert_eq!(bench.send(1, &arp), [port], "{dialect:?}");
    }
}

#[test]
fn a_table_without_scopes_has_no_state_to_match() {
    for (_, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        bench.flow("priority=9,state=0,actions=output:2");
        bench.flow("priority=1,actions=output:3,goto_table:1");
        bench.flow("table=1,priority=9,state=0,actions=output:4");
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [3]);
        // The state of table 1 is not that of table 0.
        enable(&mut bench, Dialect::Beba, 1, &[ETH_SRC]);
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [3, 4]);
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [3, 4]);
        enable(&mut bench, Dialect::Beba, 0, &[ETH_SRC]);
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [2]);
        bench.state_mod(0, &[0, 0]);
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [3, 4]);
    }
}

#[test]
fn a_learning_table_has_one_scope_to_look_up_and_another_to_update() {
    for (_, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        bench.state_mod(0, &[0, 1]);
        bench.state_mod(1, &extractor(Dialect::Beba, 0, 0, &[ETH_DST]));
        bench.state_mod(2, &extractor(Dialect::Beba, 0, 0, &[ETH_SRC]));
        assert_eq!(bench.error(), None);
        for from in 1..=3 {
            for to in 0..=3 {
                let output = if to == 0 {
                    "flood".into()
                } else {
                    format!("output:{to}")
                };
                bench.flow(&format!(
                    "priority=1,in_port={from},state={to},actions=set_state(state={from},\
                     hard_timeout=10000000),{output}"
                ));
            }
        }
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [2, 3, 4]);
        assert_eq!(bench.send(2, &udp(2, 1, 80)), [1]);
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [2]);
        bench.advance(10 * Time::SEC);
        assert_eq!(bench.send(2, &udp(2, 1, 80)), [1], "at the deadline");
        bench.advance(1);
        assert_eq!(bench.send(1, &udp(1, 3, 80)), [2, 3, 4]);
        assert_eq!(bench.send(3, &udp(3, 2, 80)), [2]);
    }
}

#[test]
fn bidirectional_flows_update_the_other_direction_by_bit() {
    let mut bench = Bench::new(Engine::default());
    enable(&mut bench, Dialect::Beba, 0, &[ETH_SRC, ETH_DST]);
    bench.flow("priority=9,state=1,actions=output:2");
    bench.flow("priority=1,in_port=1,actions=set_state(state=1,bit=1)");
    // Without the bit-update scope, nothing is done.
    assert_eq!(bench.send(1, &udp(1, 2, 80)), [0u32; 0]);
    assert_eq!(
        bench.multipart(3, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0])[0].len(),
        8
    );
    bench.state_mod(2, &extractor(Dialect::Beba, 0, 1, &[ETH_DST, ETH_SRC]));
    assert_eq!(bench.error(), None);
    assert_eq!(bench.send(1, &udp(1, 2, 80)), [0u32; 0]);
    assert_eq!(bench.send(3, &udp(2, 1, 80)), [2]);
}

#[test]
fn states_are_counted_up_in_another_table_and_seen_there() {
    for (_, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        enable(&mut bench, Dialect::Beba, 1, &[ETH_SRC]);
        bench.flow("actions=inc_state(table=1),goto_table:1");
        bench.flow("table=1,priority=5,state=3,actions=output:2");
        let sent: Vec<_> = (0..4)
            .map(|_| bench.send(1, &udp(1, 2, 80)).len())
            .collect();
        assert_eq!(sent, [0, 0, 1, 0]);
    }
}

#[test]
fn in_the_action_set_a_state_changes_before_fields_are_set() {
    let mut bench = Bench::new(Engine::default());
    enable(&mut bench, Dialect::Beba, 0, &[ETH_SRC]);
    bench.flow("priority=5,state=1,actions=output:2");
    bench.flow(
        "priority=1,actions=write_actions(set_field:02:00:00:00:00:09->eth_src,\
         set_state(table=0,state=1),output:3)",
    );
    assert_eq!(bench.send(1, &udp(1, 2, 80)), [3]);
    assert_eq!(
        bench.send(1, &udp(1, 2, 80)),
        [2],
        "it is the flow that came"
    );
}

#[test]
fn keys_have_the_bytes_of_the_reference() {
    let mut bench = Bench::new(Engine::default());
    enable(&mut bench, Dialect::Beba, 0, &[IN_PORT, IPV4_SRC, UDP_DST]);
    bench.flow("actions=set_state(state=9)");
    bench.send(1, &udp(1, 2, 0x1234));
    let ask = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0];
    let key = [1, 0, 0, 0, 10, 0, 0, 1, 0x34, 0x12];
    let wanted = [
        &[0, 24, 0, 10, 0, 0, 0, 9][..],
        &key,
        &[0; 6],
        &[0, 8, 0, 0, 0, 0, 0, 0],
    ];
    assert_eq!(bench.multipart(3, &ask), [wanted.concat()]);
    bench.state_mod(4, &del_state(0, 10, &key));
    assert_eq!(bench.error(), None);
}

#[test]
fn statistics_are_chosen_by_state_and_by_fields_and_deleted_if_asked() {
    for dialect in DIALECTS {
        let mut bench = Bench::new(Engine::default());
        enable(&mut bench, dialect, 2, &[ETH_SRC]);
        for host in 1..=9 {
            bench.state_mod(
                3,
                &flow_state(2, &[2, 0, 0, 0, 0, host], u32::from(host % 3)),
            );
        }
        assert_eq!(bench.error(), None);
        bench.advance(350_032_000);
        let record = match dialect {
            Dialect::OpenState => 112,
            Dialect::Beba => 40,
            Dialect::Opp => 136,
        };
        let default = match dialect {
            Dialect::OpenState => 112,
            Dialect::Beba => 32,
            Dialect::Opp => 136,
        };
        let any = [0, 1, 0, 4, 0, 0, 0, 0];
        let lengths = |bodies: Vec<Vec<u8>>| bodies.iter().map(Vec::len).collect::<Vec<_>>();
        // The three flows in state 0 got no entries.
        let all = [&[0xff, 0, 0, 0, 0, 0, 0, 0][..], &any].concat();
        assert_eq!(lengths(bench.multipart(0, &all)), [6 * record + default]);
        let ones = [&[2, 1, 0, 0, 0, 0, 0, 1][..], &any].concat();
        let bodies = bench.multipart(0, &ones);
        assert_eq!(lengths(bodies.clone()), [3 * record], "without the default");
        let (age, state) = match dialect {
            Dialect::OpenState | Dialect::Opp => (4, 92),
            Dialect::Beba => (4, 28),
        };
        assert_eq!(
            bodies[0][age..age + 8],
            [0, 0, 0, 0, 0x14, 0xdd, 0x10, 0x80]
        );
        assert_eq!(bodies[0][state..state + 4], [0, 0, 0, 1]);
        let one = [0, 1, 0, 14, 0x80, 0, 8, 6, 2, 0, 0, 0, 0, 2, 0, 0];
        let of_one = [&[2, 0, 0, 0, 0, 0, 0, 0][..], &one].concat();
        assert_eq!(lengths(bench.multipart(0, &of_one)), [record + default]);
        // A field that is in no scope: the default record alone. A table without states: nothing.
        let other = [0, 1, 0, 14, 0x80, 0, 6, 6, 2, 0, 0, 0, 0, 2, 0, 0];
        let of_other = [&[2, 0, 0, 0, 0, 0, 0, 0][..], &other].concat();
        assert_eq!(lengths(bench.multipart(0, &of_other)), [default]);
        let of_stateless = [&[7, 0, 0, 0, 0, 0, 0, 0][..], &any].concat();
        assert_eq!(lengths(bench.multipart(0, &of_stateless)), [0]);
        // What is reported is deleted.
        assert_eq!(lengths(bench.multipart(4, &ones)), [3 * 16]);
        assert_eq!(lengths(bench.multipart(4, &ones)), [0]);
        assert_eq!(lengths(bench.multipart(3, &all)), [3 * 16 + 8]);
    }
}

#[test]
fn openstate_controllers_learn_the_global_state_and_how_many_states_there_are() {
    let mut bench = Bench::new(Engine::default());
    enable(&mut bench, Dialect::OpenState, 3, &[ETH_SRC]);
    bench.state_mod(3, &flow_state(3, &[2, 0, 0, 0, 0, 1], 5));
    bench.state_mod(5, &[0x12, 0x34, 0x56, 0x78, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(bench.error(), None);
    let global = [0, 0, 0, 0, 0x12, 0x34, 0x56, 0x78];
    for exp_type in [2, 1] {
        assert_eq!(bench.multipart(exp_type, &[]), [&global[..]]);
    }
    assert_eq!(
        bench.multipart(1, &[3, 0, 0, 0, 0, 0, 0, 0]),
        [vec![0, 0, 0, 1, 0, 0, 0, 0]]
    );
}

/// A super-frame of `segments` datagrams of one flow, and its offload record.
pub fn super_frame(segments: usize) -> (Vec<u8>, Offload) {
    const DATA: usize = 100;
    let data = vec![7; DATA * segments];
    let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let ip = craft::ipv4(a, b, 64, craft::udp(1000, 80, &data));
    let bytes = craft::ethernet(Mac([2, 0, 0, 0, 0, 2]), Mac([2, 0, 0, 0, 0, 1]), ip);
    let offload = Offload {
        checksum: Some((34, 6)),
        gso: Some(Gso {
            kind: GsoKind::Udp,
            segment_bytes: DATA as u16,
            ecn: false,
        }),
        ..Offload::NONE
    };
    (bytes, offload)
}

#[test]
fn a_super_frame_acts_once_for_each_segment() {
    for (_, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        enable(&mut bench, Dialect::Beba, 0, &[ETH_SRC]);
        bench.flow("priority=5,state=3,actions=output:2");
        bench.flow("priority=1,actions=inc_state(table=0),output:3");
        let (bytes, offload) = super_frame(5);
        assert_eq!(bench.send_with(1, &bytes, offload), [3, 3, 3, 2, 2]);
        assert_eq!(bench.send_with(1, &bytes, offload), [2; 5]);
    }
}

#[test]
fn packets_of_one_burst_find_what_those_before_them_left() {
    for (_, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        enable(&mut bench, Dialect::Beba, 0, &[IPV4_SRC]);
        for (state, next, port) in [(0, 1, 2), (1, 2, 3), (2, 0, 4)] {
            bench.flow(&format!(
                "state={state},actions=set_state(table=0,state={next}),output:{port}"
            ));
        }
        let burst: Vec<_> = (0..30).map(|n| udp(1 + n % 2, 9, 80)).collect();
        for _ in 0..3 {
            bench.send_burst(1, &burst);
            let out = std::mem::take(&mut bench.io.out);
            let ports: Vec<u32> = out.into_iter().map(|(port, _)| port).collect();
            let in_turn = [2, 2, 3, 3, 4, 4].into_iter().cycle();
            assert!(ports.iter().copied().eq(in_turn.take(30)), "{ports:?}");
        }
    }
}
