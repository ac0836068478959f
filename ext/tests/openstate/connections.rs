//! Several controllers: dialects, roles, long replies, notifications.

use bofuss_agent::ConnId;
use bofuss_datapath::Engine;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::{Message, Version};

use crate::bench::{Bench, CONN, EXPERIMENTER, udp};
use crate::conformance::{Dialect, enable, extractor, flow_state};

/// OXM header of eth_src.
const ETH_SRC: u32 = 0x8000_0806;
/// A request for the states of all tables, after `exp_type`.
const ALL: [u8; 16] = [0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0];
/// A second controller.
const OTHER: ConnId = ConnId(2);

#[test]
fn a_long_reply_comes_in_parts_with_each_flow_once() {
    const FLOWS: u32 = 2500;
    for (dialect, exp_type, record) in [
        (Dialect::OpenState, 0, 112),
        (Dialect::Beba, 0, 40),
        (Dialect::Beba, 3, 16),
        (Dialect::Opp, 0, 136),
        (Dialect::Opp, 3, 16),
    ] {
        let mut bench = Bench::new(Engine::default());
        enable(&mut bench, dialect, 3, &[ETH_SRC]);
        enable(&mut bench, dialect, 9, &[ETH_SRC]);
        for number in 0..FLOWS {
            let key = [&[2, 0], &number.to_be_bytes()[..]].concat();
            bench.state_mod(3, &flow_state(3, &key, 1 + number));
        }
        assert_eq!(bench.error(), None);
        let mut states = std::collections::BTreeSet::new();
        for body in bench.multipart(exp_type, &ALL) {
            for record in body.chunks_exact(record) {
                let at = match (dialect, exp_type) {
                    (_, 3) => 4,
                    (Dialect::OpenState | Dialect::Opp, _) => 92,
                    (Dialect::Beba, _) => 28,
                };
                let state = record[at..at + 4].try_into().map(u32::from_be_bytes);
                let is_new = states.insert(state.expect("it is 4 bytes"));
                assert!(is_new || record[at..at + 4] == [0; 4]);
            }
        }
        assert!(
            (1..=FLOWS).all(|state| states.contains(&state)),
            "{dialect:?}"
        );
    }
}

#[test]
fn each_controller_gets_records_in_its_own_dialect() {
    let mut bench = Bench::new(Engine::default());
    bench
        .switch
        .connected(bench.now, OTHER, Version::V1_3, true);
    enable(&mut bench, Dialect::Beba, 0, &[ETH_SRC]);
    let say = |bench: &mut Bench, command: u8, payload: &[u8]| {
        let body = [&EXPERIMENTER[..], &[0; 4], &[command, 0], payload].concat();
        bench.say_on(OTHER, 4, &body);
    };
    say(&mut bench, 0, &[1, 1]);
    for command in [1, 2] {
        say(
            &mut bench,
            command,
            &extractor(Dialect::OpenState, 1, 0, &[ETH_SRC]),
        );
    }
    assert_eq!(bench.error(), None);
    // Both controllers get the default records of both tables.
    let lengths = |bench: &mut Bench, conn| {
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
            lengths.push(bytes.len() - 24);
        }
        lengths
    };
    assert_eq!(lengths(&mut bench, CONN), [32, 32]);
    assert_eq!(lengths(&mut bench, OTHER), [112, 112]);
}

#[test]
fn a_slave_reads_states_and_changes_none() {
    let mut bench = Bench::new(Engine::default());
    enable(&mut bench, Dialect::Beba, 0, &[ETH_SRC]);
    bench.flow("actions=output:2");
    // ROLE_REQUEST: slave, generation 1.
    bench.say(24, &[0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    bench.io.messages.clear();
    bench.state_mod(5, &[0, 0, 0, 1, 0, 0, 0, 1]);
    let Some((_, Message::Error(error))) = bench.io.messages.pop() else {
        panic!("it is refused");
    };
    assert_eq!(error.error, BadRequest::IS_SLAVE);
    assert_eq!(bench.multipart(1, &[]), [vec![0; 8]]);
    assert_eq!(bench.multipart(3, &ALL), [vec![0, 8, 0, 0, 0, 0, 0, 0]]);
    assert_eq!(bench.send(1, &udp(1, 2, 80)), [2]);
}

#[test]
fn a_controller_of_beba_is_notified_of_each_flow_mod() {
    let mut bench = Bench::new(Engine::default());
    let add = |bench: &mut Bench| {
        let mut body = vec![0; 22];
        body.extend([0x80, 0]);
        body.extend([0xff; 12]);
        body.extend([0; 4]);
        // A match of eth_type, and GOTO_TABLE 4.
        body.extend([0, 1, 0, 10, 0x80, 0, 0x0a, 2, 8, 0, 0, 0, 0, 0, 0, 0]);
        body.extend([0, 1, 0, 8, 4, 0, 0, 0]);
        bench.say(14, &body);
        std::mem::take(&mut bench.io.messages)
    };
    assert_eq!(add(&mut bench), [], "its dialect is not known yet");
    enable(&mut bench, Dialect::Beba, 0, &[ETH_SRC]);
    let notified = add(&mut bench);
    let [(CONN, message)] = &notified[..] else {
        panic!("one message: {notified:?}");
    };
    let mut bytes = vec![];
    bench
        .codec
        .encode(9, message, &mut bytes)
        .expect("it is short enough");
    assert_eq!(bytes[12..24], [0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 14]);
    assert_eq!(
        bytes[24..40],
        [0, 1, 0, 10, 0x80, 0, 0x0a, 2, 8, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(bytes[40..], [0, 0, 0, 1, 0, 0, 0, 1]);
    enable(&mut bench, Dialect::OpenState, 1, &[ETH_SRC]);
    assert_eq!(add(&mut bench), [], "OpenState has no such message");
}

#[test]
fn subscribers_are_notified_of_states_that_packets_change() {
    let mut bench = Bench::new(Engine::default());
    bench
        .switch
        .connected(bench.now, OTHER, Version::V1_3, true);
    enable(&mut bench, Dialect::Beba, 3, &[ETH_SRC]);
    bench.flow("actions=set_state(table=3,state=7/0xf),inc_state(table=3)");
    bench.send(1, &udp(1, 2, 80));
    assert_eq!(bench.io.messages, [], "no subscriber");
    let subscribe = |wanted| [0, 0x62, 0x6f, 0x66, 0, 0, 0, 16, wanted];
    bench.say_on(OTHER, 4, &subscribe(1));
    bench.send(1, &udp(2, 1, 80));
    let notified = std::mem::take(&mut bench.io.messages);
    let [(OTHER, message)] = &notified[..] else {
        panic!("one message: {notified:?}");
    };
    let mut bytes = vec![];
    bench
        .codec
        .encode(0, message, &mut bytes)
        .expect("it is short enough");
    let numbers = [
        0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 15, 0, 0, 0, 48,
    ];
    assert_eq!(bytes[12..36], numbers);
    assert_eq!(bytes[36..], [&[2, 0, 0, 0, 0, 2][..], &[0; 42]].concat());
    // The packet changes 8 to 7. A controller's own message causes no notification.
    bench.send(1, &udp(2, 1, 80));
    assert_eq!(bench.io.messages.len(), 1);
    bench.io.messages.clear();
    bench.state_mod(3, &flow_state(3, &[2, 0, 0, 0, 0, 2], 7));
    bench.flow("actions=set_state(table=3,state=7)");
    bench.send(1, &udp(2, 1, 80));
    assert_eq!(bench.io.messages, [], "the state stays 7");
    bench.say_on(OTHER, 4, &subscribe(0));
    bench.send(1, &udp(3, 1, 80));
    assert_eq!(bench.io.messages, [], "unsubscribed");
}
