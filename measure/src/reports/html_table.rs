//! Paragraphs, lists and tables of a report. What they are given is text, and never HTML.

/// Text in HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A paragraph of text.
pub fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escaped(text))
}

/// A table, row by row.
pub struct HtmlTable {
    html: String,
    rows: usize,
}

impl HtmlTable {
    /// A table with the heads of its columns.
    pub fn new<T: AsRef<str>>(heads: impl IntoIterator<Item = T>) -> Self {
        let mut html = "<table><tr>".to_string();
        for head in heads {
            html += &format!("<th>{}</th>", escaped(head.as_ref()));
        }
        html += "</tr>\n";
        Self { html, rows: 0 }
    }

    /// Adds a row.
    pub fn push(&mut self, row: &HtmlRow) {
        self.html += &format!("{}</tr>\n", row.html);
        self.rows += 1;
    }

    /// Adds a row of plain cells.
    pub fn push_cells<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut row = HtmlRow::plain();
        for text in cells {
            row.cell(text.as_ref());
        }
        self.push(&row);
    }

    /// Returns true if it has no row but that of the heads.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The table's HTML.
    pub fn html(self) -> String {
        self.html + "</table>\n"
    }
}

/// A row of a table, cell by cell.
pub struct HtmlRow {
    /// Its beginning, without the end tag.
    html: String,
}

impl HtmlRow {
    /// A row without cells.
    pub fn plain() -> Self {
        Self {
            html: "<tr>".into(),
        }
    }

    /// The same of a class of the page's style.
    pub fn of_class(class: &str) -> Self {
        Self {
            html: format!("<tr class=\"{class}\">"),
        }
    }

    /// Adds a cell, which is aligned as its column is.
    pub fn cell(&mut self, text: &str) {
        self.html += &format!("<td>{}</td>", escaped(text));
    }

    /// Adds a cell of words, which begin at its left.
    pub fn words(&mut self, text: &str) {
        self.html += &format!("<td class=\"words\">{}</td>", escaped(text));
    }

    /// Adds a cell that begins with a name in bold.
    pub fn named(&mut self, name: &str, rest: &str) {
        self.html += &format!("<td><b>{}</b>{}</td>", escaped(name), escaped(rest));
    }
}

/// A list, or nothing if there is nothing in it.
pub fn list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let mut html = String::new();
    for item in items {
        html += &format!("<li>{}</li>\n", escaped(item.as_ref()));
    }
    if html.is_empty() {
        return html;
    }
    format!("<ul>\n{html}</ul>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_text_and_rows_follow_the_heads() {
        let mut table = HtmlTable::new(["a", "b < c"]);
        assert!(table.is_empty());
        table.push_cells(["1", "x & y"]);
        let mut row = HtmlRow::of_class("bad");
        row.named("<s>", ", here");
        row.words("ok");
        table.push(&row);
        assert!(!table.is_empty());
        assert_eq!(
            table.html(),
            "<table><tr><th>a</th><th>b &lt; c</th></tr>\n\
             <tr><td>1</td><td>x &amp; y</td></tr>\n\
             <tr class=\"bad\"><td><b>&lt;s&gt;</b>, here</td><td class=\"words\">ok</td></tr>\n\
             </table>\n"
        );
    }

    #[test]
    fn an_empty_list_is_nothing() {
        assert_eq!(list(Vec::<String>::new()), "");
        assert_eq!(list(["a", "<"]), "<ul>\n<li>a</li>\n<li>&lt;</li>\n</ul>\n");
    }
}
