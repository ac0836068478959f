//! Reads a record line by line, and joins the lines that belong to one input.

use alloc::{format, string::String, vec::Vec};

use super::words::{LineWords, shortened};
use super::{
    CUT_MARK, FIRST_LINE, FULL_LINE, FrameDetail, LAST_LINE, P4RecordedConfig, RecordError,
    RecordedConfig,
};

/// One item of a record, complete with all of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A run begins: its configuration, and how much of each frame it has.
    Run(RecordedConfig, FrameDetail),
    /// A run of a switch with a P4 program begins. It has whole frames.
    P4Run(P4RecordedConfig),
    /// An input with its outputs.
    Step(RecordedStep),
    /// This many inputs are missing.
    Lost(u64),
    /// The file had no room for more of the run.
    Full,
}

/// An input as it is written, with its answers and outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedStep {
    /// The number of its line, from 1.
    pub line: usize,
    /// Its line, for [`RecordedInput::read`](super::RecordedInput::read).
    pub text: String,
    /// The numbers of the questions that were answered with no, ascending.
    pub denied: Vec<u32>,
    /// True if the buffer pool was short.
    pub pool_is_short: bool,
    /// Its outputs, each as [`RecordedOutput`](super::RecordedOutput) is written.
    pub outputs: Vec<String>,
    /// True if all its outputs are there; false if the record ends here, because the writer may
    /// have been killed.
    pub is_whole: bool,
}

/// Reads a record line by line.
#[derive(Debug, Default)]
pub struct RecordReader {
    /// The number of lines read.
    lines: usize,
    place: ReaderPlace,
    /// The part of each frame that the run has.
    detail: FrameDetail,
    /// The input whose outputs are being read.
    step: Option<RecordedStep>,
}

/// The place of a line in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReaderPlace {
    /// Before a run.
    #[default]
    Outside,
    /// After its first line.
    Head,
    /// Among its inputs.
    Inside,
}

impl RecordReader {
    /// The number of the last line, from 1.
    pub fn line(&self) -> usize {
        self.lines
    }

    /// Takes the next line, without its end; appends the items that it completes to `items`.
    ///
    /// Errors: what is wrong with the line.
    pub fn push(&mut self, line: &str, items: &mut Vec<Item>) -> Result<(), RecordError> {
        self.lines += 1;
        if line.ends_with(CUT_MARK) {
            self.end(items);
            self.place = ReaderPlace::Outside;
            return Ok(());
        }
        let mut details = FrameDetail::NAMES.iter().map(|row| row.0);
        if let Some(detail) = details.find(|detail| detail.first_line() == line) {
            self.end(items);
            self.detail = detail;
            self.place = ReaderPlace::Head;
            return Ok(());
        }
        match self.place {
            ReaderPlace::Outside => Err(outside(line)),
            ReaderPlace::Head => {
                items.push(self.head(line)?);
                self.place = ReaderPlace::Inside;
                Ok(())
            }
            ReaderPlace::Inside => self.inside(line, items),
        }
    }

    /// Ends the record; appends the last input, some of whose outputs may be missing, to `items`.
    pub fn end(&mut self, items: &mut Vec<Item>) {
        items.extend(self.step.take().map(Item::Step));
    }

    /// Reads the second line of a run. Errors: what is wrong with it.
    fn head(&self, line: &str) -> Result<Item, RecordError> {
        if let Some(config) = P4RecordedConfig::read(line) {
            if self.detail != FrameDetail::Whole {
                let what = "a switch with a P4 program has whole frames in its record";
                return Err(String::from(what).into());
            }
            return config.map(Item::P4Run);
        }
        let Some(rest) = line.strip_prefix("switch ") else {
            return Err(String::from("'switch' is missing").into());
        };
        let config = RecordedConfig::read(&mut LineWords(rest))?;
        Ok(Item::Run(config, self.detail))
    }

    fn inside(&mut self, line: &str, items: &mut Vec<Item>) -> Result<(), RecordError> {
        if let Some(output) = line.strip_prefix("> ") {
            self.step()?.outputs.push(output.into());
            return Ok(());
        }
        if let Some(numbers) = line.strip_prefix("? ") {
            self.step()?.denied = denied(numbers)?;
            return Ok(());
        }
        if line == "! pool" {
            self.step()?.pool_is_short = true;
            return Ok(());
        }
        if let Some(mut step) = self.step.take() {
            step.is_whole = true;
            items.push(Item::Step(step));
        }
        if line == LAST_LINE {
            self.place = ReaderPlace::Outside;
        } else if line == FULL_LINE {
            items.push(Item::Full);
            self.place = ReaderPlace::Outside;
        } else if let Some(count) = line.strip_prefix("! lost ") {
            items.push(Item::Lost(LineWords(count).number("count")?));
        } else {
            self.step = Some(RecordedStep {
                line: self.lines,
                text: line.into(),
                ..RecordedStep::default()
            });
        }
        Ok(())
    }

    /// The input that a line belongs to. Errors: there is none.
    fn step(&mut self) -> Result<&mut RecordedStep, RecordError> {
        let step = self.step.as_mut();
        step.ok_or_else(|| String::from("there is no input that this belongs to").into())
    }
}

fn outside(line: &str) -> RecordError {
    let text = match line.strip_prefix("bofuss-record ") {
        Some(other) => format!("the format {} is not '{FIRST_LINE}'", shortened(other)),
        None => format!("a record begins with '{FIRST_LINE}'"),
    };
    text.into()
}

fn denied(numbers: &str) -> Result<Vec<u32>, RecordError> {
    let mut words = LineWords(numbers);
    let mut denied: Vec<u32> = Vec::new();
    while !words.0.is_empty() {
        let number = words.number("question's number")?;
        if denied.last().is_some_and(|last| *last >= number) {
            return Err(String::from("the questions' numbers do not ascend").into());
        }
        denied.push(number);
    }
    Ok(denied)
}
