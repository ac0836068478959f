//! What all pages write alike: counters, texts of the switch, tables.

use std::fmt::Display;

use bofuss_ext::trace::Escaped;
use serde_json::Value;

/// Most characters of a text of the switch, such as a match.
const MAX_TEXT: usize = 600;

/// Why something cannot be shown.
pub fn refused(error: impl Display) -> String {
    format!("<p class=\"lost\" role=\"alert\">{}</p>\n", Escaped(error))
}

/// The part of a page that the script renews, with what it says of itself.
pub fn live(content: &str) -> String {
    format!("<p class=\"soft\" id=\"state\"></p>\n<div id=\"live\">\n{content}</div>\n")
}

/// A cell with a counter; `key` is its name within the page, by which the script finds it again.
pub fn count(key: impl Display, value: &Value) -> String {
    let number = value.as_u64().unwrap_or(0);
    format!(
        "<td class=\"count\" data-count=\"{}\" data-value=\"{number}\">{}</td>",
        Escaped(key),
        grouped(number)
    )
}

/// A text of the switch, cut if it is long.
pub fn text(value: &Value) -> String {
    let whole = value
        .as_str()
        .map_or_else(|| value.to_string(), String::from);
    let shown: String = whole.chars().take(MAX_TEXT).collect();
    let dots = if shown.len() < whole.len() { "..." } else { "" };
    format!("{}{dots}", Escaped(shown))
}

/// The items of a list of texts, as code.
pub fn codes(list: &Value) -> String {
    let items = rows(list)
        .iter()
        .take(32)
        .map(|item| format!("<code>{}</code>", text(item)));
    items.collect::<Vec<_>>().join(" ")
}

/// The rows of a list; none if there is no list.
pub fn rows(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// A table with these headings, in a box that scrolls if it is wide.
pub fn table(headings: &[&str], rows: &str) -> String {
    let headings: String = headings
        .iter()
        .map(|name| format!("<th>{name}</th>"))
        .collect();
    format!(
        "<div class=\"wide\"><table class=\"list\">\n<tr>{headings}</tr>\n{rows}</table></div>\n"
    )
}

/// A number with a comma between each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_switch_says_is_escaped_and_cut() {
        assert_eq!(text(&json!("<b>'&\"")), "&lt;b&gt;&#39;&amp;&quot;");
        assert_eq!(text(&json!("x".repeat(700))).len(), MAX_TEXT + 3);
        assert_eq!(
            count("a\"b", &json!(1_234_567)).matches("a&quot;b").count(),
            1
        );
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
