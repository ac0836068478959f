//! Captures and mirrors: copies of a port's frames into a file or to another port, and of OpenFlow
//! messages into a file.

mod messages;

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, io, iter, thread};

use bofuss_frame::Frame;
use bofuss_oflib::{Catalogue, PortNo, text};
use bofuss_packet::{Key, KeyMatch, Layout, arrival, parse};
use bofuss_ports::{CaptureFile, CaptureSource, Direction, LinkType};
use tracing::warn;

use crate::error::{Result, context};

pub use messages::MessageCaptures;

/// Most packets or messages in one file; captures into it then end.
const MAX_PACKETS: u64 = 1_000_000;
/// Most bytes in one file; captures into it then end.
const MAX_BYTES: u64 = 1 << 30;
/// Most packets that wait to be written to a file; further ones are lost and counted.
const MAX_WAITING: usize = 512;
/// The time that the writer of a capture that has ended is waited for, and that between two looks.
const END_TIMEOUT: Duration = Duration::from_millis(200);
const END_INTERVAL: Duration = Duration::from_millis(1);
/// Most captures and mirrors of ports at a time, and most captures of messages.
pub const MAX_COPIERS: usize = 16;

/// Checks that a file is in the folder for captures, if there is one. Errors: it is not.
pub fn check_place(file: &str, folder: Option<&Path>) -> Result<()> {
    let Some(folder) = folder else {
        return Ok(());
    };
    if let Some(parent) = Path::new(file).parent()
        && let Ok(place) = parent.canonicalize()
        && place.starts_with(folder)
    {
        return Ok(());
    }
    let folder = folder.display();
    Err(format!("{file}: captures may only be written to {folder} (--capture-folder)").into())
}

/// A captured packet or message for the writer thread.
struct CapturedPacket {
    at: SystemTime,
    source: Arc<CapturedSource>,
    direction: Direction,
    bytes: Vec<u8>,
}

/// A source of packets in a file: an interface in pcapng.
struct CapturedSource {
    described: CaptureSource,
    /// Its packets that were lost.
    lost: AtomicU64,
}

/// A capture file; a thread of its own writes it.
struct OpenFile {
    link_type: LinkType,
    is_pcap: bool,
    to: SyncSender<CapturedPacket>,
    /// What is to be written, until it is begun.
    pending: Mutex<Option<PendingFile>>,
    packets: AtomicU64,
    bytes: AtomicU64,
}

/// A file that is still as it was.
struct PendingFile {
    path: String,
    file: File,
    records: Receiver<CapturedPacket>,
}

/// A capture file of this process: until its writer thread has ended, nobody else may write it.
struct KnownFile {
    /// Its device and inode number.
    identity: (u64, u64),
    file: Weak<OpenFile>,
    writer: Option<JoinHandle<()>>,
}

impl KnownFile {
    /// Returns true if its last capture has ended, but not its writer.
    fn is_ending(&self) -> bool {
        let writes = self.writer.as_ref().is_some_and(|one| !one.is_finished());
        writes && self.file.strong_count() == 0
    }
}

/// The capture files of this process. Captures into the same file share it.
static OPEN: Mutex<Vec<KnownFile>> = Mutex::new(Vec::new());

fn open_files() -> MutexGuard<'static, Vec<KnownFile>> {
    OPEN.lock().expect("no holder panics")
}

/// Waits until the captures that have ended are written, of this file or of all, but no longer than
/// [`END_TIMEOUT`]. Returns true if they are.
pub fn are_written(identity: Option<(u64, u64)>) -> bool {
    let end = Instant::now() + END_TIMEOUT;
    let is_meant = |file: &KnownFile| identity.is_none_or(|one| one == file.identity);
    while open_files()
        .iter()
        .any(|file| is_meant(file) && file.is_ending())
    {
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(END_INTERVAL);
    }
    true
}

/// Writes the packets of one source into a capture file.
pub struct CaptureWriter {
    file: Arc<OpenFile>,
    source: Arc<CapturedSource>,
}

impl CaptureWriter {
    /// A capture in `file`, or one that joins those that write it already. Without `file`, opens
    /// `path`. Nothing is written before [`Self::begin`]. Errors: a sentence for the user.
    pub fn create(path: &str, file: Option<File>, described: CaptureSource) -> Result<Self> {
        if !Path::new(path).is_absolute() {
            return Err(format!("{path}: the path must be absolute").into());
        }
        let target = match file {
            Some(file) => file,
            None => CaptureFile::open(Path::new(path)).map_err(context(path))?,
        };
        let identity = identity(&target.metadata().map_err(context(path))?);
        if !are_written(Some(identity)) {
            return Err(format!("{path}: the capture before is still being written").into());
        }
        let mut open = open_files();
        open.retain(|file| file.file.strong_count() > 0 || file.is_ending());
        let mut files = open.iter().filter(|file| file.identity == identity);
        let same = files.find_map(|file| file.file.upgrade());
        let file = match same {
            Some(file) if file.is_pcap && file.link_type != described.link_type => {
                return Err(format!(
                    "{path}: a .pcap file holds either frames or messages; another name, such as \
                     .pcapng, holds both"
                )
                .into());
            }
            Some(file) => file,
            None => {
                let file = Arc::new(OpenFile::new(path, target, described.link_type));
                open.push(KnownFile {
                    identity,
                    file: Arc::downgrade(&file),
                    writer: None,
                });
                file
            }
        };
        Ok(Self::into(file, described))
    }

    /// Begins to write what is captured, in place of the contents of the file, unless another
    /// capture has begun it. Errors: the system's, with the path.
    pub fn begin(&self) -> Result<()> {
        let pending = self.file.pending.lock().expect("no holder panics").take();
        let Some(PendingFile {
            path,
            file,
            records,
        }) = pending
        else {
            return Ok(());
        };
        let named = context(path.clone());
        let (is_pcap, link_type) = (self.file.is_pcap, self.file.link_type);
        let begun = CaptureFile::begin(file, is_pcap, link_type);
        let spawned = begun.and_then(|file| {
            let thread = thread::Builder::new().name("capture".into());
            thread.spawn(move || {
                if let Err(error) = write(file, &records) {
                    warn!("capture {path}: {error}");
                }
            })
        });
        let writer = spawned.map_err(named)?;
        let mut open = open_files();
        let mut files = open.iter_mut();
        if let Some(known) = files.find(|known| known.file.as_ptr() == Arc::as_ptr(&self.file)) {
            known.writer = Some(writer);
        }
        Ok(())
    }

    fn into(file: Arc<OpenFile>, described: CaptureSource) -> Self {
        let lost = AtomicU64::new(0);
        Self {
            file,
            source: Arc::new(CapturedSource { described, lost }),
        }
    }

    /// Queues a packet for the writer thread. Returns false if the queue is full.
    pub fn record(&mut self, direction: Direction, bytes: &[u8]) -> bool {
        let record = CapturedPacket {
            at: SystemTime::now(),
            source: self.source.clone(),
            direction,
            bytes: bytes.to_vec(),
        };
        if self.file.to.try_send(record).is_err() {
            self.source.lost.fetch_add(1, Relaxed);
            return false;
        }
        self.file.packets.fetch_add(1, Relaxed);
        self.file.bytes.fetch_add(bytes.len() as u64, Relaxed);
        true
    }

    /// Returns true if the file has reached its size limit.
    pub fn is_full(&self) -> bool {
        let packets = &self.file.packets;
        let bytes = &self.file.bytes;
        packets.load(Relaxed) >= MAX_PACKETS || bytes.load(Relaxed) >= MAX_BYTES
    }
}

/// Counters of a capture or mirror.
#[derive(Default)]
struct CopyCounts {
    packets: u64,
    bytes: u64,
    lost: u64,
}

impl CopyCounts {
    fn count(&mut self, bytes: usize, copied: bool) {
        if copied {
            self.packets += 1;
            self.bytes += bytes as u64;
        } else {
            self.lost += 1;
        }
    }
}

impl fmt::Display for CopyCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packets = self.packets;
        let bytes = self.bytes;
        let lost = self.lost;
        write!(f, "packets={packets} bytes={bytes} lost={lost}")
    }
}

impl OpenFile {
    fn new(path: &str, file: File, link_type: LinkType) -> Self {
        let (to, records) = sync_channel(MAX_WAITING);
        let path = path.to_string();
        Self {
            link_type,
            is_pcap: CaptureFile::is_pcap(Path::new(&path)),
            to,
            pending: Mutex::new(Some(PendingFile {
                path,
                file,
                records,
            })),
            packets: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Writes until all senders are gone, and flushes after each batch.
fn write(mut file: CaptureFile, records: &Receiver<CapturedPacket>) -> io::Result<()> {
    let mut sources: Vec<Arc<CapturedSource>> = Vec::new();
    while let Ok(first) = records.recv() {
        for record in iter::once(first).chain(records.try_iter()) {
            let known = sources
                .iter()
                .position(|source| Arc::ptr_eq(source, &record.source));
            let number = match known {
                Some(number) => number as u32,
                None => {
                    sources.push(record.source.clone());
                    file.add_source(&record.source.described)?
                }
            };
            file.write(number, record.at, record.direction, &record.bytes)?;
        }
        file.flush()?;
    }
    for (number, source) in (0..).zip(sources) {
        file.end_source(number, SystemTime::now(), source.lost.load(Relaxed))?;
    }
    Ok(())
}

/// The target of copies.
pub enum CopyTarget {
    /// Into a file.
    File(CaptureWriter),
    /// Out of a port.
    Port(PortNo),
}

/// A capture or mirror of a port's frames, in both directions.
pub struct FrameCopier {
    /// The port that is watched.
    port: PortNo,
    /// The flow whose frames are copied.
    rule: KeyMatch,
    /// The start of the parse of each frame: a key with the ingress port, and a layout that knows
    /// the additional fields.
    arrival: Key,
    unread: Layout,
    /// The target.
    pub to: CopyTarget,
    /// The file or port, as it was named.
    pub name: String,
    /// The words that asked for it: `PORT FILE-OR-PORT [FLOW]`.
    pub words: String,
    counts: CopyCounts,
}

impl FrameCopier {
    /// Copies those frames of a port that match `flow`: all if it is empty. Errors: what is wrong
    /// with it.
    pub fn new(
        port: PortNo,
        flow: &str,
        catalogue: &Catalogue,
        name: &str,
        to: CopyTarget,
    ) -> Result<Self> {
        let rule = text::parse_match(flow, catalogue)?;
        Ok(Self {
            port,
            rule: KeyMatch::from(&rule),
            arrival: arrival(port, catalogue.additions()),
            unread: Layout::seeking(catalogue.additions()),
            to,
            name: name.into(),
            words: String::new(),
            counts: CopyCounts::default(),
        })
    }

    /// Expects frames without an Ethernet header, as a TUN interface has them.
    pub fn leave_ethernet(&mut self) {
        self.arrival.leave_ethernet();
    }

    /// The number of VLAN tags of a frame if it is to be copied.
    pub fn wants(&self, port: PortNo, frame: &Frame) -> Option<u8> {
        if port != self.port {
            return None;
        }
        let mut key = self.arrival.clone();
        let mut layout = self.unread;
        parse(frame.bytes(), &mut key, &mut layout);
        let matches = key.matches(&self.rule, &mut ());
        matches.then_some(layout.vlan_tags)
    }

    /// Begins to write into the file, if it has one. Errors: the system's.
    pub fn begin(&self) -> Result<()> {
        match &self.to {
            CopyTarget::File(file) => file.begin(),
            CopyTarget::Port(_) => Ok(()),
        }
    }

    /// Counts a frame that was copied, or could not be.
    pub fn count(&mut self, bytes: usize, copied: bool) {
        self.counts.count(bytes, copied);
    }

    /// Returns true if the file has reached its size limit; a mirror has none.
    pub fn is_full(&self) -> bool {
        match &self.to {
            CopyTarget::File(file) => file.is_full(),
            CopyTarget::Port(_) => false,
        }
    }
}

impl fmt::Display for FrameCopier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} {}", self.port, self.name, self.counts)
    }
}

/// Returns true if `name` means the file or port `one`: it is the same, or the last part of the
/// path.
pub fn is_named(one: &str, name: &str) -> bool {
    one == name || one.rsplit_once('/').is_some_and(|(_, last)| last == name)
}

#[cfg(test)]
mod tests;
