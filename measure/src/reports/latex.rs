//! Text and tables as LaTeX, for documents of others: no package is needed for them.

use crate::reports::page_parts::PageTable;

/// From how many characters on a column of words is broken into lines.
const LONG: usize = 30;
/// The width of such a column.
const LONG_COLUMN: &str = "p{0.3\\linewidth}";

/// Text in which nothing is a command. Spec: Lamport, LaTeX: A Document Preparation System, 2.2.1.
pub fn escaped(text: &str) -> String {
    let mut latex = String::new();
    for one in text.chars() {
        match one {
            '\\' => latex += "\\textbackslash{}",
            '^' => latex += "\\textasciicircum{}",
            '~' => latex += "\\textasciitilde{}",
            '<' => latex += "\\textless{}",
            '>' => latex += "\\textgreater{}",
            '|' => latex += "\\textbar{}",
            '`' => latex += "\\textasciigrave{}",
            // Fonts of the usual encoding have no straight one.
            '"' => latex += "''",
            '{' | '}' | '$' | '&' | '#' | '_' | '%' => latex.extend(['\\', one]),
            // After the end of a row, these would be its options; two hyphens would be a dash.
            '[' | ']' | '*' => latex.extend(['{', one, '}']),
            '-' => latex += if latex.ends_with('-') { "{}-" } else { "-" },
            _ if one.is_control() => latex.push(' '),
            _ => latex.push(one),
        }
    }
    latex
}

/// The same of several lines, which stay lines.
pub fn escaped_lines(text: &str) -> String {
    let lines = text.split('\n').map(escaped);
    lines.collect::<Vec<_>>().join("\n")
}

/// A table as a `tabular`, without columns that say nothing: the document that takes it by `\input`
/// adds its caption.
pub fn table(table: &PageTable) -> String {
    let columns =
        (0..table.heads.len()).filter(|column| *column == 0 || says_something(table, *column));
    let columns: Vec<usize> = columns.collect();
    let mut text = format!("% {}\n\\begin{{tabular}}{{", one_line(&table.caption));
    for column in &columns {
        text += column_kind(table, *column);
    }
    text += "}\n\\hline\n";
    let row = |cells: Vec<&str>| {
        let shown = columns.iter().filter_map(|column| cells.get(*column));
        let shown: Vec<String> = shown.map(|cell| escaped(cell)).collect();
        shown.join(" & ") + " \\\\\n"
    };
    text += &row(table.heads.iter().map(String::as_str).collect());
    text += "\\hline\n";
    for cells in &table.rows {
        text += &row(cells.iter().map(|cell| &*cell.text).collect());
    }
    text + "\\hline\n\\end{tabular}\n"
}

/// Returns true if a column has a value in any row.
fn says_something(table: &PageTable, column: usize) -> bool {
    let mut cells = table.rows.iter().filter_map(|row| row.get(column));
    cells.any(|cell| !matches!(&*cell.text, "" | "-"))
}

/// How a column is aligned: words at its left, as the first, and numbers at its right.
fn column_kind(table: &PageTable, column: usize) -> &'static str {
    let cells = || table.rows.iter().filter_map(|row| row.get(column));
    let is_words = column == 0 || cells().any(|cell| cell.is_words);
    if is_words && cells().any(|cell| cell.text.chars().count() > LONG) {
        return LONG_COLUMN;
    }
    if is_words { "l" } else { "r" }
}

/// Text of a comment, which ends with its line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::page_parts::PageCell;

    #[test]
    fn no_character_is_a_command() {
        assert_eq!(
            escaped("50 % & #1_a {x} $2 ~^\\ <b> \"q\" --short [1] *"),
            "50 \\% \\& \\#1\\_a \\{x\\} \\$2 \\textasciitilde{}\\textasciicircum{}\
             \\textbackslash{} \\textless{}b\\textgreater{} ''q'' -{}-short {[}1{]} {*}"
        );
        assert_eq!(escaped("a\nb\u{7}é"), "a b é");
    }

    #[test]
    fn a_table_keeps_signs_and_breaks_long_words() {
        let cell = |text: &str, is_words| PageCell {
            text: text.into(),
            is_words,
        };
        let made = table(&PageTable {
            caption: "fm-add:\nrules".into(),
            heads: ["point", "p50, us", "rate", "notes", "lost"]
                .map(Into::into)
                .into(),
            rows: vec![vec![
                cell("[a] 1 % (at least)", false),
                cell("-", false),
                cell("3,200", false),
                cell(&"long ".repeat(9), true),
                cell("", false),
            ]],
        });
        let wanted = "% fm-add: rules\n\\begin{tabular}{lrp{0.3\\linewidth}}\n\\hline\n\
            point & rate & notes \\\\\n\\hline\n{[}a{]} 1 \\% (at least) & 3,200 & long ";
        assert!(made.starts_with(wanted), "{made}");
        assert!(made.ends_with(" \\\\\n\\hline\n\\end{tabular}\n"), "{made}");
    }
}
