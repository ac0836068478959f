//! Flow monitors, as the ONF added them to 1.3. Spec: ONF extension 187; where it contradicts
//! itself as Open vSwitch 3 has it, whose match and instructions are those of 1.3. Nicira's of 1.0
//! have the same updates, with its matches and actions.

use alloc::vec;

use super::V1_3;
use super::matching::decode_fields;
use crate::error::{BadMatch, BadRequest, DecodeError};
use crate::forms::Form;
use crate::instruction::Instructions;
use crate::matching::Match;
use crate::message::Message;
use crate::message::multipart::flow_monitor::{
    FlowMonitorCommand, FlowMonitorRequest, FlowUpdate, FlowUpdateEvent, MonitoredFlow,
};
use crate::message::multipart::{MultipartReply, MultipartRequest, ReplyBody, RequestBody};
use crate::types::{GroupId, PortNo};
use crate::wire::{Reader, Writer};

/// The ONF's type of the message that ends a monitor.
///
/// The ONF numbers what an extension brings from 10 times the extension's number on.
pub(crate) const CANCEL: u32 = 1870;
/// The ONF's types of the messages that since 1.4 are updates.
///
/// They say that a controller which reads too slowly misses updates, and later that updates go on.
const STREAM_MESSAGES: [(u32, FlowUpdateEvent); 2] = [
    (1871, FlowUpdateEvent::PAUSED),
    (1872, FlowUpdateEvent::RESUMED),
];

/// Reads a message of the ONF's that is a multipart since 1.4, if `exp_type` is one's.
///
/// Errors: BAD_REQUEST/BAD_LEN.
///
/// `r` is after the ONF's head. The model has the messages of 1.4 alone, so that the switch need
/// not know both.
pub(crate) fn read_message(
    exp_type: u32,
    r: &mut Reader<'_>,
) -> Result<Option<Message>, DecodeError> {
    if exp_type == CANCEL {
        let request = FlowMonitorRequest {
            monitor_id: r.at("monitor_id").get()?,
            out_port: PortNo::ANY,
            out_group: GroupId::ANY,
            command: FlowMonitorCommand::DELETE,
            ..FlowMonitorRequest::default()
        };
        let body = RequestBody::FlowMonitor(vec![request]);
        return Ok(Some(Message::MultipartRequest(body.into())));
    }
    let row = STREAM_MESSAGES.iter().find(|row| row.0 == exp_type);
    Ok(row.map(|(_, event)| {
        let reply = ReplyBody::FlowMonitor(vec![FlowUpdate::Stream(*event)]);
        Message::MultipartReply(reply.into())
    }))
}

/// The ONF's type of the message that says the same as this message, and the monitor that it names.
///
/// `None` if it is a multipart in this version, too, or another message.
pub(crate) fn message_of(message: &Message) -> Option<(u32, Option<u32>)> {
    if let Message::MultipartRequest(MultipartRequest {
        body: RequestBody::FlowMonitor(list),
        ..
    }) = message
    {
        return match list.as_slice() {
            [one] if one.command == FlowMonitorCommand::DELETE => {
                Some((CANCEL, Some(one.monitor_id)))
            }
            _ => None,
        };
    }
    if let Message::MultipartReply(MultipartReply {
        body: ReplyBody::FlowMonitor(list),
        ..
    }) = message
    {
        if let [FlowUpdate::Stream(event)] = list.as_slice() {
            let row = STREAM_MESSAGES.iter().find(|row| row.1 == *event)?;
            return Some((row.0, None));
        }
    }
    None
}

/// The forms in which a version writes a monitored entry's match and instructions. All else is the
/// same in 1.0 and 1.3.
pub(crate) trait EntryForm {
    /// Reads a match of which `length` says how long it is without padding. Errors: BAD_MATCH's.
    ///
    /// `r` is at the match, which ends with its padding to 8 bytes.
    fn read_match(length: u16, r: &mut Reader<'_>) -> Result<Match, DecodeError>;
    /// Appends a match, and its length without padding at `at`.
    fn write_match(fields: &Match, at: usize, w: &mut Writer<'_>);
    /// Reads instructions up to the window's end. Errors: theirs.
    fn read_instructions(fields: &Match, r: &mut Reader<'_>) -> Result<Instructions, DecodeError>;
    /// Appends them.
    fn write_instructions(list: &Instructions, fields: &Match, w: &mut Writer<'_>);
}

impl EntryForm for V1_3 {
    /// The match is one of 1.3 with its head, as Open vSwitch sends it, or its fields alone, as the
    /// extension's text has it.
    fn read_match(length: u16, r: &mut Reader<'_>) -> Result<Match, DecodeError> {
        let [high, low] = length.to_be_bytes();
        if r.clone().array() == Ok([0, 1, high, low]) {
            return r.get();
        }
        let length = usize::from(length);
        let list = r.at("match").sub(length, BadMatch::BAD_LEN)?;
        r.at("match padding")
            .take(length.next_multiple_of(8) - length)?;
        decode_fields(list)
    }
    fn write_match(fields: &Match, at: usize, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(fields);
        w.bytes.copy_within(start + 2..start + 4, at);
    }
    fn read_instructions(_: &Match, r: &mut Reader<'_>) -> Result<Instructions, DecodeError> {
        r.get()
    }
    fn write_instructions(list: &Instructions, _: &Match, w: &mut Writer<'_>) {
        w.put(list);
    }
}

/// The length of the match stands apart from it, in front of the output port. Unlike 1.4, the
/// extension has no command and no output group.
impl Form<V1_3> for FlowMonitorRequest {
    /// Errors: BAD_MATCH's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let monitor_id = r.at("monitor_id").get()?;
        let flags = r.at("flags").get()?;
        let length = r.at("match_len").get()?;
        let out_port = r.at("out_port").get()?;
        let table_id = r.at("table_id").get()?;
        r.take(3)?;
        Ok(Self {
            monitor_id,
            out_port,
            out_group: GroupId::ANY,
            flags,
            table_id,
            command: FlowMonitorCommand::ADD,
            fields: V1_3::read_match(length, r)?,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        if self.out_group != GroupId::ANY {
            w.unsupported("out_group");
        }
        if self.command != FlowMonitorCommand::ADD {
            w.unsupported("command");
        }
        w.put(&self.monitor_id).put(&self.flags);
        let at = w.bytes.len();
        w.pad(2).put(&self.out_port).put(&self.table_id).pad(3);
        V1_3::write_match(&self.fields, at, w);
    }
}

/// The numbers of 1.3 are those of the model less that of ADDED.
impl Form<V1_3> for FlowUpdateEvent {
    /// There is no event of its own for the entries that are there at first: they are ADDED, 0.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let number: u16 = r.get()?;
        Ok(Self(number.saturating_add(Self::ADDED.0)))
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.0.saturating_sub(Self::ADDED.0));
    }
}

impl Form<V1_3> for FlowUpdate {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        read_update::<V1_3>(r)
    }
    fn write(&self, w: &mut Writer<'_>) {
        write_update::<V1_3>(self, w);
    }
}

/// Reads an update.
///
/// Errors: BAD_REQUEST with BAD_LEN, or BAD_TYPE for an unknown event; the entry's.
///
/// A length of 16 bits comes first, then the event. An abbreviated update has only the transaction
/// id of the controller's own message that made the change.
pub(crate) fn read_update<V: EntryForm>(r: &mut Reader<'_>) -> Result<FlowUpdate, DecodeError> {
    let mut body = r.at("flow update").sized(0, 8, 8, BadRequest::BAD_LEN)?;
    body.take(2)?;
    let at_event = body.at("event").clone();
    let event: FlowUpdateEvent = body.get()?;
    let update = match event {
        FlowUpdateEvent::ADDED | FlowUpdateEvent::REMOVED | FlowUpdateEvent::MODIFIED => {
            FlowUpdate::Full(event, read_flow::<V>(&mut body)?)
        }
        FlowUpdateEvent::ABBREV => FlowUpdate::Abbrev(body.at("xid").get()?),
        _ => return Err(at_event.err(BadRequest::BAD_TYPE)),
    };
    body.finish()?;
    Ok(update)
}

/// Appends an update.
pub(crate) fn write_update<V: EntryForm>(update: &FlowUpdate, w: &mut Writer<'_>) {
    let start = w.bytes.len();
    w.put(&0u16);
    match update {
        FlowUpdate::Full(event, flow) => {
            w.put(event);
            write_flow::<V>(flow, w);
        }
        FlowUpdate::Abbrev(xid) => {
            w.put(&FlowUpdateEvent::ABBREV).put(xid);
        }
        // They are messages of their own here, which `message_of` gives.
        FlowUpdate::Stream(_) => w.unsupported("PAUSED and RESUMED among updates"),
    }
    w.patch_length(start, start);
}

/// Reads an entry. Errors: BAD_REQUEST/BAD_LEN, BAD_MATCH's, BAD_INSTRUCTION's.
fn read_flow<V: EntryForm>(r: &mut Reader<'_>) -> Result<MonitoredFlow, DecodeError> {
    // No reason has more than a byte.
    r.take(1)?;
    let reason = r.at("reason").get()?;
    let priority = r.at("priority").get()?;
    let idle_timeout = r.at("idle_timeout").get()?;
    let hard_timeout = r.at("hard_timeout").get()?;
    let length = r.at("match_len").get()?;
    let table_id = r.at("table_id").get()?;
    r.take(1)?;
    let cookie = r.at("cookie").get()?;
    let fields = V::read_match(length, r)?;
    Ok(MonitoredFlow {
        table_id,
        reason,
        idle_timeout,
        hard_timeout,
        priority,
        cookie,
        instructions: V::read_instructions(&fields, r)?,
        fields,
    })
}

/// Appends what [`read_flow`] reads.
fn write_flow<V: EntryForm>(flow: &MonitoredFlow, w: &mut Writer<'_>) {
    w.pad(1).put(&flow.reason).put(&flow.priority);
    w.put(&flow.idle_timeout).put(&flow.hard_timeout);
    let at = w.bytes.len();
    w.pad(2).put(&flow.table_id).pad(1).put(&flow.cookie);
    V::write_match(&flow.fields, at, w);
    V::write_instructions(&flow.instructions, &flow.fields, w);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::sync::Arc;

    use crate::version::Version;
    use crate::{Catalogue, Codec};

    /// A request for a monitor behind the ONF's head, up to `match_len`.
    const HEAD: &str = "04120040 00000001 ffff0000 00000000 4f4e4600 0000074e 00000009 003f";
    /// The bytes between `match_len` and the match.
    const REST: &str = "00000003 01000000";
    const FIELDS: &str = "80000a02 08008000 18040a00 0001";

    fn bytes(text: &str) -> alloc::vec::Vec<u8> {
        let digits: alloc::vec::Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
        let pairs = digits
            .chunks(2)
            .map(|pair| core::str::from_utf8(pair).unwrap());
        let mut bytes: alloc::vec::Vec<u8> = pairs
            .map(|pair| u8::from_str_radix(pair, 16).unwrap())
            .collect();
        bytes[3] = bytes.len() as u8;
        bytes
    }

    #[test]
    fn a_match_has_a_head_or_is_its_fields_alone() {
        let codec = Codec::new(Version::V1_3, Arc::new(Catalogue::default()));
        let with_head = alloc::format!("{HEAD}0012{REST}00010012{FIELDS}000000000000");
        let alone = alloc::format!("{HEAD}000e{REST}{FIELDS}0000");
        let read = codec.decode(&bytes(&with_head)).unwrap();
        assert_eq!(codec.decode(&bytes(&alone)).unwrap(), read);
        let all = alloc::format!("{HEAD}0000{REST}");
        let with_head = alloc::format!("{HEAD}0004{REST}0001000400000000");
        let read = codec.decode(&bytes(&with_head)).unwrap();
        assert_eq!(codec.decode(&bytes(&all)).unwrap(), read);
    }
}
