//! Capture files, pcap and pcapng: one is read packet by packet, the other is written.

use std::{
    borrow::Cow,
    fs::{File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    time::{Duration, SystemTime},
};

use bofuss_frame::MAX_FRAME_BYTES;
use pcap_file::{
    DataLink,
    pcap::{PcapHeader, PcapPacket, PcapReader, PcapTsResolution, PcapWriter},
    pcapng::{
        Block, PcapNgReader, PcapNgWriter,
        blocks::{
            enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption},
            interface_description::{
                InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
            },
            interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption},
            opt_common::CommonOption,
            section_header::{SectionHeaderBlock, SectionHeaderOption},
        },
    },
};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// The first bytes of a pcapng file, in either byte order.
const PCAPNG_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// The longest packet or block that is read, in bytes; the file ends at a longer block.
const MAX_BLOCK_BYTES: usize = 256 << 10;
/// The most bytes that wait to be written to the file, not counting the last packet.
const MAX_UNWRITTEN_BYTES: usize = 64 << 10;

/// The kind of header with which the packets of a capture begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet,
    /// Tags that name the dissector of what follows: Wireshark's exported PDUs.
    UpperPdu,
}

impl From<LinkType> for DataLink {
    fn from(link_type: LinkType) -> Self {
        match link_type {
            LinkType::Ethernet => Self::ETHERNET,
            LinkType::UpperPdu => Self::WIRESHARK_UPPER_PDU,
        }
    }
}

/// The direction of a packet, seen from the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It was received.
    In,
    /// It was sent.
    Out,
}

impl Direction {
    /// The direction's bits in the flags of an enhanced packet block (pcapng, section 4.3.1).
    fn flags(self) -> u32 {
        match self {
            Self::In => 1,
            Self::Out => 2,
        }
    }
}

/// A source of a capture's packets; pcapng calls it an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSource {
    /// The interface's name.
    pub name: String,
    /// The kind of header with which its packets begin.
    pub link_type: LinkType,
    /// The remark for a reader of the capture.
    pub comment: String,
}

/// A capture file that is written, with times in nanoseconds: pcap 2.4 if its name ends in
/// `.pcap`, else pcapng.
///
/// It grows by whole packets, so that it can be read at any time, and when the writer was killed.
pub struct CaptureFile {
    format: Format,
    unwritten_bytes: usize,
}

enum Format {
    Pcap(PcapWriter<Unwritten>, LinkType),
    PcapNg(PcapNgWriter<Unwritten>),
}

/// Keeps what is written until it is flushed.
struct Unwritten {
    file: File,
    bytes: Vec<u8>,
}

impl Write for Unwritten {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.bytes);
        self.bytes.clear();
        written
    }
}

impl CaptureFile {
    /// Returns true if a file of this name is in the older format, which has one link type and no
    /// comments.
    pub fn is_pcap(path: &Path) -> bool {
        path.extension()
            .is_some_and(|extension| extension == "pcap")
    }

    /// Opens a file to capture into, and makes it if it is not there; what is in it stays. It may
    /// be a pipe that somebody reads; [`Self::begin`] does not wait for this reader either.
    ///
    /// Errors: the system's, ELOOP for a symbolic link, ENXIO for a pipe that nobody reads.
    pub fn open(path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let options = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        options.open(path)
    }

    /// Begins a capture in the file of this name. Errors: the system's, ELOOP for a symbolic link.
    pub fn create(path: &Path, link_type: LinkType) -> io::Result<Self> {
        Self::begin(Self::open(path)?, Self::is_pcap(path), link_type)
    }

    /// Begins a capture in place of what is in a file. A pcap file has this one link type.
    ///
    /// Errors: the system's, EBADF for a file that was not opened to be written.
    pub fn begin(file: File, is_pcap: bool, link_type: LinkType) -> io::Result<Self> {
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        let fd = file.try_clone()?;
        let to = Unwritten {
            file,
            bytes: Vec::new(),
        };
        let format = if is_pcap {
            let header = PcapHeader {
                snaplen: MAX_FRAME_BYTES as u32,
                datalink: link_type.into(),
                ts_resolution: PcapTsResolution::NanoSecond,
                ..PcapHeader::default()
            };
            Format::Pcap(
                PcapWriter::with_header(to, header).map_err(invalid)?,
                link_type,
            )
        } else {
            let program = concat!("bofuss ", env!("CARGO_PKG_VERSION"));
            let header = SectionHeaderBlock {
                options: vec![SectionHeaderOption::UserApplication(program.into())],
                ..SectionHeaderBlock::default()
            };
            Format::PcapNg(PcapNgWriter::with_section_header(to, header).map_err(invalid)?)
        };
        let mut file = Self {
            format,
            unwritten_bytes: 0,
        };
        file.flush()?;
        // What follows may wait for the reader of a pipe.
        fcntl_setfl(&fd, fcntl_getfl(&fd)? - OFlags::NONBLOCK)?;
        Ok(file)
    }

    /// Adds a source; its number.
    ///
    /// Errors: the system's; `InvalidInput` if a pcap file has another link type.
    pub fn add_source(&mut self, source: &CaptureSource) -> io::Result<u32> {
        match &mut self.format {
            Format::Pcap(_, link_type) if *link_type != source.link_type => {
                Err(io::ErrorKind::InvalidInput.into())
            }
            Format::Pcap(..) => Ok(0),
            Format::PcapNg(writer) => {
                let number = writer.interfaces().len() as u32;
                let comment = CommonOption::Comment(source.comment.as_str().into());
                let options = vec![
                    InterfaceDescriptionOption::IfName(source.name.as_str().into()),
                    InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
                    InterfaceDescriptionOption::Common(comment),
                ];
                let block = InterfaceDescriptionBlock {
                    linktype: source.link_type.into(),
                    snaplen: 0,
                    options,
                };
                writer.write_pcapng_block(block).map_err(invalid)?;
                Ok(number)
            }
        }
    }

    /// Appends what passed at this time, of a source that was added. Errors: the system's.
    pub fn write(
        &mut self,
        source: u32,
        at: SystemTime,
        direction: Direction,
        bytes: &[u8],
    ) -> io::Result<()> {
        let timestamp = since_epoch(at);
        let len = bytes.len() as u32;
        match &mut self.format {
            Format::Pcap(writer, _) => {
                let packet = PcapPacket::new(timestamp, len, bytes).map_err(invalid)?;
                let raw = packet.as_raw_packet(PcapTsResolution::NanoSecond);
                writer.write_raw_packet(&raw).map_err(invalid)?;
            }
            Format::PcapNg(writer) => {
                let block = EnhancedPacketBlock {
                    interface_id: source,
                    timestamp,
                    original_len: len,
                    data: Cow::Borrowed(bytes),
                    options: vec![EnhancedPacketOption::Flags(direction.flags())],
                };
                writer.write_pcapng_block(block).map_err(invalid)?;
            }
        }
        self.unwritten_bytes += bytes.len();
        if self.unwritten_bytes >= MAX_UNWRITTEN_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Ends a source: notes how many of its packets are missing, if the format can say so.
    ///
    /// Errors: the system's.
    pub fn end_source(&mut self, source: u32, at: SystemTime, lost: u64) -> io::Result<()> {
        if let Format::PcapNg(writer) = &mut self.format {
            let block = InterfaceStatisticsBlock {
                interface_id: source,
                timestamp: since_epoch(at),
                options: vec![InterfaceStatisticsOption::IsbIfDrop(lost)],
            };
            writer.write_pcapng_block(block).map_err(invalid)?;
        }
        self.flush()
    }

    /// Flushes, so that readers of the file see all that was written. Errors: the system's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.unwritten_bytes = 0;
        match &mut self.format {
            Format::Pcap(writer, _) => writer.flush().map_err(invalid),
            Format::PcapNg(writer) => writer.get_mut().flush(),
        }
    }
}

fn since_epoch(at: SystemTime) -> Duration {
    at.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Turns an error of the library into one of an input or output: the system's, if that is the
/// cause.
fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    let error = error.into();
    let cause = error
        .source()
        .and_then(|cause| cause.downcast_ref::<io::Error>());
    match cause.and_then(io::Error::raw_os_error) {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}

/// The facts of a captured packet, apart from its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureStamp {
    /// The time at which it was captured, since 1970; zero if the file does not say.
    pub at: Duration,
    /// Its bytes on the wire, of which the file may have the first bytes only.
    pub wire_bytes: u32,
}

/// A capture file that is read.
pub struct CaptureReader(ReadFormat);

/// The formats that are read.
enum ReadFormat {
    Pcap(PcapReader<File>),
    PcapNg(PcapNgReader<File>),
}

impl CaptureReader {
    /// Opens a file, pcap or pcapng. It does not wait for the writer of a named pipe.
    ///
    /// Errors: the system's; `InvalidInput` if it is no regular file; `InvalidData` if it is no
    /// capture, or one without Ethernet.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?;
        if !file.metadata()?.is_file() {
            let error = "not a regular file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        let mut magic = [0; 4];
        file.read_exact(&mut magic)?;
        file.rewind()?;
        if magic == PCAPNG_MAGIC {
            let reader = PcapNgReader::with_capacity(file, MAX_BLOCK_BYTES);
            return reader
                .map(|ng| Self(ReadFormat::PcapNg(ng)))
                .map_err(invalid);
        }
        let reader = PcapReader::with_capacity(file, MAX_BLOCK_BYTES)
            .map_err(|_| invalid("it is not a capture file in the pcap or pcapng format"))?;
        // The upper half says how long the frame check sequence is.
        if DataLink::from(u32::from(reader.header().datalink) & 0xffff) != DataLink::ETHERNET {
            return Err(invalid("its frames are not Ethernet"));
        }
        Ok(Self(ReadFormat::Pcap(reader)))
    }

    /// Reads up to the next packet and copies it to `packet`, which is empty if the packet is not
    /// Ethernet; `None` at the end of the file, which a cut packet is too.
    ///
    /// Errors: the system's; `InvalidData` if what follows is no packet.
    pub fn next(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<CaptureStamp>> {
        packet.clear();
        match &mut self.0 {
            ReadFormat::Pcap(reader) => next_of_pcap(reader, packet),
            ReadFormat::PcapNg(reader) => next_of_pcapng(reader, packet),
        }
    }
}

/// See [`CaptureReader::next`].
fn next_of_pcap(
    reader: &mut PcapReader<File>,
    packet: &mut Vec<u8>,
) -> io::Result<Option<CaptureStamp>> {
    let frac_ns = match reader.header().ts_resolution {
        PcapTsResolution::MicroSecond => 1_000,
        PcapTsResolution::NanoSecond => 1,
    };
    let raw = match reader.next_raw_packet() {
        None => return Ok(None),
        Some(Ok(raw)) => raw,
        Some(Err(pcap_file::pcap::PcapReadError::Io(error))) => return or_end(error),
        Some(Err(error)) => return Err(invalid(error)),
    };
    packet.extend(&*raw.data);
    let fraction = Duration::from_nanos(u64::from(raw.ts_frac) * frac_ns);
    Ok(Some(CaptureStamp {
        at: Duration::from_secs(raw.ts_sec.into()) + fraction,
        wire_bytes: raw.orig_len,
    }))
}

/// See [`CaptureReader::next`].
fn next_of_pcapng(
    reader: &mut PcapNgReader<File>,
    packet: &mut Vec<u8>,
) -> io::Result<Option<CaptureStamp>> {
    loop {
        let (block, state) = match reader.next_block() {
            None => return Ok(None),
            Some(Ok(next)) => next,
            Some(Err(pcap_file::pcapng::PcapNgReadError::Io(error))) => return or_end(error),
            Some(Err(error)) => return Err(invalid(error)),
        };
        let no_time = Duration::ZERO;
        let (interface, data, at, wire_bytes) = match &block {
            Block::EnhancedPacket(one) => {
                (one.interface_id, &one.data, one.timestamp, one.original_len)
            }
            Block::SimplePacket(one) => (0, &one.data, no_time, one.original_len),
            Block::Packet(one) => {
                let interface = one.interface_id.into();
                (interface, &one.data, one.timestamp, one.original_len)
            }
            // These hold no packet.
            Block::SectionHeader(_)
            | Block::InterfaceDescription(_)
            | Block::NameResolution(_)
            | Block::InterfaceStatistics(_)
            | Block::SystemdJournalExport(_)
            | Block::CustomCopiable(_)
            | Block::CustomNonCopiable(_)
            | Block::Unknown(_) => continue,
        };
        let interface = state.interfaces().get(interface as usize);
        if interface.is_some_and(|interface| interface.linktype == DataLink::ETHERNET) {
            packet.extend(&**data);
        }
        return Ok(Some(CaptureStamp { at, wire_bytes }));
    }
}

/// The end of a file, if it is cut there.
fn or_end(error: io::Error) -> io::Result<Option<CaptureStamp>> {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        Ok(None)
    } else {
        Err(error)
    }
}
