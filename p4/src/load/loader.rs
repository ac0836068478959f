//! What is known of a program while it is read, and the names in it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::json::{Node, Result};
use crate::program::{FieldId, HeaderId, Program};

/// The widest field, in bits.
pub const MAX_WIDTH: u64 = 1 << 16;
/// Fields of all headers and metadata.
pub const MAX_FIELDS: usize = 1 << 18;
/// Bits of all fields.
pub const MAX_BITS: usize = 1 << 24;
/// Bits of a key of a table or of the parser.
pub const MAX_KEY: u32 = 1 << 16;
/// Bytes of a name.
const MAX_NAME: usize = 512;
/// Cells of all counters, meters and registers.
pub const MAX_CELLS: usize = 1 << 24;
/// What is known of the program so far, and the names of it.
#[derive(Default)]
pub struct Loader<'a> {
    pub program: Program,
    pub headers: HashMap<&'a str, HeaderId>,
    pub fields: HashMap<(HeaderId, &'a str), FieldId>,
    pub stacks: HashMap<&'a str, usize>,
    pub unions: HashMap<&'a str, usize>,
    pub union_stacks: HashMap<&'a str, usize>,
    pub registers: HashMap<&'a str, usize>,
    pub counters: HashMap<&'a str, usize>,
    pub meters: HashMap<&'a str, usize>,
    pub calculations: HashMap<&'a str, usize>,
    pub value_sets: HashMap<&'a str, usize>,
    /// Actions by the number that tables name.
    pub actions: HashMap<u64, usize>,
    /// Where the colours of direct meters go, by meter.
    pub meter_targets: HashMap<usize, FieldId>,
    /// The widths of the parameters of the action that is being read.
    pub parameters: Vec<u32>,
}

impl<'a> Loader<'a> {
    /// A field by its header's name and its own. Errors: no such field.
    pub fn field(&self, node: &Node<'_>) -> Result<FieldId> {
        let [header, field] = node.tuple()?;
        let id = find(&self.headers, &header, "header")?;
        let name = field.text()?;
        match self.fields.get(&(id, name)) {
            Some(field) => Ok(*field),
            None => field.refuse(format!("no field of this name in {}", header.text()?)),
        }
    }
}

/// What `names` has under the text of `node`. Errors: nothing.
pub fn find<T: Copy>(names: &HashMap<&str, T>, node: &Node<'_>, what: &str) -> Result<T> {
    let name = node.text()?;
    let found = names.get(name).copied();
    found.ok_or_else(|| node.error(format!("no {what} of the name {name}")))
}

/// The text of a name. Errors: it is too long.
pub fn name_text<'a>(node: &Node<'a>) -> Result<&'a str> {
    match node.text()? {
        text if text.len() <= MAX_NAME => Ok(text),
        _ => node.refuse(format!("is longer than {MAX_NAME} bytes")),
    }
}

/// Adds a name. Errors: it is there, it is too long.
pub fn add<'a>(names: &mut HashMap<&'a str, usize>, node: &Node<'a>, index: usize) -> Result<()> {
    match names.insert(name_text(node)?, index) {
        None => Ok(()),
        Some(_) => node.refuse("is there twice"),
    }
}

/// The name of what is at `node`.
pub fn name(node: &Node<'_>) -> Result<String> {
    node.get("name")?.owned()
}
