//! Prints ports and tables periodically with their rates: a `top` for any switch.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use bofuss_oflib::message::Empty;
use bofuss_oflib::message::multipart::{
    MultipartReply, PortRequest, PortStats, ReplyBody, RequestBody, TableStats,
};
use bofuss_oflib::{Message, PortNo};

use crate::Failure;
use crate::json;
use crate::names;
use crate::say;
use crate::talk::Talk;

/// Clears a terminal and puts the cursor at its beginning.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// The width of the column of ports; longer names widen it.
const MIN_PORT_CHARS: usize = 10;

/// One sample of the counters.
struct Look {
    at: Instant,
    ports: BTreeMap<PortNo, PortStats>,
    tables: BTreeMap<u8, TableStats>,
}

/// Takes a sample every `pause`, `count` times (0: until Ctrl-C), and prints the rates between two
/// samples.
pub(crate) async fn run(talk: &mut Talk, pause: Duration, count: u64) -> Result<(), Failure> {
    let mut before = look(talk).await?;
    for number in 1.. {
        tokio::time::sleep(pause).await;
        let now = look(talk).await?;
        let rates = rates(&before, &now);
        let size = rustix::termios::tcgetwinsize(std::io::stdout());
        say(match size.ok().filter(|size| size.ws_row > 0) {
            _ if talk.json => {
                let mut value = json::rates(&rates);
                names::put(&mut value, &talk.names);
                json::page(talk.verb.name, vec![value]) + "\n"
            }
            None => page(talk, &rates),
            Some(size) => {
                let rows = size.ws_row.into();
                let columns = size.ws_col.into();
                format!("{CLEAR}{}", fitted(&page(talk, &rates), rows, columns))
            }
        });
        before = now;
        if number == count {
            break;
        }
    }
    Ok(())
}

/// A page cut to the size of the screen; the last row says so.
fn fitted(page: &str, rows: usize, columns: usize) -> String {
    let lines: Vec<&str> = page.trim_end().lines().collect();
    let shown = match lines.len() {
        count if count < rows => count,
        _ => rows.saturating_sub(2),
    };
    let mut text: Vec<String> = lines[..shown]
        .iter()
        .map(|line| cut(line, columns))
        .collect();
    if shown < lines.len() {
        let rest = lines.len() - shown;
        let note = format!("{rest} more lines need a taller screen");
        text.push(cut(&note, columns));
    }
    text.join("\n") + "\n"
}

/// The first characters of a line, so many.
fn cut(line: &str, count: usize) -> String {
    line.chars().take(count).collect()
}

async fn look(talk: &mut Talk) -> Result<Look, Failure> {
    let port_no = PortNo::ANY;
    let ports = RequestBody::PortStats(PortRequest { port_no });
    let mut look = Look {
        at: Instant::now(),
        ports: BTreeMap::new(),
        tables: BTreeMap::new(),
    };
    for body in [ports, RequestBody::Table(Empty)] {
        let reply = talk
            .request(&Message::MultipartRequest(body.into()))
            .await?;
        let Message::MultipartReply(MultipartReply { body, .. }) = reply else {
            continue;
        };
        if let ReplyBody::PortStats(list) = body {
            look.ports
                .extend(list.into_iter().map(|one| (one.port_no, one)));
        } else if let ReplyBody::Table(list) = body {
            look.tables
                .extend(list.into_iter().map(|one| (one.table_id.0, one)));
        }
    }
    Ok(look)
}

/// Rates per second.
pub(crate) struct Rates {
    /// Port, then packets, bits and drops per second: received, sent.
    pub(crate) ports: Vec<(PortNo, [f64; 6])>,
    /// Table, entries, then lookups and matches per second.
    pub(crate) tables: Vec<(u8, u32, [f64; 2])>,
}

fn rates(before: &Look, now: &Look) -> Rates {
    let seconds = now.at.duration_since(before.at).as_secs_f64().max(0.001);
    let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
    let ports = now.ports.values().map(|n| {
        let b = before.ports.get(&n.port_no).unwrap_or(n);
        let figures = [
            rate(n.rx_packets, b.rx_packets),
            rate(n.rx_bytes, b.rx_bytes) * 8.0,
            rate(n.rx_dropped, b.rx_dropped),
            rate(n.tx_packets, b.tx_packets),
            rate(n.tx_bytes, b.tx_bytes) * 8.0,
            rate(n.tx_dropped, b.tx_dropped),
        ];
        (n.port_no, figures)
    });
    let used = now
        .tables
        .values()
        .filter(|t| t.active_count > 0 || t.lookup_count > 0);
    let tables = used.map(|n| {
        let b = before.tables.get(&n.table_id.0).unwrap_or(n);
        let lookups = rate(n.lookup_count, b.lookup_count);
        let hits = rate(n.matched_count, b.matched_count);
        (n.table_id.0, n.active_count, [lookups, hits])
    });
    Rates {
        ports: ports.collect(),
        tables: tables.collect(),
    }
}

fn page(talk: &Talk, rates: &Rates) -> String {
    let names: Vec<String> = rates
        .ports
        .iter()
        .map(|row| talk.names.text(row.0))
        .collect();
    let longest = names.iter().map(String::len).max();
    let width = longest.unwrap_or(0).max(MIN_PORT_CHARS);
    let mut text = format!(
        "{}\n\n{:>width$} {:>10} {:>9} {:>9} {:>10} {:>9} {:>9}\n",
        talk.address, "port", "rx pkt/s", "rx bit/s", "drop/s", "tx pkt/s", "tx bit/s", "drop/s"
    );
    for (name, (_, f)) in names.iter().zip(&rates.ports) {
        let [a, b, c, d, e, g] = f.map(short);
        let line = writeln!(
            text,
            "{name:>width$} {a:>10} {b:>9} {c:>9} {d:>10} {e:>9} {g:>9}",
        );
        line.expect("a string takes everything");
    }
    text += &format!(
        "\n{:>10} {:>10} {:>10} {:>9}\n",
        "table", "entries", "lookup/s", "hit/s"
    );
    for (table, entries, f) in &rates.tables {
        let [lookups, hits] = f.map(short);
        writeln!(text, "{table:>10} {entries:>10} {lookups:>10} {hits:>9}")
            .expect("a string takes everything");
    }
    text + "\n"
}

/// A figure in at most six characters.
fn short(figure: f64) -> String {
    let units = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.iter().find(|(size, _)| figure >= 10.0 * size) {
        Some((size, unit)) => format!("{:.1}{unit}", figure / size),
        None => format!("{figure:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cut_to_the_screen_and_says_so() {
        let page = "one\n\nthree\nfour\nfive\n\n";
        assert_eq!(fitted(page, 6, 80), "one\n\nthree\nfour\nfive\n");
        assert_eq!(
            fitted(page, 5, 80),
            "one\n\nthree\n2 more lines need a taller screen\n"
        );
        assert_eq!(fitted(page, 6, 3), "one\n\nthr\nfou\nfiv\n");
        assert_eq!(fitted(page, 1, 6), "5 more\n");
    }

    #[test]
    fn figures_stay_short() {
        for (figure, text) in [
            (0.0, "0"),
            (9_999.0, "9999"),
            (12_345.0, "12.3k"),
            (2e10, "20.0G"),
        ] {
            assert_eq!(short(figure), text);
        }
    }
}
