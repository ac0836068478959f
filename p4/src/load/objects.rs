//! Reads errors, field lists, counters, meters, registers, calculations, value sets and checksums.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::loader::{Loader, MAX_CELLS, MAX_WIDTH, add, find, name};
use crate::hash::Algorithm;
use crate::json::{Node, Result};
use crate::program::{Array, Calculation, Checksum, CoreErrors, Data, FieldList, Input, ValueSet};

/// Reads all but checksums.
pub(super) fn load<'a>(loader: &mut Loader<'a>, root: &Node<'a>) -> Result<()> {
    for error in root.list("errors")? {
        let [name, number] = error.tuple()?;
        let number = number.number(u64::from(u32::MAX))? as u32;
        loader.program.errors.push((name.owned()?, number));
    }
    loader.program.core_errors = core_errors(&loader.program.errors);
    arrays(loader, root)?;
    for node in root.list("parse_vsets")? {
        let index = loader.program.value_sets.len();
        add(&mut loader.value_sets, &node.get("name")?, index)?;
        let size = match node.find("max_size")? {
            Some(size) => size.number(u64::from(u32::MAX))? as usize,
            None => usize::MAX,
        };
        loader.program.value_sets.push(ValueSet {
            name: name(&node)?,
            width: node.get("compressed_bitwidth")?.number(MAX_WIDTH)? as u32,
            size,
        });
    }
    loader.program.field_lists = field_lists(loader, root, "field_lists")?;
    loader.program.digests = field_lists(loader, root, "learn_lists")?;
    for node in root.list("calculations")? {
        let index = loader.program.calculations.len();
        add(&mut loader.calculations, &node.get("name")?, index)?;
        let calculation = calculation(loader, &node, name(&node)?)?;
        loader.program.calculations.push(calculation);
    }
    Ok(())
}

/// The numbers of the errors of the core library: as `errors` has them, else as p4c numbers them.
fn core_errors(errors: &[(String, u32)]) -> CoreErrors {
    let number = |name: &str, default| {
        let found = errors.iter().find(|(other, _)| other == name);
        found.map_or(default, |(_, number)| *number)
    };
    CoreErrors {
        packet_too_short: number("PacketTooShort", 1),
        stack_out_of_bounds: number("StackOutOfBounds", 3),
        header_too_short: number("HeaderTooShort", 4),
        parser_timeout: number("ParserTimeout", 5),
        parser_invalid_argument: number("ParserInvalidArgument", 6),
    }
}

fn arrays<'a>(loader: &mut Loader<'a>, root: &Node<'a>) -> Result<()> {
    let mut cells = 0;
    let mut read = |node: &Node<'a>| -> Result<Array> {
        let direct = match node.find("is_direct")? {
            Some(direct) => direct.boolean()?,
            None => false,
        };
        let size = match node.find("size")? {
            Some(size) if !direct => size.number(u64::from(u32::MAX))? as usize,
            Some(_) | None => 0,
        };
        cells += size;
        if cells > MAX_CELLS {
            let what = format!("more than {MAX_CELLS} counters, meters and registers");
            return node.refuse(what);
        }
        let width = match node.find("bitwidth")? {
            Some(width) => width.number(MAX_WIDTH)? as u32,
            None => 0,
        };
        let table = match node.find("binding")? {
            Some(table) => Some(table.owned()?),
            None => None,
        };
        let bytes = node
            .find("type")?
            .is_some_and(|kind| kind.text() == Ok("bytes"));
        Ok(Array {
            name: name(node)?,
            size,
            direct,
            table,
            width,
            bytes,
        })
    };
    for node in root.list("counter_arrays")? {
        let index = loader.program.counters.len();
        add(&mut loader.counters, &node.get("name")?, index)?;
        loader.program.counters.push(read(&node)?);
    }
    for node in root.list("register_arrays")? {
        let index = loader.program.registers.len();
        add(&mut loader.registers, &node.get("name")?, index)?;
        loader.program.registers.push(read(&node)?);
    }
    for node in root.list("meter_arrays")? {
        let index = loader.program.meters.len();
        add(&mut loader.meters, &node.get("name")?, index)?;
        if let Some(rates) = node.find("rate_count")? {
            if rates.number(u64::MAX)? != 2 {
                return rates.refuse("only meters of two rates and three colours are known");
            }
        }
        if let Some(target) = node.find("result_target")? {
            let field = loader.field(&target)?;
            loader.meter_targets.insert(index, field);
        }
        loader.program.meters.push(read(&node)?);
    }
    Ok(())
}

fn field_lists<'a>(
    loader: &Loader<'a>,
    root: &Node<'a>,
    key: &'static str,
) -> Result<Vec<FieldList>> {
    let mut lists = Vec::new();
    for node in root.list(key)? {
        let elements = node.list("elements")?;
        let elements: Result<Vec<_>> = elements.iter().map(|e| loader.data(e)).collect();
        let elements = elements?;
        let field = |element: &Data| {
            if let Data::Field(field) = element {
                let row = &loader.program.fields[*field];
                (row.width, row.signed)
            } else {
                (0, false)
            }
        };
        lists.push(FieldList {
            id: node.get("id")?.number(u64::MAX)?,
            name: name(&node)?,
            fields: elements.iter().map(field).collect(),
            elements,
        });
    }
    Ok(lists)
}

/// A hash or checksum: the members `algo` and `input` of `node`.
pub(super) fn calculation(
    loader: &Loader<'_>,
    node: &Node<'_>,
    name: String,
) -> Result<Calculation> {
    let algorithm_node = node.get("algo")?;
    let algorithm = algorithm_node.text()?;
    let Some(algorithm) = Algorithm::named(algorithm) else {
        return algorithm_node.refuse(format!("the algorithm {algorithm} is unknown"));
    };
    let mut input = Vec::new();
    for part in node.list("input")? {
        let kind = part.get("type")?;
        let next = match kind.text()? {
            "payload" => Input::Payload,
            "field" => field_input(loader, loader.field(&part.get("value")?)?),
            "header" => Input::Header(find(&loader.headers, &part.get("value")?, "header")?),
            "hexstr" => {
                let width = part.get("bitwidth")?.number(MAX_WIDTH)? as u32;
                let value = part.get("value")?.hex(MAX_WIDTH as u32)?;
                Input::Const(value, width)
            }
            other => return kind.refuse(format!("{other} cannot be an input")),
        };
        match (input.last_mut(), &next) {
            // A field that follows the one before is read with it.
            (Some(Input::Bits(header, start, width)), Input::Bits(other, at, more))
                if header == other && *start + *width as usize == *at =>
            {
                *width += more;
            }
            _ => input.push(next),
        }
    }
    Ok(Calculation {
        name,
        algorithm,
        input,
    })
}

fn field_input(loader: &Loader<'_>, id: usize) -> Input {
    let field = &loader.program.fields[id];
    if field.variable {
        Input::Field(id)
    } else {
        Input::Bits(field.header, field.start, field.width)
    }
}

/// Reads checksums.
pub(super) fn checksums<'a>(loader: &mut Loader<'a>, root: &Node<'a>) -> Result<()> {
    for node in root.list("checksums")? {
        let kind = node.get("type")?;
        if kind.text()? != "generic" {
            return kind.refuse("only checksums of the type generic are known");
        }
        let flag = |key, default| match node.find(key)? {
            Some(flag) => flag.boolean(),
            None => Ok(default),
        };
        let condition = match node.find("if_cond")? {
            Some(cond) => Some(loader.cond(&cond)?),
            None => None,
        };
        let target_node = node.get("target")?;
        let target = loader.field(&target_node)?;
        if loader.program.fields[target].variable {
            return target_node.refuse("has a variable width");
        }
        let checksum = Checksum {
            target,
            calculation: find(
                &loader.calculations,
                &node.get("calculation")?,
                "calculation",
            )?,
            condition,
            verify: flag("verify", true)?,
            update: flag("update", true)?,
        };
        loader.program.checksums.push(checksum);
    }
    Ok(())
}
