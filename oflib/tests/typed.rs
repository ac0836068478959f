//! Experimenter values that another crate declares as structures: a message with a match and a list
//! of actions, an action with actions in it, a multipart body that is a list.

use std::sync::Arc;

use bofuss_oflib::action::{Output, SetField};
use bofuss_oflib::assemble::Assembler;
use bofuss_oflib::error::{BadAction, BadRequest};
use bofuss_oflib::ext::{ExtKind, ExtRow, MAX_NESTED, TypedBody};
use bofuss_oflib::field::{ETH_TYPE, IPV4_DST, TCP_DST};
use bofuss_oflib::message::multipart::{ExtBody, ReplyBody};
use bofuss_oflib::message::{ErrorMsg, MultipartReply};
use bofuss_oflib::text::{Actions, parse_actions, parse_match};
use bofuss_oflib::types::{MaxLen, TableId};
use bofuss_oflib::wire::{Reader, Text, TextForm, Wire, Writer};
use bofuss_oflib::{
    Action, Catalogue, Codec, DecodeError, ErrorCode, ExtValue, FieldMatch, Match, Message,
    ParseError, PortNo, Version,
};

const EXPERIMENTER: u32 = 0x00b0_f056;

static ROWS: [ExtRow; 3] = [
    ExtRow::typed::<Learn>(ExtKind::Message, EXPERIMENTER, 1, "learn"),
    ExtRow::typed::<Copies>(ExtKind::Action, EXPERIMENTER, 1, "copies"),
    ExtRow::typed::<States>(ExtKind::Multipart, EXPERIMENTER, 1, "states"),
];

/// The treatment of packets like one from now on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Learn {
    table_id: TableId,
    fields: Match,
    actions: Vec<Action>,
}

impl Wire for Learn {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table_id = r.at("table_id").get()?;
        r.take(7)?;
        Ok(Self {
            table_id,
            fields: r.at("fields").get()?,
            actions: r.at("actions").get()?,
        })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.table_id).pad(7);
        w.put(&self.fields).put(&self.actions);
    }
}

impl TextForm for Learn {
    fn text(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let actions = Actions(&self.actions);
        let fields = Text(&self.fields);
        write!(
            f,
            "table={},match={fields},actions=({actions})",
            self.table_id
        )
    }
}

impl TypedBody for Learn {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let inner = text
            .strip_prefix("table=")
            .and_then(|t| t.strip_suffix(')'));
        let (table, rest) = inner
            .and_then(|t| t.split_once(",match={"))
            .ok_or("no table")?;
        let (fields, actions) = rest.split_once("},actions=(").ok_or("no actions")?;
        let fields = parse_match(fields, catalogue).map_err(|e| e.to_string())?;
        let actions = parse_actions(actions, &fields, catalogue).map_err(|e| e.to_string())?;
        Ok(Self {
            table_id: table.parse().map_err(|()| "no such table")?,
            fields,
            actions,
        })
    }
}

/// Applies actions to so many copies of a packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Copies {
    count: u16,
    actions: Vec<Action>,
}

impl Wire for Copies {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = r.at("count").get()?;
        let bytes = r.at("actions_len").get::<u16>()?;
        Ok(Self {
            count,
            actions: Action::decode_list(r, bytes.into())?,
        })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.count).put(&0u16);
        let start = w.bytes.len();
        w.put(&self.actions).patch_length(start, start - 2);
    }
}

impl TextForm for Copies {
    fn text(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{}", self.count, Actions(&self.actions))
    }
}

impl TypedBody for Copies {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let (count, actions) = text.split_once(',').ok_or("no count")?;
        Ok(Self {
            count: count.parse().map_err(|_| "no number")?,
            actions: parse_actions(actions, &Match::ANY, catalogue).map_err(|e| e.to_string())?,
        })
    }
}

/// The states of some flows: the key's bytes, and the state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct States(Vec<u64>);

impl Wire for States {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.get().map(Self)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.0);
    }
}

impl TextForm for States {
    fn text(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.text(f)
    }
}

impl TypedBody for States {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("only a switch says it".into())
    }
    fn join(&mut self, mut part: Self) -> bool {
        self.0.append(&mut part.0);
        true
    }
}

fn codec(version: Version) -> Codec {
    let mut catalogue = Catalogue::default();
    let added = catalogue.add("test", &[], &ROWS);
    added.expect("no other has such rows");
    Codec::new(version, Arc::new(catalogue))
}

fn copies(count: u16, actions: Vec<Action>) -> Action {
    Action::Experimenter(ExtValue::typed(&ROWS[1], Copies { count, actions }))
}

fn learn() -> Learn {
    let of = |field, value| FieldMatch::exact(field, value);
    Learn {
        table_id: TableId(3),
        fields: Match::new(&[of(ETH_TYPE, 0x800), of(IPV4_DST, 0x0a00_0001)])
            .expect("it is a match"),
        actions: vec![
            copies(2, vec![Action::DecNwTtl, Action::output(PortNo(7))]),
            Action::SetField(SetField(of(IPV4_DST, 0x0a00_0002))),
            Action::Output(Output {
                port: PortNo::CONTROLLER,
                max_len: MaxLen::NO_BUFFER,
            }),
        ],
    }
}

#[test]
fn a_message_with_a_match_and_nested_actions_is_written_and_read() {
    for version in [Version::V1_2, Version::V1_3] {
        let codec = codec(version);
        let message = Message::Experimenter(ExtValue::typed(&ROWS[0], learn()));
        let mut bytes = Vec::new();
        codec.encode(9, &message, &mut bytes).unwrap();
        assert_eq!(codec.decode(&bytes), Ok((9, message.clone())));
        let Message::Experimenter(value) = message else {
            unreachable!()
        };
        assert_eq!(value.body::<Learn>(), Some(&learn()));
        assert_eq!(value.body::<Copies>(), None);
    }
}

#[test]
fn a_typed_action_is_written_read_printed_and_parsed() {
    let codec = codec(Version::V1_3);
    let text = "copies(2,dec_ttl,copies(3,output:1))";
    let actions = parse_actions(text, &Match::ANY, &codec.catalogue).unwrap();
    let inner = copies(3, vec![Action::output(PortNo(1))]);
    assert_eq!(actions, [copies(2, vec![Action::DecNwTtl, inner])]);
    assert_eq!(Actions(&actions).to_string(), text);

    let mut w = Writer::new(&codec);
    w.put(&actions);
    assert_eq!(w.bytes.len() % 8, 0, "actions are padded");
    assert_eq!(Reader::new(&codec, &w.bytes).get(), Ok(actions));

    let value = ExtValue::typed(&ROWS[0], learn());
    let text = value.to_string();
    let inner = text
        .strip_prefix("learn(")
        .and_then(|t| t.strip_suffix(')'))
        .unwrap();
    assert_eq!(
        ExtValue::parse(&ROWS[0], inner, &codec.catalogue),
        Ok(value),
        "{text}"
    );
}

#[test]
fn values_differ_and_hash_by_their_bodies() {
    use std::collections::HashSet;
    let some = |count| copies(count, vec![Action::DecNwTtl]);
    assert_ne!(some(1), some(2));
    let set: HashSet<Action> = [some(1), some(2), some(1)].into();
    assert_eq!(set.len(), 2);
}

fn error(codec: &Codec, bytes: &[u8]) -> (ErrorCode, &'static str) {
    let error = codec.decode(bytes).expect_err("it is wrong");
    (error.error, error.field)
}

#[test]
fn what_is_wrong_in_a_body_has_its_own_error_and_place() {
    let codec = codec(Version::V1_3);
    let message = Message::Experimenter(ExtValue::typed(&ROWS[0], learn()));
    let mut bytes = Vec::new();
    codec.encode(9, &message, &mut bytes).unwrap();
    for length in 16..bytes.len() {
        let mut cut = bytes[..length].to_vec();
        cut[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        // Between two actions, a shorter list ends.
        if let Err(error) = codec.decode(&cut) {
            assert!(error.error.row().is_some(), "{error}");
        }
    }
    let mut cut = bytes[..20].to_vec();
    cut[3] = 20;
    assert_eq!(error(&codec, &cut), (BadRequest::BAD_LEN, "table_id"));

    let alone = FieldMatch::exact(TCP_DST, 80);
    let mut wrong = Vec::new();
    let mut value = learn();
    value.actions = vec![Action::SetField(SetField(alone)), Action::PopVlan];
    let message = Message::Experimenter(ExtValue::typed(&ROWS[0], value));
    codec.encode(9, &message, &mut wrong).unwrap();
    let last = wrong.len() - 8;
    wrong[last + 1] = 0xee;
    assert_eq!(error(&codec, &wrong), (BadAction::BAD_TYPE, "action type"));
}

#[test]
fn bodies_stand_so_deep_within_each_other_and_no_deeper() {
    let codec = codec(Version::V1_3);
    let nested = |depth| {
        let mut action = Action::DecNwTtl;
        for _ in 0..depth {
            action = copies(1, vec![action]);
        }
        action
    };
    for (depth, is_read) in [(MAX_NESTED, true), (MAX_NESTED + 1, false)] {
        let action = nested(depth);
        let mut w = Writer::new(&codec);
        w.put(&action);
        let read = Reader::new(&codec, &w.bytes).get::<Action>();
        let text = parse_actions(&action.to_string(), &Match::ANY, &codec.catalogue);
        if is_read {
            assert_eq!(read.as_ref(), Ok(&action));
            assert_eq!(text, Ok(vec![action]));
        } else {
            assert_eq!(read.unwrap_err().error, BadAction::TOO_MANY);
            assert!(text.unwrap_err().message.contains("within each other"));
        }
    }
}

#[test]
fn a_multipart_body_that_is_a_list_goes_in_parts_and_is_joined() {
    let codec = codec(Version::V1_3);
    let reply = |count| {
        let value = ExtValue::typed(&ROWS[2], States((0..count).collect()));
        let body = ReplyBody::Experimenter(ExtBody(value));
        Message::MultipartReply(MultipartReply::from(body))
    };
    for count in [1000, 9000, 50_000] {
        let mut bytes = Vec::new();
        codec.encode(1, &reply(count), &mut bytes).unwrap();
        let mut whole = Assembler::new(codec.clone(), 1 << 20);
        let mut rest = &bytes[..];
        let mut parts = 0;
        while !rest.is_empty() {
            let length = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
            let (part, behind) = rest.split_at(length);
            (rest, parts) = (behind, parts + 1);
            let joined = whole.receive(part).expect("each part is right");
            let wanted = rest.is_empty().then(|| (1, reply(count)));
            assert_eq!(joined, wanted, "part {parts}");
        }
        assert_eq!(parts, count.div_ceil(8189), "{count} states of 8 bytes");
    }
}

#[test]
fn a_body_whose_list_stands_behind_something_is_not_divided() {
    static SUMMARY: [ExtRow; 1] = [ExtRow::typed::<Learn>(ExtKind::Multipart, 7, 1, "summary")];
    let mut catalogue = Catalogue::default();
    let added = catalogue.add("test", &[], &SUMMARY);
    added.expect("no other has such rows");
    let codec = Codec::new(Version::V1_3, Arc::new(catalogue));
    let mut value = learn();
    value.actions = vec![Action::DecNwTtl; 9000];
    let body = ReplyBody::Experimenter(ExtBody(ExtValue::typed(&SUMMARY[0], value)));
    let message = Message::MultipartReply(MultipartReply::from(body));
    assert!(codec.encode(1, &message, &mut Vec::new()).is_err());
}

/// A row with errors of its own, as the stateful extensions have them.
const BAD_TYPE: ErrorCode = ErrorCode::of_experimenter(0xbeba_beba, 5);
const BAD_LENGTH: ErrorCode = ErrorCode::of_experimenter(0xbeba_beba, 7);
const BAD_COUNT: ErrorCode = ErrorCode::of_experimenter(0xbeba_beba, 16);
static OWN: [ExtRow; 2] = [
    ExtRow::typed::<Count>(ExtKind::Message, 0xbeba_beba, 1, "count")
        .with_errors(BAD_TYPE, BAD_LENGTH),
    ExtRow::typed::<Count>(ExtKind::Action, 0xbeba_beba, 1, "count")
        .with_errors(BAD_TYPE, BAD_LENGTH),
];

/// A number to 9.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Count(u32);

impl Wire for Count {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_count = r.at("count").clone();
        match r.get()? {
            count @ 0..=9 => Ok(Self(count)),
            _ => Err(at_count.err(BAD_COUNT)),
        }
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.0);
    }
}

impl TextForm for Count {
    fn text(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl TypedBody for Count {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let number = text.parse().map_err(|_| "no number")?;
        Ok(Self(number))
    }
}

#[test]
fn an_experimenter_has_errors_of_its_own() {
    let mut catalogue = Catalogue::default();
    let added = catalogue.add("test", &[], &OWN);
    added.expect("no other has such rows");
    let codec = Codec::new(Version::V1_3, Arc::new(catalogue));
    let message = |body: &[u8]| {
        let mut bytes = vec![
            4,
            4,
            0,
            12 + body.len() as u8,
            0,
            0,
            0,
            1,
            0xbe,
            0xba,
            0xbe,
            0xba,
        ];
        bytes.extend(body);
        codec.decode(&bytes).map_err(|error| error.error)
    };
    assert!(message(&[0, 0, 0, 1, 0, 0, 0, 9]).is_ok());
    assert_eq!(message(&[0, 0, 0, 2, 0, 0, 0, 9]), Err(BAD_TYPE));
    assert_eq!(message(&[0, 0, 0, 1, 0, 0, 0]), Err(BAD_LENGTH));
    assert_eq!(message(&[0, 0, 0, 1, 0, 0, 0, 9, 0]), Err(BAD_LENGTH));
    assert_eq!(message(&[0, 0, 0, 1, 0, 0, 0, 10]), Err(BAD_COUNT));
    let action = |body: &[u8]| {
        let mut bytes = vec![0xff, 0xff, 0, 8 + body.len() as u8, 0xbe, 0xba, 0xbe, 0xba];
        bytes.extend(body);
        let mut r = Reader::new(&codec, &bytes);
        r.get::<Action>().map_err(|error| error.error)
    };
    assert!(action(&[0, 0, 0, 1, 0, 0, 0, 9]).is_ok());
    assert_eq!(action(&[0, 0, 0, 10, 0, 0, 0, 9]), Err(BAD_TYPE));
    assert_eq!(action(&[0, 0, 0, 1, 0, 0, 0, 11]), Err(BAD_COUNT));
    assert_eq!(
        action(&[0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0]),
        Err(BAD_LENGTH)
    );
}

#[test]
fn an_error_names_the_experimenter_whose_it_is() {
    let error = ErrorMsg::quoting(BAD_LENGTH, &[4, 4, 0, 8]);
    let in_version = |version| {
        let codec = codec(version);
        let mut bytes = Vec::new();
        codec
            .encode(9, &Message::Error(error.clone()), &mut bytes)
            .unwrap();
        let read = codec.decode(&bytes).expect("it is a message").1;
        (bytes, read)
    };
    for version in [Version::V1_2, Version::V1_3] {
        let (bytes, read) = in_version(version);
        assert_eq!(
            bytes[8..],
            [0xff, 0xff, 0, 7, 0xbe, 0xba, 0xbe, 0xba, 4, 4, 0, 8]
        );
        assert_eq!(read, Message::Error(error.clone()));
    }
    let text = "error type 65535 code 7 of experimenter 0xbebabeba";
    assert_eq!(BAD_LENGTH.to_string(), text);
    // 1.0 has no such errors.
    let (_, read) = in_version(Version::V1_0);
    assert_eq!(
        read,
        Message::Error(ErrorMsg::quoting(BadRequest::EPERM, &[4, 4, 0, 8]))
    );
}

#[test]
fn values_of_two_copies_of_a_row_are_equal() {
    const ROW: ExtRow = ExtRow::typed::<Learn>(ExtKind::Message, 7, 2, "learn");
    static ONE: ExtRow = ROW;
    static OTHER: ExtRow = ROW;
    assert_eq!(
        ExtValue::typed(&ONE, learn()),
        ExtValue::typed(&OTHER, learn())
    );
    static RENAMED: ExtRow = ExtRow::typed::<Learn>(ExtKind::Message, 7, 2, "unlearn");
    assert_ne!(
        ExtValue::typed(&ONE, learn()),
        ExtValue::typed(&RENAMED, learn())
    );
}
