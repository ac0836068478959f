//! Makes a program of the JSON that `p4c-bm2-ss` writes, and checks all of it.

mod actions;
mod controls;
mod expressions;
mod graph;
mod headers;
mod loader;
mod objects;
mod parser;

use alloc::format;

use crate::json::{self, Node, Result};
use crate::program::Program;
use loader::Loader;

/// The format of the JSON, of which all minor versions are read.
const FORMAT: u64 = 2;

impl Program {
    /// Reads a program for v1model. `bytes` may be anything.
    ///
    /// Errors: the first thing that is wrong, with its place.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let document = json::parse(bytes)?;
        let root = Node::root(&document);
        target(&root)?;
        let mut loader = Loader::default();
        headers::load(&mut loader, &root)?;
        objects::load(&mut loader, &root)?;
        actions::load(&mut loader, &root)?;
        parser::load(&mut loader, &root)?;
        controls::load(&mut loader, &root)?;
        objects::checksums(&mut loader, &root)?;
        graph::check(&loader.program, &root)?;
        Ok(loader.program)
    }
}

/// Refuses formats and architectures that are not read, by their names.
fn target(root: &Node<'_>) -> Result<()> {
    let meta = root.get("__meta__")?;
    let version = meta.get("version")?;
    let [major, _] = version.tuple()?;
    if major.number(u64::MAX)? != FORMAT {
        return major.refuse(format!("is not {FORMAT}: another format"));
    }
    for parser in root.list("parsers")? {
        let name = parser.get("name")?;
        match name.text()? {
            "parser" => {}
            "ingress_parser" | "egress_parser" => {
                return name.refuse("is of the architecture PSA; only v1model is read");
            }
            "main_parser" => {
                return name.refuse("is of the architecture PNA; only v1model is read");
            }
            _ => return name.refuse("is not the parser of v1model"),
        }
    }
    if let Some(first) = root.list("extern_instances")?.first() {
        return first.refuse("is an extern object, which v1model has not");
    }
    Ok(())
}
