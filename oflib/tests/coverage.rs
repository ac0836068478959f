//! Every structure that a version has, by the catalogues, has a vector of that version.

use std::collections::BTreeSet;

use crate::common::{Vector, codec_of, vectors_of};
use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::error::ERRORS;
use bofuss_oflib::instruction::{INSTRUCTIONS, Instruction, Instructions};
use bofuss_oflib::message::MESSAGES;
use bofuss_oflib::message::multipart::table_features::PROPERTIES;
use bofuss_oflib::message::multipart::{MULTIPARTS, ReplyBody, RequestBody, TableFeatures};
use bofuss_oflib::version::Span;
use bofuss_oflib::{Action, Match, Message, Version};

use Version::{V1_0, V1_1, V1_2, V1_3, V1_4, V1_5};

/// The versions whose vectors are whole.
const COVERED: [Version; 6] = [V1_0, V1_1, V1_2, V1_3, V1_4, V1_5];

/// Structures by what they are and what they are called.
type Names = BTreeSet<String>;

/// The fields of the matches of 1.0, and those that the match of 1.1 has beside them.
const FIXED_FIELDS: [(Version, &[&str]); 2] = [
    (
        V1_0,
        &[
            "in_port",
            "eth_src",
            "eth_dst",
            "vlan_vid",
            "vlan_pcp",
            "eth_type",
            "ip_dscp",
            "ip_proto",
            "ipv4_src",
            "ipv4_dst",
            "arp_op",
            "arp_spa",
            "arp_tpa",
            "tcp_src",
            "tcp_dst",
            "udp_src",
            "udp_dst",
            "icmpv4_type",
            "icmpv4_code",
        ],
    ),
    (
        V1_1,
        &["sctp_src", "sctp_dst", "mpls_label", "mpls_tc", "metadata"],
    ),
];
/// The last action types of 1.0 and 1.1 but the experimenters': ENQUEUE and DEC_NW_TTL.
const OLD_ACTIONS: [(Version, u16); 2] = [(V1_0, 11), (V1_1, 24)];
/// The places at which 1.0 and 1.1 have the actions and instructions of a FLOW_MOD.
const FLOW_MOD: u8 = 14;
const OLD_FLOW_MOD_BYTES: [usize; 2] = [72, 136];

/// Words of parts that several messages have: bands of meters, what is reported of monitored
/// entries, statistics of entries.
const BANDS: &[&str] = &["type=drop", "type=dscp_remark", "type=experimenter"];
const UPDATES: &[&str] = &[
    "added", "removed", "modified", "abbrev", "paused", "resumed",
];
const STATISTICS: &[&str] = &[
    "duration=",
    "idle_time=",
    "flow_count=",
    "packet_count=",
    "byte_count=",
];

/// Parts of structures that no catalogue lists: how the text of a message that has one begins, the
/// words in it that show the part, and the first and last version that have it.
const PARTS: &[(&str, &[&str], Version, Version)] = &[
    ("OFPT_HELLO", &["versions="], V1_3, V1_5),
    ("OFPT_QUEUE_GET_CONFIG_REPLY", &["min_rate="], V1_0, V1_3),
    (
        "OFPT_QUEUE_GET_CONFIG_REPLY",
        &["max_rate=", "experimenter="],
        V1_2,
        V1_3,
    ),
    ("OFPT_METER_MOD", BANDS, V1_3, V1_5),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_METER_CONFIG",
        BANDS,
        V1_3,
        V1_5,
    ),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_PORT_DESC",
        &["curr=", "optical=[", "experimenters=["],
        V1_4,
        V1_5,
    ),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_PORT_DESC",
        &["pipeline_input=[", "pipeline_output=[", "recirculate=["],
        V1_5,
        V1_5,
    ),
    (
        "OFPT_PORT_MOD",
        &["advertise=", "optical=[", "experimenters=["],
        V1_4,
        V1_5,
    ),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_PORT_STATS",
        &["rx_frame_err=", "optical=[", "experimenters=["],
        V1_4,
        V1_5,
    ),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_QUEUE [",
        &["experimenters=["],
        V1_4,
        V1_5,
    ),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_QUEUE_DESC",
        &["min_rate=", "max_rate=", "experimenter="],
        V1_4,
        V1_5,
    ),
    (
        "OFPT_TABLE_MOD",
        &["eviction=[", "vacancy=[", "experimenters=["],
        V1_4,
        V1_5,
    ),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_TABLE_DESC",
        &["eviction=[", "vacancy=[", "experimenters=["],
        V1_4,
        V1_5,
    ),
    ("OFPT_ROLE_STATUS", &["experimenters=["], V1_4, V1_5),
    (
        "OFPT_SET_ASYNC",
        &[
            "request_forward_slave=",
            "experimenters=[",
            "experimenters_slave=[",
        ],
        V1_4,
        V1_5,
    ),
    (
        "OFPT_GET_ASYNC_REPLY",
        &["role_status=", "table_status=", "request_forward="],
        V1_4,
        V1_5,
    ),
    (
        "OFPT_GET_ASYNC_REPLY",
        &["flow_stats=", "controller_status="],
        V1_5,
        V1_5,
    ),
    ("OFPT_BUNDLE_CONTROL", &["scheduled=["], V1_3, V1_5),
    ("OFPT_BUNDLE_CONTROL", &["experimenters=["], V1_4, V1_5),
    ("OFPT_BUNDLE_ADD_MESSAGE", &["experimenters=["], V1_4, V1_5),
    (
        "OFPT_MULTIPART_REQUEST: OFPMP_BUNDLE_FEATURES",
        &["time_capability=[", "experimenters=["],
        V1_3,
        V1_5,
    ),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_BUNDLE_FEATURES",
        &["time_capability=[", "experimenters=["],
        V1_3,
        V1_5,
    ),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_FLOW_MONITOR",
        UPDATES,
        V1_3,
        V1_5,
    ),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_FLOW_MONITOR",
        UPDATES,
        V1_0,
        V1_0,
    ),
    (
        "OFPT_MULTIPART_REQUEST: OFPMP_FLOW_MONITOR",
        &["command=add", "command=delete"],
        V1_0,
        V1_0,
    ),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_FLOW_MONITOR",
        &["initial"],
        V1_4,
        V1_5,
    ),
    (
        "OFPT_GROUP_MOD",
        &["weight:", "watch_port:", "watch_group:"],
        V1_1,
        V1_5,
    ),
    (
        "OFPT_CONTROLLER_STATUS",
        &["uri=[", "experimenters=["],
        V1_5,
        V1_5,
    ),
    (
        "OFPT_MULTIPART_REPLY: OFPMP_FLOW_STATS",
        STATISTICS,
        V1_5,
        V1_5,
    ),
    ("OFPT_FLOW_MOD", STATISTICS, V1_5, V1_5),
];

/// The errors with which a decoder answers what its version does not have: each with the first and
/// last version that has it.
const UNKNOWN: &[(&str, Version, Version)] = &[
    ("BAD_REQUEST/BAD_TYPE", V1_0, V1_5),
    ("BAD_REQUEST/BAD_MULTIPART", V1_0, V1_5),
    ("BAD_REQUEST/BAD_EXPERIMENTER", V1_0, V1_5),
    ("BAD_ACTION/BAD_TYPE", V1_0, V1_5),
    ("BAD_ACTION/BAD_EXPERIMENTER", V1_0, V1_5),
    ("BAD_INSTRUCTION/UNKNOWN_INST", V1_1, V1_5),
    ("BAD_INSTRUCTION/BAD_EXPERIMENTER", V1_1, V1_5),
    ("BAD_MATCH/BAD_FIELD", V1_2, V1_5),
    ("METER_MOD_FAILED/BAD_BAND", V1_3, V1_5),
    ("TABLE_FEATURES_FAILED/BAD_TYPE", V1_3, V1_3),
    ("BAD_PROPERTY/BAD_TYPE", V1_4, V1_5),
];

#[test]
fn every_structure_of_every_version_has_a_vector() {
    let mut missing = String::new();
    for version in COVERED {
        let vectors = vectors_of(version);
        let shown = shown_by(version, &vectors);
        for name in structures_of(version).difference(&shown) {
            missing += &format!("\n{version} {name}");
        }
    }
    assert!(missing.is_empty(), "no vector for:{missing}");
}

/// Returns the items that a version has by the catalogues and the tables above.
fn structures_of(version: Version) -> Names {
    let mut names = Names::new();
    let has = |span: Span| span.has(version);
    for (_, name, _) in MESSAGES.iter().filter(|row| has(row.2)) {
        names.insert(format!("message {name}"));
    }
    for (_, name, _) in MULTIPARTS.iter().filter(|row| has(row.2)) {
        names.insert(format!("request {name}"));
        names.insert(format!("reply {name}"));
    }
    for row in INSTRUCTIONS.iter().filter(|row| has(row.versions)) {
        names.insert(format!("instruction {}", row.name));
    }
    match OLD_ACTIONS.iter().find(|row| row.0 == version) {
        Some((_, last)) => names.extend((0..=*last).map(|ty| format!("action type {ty}"))),
        None => {
            let rows = ACTIONS.iter().filter(|row| has(row.versions));
            names.extend(rows.map(|row| format!("action {}", row.name)));
        }
    }
    names.insert("action experimenter".into());
    let fixed = FIXED_FIELDS.iter().filter(|row| row.0 <= version);
    if version <= V1_1 {
        names.extend(
            fixed
                .flat_map(|row| row.1)
                .map(|name| format!("field {name}")),
        );
    } else {
        let codec = codec_of(version);
        let rows = codec.catalogue.fields().iter();
        let rows = rows.filter(|row| has(row.versions));
        names.extend(rows.map(|row| format!("field {}", row.name)));
    }
    for row in ERRORS.iter().filter(|row| has(row.versions)) {
        names.insert(format!("error {}", row.type_name));
    }
    if version >= V1_3 {
        let rows = PROPERTIES.iter().filter(|row| has(row.3));
        names.extend(rows.map(|row| format!("table feature {}", row.1)));
    }
    for (error, since, until) in UNKNOWN {
        if (*since..=*until).contains(&version) {
            names.insert(format!("unknown thing that is {error}"));
        }
    }
    for (message, words, since, until) in PARTS {
        if (*since..=*until).contains(&version) {
            names.extend(words.iter().map(|word| format!("part {message}: {word}")));
        }
    }
    names
}

/// Returns the items that the vectors have.
fn shown_by(version: Version, vectors: &[Vector]) -> Names {
    let codec = codec_of(version);
    let mut names = Names::new();
    for vector in vectors {
        if let Some(error) = vector.text.strip_prefix("error ") {
            let (name, _) = error.split_once(' ').expect("a place follows");
            names.insert(format!("unknown thing that is {name}"));
        }
        let Ok((_, message)) = codec.decode(&vector.bytes) else {
            continue;
        };
        for (beginning, words, ..) in PARTS {
            if vector.text.starts_with(beginning) {
                let shown = words.iter().filter(|word| vector.text.contains(**word));
                names.extend(shown.map(|word| format!("part {beginning}: {word}")));
            }
        }
        if version <= V1_1 && vector.bytes[1] == FLOW_MOD {
            note_old_actions(version, &vector.bytes, &mut names);
        }
        note(&message, &mut names);
    }
    names
}

/// Notes the types of the actions of a FLOW_MOD of 1.0 or 1.1.
fn note_old_actions(version: Version, bytes: &[u8], names: &mut Names) {
    if version == V1_0 {
        note_types(&bytes[OLD_FLOW_MOD_BYTES[0]..], names);
        return;
    }
    let mut rest = &bytes[OLD_FLOW_MOD_BYTES[1]..];
    while let Some((ty, body, others)) = typed(rest) {
        // WRITE_ACTIONS and APPLY_ACTIONS.
        if [3, 4].contains(&ty) {
            note_types(&body[4..], names);
        }
        rest = others;
    }
}

fn note_types(mut actions: &[u8], names: &mut Names) {
    while let Some((ty, _, others)) = typed(actions) {
        names.insert(format!("action type {ty}"));
        actions = others;
    }
}

/// The first of several structures that begin with type and length: its type, what follows both,
/// and the others.
fn typed(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (head, _) = bytes.split_at_checked(4)?;
    let ty = u16::from_be_bytes([head[0], head[1]]);
    let length = u16::from_be_bytes([head[2], head[3]]);
    let (one, others) = bytes.split_at(length.into());
    Some((ty, &one[4..], others))
}

fn note(message: &Message, names: &mut Names) {
    names.insert(format!("message {}", message.name()));
    match message {
        Message::Error(error) => {
            let row = ERRORS.iter().find(|row| row.error == error.error);
            names.extend(row.map(|row| format!("error {}", row.type_name)));
        }
        Message::FlowMod(flow) => {
            note_match(&flow.fields, names);
            note_instructions(&flow.instructions, names);
        }
        Message::PacketOut(packet) => note_actions(&packet.actions, names),
        Message::MultipartRequest(request) => {
            names.insert(format!("request {}", request.body.name()));
            if let RequestBody::TableFeatures(tables) = &request.body {
                note_tables(tables, names);
            }
        }
        Message::MultipartReply(reply) => {
            names.insert(format!("reply {}", reply.body.name()));
            note_reply(&reply.body, names);
        }
        _ => {}
    }
}

fn note_reply(body: &ReplyBody, names: &mut Names) {
    match body {
        ReplyBody::Flow(entries) => {
            for entry in entries {
                note_match(&entry.0.fields, names);
                note_instructions(&entry.0.instructions, names);
            }
        }
        ReplyBody::TableFeatures(tables) => note_tables(tables, names),
        _ => {}
    }
}

fn note_tables(tables: &[TableFeatures], names: &mut Names) {
    for property in tables.iter().flat_map(|table| &table.0.properties) {
        let row = PROPERTIES.iter().find(|row| row.0 == property.ty);
        names.extend(row.map(|row| format!("table feature {}", row.1)));
    }
}

fn note_match(fields: &Match, names: &mut Names) {
    let fields = fields.fields().iter();
    names.extend(fields.map(|one| format!("field {}", one.field.name)));
}

fn note_instructions(instructions: &Instructions, names: &mut Names) {
    for instruction in instructions.list() {
        names.insert(format!("instruction {}", instruction.row().name));
        match instruction {
            Instruction::ApplyActions(list) | Instruction::WriteActions(list) => {
                note_actions(list, names);
            }
            _ => {}
        }
    }
}

fn note_actions(actions: &[Action], names: &mut Names) {
    for action in actions {
        let name = action.row().map_or("experimenter", |row| row.name);
        names.insert(format!("action {name}"));
    }
}
