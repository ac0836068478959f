//! Lists the public items of a library as text, so that a diff shows what changes for its users.
//!
//! It reads the formatted source, because rustdoc writes a listing (JSON) with a nightly compiler
//! only. Rows of macros that make public items are listed as they are.

use std::path::Path;

use crate::source::{self, Source};

/// The library whose items are listed.
const SOURCES: &str = "oflib/src";
/// The macros whose rows are public items.
const ROW_MACROS: &[&str] = &[
    "actions",
    "errors",
    "fields",
    "flags",
    "messages",
    "model",
    "multiparts",
    "named",
];
/// Traits that are not public, as the head of an implementation names them.
const PRIVATE_TRAITS: &[&str] = &["AnyBody for", "Form<V"];
/// The indentation of the items in a block.
const INDENT: &str = "    ";

/// The listing: each file's items in source order.
///
/// Errors: what could not be read.
pub(crate) fn listing(root: &Path) -> Result<String, String> {
    let mut page = String::from(
        "# The public items of bofuss-oflib. Printed by `cargo xtask reference` from `oflib/src`.\n\
         # Rows of `named!` and the like stand as they are: what they make is documented there.\n",
    );
    let sources = source::load(root)?;
    for source in sources.iter().filter(|s| s.path.starts_with(SOURCES)) {
        let mut items = items(source);
        items.retain(|item| !PRIVATE_TRAITS.iter().any(|name| item.contains(name)));
        if !items.is_empty() {
            let path = source.path.strip_prefix("oflib").expect("it begins so");
            page += &format!("\n## {}\n", path.display());
            page += &items.join("\n");
            page += "\n";
        }
    }
    Ok(page)
}

/// The public items of a file.
fn items(source: &Source) -> Vec<String> {
    let lines = without_comments(source);
    let mut items = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        let name = line.strip_suffix("! {").unwrap_or_default();
        if ROW_MACROS.contains(&name) {
            let end = block_end(&lines, at);
            items.extend(lines[at..=end].iter().cloned());
            at = end + 1;
        } else if line == "#[non_exhaustive]" {
            items.push(line.clone());
            at += 1;
        } else if line == "#[macro_export]" && at > 0 && lines[at - 1] != "#[doc(hidden)]" {
            items.extend(
                lines
                    .get(at + 1)
                    .map(|macro_head| head_of_macro(macro_head)),
            );
            at += 1;
        } else if line.starts_with("pub ") || line.starts_with("impl") {
            at = item(&lines, at, &mut items);
        } else {
            at += 1;
        }
    }
    items
}

/// An exported macro's name, without its rules.
fn head_of_macro(line: &str) -> String {
    line.trim_end_matches(" {").into()
}

/// Appends the item that begins at line `at`, with its public members. Returns the line to go on
/// with.
fn item(lines: &[String], at: usize, items: &mut Vec<String>) -> usize {
    let (head, next) = head(lines, at);
    let has_block = lines[next - 1].ends_with('{');
    let is_implementation = head.starts_with("impl");
    if !is_implementation || head.contains(" for ") {
        items.push(head.clone());
    }
    if !has_block || head.contains(" for ") || head.contains("fn ") {
        return next;
    }
    let is_open = head.starts_with("pub enum") || head.starts_with("pub trait");
    let end = block_end(lines, at);
    let mut inner = next;
    while inner < end {
        let line = &lines[inner];
        let is_item =
            line.starts_with(INDENT) && !line[INDENT.len()..].starts_with([' ', '}', ')']);
        if !is_item || !(is_open || line.trim().starts_with("pub ")) {
            inner += 1;
            continue;
        }
        let (member, after) = self::head(lines, inner);
        if is_implementation {
            items.push(format!("{head} {{ {member} }}"));
        } else {
            items.push(format!("{INDENT}{member}"));
        }
        inner = after;
    }
    end
}

/// An item without its body, joined to one line, and the number of the line after it.
fn head(lines: &[String], at: usize) -> (String, usize) {
    let mut end = at;
    while end + 1 < lines.len() && !lines[end].ends_with(['{', ';', ',', '}']) {
        end += 1;
    }
    // A list of parameters has commas at the ends of its lines.
    if lines[at].ends_with('(') {
        while end + 1 < lines.len() && !lines[end].ends_with(['{', ';']) {
            end += 1;
        }
    }
    let words: Vec<&str> = lines[at..=end]
        .iter()
        .flat_map(|l| l.split_whitespace())
        .collect();
    let text = words.join(" ");
    let is_value = ["pub const ", "pub static "]
        .iter()
        .any(|p| text.starts_with(p));
    let text = match text.split_once(" = ") {
        Some((name, _)) if is_value && !text.contains("fn ") => name,
        _ => text.trim_end_matches([' ', '{', '}']),
    };
    (text.replace("( ", "(").replace(", )", ")"), end + 1)
}

/// The line that closes the block that begins at line `at`, where neither is indented.
fn block_end(lines: &[String], at: usize) -> usize {
    let count = lines[at..].iter().position(|line| line.starts_with('}'));
    count.map_or(lines.len() - 1, |count| at + count)
}

/// The lines of code outside tests, without comments and blank lines.
fn without_comments(source: &Source) -> Vec<String> {
    let texts = source.text.lines().zip(source.comments.lines());
    let mut lines = Vec::new();
    for ((text, comment), is_test) in texts.zip(&source.test) {
        let code: String = text
            .char_indices()
            .map(|(at, c)| match comment.get(at..at + 1) {
                None | Some(" ") => c,
                Some(_) => ' ',
            })
            .collect();
        if !is_test && !code.trim().is_empty() {
            lines.push(code.trim_end().into());
        }
    }
    lines
}
