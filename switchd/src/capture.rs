//! Captures and mirrors: copies of a port's frames into a file or to another port, and of OpenFlow
//! messages into a file.

use std::fs::{File, Metadata};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::SystemTime;
use std::{fmt, io, iter, thread};

use bofuss_channel::AddressPair;
use bofuss_frame::Frame;
use bofuss_oflib::{Catalogue, PortNo, text};
use bofuss_packet::{Key, KeyMatch, Layout, arrival, parse};
use bofuss_ports::{CaptureFile, CaptureSource, Direction, LinkType};
use tracing::warn;

use crate::error::{Result, context};

/// Most packets or messages in one file; captures into it then end.
const MAX_PACKETS: u64 = 1_000_000;
/// Most bytes in one file; captures into it then end.
const MAX_BYTES: u64 = 1 << 30;
/// Most packets that wait to be written to a file; further ones are lost and counted.
const MAX_WAITING: usize = 512;
/// Most captures and mirrors of ports at a time, and most captures of messages.
pub const MAX_COPIERS: usize = 16;
/// Tags before a message, as Wireshark's exported PDUs have them (`epan/exported_pdu.h`): the name
/// of the dissector, source and destination address (IPv4 or IPv6), the type of the ports, the
/// ports, and the direction.
const DISSECTOR: u16 = 12;
const IPV4: [u16; 2] = [20, 21];
const IPV6: [u16; 2] = [22, 23];
const PORT_KIND: u16 = 24;
const PORTS: [u16; 2] = [25, 26];
const DIRECTION: u16 = 35;
/// The port type of TCP.
const TCP: u32 = 2;

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
    /// The file's device and inode number.
    identity: (u64, u64),
    link_type: LinkType,
    is_pcap: bool,
    to: SyncSender<CapturedPacket>,
    packets: AtomicU64,
    bytes: AtomicU64,
}

/// The capture files of this process. Captures into the same file share it.
static OPEN: Mutex<Vec<Weak<OpenFile>>> = Mutex::new(Vec::new());

/// Writes the packets of one source into a capture file.
pub struct CaptureWriter {
    file: Arc<OpenFile>,
    source: Arc<CapturedSource>,
}

impl CaptureWriter {
    /// Begins a capture in `file`, whose contents it replaces, or joins one that writes it already.
    /// Without `file`, opens `path`. Errors: a sentence for the user.
    pub fn create(path: &str, file: Option<File>, described: CaptureSource) -> Result<Self> {
        if !Path::new(path).is_absolute() {
            return Err(format!("{path}: the path must be absolute").into());
        }
        let target = match file {
            Some(file) => file,
            None => CaptureFile::open(Path::new(path)).map_err(context(path))?,
        };
        let target_identity = identity(&target.metadata().map_err(context(path))?);
        let mut open = OPEN.lock().expect("no holder panics");
        open.retain(|file| file.strong_count() > 0);
        let same = open
            .iter()
            .filter_map(Weak::upgrade)
            .find(|file| file.identity == target_identity);
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
                let file =
                    OpenFile::begin(path, target, described.link_type).map_err(context(path))?;
                open.push(Arc::downgrade(&file));
                file
            }
        };
        Ok(Self::into(file, described))
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
    /// Begins a capture in a file, and starts its writer thread. Errors: the system's.
    fn begin(path: &str, file: File, link_type: LinkType) -> io::Result<Arc<Self>> {
        let identity = identity(&file.metadata()?);
        let is_pcap = CaptureFile::is_pcap(Path::new(path));
        let file = CaptureFile::begin(file, is_pcap, link_type)?;
        let (to, records) = sync_channel(MAX_WAITING);
        let name = path.to_string();
        let thread = thread::Builder::new().name("capture".into());
        thread.spawn(move || {
            if let Err(error) = write(file, &records) {
                warn!("capture {name}: {error}");
            }
        })?;
        Ok(Arc::new(Self {
            identity,
            link_type,
            is_pcap,
            to,
            packets: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }))
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

/// The tags before a message. A unix socket has no addresses.
fn tags(ends: Option<AddressPair>, received: bool) -> Vec<u8> {
    let mut tags = Vec::new();
    put_tag(&mut tags, DISSECTOR, b"openflow");
    if let Some(AddressPair { local, peer }) = ends {
        let ends = if received {
            [peer, local]
        } else {
            [local, peer]
        };
        for (place, end) in ends.into_iter().enumerate() {
            match end.ip().to_canonical() {
                IpAddr::V4(address) => put_tag(&mut tags, IPV4[place], &address.octets()),
                IpAddr::V6(address) => put_tag(&mut tags, IPV6[place], &address.octets()),
            }
            let port = u32::from(end.port());
            put_tag(&mut tags, PORTS[place], &port.to_be_bytes());
        }
        put_tag(&mut tags, PORT_KIND, &TCP.to_be_bytes());
    }
    put_tag(&mut tags, DIRECTION, &u32::from(received).to_be_bytes());
    // The end marker.
    put_tag(&mut tags, 0, &[]);
    tags
}

fn put_tag(tags: &mut Vec<u8>, tag: u16, value: &[u8]) {
    tags.extend(tag.to_be_bytes());
    tags.extend((value.len() as u16).to_be_bytes());
    tags.extend(value);
}

/// Captures of the messages of all OpenFlow connections, decrypted.
#[derive(Clone, Default)]
pub struct MessageCaptures(Arc<Mutex<Vec<MessageCapture>>>);

struct MessageCapture {
    name: String,
    file: CaptureWriter,
    counts: CopyCounts,
}

impl MessageCaptures {
    fn list(&self) -> std::sync::MutexGuard<'_, Vec<MessageCapture>> {
        self.0.lock().expect("no holder panics")
    }

    /// Copies messages of a connection. `bytes` are one or several whole messages.
    pub fn see(&self, ends: Option<AddressPair>, received: bool, mut bytes: &[u8]) {
        let mut list = self.list();
        if list.is_empty() {
            return;
        }
        let head = tags(ends, received);
        let direction = if received {
            Direction::In
        } else {
            Direction::Out
        };
        while bytes.len() >= 4 {
            let length = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
            let (message, rest) = bytes.split_at(length.clamp(4, bytes.len()));
            let record = [&head, message].concat();
            for capture in list.iter_mut() {
                let copied = capture.file.record(direction, &record);
                capture.counts.count(record.len(), copied);
            }
            bytes = rest;
        }
        list.retain(|capture| !capture.file.is_full());
    }

    /// Starts a capture of a switch's messages into `file`; without it, opens the file `name`.
    /// Errors: a sentence for the user.
    pub fn begin(&self, name: &str, file: Option<File>, switch: &str) -> Result<()> {
        if self.list().len() >= MAX_COPIERS {
            return Err(format!("there are {MAX_COPIERS} captures already").into());
        }
        let source = CaptureSource {
            name: "openflow".into(),
            link_type: LinkType::UpperPdu,
            comment: format!("OpenFlow messages of all connections of switch {switch}"),
        };
        let file = CaptureWriter::create(name, file, source)?;
        self.list().push(MessageCapture {
            name: name.into(),
            file,
            counts: CopyCounts::default(),
        });
        Ok(())
    }

    /// Ends the capture into a file. Returns false if there is none.
    pub fn end(&self, name: &str) -> bool {
        let mut list = self.list();
        let before = list.len();
        list.retain(|capture| !is_named(&capture.name, name));
        list.len() < before
    }
}

impl fmt::Display for MessageCaptures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for capture in self.list().iter() {
            writeln!(f, "openflow {} {}", capture.name, capture.counts)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
