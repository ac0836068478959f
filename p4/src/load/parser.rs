//! Reads the parser and the deparser.

use alloc::format;
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::expressions::lookahead;
use super::loader::{Loader, MAX_KEY, MAX_WIDTH, add, find, name};
use crate::int::Int;
use crate::json::{Node, Result};
use crate::program::{Data, Header, HeaderOp, ParserOp, Primitive, SelectCase, SelectKey, State};

type States<'a> = HashMap<&'a str, usize>;

/// Reads both.
pub(super) fn load<'a>(loader: &mut Loader<'a>, root: &Node<'a>) -> Result<()> {
    let parsers = root.list("parsers")?;
    let [parser] = &parsers[..] else {
        return root.refuse("has not exactly one parser");
    };
    let nodes = parser.list("parse_states")?;
    let mut names = States::new();
    for (index, node) in nodes.iter().enumerate() {
        add(&mut names, &node.get("name")?, index)?;
    }
    loader.program.start = find(&names, &parser.get("init_state")?, "state")?;
    for node in &nodes {
        let state = state(loader, node, &names)?;
        loader.program.states.push(state);
    }
    let deparsers = root.list("deparsers")?;
    let [deparser] = &deparsers[..] else {
        return root.refuse("has not exactly one deparser");
    };
    for header in deparser.list("order")? {
        let id = find(&loader.headers, &header, "header")?;
        loader.program.deparse.push(id);
    }
    loader.program.deparser_body = loader.body(deparser)?;
    Ok(())
}

fn state(loader: &Loader<'_>, node: &Node<'_>, names: &States<'_>) -> Result<State> {
    let mut ops = Vec::new();
    for op in node.list("parser_ops")? {
        ops.push(parser_op(loader, &op)?);
    }
    let mut key = Vec::new();
    let mut key_widths = Vec::new();
    let mut ahead = 0;
    for part in node.list("transition_key")? {
        let (part, width) = select_key(loader, &part)?;
        if let SelectKey::Lookahead(offset, width) = part {
            ahead = ahead.max((offset + width).div_ceil(8) as usize);
        }
        key.push(part);
        key_widths.push(width);
    }
    if key_widths
        .iter()
        .map(|width| u64::from(*width))
        .sum::<u64>()
        > u64::from(MAX_KEY)
    {
        return node.refuse(format!("has a key of more than {MAX_KEY} bits"));
    }
    let mut cases = Vec::new();
    for transition in node.list("transitions")? {
        let next = match transition.find("next_state")? {
            Some(state) => Some(find(names, &state, "state")?),
            None => None,
        };
        cases.push((case(loader, &transition, &key_widths)?, next));
    }
    Ok(State {
        name: name(node)?,
        ops,
        key,
        key_widths,
        ahead,
        cases,
    })
}

fn parser_op(loader: &Loader<'_>, node: &Node<'_>) -> Result<ParserOp> {
    let parameters = node.list("parameters")?;
    let get = |index: usize| {
        let what = || node.error(format!("has no parameter {index}"));
        parameters.get(index).ok_or_else(what)
    };
    let op = node.get("op")?;
    Ok(match op.text()? {
        "extract" => extract(loader, get(0)?, None)?,
        "extract_VL" => extract(loader, get(0)?, Some(loader.data(get(1)?)?))?,
        "set" => {
            let to = get(0)?;
            let kind = to.get("type")?;
            if kind.text()? != "field" {
                return kind.refuse("a parser sets fields only");
            }
            let to = to.get("value")?;
            let field = loader.field(&to)?;
            if loader.program.fields[field].variable {
                let Data::Field(from) = loader.data(get(1)?)? else {
                    return to.refuse("has a variable width");
                };
                let copy = Primitive::Header(HeaderOp::AssignVariable(field, from));
                if !loader.program.fields[from].variable {
                    return to.refuse("has a variable width");
                }
                return Ok(ParserOp::Primitive(copy));
            }
            ParserOp::Set(field, loader.data(get(1)?)?)
        }
        "verify" => ParserOp::Verify(loader.cond(get(0)?)?, loader.data(get(1)?)?),
        "advance" => ParserOp::Advance(loader.data(get(0)?)?),
        "shift" => {
            let bytes = get(0)?.number(MAX_WIDTH)?;
            ParserOp::Advance(Data::Const(Int::from(bytes * 8)))
        }
        "primitive" => ParserOp::Primitive(loader.primitive(get(0)?)?),
        other => return op.refuse(format!("the parser operation {other} is unknown")),
    })
}

/// What is extracted, and the width of its field of variable width.
fn extract(loader: &Loader<'_>, node: &Node<'_>, width: Option<Data>) -> Result<ParserOp> {
    let kind = node.get("type")?;
    let value = node.get("value")?;
    // The width is there exactly if the header has such a field.
    let checked = |header: &Header| match (header.variable, &width, header.metadata) {
        (Some(_), Some(_), false) | (None, None, false) => Ok(()),
        (_, _, true) => value.refuse("is metadata"),
        (Some(_), None, _) => value.refuse("has a field whose width is not given"),
        (None, Some(_), _) => value.refuse("has no field of variable width"),
    };
    let headers = &loader.program.headers;
    Ok(match kind.text()? {
        "regular" => {
            let id = find(&loader.headers, &value, "header")?;
            checked(&headers[id])?;
            match width {
                Some(width) => ParserOp::ExtractVariable(id, width),
                None => ParserOp::Extract(id),
            }
        }
        "stack" => {
            let id = find(&loader.stacks, &value, "header stack")?;
            checked(&headers[loader.program.stacks[id].elements[0]])?;
            ParserOp::ExtractNext(id, width)
        }
        "union_stack" => {
            let (stack, place) = union_member(loader, &value)?;
            let union = loader.program.union_stacks[stack].elements[0];
            checked(&headers[loader.program.unions[union].members[place]])?;
            ParserOp::ExtractNextUnion(stack, place, width)
        }
        other => return kind.refuse(format!("{other} cannot be extracted")),
    })
}

/// A stack of unions, and the place of a member in these. The name of a member is the last part of
/// the name of its header.
fn union_member(loader: &Loader<'_>, value: &Node<'_>) -> Result<(usize, usize)> {
    let parts = value.items()?;
    let [stack, member, ..] = &parts[..] else {
        return value.refuse("names no stack of unions and member");
    };
    let stack = find(&loader.union_stacks, stack, "stack of unions")?;
    let union = loader.program.union_stacks[stack].elements[0];
    let union = &loader.program.unions[union];
    let wanted = format!("{}.{}", union.name, member.text()?);
    let place = union
        .members
        .iter()
        .position(|id| loader.program.headers[*id].name == wanted);
    match place {
        Some(place) => Ok((stack, place)),
        None => member.refuse("the union has no such member"),
    }
}

fn select_key(loader: &Loader<'_>, node: &Node<'_>) -> Result<(SelectKey, u32)> {
    let kind = node.get("type")?;
    let value = node.get("value")?;
    let width = |field: usize| {
        let field = &loader.program.fields[field];
        if field.variable {
            value.refuse("has a variable width")
        } else {
            Ok(field.width)
        }
    };
    let first = |header: usize| loader.program.headers[header].first;
    Ok(match kind.text()? {
        "field" => {
            let field = loader.field(&value)?;
            (SelectKey::Field(field), width(field)?)
        }
        "stack_field" => {
            let [stack, field] = value.tuple()?;
            let id = find(&loader.stacks, &stack, "header stack")?;
            let place = loader.place_in_stack(id, &field)?;
            let header = loader.program.stacks[id].elements[0];
            (SelectKey::Last(id, place), width(first(header) + place)?)
        }
        "union_stack_field" => {
            let [_, _, field] = value.tuple()?;
            let (stack, member) = union_member(loader, &value)?;
            let union = loader.program.union_stacks[stack].elements[0];
            let header = loader.program.unions[union].members[member];
            let place = loader.place_in(header, &field)?;
            let width = width(first(header) + place)?;
            (SelectKey::LastUnion(stack, member, place), width)
        }
        "lookahead" => {
            let (offset, width) = lookahead(&value)?;
            (SelectKey::Lookahead(offset, width), width)
        }
        other => return kind.refuse(format!("{other} cannot be selected on")),
    })
}

fn case(loader: &Loader<'_>, node: &Node<'_>, widths: &[u32]) -> Result<SelectCase> {
    let kind = node.get("type")?;
    let length: usize = widths.iter().map(|w| w.div_ceil(8) as usize).sum();
    let bits = length as u32 * 8;
    let bytes = |node: &Node<'_>| -> Result<Vec<u8>> {
        let value = node.hex(bits)?;
        if value.is_negative() || value.bits() > u64::from(bits) {
            return node.refuse("does not fit the key");
        }
        let mut bytes = Vec::new();
        value.append_to(bits, &mut bytes);
        Ok(bytes)
    };
    let mask = match node.find("mask")? {
        Some(mask) => Some(bytes(&mask)?),
        None => None,
    };
    Ok(match kind.text()? {
        "default" => SelectCase::Default,
        "hexstr" => {
            let mut value = bytes(&node.get("value")?)?;
            let mask = mask.unwrap_or_else(|| alloc::vec![0xff; length]);
            value.iter_mut().zip(&mask).for_each(|(v, m)| *v &= m);
            SelectCase::Value(value, mask)
        }
        "parse_vset" => {
            let value = node.get("value")?;
            let set = find(&loader.value_sets, &value, "value set")?;
            if loader.program.value_sets[set].width != widths.iter().sum::<u32>() {
                return value.refuse("has another width than the key");
            }
            SelectCase::Set(set, mask)
        }
        other => return kind.refuse(format!("{other} is no kind of transition")),
    })
}
