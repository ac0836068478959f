//! The record of a switch: the data-plane thread notes its inputs, and a thread of its own writes
//! them.

use std::cell::RefCell;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::{fmt, mem};

use bofuss_agent::ConnId;
use bofuss_datapath::Time;
use bofuss_embed::record::{
    Answers, CUT_MARK, FIRST_LINE, FULL_LINE, FrameDetail, LAST_LINE, NotedStep, P4RecordedConfig,
    RecordedConfig, RecordedConnections, RecordedInput, RecordedOutput,
};
use bofuss_ext::Switch;
use bofuss_frame::{Frame, KEPT_SHARE, Pool};
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::message::multipart::{MultipartReply, ReplyBody, TableFeatures};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Assembler, Catalogue, Codec, Framer, Message, PortNo, Version};
use rustix::fs::OFlags;
use tracing::warn;

use crate::config::{self, Config};
use crate::error::{Result, context};
use crate::metrics::Samples;
use crate::runtime::POOL_BYTES;

/// Most bytes in one file; a record then ends.
const MAX_BYTES: u64 = 1 << 30;
/// Most bytes that wait to be written; further inputs are lost and counted.
const MAX_WAITING_BYTES: usize = 64 << 20;
/// Bytes of text that are collected before a write, if more inputs wait.
const WRITE_BYTES: usize = 256 << 10;

/// An open file that a record is appended to; a lock keeps other switches from writing it.
pub struct RecordFile {
    file: File,
    path: PathBuf,
    /// Its length.
    bytes: u64,
    max_bytes: u64,
}

impl RecordFile {
    /// Opens a file, or makes it, so that only its owner may read it; what is in it stays.
    ///
    /// Errors: a sentence, also if another switch writes it, or it is no file.
    pub fn open(path: &Path) -> Result<Self> {
        let named = context(format!("--record {}", path.display()));
        Self::try_open(path).map_err(named)
    }

    fn try_open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        // To open a named pipe would block otherwise; it is refused below.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits() as i32);
        let mut file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        if file.try_lock().is_err() {
            return Err(io::Error::other("another switch writes it"));
        }
        file.set_permissions(Permissions::from_mode(0o600))?;
        let bytes = file.seek(SeekFrom::End(0))?;
        let mut this = Self {
            file,
            path: path.into(),
            bytes,
            max_bytes: MAX_BYTES,
        };
        if this.is_cut()? {
            this.append(&format!("{CUT_MARK}\n"))?;
        }
        Ok(this)
    }

    /// Returns true if the last line has no end.
    fn is_cut(&mut self) -> io::Result<bool> {
        if self.bytes == 0 {
            return Ok(false);
        }
        self.file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        self.file.read_exact(&mut last)?;
        Ok(last != *b"\n")
    }

    /// Appends whole lines. Errors: the system's; a line that was cut then is removed again.
    fn append(&mut self, text: &str) -> io::Result<()> {
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            // If it cannot be removed either, the next run marks it.
            let _ = self.file.set_len(self.bytes);
            return Err(error);
        }
        self.bytes += text.len() as u64;
        Ok(())
    }

    /// Returns true if there is room for lines, and for a last one that says that the file is full.
    fn has_room(&self, text: &str) -> bool {
        let more = text.len() + FULL_LINE.len() + 1;
        self.max_bytes.saturating_sub(self.bytes) >= more as u64
    }
}

/// The state that the data-plane thread and the writer share.
#[derive(Default)]
struct RecordState {
    /// Bytes of steps that wait to be written.
    waiting_bytes: AtomicUsize,
    /// The file's length.
    file_bytes: AtomicU64,
    /// Inputs that were written.
    written: AtomicU64,
    /// Inputs that are missing.
    lost: AtomicU64,
    /// True if nothing more is written.
    is_over: AtomicBool,
}

/// A message of the data-plane thread to the writer.
enum RecordEntry {
    Step(Box<NotedStep>),
    /// This many inputs are missing here.
    Lost(u64),
}

/// Notes what a switch is given, and what it does.
pub struct SwitchRecorder {
    path: PathBuf,
    to: Option<Sender<RecordEntry>>,
    writer: Option<JoinHandle<()>>,
    state: Arc<RecordState>,
    connections: RecordedConnections,
    answers: Answers,
    /// The numbers of the switch's questions that were answered no, in this input.
    denied: RefCell<Vec<u32>>,
    /// The input that is being carried out.
    step: Option<Box<NotedStep>>,
    /// Inputs that are missing after the last that was noted.
    lost: u64,
    max_waiting_bytes: usize,
    pool: Pool,
    /// The number of buffers that the pool had refused by the end of the previous input.
    refused: u64,
}

/// The writer of a record, before its thread runs.
pub struct RecordWriter {
    file: RecordFile,
    /// The first lines of the run.
    begin: String,
    entries: Receiver<RecordEntry>,
    state: Arc<RecordState>,
}

impl SwitchRecorder {
    /// Begins the record of a switch that has no ports yet, and whose frames come from `pool`.
    pub fn new(
        file: RecordFile,
        config: &Config,
        switch: &Switch,
        pool: Pool,
    ) -> (Self, RecordWriter) {
        let catalogue = switch.datapath().catalogue().clone();
        let connections = RecordedConnections::new(catalogue, config.record_frames);
        let first_line = config.record_frames.first_line();
        let begin = format!("{first_line}\nswitch {}\n", recorded(config, switch));
        Self::beginning_with(begin, file, connections, pool)
    }

    /// The same for a switch with a P4 program. Its record has whole frames.
    pub fn of_p4(
        file: RecordFile,
        config: &Config,
        run: P4RecordedConfig,
        pool: Pool,
    ) -> (Self, RecordWriter) {
        let connections = RecordedConnections::new(config.catalogue.clone(), FrameDetail::Whole);
        let begin = format!("{FIRST_LINE}\n{run}\n");
        Self::beginning_with(begin, file, connections, pool)
    }

    fn beginning_with(
        begin: String,
        file: RecordFile,
        connections: RecordedConnections,
        pool: Pool,
    ) -> (Self, RecordWriter) {
        let (to, entries) = channel();
        let state = Arc::new(RecordState::default());
        let writer = RecordWriter {
            begin,
            entries,
            state: state.clone(),
            file,
        };
        let this = Self {
            path: writer.file.path.clone(),
            to: Some(to),
            writer: None,
            state,
            connections,
            answers: Answers::default(),
            denied: RefCell::default(),
            step: None,
            lost: 0,
            max_waiting_bytes: MAX_WAITING_BYTES,
            refused: pool.stats().refused,
            pool,
        };
        (this, writer)
    }

    /// Starts the thread that writes. Errors: the system's.
    pub fn start(&mut self, writer: RecordWriter) -> io::Result<()> {
        let thread = thread::Builder::new().name("record".into());
        self.writer = Some(thread.spawn(|| writer.run())?);
        Ok(())
    }

    /// Reads frames by these fields and headers from now on.
    pub fn look_for(&mut self, additions: &'static Additions) {
        self.connections.look_for(additions);
    }

    /// Begins an input. If `input` returns none, it cannot be recorded, and is missing.
    pub fn begin(
        &mut self,
        at: Time,
        input: impl FnOnce(&RecordedConnections) -> Option<RecordedInput>,
    ) {
        self.answers.begin();
        if self.state.is_over.load(Relaxed) {
            return;
        }
        let Some(input) = input(&self.connections) else {
            self.lose();
            return;
        };
        self.step = Some(Box::new(NotedStep {
            at,
            input,
            denied: Vec::new(),
            pool_is_short: false,
            outputs: Vec::new(),
        }));
    }

    /// Ends the input, which has been carried out, and queues it for the writer.
    pub fn end(&mut self) {
        let Some(mut step) = self.step.take() else {
            return;
        };
        self.connections.follow(&step.input);
        step.denied = mem::take(self.denied.get_mut());
        let pool = self.pool.stats();
        step.pool_is_short =
            pool.refused != self.refused || pool.bytes_in_use > POOL_BYTES / KEPT_SHARE;
        self.refused = pool.refused;
        let bytes = step.weight_bytes();
        let waiting = self.state.waiting_bytes.load(Relaxed);
        if waiting + bytes > self.max_waiting_bytes {
            self.lose();
            return;
        }
        self.tell_lost();
        self.state.waiting_bytes.fetch_add(bytes, Relaxed);
        self.send(RecordEntry::Step(step));
    }

    /// Counts an input that is missing.
    fn lose(&mut self) {
        self.lost += 1;
        if self.state.lost.fetch_add(1, Relaxed) == 0 {
            let path = self.path.display();
            warn!("record {path}: inputs are missing: too many wait, or one cannot be written");
        }
    }

    /// Queues the number of inputs that are missing since the last entry.
    fn tell_lost(&mut self) {
        if self.lost > 0 {
            self.send(RecordEntry::Lost(self.lost));
            self.lost = 0;
        }
    }

    /// Queues an entry for the writer; one that has ended takes nothing.
    fn send(&self, entry: RecordEntry) {
        if let Some(to) = &self.to {
            let _ = to.send(entry);
        }
    }

    /// Notes the answer to a question of the switch, for example whether a port takes frames.
    pub fn answered(&self, is_granted: bool) {
        if self.step.is_none() {
            return;
        }
        let number = self.answers.next();
        if !is_granted {
            self.denied.borrow_mut().push(number);
        }
    }

    /// Notes a frame that leaves.
    pub fn frame(&mut self, port: PortNo, queue: QueueId, frame: &Frame) {
        if self.step.is_some() {
            self.output(self.connections.transmitted(port, queue, frame));
        }
    }

    /// Notes a message that leaves.
    pub fn message(&mut self, conn: ConnId, xid: u32, message: &Message) {
        if self.step.is_some() {
            self.output(self.connections.sent(conn, xid, message));
        }
    }

    /// Adds the metrics of the record.
    pub fn report(&self, samples: &mut Samples) {
        let state = &self.state;
        samples.add("recording", &[], u8::from(!state.is_over.load(Relaxed)));
        samples.add("record_file_bytes", &[], state.file_bytes.load(Relaxed));
        samples.add("record_inputs", &[], state.written.load(Relaxed));
        samples.add("record_lost_inputs", &[], state.lost.load(Relaxed));
    }

    /// Notes an output of any kind.
    pub fn output(&mut self, output: RecordedOutput) {
        if let Some(step) = &mut self.step {
            step.outputs.push(output);
        }
    }
}

impl fmt::Display for SwitchRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        let written = self.state.written.load(Relaxed);
        let bytes = self.state.file_bytes.load(Relaxed);
        let lost = self.state.lost.load(Relaxed);
        let over = if self.state.is_over.load(Relaxed) {
            " over"
        } else {
            ""
        };
        writeln!(
            f,
            "record {path} inputs={written} bytes={bytes} lost={lost}{over}"
        )
    }
}

impl Drop for SwitchRecorder {
    /// Waits until all is written.
    fn drop(&mut self) {
        self.tell_lost();
        drop(self.to.take());
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has printed why.
            let _ = writer.join();
        }
    }
}

impl RecordWriter {
    fn run(mut self) {
        let path = self.file.path.display().to_string();
        match self.write() {
            Ok(true) => {}
            Ok(false) => warn!("record {path}: the file is full; the record ends"),
            Err(error) => warn!("record {path}: {error}; the record ends"),
        }
        self.state.is_over.store(true, Relaxed);
    }

    /// Writes until the switch ends. Returns false if the file is full before. Errors: the
    /// system's.
    fn write(&mut self) -> io::Result<bool> {
        self.state.file_bytes.store(self.file.bytes, Relaxed);
        if !self.file.has_room(&self.begin) {
            return Ok(false);
        }
        self.file.append(&self.begin)?;
        let mut text = String::new();
        while let Ok(first) = self.entries.recv() {
            let mut taken = Taken::default();
            text.clear();
            taken.take(first, &mut text);
            while text.len() < WRITE_BYTES
                && let Ok(entry) = self.entries.try_recv()
            {
                taken.take(entry, &mut text);
            }
            if !self.file.has_room(&text) {
                self.file.append(&format!("{FULL_LINE}\n"))?;
                return Ok(false);
            }
            self.file.append(&text)?;
            self.state.file_bytes.store(self.file.bytes, Relaxed);
            self.state.waiting_bytes.fetch_sub(taken.bytes, Relaxed);
            self.state.written.fetch_add(taken.steps, Relaxed);
        }
        let end = format!("{LAST_LINE}\n");
        if self.file.has_room(&end) {
            self.file.append(&end)?;
        }
        Ok(true)
    }
}

/// Totals of the text that is about to be written.
#[derive(Default)]
struct Taken {
    steps: u64,
    /// The bytes of the steps, as counted in [`RecordState::waiting_bytes`].
    bytes: usize,
}

impl Taken {
    fn take(&mut self, entry: RecordEntry, text: &mut String) {
        match entry {
            RecordEntry::Step(step) => {
                step.write(text);
                self.steps += 1;
                self.bytes += step.weight_bytes();
            }
            RecordEntry::Lost(count) => *text += &format!("! lost {count}\n"),
        }
    }
}

/// Returns the part of a configuration that a record has; `switch` is made of it.
pub fn recorded(config: &Config, switch: &Switch) -> RecordedConfig {
    let datapath = switch.datapath();
    let tables = datapath.config();
    let profile = match &config.profile {
        Some(_) => write_profile(datapath.shape().features(), datapath.catalogue()),
        None => Vec::new(),
    };
    RecordedConfig {
        datapath_id: switch.identity().datapath_id,
        secret: tables.secret,
        epoch_ns: tables.epoch_ns,
        profile,
        options: config::to_line(&config.recorded_options()),
    }
}

fn write_profile(tables: Vec<TableFeatures>, catalogue: &Arc<Catalogue>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let body = ReplyBody::TableFeatures(tables);
    let message = Message::MultipartReply(MultipartReply { body, more: false });
    // The last version can say every field; the bytes begin with its number.
    let version = *Version::ALL.last().expect("there are versions");
    let codec = Codec::new(version, catalogue.clone());
    let written = codec.encode(0, &message, &mut bytes);
    written.expect("the features of one table fit into a message");
    bytes
}

/// Reads the profile of a record. Errors: it is none.
pub fn read_profile(bytes: &[u8], catalogue: &Arc<Catalogue>) -> Result<Vec<TableFeatures>> {
    let number = bytes.first().copied().unwrap_or_default();
    let version = Version::of_number(number).ok_or("profile: an unknown version")?;
    let codec = Codec::new(version, catalogue.clone());
    let mut assembler = Assembler::new(codec, bytes.len());
    let mut framer = Framer::new();
    framer.push(bytes);
    while let Some(frame) = framer.next_message().map_err(context("profile"))? {
        let received = assembler.receive(frame);
        let read = received.map_err(|refused| format!("profile: {}", refused.cause))?;
        if let Some((_, Message::MultipartReply(reply))) = read
            && let ReplyBody::TableFeatures(tables) = reply.body
        {
            return Ok(tables);
        }
    }
    Err("profile: there are no features of tables".into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use bofuss_embed::record::{Item, RecordReader, RecordedFrame};

    use super::*;
    use crate::config::Options;
    use crate::run::make_switch;

    /// The name of a file of a test, which is not there.
    fn path(name: &str) -> PathBuf {
        let unique = format!("bofuss-record-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        let _ = fs::remove_file(&path);
        path
    }

    /// A recorder of a switch without ports, and what writes its record.
    fn recorder(path: &Path, max_bytes: u64) -> (SwitchRecorder, RecordWriter) {
        let config = Options::default().check().unwrap();
        let pool = Pool::new(1 << 20);
        let switch = make_switch(&config, &pool, 1).unwrap();
        let file = RecordFile {
            max_bytes,
            ..RecordFile::open(path).unwrap()
        };
        SwitchRecorder::new(file, &config, &switch, pool)
    }

    fn note(recorder: &mut SwitchRecorder, at: u64, frame_bytes: usize) {
        let frame = RecordedFrame {
            bytes: vec![7; frame_bytes],
            omitted_bytes: 0,
            offload: Default::default(),
            tunnel_id: 0,
        };
        recorder.begin(Time(at), |_| {
            Some(RecordedInput::Frames(PortNo(1), vec![frame]))
        });
        recorder.end();
    }

    fn items(path: &Path) -> Vec<Item> {
        let mut reader = RecordReader::default();
        let mut items = Vec::new();
        for line in fs::read_to_string(path).unwrap().lines() {
            reader.push(line, &mut items).unwrap();
        }
        reader.end(&mut items);
        fs::remove_file(path).unwrap();
        items
    }

    #[test]
    fn what_cannot_be_written_in_time_is_missing_and_counted() {
        let path = path("slow");
        let (mut recorder, writer) = recorder(&path, MAX_BYTES);
        recorder.max_waiting_bytes = 100 * 1000;
        // The thread does not run yet: all waits.
        let mut at = 0;
        while recorder.state.lost.load(Relaxed) < 3 {
            note(&mut recorder, at, 600);
            at += 1;
        }
        assert!((100..160).contains(&at), "{at}");
        recorder.start(writer).unwrap();
        let start = Instant::now();
        while recorder.state.waiting_bytes.load(Relaxed) > 0 {
            assert!(start.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(1));
        }
        note(&mut recorder, at, 60);
        assert!(recorder.to_string().ends_with(" lost=3\n"), "{recorder}");
        drop(recorder);
        let items = items(&path);
        let [.., Item::Lost(lost), Item::Step(last)] = &items[..] else {
            panic!("{:?}", items.last());
        };
        assert_eq!((*lost, items.len() as u64), (3, at));
        assert!(last.is_whole && last.text.starts_with(&format!("{at} frames 1 0707")));
    }

    #[test]
    fn a_record_says_that_its_last_inputs_are_missing() {
        let path = path("last");
        let (mut recorder, writer) = recorder(&path, MAX_BYTES);
        note(&mut recorder, 0, 60);
        recorder.max_waiting_bytes = 0;
        note(&mut recorder, 1, 60);
        note(&mut recorder, 2, 60);
        recorder.start(writer).unwrap();
        drop(recorder);
        let items = items(&path);
        assert!(
            matches!(items[..], [.., Item::Step(_), Item::Lost(2)]),
            "{items:?}"
        );
    }

    #[test]
    fn a_full_file_ends_the_record_with_whole_lines() {
        let path = path("full");
        let (mut first, writer) = recorder(&path, 4000);
        first.start(writer).unwrap();
        let mut at = 0;
        while !first.state.is_over.load(Relaxed) {
            note(&mut first, at, 100);
            at += 1;
            while first.state.written.load(Relaxed) < at && !first.state.is_over.load(Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let noted = first.state.written.load(Relaxed);
        drop(first);
        assert!(fs::metadata(&path).unwrap().len() <= 4000);
        // It stays full: another run does not begin in it.
        let (mut second, writer) = recorder(&path, 4000);
        second.start(writer).unwrap();
        note(&mut second, 1, 100);
        drop(second);
        let items = items(&path);
        assert!(noted > 2 && items.len() as u64 == noted + 2, "{items:?}");
        assert!(matches!(items[0], Item::Run(..)) && items[items.len() - 1] == Item::Full);
    }

    #[test]
    fn a_record_belongs_to_one_switch_and_only_its_owner_reads_it() {
        let path = path("own");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let _held = RecordFile::open(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let refused = RecordFile::open(&path).err().unwrap();
        fs::remove_file(&path).unwrap();
        assert!(
            refused.text.ends_with(": another switch writes it"),
            "{refused}"
        );
    }

    #[test]
    fn a_profile_is_the_same_after_a_record() {
        let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/profile.toml");
        let options = Options {
            profile: Some(profile.into()),
            ..Options::default()
        };
        let config = options.check().unwrap();
        let pool = Pool::new(1 << 20);
        let switch = make_switch(&config, &pool, 1).unwrap();
        let again = crate::run::remake_switch(&recorded(&config, &switch)).unwrap();
        let features = |switch: &Switch| format!("{:?}", switch.datapath().shape().features());
        assert_eq!(features(&switch), features(&again));
    }
}
