//! A port on capture files: one is received, the other records what is transmitted.

use std::{io, os::fd::BorrowedFd, path::Path, time::SystemTime};

use bofuss_frame::{Frame, MAX_FRAME_BYTES, Pool};

use crate::{
    CaptureFile, CaptureSource, Counters, Direction, DriverDropReason, LinkType,
    OffloadCapabilities, OpenError, PortDriver, PortError, capture::CaptureReader,
};

/// A port that receives the frames of one capture file, as fast as it is asked, and records to
/// another, until that cannot be written.
pub struct PcapFile {
    input: Option<CaptureReader>,
    output: Option<CaptureFile>,
    /// The packet that was read last.
    packet: Vec<u8>,
    counters: Counters,
}

impl PcapFile {
    /// Opens the file to receive, pcap or pcapng, and creates the file to record to; either may be
    /// absent.
    ///
    /// Errors: [`OpenError::Io`] with the file's name, also for a file that is not an Ethernet
    /// capture.
    pub fn open(input: Option<&Path>, output: Option<&Path>) -> Result<Self, OpenError> {
        let mut port = Self {
            input: None,
            output: None,
            packet: Vec::new(),
            counters: Counters::default(),
        };
        if let Some(path) = input {
            let opened = CaptureReader::open(path);
            port.input = Some(opened.map_err(|e| failed(path, "reading the capture", e))?);
        }
        if let Some(path) = output {
            let created = create(path);
            port.output = Some(created.map_err(|e| failed(path, "creating the capture", e))?);
        }
        Ok(port)
    }

    /// Returns true if every frame of the file has been received.
    pub fn at_end(&self) -> bool {
        self.input.is_none()
    }

    /// Reads one frame to the end of `out`, or counts why not; `false` at the end of the file.
    fn read(&mut self, pool: &Pool, out: &mut Vec<Frame>) -> io::Result<bool> {
        let Some(input) = &mut self.input else {
            return Ok(false);
        };
        let found = input.next(&mut self.packet);
        if !matches!(found, Ok(Some(_))) {
            self.input = None;
            return found.map(|_| false);
        }
        let len = self.packet.len();
        if len == 0 {
            self.counters.drop_some(DriverDropReason::RxNotEthernet, 1);
            return Ok(true);
        }
        let reason = match pool.frame(&self.packet) {
            Some(frame) => {
                self.counters.received(len);
                out.push(frame);
                return Ok(true);
            }
            None if len > MAX_FRAME_BYTES => DriverDropReason::RxTooLong,
            None => DriverDropReason::RxNoBuffer,
        };
        self.counters.drop_some(reason, 1);
        Ok(true)
    }
}

fn failed(path: &Path, action: &'static str, source: io::Error) -> OpenError {
    OpenError::Io {
        name: path.display().to_string(),
        action,
        source,
    }
}

fn create(path: &Path) -> io::Result<CaptureFile> {
    let mut file = CaptureFile::create(path, LinkType::Ethernet)?;
    let source = CaptureSource {
        name: path.display().to_string(),
        link_type: LinkType::Ethernet,
        comment: "what a switch sent to this port".into(),
    };
    file.add_source(&source)?;
    Ok(file)
}

impl PortDriver for PcapFile {
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
                .drop_some(DriverDropReason::TxLinkDown, frames.len() as u64);
            frames.clear();
            return Ok(0);
        };
        let now = SystemTime::now();
        let mut each = frames.iter();
        let written = each.try_for_each(|frame| file.write(0, now, Direction::Out, frame.bytes()));
        // Whoever looks at the file sees whole batches.
        if let Err(error) = written.and_then(|()| file.flush()) {
            // After what may be a part of a packet, nothing more can be read.
            self.output = None;
            self.counters
                .drop_some(DriverDropReason::TxRefused, frames.len() as u64);
            frames.clear();
            return Err(error.into());
        }
        let sent = frames.len();
        for frame in frames.drain(..) {
            self.counters.sent(frame.len());
        }
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        self.counters
    }

    fn capabilities(&self) -> OffloadCapabilities {
        OffloadCapabilities::default()
    }

    fn is_drained(&self) -> bool {
        self.at_end()
    }

    fn set_mtu(&mut self, _mtu_bytes: u32) {}
}
