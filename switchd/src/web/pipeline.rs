//! The tables in their order with their first entries, and the ports and queues around them.

use serde_json::Value;

use super::asked::AskedSwitch;
use super::form::Form;
use super::html::{count, live, rows, table, text};
use super::lists;
use crate::error::Result;

/// Tables that show entries, and entries of each; all are on the page of flows.
const SHOWN_TABLES: usize = 16;
const SHOWN_ENTRIES: &str = "20";

/// The page.
pub fn body(switch: &AskedSwitch, _: &Form) -> Result<String> {
    let mut stages = String::new();
    let tables = switch.list(&["tables", "--json"])?;
    let tables = rows(&tables["tables"]);
    let is_used = |table: &&Value| table["active_count"] != 0 || table["lookup_count"] != 0;
    for (place, one) in tables.iter().filter(is_used).enumerate() {
        stages += &stage(switch, one, place < SHOWN_TABLES)?;
    }
    let unused = tables.iter().filter(|table| !is_used(table)).count();
    let ports = switch.list(&["ports", "--json"])?;
    let ports = rows(&ports["ports"]);
    let queues = switch.list(&["queues", "--json"])?;
    let content = format!(
        "<ol class=\"path\">\n<li>\n<section class=\"stage\">\n<h2>Ports: frames received</h2>\n{}\
         </section>\n</li>\n{stages}<li>\n<section class=\"stage\">\n<h2>Ports: frames sent</h2>\n\
         {}{}</section>\n</li>\n</ol>\n<p class=\"soft\">{unused} further tables have no entries \
         and were not looked up.</p>\n<h2>Connections</h2>\n<pre>{}</pre>\n",
        port_table(ports, "rx"),
        port_table(ports, "tx"),
        queue_table(rows(&queues["queues"])),
        text(&switch.ask(&["controllers"])?.into()),
    );
    Ok(live(&content))
}

/// A table: its counters, and its first entries if these are to be shown.
fn stage(switch: &AskedSwitch, one: &Value, has_entries: bool) -> Result<String> {
    let number = &one["table_id"];
    let entries = one["active_count"].as_u64().unwrap_or(0);
    let key = |name: &str| format!("t{number}{name}");
    let mut html = format!(
        "<li id=\"table-{number}\">\n<section class=\"stage\">\n<h2>Table {number} <span \
         class=\"soft\">{}</span></h2>\n",
        text(&one["name"])
    );
    let counts = format!(
        "<tr>{}{}{}</tr>\n",
        count(key("n"), &one["active_count"]),
        count(key("l"), &one["lookup_count"]),
        count(key("m"), &one["matched_count"]),
    );
    html += &table(&["entries", "looked up", "matched"], &counts);
    if has_entries && entries > 0 {
        let words = [
            "flows",
            "--json",
            "--most",
            SHOWN_ENTRIES,
            &format!("table={number}"),
        ];
        let list = switch.list(&words)?;
        html += &lists::flow_table(rows(&list["flows"]));
        if !list["next"].is_null() {
            html +=
                &format!("<p><a href=\"flows?flow=table%3D{number}\">all its entries</a></p>\n");
        }
    }
    html += "</section>\n</li>\n";
    Ok(html)
}

/// The ports with the counters of a direction.
fn port_table(ports: &[Value], direction: &str) -> String {
    let mut html = String::new();
    for port in ports {
        let number = text(&port["port_no"]);
        let cell = |what: &str| {
            let name = format!("{direction}_{what}");
            count(format!("p{number}{name}"), &port[&name])
        };
        let is_up = port["is_up"] == true;
        html += &format!(
            "<tr><td>{number}</td><td>{}</td><td{}>{}</td>{}{}{}{}</tr>\n",
            text(&port["name"]),
            if is_up { "" } else { " class=\"bad\"" },
            if is_up { "up" } else { "down" },
            cell("packets"),
            cell("bytes"),
            cell("dropped"),
            cell("errors"),
        );
    }
    let headings = [
        "port", "name", "link", "packets", "bytes", "dropped", "errors",
    ];
    table(&headings, &html)
}

/// The queues, with the share that each has of the bytes that its port has sent.
fn queue_table(queues: &[Value]) -> String {
    if queues.is_empty() {
        return String::new();
    }
    let bytes = |queue: &Value| queue["tx_bytes"].as_u64().unwrap_or(0);
    let mut html = String::new();
    for queue in queues {
        let port = &queue["port_no"];
        let key = format!("q{port}:{}", queue["queue_id"]);
        let of_port = queues.iter().filter(|other| other["port_no"] == *port);
        let all: u64 = of_port.map(bytes).sum();
        let share = bytes(queue) as f64 / all.max(1) as f64;
        html += &format!(
            "<tr><td>{}</td><td>{}</td><td><code>{}</code></td>{}{}{}<td>{}</td></tr>\n",
            text(port),
            text(&queue["queue_id"]),
            text(&queue["properties"]),
            count(format!("{key}p"), &queue["tx_packets"]),
            count(format!("{key}b"), &queue["tx_bytes"]),
            count(format!("{key}e"), &queue["tx_errors"]),
            lists::share(share),
        );
    }
    let headings = [
        "port",
        "queue",
        "properties",
        "packets",
        "bytes",
        "dropped",
        "share",
    ];
    format!("<h3>Queues</h3>\n{}", table(&headings, &html))
}
