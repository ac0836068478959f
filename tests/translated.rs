//! What ovs-ofctl makes of a flow's text, dpctl makes of it: messages that mean the same.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use bofuss_oflib::action::SetField;
use bofuss_oflib::field::{VID_PRESENT, VLAN_VID};
use bofuss_oflib::handshake::Handshake;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::multipart::{ReplyBody, RequestBody};
use bofuss_oflib::message::{Empty, Features, FlowMod};
use bofuss_oflib::text::parse_actions;
use bofuss_oflib::{
    Action, Catalogue, Codec, FieldMatch, HEADER_BYTES, Instruction, Match, Message, Version,
};
use bofuss_tests::{have, printed, program, run};

/// The texts of which the flows are made.
const TEXTS: &str = include_str!("../testdata/dpctl/translated.ovs");

/// A version that is compared, with the option that selects it.
type SpokenVersion = (Version, &'static str);
/// The versions that are always compared.
const VERSIONS: [SpokenVersion; 2] = [
    // The oldest and the newest.
    (Version::V1_0, "OpenFlow10"),
    (Version::V1_5, "OpenFlow15"),
];
/// Those of the long tier.
const FURTHER_VERSIONS: [SpokenVersion; 2] =
    [(Version::V1_3, "OpenFlow13"), (Version::V1_4, "OpenFlow14")];

/// In each version, at least this many flows are the same.
const LEAST_SAME: usize = 60;

/// The errors of dpctl for a flow for which ovs-ofctl needs more than OpenFlow has: one of these.
const REASONS: &[&str] = &[
    "one of Nicira's extensions",
    "only Nicira's extensions set it so",
    "this OpenFlow version cannot say",
    // Standard fields, which Open vSwitch has with masks, in RARP, or can set.
    "takes no mask",
    "needs arp beside it",
    "no field that can be set",
    // A name of ovs-ofctl for more than one field, and a mask of a part of one.
    "there is no field 'nw_tos'",
    "the mask must take all priority bits or none",
];

/// Flows of which ovs-ofctl silently sends only a part, or a resubmit in place of goto_table, as
/// the version does not have the rest. dpctl refuses them.
const PARTLY: &[&str] = &[
    "goto_table",
    "importance=",
    "write_actions",
    "clear_actions",
    "sctp,actions=mod_tp",
    "rarp,arp_tpa",
    "/",
];

/// Flows for which ovs-ofctl needs extensions or breaks OpenFlow's rules for masks, where dpctl
/// sends standard OpenFlow.
const STANDARD: &[&str] = &["xreg", "load:", "set_queue", "set_field"];

/// Returns what a line of [`TEXTS`] makes.
fn flows(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let (kind, name, needs, value, mask) = match words[..] {
        [kind, name, needs, value] => (kind, name, needs, value, None),
        [kind, name, needs, value, mask] => (kind, name, needs, value, Some(mask)),
        _ => return vec![line.to_string()],
    };
    let needs = if needs == "-" { "" } else { needs };
    let mut flows = Vec::new();
    if kind != "set" {
        flows.push(format!("{needs},{name}={value},actions=output:2"));
        flows.extend(mask.map(|mask| format!("{needs},{name}={value}/{mask},actions=output:2")));
    }
    if kind == "matched" {
        return flows;
    }
    let mut act = |action: String| flows.push(format!("{needs},actions={action},output:2"));
    act(format!("set_field:{value}->{name}"));
    // A mask of a single number would be a prefix length, which set_field does not have.
    if let Some(mask) = mask.filter(|mask| mask.len() > 2) {
        act(format!("set_field:{value}/{mask}->{name}"));
    }
    if !value.contains([':', '.']) {
        act(format!("load:{value}->{name}[]"));
    }
    act(format!("load:1->{name}[0]"));
    act(format!("move:{name}[0]->metadata[3]"));
    act(format!("move:metadata[0]->{name}[0]"));
    flows
}

fn all_flows() -> Vec<String> {
    let lines = TEXTS.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.flat_map(flows).collect()
}

/// The words and messages of a program.
struct Attempt {
    success: bool,
    text: String,
    /// Its messages but for what every connection has.
    sent: Vec<Vec<u8>>,
}

/// Whatever a program may ask before it adds a flow, answered by a switch without ports.
fn answer(message: &Message) -> Option<Message> {
    Some(match message {
        Message::BarrierRequest(_) => Message::BarrierReply(Empty),
        Message::FeaturesRequest(_) => Message::FeaturesReply(Features::default()),
        Message::MultipartRequest(request) if matches!(request.body, RequestBody::PortDesc(_)) => {
            Message::MultipartReply(ReplyBody::PortDesc(Vec::new()).into())
        }
        _ => return None,
    })
}

fn received(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; HEADER_BYTES];
    stream.read_exact(&mut bytes)?;
    bytes.resize(u16::from_be_bytes([bytes[2], bytes[3]]).into(), 0);
    stream.read_exact(&mut bytes[HEADER_BYTES..])?;
    Ok(bytes)
}

/// Serves the first connection, and appends to `sent` what it does not answer.
fn serve(listener: &TcpListener, version: Version, sent: &mut Vec<Vec<u8>>) -> std::io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    let handshake = Handshake::new(&[version], Arc::new(Catalogue::default()));
    stream.write_all(&handshake.hello())?;
    let hello = received(&mut stream)?;
    let codec = handshake.judge(&hello).map_err(std::io::Error::other)?;
    loop {
        let bytes = received(&mut stream)?;
        let decoded = codec.decode(&bytes).ok();
        let reply = decoded.and_then(|(xid, message)| Some((xid, answer(&message)?)));
        let Some((xid, reply)) = reply else {
            sent.push(bytes);
            continue;
        };
        let mut bytes = Vec::new();
        codec
            .encode(xid, &reply, &mut bytes)
            .map_err(std::io::Error::other)?;
        stream.write_all(&bytes)?;
    }
}

/// Has a program add a flow to a switch that records what it gets.
fn attempt(version: Version, command: &mut Command, flow: &str) -> Attempt {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let switch = thread::spawn(move || {
        let mut sent = Vec::new();
        // It ends with an error when the program closes the connection.
        let _ = serve(&listener, version, &mut sent);
        sent
    });
    command.args(["add-flow", &format!("tcp:{address}"), flow]);
    let output = run(command);
    // The switch still waits for a program that refused the flow at once.
    drop(TcpStream::connect(address));
    Attempt {
        success: output.status.success(),
        text: printed(&output),
        sent: switch.join().unwrap(),
    }
}

/// The action as its text makes it: of the two that text has in one form, the newer one.
fn as_read(action: &Action) -> Action {
    if !matches!(action, Action::Experimenter(_)) {
        return action.clone();
    }
    let read = parse_actions(&action.to_string(), &Match::ANY, &bofuss_ext::catalogue());
    read.unwrap().pop().unwrap()
}

/// Joins set-fields of the same field: a mask with gaps is several actions of Nicira's. A tag is
/// always present where its VLAN is set.
fn joined(list: &[Action]) -> Vec<Action> {
    let mut joined: Vec<Action> = Vec::new();
    for action in list {
        let Action::SetField(SetField(one)) = action else {
            joined.push(as_read(action));
            continue;
        };
        let present = if one.field == VLAN_VID {
            u128::from(VID_PRESENT)
        } else {
            0
        };
        let mut value = one.number() | present;
        let mut mask = one.mask_number() | present;
        if let Some(Action::SetField(SetField(last))) = joined.last()
            && last.field == one.field
        {
            value |= last.number() & !mask;
            mask |= last.mask_number();
            joined.pop();
        }
        let whole = FieldMatch::masked(one.field, value, mask);
        joined.push(Action::SetField(SetField(whole)));
    }
    joined
}

/// Returns what the bytes of a flow-mod mean. Errors: OpenFlow does not have it so.
fn meaning(version: Version, bytes: &[u8]) -> Result<FlowMod, String> {
    let codec = Codec::new(version, Arc::new(bofuss_ext::catalogue()));
    let decoded = codec.decode(bytes).map_err(|error| error.to_string())?;
    let Message::FlowMod(mut flow) = decoded.1 else {
        return Err(decoded.1.name().to_string());
    };
    let mut list = flow.instructions.list().to_vec();
    for one in &mut list {
        if let Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) = one {
            *actions = joined(actions);
        }
    }
    flow.instructions = Instructions::new(list).unwrap();
    // OpenFlow 1.0's match also has the bytes that count for nothing.
    flow.fields = Match::new(flow.fields.fields()).unwrap();
    Ok(flow)
}

/// The comparison of both programs' attempts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Same,
    /// ovs-ofctl needs extensions, and dpctl says so.
    Refused,
    /// dpctl sends standard OpenFlow, and ovs-ofctl does not.
    Standard,
    /// ovs-ofctl has no such flow in this version.
    Unknown,
}

/// Errors: how they differ.
fn compare((version, option): SpokenVersion, flow: &str) -> Result<Verdict, String> {
    let mut ofctl = Command::new("ovs-ofctl");
    ofctl.args(["-O", option, "--no-names"]);
    if version == Version::V1_0 {
        ofctl.args(["-F", "openflow10"]);
    }
    let theirs = attempt(version, &mut ofctl, flow);
    let ours = attempt(
        version,
        Command::new(program("dpctl")).args(["-O", option]),
        flow,
    );
    let differ = |what: &str| {
        Err(format!(
            "{option} {flow}: {what}\n  ovs-ofctl: {} {:02x?}\n  dpctl: {} {:02x?}",
            theirs.text, theirs.sent, ours.text, ours.sent
        ))
    };
    if ours.success != (ours.sent.len() == 1) || ours.text.contains("panicked") {
        return differ("dpctl neither sends nor refuses it");
    }
    if !theirs.success {
        return Ok(Verdict::Unknown);
    }
    let our_meaning = ours.sent.first().map(|bytes| meaning(version, bytes));
    let contains = |parts: &[&str]| parts.iter().any(|part| flow.contains(part));
    let has_reason = REASONS.iter().any(|reason| ours.text.contains(reason));
    match (meaning(version, &theirs.sent[0]), our_meaning) {
        (Ok(theirs), Some(Ok(ours))) if theirs == ours => Ok(Verdict::Same),
        (Err(_), Some(Ok(_))) if contains(STANDARD) => Ok(Verdict::Standard),
        (Err(_), None) if has_reason => Ok(Verdict::Refused),
        (Ok(_), None) if has_reason && contains(PARTLY) => Ok(Verdict::Refused),
        (theirs, ours) => differ(&format!("{theirs:?}\n{ours:?}")),
    }
}

#[test]
fn flows_are_sent_as_ovs_ofctl_sends_them_or_refused_as_nicira_s() {
    are_translated_as_by_ovs_ofctl(VERSIONS);
}

#[test]
#[ignore = "long: further versions"]
fn flows_of_further_versions_are_sent_as_ovs_ofctl_sends_them() {
    are_translated_as_by_ovs_ofctl(FURTHER_VERSIONS);
}

fn are_translated_as_by_ovs_ofctl(versions: [SpokenVersion; 2]) {
    if !have(&["ovs-ofctl"]) {
        return;
    }
    let flows = all_flows();
    let mut wrong = Vec::new();
    thread::scope(|scope| {
        let compared = versions.map(|version| {
            let flows = &flows;
            scope.spawn(move || {
                flows
                    .iter()
                    .map(|flow| compare(version, flow))
                    .collect::<Vec<_>>()
            })
        });
        for (thread, (version, _)) in compared.into_iter().zip(versions) {
            let verdicts = thread.join().unwrap();
            let count = |verdict| verdicts.iter().filter(|one| **one == Ok(verdict)).count();
            let same = count(Verdict::Same);
            println!(
                "{version}: {same} the same, {} need extensions, {} do not for dpctl, {} unknown",
                count(Verdict::Refused),
                count(Verdict::Standard),
                count(Verdict::Unknown)
            );
            if same < LEAST_SAME {
                wrong.push(format!("{version}: only {same} are the same"));
            }
            wrong.extend(verdicts.into_iter().filter_map(Result::err));
        }
    });
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn an_output_through_a_queue_chooses_queue_0_again_instead_of_nicira_s_pop() {
    let dpctl = |option| {
        let mut dpctl = Command::new(program("dpctl"));
        dpctl.args(["-O", option]);
        dpctl
    };
    let actions = [
        Action::SetQueue(bofuss_oflib::types::QueueId(2)),
        Action::output(bofuss_oflib::PortNo(1)),
        Action::SetQueue(bofuss_oflib::types::QueueId(0)),
    ];
    let wanted = FlowMod {
        instructions: Instructions::apply(actions.to_vec()),
        ..FlowMod::add(Match::ANY)
    };
    for (version, option) in [VERSIONS[1], FURTHER_VERSIONS[0], FURTHER_VERSIONS[1]] {
        let ours = attempt(version, &mut dpctl(option), "actions=enqueue:1:2");
        assert_eq!(
            meaning(version, &ours.sent[0]),
            Ok(wanted.clone()),
            "{option}"
        );
    }
}
