//! Makes the entry of a packet's values.

use alloc::vec::Vec;

use bofuss_oflib::action::SetField;
use bofuss_oflib::error::BadAction;
use bofuss_oflib::field::{IN_PORT, VID_PRESENT, VLAN_VID};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::{Action, ErrorCode, FieldMatch, Match, PortNo, Subfield};

use super::{Learn, Part, Source};

/// The reserved ports from here on have 32 bits since OpenFlow 1.1, of which the high half is ones.
const FIRST_RESERVED: u32 = 0xff00;
const RESERVED: u32 = 0xffff_0000;

impl Learn {
    /// The bits that are read of a packet.
    pub(in crate::nicira) fn reads(&self) -> impl Iterator<Item = Subfield> {
        self.parts.iter().filter_map(Part::read)
    }

    /// The entry that a packet makes with these values, one for each of [`Self::reads`].
    ///
    /// Errors: BAD_ACTION with BAD_SET_MASK for a part of a field that takes no mask,
    /// BAD_SET_ARGUMENT for one that cannot be set, or MATCH_INCONSISTENT for one that packets of
    /// its match need not have.
    pub(in crate::nicira) fn entry(&self, values: &[u128]) -> Result<FlowMod, ErrorCode> {
        let mut values = values.iter().copied();
        let mut value_of = |source: &Source| match source {
            Source::Packet(_) => values.next().unwrap_or(0),
            Source::Value(value) => *value,
        };
        let mut fields: Vec<FieldMatch> = Vec::new();
        let mut actions = Vec::new();
        for part in &self.parts {
            match part {
                Part::Match(bits, source) => match_bits(&mut fields, bits, value_of(source)),
                Part::Load(bits, source) => {
                    let one = bits_as_field(bits, value_of(source));
                    actions.push(Action::SetField(SetField(one)));
                }
                Part::Output(bits) => {
                    let port = port_of(value_of(&Source::Packet(*bits)));
                    actions.extend(port.map(Action::output));
                }
            }
        }
        if fields
            .iter()
            .any(|one| !one.field.maskable && !one.is_exact())
        {
            return Err(BadAction::BAD_SET_MASK);
        }
        let fields = Match::new(&fields).map_err(|_| BadAction::MATCH_INCONSISTENT)?;
        check_sets(&actions, &fields)?;
        let instructions = if actions.is_empty() {
            Instructions::default()
        } else {
            Instructions::apply(actions)
        };
        Ok(FlowMod {
            table_id: self.table,
            priority: self.priority,
            idle_timeout: self.idle_timeout,
            hard_timeout: self.hard_timeout,
            cookie: self.cookie,
            flags: self.into(),
            instructions,
            ..FlowMod::add(fields)
        })
    }

    /// Checks the entry that a packet makes, for all packets. Errors: as [`Self::entry`].
    pub(super) fn check(&self) -> Result<(), ErrorCode> {
        let all_ones: Vec<u128> = self.reads().map(|bits| bits.ones()).collect();
        self.entry(&all_ones).map(drop)
    }
}

fn check_sets(actions: &[Action], fields: &Match) -> Result<(), ErrorCode> {
    for action in actions {
        let Action::SetField(SetField(one)) = action else {
            continue;
        };
        let takes_tag = one.field == VLAN_VID && one.mask_number() & u128::from(VID_PRESENT) != 0;
        if !one.field.settable || takes_tag {
            return Err(BadAction::BAD_SET_ARGUMENT);
        }
        if !one.field.maskable && !one.is_exact() {
            return Err(BadAction::BAD_SET_MASK);
        }
        if !fields.meets_need(one.field) {
            return Err(BadAction::MATCH_INCONSISTENT);
        }
    }
    Ok(())
}

/// Has the match want these bits as well; what it wanted of them before does not count.
fn match_bits(fields: &mut Vec<FieldMatch>, bits: &Subfield, value: u128) {
    let one = bits_as_field(bits, value);
    let Some(before) = fields.iter_mut().find(|before| before.field == one.field) else {
        return fields.push(one);
    };
    let others = before.number() & !one.mask_number();
    let mask = before.mask_number() | one.mask_number();
    *before = FieldMatch::masked(one.field, others | one.number(), mask);
}

/// These bits of a field with a value. The 16 bits of a port are all of it.
fn bits_as_field(bits: &Subfield, value: u128) -> FieldMatch {
    if bits.field == IN_PORT && bits.is_whole() {
        return FieldMatch::exact(IN_PORT, port_number(value as u32).into());
    }
    let mask = bits.ones() << bits.offset;
    FieldMatch::masked(bits.field, value << bits.offset, mask)
}

/// A port's number in 32 bits.
fn port_number(number: u32) -> u32 {
    match number {
        FIRST_RESERVED..=0xffff => number | RESERVED,
        number => number,
    }
}

/// The port to which packets are sent for this value, if it is one of those that Open vSwitch lets
/// packets choose.
fn port_of(value: u128) -> Option<PortNo> {
    let number = u32::try_from(value).ok()?;
    let port = PortNo(port_number(number));
    let reserved = [PortNo::IN_PORT, PortNo::FLOOD, PortNo::ALL, PortNo::LOCAL];
    (port.is_port() || reserved.contains(&port)).then_some(port)
}
