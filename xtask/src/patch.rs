//! Applies the guides' patches, whose hunks find their place by text and not by line numbers.
//!
//! A patch is a unified diff of one or more files. A hunk begins with `@@` and the start of a line,
//! its anchor. Searched from the first line that starts so, the hunk's place is where its context
//! and removed lines are. So a hunk refers to what is stable (the name of a table, its end), and
//! rows that other patches have added do not matter. A hunk without context goes before the anchor,
//! or to the end of the file if it has no anchor either. If the added lines are there already, the
//! hunk changes nothing.

use std::path::{Path, PathBuf};

use crate::tree::{self, ChangedFiles};

/// One hunk, as lines.
#[derive(Default)]
struct Hunk<'a> {
    /// The start of the line from which the place is searched.
    anchor: &'a str,
    /// Context and removed lines.
    old: Vec<&'a str>,
    /// Context and added lines.
    new: Vec<&'a str>,
    /// The added lines, as runs that context or removed lines separate.
    added: Vec<Vec<&'a str>>,
}

/// Applies a patch to the files under `root`; files in `changed` have the text that is there. The
/// results go to `changed`.
///
/// Errors: the hunk that has no place, or a file that cannot be read.
pub(crate) fn apply(patch: &str, root: &Path, changed: &mut ChangedFiles) -> Result<(), String> {
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(old_path) = line.strip_prefix("--- ") else {
            return Err(format!("this line is in no file's diff: {line}"));
        };
        let new_path = lines
            .next()
            .and_then(|l| l.strip_prefix("+++ b/"))
            .ok_or_else(|| format!("{line}: no +++ b/PATH follows"))?;
        let path = PathBuf::from(new_path);
        let mut text = match changed.get(&path) {
            Some(text) => text.clone(),
            None if old_path == "/dev/null" => String::new(),
            None => tree::read(&root.join(&path))?,
        };
        let mut hunk: Option<Hunk> = None;
        while let Some(line) = lines.next_if(|l| !l.starts_with("--- ")) {
            if let Some(anchor) = line.strip_prefix("@@") {
                if let Some(whole) = hunk.take() {
                    text = place(&whole, &text).map_err(|e| format!("{new_path}: {e}"))?;
                }
                hunk = Some(Hunk {
                    anchor: anchor.trim(),
                    ..Hunk::default()
                });
                continue;
            }
            let hunk = hunk.as_mut();
            hunk.ok_or_else(|| format!("{new_path}: no @@ before: {line}"))?
                .take(line);
        }
        let last = hunk.ok_or_else(|| format!("{new_path}: no hunk"))?;
        text = place(&last, &text).map_err(|e| format!("{new_path}: {e}"))?;
        changed.insert(path, text);
    }
    Ok(())
}

impl<'a> Hunk<'a> {
    /// Adds a line of the diff.
    fn take(&mut self, line: &'a str) {
        // An editor may have removed the blank of an empty context line.
        let (kind, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        if kind != "+" {
            self.old.push(text);
            self.added.push(Vec::new());
        }
        if kind != "-" {
            self.new.push(text);
        }
        if kind == "+" {
            match self.added.last_mut() {
                Some(run) => run.push(text),
                None => self.added.push(vec![text]),
            }
        }
    }
}

/// The text with the hunk applied. Errors: its place is not found.
fn place(hunk: &Hunk, text: &str) -> Result<String, String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let from = match lines
        .iter()
        .position(|l| l.trim_start().starts_with(hunk.anchor))
    {
        Some(at) => at,
        None if lines.is_empty() => 0,
        None => return Err(format!("no line starts with: {}", hunk.anchor)),
    };
    let mut runs = hunk.added.iter().filter(|run| !run.is_empty());
    if runs.all(|run| find(&lines, from, run).is_some()) {
        return Ok(text.to_string());
    }
    let at = if !hunk.old.is_empty() {
        let old = hunk.old.join("\n");
        find(&lines, from, &hunk.old)
            .ok_or_else(|| format!("not found after \"{}\":\n{old}", hunk.anchor))?
    } else if hunk.anchor.is_empty() {
        lines.len()
    } else {
        from
    };
    lines.splice(at..at + hunk.old.len(), hunk.new.iter().copied());
    Ok(lines.join("\n") + "\n")
}

/// Returns the first line of a block of lines, from line `from` on.
fn find(lines: &[&str], from: usize, block: &[&str]) -> Option<usize> {
    let at = lines[from..].windows(block.len()).position(|w| w == block);
    at.map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "@@ rows! {\n+    3;\n }\n";

    fn patched(text: &str, hunks: &str) -> Result<String, String> {
        let mut changed = ChangedFiles::from([("a.rs".into(), text.to_string())]);
        let patch = format!("--- a/a.rs\n+++ b/a.rs\n{hunks}");
        apply(&patch, Path::new("/nowhere"), &mut changed)?;
        Ok(changed[Path::new("a.rs")].clone())
    }

    #[test]
    fn a_row_goes_to_the_end_of_its_table_whatever_stands_there() {
        let text = |rows: &str| format!("fn a() {{\n}}\n\nrows! {{\n{rows}}}\n\nfn b() {{\n}}\n");
        for rows in ["", "    1;\n", "    1;\n    2;\n"] {
            let expected = text(&format!("{rows}    3;\n"));
            assert_eq!(patched(&text(rows), ROW), Ok(expected));
        }
    }

    #[test]
    fn what_stands_there_already_is_not_added_again() {
        let text = "rows! {\n    3;\n    4;\n}\n";
        assert_eq!(patched(text, ROW), Ok(text.to_string()));
    }

    #[test]
    fn lines_are_replaced_and_the_end_of_the_file_is_extended() {
        let hunks = "@@ use\n-use a::B;\n+use a::{B, C};\n@@\n+\n+fn d() {}\n";
        let expected = "//! A.\nuse a::{B, C};\nfn c() {}\n\nfn d() {}\n";
        assert_eq!(
            patched("//! A.\nuse a::B;\nfn c() {}\n", hunks),
            Ok(expected.into())
        );
    }

    #[test]
    fn a_hunk_without_context_goes_before_the_line_that_it_names() {
        let hunks = "@@ use c\n+use b::B;\n";
        let expected = "use a::A;\nuse b::B;\nuse c::{C, D};\n";
        assert_eq!(
            patched("use a::A;\nuse c::{C, D};\n", hunks),
            Ok(expected.into())
        );
    }

    #[test]
    fn a_hunk_without_a_place_is_named() {
        let lost = patched("cols! {\n}\n", ROW).unwrap_err();
        assert_eq!(lost, "a.rs: no line starts with: rows! {");
        let changed = patched("a\nb\n", "@@ a\n-c\n+d\n").unwrap_err();
        assert_eq!(changed, "a.rs: not found after \"a\":\nc");
    }
}
