//! What only a switch with a P4 program is given and sends, as lines.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display, Write};

use bofuss_frame::Offload;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;
use bofuss_p4::Digest;

use super::words::{HexDigits, LineWords, bytes, choice};
use super::{RecordError, RecordedFrame, RecordedInput, RecordedOutput};
use crate::p4::P4Effect;

/// The word that begins the line of a switch with a P4 program.
const HEAD: &str = "p4";
/// The word for no CPU port.
const NOTHING: &str = "-";

/// The configuration of a switch with a P4 program: what is decided at its start and is no input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct P4RecordedConfig {
    /// The port whose frames are packet-ins of P4Runtime, and which has no interface.
    pub cpu_port: Option<u32>,
}

impl Display for P4RecordedConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cpu_port {
            Some(port) => write!(f, "{HEAD} {port}"),
            None => write!(f, "{HEAD} {NOTHING}"),
        }
    }
}

impl P4RecordedConfig {
    /// Reads a whole line; `None` if it is that of an OpenFlow switch. Errors: what is wrong with
    /// it.
    pub(super) fn read(line: &str) -> Option<Result<Self, RecordError>> {
        let rest = line.strip_prefix(HEAD)?.strip_prefix(' ')?;
        Some(Self::read_words(&mut LineWords(rest)))
    }

    fn read_words(words: &mut LineWords<'_>) -> Result<Self, RecordError> {
        let cpu_port = match words.0 {
            NOTHING => None,
            _ => {
                let port = words.number("port's number")?;
                words.end()?;
                Some(port)
            }
        };
        Ok(Self { cpu_port })
    }
}

/// One input of a switch with a P4 program, besides ports and their frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum P4Input {
    /// `program SEED fresh|kept P4INFO JSON`: another program runs from now on.
    Program {
        /// That of its random numbers.
        seed: u64,
        /// True if what controllers of P4Runtime wrote to the old program is written to it.
        keeps: bool,
        /// Its P4Info, as P4Runtime encodes it; empty without one.
        p4info: Vec<u8>,
        /// What p4c wrote, or a `P4DeviceConfig` with it.
        json: Vec<u8>,
    },
    /// `entries JSON`: an entries file is loaded.
    Entries(Vec<u8>),
    /// `command LINE`: an operator changes the switch, by one of [`bofuss_p4::Commands`].
    Command(Vec<u8>),
    /// `write REQUEST`: updates of a controller, as a WriteRequest of P4Runtime.
    Write(Vec<u8>),
    /// `packet-out PORT BYTES`: a controller has the program process a packet.
    PacketOut(u32, Vec<u8>),
    /// `hold PORT`: a port has no room, and packets for it wait.
    Hold(u32),
    /// `leave PORT COUNT`: a port has room for so many of those.
    Leave(u32, usize),
}

impl P4Input {
    /// Writes the words of an input.
    pub(super) fn write(&self, f: &mut String) -> fmt::Result {
        match self {
            Self::Program {
                seed,
                keeps,
                p4info,
                json,
            } => {
                let kept = if *keeps { "kept" } else { "fresh" };
                let (p4info, json) = (HexDigits(p4info), HexDigits(json));
                write!(f, "program {seed} {kept} {p4info} {json}")
            }
            Self::Entries(json) => write!(f, "entries {}", HexDigits(json)),
            Self::Command(line) => write!(f, "command {}", HexDigits(line)),
            Self::Write(request) => write!(f, "write {}", HexDigits(request)),
            Self::PacketOut(port, frame) => write!(f, "packet-out {port} {}", HexDigits(frame)),
            Self::Hold(port) => write!(f, "hold {port}"),
            Self::Leave(port, count) => write!(f, "leave {port} {count}"),
        }
    }

    /// Reads the words after the name of an input; `None` if it is none of these. Errors: what is
    /// wrong with them.
    pub(super) fn read(name: &str, words: &mut LineWords<'_>) -> Result<Option<Self>, RecordError> {
        Ok(Some(match name {
            "program" => Self::Program {
                seed: words.number("seed")?,
                keeps: choice(words, "kept", "fresh")?,
                p4info: bytes(words.next("P4Info")?)?,
                json: bytes(words.next("program")?)?,
            },
            "entries" => Self::Entries(bytes(words.next("entries")?)?),
            "command" => Self::Command(bytes(words.next("command")?)?),
            "write" => Self::Write(bytes(words.next("request")?)?),
            "packet-out" => {
                let port = words.number("port's number")?;
                Self::PacketOut(port, bytes(words.next("packet")?)?)
            }
            "hold" => Self::Hold(words.number("port's number")?),
            "leave" => {
                let port = words.number("port's number")?;
                Self::Leave(port, words.number("count")?)
            }
            _ => return Ok(None),
        }))
    }

    /// The bytes that it holds.
    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Self::Program { p4info, json, .. } => p4info.len() + json.len(),
            Self::Entries(held)
            | Self::Command(held)
            | Self::Write(held)
            | Self::PacketOut(_, held) => held.len(),
            Self::Hold(_) | Self::Leave(..) => 0,
        }
    }
}

impl From<P4Input> for RecordedInput {
    fn from(input: P4Input) -> Self {
        Self::P4(input)
    }
}

/// One output of a switch with a P4 program, besides frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum P4Output {
    /// `digest LIST VALUE...`: the program sends a digest; LIST is its number in the program.
    Digest(Digest),
    /// `log TEXT`: the program calls `log_msg`.
    Log(String),
    /// `refused NUMBER CODE`: an update of this input is refused, with a code of gRPC.
    Refused(usize, i32),
}

impl Display for P4Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digest(Digest { list, values }) => {
                write!(f, "digest {list}")?;
                values.iter().try_for_each(|value| write!(f, " {value}"))
            }
            // With escapes, it is one line.
            Self::Log(text) => write!(f, "log {text:?}"),
            Self::Refused(number, code) => write!(f, "refused {number} {code}"),
        }
    }
}

impl P4Output {
    /// About how many bytes it holds.
    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Self::Digest(digest) => size_of_val(&digest.values[..]),
            Self::Log(text) => text.len(),
            Self::Refused(..) => 0,
        }
    }
}

impl From<P4Effect> for RecordedOutput {
    /// The output of an effect. A frame has its priority in the place of its queue.
    fn from(effect: P4Effect) -> Self {
        match effect {
            P4Effect::Transmit(sent) => {
                let frame = RecordedFrame {
                    bytes: sent.frame,
                    omitted_bytes: 0,
                    offload: Offload::NONE,
                    tunnel_id: 0,
                };
                let queue = QueueId(sent.priority.into());
                Self::Frame(PortNo(sent.port), queue, frame)
            }
            P4Effect::Digest(digest) => Self::P4(P4Output::Digest(digest)),
            P4Effect::Log(text) => Self::P4(P4Output::Log(text)),
        }
    }
}
