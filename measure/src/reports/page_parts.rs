//! The plots and tables of a page of ours, each with a name for its file.

use crate::reports::markdown::plain;

/// The longest name of a file without its number and its ending.
const MAX_NAME: usize = 60;

/// A plot.
pub struct PagePlot {
    /// The name of its files.
    pub name: String,
    /// The plot as SVG.
    pub svg: String,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageCell {
    /// Its text.
    pub text: String,
    /// True if it has words, which begin at its left.
    pub is_words: bool,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageTable {
    /// The headings above it.
    pub caption: String,
    /// The heads of its columns.
    pub heads: Vec<String>,
    /// Its rows; the sign of a number is in its cell, or in the first of its row.
    pub rows: Vec<Vec<PageCell>>,
}

/// What a page has, in its order.
#[derive(Default)]
pub struct PageParts {
    /// Its plots.
    pub plots: Vec<PagePlot>,
    /// Its tables, each with the name of its files.
    pub tables: Vec<(String, PageTable)>,
}

/// The last headings of a page.
#[derive(Default)]
struct Headings {
    section: String,
    part: String,
}

impl Headings {
    fn caption(&self) -> String {
        let both = [&self.section[..], &self.part];
        let said = both.into_iter().filter(|words| !words.is_empty());
        said.collect::<Vec<_>>().join(", ")
    }

    /// The name of the next file below these headings, the first of that many.
    fn name(&self, is_taken: impl Fn(&str) -> bool) -> String {
        let before = |words: &str| words.split(':').next().unwrap_or_default().to_string();
        let words = format!("{} {}", before(&self.section), before(&self.part));
        let mut name = String::new();
        for one in words.chars() {
            if one.is_ascii_alphanumeric() {
                name.push(one.to_ascii_lowercase());
            } else if !name.is_empty() && !name.ends_with('-') {
                name.push('-');
            }
        }
        name.truncate(MAX_NAME);
        let name = name.trim_end_matches('-');
        let numbered = (1..).map(|number| format!("{name}-{number}"));
        let mut free = numbered.skip_while(|name| is_taken(name));
        free.next().expect("there are more numbers than files")
    }
}

/// The parts of a page that this program has written.
pub fn parts(page: &str) -> PageParts {
    let mut found = PageParts::default();
    let mut above = Headings::default();
    let mut rest = page;
    while let Some((_, from_tag)) = rest.split_once('<') {
        rest = from_tag;
        if from_tag.starts_with("h2") {
            above.section = text_of(from_tag);
            above.part.clear();
        } else if from_tag.starts_with("h3") {
            above.part = text_of(from_tag);
        } else if from_tag.starts_with("svg") {
            let (svg, after) = from_tag.split_once("</svg>").unwrap_or((from_tag, ""));
            let svg = format!("<{svg}</svg>\n");
            found.plots.push(PagePlot {
                name: above.name(|name| found.plots.iter().any(|plot| plot.name == name)),
                svg,
            });
            rest = after;
        } else if from_tag.starts_with("table") {
            let (table, after) = from_tag.split_once("</table>").unwrap_or((from_tag, ""));
            let name = above.name(|name| found.tables.iter().any(|(other, _)| other == name));
            found.tables.push((name, table_of(table, above.caption())));
            rest = after;
        }
    }
    found
}

/// The text of an element whose tag begins a text, with that of what is in it up to its end.
fn text_of(from_tag: &str) -> String {
    let (_, words) = from_tag.split_once('>').unwrap_or_default();
    plain(words.split('<').next().unwrap_or_default().trim())
}

fn table_of(html: &str, caption: String) -> PageTable {
    let mut table = PageTable {
        caption,
        ..PageTable::default()
    };
    for row in html.split("<tr").skip(1) {
        let mut cells = Vec::new();
        for piece in row.split("<t").skip(1) {
            let (tag, words) = piece.split_once('>').unwrap_or_default();
            let words = words.split("</t").next().unwrap_or_default();
            let words = words.replace("<b>", "").replace("</b>", "");
            if tag == "h" {
                table.heads.push(plain(&words));
            } else {
                cells.push(PageCell {
                    text: plain(&words),
                    is_words: tag.contains("words"),
                });
            }
        }
        if !cells.is_empty() {
            table.rows.push(cells);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::html::page;
    use crate::reports::html_table::{HtmlRow, HtmlTable};
    use crate::reports::plot::{Bar, bars};

    #[test]
    fn plots_and_tables_are_named_by_their_headings() {
        let bar = |name: &str| Bar {
            group: String::new(),
            series: 0,
            name: name.into(),
            value: 1.0,
            range: (1.0, 1.0),
        };
        let mut table = HtmlTable::new(["point", "a < b"]);
        let mut row = HtmlRow::of_class("marked");
        row.named("<s>", " (no result)");
        row.words("x & y");
        table.push(&row);
        let table = table.html();
        let plot = bars("plot", "us", &[bar("a & b")]);
        let body = format!(
            "<h2 id=\"fm-add\">fm-add: rules</h2>\n{table}{plot}\
             <h3>Delays, us</h3>\n{table}{plot}{plot}"
        );
        let found = parts(&page("T", &body));
        let names: Vec<&str> = found.plots.iter().map(|plot| &plot.name[..]).collect();
        assert_eq!(
            names,
            ["fm-add-1", "fm-add-delays-us-1", "fm-add-delays-us-2"]
        );
        assert_eq!(found.plots[0].svg, plot);
        let [first, second] = &found.tables[..] else {
            panic!("{} tables", found.tables.len());
        };
        assert_eq!(
            (&first.0[..], &second.0[..]),
            ("fm-add-1", "fm-add-delays-us-1")
        );
        assert_eq!(second.1.caption, "fm-add: rules, Delays, us");
        assert_eq!(first.1.heads, ["point", "a < b"]);
        let texts: Vec<_> = first.1.rows[0]
            .iter()
            .map(|cell| (&cell.text[..], cell.is_words))
            .collect();
        assert_eq!(texts, [("<s> (no result)", false), ("x & y", true)]);
    }
}
