//! Flow entries that match, groups with the shares of their buckets, and meters: by the page.

use bofuss_ext::trace::Escaped;
use serde_json::Value;

use super::asked::AskedSwitch;
use super::form::{Form, encoded};
use super::html::{codes, count, live, refused, rows, table, text};
use crate::error::Result;

/// Buckets of a group that are shown.
const SHOWN_BUCKETS: usize = 32;

/// A search among flow entries.
pub fn flows(switch: &AskedSwitch, form: &Form) -> Result<String> {
    let flow = form.get("flow");
    let from = form.number("from");
    let mut html = format!(
        "<form><label for=\"flow\">Entries that match</label> <input id=\"flow\" name=\"flow\" \
         value=\"{}\" placeholder=\"table=1,ip,nw_dst=10.0.0.0/8\"> <button>Find</button></form>\n",
        Escaped(flow)
    );
    let list = match switch.list(&["flows", "--json", "--from", &from.to_string(), flow]) {
        Ok(list) => list,
        Err(error) => return Ok(html + &refused(error)),
    };
    let found = rows(&list["flows"]);
    let last = from + found.len() as u64;
    let mut content = if found.is_empty() {
        "<p>No entry matches.</p>\n".into()
    } else {
        format!(
            "<p>Entries {} to {last} of those that match:</p>\n",
            from + 1
        )
    };
    content += &flow_table(found);
    content += &next_page("flows", "from", &list["next"], &[("flow", flow)]);
    html += &live(&content);
    Ok(html)
}

/// Entries as a table.
pub fn flow_table(flows: &[Value]) -> String {
    if flows.is_empty() {
        return String::new();
    }
    let mut html = String::new();
    for flow in flows {
        let number = &flow["table_id"];
        let fields = text(&flow["match"]);
        let key = |what: &str| format!("f{number},{},{}{what}", flow["priority"], flow["match"]);
        html += &format!(
            "<tr><td>{number}</td><td>{}</td><td><code>{}</code></td><td>{}</td>{}{}</tr>\n",
            flow["priority"],
            if fields.is_empty() {
                "any packet"
            } else {
                &fields
            },
            codes(&flow["instructions"]),
            count(key("p"), &flow["packet_count"]),
            count(key("b"), &flow["byte_count"]),
        );
    }
    table(
        &[
            "table",
            "priority",
            "match",
            "instructions",
            "packets",
            "bytes",
        ],
        &html,
    )
}

/// All groups and all meters.
pub fn groups_and_meters(switch: &AskedSwitch, form: &Form) -> Result<String> {
    let group = form.number("group").to_string();
    let meter = form.number("meter").to_string();
    let groups = switch.list(&["groups", "--json", "--from", &group])?;
    let meters = switch.list(&["meters", "--json", "--from", &meter])?;
    let mut content = String::from("<h2>Groups</h2>\n");
    for group in rows(&groups["groups"]) {
        content += &group_box(group);
    }
    content += &next_page("groups", "group", &groups["next"], &[("meter", &meter)]);
    content += "<h2>Meters</h2>\n";
    content += &meter_table(rows(&meters["meters"]));
    content += &next_page("groups", "meter", &meters["next"], &[("group", &group)]);
    Ok(live(&content))
}

/// A group: its buckets, and the share of its packets that each has had.
fn group_box(group: &Value) -> String {
    let id = &group["group_id"];
    let buckets = rows(&group["buckets"]);
    let packets = |bucket: &Value| bucket["packet_count"].as_u64().unwrap_or(0);
    let all: u64 = buckets.iter().map(packets).sum();
    let mut html = String::new();
    for (place, bucket) in buckets.iter().take(SHOWN_BUCKETS).enumerate() {
        html += &format!(
            "<tr><td>{place}</td><td>{}</td><td>{}</td>{}{}<td>{}</td></tr>\n",
            bucket["weight"],
            codes(&bucket["actions"]),
            count(format!("g{id}.{place}p"), &bucket["packet_count"]),
            count(format!("g{id}.{place}b"), &bucket["byte_count"]),
            share(packets(bucket) as f64 / all.max(1) as f64),
        );
    }
    let headings = ["bucket", "weight", "actions", "packets", "bytes", "share"];
    let rest = match buckets.len().saturating_sub(SHOWN_BUCKETS) {
        0 => String::new(),
        rest => format!("<p class=\"soft\">and {rest} more</p>\n"),
    };
    format!(
        "<section class=\"stage\"><h3>Group {id}, {}, used by {}</h3>\n{}{rest}</section>\n",
        text(&group["type"]),
        group["ref_count"],
        table(&headings, &html)
    )
}

fn meter_table(meters: &[Value]) -> String {
    let mut html = String::new();
    for meter in meters {
        let id = &meter["meter_id"];
        for (place, band) in rows(&meter["bands"]).iter().enumerate() {
            html += &format!(
                "<tr><td>{id}</td><td>{}</td>{}<td><code>{}</code></td>{}</tr>\n",
                meter["flow_count"],
                count(format!("m{id}.{place}p"), &meter["packet_count"]),
                text(&band["band"]),
                count(format!("m{id}.{place}b"), &band["packet_count"]),
            );
        }
    }
    table(
        &[
            "meter",
            "used by",
            "packets",
            "band",
            "packets it applied to",
        ],
        &html,
    )
}

/// A share from 0 to 1, as a bar with its number.
pub fn share(share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    format!(
        "<svg class=\"share\" width=\"100\" height=\"10\" aria-hidden=\"true\"><rect \
         width=\"{:.0}\" height=\"10\"></rect></svg> {:.1} %",
        share * 100.0,
        share * 100.0
    )
}

/// A link to the page that begins at `next`, if there is one; it keeps these other values.
fn next_page(path: &str, name: &str, next: &Value, others: &[(&str, &str)]) -> String {
    let Some(next) = next.as_u64() else {
        return String::new();
    };
    let mut address = format!("{path}?{name}={next}");
    for (name, value) in others {
        address += &format!("&amp;{name}={}", encoded(value));
    }
    format!("<p><a href=\"{address}\">next page</a></p>\n")
}
