//! Reads the two controls: tables, conditions, action profiles and the entries of a program.

use alloc::format;
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::loader::{Loader, MAX_KEY, MAX_WIDTH, add, find, name};
use super::objects;
use crate::int::Int;
use crate::json::{Node, Result};
use crate::program::{
    self, Condition, ConstEntry, Data, KeyPart, Match, MatchKind, Next, Profile, Table,
};

/// The names of tables and conditions of one control.
type Names<'a> = HashMap<&'a str, program::Node>;

/// Reads both.
pub(super) fn load<'a>(loader: &mut Loader<'a>, root: &Node<'a>) -> Result<()> {
    for pipeline in root.list("pipelines")? {
        let name = pipeline.get("name")?;
        let first = control(loader, &pipeline)?;
        match name.text()? {
            "ingress" => loader.program.ingress = first,
            "egress" => loader.program.egress = first,
            _ => return name.refuse("is neither ingress nor egress, the controls of v1model"),
        }
    }
    Ok(())
}

fn control<'a>(loader: &mut Loader<'a>, pipeline: &Node<'a>) -> Result<program::Node> {
    let mut profiles = HashMap::new();
    for node in pipeline.list("action_profiles")? {
        add(
            &mut profiles,
            &node.get("name")?,
            loader.program.profiles.len(),
        )?;
        let profile = profile(loader, &node)?;
        loader.program.profiles.push(profile);
    }
    let tables = pipeline.list("tables")?;
    let conditions = pipeline.list("conditionals")?;
    let (table_count, condition_count) =
        (loader.program.tables.len(), loader.program.conditions.len());
    let mut names = Names::new();
    for (index, node) in tables.iter().enumerate() {
        let place = program::Node::Table(table_count + index);
        names.insert(node.get("name")?.text()?, place);
    }
    for (index, node) in conditions.iter().enumerate() {
        let place = program::Node::Condition(condition_count + index);
        names.insert(node.get("name")?.text()?, place);
    }
    for node in &tables {
        let table = table(loader, node, &names, &profiles)?;
        loader.program.tables.push(table);
    }
    for node in &conditions {
        let condition = Condition {
            name: name(node)?,
            cond: loader.cond(&node.get("expression")?)?,
            yes: next(node, "true_next", &names)?,
            no: next(node, "false_next", &names)?,
        };
        loader.program.conditions.push(condition);
    }
    next(pipeline, "init_table", &names)
}

/// What a member names; nothing is the end.
fn next<'a>(node: &Node<'a>, key: &'a str, names: &Names<'_>) -> Result<program::Node> {
    match node.find(key)? {
        Some(node) => find(names, &node, "table or condition"),
        None => Ok(program::Node::End),
    }
}

fn profile<'a>(loader: &Loader<'a>, node: &Node<'a>) -> Result<Profile> {
    let selector = match node.find("selector")? {
        Some(selector) => Some(objects::calculation(loader, &selector, name(node)?)?),
        None => None,
    };
    Ok(Profile {
        name: name(node)?,
        size: node.get("max_size")?.number(u64::from(u32::MAX))? as usize,
        selector,
    })
}

fn table<'a>(
    loader: &Loader<'a>,
    node: &Node<'a>,
    names: &Names<'_>,
    profiles: &HashMap<&str, usize>,
) -> Result<Table> {
    let key: Result<Vec<_>> = node
        .list("key")?
        .iter()
        .map(|k| key_part(loader, k))
        .collect();
    let key = key?;
    if key
        .iter()
        .filter(|part| part.kind == MatchKind::Lpm)
        .count()
        > 1
    {
        return node.refuse("has several keys of the kind lpm");
    }
    if key.iter().map(|part| u64::from(part.width)).sum::<u64>() > u64::from(MAX_KEY) {
        return node.refuse(format!("has a key of more than {MAX_KEY} bits"));
    }
    let mut actions = Vec::new();
    for id in node.list("action_ids")? {
        actions.push(action(loader, &id)?);
    }
    let flag = |key| match node.find(key)? {
        Some(flag) => flag.boolean(),
        None => Ok(false),
    };
    let meter = match node.find("direct_meters")? {
        Some(meter) => {
            let id = find(&loader.meters, &meter, "meter")?;
            match loader.meter_targets.get(&id) {
                Some(field) => Some((id, *field)),
                None => return meter.refuse("the meter has no result_target"),
            }
        }
        None => None,
    };
    let kind = node.get("type")?;
    let profile = match kind.text()? {
        "simple" => None,
        "indirect" | "indirect_ws" => Some(find(
            profiles,
            &node.get("action_profile")?,
            "action profile",
        )?),
        other => return kind.refuse(format!("{other} is no type of table")),
    };
    let mut table = Table {
        name: name(node)?,
        next: next_tables(node, &actions, loader, names)?,
        base_next: next(node, "base_default_next", names)?,
        key,
        actions,
        size: node.get("max_size")?.number(u64::MAX)? as usize,
        profile,
        counters: flag("with_counters")?,
        meter,
        timeout: flag("support_timeout")?,
        default: None,
        const_default: false,
        const_entries: node.find("entries")?.is_some(),
        entries: Vec::new(),
    };
    if let Some(entry) = node.find("default_entry")? {
        default_entry(loader, &entry, &mut table)?;
    }
    for entry in node.list("entries")? {
        let entry = const_entry(loader, &entry, &table)?;
        table.entries.push(entry);
    }
    Ok(table)
}

/// The action that a number names.
fn action(loader: &Loader<'_>, id: &Node<'_>) -> Result<usize> {
    let found = loader.actions.get(&id.number(u64::MAX)?);
    found
        .copied()
        .ok_or_else(|| id.error("no action has this id"))
}

fn key_part(loader: &Loader<'_>, node: &Node<'_>) -> Result<KeyPart> {
    let kind_node = node.get("match_type")?;
    let kind = match kind_node.text()? {
        "exact" => MatchKind::Exact,
        "lpm" => MatchKind::Lpm,
        "ternary" => MatchKind::Ternary,
        "range" => MatchKind::Range,
        "optional" => MatchKind::Optional,
        "valid" => MatchKind::Valid,
        other => return kind_node.refuse(format!("{other} is no kind of match")),
    };
    let target = node.get("target")?;
    let (value, width, text) = if kind == MatchKind::Valid {
        let id = find(&loader.headers, &target, "header")?;
        (Data::Valid(id), 1, format!("{}.$valid$", target.text()?))
    } else {
        let [header, field] = target.tuple()?;
        let text = format!("{}.{}", header.text()?, field.text()?);
        if field.text()? == "$valid$" {
            (
                Data::Valid(find(&loader.headers, &header, "header")?),
                1,
                text,
            )
        } else {
            let id = loader.field(&target)?;
            let field = &loader.program.fields[id];
            if field.variable {
                return target.refuse("has a variable width");
            }
            (Data::Field(id), field.width, text)
        }
    };
    let mask = match node.find("mask")? {
        Some(mask) => Some(mask.hex(width)?),
        None => None,
    };
    Ok(KeyPart {
        name: match node.find("name")? {
            Some(name) => name.owned()?,
            None => text.clone(),
        },
        target: text,
        kind,
        value,
        width,
        mask,
    })
}

fn next_tables(
    node: &Node<'_>,
    actions: &[usize],
    loader: &Loader<'_>,
    names: &Names<'_>,
) -> Result<Next> {
    let tables = node.get("next_tables")?;
    if tables.find("__HIT__")?.is_some() || tables.find("__MISS__")?.is_some() {
        let hit = next(&tables, "__HIT__", names)?;
        return Ok(Next::Hit(hit, next(&tables, "__MISS__", names)?));
    }
    let members: HashMap<_, _> = tables.members()?.into_iter().collect();
    if members.contains_key("__HIT__") || members.contains_key("__MISS__") {
        return Ok(Next::Hit(program::Node::End, program::Node::End));
    }
    let mut all = Vec::new();
    for index in actions {
        let action = &loader.program.actions[*index].name;
        all.push(match members.get(&**action) {
            Some(place) if !place.is_null() => find(names, place, "table or condition")?,
            Some(_) | None => program::Node::End,
        });
    }
    Ok(Next::Action(all))
}

fn default_entry(loader: &Loader<'_>, node: &Node<'_>, table: &mut Table) -> Result<()> {
    let id_node = node.get("action_id")?;
    let id = action(loader, &id_node)?;
    if !table.actions.contains(&id) {
        return id_node.refuse("is no action of the table");
    }
    let flag = |key| match node.find(key)? {
        Some(flag) => flag.boolean(),
        None => Ok(false),
    };
    table.const_default = flag("action_const")? || flag("action_entry_const")?;
    let wanted = loader.program.actions[id].parameters.len();
    let data = node.list("action_data")?;
    if node.find("action_data")?.is_none() && wanted > 0 {
        // The control plane gives the data.
        return Ok(());
    }
    table.default = Some((id, action_data(loader, id, node, &data)?));
    Ok(())
}

fn action_data(
    loader: &Loader<'_>,
    id: usize,
    node: &Node<'_>,
    data: &[Node<'_>],
) -> Result<Vec<Int>> {
    let parameters = &loader.program.actions[id].parameters;
    if data.len() != parameters.len() {
        return node.refuse(format!(
            "has not {} values of action data",
            parameters.len()
        ));
    }
    let widths = parameters.iter().map(|(_, width)| *width);
    let values = data.iter().zip(widths);
    values
        .map(|(value, width)| Ok(value.hex(MAX_WIDTH as u32)?.wrapped(width)))
        .collect()
}

fn const_entry(loader: &Loader<'_>, node: &Node<'_>, table: &Table) -> Result<ConstEntry> {
    let parts = node.list("match_key")?;
    if parts.len() != table.key.len() {
        return node.refuse("has not as many keys as the table");
    }
    let key: Result<Vec<_>> = parts
        .iter()
        .zip(&table.key)
        .map(|(n, k)| one_match(n, k))
        .collect();
    let entry = node.get("action_entry")?;
    let id_node = entry.get("action_id")?;
    let id = action(loader, &id_node)?;
    if !table.actions.contains(&id) {
        return id_node.refuse("is no action of the table");
    }
    // The first in the program has the lowest number and is preferred.
    let priority = match node.find("priority")? {
        Some(number) => -(number.number(i32::MAX as u64)? as i32),
        None => 0,
    };
    Ok(ConstEntry {
        key: key?,
        priority,
        action: id,
        data: action_data(loader, id, &entry, &entry.list("action_data")?)?,
    })
}

fn one_match(node: &Node<'_>, part: &KeyPart) -> Result<Match> {
    let value = |key| -> Result<Int> {
        let value_node = node.get(key)?;
        let value = value_node.hex(MAX_WIDTH as u32)?;
        if value.is_negative() || value.bits() > u64::from(part.width) {
            // A signed field has its values in two's complement.
            return Ok(value.wrapped(part.width));
        }
        Ok(value)
    };
    let kind = node.get("match_type")?;
    let name = part.kind.name();
    if kind.text()? != name {
        return kind.refuse(format!("{} is matched as {name}", part.name));
    }
    Ok(match part.kind {
        MatchKind::Exact => Match::Exact(value("key")?),
        MatchKind::Valid => Match::Exact(Int::from(node.get("key")?.boolean()?)),
        MatchKind::Lpm => {
            let length = node.get("prefix_length")?.number(u64::from(part.width))? as u32;
            let (key, mask) = Match::Lpm(value("key")?, length).value_and_mask(part.width);
            Match::Lpm(key.and(&mask), length)
        }
        MatchKind::Ternary => {
            // A source may name bits that its mask leaves out.
            let (key, mask) = (value("key")?, value("mask")?);
            Match::Ternary(key.and(&mask), mask)
        }
        MatchKind::Optional => match node.find("key")? {
            Some(_) => Match::Exact(value("key")?),
            None => Match::Any,
        },
        MatchKind::Range => Match::Range(value("start")?, value("end")?),
    })
}
