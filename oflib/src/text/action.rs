//! Reads the text of actions and instructions.

use alloc::{format, string::String, vec::Vec};

use super::matching::{field_named, parse_field};
use super::word::{ParseError, Word};
use super::{number, parse_port_named};
use crate::action::{ACTIONS, Action, Output, SetField};
use crate::catalogue::Catalogue;
use crate::ext::{ExtKind, ExtValue};
use crate::field::{self, VID_PRESENT};
use crate::instruction::{INSTRUCTIONS, Instruction, Instructions};
use crate::matching::{FieldMatch, Match};
use crate::text::ActionArg;
use crate::types::{EtherType, MaxLen, PortNo, QueueId};

/// The text of an empty list of actions.
const DROP: &str = "drop";
/// OpenFlow 1.0's output through a queue: a choice of the queue, the output, and queue 0 again.
const ENQUEUE: &str = "enqueue";
/// In front of the names of fields, these make names of actions that set them.
const SETTERS: &[&str] = &["mod_", "set_"];
/// Nicira's set-field for a part of a field, which OpenFlow 1.5 also has.
const LOAD: &str = "load";
/// The type of the tag that they push.
const C_TAG: EtherType = EtherType(0x8100);

/// Reads the actions of a list: `set_field:10.0.0.1->nw_dst,output:2`; `drop` for none. `fields` is
/// what
/// `mod_tp_dst` and its like take their protocol from.
///
/// Errors: the word that is no action or no argument of its action.
pub fn parse_actions(
    text: &str,
    fields: &Match,
    catalogue: &Catalogue,
) -> Result<Vec<Action>, ParseError> {
    actions(Word::new(text), fields, catalogue)
}

/// Reads instructions: `meter:1,output:2,write_actions(group:1),goto_table:2`. Actions outside of
/// an instruction are applied; `drop` is no instruction at all.
///
/// Errors: the word that is no instruction or action, no argument of it, or stands twice.
pub fn parse_instructions(
    text: &str,
    fields: &Match,
    catalogue: &Catalogue,
) -> Result<Instructions, ParseError> {
    instructions(Word::new(text), fields, catalogue)
}

pub(super) fn actions(
    text: Word<'_>,
    fields: &Match,
    catalogue: &Catalogue,
) -> Result<Vec<Action>, ParseError> {
    let items = text.items();
    if items.len() == 1 && items[0].is(DROP) {
        return Ok(Vec::new());
    }
    let mut list = Vec::new();
    for item in items {
        append(item, fields, catalogue, &mut list)?;
    }
    Ok(list)
}

/// Reads one action, or several that are written as one, behind others.
fn append(
    item: Word<'_>,
    fields: &Match,
    catalogue: &Catalogue,
    list: &mut Vec<Action>,
) -> Result<(), ParseError> {
    let (name, argument) = item.call()?;
    if !name.is(ENQUEUE) {
        let one = action(item, fields, catalogue)?;
        if tags(name, fields) && !list.iter().any(|one| matches!(one, Action::PushVlan(_))) {
            list.push(Action::PushVlan(C_TAG));
        }
        list.push(one);
        return Ok(());
    }
    let parts = argument.split_at(&[':', ',']);
    let (port, queue) = parts.ok_or_else(|| item.err("takes a port and a queue"))?;
    let output = Action::output(port.port(catalogue)?);
    let queues = [QueueId(queue.number()?), QueueId(0)].map(Action::SetQueue);
    let [before, behind] = queues;
    list.extend([before, output, behind]);
    Ok(())
}

/// Whether an action is one of OpenFlow 1.0's that tag a packet without a tag, as the match wants
/// it.
fn tags(name: Word<'_>, fields: &Match) -> bool {
    let is_setter = SETTERS.iter().any(|setter| {
        let field = name.without("ofpat_").after(setter);
        field.is_some_and(|field| field.is("vlan_vid") || field.is("vlan_pcp"))
    });
    let vid = fields.get(field::VLAN_VID);
    is_setter && vid.is_some_and(|vid| vid.is_exact() && vid.number() == 0)
}

pub(super) fn instructions(
    text: Word<'_>,
    fields: &Match,
    catalogue: &Catalogue,
) -> Result<Instructions, ParseError> {
    let items = text.items();
    if items.len() == 1 && items[0].is(DROP) {
        return Ok(Instructions::default());
    }
    let mut list: Vec<Instruction> = Vec::new();
    let mut alone = Vec::new();
    for item in items {
        match instruction(item, fields, catalogue)? {
            // Of several meters the first is the instruction.
            Some(Instruction::Meter(id)) if list.iter().any(is_meter) => {
                alone.push(Action::Meter(id));
            }
            Some(one) if list.iter().any(|other| other.is_same_type(&one)) => {
                return Err(item.err("only one instruction of a type may stand here"));
            }
            Some(one) => list.push(one),
            None => append(item, fields, catalogue, &mut alone)?,
        }
    }
    if !alone.is_empty() {
        list.push(Instruction::ApplyActions(alone));
    }
    Instructions::new(list)
        .map_err(|()| text.err("actions stand both alone and within apply_actions()"))
}

fn is_meter(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::Meter(_))
}

/// Reads one instruction; `None` if none has this name.
fn instruction(
    item: Word<'_>,
    fields: &Match,
    catalogue: &Catalogue,
) -> Result<Option<Instruction>, ParseError> {
    let (name, argument) = item.call()?;
    let name = name.without("ofpit_");
    let Some(row) = INSTRUCTIONS.iter().find(|row| name.is(row.name)) else {
        let value = ext(ExtKind::Instruction, name, argument, catalogue)?;
        return Ok(value.map(Instruction::Experimenter));
    };
    Ok(Some(match row.name {
        "goto_table" => Instruction::GotoTable(argument.parse("table")?),
        "meter" => Instruction::Meter(argument.parse("meter")?),
        "apply_actions" => Instruction::ApplyActions(actions(argument, fields, catalogue)?),
        "write_actions" => Instruction::WriteActions(actions(argument, fields, catalogue)?),
        "clear_actions" if argument.text.is_empty() => Instruction::ClearActions,
        "write_metadata" => {
            let (value, mask) = match argument.split_at(&['/']) {
                Some((value, mask)) => (value.number()?, mask.number()?),
                None => (argument.number()?, u64::MAX),
            };
            Instruction::WriteMetadata { value, mask }
        }
        "stat_trigger" => {
            let trigger = argument.text.parse();
            Instruction::StatTrigger(trigger.map_err(|message: String| argument.err(message))?)
        }
        _ => return Err(item.err("takes no argument")),
    }))
}

/// Reads one action.
fn action(item: Word<'_>, fields: &Match, catalogue: &Catalogue) -> Result<Action, ParseError> {
    let (name, argument) = item.call()?;
    let name = name.without("ofpat_");
    if let Some(action) = Action::parse(name.text, argument.text, catalogue) {
        return action.map_err(|message| match argument.text {
            "" => item.err(message),
            _ => argument.err(message),
        });
    }
    if name.is("controller")
        && let Some(length) = argument.after("max_len=")
    {
        return Ok(Action::Output(Output {
            port: PortNo::CONTROLLER,
            max_len: MaxLen(length.number()?),
        }));
    }
    if parse_port_named(name.text, catalogue).is_ok() {
        let output = Output::parse(item.text, catalogue);
        return output.map(Action::Output).map_err(|m| item.err(m));
    }
    if let Some(value) = ext(ExtKind::Action, name, argument, catalogue)? {
        return Ok(Action::Experimenter(value));
    }
    if name.is(LOAD) {
        return load(argument, catalogue);
    }
    if item.is(DROP) {
        return Err(item.err("stands alone or not at all"));
    }
    for prefix in SETTERS {
        let Some(field) = name.after(prefix) else {
            continue;
        };
        if let Some(set) = setter(field, argument, fields, catalogue) {
            return Ok(Action::SetField(SetField(set?)));
        }
    }
    Err(name.unknown("action or instruction", names(catalogue)))
}

/// The names that actions and instructions have.
pub fn names(catalogue: &Catalogue) -> impl Iterator<Item = &str> {
    let actions = ACTIONS
        .iter()
        .flat_map(|row| row.aliases.iter().chain([&row.name]));
    let exts = [ExtKind::Action, ExtKind::Instruction]
        .into_iter()
        .flat_map(|kind| catalogue.values(kind));
    let instructions = INSTRUCTIONS.iter().map(|row| row.name);
    let others = [
        DROP,
        ENQUEUE,
        LOAD,
        "controller",
        "normal",
        "flood",
        "all",
        "local",
        "in_port",
    ];
    actions
        .copied()
        .chain(exts.map(|row| row.name))
        .chain(instructions)
        .chain(others)
}

/// Reads what an action that is called after a field sets. `None` if there is no such field.
fn setter(
    name: Word<'_>,
    argument: Word<'_>,
    fields: &Match,
    catalogue: &Catalogue,
) -> Option<Result<FieldMatch, ParseError>> {
    if name.is("tunnel") || name.is("tunnel64") {
        return Some(parse_field(field::TUNNEL_ID, argument, catalogue));
    }
    if name.is("nw_tos") {
        let tos: Result<u8, _> = argument.number();
        return Some(tos.map(|tos| FieldMatch::exact(field::IP_DSCP, u128::from(tos >> 2))));
    }
    let Some(field) = field_named(name.text, fields.fields(), catalogue) else {
        let by_protocol = name.is("tp_src") || name.is("tp_dst");
        return by_protocol.then(|| Err(name.err("the match names no protocol that has ports")));
    };
    if !field.settable {
        return Some(Err(name.err("this field cannot be set")));
    }
    Some(
        parse_field(field, argument, catalogue).and_then(|one| match one.number() {
            _ if !one.is_exact() => Err(argument.err("takes no mask")),
            vid if field.id == field::VLAN_VID.id => {
                Ok(FieldMatch::exact(field, vid | u128::from(VID_PRESENT)))
            }
            _ => Ok(one),
        }),
    )
}

/// Reads `VALUE->FIELD[FIRST..LAST]` with bits of the field, `FIELD[BIT]` or, for all of it,
/// `FIELD[]`.
fn load(argument: Word<'_>, catalogue: &Catalogue) -> Result<Action, ParseError> {
    let wrong = || argument.err("takes VALUE->FIELD[], or a part as FIELD[0..7]");
    let arrow = argument.text.find("->").ok_or_else(wrong)?;
    let value = argument.part(0, arrow);
    let target = argument.part(arrow + 2, argument.text.len());
    let (name, bits) = target.split_at(&['[']).ok_or_else(wrong)?;
    let bits = bits.text.strip_suffix(']').ok_or_else(wrong)?;
    let field = catalogue.field_named(name.text);
    let field = field.filter(|field| field.settable);
    let field = field.ok_or_else(|| name.err("no field that can be set"))?;
    let (first, last) = match bits.split_once("..") {
        None if bits.is_empty() => ("0", u64::from(field.bits) - 1),
        None => (bits, bits.parse().map_err(|_| wrong())?),
        Some((first, last)) => (first, last.parse().map_err(|_| wrong())?),
    };
    let first: u64 = first.parse().map_err(|_| wrong())?;
    if first > last || last >= u64::from(field.bits) {
        return Err(target.err(format!("the field has bits 0 to {}", field.bits - 1)));
    }
    let ones = u128::MAX >> (u64::from(u128::BITS) - 1 - (last - first));
    let number = number(value.text).map(u128::from);
    let number = number.filter(|number| number & !ones == 0);
    let number = number.ok_or_else(|| value.err("no number that fits into these bits"))?;
    let one = FieldMatch::masked(field, number << first, ones << first);
    Ok(Action::SetField(SetField(one)))
}

/// Reads an extension's value; `None` if no extension has the name.
fn ext(
    kind: ExtKind,
    name: Word<'_>,
    argument: Word<'_>,
    catalogue: &Catalogue,
) -> Result<Option<ExtValue>, ParseError> {
    let row = catalogue.values(kind).find(|row| name.is(row.name));
    let value = row.map(|row| ExtValue::parse(row, argument.text, catalogue));
    value
        .transpose()
        .map_err(|message: String| argument.err(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_nicira_that_are_standard_actions_are_read_as_these() {
        let catalogue = Catalogue::default();
        let read = |text| parse_actions(text, &Match::ANY, &catalogue);
        for (text, standard) in [
            ("load:0x2->NXM_OF_ARP_OP[]", "set_field:2->arp_op"),
            (
                "load:7->NXM_NX_TUN_ID[0..31]",
                "set_field:7/0xffffffff->tunnel_id",
            ),
            (
                "load:1->OXM_OF_IPV4_DST[31]",
                "set_field:128.0.0.0/1->ip_dst",
            ),
            (
                "load:0x20000000001->NXM_OF_ETH_DST[]",
                "set_field:02:00:00:00:00:01->eth_dst",
            ),
            ("set_tunnel:3", "set_field:3->tunnel_id"),
            (
                "set_tunnel64:0x300000000",
                "set_field:0x300000000->tunnel_id",
            ),
            ("controller(max_len=128)", "controller:128"),
        ] {
            let wanted = read(standard).expect(standard);
            assert_eq!(read(text).expect(text), wanted, "{text}");
        }
        for wrong in [
            "load:2->NXM_OF_ARP_OP",
            "load:2->NXM_OF_ARP_OP[4..3]",
            "load:2->NXM_OF_ARP_OP[0..16]",
            "load:2->NXM_OF_ARP_OP[0]",
            "load:0x10000->NXM_OF_ARP_OP[]",
            "load:2->NXM_NX_REG0[]",
            "load:2",
            "controller(max_len=70000)",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
