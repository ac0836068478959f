//! An error in a record is reported with its line, and no record makes the program panic.
#![allow(clippy::unwrap_used)]

use bofuss_agent::{ConnId, FailMode, Identity, Request};
use bofuss_datapath::{Config, Time};
use bofuss_embed::record::{
    CUT_MARK, FIRST_LINE, FULL_LINE, FrameDetail, Item, LAST_LINE, NotedStep, Player, RecordError,
    RecordReader, RecordedConfig, RecordedInput, RecordedStep,
};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::Pool;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::multipart::{FlowStatsRequest, RequestBody};
use bofuss_oflib::message::{Empty, FlowMod, MultipartRequest};
use bofuss_oflib::types::{GroupId, TableId};
use bofuss_oflib::{Action, Codec, Match, Message, PortNo, Version};

const SWITCH: &str = "switch 0x0000000000000001 7 0 - {}";
/// Port 1 with its link up.
const PORT: &str = concat!(
    "040c0050000000000200000000000000000000010000000002bf0000000100003100000000000000",
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
);

fn make(config: &RecordedConfig) -> Result<Switch, RecordError> {
    let tables = Config {
        n_tables: 2,
        secret: config.secret,
        cache_flows: 64,
        ..Config::default()
    };
    let catalogue = std::sync::Arc::new(bofuss_ext::catalogue());
    let datapath = Datapath::new(tables, catalogue, Pool::new(1 << 22));
    let identity = Identity::default();
    Ok(Switch::new(
        Time(0),
        datapath,
        identity,
        FailMode::Standalone,
    ))
}

/// The items of a record. Errors: the line, and what is wrong with it.
fn items(text: &str) -> Result<Vec<Item>, String> {
    let mut reader = RecordReader::default();
    let mut items = Vec::new();
    for line in text.lines() {
        let pushed = reader.push(line, &mut items);
        pushed.map_err(|error| format!("{}: {error}", reader.line()))?;
    }
    reader.end(&mut items);
    Ok(items)
}

fn player() -> Player {
    let config = RecordedConfig {
        datapath_id: 1,
        secret: 7,
        epoch_ns: 0,
        profile: Vec::new(),
        options: "{}".into(),
    };
    Player::new(&config, FrameDetail::Whole, Box::new(make)).unwrap()
}

/// Plays a line; what it causes. Errors: what is wrong with it.
fn play_line(player: &mut Player, line: &str) -> Result<Vec<String>, RecordError> {
    let (at, input) = RecordedInput::read(line)?;
    let caused = player.play(at, &input, &[])?;
    Ok(caused.iter().map(ToString::to_string).collect())
}

/// Plays inputs, one a line; what they cause. Errors: the line, and what is wrong.
fn play(lines: &[&str]) -> Result<Vec<String>, String> {
    let mut player = player();
    let mut outputs = Vec::new();
    for (number, line) in (1..).zip(lines) {
        let caused = play_line(&mut player, line);
        outputs.extend(caused.map_err(|error| format!("{number}: {error}"))?);
    }
    Ok(outputs)
}

fn step(line: usize, text: &str, outputs: &[&str], is_whole: bool) -> Item {
    Item::Step(RecordedStep {
        line,
        text: text.into(),
        outputs: outputs.iter().map(ToString::to_string).collect(),
        is_whole,
        ..RecordedStep::default()
    })
}

#[test]
fn a_record_is_runs_of_inputs_with_their_outputs() {
    let text = format!(
        "{FIRST_LINE}\n{SWITCH}\n5 tick\n6 work\n? 0 3\n! pool\n> link 1 up\n! lost 4\n\
         7 tick\n{LAST_LINE}\n{FIRST_LINE}\n{SWITCH}\n8 tick\n{FULL_LINE}\n"
    );
    let found = items(&text).unwrap();
    assert!(matches!(&found[0], Item::Run(config, FrameDetail::Whole) if config.secret == 7));
    assert_eq!(found[1], step(3, "5 tick", &[], true));
    let second = RecordedStep {
        line: 4,
        text: "6 work".into(),
        denied: vec![0, 3],
        pool_is_short: true,
        outputs: vec!["link 1 up".into()],
        is_whole: true,
    };
    assert_eq!(found[2], Item::Step(second));
    assert_eq!(found[3..5], [Item::Lost(4), step(9, "7 tick", &[], true)]);
    assert_eq!(found[6..], [step(13, "8 tick", &[], true), Item::Full]);
}

#[test]
fn what_was_cut_off_is_left_out_and_the_next_run_is_read() {
    let text = format!(
        "{FIRST_LINE}\n{SWITCH}\n5 tick\n6 tick\n> frame 1 0 00{CUT_MARK}\n\
         {FIRST_LINE}\n{SWITCH}\n7 tick\n> link 1 up\n"
    );
    let found = items(&text).unwrap();
    assert_eq!(found[1], step(3, "5 tick", &[], true));
    assert_eq!(found[2], step(4, "6 tick", &[], false));
    assert_eq!(found[4], step(8, "7 tick", &["link 1 up"], false));
}

#[test]
fn wrong_lines_are_told_with_their_place() {
    for (lines, told) in [
        ("", "a record begins with"),
        ("hello", "1: a record begins with 'bofuss-record 1'"),
        (
            "bofuss-record 2",
            "1: the format 2 is not 'bofuss-record 1'",
        ),
        ("bofuss-record 1\n1 tick", "2: 'switch' is missing"),
        ("bofuss-record 1\nswitch", "2: 'switch' is missing"),
        ("bofuss-record 1\nswitch 1 2", "2: '1' is no datapath id"),
        ("bofuss-record 1\nswitch 0x1", "2: the secret is missing"),
        ("bofuss-record 1\np4", "2: 'switch' is missing"),
        ("bofuss-record 1\np4 x", "2: 'x' is no port's number"),
        (
            "bofuss-record 1 headers\np4 -",
            "2: a switch with a P4 program has whole frames",
        ),
        ("bofuss-record 1\nswitch 0x1 1 -1", "2: '-1' is no epoch"),
        (
            "bofuss-record 1\nswitch 0x1 1 1 zz",
            "2: 'zz': no hexadecimal digits",
        ),
        (
            "bofuss-record 1\nswitch 0x1 1 1 0",
            "2: '0': an odd number of digits",
        ),
        (
            "bofuss-record 1\nswitch 0x1 1 1 - {}\n> link 1 up",
            "3: there is no input",
        ),
        (
            "bofuss-record 1\nswitch 0x1 1 1 - {}\n1 tick\n? 2 1",
            "4: the questions' numbers",
        ),
        (
            "bofuss-record 1\nswitch 0x1 1 1 - {}\n1 tick\n? x",
            "4: 'x' is no question's number",
        ),
        (
            "bofuss-record 1\nswitch 0x1 1 1 - {}\n! lost many",
            "3: 'many' is no count",
        ),
    ] {
        match items(lines) {
            Ok(none) => assert!(none.is_empty() && lines.is_empty(), "{lines}"),
            Err(error) => assert!(error.starts_with(told), "{lines}: {error}"),
        }
    }
}

#[test]
fn inputs_that_cannot_be_are_told_and_change_nothing() {
    let port = format!("1 port - {PORT}");
    let none = format!("1 port - {}", PORT.replacen("00000001", "00000000", 1));
    let frame = "00".repeat(60);
    for (line, told) in [
        ("soon tick", "'soon' is no time"),
        ("1", "the input is missing"),
        ("1 jump", "'jump' is no input"),
        ("1 tick now", "unexpected 'now'"),
        ("1 port all -", "'all' is no offload"),
        ("1 port - 0400", "the port: "),
        (&none, "0 is no port's number"),
        ("1 port-gone 2", "there is no port 2"),
        ("1 frames 2 00", "there is no port 2"),
        ("1 frames 1 0g", "'0g': no hexadecimal digits"),
        (
            "1 frames 1 00,checksum=0:1",
            "checksum=0:1 is after the end of the frame",
        ),
        (
            "1 frames 1 00,gso=tcp5:9",
            "'tcp5' is no kind of super-frame",
        ),
        ("1 frames 1 00,gso=tcp4:0", "segments of 0 bytes"),
        ("1 frames 1 00,ecn", "'ecn' is no property of a frame"),
        ("1 connect 1 1.7 tool", "'1.7' is no version"),
        (
            "1 connect 1 1.3 friend",
            "'friend' is not controller or tool",
        ),
        ("1 connect 2 beside 1 1 stream", "there is no connection 1"),
        ("1 message 1 0400000800000001", "there is no connection 1"),
        ("1 wrong 1 0400000800000001", "there is no connection 1"),
        ("1 fail-mode ajar", "'ajar' is no fail mode"),
        ("1 queue 1 1 most=1", "'most': there are min"),
        ("1 reconfigure - -", "the datapath id is missing"),
    ] {
        let error = play(&[&port, line]).unwrap_err();
        assert!(error.starts_with(&format!("2: {told}")), "{line}: {error}");
    }
    let sent = format!("2 frames 1 {frame}");
    assert_eq!(play(&[&port, &sent]).unwrap(), [""; 0]);
}

/// A message of 1.3 in hexadecimal digits.
fn hex(message: &Message) -> String {
    let codec = Codec::new(Version::V1_3, Default::default());
    let mut bytes = Vec::new();
    codec.encode(5, message, &mut bytes).unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A request for entries, which is whole or says that more of it follows.
fn ask_for_entries(more: bool) -> Message {
    let body = RequestBody::Flow(FlowStatsRequest {
        table_id: TableId::ALL,
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        ..FlowStatsRequest::default()
    });
    Message::MultipartRequest(MultipartRequest { body, more })
}

#[test]
fn a_switch_in_use_goes_on_as_if_a_wrong_input_had_not_come() {
    let other_port = PORT.replacen("00000001", "00000002", 1);
    let frame = "02".repeat(60);
    let barrier = hex(&Message::BarrierRequest(Empty));
    let part = hex(&ask_for_entries(true));
    let whole = hex(&ask_for_entries(false));
    let flow = hex(&Message::FlowMod(FlowMod {
        instructions: Instructions::apply(vec![Action::output(PortNo(2))]),
        ..FlowMod::add(Match::ANY)
    }));
    let used = [
        format!("1 port - {PORT}"),
        format!("1 port - {other_port}"),
        "1 connect 4 1.3 controller".into(),
        format!("1 message 4 {flow}"),
        format!("1 frames 1 {frame} {frame}"),
    ];
    let too_many = "00 ".repeat(3000);
    let wrong = [
        ("2 port-gone 9".into(), "there is no port 9"),
        ("2 port-room 9".into(), "there is no port 9"),
        ("2 port-lost 9 1 2 3 4".into(), "there is no port 9"),
        (format!("2 frames 9 {frame}"), "there is no port 9"),
        (
            format!("2 frames 1 {}", too_many.trim_end()),
            "there is no buffer for a frame",
        ),
        (
            "2 connect 5 beside 9 1 stream".into(),
            "there is no connection 9",
        ),
        (format!("2 message 9 {barrier}"), "there is no connection 9"),
        (format!("2 message 4 {part}"), "the message is not whole"),
        (format!("2 message 4 {part}{whole}"), "the message: "),
        (
            format!("2 message 4 {barrier}{barrier}"),
            "there is more than one message",
        ),
        ("2 message 4 04020008".into(), "the message is cut off"),
        ("2 message 4 0463000800000005".into(), "the message: "),
        (
            format!("2 wrong 4 {barrier}"),
            "BARRIER_REQUEST is no ERROR",
        ),
        (
            "2 reconfigure - 9:1:min=1 0x0000000000000001 7 0 - {}".into(),
            "queue 1 of port 9: there is no such port",
        ),
    ];
    let rest = [
        format!("3 message 4 {whole}"),
        format!("3 frames 1 {frame}"),
        format!("3 message 4 {barrier}"),
        "4 port-gone 2".into(),
    ];
    let mut expected = player();
    for line in &used {
        play_line(&mut expected, line).unwrap();
    }
    let mut outputs = Vec::new();
    for line in &rest {
        outputs.extend(play_line(&mut expected, line).unwrap());
    }
    assert_eq!(outputs.len(), 4, "{outputs:?}");
    for (line, text) in &wrong {
        let mut player = player();
        for line in &used {
            play_line(&mut player, line).unwrap();
        }
        let error = play_line(&mut player, line).unwrap_err();
        assert!(error.0.starts_with(text), "{line}: {error}");
        let mut same = Vec::new();
        for line in &rest {
            same.extend(play_line(&mut player, line).unwrap());
        }
        assert_eq!(same, outputs, "{line}");
    }
}

#[test]
fn a_request_does_what_a_message_of_a_record_does() {
    let flow = Message::FlowMod(FlowMod::add(Match::ANY));
    let barrier = Message::BarrierRequest(Empty);
    let (mut recorded, mut asked) = (player(), player());
    for player in [&mut recorded, &mut asked] {
        play_line(player, "1 connect 4 1.3 controller").unwrap();
    }
    let mut answers = 0;
    for message in [flow, ask_for_entries(false), barrier] {
        let caused = play_line(&mut recorded, &format!("2 message 4 {}", hex(&message)));
        let request = Request {
            xid: 5,
            head: &[],
            message: Ok(message),
        };
        let same = asked.play_request(Time(2), ConnId(4), request, &[]);
        let same: Vec<String> = same.iter().map(ToString::to_string).collect();
        answers += same.len();
        assert_eq!(Ok(same), caused);
    }
    assert_eq!(answers, 2);
}

#[test]
fn an_input_is_the_same_after_its_text() {
    let port = format!("9 port checksum,tcp,vlan=2 {PORT}");
    for line in [
        &port,
        "9 port-lost 1 1 2 3 4",
        "9 frames 1 0001 - 020304,checksum=0:1,gso=udp:5,ecn,fragment=7,tunnel=18446744073709551",
        "9 connect 1 1.0 tool",
        "9 connect 2 beside 1 3 datagrams",
        "9 disconnect 1",
        "9 message 1 0400000800000001",
        "9 message 1 0400000800000001 0405",
        "9 wrong 1 0401000800000001",
        "9 work",
        "9 fail-mode standalone",
        "9 forget-addresses",
        "9 queue 1 2 min=200,max=10M,priority=3,weight=7",
        "9 queue-gone 1 2",
        "9 program 7 kept 0a00 7b7d",
        "9 program 7 fresh - 7b7d",
        "9 entries 7b7d",
        "9 write -",
        "9 packet-out 510 0001",
        &format!(
            "9 reconfigure -:{PORT} 1:2:priority=0,weight=1 0x0000000000000001 2 3 00 {{a = 1}}"
        ),
    ] {
        let (at, input) = RecordedInput::read(line).unwrap();
        let step = NotedStep {
            at,
            input,
            denied: Vec::new(),
            pool_is_short: false,
            outputs: Vec::new(),
        };
        let mut text = String::new();
        step.write(&mut text);
        assert_eq!(text, format!("{line}\n"));
    }
}
