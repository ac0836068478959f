//! `cargo xtask reference`: writes or compares what the tree has from its own lists: the diagram of
//! the rooms, and what `bofuss-reference` prints from the catalogues.

use std::path::Path;
use std::process::Command;

use crate::rooms::{self, ARROWS};
use crate::{command, tree};

/// The page that has the diagram of the rooms, and what surrounds it there.
const ARCHITECTURE: &str = "ARCHITECTURE.md";
const DIAGRAM: (&str, &str) = ("\n```mermaid\n", "```\n");

/// The action on a page.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum PageAction {
    Write,
    /// Compares the page with its file, and changes nothing.
    Compare,
}

/// Writes or compares the pages.
///
/// Errors: a page that differs, or a file that cannot be read or written.
pub(crate) fn run(root: &Path, target: &Path, action: PageAction) -> Result<(), String> {
    match action {
        PageAction::Write => {
            command::cargo("run --locked --quiet --package bofuss-reference -- write")?;
        }
        // The gate has built all: the package alone would select other features.
        PageAction::Compare => {
            command::build_all()?;
            let mut program = Command::new(target.join("debug/bofuss-reference"));
            command::succeed(program.arg("compare"))?;
        }
    }
    let path = root.join(ARCHITECTURE);
    let text = tree::read(&path)?;
    let diagram = rooms::diagram(&rooms::table(&root.join(ARROWS))?);
    let page = with_diagram(&text, &diagram)?;
    match action {
        PageAction::Write => tree::write(&path, page.as_bytes()),
        PageAction::Compare if page == text => Ok(()),
        PageAction::Compare => Err(format!(
            "{ARCHITECTURE} is not what {ARROWS} says: run `cargo xtask reference`"
        )),
    }
}

/// A page with this diagram in place of its own. Errors: it has none.
fn with_diagram(page: &str, diagram: &str) -> Result<String, String> {
    let parts = page.split_once(DIAGRAM.0);
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(DIAGRAM.1)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("{ARCHITECTURE}: no diagram"))?;
    Ok(format!(
        "{before}{}{diagram}{}{after}",
        DIAGRAM.0, DIAGRAM.1
    ))
}
