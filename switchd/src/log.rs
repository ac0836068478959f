//! The log: lines on standard error, with a level that can change and a rate limit.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, warn};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, Filter, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, reload};

use crate::error::{Result, context};

/// Most lines of one kind about one peer, port or file that are written within [`PERIOD`].
const LINES: u32 = 100;
const PERIOD: Duration = Duration::from_secs(60);
/// Most kinds that are counted separately in that time; beyond them, all lines of one place in the
/// program count as one kind.
const KINDS: usize = 256;

/// What libraries write of each frame of a protocol: only who names them sees more.
const QUIET: &str = "h2=info";

/// Changes the log level.
type SetLogFilter = Box<dyn Fn(Targets) -> Result<()> + Send + Sync>;

static CHANGE: OnceLock<SetLogFilter> = OnceLock::new();

/// The format of log lines.
#[derive(Clone, Copy, Default, ValueEnum)]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// Starts the log. Errors: an unknown level.
pub fn start(level: &str, format: LogFormat) -> Result<()> {
    let (filter, handle) = reload::Layer::new(filter(level)?);
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let plain = tracing_subscriber::fmt::layer()
        .with_writer(|| LineWriter(io::stderr()))
        .with_target(false)
        // A closed standard error must not end the switch.
        .log_internal_errors(false);
    let lines = match format {
        LogFormat::Text => plain.with_ansi(colour).boxed(),
        LogFormat::Json => plain.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(lines.with_filter(RepeatFilter))
        .init();
    let change: SetLogFilter =
        Box::new(move |filter| handle.reload(filter).map_err(|e| e.to_string().into()));
    // There is one log in a process.
    let _ = CHANGE.set(change);
    Ok(())
}

/// Writes each event in one line: the text of a peer may have ends of lines, and what follows one
/// would look like a line of ours. Other control characters are escaped before.
struct LineWriter<W>(W);

impl<W: Write> Write for LineWriter<W> {
    /// Writes an event, with the end of its line.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = event.strip_suffix(b"\n").unwrap_or(event);
        let mut line = Vec::with_capacity(event.len());
        for byte in text {
            match byte {
                b'\n' => line.extend(b"\\n"),
                b'\r' => line.extend(b"\\r"),
                byte => line.push(*byte),
            }
        }
        line.push(b'\n');
        self.0.write_all(&line)?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Checks a log level. Errors: an unknown one.
pub fn check(level: &str) -> Result<()> {
    filter(level).map(|_| ())
}

/// Changes the log level. Errors: an unknown one; nothing has changed then.
pub fn set(level: &str) -> Result<()> {
    let filter = filter(level)?;
    CHANGE.get().map_or(Ok(()), |change| change(filter))
}

/// Reads a level, or a list of these for parts of the program: `info,bofuss_channel=debug`.
fn filter(text: &str) -> Result<Targets> {
    for item in text.split(',') {
        let level = item.rsplit_once('=').map_or(item, |(_, level)| level);
        // `Targets` takes another word for a part, and logs nothing else.
        if level.is_empty() || level.parse::<LevelFilter>().is_err() {
            let levels = "error, warn, info, debug, trace or off";
            return Err(format!("--log {text}: '{level}' is no level: {levels}").into());
        }
    }
    let with_quiet = format!("{QUIET},{text}");
    let filter = with_quiet.parse();
    filter.map_err(context(format_args!("--log {text}")))
}

/// The lines since the period began.
#[derive(Debug)]
struct RepeatCounts {
    period_start: Instant,
    /// By place in the program, and what the lines are about.
    kinds: BTreeMap<(&'static str, String), LineCount>,
}

/// Lines of one kind.
#[derive(Debug)]
struct LineCount {
    first: String,
    lines: u32,
}

impl RepeatCounts {
    fn new(period_start: Instant) -> Self {
        Self {
            period_start,
            kinds: BTreeMap::new(),
        }
    }

    /// Counts a line. Returns true if it may be written.
    fn admits(&mut self, place: &'static str, text: &str) -> bool {
        let mut kind = (place, about(text));
        if self.kinds.len() >= KINDS && !self.kinds.contains_key(&kind) {
            kind.1 = "others".into();
        }
        let counted = self.kinds.entry(kind).or_insert_with(|| LineCount {
            first: text.into(),
            lines: 0,
        });
        counted.lines += 1;
        counted.lines <= LINES
    }

    /// If the period is over, begins the next. Returns a line for each kind of which some were not
    /// written.
    fn end_period(&mut self, now: Instant) -> Vec<String> {
        let mut left_out = Vec::new();
        if now - self.period_start < PERIOD {
            return left_out;
        }
        self.period_start = now;
        for LineCount { first, lines } in std::mem::take(&mut self.kinds).into_values() {
            if lines > LINES {
                left_out.push(format!("{} more lines like \"{first}\"", lines - LINES));
            }
        }
        left_out
    }
}

/// The subject of a line: its text before the first `: `. A peer is named without its port number
/// or process id, which differ each time that it connects.
fn about(text: &str) -> String {
    let who = text.split(": ").next().unwrap_or_default();
    let Some((peer, listener)) = who.split_once(" on ") else {
        return who.into();
    };
    let host = peer.rsplit_once([':', ' ']).map_or(peer, |(host, _)| host);
    format!("{host} on {listener}")
}

static COUNTS: LazyLock<Mutex<RepeatCounts>> =
    LazyLock::new(|| Mutex::new(RepeatCounts::new(Instant::now())));

fn counts() -> MutexGuard<'static, RepeatCounts> {
    COUNTS.lock().expect("no holder panics")
}

/// Logs how many lines were left out, once in a period.
pub fn report_left_out() {
    // Not while the counts are locked: these lines are counted, too.
    let left_out = counts().end_period(Instant::now());
    for line in left_out {
        warn!("{line}");
    }
}

struct RepeatFilter;

impl<S> Filter<S> for RepeatFilter {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let mut text = LogText(String::new());
        event.record(&mut text);
        counts().admits(event.metadata().name(), &text.0)
    }
}

/// The message of an event.
struct LogText(String);

impl Visit for LogText {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        for level in ["info", "WARN", "off", "info,bofuss_channel=debug"] {
            assert!(check(level).is_ok(), "{level}");
        }
        for level in ["inof", "foo", "", "debug,", "bofuss_channel=loud"] {
            let error = check(level).expect_err("it is none").text;
            assert!(error.contains("is no level"), "{error}");
        }
    }

    #[test]
    fn frames_of_http2_are_written_for_who_names_them() {
        for (level, is_written) in [("debug", false), ("trace", false), ("debug,h2=debug", true)] {
            let filter = filter(level).expect("it is one");
            let writes = |part| filter.would_enable(part, &tracing::Level::DEBUG);
            assert!(writes("bofuss"), "{level}");
            assert_eq!(writes("h2::codec"), is_written, "{level}");
        }
    }

    #[test]
    fn a_peers_text_adds_no_line_to_the_log() {
        let mut written = Vec::new();
        let mut writer = LineWriter(&mut written);
        for event in ["INFO a peer says x\nERROR forged\r\n\n", "INFO next\n"] {
            writer.write_all(event.as_bytes()).expect("memory takes it");
        }
        let text = String::from_utf8(written).expect("it is text");
        assert_eq!(text, "INFO a peer says x\\nERROR forged\\r\\n\nINFO next\n");
    }

    #[test]
    fn a_peer_that_comes_again_and_again_writes_so_many_lines_and_the_rest_is_counted() {
        let start = Instant::now();
        let mut counts = RepeatCounts::new(start);
        let line = |port: u32| format!("10.0.0.9:{port} on ptcp:6653:[::]: malformed: x: y");
        let written = (0..150).filter(|port| counts.admits("a", &line(*port)));
        assert_eq!(written.count(), 100);
        // Others and other lines are written.
        assert!(counts.admits("a", "10.0.0.8:1 on ptcp:6653:[::]: malformed: x: y"));
        assert!(counts.admits("b", &line(1)));
        assert!((0..100).all(|pid| counts.admits("a", &format!("process {pid} on punix:/s: x"))));
        assert!(!counts.admits("a", "process 101 on punix:/s: x"));
        assert!(counts.end_period(start + PERIOD / 2).is_empty());
        let rest = counts.end_period(start + PERIOD);
        let like = [
            "50 more lines like \"10.0.0.9:0 on ",
            "1 more lines like \"process 0 on ",
        ];
        assert_eq!(rest.len(), 2);
        assert!(
            rest.iter()
                .zip(like)
                .all(|(line, like)| line.starts_with(like)),
            "{rest:?}"
        );
        assert!(counts.admits("a", &line(1)));
        assert!(counts.end_period(start + PERIOD * 2).is_empty());
    }

    #[test]
    fn many_peers_fill_neither_the_log_nor_the_memory() {
        let mut counts = RepeatCounts::new(Instant::now());
        let lines = (0..1000).flat_map(|peer| vec![format!("10.0.{peer}.1: x"); 200]);
        let written = lines.filter(|line| counts.admits("a", line)).count();
        assert_eq!(
            (written, counts.kinds.len()),
            ((KINDS + 1) * 100, KINDS + 1)
        );
    }
}
