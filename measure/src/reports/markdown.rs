//! A page of ours as Markdown: headings, lists, tables and paragraphs, without its plots.

use std::path::Path;

use crate::error::Result;
use crate::tell::say;
use crate::testbed::net::context;

/// The entities in our pages, with the characters that they mean.
const ENTITIES: [(&str, &str); 5] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&apos;", "'"),
    ("&amp;", "&"),
];

/// Writes tables into a Markdown document, between the two marks of the verb that makes them.
///
/// Errors: the marks are not there, or the file's.
pub fn fill_page(path: &Path, verb: &str, tables: &str) -> Result<()> {
    let named = path.display().to_string();
    let failed = context(named.as_str());
    let old = std::fs::read_to_string(path).map_err(failed)?;
    let new = with_tables(&old, verb, tables).map_err(|missing| format!("{named}: {missing}"))?;
    std::fs::write(path, new).map_err(failed)?;
    say(&named)
}

fn with_tables(document: &str, verb: &str, tables: &str) -> Result<String> {
    let begin = format!("<!-- ofmeter {verb}: begin -->");
    let end = format!("<!-- ofmeter {verb}: end -->");
    let marked = document
        .split_once(&begin)
        .and_then(|(head, rest)| Some((head, rest.split_once(&end)?.1)));
    let missing = format!("there is no {begin} with {end} after it");
    let (head, tail) = marked.ok_or(missing)?;
    Ok(format!(
        "{head}{begin}\n{}\n\n{end}{tail}",
        tables.trim_end()
    ))
}

/// The text of a page that this program has written.
pub fn markdown(page: &str) -> String {
    let page = without(&without(page, "<head>", "</head>"), "<svg", "</svg>");
    let mut text = String::new();
    let mut is_head = false;
    for piece in page.split('<').skip(1) {
        let (tag, words) = piece.split_once('>').unwrap_or((piece, ""));
        let name = tag.split(' ').next().unwrap_or_default();
        let words = words.trim_end_matches('\n');
        match name {
            "h1" => text += "\n## ",
            "h2" => text += "\n### ",
            "h3" => text += "\n#### ",
            "p" | "ul" => text += "\n",
            "li" => text += "- ",
            "table" => {
                text += "\n";
                is_head = true;
            }
            "tr" => text += "|",
            "th" | "td" => text += " ",
            "b" | "/b" => text += "**",
            "/th" | "/td" => text += " |",
            "/tr" => {
                text += "\n";
                if is_head {
                    text += &rule(&text);
                }
                is_head = false;
            }
            "/h1" | "/h2" | "/h3" | "/p" | "/li" => text += "\n",
            _ => {}
        }
        text += &plain(words);
    }
    text
}

/// The line below the head of a table, which is the last line of a text.
fn rule(text: &str) -> String {
    let head = text.lines().last().unwrap_or_default();
    let columns = head.matches('|').count().saturating_sub(1);
    format!("|{}\n", "---|".repeat(columns))
}

/// The text outside of all elements.
fn without(page: &str, begin: &str, end: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(begin) {
        text += before;
        rest = after.split_once(end).map_or("", |(_, after)| after);
    }
    text + rest
}

/// Text of a page without entities.
pub fn plain(words: &str) -> String {
    let mut text = words.to_string();
    for (entity, character) in ENTITIES {
        text = text.replace(entity, character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::html::page;

    #[test]
    fn tables_replace_what_is_between_the_marks_of_their_verb() {
        let document =
            "a\n<!-- ofmeter paper 002: begin -->\nold\n<!-- ofmeter paper 002: end -->\nb\n";
        let new = with_tables(document, "paper 002", "\n## T\n").unwrap();
        assert!(
            new.contains("begin -->\n\n## T\n\n<!--") && !new.contains("old"),
            "{new}"
        );
        assert_eq!(with_tables(&new, "paper 002", "\n## T\n").unwrap(), new);
        assert!(
            with_tables(document, "paper 004", "")
                .unwrap_err()
                .to_string()
                .contains("paper 004: begin")
        );
    }

    #[test]
    fn headings_lists_tables_and_paragraphs_stay_and_plots_do_not() {
        let body = "<ul>\n<li>one &amp; two</li>\n</ul>\n<h2 id=\"x\">Table</h2>\n\
            <table><tr><th>a</th><th>b</th></tr>\n<tr><td><b>1</b></td><td>2</td></tr>\n</table>\n\
            <svg width=\"1\"><text>drawn</text></svg><p>It is &lt; 3.</p>\n";
        let wanted = "\n## T\n\n- one & two\n\n### Table\n\n| a | b |\n|---|---|\n| **1** | 2 |\n\
            \nIt is < 3.\n";
        assert_eq!(markdown(&page("T", body)), wanted);
    }
}
