//! The true delays of a forwarder with faults: from the kernel's stamp of a frame's arrival at one
//! of its ports to that of its departure from the other, which the meter has no part in.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use bofuss_frame::Frame;
use bofuss_ports::{StampSource, StampedSocket};

use crate::error::Result;
use crate::subject::passage::Passage;
use crate::testbed::net::context;

/// Bytes of a record: the number of a frame in its run, and its delay in nanoseconds.
const RECORD_BYTES: usize = 12;
/// The file in errors.
const FILE: &str = "the file of true delays";

/// The end of a forwarder that keeps its delays in a file, for plain frames of the meter, and those
/// that come back.
pub struct TruthKeeper {
    arrivals: StampedSocket,
    departures: StampedSocket,
    passage: Passage,
    file: File,
}

impl TruthKeeper {
    /// Stamps frames that arrive at the first interface, and sends them out of the second.
    ///
    /// Errors: the interfaces', or the file's.
    pub fn open([from, to]: [&str; 2], path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(context(FILE))?;
        Ok(Self {
            arrivals: StampedSocket::open(from, StampSource::Kernel).map_err(context(from))?,
            departures: StampedSocket::open(to, StampSource::Kernel).map_err(context(to))?,
            passage: Passage::new(),
            file,
        })
    }

    /// Sends frames, as many as there is room for, and keeps their delays.
    ///
    /// Errors: the interfaces', or the file's.
    pub fn send(&mut self, frames: &mut Vec<Frame>) -> Result<()> {
        while let Some(stamped) = self.arrivals.next_received().map_err(context("arrivals"))? {
            self.passage.arrived(&stamped);
        }
        let departures = &mut self.departures;
        departures.send_all(frames).map_err(context("departures"))?;
        let mut records = Vec::new();
        while let Some(stamped) = departures.next_sent().map_err(context("departures"))? {
            if let Some((number, delay_ns)) = self.passage.departed(&stamped) {
                records.extend(number.to_le_bytes());
                records.extend(delay_ns.to_le_bytes());
            }
        }
        self.file.write_all(&records).map_err(context(FILE))
    }
}

/// The file of the delays on the way back, beside that of the way forth.
pub fn back(path: &Path) -> PathBuf {
    path.with_extension("back")
}

/// The files of true delays, forth and back, each from where a load begins.
pub struct TrueDelays([DelayFile; 2]);

impl TrueDelays {
    /// The delays that are in the file, and in that of the way back, from now on.
    pub fn from_now(path: &Path) -> Self {
        Self([path.into(), back(path)].map(DelayFile::from_now))
    }

    /// Those of frames from this number on, nanoseconds: one way, or of both ways together of
    /// frames that went there and back.
    ///
    /// Errors: the system's.
    pub fn read(&self, first: u32, echo: bool) -> Result<Vec<f64>> {
        let [forth, back] = &self.0;
        let forth = forth.read(first)?;
        if !echo {
            return Ok(forth.into_values().collect());
        }
        let back = back.read(first)?;
        let both = forth
            .iter()
            .filter_map(|(number, delay)| Some(delay + back.get(number)?));
        Ok(both.collect())
    }
}

/// The records of a file from where a load begins.
struct DelayFile {
    path: PathBuf,
    begin: usize,
}

impl DelayFile {
    fn from_now(path: PathBuf) -> Self {
        let length = fs::metadata(&path).map_or(0, |file| file.len());
        Self {
            path,
            begin: length as usize,
        }
    }

    /// The delays of frames from this number on, nanoseconds, by their numbers.
    fn read(&self, first: u32) -> Result<BTreeMap<u32, f64>> {
        let bytes = fs::read(&self.path).map_err(context(FILE))?;
        let records = bytes.get(self.begin..).unwrap_or_default();
        let mut delays = BTreeMap::new();
        for record in records.chunks_exact(RECORD_BYTES) {
            let (number, delay) = record.split_at(4);
            let number = number.try_into().map(u32::from_le_bytes);
            let delay = delay.try_into().map(u64::from_le_bytes);
            if let (Ok(number), Ok(delay)) = (number, delay)
                && number >= first
            {
                delays.insert(number, delay as f64);
            }
        }
        Ok(delays)
    }
}
