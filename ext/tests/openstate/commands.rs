//! The lists of state tables and templates recreate these on another switch.

use bofuss_datapath::Engine;
use bofuss_oflib::ext::BOFUSS;
use bofuss_oflib::message::multipart::{ExtBody, ReplyBody};
use bofuss_oflib::{ExtValue, Message};

use crate::bench::Bench;
use crate::conformance::{Dialect, enable, flow_state};
use crate::opp::condition;

/// OXM headers of ipv4_src and tcp_dst.
const FIELDS: [u32; 2] = [0x8000_1604, 0x8000_1c02];
/// The type of the multipart that lists them, and the name of the message that takes its lines.
const STATES: (u32, &str) = (16, "state_mod");
const TEMPLATES: (u32, &str) = (17, "template_mod");

/// Returns how many parts a list comes in, and its lines: a command each.
fn list(bench: &mut Bench, (ty, _): (u32, &str)) -> (usize, Vec<String>) {
    let head = [0xff, 0xff, 0, 0, 0, 0, 0, 0];
    let request = [&head[..], &BOFUSS.to_be_bytes(), &ty.to_be_bytes()].concat();
    bench.say(18, &request);
    let mut whole: Option<ReplyBody> = None;
    let replies = std::mem::take(&mut bench.io.messages);
    let parts = replies.len();
    for (_, reply) in replies {
        let mut bytes = vec![];
        let written = bench.codec.encode(9, &reply, &mut bytes);
        written.expect("a part is short enough");
        let Ok((_, Message::MultipartReply(read))) = bench.codec.decode(&bytes) else {
            panic!("it reads back: {reply:?}");
        };
        match &mut whole {
            Some(before) => assert!(before.join(read.body)),
            None => whole = Some(read.body),
        }
    }
    let Some(ReplyBody::Experimenter(ExtBody(value))) = whole else {
        panic!("the switch answers");
    };
    let text = value.to_string();
    let inner = text
        .split_once("([")
        .and_then(|(_, inner)| inner.strip_suffix("])"));
    let items = inner.expect("it is a list").split("; ");
    let lines = items.filter(|item| !item.is_empty());
    (parts, lines.map(String::from).collect())
}

/// Sends the commands of these lines to a switch.
fn send(bench: &mut Bench, (_, name): (u32, &str), lines: &[String]) {
    let catalogue = bench.codec.catalogue.clone();
    let rows = bofuss_oflib::ext::ExtKind::Message;
    let row = catalogue.values(rows).find(|row| row.name == name);
    for line in lines {
        let value = ExtValue::parse(row.expect("it is there"), line, &catalogue);
        let message = Message::Experimenter(value.expect(line));
        let mut bytes = vec![];
        let written = bench.codec.encode(9, &message, &mut bytes);
        written.expect("it is short");
        bench.say(4, &bytes[8..]);
        assert_eq!(bench.io.messages, [], "{line}");
    }
}

/// Checks that the commands of a list give another switch what the list is of.
fn recreates(kind: (u32, &str), lines: &[String]) {
    let mut other = Bench::new(Engine::default());
    send(&mut other, kind, lines);
    assert_eq!(list(&mut other, kind).1, lines);
}

#[test]
fn a_list_of_states_recreates_them_on_another_switch() {
    const FLOWS: u32 = 1500;
    let mut bench = Bench::new(Engine::default());
    enable(&mut bench, Dialect::Beba, 3, &FIELDS);
    enable(&mut bench, Dialect::OpenState, 5, &[FIELDS[1]]);
    bench.state_mod(5, &[0, 0, 0, 9, 0, 0, 0, 15]);
    for number in 0..FLOWS {
        let key = [&number.to_be_bytes()[..], &[80, 0]].concat();
        bench.state_mod(3, &flow_state(3, &key, 1 + number));
    }
    bench.state_mod(3, &flow_state(5, &[0x34, 0x12], 7));
    bench.state_mod(0, &[9, 1]);
    bench.state_mod(0, &[9, 0]);
    assert_eq!(bench.error(), None);
    let (parts, lines) = list(&mut bench, STATES);
    assert!(parts > 3, "{parts} parts");
    for line in [
        "set_global_state,global_state=9",
        "set_lookup_extractor,table=5,fields=tcp_dst,openstate",
        "set_flow_state,table=3,key=(ipv4_src=0.0.5.219,tcp_dst=80),state=1500",
        "set_flow_state,table=5,key=(tcp_dst=4660),state=7",
    ] {
        assert!(lines.iter().any(|other| other == line), "{line}");
    }
    assert_eq!(
        lines.last().map(String::as_str),
        Some("table_config,table=9,stateful=0")
    );
    recreates(STATES, &lines);
}

#[test]
fn a_list_whose_first_part_only_configures_goes_on_with_the_first_flow() {
    let mut bench = Bench::new(Engine::default());
    for table in 0..40 {
        enable(&mut bench, Dialect::Opp, table, &[FIELDS[0]]);
        (0..8).for_each(|id| bench.state_mod(8, &condition(table, id, 0, 0, [0, 0])));
    }
    bench.state_mod(3, &flow_state(0, &[10, 0, 0, 1], 7));
    assert_eq!(bench.error(), None);
    let (parts, lines) = list(&mut bench, STATES);
    assert!(parts == 2 && lines.len() > 400, "{parts} parts");
    recreates(STATES, &lines);
}

#[test]
fn a_list_has_the_registers_of_a_table_that_is_off() {
    let mut bench = Bench::new(Engine::default());
    enable(&mut bench, Dialect::Opp, 3, &[FIELDS[0]]);
    bench.state_mod(8, &condition(3, 1, 2, 0, [0, 1]));
    let (_, on) = list(&mut bench, STATES);
    assert!(
        on.iter()
            .any(|line| line.starts_with("set_condition,table=3,id=1"))
    );
    bench.state_mod(0, &[3, 0]);
    let (_, off) = list(&mut bench, STATES);
    let last = "table_config,table=3,stateful=0".to_owned();
    assert_eq!(off, [on, vec![last]].concat());
    recreates(STATES, &off);
}

#[test]
fn a_key_in_text_has_the_bytes_that_keys_of_packets_have() {
    let mut bench = Bench::new(Engine::default());
    // OXM headers of pbb_isid and vlan_vid.
    enable(&mut bench, Dialect::Beba, 3, &[0x8000_4a03, 0x8000_0c02]);
    let key = [5, 0, 0, 0, 9, 0];
    bench.state_mod(3, &flow_state(3, &key, 7));
    let (_, lines) = list(&mut bench, STATES);
    let line = "set_flow_state,table=3,key=(pbb_isid=0x5,vlan_vid=0x9),state=7";
    assert!(lines.iter().any(|other| other == line), "{lines:?}");
    for vid in ["9", "0x1009"] {
        let line = line.replace("vlan_vid=0x9", &format!("vlan_vid={vid}"));
        send(&mut bench, STATES, &[line]);
    }
    assert_eq!(list(&mut bench, STATES).1, lines);
}

#[test]
fn a_list_of_templates_recreates_them_on_another_switch() {
    let mut bench = Bench::new(Engine::default());
    for id in 1..=3u8 {
        let head = [0, 0, 0, 0, 0, id, 0, 0, 0, 0];
        bench.experimenter(
            1,
            &[&head[..], &vec![id; 20_000 * usize::from(id)]].concat(),
        );
    }
    assert_eq!(bench.error(), None);
    let (parts, lines) = list(&mut bench, TEMPLATES);
    assert_eq!((parts, lines.len()), (3, 3));
    recreates(TEMPLATES, &lines);
    // A template that has no room in a part is refused.
    let head = [0, 0, 0, 0, 0, 9, 0, 0, 0, 0];
    bench.experimenter(1, &[&head[..], &[0; 65_001]].concat());
    assert_eq!(bench.error(), Some(11));
}

#[test]
fn an_unknown_command_is_refused_with_a_list_of_those_that_are_there() {
    let catalogue = bofuss_ext::catalogue();
    let rows = bofuss_oflib::ext::ExtKind::Message;
    let row = catalogue.values(rows).find(|row| row.name == "state_mod");
    let parse = |text: &str| ExtValue::parse(row.expect("it is there"), text, &catalogue);
    let refusal = parse("draw")
        .expect_err("there is no such command")
        .to_string();
    let (_, list) = refusal.split_once("; there are ").expect("they are listed");
    let commands: Vec<&str> = list.split(", ").collect();
    for command in &commands {
        if let Err(error) = parse(command) {
            assert!(
                !error.to_string().contains("there is no command"),
                "{command}"
            );
        }
    }
    for (text, _) in crate::vectors::vectors() {
        if let Some(body) = text.strip_prefix("OFPT_EXPERIMENTER: state_mod(") {
            let command = body.split([',', ')']).next().expect("it has a first word");
            assert!(commands.contains(&command), "{text}");
        }
    }
    // A table does not go off because a word was forgotten.
    assert!(parse("table_config,table=1").is_err());
    assert!(parse("table_config,table=1,stateful=2").is_err());
}
