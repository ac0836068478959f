//! Parses matches, actions and instructions in the original's syntax.

use bofuss_oflib::action::{Output, SetField};
use bofuss_oflib::error::BadMatch;
use bofuss_oflib::field::{self, Field, Style, VID_PRESENT};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::text::{nearest, number, parse_value};
use bofuss_oflib::types::{EtherType, GroupId, MaxLen, MeterId, QueueId, TableId};
use bofuss_oflib::{Action, Catalogue, FieldMatch, Instruction, Match, ParseError};

use crate::Failure;
use crate::words::{Argument, PORTS};

/// The original's names of fields, where they differ from OpenFlow's.
const NAMES: &[(&str, &Field)] = &[
    ("meta", field::METADATA),
    ("tunn_id", field::TUNNEL_ID),
    ("ext_hdr", field::IPV6_EXTHDR),
];
/// The original's names of IPv6 extension headers, from the lowest bit.
pub(crate) const EXT_HEADERS: &[&str] = &[
    "no_next", "esp", "auth", "dest", "frag", "router", "hop", "unrep", "unseq",
];
/// The instructions, by the original's names.
const INSTRUCTIONS: &[&str] = &[
    "apply",
    "write",
    "clear",
    "meta",
    "goto",
    "meter",
    "stat_trigger",
];
/// The actions, by the original's names.
const ACTIONS: &[&str] = &[
    "output",
    "group",
    "queue",
    "set_field",
    "push_vlan",
    "pop_vlan",
    "push_mpls",
    "pop_mpls",
    "push_pbb",
    "pop_pbb",
    "mpls_ttl",
    "mpls_dec",
    "nw_ttl",
    "nw_dec",
    "ttl_out",
    "ttl_in",
];

/// Returns true if a word is an instruction, and not a match.
pub(crate) fn is_instruction(word: &str) -> bool {
    let (name, _) = word.split_once(':').unwrap_or((word, ""));
    INSTRUCTIONS.contains(&name)
}

/// The field with this name. Errors: there is none, with the nearest name.
pub(crate) fn field_named(
    argument: Argument<'_>,
    name: &str,
    catalogue: &Catalogue,
) -> Result<&'static Field, Failure> {
    let own = NAMES.iter().find(|row| row.0 == name).map(|row| row.1);
    own.or_else(|| catalogue.field_named(name)).ok_or_else(|| {
        let fields = catalogue.fields().iter();
        let names = fields.flat_map(|f| f.aliases.iter().chain([&f.name]));
        let known: Vec<&str> = names
            .copied()
            .chain(NAMES.iter().map(|row| row.0))
            .collect();
        match nearest(name, known.iter().copied()) {
            Some(_) => argument.unknown(name, "field", &known),
            None => argument.wrong(name, "no such field (docs/dpctl.md lists them)"),
        }
    })
}

/// Reads a match: `in_port=1,eth_type=0x800,ip_dst=10.0.0.0/8`.
pub(crate) fn parse_match(text: &str, catalogue: &Catalogue) -> Result<Match, Failure> {
    let argument = Argument(text);
    let mut fields = Vec::new();
    for item in argument.items() {
        let Some((name, value)) = item.split_once('=') else {
            let known = field_named(argument, item, catalogue);
            return Err(known.map_or_else(
                |error| error,
                |_| argument.wrong(item, "a value is missing: write FIELD=VALUE"),
            ));
        };
        let field = field_named(argument, name, catalogue)?;
        fields.push(field_match(argument, field, value, catalogue)?);
    }
    Match::new(&fields).map_err(|(error, field)| {
        let word = argument
            .items()
            .filter(|item| {
                let name = item.split_once('=').map_or(*item, |(name, _)| name);
                field_named(argument, name, catalogue).is_ok_and(|one| one.id == field.id)
            })
            .last()
            .unwrap_or(text);
        match error {
            BadMatch::DUP_FIELD => argument.wrong(word, "this field appears twice"),
            _ => argument.wrong(word, &needed(field, catalogue)),
        }
    })
}

/// The error about a field whose prerequisite is missing.
fn needed(field: &Field, catalogue: &Catalogue) -> String {
    let need = field.need.expect("only a field with a need lacks it");
    let other = catalogue.fields()[usize::from(need.id)];
    let values: Vec<_> = need
        .any_of
        .iter()
        .map(|value| match other.id {
            id if id == field::ETH_TYPE.id => format!("{}={value:#x}", other.name),
            id if id == field::VLAN_VID.id => format!("{}=any", other.name),
            _ => format!("{}={value}", other.name),
        })
        .collect();
    format!("needs {} beside it", values.join(" or "))
}

/// Reads a field's value, and its mask if there is one.
fn field_match(
    argument: Argument<'_>,
    field: &'static Field,
    value: &str,
    catalogue: &Catalogue,
) -> Result<FieldMatch, Failure> {
    let present = u128::from(VID_PRESENT);
    if field.id == field::VLAN_VID.id {
        return Ok(match value {
            "any" => FieldMatch::masked(field, present, present),
            "none" => FieldMatch::exact(field, 0),
            value => FieldMatch::exact(field, read(argument, field, value, catalogue)? | present),
        });
    }
    let Some((value, mask)) = value.split_once('/') else {
        return Ok(FieldMatch::exact(
            field,
            read(argument, field, value, catalogue)?,
        ));
    };
    let bits = u64::from(field.bits);
    let mask_bits = match (field.style, number(mask)) {
        (Style::Ip4 | Style::Ip6, Some(length)) if length <= bits => {
            u128::MAX.checked_shl((bits - length) as u32).unwrap_or(0)
        }
        (Style::Ip4 | Style::Ip6, Some(_)) => {
            return Err(argument.wrong(mask, &format!("no mask, and no length from 0 to {bits}")));
        }
        _ => read(argument, field, mask, catalogue)?,
    };
    let one = FieldMatch::masked(field, read(argument, field, value, catalogue)?, mask_bits);
    if field.maskable || one.is_exact() {
        Ok(one)
    } else {
        Err(argument.wrong(mask, "this field takes no mask"))
    }
}

fn read(
    argument: Argument<'_>,
    field: &Field,
    value: &str,
    catalogue: &Catalogue,
) -> Result<u128, Failure> {
    if field.style == Style::Port {
        return argument.port(value, catalogue).map(|port| port.0.into());
    }
    if field.id == field::IPV6_EXTHDR.id && number(value).is_none() {
        let mut bits = 0;
        for name in value.split('+') {
            let bit = EXT_HEADERS.iter().position(|one| *one == name);
            let Some(bit) = bit else {
                return Err(argument.unknown(name, "extension header", EXT_HEADERS));
            };
            bits |= 1 << bit;
        }
        return Ok(bits);
    }
    parse_value(field, value, catalogue).map_err(|error| argument.wrong(value, &error.message))
}

/// Reads instructions, one a word: `meter:1 apply:output=2 goto:3`.
pub(crate) fn parse_instructions(
    words: &[&str],
    catalogue: &Catalogue,
) -> Result<Instructions, Failure> {
    let list: Result<Vec<_>, _> = words
        .iter()
        .map(|word| instruction(word, catalogue))
        .collect();
    Instructions::new(list?)
        .map_err(|()| Failure::Usage("an instruction appears twice; each may appear once".into()))
}

fn instruction(word: &str, catalogue: &Catalogue) -> Result<Instruction, Failure> {
    let whole = Argument(word);
    let (name, rest) = word.split_once(':').unwrap_or((word, ""));
    // Scripts for the original write a comma after an instruction.
    let value = rest.trim_end_matches(',');
    match name {
        "apply" => parse_actions(rest, catalogue).map(Instruction::ApplyActions),
        "write" => parse_actions(rest, catalogue).map(Instruction::WriteActions),
        "clear" if value.is_empty() => Ok(Instruction::ClearActions),
        "clear" => Err(whole.wrong(value, "clear takes nothing")),
        "goto" => whole.number(value).map(TableId).map(Instruction::GotoTable),
        "meter" => whole.number(value).map(MeterId).map(Instruction::Meter),
        "stat_trigger" => match value.parse() {
            Ok(trigger) => Ok(Instruction::StatTrigger(trigger)),
            Err(ParseError { message, .. }) => Err(whole.wrong(value, &message)),
        },
        "meta" => {
            let (value, mask) = value.split_once('/').unwrap_or((value, ""));
            Ok(Instruction::WriteMetadata {
                value: whole.number(value)?,
                mask: if mask.is_empty() {
                    u64::MAX
                } else {
                    whole.number(mask)?
                },
            })
        }
        _ if word.contains('=') => Err(whole.wrong(
            word,
            "not an instruction; the match comes before all instructions",
        )),
        _ => Err(whole.unknown(name, "instruction", INSTRUCTIONS)),
    }
}

/// Reads a list of actions: `set_field=ip_dst:10.0.0.1,output=2`.
pub(crate) fn parse_actions(text: &str, catalogue: &Catalogue) -> Result<Vec<Action>, Failure> {
    let argument = Argument(text);
    argument
        .items()
        .map(|item| action(argument, item, catalogue))
        .collect()
}

fn action(argument: Argument<'_>, item: &str, catalogue: &Catalogue) -> Result<Action, Failure> {
    let (name, value) = item.split_once(['=', ':']).unwrap_or((item, ""));
    let queue = &[("all", QueueId::ALL.0)];
    let action = match name {
        "output" => {
            let (port, length) = value.split_once(':').unwrap_or((value, "0"));
            let port = argument.port(port, catalogue)?;
            let max_len = MaxLen(argument.number(length)?);
            Action::Output(Output { port, max_len })
        }
        "group" => Action::Group(group_id(argument, value)?),
        "queue" => Action::SetQueue(QueueId(argument.named(value, queue)?)),
        "set_field" => return set_field(argument, value, catalogue),
        "push_vlan" => Action::PushVlan(EtherType(argument.number(value)?)),
        "push_mpls" => Action::PushMpls(EtherType(argument.number(value)?)),
        "pop_mpls" => Action::PopMpls(EtherType(argument.number(value)?)),
        "push_pbb" => Action::PushPbb(EtherType(argument.number(value)?)),
        "mpls_ttl" => Action::SetMplsTtl(argument.number(value)?),
        "nw_ttl" => Action::SetNwTtl(argument.number(value)?),
        "pop_vlan" => Action::PopVlan,
        "pop_pbb" => Action::PopPbb,
        "mpls_dec" => Action::DecMplsTtl,
        "nw_dec" => Action::DecNwTtl,
        "ttl_out" => Action::CopyTtlOut,
        "ttl_in" => Action::CopyTtlIn,
        _ if PORTS.iter().any(|row| row.0 == name) || number(name).is_some() => {
            return Err(argument.wrong(item, &format!("write output={item}")));
        }
        _ => return Err(argument.unknown(name, "action", ACTIONS)),
    };
    Ok(action)
}

fn set_field(argument: Argument<'_>, text: &str, catalogue: &Catalogue) -> Result<Action, Failure> {
    let Some((name, value)) = text.split_once([':', '=']) else {
        return Err(argument.wrong(text, "write set_field=FIELD:VALUE"));
    };
    let field = field_named(argument, name, catalogue)?;
    let one = field_match(argument, field, value, catalogue)?;
    if field.settable {
        Ok(Action::SetField(SetField(one)))
    } else {
        Err(argument.wrong(name, "this field cannot be set"))
    }
}

/// A group by its number, `all` or `any`.
pub(crate) fn group_id(argument: Argument<'_>, part: &str) -> Result<GroupId, Failure> {
    let names = &[("all", GroupId::ALL.0), ("any", GroupId::ANY.0)];
    argument.named(part, names).map(GroupId)
}
