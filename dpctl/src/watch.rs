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
use crate::json::{self, Rates};
use crate::named_ports;
use crate::output::say_raw;
use crate::say;
use crate::talk::Talk;

/// Clears the terminal and moves the cursor to its upper left corner (ECMA-48).
const CLEAR: &str = "\x1b[2J\x1b[H";

/// The width of the column of ports, unless a name is longer.
const MIN_PORT_CHARS: usize = 10;

/// The counters of ports and tables at one time.
struct CounterSample {
    at: Instant,
    ports: BTreeMap<PortNo, PortStats>,
    tables: BTreeMap<u8, TableStats>,
}

/// Samples the counters every `pause`, and prints the rates since the sample before; `count` times,
/// or until Ctrl-C if that is 0.
pub(crate) async fn run(talk: &mut Talk, pause: Duration, count: u64) -> Result<(), Failure> {
    let mut before = sample(talk).await?;
    for number in 1.. {
        tokio::time::sleep(pause).await;
        let now = sample(talk).await?;
        let rates = rates(&before, &now);
        let size = rustix::termios::tcgetwinsize(std::io::stdout());
        say(match size.ok().filter(|size| size.ws_row > 0) {
            _ if talk.json => {
                let mut value = json::rates(&rates);
                named_ports::put(&mut value, &talk.names);
                json::page(talk.verb.name, vec![value]) + "\n"
            }
            None => page(talk, &rates),
            Some(size) => {
                let rows = size.ws_row.into();
                let columns = size.ws_col.into();
                say_raw(CLEAR);
                fitted(&page(talk, &rates), rows, columns)
            }
        });
        before = now;
        if number == count {
            break;
        }
    }
    Ok(())
}

/// A page cut to the size of the screen. If rows were cut, the last one says how many.
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

/// The first `count` characters of a line.
fn cut(line: &str, count: usize) -> String {
    line.chars().take(count).collect()
}

/// Requests the counters.
async fn sample(talk: &mut Talk) -> Result<CounterSample, Failure> {
    let port_no = PortNo::ANY;
    let ports = RequestBody::PortStats(PortRequest { port_no });
    let mut sample = CounterSample {
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
            let ports = list.into_iter().map(|one| (one.port_no, one));
            sample.ports.extend(ports);
        } else if let ReplyBody::Table(list) = body {
            let tables = list.into_iter().map(|one| (one.table_id.0, one));
            sample.tables.extend(tables);
        }
    }
    Ok(sample)
}

fn rates(before: &CounterSample, now: &CounterSample) -> Rates {
    let seconds = now.at.duration_since(before.at).as_secs_f64().max(0.001);
    let mut rates = Rates {
        ports: Vec::new(),
        tables: Vec::new(),
    };
    for n in now.ports.values() {
        let b = before.ports.get(&n.port_no).unwrap_or(n);
        let figures = [
            per_second(n.rx_packets, b.rx_packets, seconds),
            per_second(n.rx_bytes, b.rx_bytes, seconds) * 8.0,
            per_second(n.rx_dropped, b.rx_dropped, seconds),
            per_second(n.tx_packets, b.tx_packets, seconds),
            per_second(n.tx_bytes, b.tx_bytes, seconds) * 8.0,
            per_second(n.tx_dropped, b.tx_dropped, seconds),
        ];
        rates.ports.push((n.port_no, figures));
    }
    for n in now.tables.values() {
        if n.active_count == 0 && n.lookup_count == 0 {
            continue;
        }
        let b = before.tables.get(&n.table_id.0).unwrap_or(n);
        let figures = [
            per_second(n.lookup_count, b.lookup_count, seconds),
            per_second(n.matched_count, b.matched_count, seconds),
        ];
        rates.tables.push((n.table_id.0, n.active_count, figures));
    }
    rates
}

/// Returns how fast a counter has grown; 0 if it was reset.
fn per_second(now: u64, before: u64, seconds: f64) -> f64 {
    now.saturating_sub(before) as f64 / seconds
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

/// A figure in at most six characters, with a unit from 10,000 on.
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
