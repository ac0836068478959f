//! `bofuss replay`: plays a record on a switch of its own, and reports where its outputs differ.

mod messages;
pub mod moment;
mod p4;

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::mem;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bofuss_channel::open_input;
use bofuss_datapath::Time;
use bofuss_embed::record::{
    FIRST_LINE, FrameDetail, Item, LAST_LINE, NotedStep, P4RecordedConfig, Player, RecordReader,
    RecordedConfig, RecordedInput, RecordedOutput, RecordedStep,
};
use bofuss_ext::trace::Trace;

use crate::error::{Result, context};
use crate::output::print;
use crate::run::remake_switch;
use crate::tell::tell;

use messages::RecordedMessages;
use p4::P4Player;

/// The longest line of a record in bytes: more than the digits of the longest P4 program of a
/// controller, which has 40 MiB.
const MAX_LINE_BYTES: u64 = 96 << 20;
/// The most inputs with other outputs that are described; all are counted.
const REPORTED_DIFFERENCES: usize = 3;
/// Most bytes of a line that are printed.
const SHOWN_BYTES: usize = 400;

/// Options of `bofuss replay`: the records to play, and what to print.
#[derive(clap::Args)]
pub struct ReplayOptions {
    /// The file that `bofuss run --record` wrote.
    file: PathBuf,
    /// Explain what becomes of the frames of the input in this line, as `bofuss trace` does.
    #[arg(long, value_name = "LINE")]
    explain: Option<usize>,
    /// Write the inputs with the outputs that they have now to a new file: what a switch has to do
    /// from now on.
    #[arg(long, value_name = "OUT")]
    write: Option<PathBuf>,
    /// Then let the switch stand still, and show it under this name to `bofuss web`, `bofuss
    /// trace`, dpctl and controllers, until Ctrl-C.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["explain", "write"])]
    serve: Option<String>,
    /// The last line that is played.
    #[arg(long, value_name = "LINE", requires = "serve")]
    until: Option<usize>,
}

impl ReplayOptions {
    /// Plays the record. Errors: a sentence for the user, also if an output differs.
    pub fn run(&self) -> Result<()> {
        let name = self.file.display();
        let mut replay = Replay {
            explain: self.explain,
            out: self.write.as_deref().map(new_file).transpose()?,
            ..Replay::default()
        };
        replay.read_file(&self.file)?;
        replay.finish()?;
        print(&replay.explained)?;
        replay.report(&name);
        match replay.others {
            0 => print(&format!("{name}: {}\n", replay.summary()))?,
            count => {
                let all = replay.inputs;
                return Err(format!("{name}: {count} of {all} inputs have other outputs").into());
            }
        }
        if let Some(line) = self.explain
            && replay.explained.is_empty()
        {
            return Err(format!("{name}, line {line}: no frames arrive here").into());
        }
        Ok(())
    }
}

/// Creates a file that only its owner may read. Errors: the system's, also if it exists.
fn new_file(path: &Path) -> Result<BufWriter<File>> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.map(BufWriter::new)
        .map_err(context(format!("--write {}", path.display())))
}

/// A switch of either kind.
enum AnyPlayer {
    OpenFlow(Box<Player>),
    P4(Box<P4Player>),
}

impl AnyPlayer {
    fn play(
        &mut self,
        at: Time,
        input: &RecordedInput,
        denied: &[u32],
    ) -> Result<Vec<RecordedOutput>> {
        match self {
            Self::OpenFlow(player) => Ok(player.play(at, input, denied)?),
            Self::P4(player) => player.play(at, input),
        }
    }

    /// Explains what becomes of the frames of an input; nothing without one. Errors: its port is
    /// not there.
    fn explain(&mut self, at: Time, input: &RecordedInput) -> Result<String> {
        let player = match self {
            Self::OpenFlow(player) => player,
            Self::P4(player) => return player.explain(at, input),
        };
        let RecordedInput::Frames(port, frames) = input else {
            return Ok(String::new());
        };
        let mut text = String::new();
        for frame in frames {
            let bytes = frame.filled();
            let trace = Trace::of(player.switch(), at, *port, frame.tunnel_id, &bytes)?;
            text += &trace.to_string();
        }
        Ok(text)
    }
}

/// A record that is being played.
#[derive(Default)]
struct Replay<'a> {
    explain: Option<usize>,
    out: Option<BufWriter<File>>,
    /// The last line that is played, if not all are.
    until: Option<usize>,
    /// True if it has been.
    is_over: bool,
    /// True if nothing is played: only the configuration is wanted.
    only_reads: bool,
    /// The configuration of the run.
    config: Option<RecordedConfig>,
    messages: Option<RecordedMessages<'a>>,
    player: Option<AnyPlayer>,
    /// The time of the last input.
    now: Time,
    /// The line that an error or a warning is about.
    line: usize,
    runs: usize,
    inputs: usize,
    outputs: usize,
    /// Inputs whose outputs differ from those recorded.
    others: usize,
    /// Descriptions of the first of them.
    differences: Vec<String>,
    /// The gaps of the record, by line.
    warnings: Vec<String>,
    explained: String,
}

impl Replay<'_> {
    /// Plays a file. Errors: it cannot be read, or a line of it is wrong.
    fn read_file(&mut self, path: &Path) -> Result<()> {
        let name = path.display();
        let file = open_input(path).map_err(context(&name))?;
        let read = self.read(BufReader::new(file), &mut RecordReader::default());
        read.map_err(context(format_args!("{name}, line {}", self.line)))
    }

    /// Prints what is missing in the record `name`, and what differs from it.
    fn report(&self, name: &impl Display) {
        for told in self.warnings.iter().chain(&self.differences) {
            tell!("{name}, {told}");
        }
    }

    /// Reads and plays lines up to the end; the error is that of `self.line`.
    fn read(&mut self, mut file: impl BufRead, reader: &mut RecordReader) -> Result<()> {
        let mut bytes = Vec::new();
        let mut items = Vec::new();
        loop {
            bytes.clear();
            let mut rest = file.by_ref().take(MAX_LINE_BYTES);
            let read = rest.read_until(b'\n', &mut bytes);
            self.line = reader.line() + 1;
            // The outputs of an input are complete when the next one is read.
            if read? == 0 || self.is_over {
                break;
            }
            if bytes.pop_if(|last| *last == b'\n').is_none() {
                if bytes.len() as u64 >= MAX_LINE_BYTES - 1 {
                    return Err(format!("it has more than {MAX_LINE_BYTES} bytes").into());
                }
                self.warn("the line is cut off, and left out");
                break;
            }
            let line = str::from_utf8(&bytes)?;
            let pushed = reader.push(line, &mut items);
            pushed?;
            self.take(reader.line(), mem::take(&mut items))?;
        }
        reader.end(&mut items);
        self.take(reader.line(), items)?;
        match self.until {
            _ if self.runs > 0 => Ok(()),
            Some(last) => Err(format!("no run begins up to line {last}").into()),
            None => Err("there is no record".into()),
        }
    }

    fn warn(&mut self, text: &str) {
        self.warnings.push(format!("line {}: {text}", self.line));
    }

    /// Plays what was read up to a line.
    fn take(&mut self, line: usize, items: Vec<Item>) -> Result<()> {
        for item in items {
            let of_line = if let Item::Step(step) = &item {
                step.line
            } else {
                line
            };
            self.is_over |= self.until.is_some_and(|last| of_line > last);
            if self.is_over {
                break;
            }
            match item {
                Item::Run(config, detail) => self.begin(config, detail)?,
                Item::P4Run(config) => self.begin_p4(config)?,
                Item::Step(step) => {
                    self.line = step.line;
                    self.play(&step)?;
                }
                Item::Lost(count) => {
                    let text = format!("{count} inputs are missing: what follows may differ");
                    self.warn(&text);
                    self.write(&format!("! lost {count}\n"))?;
                }
                Item::Full => self.warn("the file was full: the switch went on"),
            }
        }
        Ok(())
    }

    fn begin(&mut self, config: RecordedConfig, detail: FrameDetail) -> Result<()> {
        if let Some(messages) = &mut self.messages {
            messages.begin(&config);
        }
        let first_line = detail.first_line();
        let head = format!("{first_line}\nswitch {config}\n");
        let mut player = None;
        if !self.only_reads {
            let made = Player::new(&config, detail, Box::new(remake_switch))?;
            player = Some(AnyPlayer::OpenFlow(Box::new(made)));
        }
        self.config = Some(config);
        self.begin_run(player, &head)
    }

    fn begin_p4(&mut self, config: P4RecordedConfig) -> Result<()> {
        self.config = None;
        let head = format!("{FIRST_LINE}\n{config}\n");
        let player = P4Player::new(config)?;
        self.begin_run(Some(AnyPlayer::P4(Box::new(player))), &head)
    }

    fn begin_run(&mut self, player: Option<AnyPlayer>, head: &str) -> Result<()> {
        self.player = player;
        self.now = Time(0);
        self.end_run()?;
        self.runs += 1;
        self.write(head)
    }

    fn play(&mut self, recorded: &RecordedStep) -> Result<()> {
        if self.only_reads {
            return Ok(());
        }
        let (at, input) = RecordedInput::read(&recorded.text)?;
        let player = self.player.as_mut().ok_or("there is no switch")?;
        if self.explain == Some(recorded.line) {
            self.explained += &player.explain(at, &input)?;
        }
        let played = player.play(at, &input, &recorded.denied);
        let outputs = played?;
        self.now = at;
        if let Some(messages) = &mut self.messages {
            messages.take(at, &input, &outputs);
        }
        self.inputs += 1;
        self.outputs += outputs.len();
        let found: Vec<String> = outputs.iter().map(ToString::to_string).collect();
        if recorded.pool_is_short {
            self.warn("buffers were short: what follows may differ");
        }
        self.compare(recorded, &found);
        let mut text = String::new();
        let step = NotedStep {
            at,
            input,
            denied: recorded.denied.clone(),
            pool_is_short: recorded.pool_is_short,
            outputs,
        };
        if self.out.is_some() {
            step.write(&mut text);
        }
        self.write(&text)
    }

    /// Compares outputs; if those of the record may be cut off, only as many as there are.
    fn compare(&mut self, recorded: &RecordedStep, found: &[String]) {
        let expected = &recorded.outputs;
        let mut at = 0;
        while at < expected.len() && expected.get(at) == found.get(at) {
            at += 1;
        }
        if at == expected.len() && (at == found.len() || !recorded.is_whole) {
            return;
        }
        self.others += 1;
        if self.differences.len() < REPORTED_DIFFERENCES {
            self.differences.push(format!(
                "line {}: {}\n  recorded: {}\n  now:      {}",
                recorded.line + at + 1,
                shown(Some(&recorded.text)),
                shown(expected.get(at)),
                shown(found.get(at)),
            ));
        }
    }

    fn summary(&self) -> String {
        let Self {
            runs,
            inputs,
            outputs,
            ..
        } = self;
        let runs = if *runs == 1 {
            "1 run".into()
        } else {
            format!("{runs} runs")
        };
        format!("{runs}, {inputs} inputs, {outputs} outputs as recorded")
    }

    fn end_run(&mut self) -> Result<()> {
        if self.runs == 0 {
            return Ok(());
        }
        self.write(&format!("{LAST_LINE}\n"))
    }

    fn finish(&mut self) -> Result<()> {
        self.end_run()?;
        match &mut self.out {
            Some(out) => out.flush().map_err(context("--write")),
            None => Ok(()),
        }
    }

    fn write(&mut self, text: &str) -> Result<()> {
        match &mut self.out {
            Some(out) => out.write_all(text.as_bytes()).map_err(context("--write")),
            None => Ok(()),
        }
    }
}

/// The beginning of a line, or words for none.
fn shown(line: Option<&String>) -> &str {
    let Some(line) = line else {
        return "nothing more";
    };
    &line[..line.floor_char_boundary(SHOWN_BYTES)]
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    pub(super) const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/records");

    /// Plays a text. Errors: the line, and what is wrong.
    pub(super) fn played(text: &[u8]) -> Result<Replay<'static>> {
        let mut replay = Replay::default();
        let mut reader = RecordReader::default();
        match replay.read(Cursor::new(text), &mut reader) {
            Ok(()) => Ok(replay),
            Err(error) => Err(format!("line {}: {error}", replay.line).into()),
        }
    }

    #[test]
    fn the_records_that_are_kept_are_done_again() {
        let mut count = 0;
        for entry in std::fs::read_dir(RECORDS).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "record") {
                let replay = played(&std::fs::read(&path).unwrap()).unwrap();
                assert_eq!(replay.differences, [""; 0], "{}", path.display());
                assert_eq!((replay.others, replay.warnings.len()), (0, 0));
                count += 1;
            }
        }
        assert!(count > 0, "there are records");
    }

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_its_line() {
        let head = "bofuss-record 1\nswitch 0x0000000000000001 7 5 - ";
        let long = format!(
            "{head}{{}}\n1 tick{}\n",
            " ".repeat(MAX_LINE_BYTES as usize)
        );
        for (text, told) in [
            (String::new(), "line 1: there is no record"),
            ("bofuss-record 1".into(), "line 1: there is no record"),
            ("no\n".into(), "line 1: a record begins with"),
            (format!("{head}{{\n"), "line 2: "),
            (format!("{head}{{ tables = 0 }}\n"), "line 2: --tables 0: "),
            (
                format!("{head}{{}}\n1 tick\n2 jump\n3 tick\n"),
                "line 4: 'jump' is no input",
            ),
            (
                format!("{head}{{}}\n1 frames 1 00\n"),
                "line 3: there is no port 1",
            ),
            (long, "line 3: it has more than 100663296 bytes"),
        ] {
            let error = played(text.as_bytes()).err().unwrap();
            assert!(error.text.starts_with(told), "{error}");
        }
        let not_text = [head.as_bytes(), b"{}\n\xff\n"].concat();
        let error = played(&not_text).err().unwrap();
        assert!(error.text.starts_with("line 3: invalid utf-8"), "{error}");
    }

    #[test]
    fn gaps_and_cuts_are_told_and_what_follows_is_played() {
        let head = "bofuss-record 1\nswitch 0x0000000000000001 7 5 - {}\n";
        let text = format!("{head}1 tick\n! pool\n! lost 2\n2 tick\n! full\n{head}3 tick\n4 ti");
        let replay = played(text.as_bytes()).unwrap();
        assert_eq!((replay.runs, replay.inputs, replay.others), (2, 3, 0));
        let told = replay.warnings.join("\n");
        for part in [
            "buffers were short",
            "2 inputs are missing",
            "was full",
            "is cut off",
        ] {
            assert!(told.contains(part), "{told}");
        }
    }
}
