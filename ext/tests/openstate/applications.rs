//! One application after another on a running switch.

use bofuss_datapath::Engine;
use bofuss_oflib::{ErrorCode, Message};

use crate::bench::{Bench, EXPERIMENTER, udp};
use crate::conformance::{DIALECTS, Dialect, del_state, enable, extractor, flow_state};

/// OXM headers.
const ETH_SRC: u32 = 0x8000_0806;
const IPV4_SRC: u32 = 0x8000_1604;
const UDP_SRC: u32 = 0x8000_1e02;

/// The scopes of two applications: keys of 4 and of 6 bytes.
const SHORT: &[u32] = &[IPV4_SRC];
const LONG: &[u32] = &[ETH_SRC];
/// Keys of 6 bytes, too.
const OTHER: &[u32] = &[IPV4_SRC, UDP_SRC];

/// The text that the log has for a STATE_MOD that is refused with a code.
fn words(bench: &Bench, command: u8, payload: &[u8], code: u16) -> String {
    let length = 18 + payload.len() as u8;
    let head = [4, 4, 0, length, 0, 0, 0, 9];
    let bytes = [&head[..], &EXPERIMENTER, &[0, 0, 0, 0, command, 0], payload].concat();
    let (_, message) = bench.codec.decode(&bytes).expect("it can be read");
    let error = ErrorCode::of_experimenter(u32::from_be_bytes(EXPERIMENTER), code);
    let words = bench.switch.datapath().hooks().explain(&message, error);
    words.unwrap_or_default()
}

#[test]
fn the_next_application_replaces_the_scopes_of_a_table_in_which_no_flow_has_a_state() {
    for first in DIALECTS {
        for next in DIALECTS {
            for (fields, others) in [(SHORT, LONG), (LONG, SHORT), (LONG, OTHER)] {
                let mut bench = Bench::new(Engine::default());
                enable(&mut bench, first, 0, fields);
                bench.flow("priority=1,actions=set_state(table=0,state=3)");
                // It has no state when it ends.
                let key = vec![7; if fields == SHORT { 4 } else { 6 }];
                bench.state_mod(3, &flow_state(0, &key, 5));
                bench.state_mod(4, &del_state(0, key.len() as u32, &key));
                assert_eq!(bench.error(), None);
                bench.is_opp = false;
                enable(&mut bench, next, 0, others);
                bench.flow("priority=9,state=3,actions=output:2");
                bench.flow("priority=1,actions=set_state(table=0,state=3)");
                let ports: Vec<_> = (0..2).map(|_| bench.send(1, &udp(1, 2, 80))).collect();
                let why = format!("{first:?} {fields:?}, {next:?} {others:?}");
                assert_eq!(ports, [vec![], vec![2]], "{why}");
            }
        }
    }
}

#[test]
fn the_scopes_of_a_table_in_which_a_flow_has_a_state_are_kept_and_the_log_says_how_to_replace_them()
{
    let mut bench = Bench::new(Engine::default());
    enable(&mut bench, Dialect::Beba, 0, LONG);
    bench.flow("priority=9,state=3,actions=output:2");
    bench.flow("priority=1,actions=set_state(table=0,state=3)");
    assert_eq!(bench.send(1, &udp(1, 2, 80)), [0u32; 0]);
    bench.state_mod(0, &[0, 1]);
    assert_eq!(bench.error(), None);
    for (dialect, fields) in [(Dialect::Beba, SHORT), (Dialect::OpenState, LONG)] {
        let scope = extractor(dialect, 0, 0, fields);
        bench.state_mod(1, &scope);
        assert_eq!(bench.error(), Some(7), "{dialect:?}");
        let words = words(&bench, 1, &scope, 7);
        let present =
            "table 0 has the dialect beba, keys of eth_src (6 bytes), and states of 1 flows";
        assert!(words.starts_with(present), "{words}");
        assert!(words.contains("after stateful=0 and stateful=1"), "{words}");
    }
    assert_eq!(bench.send(1, &udp(1, 2, 80)), [2], "nothing has changed");
    // The table that is given up for the next application.
    bench.state_mod(4, &del_state(0, 6, &[2, 0, 0, 0, 0, 1]));
    enable(&mut bench, Dialect::OpenState, 0, SHORT);
}

#[test]
fn within_one_start_the_scopes_of_an_empty_table_still_have_to_agree() {
    for dialect in DIALECTS {
        let mut bench = Bench::new(Engine::default());
        enable(&mut bench, dialect, 0, LONG);
        bench.state_mod(0, &[0, 1]);
        bench.state_mod(1, &extractor(dialect, 0, 0, SHORT));
        assert_eq!(bench.error(), None);
        bench.state_mod(2, &extractor(dialect, 0, 0, LONG));
        assert_eq!(bench.error(), Some(7), "{dialect:?}");
    }
}

#[test]
fn an_action_that_the_dialect_of_its_table_lacks_is_explained() {
    let mut bench = Bench::new(Engine::default());
    enable(&mut bench, Dialect::OpenState, 0, LONG);
    let text = "actions=inc_state(table=0)";
    let flow = bofuss_oflib::text::parse_flow(
        text,
        bofuss_oflib::message::FlowModCommand::ADD,
        &bench.codec.catalogue,
    );
    let message = Message::FlowMod(flow.expect(text));
    let error = |code| ErrorCode::of_experimenter(u32::from_be_bytes(EXPERIMENTER), code);
    let datapath = bench.switch.datapath();
    let words = datapath
        .hooks()
        .explain(&message, error(6))
        .unwrap_or_default();
    assert!(
        words.starts_with("table 0 has the dialect openstate"),
        "{words}"
    );
    // Another error has another reason.
    assert_eq!(datapath.hooks().explain(&message, error(8)), None);
}
