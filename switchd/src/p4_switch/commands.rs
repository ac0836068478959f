//! Commands of operators to a P4 switch: what it has, as text.

use std::fmt::Write;
use std::fs::File;

use bofuss_embed::p4::Explained;
use bofuss_oflib::message::port::PortState;
use bofuss_p4::{Commands, Named, Switch};
use serde_json::json;

use super::plane::P4Plane;
use super::queue::P4Queue;
use crate::capture::FrameCopier;
use crate::dataplane::{Answer, NewTarget, end_copier};
use crate::error::{Error, Result};
use crate::p4::bytes;

/// Most entries of a table, or cells of an array, in one answer.
const MOST: usize = 1000;
/// The words after `p4`.
const WORDS: &str = "tables, entries [TABLE [FROM]], counters [NAME], registers [NAME], \
                     trace PORT HEX, or a command of simple_switch_CLI that changes the switch";

/// Carries out a command for the data-plane thread; `None` if P4 switches have no such command.
pub async fn obey(
    queue: &P4Queue,
    name: &str,
    argument: String,
    file: Option<File>,
) -> Option<Answer> {
    let done = match name {
        "ports" => queue.ask(move |plane| ports(plane, &argument)).await,
        "counters" => queue.ask(|plane| Ok(drops(plane))).await,
        "p4" => queue.ask(move |plane| p4(plane, &argument)).await,
        "capture" => {
            let target = NewTarget::File(file);
            queue.ask(move |plane| plane.copy(&argument, target)).await
        }
        "mirror" => {
            let copy = move |plane: &mut P4Plane| plane.copy(&argument, NewTarget::Port);
            queue.ask(copy).await
        }
        "captures" => queue.ask(|plane| Ok(captures(plane))).await,
        "exports" => queue.ask(move |plane| exports(plane, &argument)).await,
        "end-capture" => {
            let end = move |plane: &mut P4Plane| end_copier(&mut plane.outlet.ports, &argument);
            queue.ask(end).await
        }
        _ => return None,
    };
    Some(done.flatten())
}

/// The ports, as text or with `--json`. Errors: another option.
fn ports(plane: &mut P4Plane, options: &str) -> Answer {
    let counters = plane.outlet.ports.driver_counters();
    let mut text = String::new();
    let mut rows = Vec::new();
    for spec in &plane.config.ports {
        let number = spec.number;
        let Some((desc, _)) = plane.outlet.ports.describe(number) else {
            let _ = writeln!(text, "{number} {} gone", spec.kind);
            continue;
        };
        let is_up = !desc.state.has(PortState::LINK_DOWN);
        let received = plane.received.get(&number).copied().unwrap_or_default();
        let mut all = counters.iter();
        let Some((_, sent, overflowed)) = all.find(|row| row.0 == number) else {
            continue;
        };
        let (rx, tx) = (received.packets, sent.tx_packets);
        let (rx_dropped, tx_dropped) = (sent.rx_dropped(), sent.tx_dropped() + overflowed);
        let state = if is_up { "up" } else { "down" };
        let _ = writeln!(
            text,
            "{number} {} {state} rx_packets={rx} tx_packets={tx} rx_dropped={rx_dropped} \
             tx_dropped={tx_dropped}",
            spec.kind,
        );
        rows.push(json!({
            "port_no": number.0.to_string(), "name": desc.name.0,
            "hw_addr": desc.hw_addr.to_string(), "is_up": is_up, "curr_speed": desc.curr_speed,
            "rx_packets": rx, "tx_packets": tx,
            "rx_bytes": received.bytes, "tx_bytes": sent.tx_bytes,
            "rx_dropped": rx_dropped, "tx_dropped": tx_dropped,
            "rx_errors": sent.rx_errors(), "tx_errors": sent.tx_errors(),
        }));
    }
    match options {
        "" => Ok(text),
        "--json" => Ok(format!("{}\n", json!({"version": 1, "ports": rows}))),
        other => Err(no_option(other)),
    }
}

/// The exports, as text or with `--json`. Errors: another option.
fn exports(plane: &P4Plane, options: &str) -> Answer {
    match options {
        "" => Ok(plane.exports.lines()),
        "--json" => {
            let list = plane.exports.json();
            Ok(format!("{}\n", json!({"version": 1, "exports": list})))
        }
        other => Err(no_option(other)),
    }
}

/// Says that a command has only `--json`.
fn no_option(other: &str) -> Error {
    format!("there is no option '{other}', only --json").into()
}

/// The captures and mirrors, and the record.
fn captures(plane: &P4Plane) -> String {
    let copiers = plane.outlet.ports.copiers.iter();
    let recorder = plane.outlet.recorder.iter().map(ToString::to_string);
    copiers
        .map(FrameCopier::to_string)
        .chain(recorder)
        .collect()
}

/// The packets that ended without leaving, a reason a line, without zeros.
fn drops(plane: &P4Plane) -> String {
    let counted = plane.outlet.counts.drops().filter(|(_, count)| *count > 0);
    counted
        .map(|(reason, count)| format!("{reason} {count}\n"))
        .collect()
}

/// The commands of the program. Errors: what is not there.
fn p4(plane: &mut P4Plane, argument: &str) -> Answer {
    let words: Vec<&str> = argument.split_whitespace().collect();
    let switch = &plane.switch;
    match words[..] {
        ["tables"] => Ok(tables(switch)),
        ["entries"] => {
            let rows = switch.program().tables.iter().enumerate();
            let with_keys = rows.filter(|(_, row)| !row.key.is_empty());
            Ok(with_keys
                .map(|(id, _)| switch.show_table(id, 0, MOST))
                .collect())
        }
        ["entries", table] => Ok(switch.show_table(named(switch, Named::Table, table)?, 0, MOST)),
        ["entries", table, from] => {
            let from = from
                .parse()
                .map_err(|_| format!("'{from}' is no number of an entry"))?;
            let table = named(switch, Named::Table, table)?;
            Ok(switch.show_table(table, from, MOST))
        }
        ["counters"] => {
            let all = 0..switch.program().counters.len();
            Ok(all
                .map(|id| switch.externs().show_counter(id, MOST))
                .collect())
        }
        ["counters", name] => {
            let id = named(switch, Named::Counter, name)?;
            Ok(switch.externs().show_counter(id, MOST))
        }
        ["registers"] => {
            let all = 0..switch.program().registers.len();
            Ok(all
                .map(|id| switch.externs().show_register(id, MOST))
                .collect())
        }
        ["registers", name] => {
            let id = named(switch, Named::Register, name)?;
            Ok(switch.externs().show_register(id, MOST))
        }
        ["trace", port, ref packet @ ..] if !packet.is_empty() => {
            let port = port
                .parse()
                .map_err(|_| format!("'{port}' is no number of a port"))?;
            let checked = switch.replication().check_port(port);
            checked.map_err(|error| error.to_string())?;
            let mut explained = Explained::default();
            let frame = bytes(&packet.concat())?;
            switch.explain(port, &frame, plane.now(), &mut explained);
            Ok(explained.0)
        }
        [name, ..] if Commands::NAMES.contains(&name) => plane.command(argument),
        _ => Err(format!("there is no 'p4 {argument}', but {WORDS}").into()),
    }
}

/// The tables with a key, their entries and packets, a line each.
fn tables(switch: &Switch) -> String {
    let rows = switch.program().tables.iter().enumerate();
    let with_keys = rows.filter(|(_, row)| !row.key.is_empty());
    with_keys
        .map(|(id, row)| {
            let (lookups, hits) = switch.table_counts(id);
            let entries = switch.entry_count(id);
            let (name, size) = (&row.name, row.size);
            format!("{name} entries={entries} size={size} lookups={lookups} hits={hits}\n")
        })
        .collect()
}

/// The index of what has this name, or one that ends so. Errors: the program has none, or several.
fn named(switch: &Switch, kind: Named, name: &str) -> Result<usize> {
    Ok(switch.program().named(kind, name)?)
}
