//! The state machines of tables, as drawings.

use super::asked::AskedSwitch;
use super::form::Form;
use super::html::rows;
use crate::error::Result;
use crate::trace::states;

/// Most entries of a switch whose machines are drawn: all of them are read for that.
const MOST_ENTRIES: u64 = 200_000;

/// The page.
pub fn body(switch: &AskedSwitch, _: &Form) -> Result<String> {
    let tables = switch.list(&["tables", "--json"])?;
    let counts = rows(&tables["tables"])
        .iter()
        .map(|table| table["active_count"].as_u64());
    let entries: u64 = counts.flatten().sum();
    if entries > MOST_ENTRIES {
        return Ok(format!(
            "<p>The switch has more than {MOST_ENTRIES} entries: <code>dpctl draw-states</code> \
             draws the machine of a table.</p>\n"
        ));
    }
    let asked = states(&switch.control)?;
    let mut html = String::new();
    for table in asked.tables() {
        html += &format!(
            "<section class=\"stage\">\n<h2>Table {table}</h2>\n<div class=\"drawing\">{}</div>\n\
             </section>\n",
            asked.graph(table).svg("", &[])
        );
    }
    if html.is_empty() {
        html += "<p>No table has states.</p>\n";
    }
    Ok(html)
}
