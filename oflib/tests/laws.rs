//! Laws over generated values: wire and text both give back what was put in, and no bytes do harm.

use crate::common::generate::{self, Random, encoded, messages, values};
use crate::common::{MODERN, codec, codec_of, hex, is_of_vendor, vectors_of};
use bofuss_oflib::action::{ACTIONS, SetField};
use bofuss_oflib::error::{BadAction, BadMatch, ERRORS};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::group_mod::{GroupMod, GroupModCommand};
use bofuss_oflib::message::multipart::{MultipartReply, PortStats, ReplyBody};
use bofuss_oflib::message::{ErrorMsg, FlowMod, MESSAGES};
use bofuss_oflib::text::{
    parse_actions, parse_flow, parse_group, parse_instructions, parse_match, parse_meter,
};
use bofuss_oflib::wire::{Bytes, Reader, Wire};
use bofuss_oflib::{
    Action, Codec, EncodeError, ErrorCode, Field, FieldMatch, Instruction, Match, Message, Version,
};

fn encode(codec: &Codec, xid: u32, message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec
        .encode(xid, message, &mut bytes)
        .expect("short enough");
    bytes
}

/// A message written and read again. Errors: what cannot be said.
fn again(codec: &Codec, xid: u32, message: &Message) -> Result<Message, EncodeError> {
    let mut bytes = Vec::new();
    codec.encode(xid, message, &mut bytes)?;
    let (again, message) = codec.decode(&bytes).expect("what is written can be read");
    assert_eq!(again, xid);
    Ok(message)
}

#[test]
fn what_the_oldest_versions_can_say_survives_their_wire() {
    for version in [Version::V1_0, Version::V1_1, Version::V1_2] {
        what_is_said_survives(&codec_of(version));
    }
}

fn what_is_said_survives(codec: &Codec) {
    let (mut said, mut flows) = (0, 0);
    let mut random = Random::new(11);
    for (xid, mut message) in messages(6, codec).take(2 * values()) {
        if let Message::FlowMod(flow) = &mut message
            && random.one_in(2)
        {
            flow.instructions = Instructions::apply(generate::actions(&mut random, codec));
        }
        if let Ok(once) = again(codec, xid, &message) {
            said += 1;
            flows += u32::from(matches!(once, Message::FlowMod(_)));
            let bytes = encode(codec, xid, &once);
            let name = if codec.version == Version::V1_0 && is_of_vendor(&once) {
                "EXPERIMENTER"
            } else {
                once.name()
            };
            assert_eq!(codec.version.message_name(bytes[1]), Some(name));
            assert_eq!(again(codec, xid, &once), Ok(once), "{message}");
        }
    }
    assert!(said > values(), "only {said} messages could be said");
    assert!(flows > 10, "only {flows} flow-mods could be said");
}

#[test]
fn replies_and_what_nobody_asked_for_are_from_a_switch() {
    for (ty, name, _) in MESSAGES {
        let told = [
            "PACKET_IN",
            "FLOW_REMOVED",
            "PORT_STATUS",
            "ROLE_STATUS",
            "TABLE_STATUS",
            "REQUESTFORWARD",
            "CONTROLLER_STATUS",
        ];
        let is_from_switch =
            told.contains(name) || name.ends_with("_REPLY") && *name != "ECHO_REPLY";
        assert_eq!(Version::V1_5.is_from_switch(*ty), is_from_switch, "{name}");
    }
}

#[test]
fn errors_of_the_oldest_versions_keep_their_numbers_and_every_other_gets_one_of_them() {
    errors_have_numbers(Version::V1_0, &[2, 9, 9, 6, 2, 3]);
    errors_have_numbers(Version::V1_1, &[2, 10, 13, 6, 8, 7, 9, 4, 2, 3, 2]);
}

/// Fails if an error is written by a number that the version does not have; `counts` says how many
/// codes each type has.
fn errors_have_numbers(version: Version, counts: &[u8]) {
    let codec = codec_of(version);
    for (ty, count) in (0..).zip(counts) {
        for code in 0..*count {
            let bytes = [version.number(), 1, 0, 12, 0, 0, 0, 7, 0, ty, 0, code];
            let (xid, message) = codec.decode(&bytes).expect("it is an error");
            assert_eq!(encode(&codec, xid, &message), bytes, "{message}");
        }
    }
    for row in ERRORS {
        let bytes = encode(
            &codec,
            7,
            &Message::Error(ErrorMsg::quoting(row.error, &[])),
        );
        let count = counts[usize::from(bytes[9])];
        assert!(bytes[11] < count, "{} {bytes:?}", row.code_name);
    }
}

#[test]
fn every_message_survives_the_wire() {
    for codec in MODERN.map(codec_of) {
        for (xid, message) in messages(1, &codec).take(values()) {
            let bytes = encode(&codec, xid, &message);
            assert_eq!(codec.decode(&bytes), Ok((xid, message)));
        }
    }
}

#[test]
fn every_flow_group_and_meter_survives_its_text() {
    for codec in MODERN.map(codec_of) {
        texts_survive(&codec);
    }
}

fn texts_survive(codec: &Codec) {
    let catalogue = &codec.catalogue;
    for (_, message) in messages(2, codec).take(values()) {
        match message {
            Message::FlowMod(flow) => {
                let text = flow.to_string();
                let read = parse_flow(&text, flow.command, catalogue);
                assert_eq!(read.as_ref(), Ok(&flow), "{text}");
                let fields = parse_match(&flow.fields.to_string(), catalogue);
                assert_eq!(fields, Ok(flow.fields));
            }
            Message::GroupMod(mut group) => {
                // People have no words for experimenters' properties.
                group.experimenters.clear();
                for bucket in &mut group.buckets {
                    bucket.experimenters.clear();
                }
                let text = group.to_string();
                assert_eq!(
                    parse_group(&text, group.command, catalogue),
                    Ok(group),
                    "{text}"
                );
            }
            Message::MeterMod(meter) => {
                let text = meter.to_string();
                assert_eq!(parse_meter(&text, meter.command), Ok(meter), "{text}");
            }
            Message::MultipartReply(MultipartReply {
                body: ReplyBody::Flow(list),
                ..
            }) => {
                for one in list {
                    let mut text = String::new();
                    std::fmt::write(
                        &mut text,
                        format_args!("{}", bofuss_oflib::wire::Text(&one)),
                    )
                    .expect("a string takes it");
                    let read = parse_flow(&text, Default::default(), catalogue)
                        .expect("a dump is fed back");
                    let flow = FlowMod {
                        fields: one.0.fields,
                        ..read.clone()
                    };
                    assert_eq!((read.priority, &read), (one.0.priority, &flow), "{text}");
                    assert_eq!(read.instructions, one.0.instructions, "{text}");
                }
            }
            _ => {}
        }
    }
}

#[test]
fn every_action_and_instruction_survives_its_text() {
    let codec = codec_of(Version::V1_4);
    let mut random = Random::new(3);
    for _ in 0..values() {
        let action = generate::action(&mut random, &codec);
        let text = action.to_string();
        let read = parse_actions(&text, &Match::ANY, &codec.catalogue);
        assert_eq!(read, Ok(vec![action]), "{text}");
        let instructions = generate::instructions(&mut random, &codec);
        let text = instructions.to_string();
        let read = parse_instructions(&text, &Match::ANY, &codec.catalogue);
        assert_eq!(read, Ok(instructions), "{text}");
    }
}

// I3
/// What 1.2 and 1.4 have of the vectors of 1.3: the same bytes but for the version.
#[test]
fn what_the_neighbours_of_1_3_share_with_it_is_the_same_on_the_wire() {
    for (version, least) in [(Version::V1_2, 40), (Version::V1_4, 55)] {
        shares_with_1_3(&codec_of(version), least);
    }
}

/// Fails if fewer than `least` of the vectors of 1.3 have the same bytes in another version.
fn shares_with_1_3(other: &Codec, least: usize) {
    let newer = codec();
    let mut shared = 0;
    for vector in vectors_of(Version::V1_3) {
        let Ok((xid, message)) = newer.decode(&vector.bytes) else {
            continue;
        };
        let mut bytes = Vec::new();
        if other.encode(xid, &message, &mut bytes).is_err() {
            continue;
        }
        let (_, again) = other.decode(&bytes).expect("what is written can be read");
        let mut as_newer = bytes.clone();
        as_newer[0] = Version::V1_3.number();
        if as_newer == vector.bytes {
            assert_eq!(again, message, "{}", vector.place);
            shared += 1;
            continue;
        }
        // It says less, or says it elsewhere; what it says is stable.
        let mut rewritten = Vec::new();
        other
            .encode(xid, &again, &mut rewritten)
            .expect("it was said before");
        assert_eq!(bytes, rewritten, "{}", vector.place);
    }
    assert!(shared >= least, "only {shared}");
}

#[test]
fn no_bytes_make_the_decoder_panic_and_what_it_reads_is_stable() {
    for version in Version::ALL {
        no_harm(&codec_of(*version));
    }
}

fn no_harm(codec: &Codec) {
    let mut random = Random::new(4);
    let mut read = 0;
    for (xid, message) in messages(5, codec).take(values()) {
        let mut bytes = Vec::new();
        if codec.encode(xid, &message, &mut bytes).is_err() {
            continue;
        }
        match random.below(4) {
            0 => bytes.truncate(random.below(bytes.len() + 1)),
            1 => bytes.extend(random.bytes(16)),
            _ => {}
        }
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len().max(1));
            bytes
                .get_mut(at)
                .into_iter()
                .for_each(|b| *b = random.number() as u8);
        }
        if let (Some(length), false) = (bytes.get_mut(2..4), random.one_in(8)) {
            length.fill(0);
            let whole = (bytes.len() as u16).to_be_bytes();
            bytes[2..4].copy_from_slice(&whole);
        }
        match codec.decode(&bytes) {
            Ok((xid, message)) => {
                read += 1;
                let _ = message.to_string();
                // An ERROR of another version's peer has that version's numbers.
                if bytes[0] == codec.version.number() {
                    assert_eq!(again(codec, xid, &message), Ok(message));
                }
            }
            Err(error) => {
                assert!(error.error.row().is_some(), "{error}");
                assert!(error.offset <= bytes.len(), "{error}");
            }
        }
    }
    assert!(
        read > values() / 10,
        "only {read} changed messages were messages still"
    );
}

/// Reads a match of one field, in which everything that it needs stands in front.
fn read_field(
    codec: &Codec,
    field: &'static Field,
    change: impl Fn(&mut Vec<u8>),
) -> Result<Match, ErrorCode> {
    let mut needed = Vec::new();
    let mut need = field.need;
    while let Some(this) = need {
        let other = codec.catalogue.fields()[usize::from(this.id)];
        needed.insert(0, FieldMatch::exact(other, u128::from(this.any_of[0])));
        need = other.need;
    }
    let mut list = needed
        .iter()
        .flat_map(|one| oxm(codec, one))
        .collect::<Vec<u8>>();
    let mut last = oxm(codec, &FieldMatch::exact(field, 1));
    change(&mut last);
    list.extend(last);
    let mut bytes = [0, 1].to_vec();
    bytes.extend((4 + list.len() as u16).to_be_bytes());
    bytes.extend(list);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Match::decode(&mut Reader::new(codec, &bytes)).map_err(|e| e.error)
}

fn oxm(codec: &Codec, one: &FieldMatch) -> Vec<u8> {
    let mut w = bofuss_oflib::wire::Writer::new(codec);
    w.put(&SetField(*one));
    w.bytes
}

/// Bytes of an OXM header.
fn header_bytes(field: &Field) -> usize {
    if field.experimenter == 0 { 4 } else { 8 }
}

// I2
#[test]
fn every_field_keeps_the_laws_of_width_mask_and_prerequisite() {
    let (usual, newest) = (codec_of(Version::V1_4), codec_of(Version::V1_5));
    for field in usual.catalogue.fields().iter().copied() {
        let codec = if field.versions.has(Version::V1_4) {
            &usual
        } else {
            &newest
        };
        let head = header_bytes(field);
        let plain = read_field(codec, field, |_| ());
        assert_eq!(
            plain.unwrap().get(field),
            Some(&FieldMatch::exact(field, 1))
        );
        let longer = read_field(codec, field, |oxm| (oxm[3], _) = (oxm[3] + 1, oxm.push(0)));
        assert_eq!(longer, Err(BadMatch::BAD_LEN), "{}", field.name);
        let twice = read_field(codec, field, |oxm| oxm.extend_from_within(..));
        assert_eq!(twice, Err(BadMatch::DUP_FIELD), "{}", field.name);
        let masked = |mask: u8, value: u8| {
            read_field(codec, field, |oxm| {
                oxm[2] |= 1;
                oxm[3] += field.bytes() as u8;
                *oxm.last_mut().unwrap() = value;
                oxm.resize(oxm.len() + field.bytes(), 0);
                *oxm.last_mut().unwrap() = mask;
            })
        };
        if field.maskable {
            let wanted = FieldMatch::masked(field, 1, 1);
            assert_eq!(masked(1, 1).unwrap().get(field), Some(&wanted));
            assert_eq!(masked(1, 3), Err(BadMatch::BAD_WILDCARDS), "{}", field.name);
            assert_eq!(masked(0, 0).unwrap().get(field), None, "{}", field.name);
        } else {
            assert_eq!(masked(1, 1), Err(BadMatch::BAD_MASK), "{}", field.name);
        }
        if !field.bits.is_multiple_of(8) {
            let wide = read_field(codec, field, |oxm| oxm[head] = 0xff);
            assert_eq!(wide, Err(BadMatch::BAD_VALUE), "{}", field.name);
        }
        if field.need.is_some() {
            let alone = Match::new(&[FieldMatch::exact(field, 1)]);
            assert_eq!(alone, Err((BadMatch::BAD_PREREQ, field)));
        }
    }
}

#[test]
fn every_field_is_set_or_refused_as_its_row_says() {
    let codec = codec_of(Version::V1_4);
    for field in codec.catalogue.fields().iter().copied() {
        let value = if field.name == "vlan_vid" { 0x1001 } else { 1 };
        let set = Action::SetField(SetField(FieldMatch::exact(field, value)));
        let bytes = encoded(&codec, &set);
        let read =
            |bytes: &[u8]| Action::decode(&mut Reader::new(&codec, bytes)).map_err(|e| e.error);
        if !field.settable {
            assert_eq!(read(&bytes), Err(BadAction::BAD_SET_TYPE), "{}", field.name);
            continue;
        }
        assert_eq!(read(&bytes), Ok(set));
        let text = Action::set_field(field, value).to_string();
        let by_name = text.replace(field.shown(), field.name);
        let read = |text: &str| parse_actions(text, &Match::ANY, &codec.catalogue);
        assert_eq!(read(&text), read(&by_name), "{text}");
        assert_eq!(read(&text), Ok(vec![Action::set_field(field, value)]));
    }
}

#[test]
fn every_action_reads_and_prints_as_its_example() {
    for row in ACTIONS {
        let mut versions = [Version::V1_3].iter().chain(Version::ALL);
        let Some(version) = versions.find(|one| row.versions.has(**one)) else {
            continue;
        };
        let codec = codec_of(*version);
        let (text, digits) = row.example;
        let action = Action::decode(&mut Reader::new(&codec, &hex(digits))).expect(text);
        assert_eq!(action.to_string(), text);
        assert_eq!(encoded(&codec, &action), hex(digits), "{text}");
        assert_eq!(
            action.row().map(|row| row.number),
            Some(row.number),
            "{text}"
        );
        let read = |text: &str| parse_actions(text, &Match::ANY, &codec.catalogue);
        assert_eq!(read(text), Ok(vec![action.clone()]));
        for alias in row.aliases {
            assert_eq!(
                read(&text.replacen(row.name, alias, 1)),
                Ok(vec![action.clone()])
            );
        }
        let list = Instruction::ApplyActions(vec![action]);
        assert_eq!(encoded(&codec, &list).len(), 8 + hex(digits).len());
    }
}

#[test]
fn every_error_passes_as_a_message_and_has_words() {
    for row in ERRORS {
        let codec = codec_of(row.versions.until);
        let message = Message::Error(ErrorMsg::quoting(row.error, &[4; 99]));
        let bytes = encode(&codec, 1, &message);
        assert_eq!(bytes.len(), 8 + 4 + 64);
        assert_eq!(codec.decode(&bytes), Ok((1, message)));
        assert!(row.error.to_string().contains(row.code_name));
    }
}

#[test]
fn a_long_multipart_is_split_and_joins_again() {
    let codec = codec();
    let list = (0..3_000).map(|n| PortStats {
        rx_packets: n,
        ..PortStats::default()
    });
    let body = ReplyBody::PortStats(list.collect());
    let bytes = encode(&codec, 7, &Message::MultipartReply(body.clone().into()));
    let (mut rest, mut parts) = (bytes.as_slice(), Vec::new());
    while !rest.is_empty() {
        let (one, more) = rest.split_at(u16::from_be_bytes([rest[2], rest[3]]).into());
        match codec.decode(one) {
            Ok((7, Message::MultipartReply(part))) => parts.push(part),
            other => panic!("{other:?}"),
        }
        rest = more;
    }
    assert_eq!(parts.len(), 6);
    assert!(parts[..5].iter().all(|part| part.more) && !parts[5].more);
    let whole = parts
        .into_iter()
        .map(|part| part.body)
        .reduce(|mut whole, part| {
            assert!(whole.join(part));
            whole
        });
    assert_eq!(whole, Some(body));
}

#[test]
fn what_cannot_be_split_is_too_long_and_leaves_no_bytes() {
    let codec = codec();
    let at_limit = Message::EchoRequest(Bytes(vec![0; 65_535 - 8]));
    assert_eq!(encode(&codec, 1, &at_limit).len(), 65_535);
    let mut out = Vec::new();
    let above = Message::EchoRequest(Bytes(vec![0; 65_536 - 8]));
    assert!(codec.encode(1, &above, &mut out).is_err());
    let buckets = vec![bofuss_oflib::message::Bucket::at(0, vec![Action::PopVlan; 100]); 100];
    let group = GroupMod {
        command: GroupModCommand::ADD,
        buckets,
        ..GroupMod::default()
    };
    assert!(
        codec
            .encode(1, &Message::GroupMod(group), &mut out)
            .is_err()
    );
    assert!(out.is_empty());
}
