//! Reads the text of actions and instructions.

use alloc::{format, vec::Vec};

use super::matching::{field_named, parse_field};
use super::nicira::{NICIRA, NICIRA_ACTIONS, is_nicira_form};
use super::word::Word;
use super::{no_field, number, parse_port_named};
use crate::action::{ACTIONS, Action, Output, SetField};
use crate::catalogue::Catalogue;
use crate::copy_field::CopyField;
use crate::ext::{ExtKind, ExtValue};
use crate::field::{self, Field, VID_PRESENT};
use crate::instruction::{INSTRUCTIONS, Instruction, Instructions};
use crate::matching::{FieldMatch, Match};
use crate::nicira::registers;
use crate::parse_error::ParseError;
use crate::text::ActionArg;
use crate::types::{EtherType, MaxLen, PortNo, QueueId};

/// The text of an empty list of actions.
const DROP: &str = "drop";
/// OpenFlow 1.0's output through a queue: a choice of the queue, the output, and queue 0 again.
const ENQUEUE: &str = "enqueue";
/// In front of the names of fields, these make names of actions that set them.
const SETTERS: &[&str] = &[MOD, "set_"];
/// The action of these that OpenFlow 1.0's actions have in ovs-ofctl.
const MOD: &str = "mod_";
/// Output to the controllers, with keys of ovs-ofctl in parentheses.
const CONTROLLER: &str = "controller";
/// The keys that only Nicira's action has, if their value is not the usual one.
const NICIRA_KEYS: &[&str] = &["reason", "id", "userdata", "pause", "meter_id"];
/// Set-field and copy-field, whose fields may have names that depend on the protocol.
const SET_FIELD: &str = "set_field";
const COPY_FIELDS: [&str; 2] = ["copy_field", "move"];
/// The end of a set-field of the ToS byte, of which OpenFlow's field is a part.
const TO_TOS: &str = "->nw_tos";
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

/// The name and the argument of an action or instruction. Errors: also that only Nicira has it; an
/// extension may have one of the same name.
fn call<'a>(item: Word<'a>, catalogue: &Catalogue) -> Result<(Word<'a>, Word<'a>), ParseError> {
    let end = item
        .text
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let name = item.part(0, end.unwrap_or(item.text.len()));
    let is_nicira = NICIRA_ACTIONS.iter().any(|known| name.is(known));
    if is_nicira && !names(catalogue).any(|known| name.is(known)) {
        return Err(name.err(NICIRA));
    }
    item.call()
}

/// Reads one action, or several that are written as one, behind others.
fn append(
    item: Word<'_>,
    fields: &Match,
    catalogue: &Catalogue,
    list: &mut Vec<Action>,
) -> Result<(), ParseError> {
    let (name, argument) = call(item, catalogue)?;
    if !name.is(ENQUEUE) {
        let one = action(item, fields, catalogue)?;
        if tags(name, is_tagged(fields, list)) {
            list.push(Action::PushVlan(C_TAG));
        }
        list.extend(registers::spread(one));
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

/// Returns true if an action is one of OpenFlow 1.0's that tag a packet without a tag, and packets
/// have none. Choice: as for ovs-ofctl, `mod_vlan_vid` also pushes a tag where the match does not
/// say whether there is one, as OpenFlow has had no other word for it since 1.1.
fn tags(name: Word<'_>, is_tagged: Option<bool>) -> bool {
    let name = name.without("ofpat_");
    let sets = |setter| {
        let field = name.after(setter);
        field.is_some_and(|field| field.is("vlan_vid") || field.is("vlan_pcp"))
    };
    match is_tagged {
        None => sets(MOD),
        Some(is_tagged) => !is_tagged && SETTERS.iter().any(|setter| sets(setter)),
    }
}

/// Returns true if packets that match have a VLAN tag after these actions, as far as one can say.
fn is_tagged(fields: &Match, list: &[Action]) -> Option<bool> {
    let mut tagged = fields.is_tagged();
    for action in list {
        if matches!(action, Action::PopVlan) {
            tagged = tagged.filter(|tagged| !tagged);
        } else if leaves_a_tag(action) {
            tagged = Some(true);
        }
    }
    tagged
}

/// Returns true if packets that get through an action have a tag.
fn leaves_a_tag(action: &Action) -> bool {
    let tag = [field::VLAN_VID, field::VLAN_PCP];
    matches!(action, Action::PushVlan(_))
        || matches!(action, Action::SetField(SetField(one)) if tag.contains(&one.field))
        || action.is_tag_vlan()
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
    let (name, argument) = call(item, catalogue)?;
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
            let trigger: Result<_, ParseError> = argument.text.parse();
            Instruction::StatTrigger(trigger.map_err(|error| argument.err(error))?)
        }
        _ => return Err(item.err("takes no argument")),
    }))
}

/// Reads one action.
fn action(item: Word<'_>, fields: &Match, catalogue: &Catalogue) -> Result<Action, ParseError> {
    let (name, argument) = call(item, catalogue)?;
    let name = name.without("ofpat_");
    if is_nicira_form(name, argument) {
        return Err(item.err(NICIRA));
    }
    let named = |name: &str| {
        let own = catalogue.field_named(name);
        own.or_else(|| field_named(name, fields.fields(), catalogue))
            .or_else(|| registers::named(name))
    };
    let to_tos = argument.text.strip_suffix(TO_TOS);
    if let Some(value) = to_tos.filter(|_| name.is(SET_FIELD)) {
        let dscp = dscp_of_tos(argument.part(0, value.len()))?;
        return Ok(Action::SetField(SetField(dscp)));
    }
    let standard = if name.is(SET_FIELD) {
        Some(SetField::parse_among(argument.text, catalogue, named).map(Action::SetField))
    } else if COPY_FIELDS.iter().any(|one| name.is(one)) {
        Some(CopyField::parse_among(argument.text, named).map(Action::CopyField))
    } else {
        Action::parse(name.text, argument.text, catalogue)
    };
    if let Some(action) = standard {
        return action.map_err(|message| match argument.text {
            "" => item.err(message),
            _ => argument.err(message),
        });
    }
    if name.is(CONTROLLER) && name.text != item.text && number(argument.text).is_none() {
        return controller(argument);
    }
    if parse_port_named(name.text, catalogue).is_ok() {
        let output = Output::parse(item.text, catalogue);
        return output.map(Action::Output).map_err(|m| item.err(m));
    }
    if let Some(value) = ext(ExtKind::Action, name, argument, catalogue)? {
        return Ok(Action::Experimenter(value));
    }
    if name.is(LOAD) {
        return load(argument, named);
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

/// Reads the keys of an output to the controllers. Errors: also those that only Nicira's action
/// has.
fn controller(keys: Word<'_>) -> Result<Action, ParseError> {
    let mut max_len = MaxLen::NO_BUFFER;
    for item in keys.items() {
        let (key, value) = item.split_at(&['=']).unwrap_or((item, item.end()));
        if key.is("max_len") {
            max_len = MaxLen(value.number()?);
            continue;
        }
        let is_default = (key.is("reason") && value.is("action"))
            || (key.is("id") && number(value.text) == Some(0));
        if !is_default && NICIRA_KEYS.iter().any(|known| key.is(known)) {
            return Err(item.err(NICIRA));
        }
        if !is_default {
            return Err(key.unknown("key", NICIRA_KEYS.iter().copied().chain(["max_len"])));
        }
    }
    let port = PortNo::CONTROLLER;
    Ok(Action::Output(Output { port, max_len }))
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
        DROP, ENQUEUE, LOAD, CONTROLLER, "normal", "flood", "all", "local", "in_port",
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
        return Some(dscp_of_tos(argument));
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

/// Reads a ToS byte, of which the DSCP is set.
fn dscp_of_tos(argument: Word<'_>) -> Result<FieldMatch, ParseError> {
    let tos: u8 = argument.number()?;
    Ok(FieldMatch::exact(field::IP_DSCP, u128::from(tos >> 2)))
}

/// Reads `VALUE->FIELD[FIRST..LAST]` with bits of the field, `FIELD[BIT]` or, for all of it,
/// `FIELD[]`.
fn load(
    argument: Word<'_>,
    named: impl Fn(&str) -> Option<&'static Field>,
) -> Result<Action, ParseError> {
    let wrong = || argument.err("takes VALUE->FIELD[], or a part as FIELD[0..7]");
    let arrow = argument.text.find("->").ok_or_else(wrong)?;
    let value = argument.part(0, arrow);
    let target = argument.part(arrow + 2, argument.text.len());
    let (name, bits) = target.split_at(&['[']).ok_or_else(wrong)?;
    let bits = bits.text.strip_suffix(']').ok_or_else(wrong)?;
    let field = named(name.text).filter(|field| field.settable);
    let field =
        field.ok_or_else(|| name.err(no_field(name.text, "no field that can be set".into())))?;
    // The highest bit of a VLAN id says that there is a tag, so it is always set.
    let present = if field.id == field::VLAN_VID.id {
        u128::from(VID_PRESENT)
    } else {
        0
    };
    let width = u64::from(field.bits) - u64::from(present != 0);
    let (first, last) = match bits.split_once("..") {
        None if bits.is_empty() => ("0", width - 1),
        None => (bits, bits.parse().map_err(|_| wrong())?),
        Some((first, last)) => (first, last.parse().map_err(|_| wrong())?),
    };
    let first: u64 = first.parse().map_err(|_| wrong())?;
    if first > last || last >= width {
        return Err(target.err(format!("the field has bits 0 to {}", width - 1)));
    }
    let ones = u128::MAX >> (u64::from(u128::BITS) - 1 - (last - first));
    let number = number(value.text).map(u128::from);
    let number = number.filter(|number| number & !ones == 0);
    let number = number.ok_or_else(|| value.err("no number that fits into these bits"))?;
    let one = FieldMatch::masked(field, number << first | present, ones << first | present);
    if !field.maskable && !one.is_exact() {
        return Err(target.err(format!("{} takes no mask", field.shown())));
    }
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
    value.transpose().map_err(|error| argument.err(error))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::ext::ExtRow;

    #[test]
    fn an_extension_may_have_a_name_of_nicira_s() {
        static LEARN: [ExtRow; 1] = [ExtRow::new(ExtKind::Action, 0x00b0_f055, 1, "learn")];
        let mut catalogue = Catalogue::default();
        let read = |catalogue: &Catalogue| parse_actions("learn()", &Match::ANY, catalogue);
        let error = read(&catalogue).expect_err("OpenFlow has none").to_string();
        assert!(error.contains(NICIRA), "{error}");
        let added = catalogue.add("pupil", &[], &LEARN);
        added.expect("no other has such rows");
        let actions = read(&catalogue).expect("the extension has it");
        assert!(matches!(actions[..], [Action::Experimenter(_)]));
    }

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
            ("load:7->vlan_vid[]", "set_field:7->vlan_vid"),
            (
                "load:2->NXM_NX_REG0[4..7]",
                "set_field:0x2000000000/0xf000000000->xreg0",
            ),
            ("set_field:5/7->reg3", "set_field:5/7->xreg1"),
            (
                "set_field:0x70000000000000009->xxreg1",
                "set_field:9->xreg3,set_field:7->xreg2",
            ),
            (
                "move:reg2[]->metadata[0..31]",
                "move:xreg1[32..63]->metadata[0..31]",
            ),
            ("set_tunnel:3", "set_field:3->tunnel_id"),
            (
                "set_tunnel64:0x300000000",
                "set_field:0x300000000->tunnel_id",
            ),
            ("controller(max_len=128)", "controller:128"),
            ("controller(reason=action,id=0)", "controller"),
            (
                "mod_vlan_vid:7,mod_vlan_pcp:3",
                "push_vlan:0x8100,set_field:7->vlan_vid,set_field:3->vlan_pcp",
            ),
            ("set_vlan_vid:7", "set_field:7->vlan_vid"),
        ] {
            let wanted = read(standard).expect(standard);
            assert_eq!(read(text).expect(text), wanted, "{text}");
        }
        for nicira in [
            "controller(reason=no_match)",
            "controller(id=1)",
            "controller(userdata=01)",
            "output(port=2,max_len=64)",
            "output:reg0",
            "output:NXM_OF_IN_PORT[]",
            "dec_ttl(1)",
            "load:5->metadata[]",
            "set_field:5->reg16",
            "check_pkt_larger(9)->reg0[0]",
            "resubmit(,1)",
        ] {
            let error = read(nicira).expect_err(nicira).to_string();
            assert!(error.contains("Nicira's extensions"), "{error}");
        }
        for wrong in [
            "load:2->NXM_OF_ARP_OP",
            "load:2->NXM_OF_ARP_OP[4..3]",
            "load:2->NXM_OF_ARP_OP[0..16]",
            "load:2->NXM_OF_ARP_OP[0]",
            "load:0x10000->NXM_OF_ARP_OP[]",
            "load:2->NXM_NX_REG0[32]",
            "set_field:0x100000000->reg0",
            "load:2",
            "load:1->vlan_vid[12]",
            "controller(max_len=70000)",
            "controller(colour=3)",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
