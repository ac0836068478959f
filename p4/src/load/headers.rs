//! Reads header types, instances, stacks and unions, and finds the fields of the architecture.

use alloc::format;
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::loader::{Loader, MAX_BITS, MAX_FIELDS, MAX_WIDTH, add, find, name, name_text};
use crate::bits::is_word;
use crate::json::{Node, Result};
use crate::program::{Field, FieldId, Header, Stack, Standard, Union};

/// The bits of a machine word, at multiples of which fields of metadata begin.
const WORD_BITS: usize = 64;

/// A header type.
struct Kind<'a> {
    /// The names, widths and signs of its fields; `None` is a variable width.
    fields: Vec<(&'a str, Option<u32>, bool)>,
    /// The bytes of the whole header, if it has a field of variable width.
    max_length: Option<u32>,
}

/// Reads all of them.
pub(super) fn load<'a>(loader: &mut Loader<'a>, root: &Node<'a>) -> Result<()> {
    let mut kinds: Vec<Kind<'a>> = Vec::new();
    let mut kind_names = HashMap::new();
    for node in root.list("header_types")? {
        add(&mut kind_names, &node.get("name")?, kinds.len())?;
        kinds.push(kind(&node)?);
    }
    let mut ids = HashMap::new();
    for node in root.list("headers")? {
        let index = loader.program.headers.len();
        ids.insert(node.get("id")?.number(u64::MAX)?, index);
        let kind = find(&kind_names, &node.get("header_type")?, "header type")?;
        header(loader, &node, kind, &kinds[kind])?;
    }
    stacks(loader, root, &ids)?;
    loader.program.standard = standard(loader, root)?;
    Ok(())
}

fn kind<'a>(node: &Node<'a>) -> Result<Kind<'a>> {
    let mut fields = Vec::new();
    let mut variable = 0;
    for field in node.list("fields")? {
        let parts = field.items()?;
        let [name, width, rest @ ..] = &parts[..] else {
            return field.refuse("has no name and width");
        };
        let signed = rest.first().is_some_and(|sign| sign.boolean() == Ok(true));
        let bits = match width.text() {
            Ok("*") => None,
            Ok(_) | Err(_) => Some(width.number(MAX_WIDTH)? as u32),
        };
        variable += usize::from(bits.is_none());
        fields.push((name_text(name)?, bits, signed));
    }
    if variable > 1 {
        return node.refuse("has several fields of variable width");
    }
    if node.find("length_exp")?.is_some() {
        return node.refuse("has a length_exp, which P4_16 has not");
    }
    let longest = MAX_WIDTH / 8;
    let max_length = match node.find("max_length")? {
        Some(bytes) => Some(bytes.number(longest)? as u32),
        None if variable > 0 => return node.refuse("has no max_length"),
        None => None,
    };
    Ok(Kind { fields, max_length })
}

fn header<'a>(
    loader: &mut Loader<'a>,
    node: &Node<'a>,
    kind_id: usize,
    kind: &Kind<'a>,
) -> Result<()> {
    let id = loader.program.headers.len();
    let first = loader.program.fields.len();
    if first + kind.fields.len() > MAX_FIELDS {
        return node.refuse(format!("more than {MAX_FIELDS} fields"));
    }
    add(&mut loader.headers, &node.get("name")?, id)?;
    let metadata = node.get("metadata")?.boolean()?;
    let fixed: u64 = kind
        .fields
        .iter()
        .map(|f| u64::from(f.1.unwrap_or(0)))
        .sum();
    let longest = fixed.max(kind.max_length.map_or(0, |bytes| u64::from(bytes) * 8));
    loader.program.bits += longest as usize;
    if loader.program.bits > MAX_BITS {
        return node.refuse(format!("more than {MAX_BITS} bits in all fields"));
    }
    if !metadata && fixed > MAX_WIDTH {
        return node.refuse(format!("has more than {MAX_WIDTH} bits"));
    }
    if !metadata && fixed % 8 != 0 {
        return node.refuse("is not a multiple of 8 bits wide");
    }
    let rest = kind
        .max_length
        .map(|bytes| (u64::from(bytes) * 8).saturating_sub(fixed) as u32);
    let widths = kind.fields.iter();
    let widths = widths.map(|(_, width, _)| width.or(rest).unwrap_or(0));
    let (starts, end) = layout(loader.program.bytes * 8, metadata, widths);
    let start = starts.first().copied().unwrap_or(end);
    let mut variable = None;
    for (place, (field, width, signed)) in kind.fields.iter().enumerate() {
        let index = first + place;
        if width.is_none() {
            variable = rest.map(|bits| (index, bits));
        }
        loader.fields.insert((id, field), index);
        let bits = width.or(rest).unwrap_or(0);
        let at = starts[place];
        loader.program.fields.push(Field {
            name: format!("{}.{field}", node.get("name")?.text()?),
            header: id,
            width: bits,
            signed: *signed,
            variable: width.is_none(),
            start: at,
            word: is_word(at, bits),
        });
    }
    loader.program.bytes = end / 8;
    loader.program.headers.push(Header {
        name: name(node)?,
        kind: kind_id * 2 + usize::from(metadata),
        metadata,
        first,
        count: kind.fields.len(),
        fixed_bits: fixed as u32,
        variable,
        union: None,
        start,
        bytes: (end - start) / 8,
    });
    Ok(())
}

/// Where the fields of a header begin among those of all headers, of which there are `end` bits
/// yet, and the end with them.
fn layout(
    mut end: usize,
    metadata: bool,
    widths: impl Iterator<Item = u32>,
) -> (Vec<usize>, usize) {
    let unit = if metadata { WORD_BITS } else { 8 };
    let mut starts = Vec::new();
    end = end.next_multiple_of(unit);
    for width in widths {
        if metadata {
            end = end.next_multiple_of(unit);
        }
        starts.push(end);
        end += width as usize;
    }
    (starts, end.next_multiple_of(unit))
}

type Ids = HashMap<u64, usize>;

/// The indices that a list of numbers names.
fn by_ids(node: &Node<'_>, key: &'static str, ids: &Ids) -> Result<Vec<usize>> {
    let mut found = Vec::new();
    for number in node.list(key)? {
        match ids.get(&number.number(u64::MAX)?) {
            Some(index) => found.push(*index),
            None => return number.refuse("nothing has this id"),
        }
    }
    if found.is_empty() {
        return node.refuse(format!("has no {key}"));
    }
    Ok(found)
}

fn stacks<'a>(loader: &mut Loader<'a>, root: &Node<'a>, headers: &Ids) -> Result<()> {
    for node in root.list("header_stacks")? {
        add(
            &mut loader.stacks,
            &node.get("name")?,
            loader.program.stacks.len(),
        )?;
        let elements = by_ids(&node, "header_ids", headers)?;
        let kinds = elements.iter().map(|id| loader.program.headers[*id].kind);
        if kinds.clone().any(|kind| Some(kind) != kinds.clone().next()) {
            return node.refuse("has headers of several types");
        }
        let name = name(&node)?;
        loader.program.stacks.push(Stack { name, elements });
    }
    let mut unions = Ids::new();
    for node in root.list("header_unions")? {
        let index = loader.program.unions.len();
        add(&mut loader.unions, &node.get("name")?, index)?;
        unions.insert(node.get("id")?.number(u64::MAX)?, index);
        let members = by_ids(&node, "header_ids", headers)?;
        for id in &members {
            loader.program.headers[*id].union = Some(index);
        }
        let name = name(&node)?;
        loader.program.unions.push(Union { name, members });
    }
    for node in root.list("header_union_stacks")? {
        let index = loader.program.union_stacks.len();
        add(&mut loader.union_stacks, &node.get("name")?, index)?;
        let elements = by_ids(&node, "header_union_ids", &unions)?;
        if elements
            .windows(2)
            .any(|two| !same_union(loader, two[0], two[1]))
        {
            return node.refuse("has unions of several types");
        }
        let name = name(&node)?;
        loader.program.union_stacks.push(Stack { name, elements });
    }
    Ok(())
}

/// Whether two unions have members of the same types.
pub(super) fn same_union(loader: &Loader<'_>, a: usize, b: usize) -> bool {
    let kinds = |union: usize| {
        let members = loader.program.unions[union].members.iter();
        members.map(|id| loader.program.headers[*id].kind)
    };
    kinds(a).eq(kinds(b))
}

/// Finds the fields that the architecture writes and reads. A program of P4_14 may have them in
/// headers of their own, or name them as aliases.
fn standard<'a>(loader: &Loader<'a>, root: &Node<'a>) -> Result<Standard> {
    let mut aliases: HashMap<&str, FieldId> = HashMap::new();
    for alias in root.list("field_aliases")? {
        let [name, field] = alias.tuple()?;
        aliases.insert(name.text()?, loader.field(&field)?);
    }
    let field = |header: &str, name: &str| {
        let alias = aliases.get(&*format!("{header}.{name}")).copied();
        alias.or_else(|| {
            let id = loader.headers.get(header)?;
            loader.fields.get(&(*id, name)).copied()
        })
    };
    let (of_all, intrinsic, queueing) = (
        "standard_metadata",
        "intrinsic_metadata",
        "queueing_metadata",
    );
    Ok(Standard {
        ingress_port: field(of_all, "ingress_port"),
        egress_spec: field(of_all, "egress_spec"),
        egress_port: field(of_all, "egress_port"),
        instance_type: field(of_all, "instance_type"),
        packet_length: field(of_all, "packet_length"),
        parser_error: field(of_all, "parser_error"),
        checksum_error: field(of_all, "checksum_error"),
        mcast_grp: field(intrinsic, "mcast_grp"),
        egress_rid: field(intrinsic, "egress_rid"),
        priority: field(intrinsic, "priority"),
        ingress_timestamp: field(intrinsic, "ingress_global_timestamp"),
        egress_timestamp: field(intrinsic, "egress_global_timestamp"),
        enq_timestamp: field(queueing, "enq_timestamp"),
        enq_qdepth: field(queueing, "enq_qdepth"),
        deq_timedelta: field(queueing, "deq_timedelta"),
        deq_qdepth: field(queueing, "deq_qdepth"),
    })
}
