//! A port on capture files: one is received, the other records what is transmitted.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufReader, BufWriter, Read, Write},
    os::{fd::BorrowedFd, unix::fs::OpenOptionsExt},
    path::Path,
    time::SystemTime,
};

use bofuss_frame::{Frame, MAX_FRAME_BYTES, Pool};

use crate::{Capabilities, Counters, DropReason, OpenError, Port, PortError};

/// The first word of a file, with microseconds and with nanoseconds; byte-swapped on a machine of
/// the other order.
const MAGICS: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];
const PCAPNG_MAGIC: u32 = 0x0a0d_0d0a;
const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// The only link type we take.
const ETHERNET: u32 = 1;

/// A port that receives the frames of one capture file, as fast as it is asked, and records to
/// another.
pub struct PcapFile {
    input: Option<Input>,
    output: Option<CaptureFile>,
    counters: Counters,
}

struct Input {
    file: BufReader<File>,
    swapped: bool,
}

impl PcapFile {
    /// Opens the file to receive and creates the one to record to; either may be absent.
    ///
    /// Errors: [`OpenError::Io`] with the file's name, also for a file that is not an Ethernet
    /// capture.
    pub fn open(input: Option<&Path>, output: Option<&Path>) -> Result<Self, OpenError> {
        let failed = |path: &Path, action| {
            let name = path.display().to_string();
            move |source| OpenError::Io {
                name,
                action,
                source,
            }
        };
        let input = input
            .map(|path| Input::open(path).map_err(failed(path, "reading the capture")))
            .transpose()?;
        let output = output
            .map(|path| {
                CaptureFile::create(path, ETHERNET).map_err(failed(path, "creating the capture"))
            })
            .transpose()?;
        Ok(Self {
            input,
            output,
            counters: Counters::default(),
        })
    }

    /// Whether every frame of the file has been received.
    pub fn at_end(&self) -> bool {
        self.input.is_none()
    }

    /// Reads one frame to the end of `out`; `false` at the end of the file, which a cut record is
    /// too.
    fn read(&mut self, pool: &Pool, out: &mut Vec<Frame>) -> io::Result<bool> {
        let Some(input) = &mut self.input else {
            return Ok(false);
        };
        let mut header = [0; RECORD_HEADER_BYTES];
        match input.file.read_exact(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.input = None;
                return Ok(false);
            }
            result => result?,
        }
        let len = input.word(&header, 8) as usize;
        let reason = match pool.take(len) {
            Some(mut frame) => {
                frame.set_len(len);
                if let Err(error) = input.file.read_exact(frame.bytes_mut()) {
                    self.input = None;
                    return match error.kind() {
                        io::ErrorKind::UnexpectedEof => Ok(false),
                        _ => Err(error),
                    };
                }
                self.counters.received(len);
                out.push(frame);
                return Ok(true);
            }
            None if len > MAX_FRAME_BYTES => DropReason::RxTooLong,
            None => DropReason::RxNoBuffer,
        };
        self.counters.drop_some(reason, 1);
        input.file.seek_relative(len as i64)?;
        Ok(true)
    }
}

impl Port for PcapFile {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn recv(&mut self, pool: &Pool, out: &mut Vec<Frame>, max: usize) -> Result<usize, PortError> {
        let before = out.len();
        for _ in 0..max {
            if !self.read(pool, out)? {
                break;
            }
        }
        Ok(out.len() - before)
    }

    fn send(&mut self, frames: &mut Vec<Frame>) -> Result<usize, PortError> {
        let Some(file) = &mut self.output else {
            self.counters
                .drop_some(DropReason::TxLinkDown, frames.len() as u64);
            frames.clear();
            return Ok(0);
        };
        let sent = frames.len();
        let now = SystemTime::now();
        for frame in frames.drain(..) {
            file.write(now, frame.bytes())?;
            self.counters.sent(frame.len());
        }
        // Whoever looks at the file sees whole batches.
        file.flush()?;
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        self.counters
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn set_mtu(&mut self, _mtu_bytes: u32) {}
}

impl Input {
    fn open(path: &Path) -> io::Result<Self> {
        let refused = |text| Err(io::Error::new(io::ErrorKind::InvalidData, text));
        let mut input = Self {
            file: BufReader::new(File::open(path)?),
            swapped: false,
        };
        let mut header = [0; FILE_HEADER_BYTES];
        input.file.read_exact(&mut header)?;
        let magic = input.word(&header, 0);
        if magic == PCAPNG_MAGIC {
            return refused("it is in the pcapng format: editcap -F pcap OLD NEW converts it");
        }
        input.swapped = MAGICS.contains(&magic.swap_bytes());
        if !input.swapped && !MAGICS.contains(&magic) {
            return refused("it is not a capture file in the pcap format");
        }
        if input.word(&header, 20) & 0xffff != ETHERNET {
            return refused("its frames are not Ethernet");
        }
        Ok(input)
    }

    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let word = crate::netlink::u32_at(bytes, at);
        if self.swapped {
            word.swap_bytes()
        } else {
            word
        }
    }
}

/// A capture file that is written: pcap 2.4 with nanoseconds.
pub struct CaptureFile(BufWriter<File>);

impl CaptureFile {
    /// The link type of frames.
    pub const ETHERNET: u32 = ETHERNET;
    /// The link type of messages behind tags that say how to read them.
    pub const UPPER_PDU: u32 = 252;

    /// Makes a file, in place of one that is there, but not where a link leads. Errors: the
    /// system's.
    pub fn create(path: &Path, link_type: u32) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
        let mut file = BufWriter::new(file);
        file.write_all(&MAGICS[1].to_ne_bytes())?;
        for half in [2u16, 4] {
            file.write_all(&half.to_ne_bytes())?;
        }
        for word in [0, 0, MAX_FRAME_BYTES as u32, link_type] {
            file.write_all(&word.to_ne_bytes())?;
        }
        file.flush()?;
        Ok(Self(file))
    }

    /// Appends what passed at this time. Errors: the system's.
    pub fn write(&mut self, at: SystemTime, bytes: &[u8]) -> io::Result<()> {
        let at = at.duration_since(SystemTime::UNIX_EPOCH);
        let at = at.unwrap_or_default();
        let len = bytes.len() as u32;
        for word in [at.as_secs() as u32, at.subsec_nanos(), len, len] {
            self.0.write_all(&word.to_ne_bytes())?;
        }
        self.0.write_all(bytes)
    }

    /// Has readers of the file see all that was written. Errors: the system's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
