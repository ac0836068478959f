//! The cases of the test suite of the reference controllers: errors by their codes, and packets.
//! Numbers in comments are those of the cases in that suite.

use bofuss_datapath::Engine;

use crate::bench::{Bench, EXPERIMENTER, udp};

/// OXM header of eth_src, and of eth_dst.
const ETH_SRC: u32 = 0x8000_0806;
const ETH_DST: u32 = 0x8000_0606;
/// OXM header of tcp_src: 2 bytes.
const TCP_SRC: u32 = 0x8000_1a02;

/// Whose layouts a controller uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    OpenState,
    Beba,
    Opp,
}

pub const DIALECTS: [Dialect; 3] = [Dialect::OpenState, Dialect::Beba, Dialect::Opp];

/// The payload that sets an extractor.
pub fn extractor(dialect: Dialect, table: u8, bit: u8, fields: &[u32]) -> Vec<u8> {
    let mut payload = vec![table, 0, 0, 0];
    if dialect != Dialect::OpenState {
        payload.extend([bit, 0, 0, 0]);
    }
    payload.extend((fields.len() as u32).to_be_bytes());
    fields
        .iter()
        .for_each(|field| payload.extend(field.to_be_bytes()));
    payload
}

/// The payload that sets a flow's state, without timers.
pub fn flow_state(table: u8, key: &[u8], state: u32) -> Vec<u8> {
    let mut payload = vec![table, 0, 0, 0];
    payload.extend((key.len() as u32).to_be_bytes());
    payload.extend(state.to_be_bytes());
    payload.extend([0xff; 4]);
    payload.extend([0; 16]);
    payload.extend(key);
    payload
}

/// The payload that deletes a flow's state.
pub fn del_state(table: u8, key_len: u32, key: &[u8]) -> Vec<u8> {
    [&[table, 0, 0, 0], &key_len.to_be_bytes()[..], key].concat()
}

/// Makes a table stateful, with these fields in both scopes.
pub fn enable(bench: &mut Bench, dialect: Dialect, table: u8, fields: &[u32]) {
    bench.state_mod(0, &[table, 1]);
    bench.state_mod(1, &extractor(dialect, table, 0, fields));
    bench.state_mod(2, &extractor(dialect, table, 0, fields));
    show_opp(bench, dialect, table);
    assert_eq!(bench.error(), None);
}

/// If the dialect is Open Packet Processor, sends a command about a table that only this dialect
/// has, so that the table gets it. The command writes no bit of a variable.
pub fn show_opp(bench: &mut Bench, dialect: Dialect, table: u8) {
    if dialect == Dialect::Opp {
        bench.state_mod(9, &[&[table], &[0; 11][..]].concat());
        bench.is_opp = true;
    }
}

/// Returns what comes after the header of a flow-mod that adds an entry to table 0.
pub fn flow_mod(oxm: &[u8], instructions: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 22];
    body.extend([0x80, 0]);
    body.extend([0xff; 12]);
    body.extend([0; 4]);
    body.extend([&[0, 1, 0, 4 + oxm.len() as u8], oxm].concat());
    body.resize(40 + (4 + oxm.len()).next_multiple_of(8), 0);
    body.extend(instructions);
    body
}

/// An instruction that applies an experimenter's action with this body after its type.
pub fn apply(act_type: u32, body: &[u8]) -> Vec<u8> {
    let action = (12 + body.len()) as u16;
    let mut bytes = vec![0, 4];
    bytes.extend((8 + action).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend([0xff, 0xff]);
    bytes.extend(action.to_be_bytes());
    bytes.extend(EXPERIMENTER);
    bytes.extend(act_type.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// A switch without states.
fn fresh() -> Bench {
    Bench::new(Engine::default())
}

#[test]
fn extractors_are_refused_as_by_the_reference() {
    for dialect in DIALECTS {
        let mut bench = fresh();
        // 0: on a stateless table.
        for command in [1, 2] {
            bench.state_mod(command, &extractor(dialect, 0, 0, &[ETH_SRC]));
            assert_eq!(bench.error(), Some(2), "{dialect:?}");
        }
        // 3: without fields, and with seven.
        bench.state_mod(0, &[0, 1]);
        for fields in [&[][..], &[ETH_SRC; 7]] {
            bench.state_mod(1, &extractor(dialect, 0, 0, fields));
            assert_eq!(bench.error(), Some(7), "{dialect:?} {fields:?}");
        }
        // 7, 8: scopes of different lengths, in either order.
        for (table, one, other) in [(1, 1, 2), (2, 2, 1)] {
            bench.state_mod(0, &[table, 1]);
            bench.state_mod(one, &extractor(dialect, table, 0, &[ETH_SRC]));
            assert_eq!(bench.error(), None);
            bench.state_mod(other, &extractor(dialect, table, 0, &[ETH_SRC, ETH_DST]));
            assert_eq!(bench.error(), Some(7));
            bench.state_mod(other, &extractor(dialect, table, 0, &[TCP_SRC]));
            assert_eq!(bench.error(), Some(7));
        }
        // 23: no such table.
        bench.state_mod(1, &extractor(dialect, 250, 0, &[ETH_SRC]));
        assert_eq!(bench.error(), Some(8));
    }
}

#[test]
fn messages_of_the_other_dialect_are_refused_until_the_table_was_switched_off() {
    let mut bench = fresh();
    enable(&mut bench, Dialect::OpenState, 0, &[ETH_SRC]);
    bench.state_mod(2, &extractor(Dialect::Beba, 0, 0, &[ETH_SRC]));
    assert_eq!(bench.error(), Some(7));
    bench.state_mod(0, &[0, 0]);
    bench.state_mod(0, &[0, 1]);
    enable(&mut bench, Dialect::Beba, 0, &[ETH_SRC, ETH_DST]);
}

#[test]
fn flow_states_are_refused_as_by_the_reference() {
    for dialect in DIALECTS {
        let mut bench = fresh();
        // 17, 18: on a stateless table.
        bench.state_mod(3, &flow_state(0, &[0; 6], 1));
        assert_eq!(bench.error(), Some(3));
        bench.state_mod(4, &del_state(0, 6, &[0; 6]));
        assert_eq!(bench.error(), Some(4));
        enable(&mut bench, dialect, 0, &[ETH_SRC]);
        // 24: nothing there to delete.
        bench.state_mod(4, &del_state(0, 6, &[0; 6]));
        assert_eq!(bench.error(), Some(4));
        // 4: keys of 0 and 49 bytes. 5, 6: of other lengths than the scope's.
        for key in [&[][..], &[0; 49], &[0; 4]] {
            bench.state_mod(3, &flow_state(0, key, 1));
            assert_eq!(bench.error(), Some(7));
        }
        bench.state_mod(4, &del_state(0, 4, &[0; 4]));
        assert_eq!(bench.error(), Some(7));
        // 26: a length that is not the key's. 27: a byte too many for the scope.
        bench.state_mod(4, &del_state(0, 3, &[0; 4]));
        assert_eq!(bench.error(), Some(7));
        enable(&mut bench, dialect, 1, &[ETH_SRC, ETH_DST]);
        bench.state_mod(4, &del_state(1, 13, &[0; 13]));
        assert_eq!(bench.error(), Some(7));
        // 9, 25: no such table.
        bench.state_mod(3, &flow_state(200, &[0; 6], 1));
        assert_eq!(bench.error(), Some(8));
        bench.state_mod(4, &del_state(250, 6, &[0; 6]));
        assert_eq!(bench.error(), Some(8));
        // A state that is there is deleted.
        bench.state_mod(3, &flow_state(0, &[0; 6], 1));
        bench.state_mod(4, &del_state(0, 6, &[0; 6]));
        assert_eq!(bench.error(), None);
        bench.state_mod(4, &del_state(0, 6, &[0; 6]));
        assert_eq!(bench.error(), Some(4));
    }
}

#[test]
fn other_messages_are_refused_as_by_the_reference() {
    let mut bench = fresh();
    for (command, payload, code) in [
        // 14: an unknown command. 16, 21: too short. 19: no body. 22: no such table.
        (255, &[][..], 1),
        (3, &[0], 7),
        (0, &[0], 7),
        (0, &[0, 1, 0], 7),
        (5, &[], 7),
        (6, &[0], 7),
        (0, &[250, 1], 8),
    ] {
        bench.state_mod(command, payload);
        assert_eq!(bench.error(), Some(code), "{command} {payload:?}");
    }
    // 15: an unknown message. Only switches send notifications.
    bench.experimenter(u32::MAX, &[0; 8]);
    assert_eq!(bench.error(), Some(5));
    let changed = [&[0; 16], &[0, 0, 0, 1, 7][..]].concat();
    bench.experimenter(2, &changed);
    assert_eq!(bench.error(), Some(5));
    bench.experimenter(0, &[0]);
    assert_eq!(bench.error(), Some(7));
    // RESET_GLOBAL_STATE, which the reference switches refuse.
    bench.state_mod(5, &[0, 0, 0, 7, 0, 0, 0, 7]);
    bench.state_mod(6, &[]);
    assert_eq!(bench.error(), None);
    assert_eq!(bench.multipart(1, &[]), [vec![0; 8]]);
}

#[test]
fn actions_and_matches_are_refused_as_by_the_reference() {
    let mut bench = fresh();
    let mut set_state = [0; 36];
    set_state[12] = 200;
    for (act_type, body, code) in [
        // 2: no such table. 20: an unknown action. 28, 29: cut off.
        (0, &set_state[..], 8),
        (10, &[0; 4], 6),
        (0, &[0; 28], 7),
        (0, &[0; 4], 7),
        (1, &[0; 4], 7),
        (2, &[0; 4], 7),
        (2, &[0; 20], 7),
    ] {
        bench.say(14, &flow_mod(&[], &apply(act_type, body)));
        assert_eq!(bench.error(), Some(code), "{act_type} {body:?}");
    }
    // The same in the layout of Open Packet Processor.
    let mut set_state = [0; 44];
    set_state[12] = 200;
    bench.say(14, &flow_mod(&[], &apply(0, &set_state)));
    assert_eq!(bench.error(), Some(8));
    for (bytes, n_fields) in [(44, 1), (52, 0), (52, 3), (68, 7)] {
        let mut set_state = vec![0; bytes];
        set_state[43] = n_fields;
        bench.say(14, &flow_mod(&[], &apply(0, &set_state)));
        assert_eq!(
            bench.error(),
            Some(7),
            "{bytes} bytes with {n_fields} fields"
        );
    }
    // 35: a bit of the value outside of the mask.
    let state = [
        &[0xff, 0xff, 3, 12],
        &EXPERIMENTER,
        &[0, 0, 0, 7, 0, 0, 0, 8][..],
    ]
    .concat();
    bench.say(14, &flow_mod(&state, &[]));
    assert_eq!(bench.error(), Some(9));
    let global = [
        &[0xff, 0xff, 1, 12],
        &EXPERIMENTER,
        &[0, 0, 0, 7, 0, 0, 0, 8][..],
    ]
    .concat();
    bench.say(14, &flow_mod(&global, &[]));
    assert_eq!(bench.error(), Some(9));
}

#[test]
fn a_state_for_a_stateless_table_changes_nothing() {
    // 1
    let mut bench = fresh();
    bench.flow("actions=set_state(table=10,state=3)");
    assert_eq!(bench.send(1, &udp(1, 2, 80)), [0u32; 0]);
    assert_eq!(bench.io.messages, []);
}

#[test]
fn the_global_state_is_matched_everywhere_and_set_by_packets() {
    for (_, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        // 10, 11
        bench.flow("priority=5,global_state=1492,actions=output:2");
        bench.flow("priority=4,global_state=4/0xc,actions=output:3");
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [0u32; 0]);
        bench.state_mod(5, &[0, 0, 5, 0xd4, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [2]);
        bench.state_mod(5, &[0xaa, 0, 0, 0, 0xff, 0, 0, 0]);
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [3]);
        bench.state_mod(6, &[]);
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [0u32; 0]);
        // 12, 13: the first packet sets it and is lost, the next passes.
        let mut bench = Bench::new(engine);
        bench.flow("priority=5,global_state=1492,actions=output:2");
        bench.flow("priority=4,global_state=5/0xf,actions=output:3");
        bench.flow("priority=1,udp,udp_dst=80,actions=set_global_state(global_state=1492)");
        bench.flow("priority=1,udp,udp_dst=81,actions=set_global_state(global_state=5/0xf)");
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [0u32; 0]);
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [2]);
        bench.state_mod(6, &[]);
        assert_eq!(bench.send(1, &udp(1, 2, 81)), [0u32; 0]);
        assert_eq!(bench.send(1, &udp(1, 2, 80)), [3]);
    }
}
