//! Controllers of several dialects on one switch, and the operator's options.

use bofuss_agent::ConnId;
use bofuss_datapath::Engine;
use bofuss_oflib::{Message, Version};

use crate::bench::{Bench, CONN, EXPERIMENTER, udp};
use crate::conformance::{Dialect, apply, enable, extractor, flow_mod, flow_state};
use crate::opp::global;

/// OXM header of eth_src.
const ETH_SRC: u32 = 0x8000_0806;
/// A second controller.
const OTHER: ConnId = ConnId(2);
/// A request for the states of all tables, after `exp_type`.
const ALL: [u8; 16] = [0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0];

/// Sends a STATE_MOD on a connection. Returns the code of the error, if any.
fn state_mod(bench: &mut Bench, conn: ConnId, command: u8, payload: &[u8]) -> Option<u16> {
    let body = [&EXPERIMENTER[..], &[0; 4], &[command, 0], payload].concat();
    bench.say_on(conn, 4, &body);
    assert!(bench.io.messages.iter().all(|(to, _)| *to == conn));
    bench.error()
}

/// Makes a table stateful, by messages on a connection.
fn enable_on(bench: &mut Bench, conn: ConnId, dialect: Dialect, table: u8) {
    let scope = extractor(dialect, table, 0, &[ETH_SRC]);
    for (command, payload) in [(0, &[table, 1][..]), (1, &scope), (2, &scope)] {
        assert_eq!(
            state_mod(bench, conn, command, payload),
            None,
            "{dialect:?} {command}"
        );
    }
}

/// Adds an entry to table 0, for ingress port `port`, that sets the state in a table to 5 by a
/// SET_STATE of 48 or 56 bytes. Returns the code of the error, if any.
fn set_state_on(bench: &mut Bench, conn: ConnId, port: u8, table: u8, bytes: usize) -> Option<u16> {
    let mut body = vec![0; bytes - 12];
    body[7] = 5;
    body[8..12].fill(0xff);
    body[12] = table;
    let oxm = [0x80, 0, 0, 4, 0, 0, 0, port];
    bench.say_on(conn, 14, &flow_mod(&oxm, &apply(0, &body)));
    // Controllers of BEBA and Open Packet Processor are notified of it.
    let messages = &mut bench.io.messages;
    messages.retain(|(_, message)| !matches!(message, Message::Experimenter(_)));
    bench.error()
}

/// The lengths of the records that a connection is sent for all tables.
fn record_bytes(bench: &mut Bench, conn: ConnId) -> Vec<u16> {
    let head = [0xff, 0xff, 0, 0, 0, 0, 0, 0];
    bench.say_on(
        conn,
        18,
        &[&head[..], &EXPERIMENTER, &[0; 4], &ALL].concat(),
    );
    let mut lengths = vec![];
    for (to, reply) in std::mem::take(&mut bench.io.messages) {
        assert_eq!(to, conn);
        let mut bytes = vec![];
        bench
            .codec
            .encode(9, &reply, &mut bytes)
            .expect("it is short enough");
        let mut rest = &bytes[24..];
        while let [high, low, ..] = rest {
            let length = u16::from_be_bytes([*high, *low]);
            lengths.push(length);
            rest = &rest[usize::from(length)..];
        }
    }
    lengths
}

fn two_controllers() -> Bench {
    let mut bench = Bench::new(Engine::default());
    bench
        .switch
        .connected(bench.now, OTHER, Version::V1_3, true);
    bench
}

#[test]
fn controllers_of_openstate_and_opp_have_a_table_each() {
    let mut bench = two_controllers();
    enable_on(&mut bench, CONN, Dialect::OpenState, 1);
    enable_on(&mut bench, OTHER, Dialect::Opp, 2);
    assert_eq!(state_mod(&mut bench, OTHER, 9, &global(2, 0, 7)), None);
    assert_eq!(set_state_on(&mut bench, CONN, 1, 1, 48), None);
    assert_eq!(set_state_on(&mut bench, OTHER, 2, 2, 56), None);
    for port in [1, 2] {
        bench.send(port, &udp(1, 2, 80));
    }
    // Each gets records in its own dialect: a flow and the default record of both tables.
    assert_eq!(record_bytes(&mut bench, CONN), [112; 4]);
    assert_eq!(record_bytes(&mut bench, OTHER), [136; 4]);
    // The behaviour is the table's: a flow whose state becomes 0 is forgotten in OpenState's.
    let key = [2, 0, 0, 0, 0, 1];
    assert_eq!(
        state_mod(&mut bench, OTHER, 3, &flow_state(1, &key, 0)),
        None
    );
    assert_eq!(
        state_mod(&mut bench, CONN, 3, &flow_state(2, &key, 0)),
        None
    );
    assert_eq!(record_bytes(&mut bench, CONN), [112; 3]);
}

#[test]
fn controllers_of_openstate_and_opp_share_no_table() {
    let mut bench = two_controllers();
    enable_on(&mut bench, CONN, Dialect::OpenState, 0);
    // What the table's dialect does not know is refused: a layout, a command, an action.
    let scope = extractor(Dialect::Opp, 0, 0, &[ETH_SRC]);
    assert_eq!(state_mod(&mut bench, OTHER, 1, &scope), Some(7));
    assert_eq!(state_mod(&mut bench, OTHER, 9, &global(0, 0, 7)), Some(1));
    assert_eq!(set_state_on(&mut bench, OTHER, 1, 0, 56), Some(7));
    bench.say_on(OTHER, 14, &flow_mod(&[], &apply(2, &[0; 12])));
    assert_eq!(bench.error(), Some(6), "INC_STATE");
    // What all dialects know is not.
    let key = [2, 0, 0, 0, 0, 1];
    assert_eq!(
        state_mod(&mut bench, OTHER, 3, &flow_state(0, &key, 5)),
        None
    );
    assert_eq!(set_state_on(&mut bench, CONN, 1, 0, 48), None);
    // Once it is off, others may configure it.
    assert_eq!(state_mod(&mut bench, OTHER, 0, &[0, 0]), None);
    enable_on(&mut bench, OTHER, Dialect::Opp, 0);
    assert_eq!(record_bytes(&mut bench, CONN), [112], "its flows are gone");
    assert_eq!(state_mod(&mut bench, OTHER, 9, &global(0, 0, 7)), None);
    assert_eq!(set_state_on(&mut bench, CONN, 1, 0, 48), Some(7));
    let scope = extractor(Dialect::OpenState, 0, 0, &[ETH_SRC]);
    assert_eq!(state_mod(&mut bench, CONN, 1, &scope), Some(7));
}

#[test]
fn the_first_unambiguous_message_determines_the_dialect_of_a_table() {
    // An action in an entry of another table determines it, too.
    let mut bench = two_controllers();
    enable_on(&mut bench, CONN, Dialect::Beba, 3);
    assert_eq!(set_state_on(&mut bench, CONN, 1, 3, 48), None);
    assert_eq!(state_mod(&mut bench, OTHER, 9, &global(3, 0, 7)), Some(1));
    let mut bench = two_controllers();
    enable_on(&mut bench, CONN, Dialect::Beba, 3);
    assert_eq!(set_state_on(&mut bench, CONN, 1, 3, 56), None);
    assert_eq!(set_state_on(&mut bench, OTHER, 1, 3, 48), Some(7));
    assert_eq!(state_mod(&mut bench, OTHER, 9, &global(3, 0, 7)), None);
}

#[test]
fn the_operator_chooses_the_dialect_of_all_tables() {
    let mut bench = Bench::with_options(&[("dialect", "opp")]);
    bench.state_mod(0, &[0, 1]);
    bench.state_mod(1, &extractor(Dialect::OpenState, 0, 0, &[ETH_SRC]));
    assert_eq!(bench.error(), Some(7));
    assert_eq!(set_state_on(&mut bench, CONN, 1, 9, 48), Some(7));
    enable(&mut bench, Dialect::Beba, 0, &[ETH_SRC]);
    // A connection that has not shown a dialect gets records in the table's.
    bench
        .switch
        .connected(bench.now, OTHER, Version::V1_3, true);
    assert_eq!(record_bytes(&mut bench, OTHER), [136]);
}

#[test]
fn the_operator_chooses_a_defect_of_the_reference() {
    let mut bench = Bench::with_options(&[("refuse-reset", "on")]);
    bench.state_mod(5, &[0, 0, 0, 7, 0, 0, 0, 7]);
    bench.state_mod(6, &[]);
    assert_eq!(bench.error(), Some(1));
    assert_eq!(bench.multipart(1, &[]), [vec![0, 0, 0, 0, 0, 0, 0, 7]]);
}

#[test]
fn the_operator_chooses_which_notifications_are_sent() {
    let mut bench = Bench::with_options(&[("flow-notifications", "off")]);
    enable(&mut bench, Dialect::Beba, 0, &[ETH_SRC]);
    bench.say(14, &flow_mod(&[], &apply(2, &[0; 12])));
    assert_eq!(bench.io.messages, [], "none for a flow-mod");

    let mut bench = Bench::with_options(&[("state-notifications", "on")]);
    for (dialect, port) in [(Dialect::OpenState, 1), (Dialect::Beba, 2)] {
        bench.state_mod(0, &[0, 0]);
        enable(&mut bench, dialect, 0, &[ETH_SRC]);
        bench.flow("actions=set_state(table=0,state=7)");
        bench.send(port, &udp(port as u8, 4, 80));
        let n_expected = usize::from(dialect == Dialect::Beba);
        assert_eq!(bench.io.messages.len(), n_expected, "{dialect:?}");
        bench.io.messages.clear();
    }
}

#[test]
fn an_action_set_has_a_state_for_each_table() {
    let mut bench = Bench::new(Engine::default());
    for table in [0, 1] {
        enable(&mut bench, Dialect::Beba, table, &[ETH_SRC]);
    }
    bench.flow(
        "actions=write_actions(set_state(table=0,state=2),set_state(table=1,state=3),\
         set_state(table=0,state=4),inc_state(table=1))",
    );
    bench.send(1, &udp(1, 2, 80));
    let mut states = vec![];
    for body in bench.multipart(3, &ALL) {
        let mut rest = &body[..];
        while let [_, length, table, key_len, _, _, _, state, ..] = rest {
            if *key_len > 0 {
                states.push((*table, *state));
            }
            rest = &rest[usize::from(*length)..];
        }
    }
    // For table 0, the later action replaces the earlier; table 1's state is set to 3, then
    // incremented.
    assert_eq!(states, [(0, 4), (1, 4)]);
}

#[test]
fn tcp_flags_are_matched_in_the_encodings_of_all_dialects() {
    let tcp = |flags: u8| {
        let mut bytes = udp(1, 2, 80);
        bytes[23] = 6;
        bytes.resize(34, 0);
        bytes.extend([
            0, 1, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x5e, flags, 0, 0, 0, 0, 0, 0,
        ]);
        bytes[16..18].copy_from_slice(&40_u16.to_be_bytes());
        bytes
    };
    let need = [0x80, 0, 0x0a, 2, 8, 0, 0x80, 0, 0x14, 1, 6];
    let onf = [0x4f, 0x4e, 0x46, 0];
    for (oxm, hits) in [
        // BEBA's, which means 9 bits: exact, and masked. ONF's, of 12 bits: the same.
        ([&[0x80, 0, 0x50, 2][..], &[0, 2]].concat(), true),
        ([&[0x80, 0, 0x51, 4][..], &[0, 2, 0, 0x12]].concat(), true),
        (
            [&[0x80, 0, 0x51, 4][..], &[0, 0x10, 0, 0x12]].concat(),
            false,
        ),
        ([&[0xff, 0xff, 0x54, 6][..], &onf, &[0, 2]].concat(), false),
        (
            [&[0xff, 0xff, 0x55, 8][..], &onf, &[0, 2, 0, 0x12]].concat(),
            true,
        ),
    ] {
        let mut bench = Bench::new(Engine::default());
        let output = [0, 0, 0, 16, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];
        let instruction = [&[0, 4, 0, 24, 0, 0, 0, 0], &output[..]].concat();
        bench.say(14, &flow_mod(&[&need[..], &oxm].concat(), &instruction));
        assert_eq!(bench.io.messages, [], "{oxm:x?}");
        // The frame has reserved bits, too: 0xe00.
        let wanted: &[u32] = if hits { &[2] } else { &[] };
        assert_eq!(bench.send(1, &tcp(2)), wanted, "{oxm:x?}");
        assert_eq!(bench.send(1, &tcp(4)), [0u32; 0], "{oxm:x?}");
    }
}
