//! The actions of OpenFlow 1.0, as lists of the model's. Spec: OpenFlow 1.0.2 section 5.2.4.

use alloc::vec::Vec;

use crate::action::{Action, Output, SetField};
use crate::error::{BadAction, DecodeError};
use crate::ext::{ExtKind, ExtValue};
use crate::field::{
    ETH_DST, ETH_SRC, Field, IP_DSCP, IPV4_DST, IPV4_SRC, TCP_DST, TCP_SRC, UDP_DST, UDP_SRC,
    VID_PRESENT, VLAN_PCP, VLAN_VID,
};
use crate::matching::{FieldMatch, Match};
use crate::types::{EtherType, PortNo, QueueId};
use crate::wire::{Reader, Writer, be_number};

const OUTPUT: u16 = 0;
const STRIP_VLAN: u16 = 3;
const ENQUEUE: u16 = 11;
const VENDOR: u16 = 0xffff;
/// The Ethernet type of the tag that a VLAN setting adds.
const C_TAG: EtherType = EtherType(0x8100);
/// The queue that an output uses unless another is chosen.
const DEFAULT_QUEUE: QueueId = QueueId(0);
const TAGGED: u128 = VID_PRESENT as u128;

/// An action that writes a field.
struct Setter {
    ty: u16,
    /// The field; and for a transport port the same of the other protocol.
    field: &'static Field,
    twin: Option<&'static Field>,
    /// Bytes of the value, and of the padding behind.
    bytes: usize,
    pad: usize,
    /// The bits that a value may have.
    bits: u128,
    /// The model's value is the wire's shifted right by this.
    shift: u32,
}

const fn setter(ty: u16, field: &'static Field, bytes: usize, pad: usize, bits: u128) -> Setter {
    Setter {
        ty,
        field,
        twin: None,
        bytes,
        pad,
        bits,
        shift: 0,
    }
}

const SETTERS: &[Setter] = &[
    setter(1, VLAN_VID, 2, 2, 0xfff),
    setter(2, VLAN_PCP, 1, 3, 7),
    setter(4, ETH_SRC, 6, 6, u128::MAX),
    setter(5, ETH_DST, 6, 6, u128::MAX),
    setter(6, IPV4_SRC, 4, 0, u128::MAX),
    setter(7, IPV4_DST, 4, 0, u128::MAX),
    Setter {
        shift: 2,
        ..setter(8, IP_DSCP, 1, 3, 0xfc)
    },
    Setter {
        twin: Some(UDP_SRC),
        ..setter(9, TCP_SRC, 2, 2, u128::MAX)
    },
    Setter {
        twin: Some(UDP_DST),
        ..setter(10, TCP_DST, 2, 2, u128::MAX)
    },
];

impl Setter {
    fn is_vlan(&self) -> bool {
        self.field == VLAN_VID || self.field == VLAN_PCP
    }

    fn sets(&self, field: &Field) -> bool {
        self.field == field || self.twin.is_some_and(|twin| twin == field)
    }
}

/// Returns true if the match of an entry, if there is one, guarantees what a field needs.
fn meets_need(fields: Option<&Match>, field: &Field) -> bool {
    fields.is_some_and(|fields| fields.meets_need(field))
}

/// Reads actions to the end of the window; `fields` is the match of their entry, if they have one.
///
/// Errors: BAD_ACTION with BAD_TYPE, BAD_LEN, BAD_ARGUMENT, BAD_OUT_PORT, BAD_EXPERIMENTER or
/// BAD_EXP_TYPE.
pub(crate) fn read_list(
    r: &mut Reader<'_>,
    fields: Option<&Match>,
) -> Result<Vec<Action>, DecodeError> {
    let mut list = Vec::new();
    let mut tagged = fields.and_then(Match::is_tagged);
    let mut queue = DEFAULT_QUEUE;
    while !r.is_empty() {
        let mut body = r.at("action").sized(2, 8, 8, BadAction::BAD_LEN)?;
        let at_type = body.at("action type").clone();
        let ty: u16 = body.get()?;
        body.take(2)?;
        match ty {
            OUTPUT => {
                choose(&mut queue, DEFAULT_QUEUE, &mut list);
                let port = body.at("port").get()?;
                let max_len = body.at("max_len").get()?;
                list.push(Action::Output(Output { port, max_len }));
            }
            STRIP_VLAN => {
                body.take(4)?;
                list.push(Action::PopVlan);
                tagged = tagged.filter(|tagged| !tagged);
            }
            ENQUEUE => {
                let at_port = body.at("port").clone();
                let port = body.get()?;
                if !takes_queues(port) {
                    return Err(at_port.err(BadAction::BAD_OUT_PORT));
                }
                body.take(6)?;
                choose(&mut queue, body.at("queue_id").get()?, &mut list);
                list.push(Action::output(port));
            }
            VENDOR => {
                let action = Action::Experimenter(ExtValue::decode(ExtKind::Action, &mut body)?);
                if action.is_tag_vlan() {
                    return Err(at_type.err(BadAction::BAD_EXP_TYPE));
                }
                list.push(action);
            }
            ty => {
                let setter = SETTERS
                    .iter()
                    .find(|setter| setter.ty == ty)
                    .ok_or_else(|| at_type.err(BadAction::BAD_TYPE))?;
                if setter.is_vlan() {
                    match tagged.replace(true) {
                        Some(true) => {}
                        Some(false) => list.push(Action::PushVlan(C_TAG)),
                        None => list.push(Action::tag_vlan()),
                    }
                }
                setter.read(&mut body, fields, &mut list)?;
            }
        }
        body.finish()?;
    }
    Ok(list)
}

/// Makes the outputs that follow use another queue.
fn choose(queue: &mut QueueId, other: QueueId, list: &mut Vec<Action>) {
    if core::mem::replace(queue, other) != other {
        list.push(Action::SetQueue(other));
    }
}

/// Returns true if a queue may be named for this output.
fn takes_queues(port: PortNo) -> bool {
    port.0 < PortNo::MAX.0 || port == PortNo::IN_PORT
}

impl Setter {
    fn read(
        &self,
        body: &mut Reader<'_>,
        fields: Option<&Match>,
        list: &mut Vec<Action>,
    ) -> Result<(), DecodeError> {
        let at_value = body.at(self.field.name).clone();
        let number = be_number(body.take(self.bytes)?);
        if number & !self.bits != 0 {
            return Err(at_value.err(BadAction::BAD_ARGUMENT));
        }
        body.take(self.pad)?;
        let mut value = number >> self.shift;
        if self.field == VLAN_VID {
            value |= TAGGED;
        }
        let Some(twin) = self.twin else {
            list.push(Action::set_field(self.field, value));
            return Ok(());
        };
        // Both, if the match does not say which protocol it is: only one can apply.
        if meets_need(fields, self.field) {
            list.push(Action::set_field(self.field, value));
        } else if meets_need(fields, twin) {
            list.push(Action::set_field(twin, value));
        } else {
            list.push(Action::set_field(self.field, value));
            list.push(Action::set_field(twin, value));
        }
        Ok(())
    }

    fn write(&self, one: &FieldMatch, w: &mut Writer<'_>) {
        let number = one.number() << self.shift & self.bits;
        let length = 4 + self.bytes + self.pad;
        w.put(&self.ty).put(&(length as u16));
        w.raw(&number.to_be_bytes()[16 - self.bytes..])
            .pad(self.pad);
    }
}

/// Appends actions; `fields` is the match of their entry, if they have one. What cannot be said: an
/// action that 1.0 does not have, or not so.
pub(crate) fn write_list(actions: &[Action], fields: Option<&Match>, w: &mut Writer<'_>) {
    if let Err(what) = try_list(actions, fields, w) {
        w.unsupported(what);
    }
}

/// Errors: what cannot be said.
fn try_list(
    actions: &[Action],
    fields: Option<&Match>,
    w: &mut Writer<'_>,
) -> Result<(), &'static str> {
    let mut tagged = fields.and_then(Match::is_tagged);
    let mut queue = DEFAULT_QUEUE;
    // The action that has no support if no setter follows: it has pushed a tag.
    let mut pushed = None;
    let mut rest = actions.iter().peekable();
    while let Some(action) = rest.next() {
        let name = action.row().map_or("experimenter", |row| row.name);
        let pushed_before = pushed.take();
        if action.masked_set_field().is_some() {
            return Err("a set_field with a mask");
        }
        match (action, pushed_before) {
            (Action::SetField(SetField(one)), before) => {
                let setter = SETTERS
                    .iter()
                    .find(|setter| setter.sets(one.field))
                    .ok_or(one.field.name)?;
                match setter.twin {
                    Some(twin) if !meets_need(fields, one.field) => {
                        let other = Action::SetField(SetField(FieldMatch {
                            field: twin,
                            ..*one
                        }));
                        if one.field == twin || rest.next_if(|next| **next == other).is_none() {
                            return Err(one.field.name);
                        }
                    }
                    None if setter.is_vlan() && before.is_none() => {
                        if tagged.replace(true) == Some(false) {
                            return Err(one.field.name);
                        }
                    }
                    None if !setter.is_vlan() && before.is_some() => return Err("push_vlan"),
                    Some(_) if before.is_some() => return Err("push_vlan"),
                    Some(_) | None => {}
                }
                setter.write(one, w);
            }
            (_, Some(name)) => return Err(name),
            (Action::PushVlan(C_TAG), None) if tagged == Some(false) => {
                tagged = Some(true);
                pushed = Some(name);
            }
            (action, None) if action.is_tag_vlan() && tagged.is_none() => {
                tagged = Some(true);
                pushed = Some("tag_vlan");
            }
            (Action::PopVlan, None) => {
                w.put(&STRIP_VLAN).put(&8u16).pad(4);
                tagged = tagged.filter(|tagged| !tagged);
            }
            (Action::SetQueue(chosen), None) => queue = *chosen,
            (Action::Output(output), None) => write_output(output, queue, w),
            (Action::Experimenter(value), None) if !action.is_tag_vlan() => {
                let start = w.bytes.len();
                w.put(&VENDOR).put(&0u16);
                value.encode(w);
                w.align8(start).patch_length(start, start + 2);
            }
            // Every other action is one that 1.0 does not have.
            _ => return Err(name),
        }
    }
    pushed.map_or(Ok(()), Err)
}

fn write_output(output: &Output, queue: QueueId, w: &mut Writer<'_>) {
    if queue == DEFAULT_QUEUE || output.port == PortNo::CONTROLLER {
        w.put(&OUTPUT).put(&8u16);
        w.put(&output.port).put(&output.max_len);
    } else if takes_queues(output.port) {
        w.put(&ENQUEUE).put(&16u16);
        w.put(&output.port).pad(6).put(&queue);
    } else {
        w.unsupported("set_queue");
    }
}
