//! The actions of OpenFlow 1.1, which sets each field by an action of its own. Spec: OpenFlow 1.1.0
//! section A.2.5.
//!
//! A setter of a transport port is for TCP, UDP and SCTP. On the wire it is read as the set-field
//! of TCP's; [`spread`] makes of it what the list around it needs, and [`gather`] the reverse.

use alloc::vec::Vec;

use super::V1_1;
use crate::action::{Action, SetField};
use crate::error::{BadAction, DecodeError};
use crate::field::{
    ETH_DST, ETH_SRC, Field, IP_DSCP, IP_ECN, IPV4_DST, IPV4_SRC, MPLS_LABEL, MPLS_TC, SCTP_DST,
    SCTP_SRC, TCP_DST, TCP_SRC, UDP_DST, UDP_SRC, VID_PRESENT, VLAN_PCP, VLAN_VID,
};
use crate::forms::Form;
use crate::matching::{FieldMatch, Match};
use crate::v1_3::V1_3;
use crate::wire::{Reader, Writer, be_number};

const TAGGED: u128 = VID_PRESENT as u128;

/// An action that sets a field.
pub(super) struct FieldSetter {
    /// The type on the wire.
    pub(super) ty: u16,
    /// The field.
    pub(super) field: &'static Field,
    /// Bytes of the value; padding to 8 bytes follows.
    bytes: usize,
    /// The model's value is the wire's shifted right by this.
    shift: u32,
}

const fn setter(ty: u16, field: &'static Field, bytes: usize) -> FieldSetter {
    FieldSetter {
        ty,
        field,
        bytes,
        shift: 0,
    }
}

/// Every action that sets a field.
pub(super) const SETTERS: &[FieldSetter] = &[
    setter(1, VLAN_VID, 2),
    setter(2, VLAN_PCP, 1),
    setter(3, ETH_SRC, 6),
    setter(4, ETH_DST, 6),
    setter(5, IPV4_SRC, 4),
    setter(6, IPV4_DST, 4),
    FieldSetter {
        shift: 2,
        ..setter(7, IP_DSCP, 1)
    },
    setter(8, IP_ECN, 1),
    setter(9, TCP_SRC, 2),
    setter(10, TCP_DST, 2),
    setter(13, MPLS_LABEL, 4),
    setter(14, MPLS_TC, 1),
];

/// The fields that a setter of a transport port sets, of which a packet has one.
pub(super) const TRANSPORT: [[&Field; 3]; 2] =
    [[TCP_SRC, UDP_SRC, SCTP_SRC], [TCP_DST, UDP_DST, SCTP_DST]];

impl FieldSetter {
    /// The bits of the model's value that a controller chooses.
    fn bits(&self) -> u128 {
        let tag = if self.field == VLAN_VID { TAGGED } else { 0 };
        self.field.ones_number() & !tag
    }

    /// Errors: BAD_ACTION/BAD_ARGUMENT for a value that the field does not hold.
    fn read(&self, body: &mut Reader<'_>) -> Result<Action, DecodeError> {
        let at_value = body.at(self.field.name).clone();
        let number = be_number(body.take(self.bytes)?);
        if number & !(self.bits() << self.shift) != 0 {
            return Err(at_value.err(BadAction::BAD_ARGUMENT));
        }
        let tag = if self.field == VLAN_VID { TAGGED } else { 0 };
        Ok(Action::set_field(self.field, number >> self.shift | tag))
    }

    fn write(&self, one: &FieldMatch, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        let number = (one.number() & self.bits()) << self.shift;
        w.put(&self.ty).put(&0u16);
        w.raw(&number.to_be_bytes()[16 - self.bytes..]);
        w.align8(start).patch_length(start, start + 2);
    }
}

impl Form<V1_1> for Action {
    /// Errors: BAD_ACTION with BAD_TYPE, BAD_LEN, BAD_ARGUMENT, BAD_EXPERIMENTER or BAD_EXP_TYPE.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut rest = r.clone();
        let mut body = rest.at("action").sized(2, 8, 8, BadAction::BAD_LEN)?;
        let ty: u16 = body.at("action type").get()?;
        let Some(setter) = SETTERS.iter().find(|setter| setter.ty == ty) else {
            return <Self as Form<V1_3>>::read(r);
        };
        body.take(2)?;
        let action = setter.read(&mut body)?;
        if body.remaining() >= 8 {
            return Err(body.err(BadAction::BAD_LEN));
        }
        *r = rest;
        Ok(action)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let Self::SetField(SetField(one)) = self else {
            return <Self as Form<V1_3>>::write(self, w);
        };
        if !one.is_exact() {
            return w.unsupported("a set_field with a mask");
        }
        match SETTERS.iter().find(|setter| setter.field == one.field) {
            Some(setter) => setter.write(one, w),
            None => w.unsupported(one.field.name),
        }
    }
}

/// The value that an action sets in the transport port of one protocol, with those of all.
fn transport(action: &Action) -> Option<(&FieldMatch, &'static [&'static Field; 3])> {
    let Action::SetField(SetField(one)) = action else {
        return None;
    };
    let fields = TRANSPORT.iter().find(|fields| fields.contains(&one.field));
    fields.map(|fields| (one, fields))
}

/// The same value in another field.
fn in_field(one: &FieldMatch, field: &'static Field) -> Action {
    Action::SetField(SetField(FieldMatch { field, ..*one }))
}

/// Returns true if the match of an entry, if there is one, guarantees what a field needs.
fn meets_need(fields: Option<&Match>, field: &Field) -> bool {
    fields.is_some_and(|fields| fields.meets_need(field))
}

/// The actions of the model that a list on the wire means: a transport port is set in the protocol
/// that the match of the entry names, and in all three where it names none or there is no match.
pub(super) fn spread(list: &[Action], fields: Option<&Match>) -> Vec<Action> {
    let mut spread = Vec::with_capacity(list.len());
    for action in list {
        let Some((one, all)) = transport(action) else {
            spread.push(action.clone());
            continue;
        };
        match all.iter().find(|field| meets_need(fields, field)) {
            Some(field) => spread.push(in_field(one, field)),
            None => spread.extend(all.iter().map(|field| in_field(one, field))),
        }
    }
    spread
}

/// The list on the wire that actions of the model are. Errors: the field that 1.1 cannot set alone.
pub(super) fn gather(list: &[Action], fields: Option<&Match>) -> Result<Vec<Action>, &'static str> {
    let mut gathered = Vec::with_capacity(list.len());
    let mut rest = list;
    while let [action, others @ ..] = rest {
        rest = others;
        let Some((one, all)) = transport(action) else {
            gathered.push(action.clone());
            continue;
        };
        if !meets_need(fields, one.field) {
            let further = others.get(..2).unwrap_or_default();
            let wanted = [in_field(one, all[1]), in_field(one, all[2])];
            if one.field != all[0] || further != wanted {
                return Err(one.field.name);
            }
            rest = &others[2..];
        }
        gathered.push(in_field(one, all[0]));
    }
    Ok(gathered)
}
