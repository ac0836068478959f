//! Records of a switch's inputs and outputs, as lines of text, and their replay.
//!
//! The behaviour of a [`Switch`](bofuss_agent::Switch) is determined by its configuration, its
//! inputs with their times, and the answers that it gets when it asks whether there is room. A
//! record has these and the outputs, so a replay has the same outputs, or shows the first that
//! differs. Each batch of frames and each slice of long work is one input.
//!
//! ```text
//! bofuss-record 1                                   a run begins; `bofuss-record 1 headers` if
//!                                                   payload is left out, see FrameDetail
//! switch ID SECRET EPOCH PROFILE OPTIONS            its configuration, see RecordedConfig; or
//! p4 CPU_PORT                                       of a switch with a P4 program
//! TIME port OFFLOADS DESC                           an input, its time in nanoseconds
//! TIME frames PORT FRAME...
//! ? 3 8                                             questions 3 and 8 of the input got a no
//! ! pool                                            the buffer pool was short
//! > frame PORT QUEUE FRAME                          what the input caused, in order
//! > message CONNECTION MESSAGE
//! ! lost 7                                          7 inputs are missing here
//! ! full                                            the file has no room for more of the run
//! end                                               the run ended normally
//! ```
//!
//! DESC is a PORT_STATUS of OpenFlow 1.3, or of 1.5 for a port without Ethernet. MESSAGE is a whole
//! message in the version of its connection, with all parts of a multipart; an output may have
//! several. FRAME is the bytes of a frame. Each is in hexadecimal digits, or `-` for none.
//! `RecordedInput` lists all inputs, and `RecordedOutput` all outputs.
//!
//! A [`Player`] plays runs of OpenFlow switches. Those of switches with a P4 program may contain
//! requests of P4Runtime, which only the daemon knows; its `bofuss replay` plays them.

mod connections;
mod headers;
mod p4;
mod player;
mod questions;
mod reader;
mod text;
mod words;

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use bofuss_agent::{ConnId, FailMode};
use bofuss_datapath::{QueueSpec, Time};
use bofuss_frame::{Frame, Offload, OffloadCapabilities};
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::multipart::PortStats;
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{ParseError, PortNo, Version};

pub use connections::RecordedConnections;
pub use headers::FrameDetail;
pub use p4::{P4Input, P4Output, P4RecordedConfig};
pub use player::{Answers, Player};
pub use questions::{AskedQuestions, Question};
pub use reader::{Item, RecordReader, RecordedStep};

/// The line that begins a run; the number is that of the format.
pub const FIRST_LINE: &str = "bofuss-record 1";
/// The same for a run without payload.
const FIRST_HEADERS_LINE: &str = "bofuss-record 1 headers";
/// The line that ends a run.
pub const LAST_LINE: &str = "end";
/// The line that says that the file has no room for more of the run.
pub const FULL_LINE: &str = "! full";
/// Ends a line that was cut off, where another run is appended to the file.
pub const CUT_MARK: &str = " !cut";

/// The configuration that, with the inputs, determines what a switch does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedConfig {
    /// The datapath id, `0x` and 16 digits in the text.
    pub datapath_id: u64,
    /// The secret of its hashes.
    pub secret: u64,
    /// Nanoseconds from 1970 to the origin of its times.
    pub epoch_ns: u64,
    /// The features of its tables: replies to TABLE_FEATURES, in the version that their first byte
    /// names; empty for all features.
    pub profile: Vec<u8>,
    /// Its other options, in the syntax of the program that made it: one line.
    pub options: String,
}

/// The bytes of a frame and its offload record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFrame {
    /// From the destination address on, without FCS.
    pub bytes: Vec<u8>,
    /// The number of further bytes, which are not recorded.
    pub omitted_bytes: usize,
    /// Its offload record: what its sender left to be done.
    pub offload: Offload,
    /// The tunnel by which it came in or leaves, or 0.
    pub tunnel_id: u64,
}

impl From<&Frame> for RecordedFrame {
    /// Records all bytes of a frame.
    fn from(frame: &Frame) -> Self {
        Self {
            bytes: frame.bytes().into(),
            omitted_bytes: 0,
            offload: frame.offload,
            tunnel_id: frame.tunnel_id,
        }
    }
}

/// A configuration that a switch takes over, with the ports and queues that it then has.
#[derive(Clone, Debug)]
pub struct RecordedReconfiguration {
    /// The configuration.
    pub config: RecordedConfig,
    /// Its ports.
    pub ports: Vec<(PortDesc, OffloadCapabilities)>,
    /// Its queues.
    pub queues: Vec<(PortNo, QueueId, QueueSpec)>,
}

/// One input: a call of a [`Switch`](bofuss_agent::Switch), or of a switch with a P4 program.
#[derive(Clone, Debug)]
pub enum RecordedInput {
    /// `port OFFLOADS DESC`: a port was added or changed. OFFLOADS is `-`, or the offloads that it
    /// does, as `checksum,tcp,udp,vlan=2`.
    Port(Box<PortDesc>, OffloadCapabilities),
    /// `port-gone PORT`: a port was removed.
    PortGone(PortNo),
    /// `port-room PORT`: a port accepts frames again.
    PortRoom(PortNo),
    /// `port-lost PORT RX_OVER RX_ERRORS TX_DROPPED TX_ERRORS`: what its driver lost.
    PortLost(PortNo, Box<PortStats>),
    /// `frames PORT FRAME...`: one batch. The bytes of a frame may be followed by `,omitted=BYTES`
    /// for those that are not recorded, by its offload record: `,checksum=START:AT`,
    /// `,gso=KIND:BYTES`, `,ecn` and `,fragment=BYTES`, and by `,tunnel=ID`.
    Frames(PortNo, Vec<RecordedFrame>),
    /// `connect CONNECTION VERSION controller|tool`.
    Connect(ConnId, Version, bool),
    /// `peer CONNECTION URI`: the address of its peer.
    Peer(ConnId, String),
    /// `connect CONNECTION beside MAIN ID stream|datagrams`: an auxiliary connection.
    ConnectBeside {
        /// The connection.
        conn: ConnId,
        /// The main connection.
        main: ConnId,
        /// Its auxiliary id.
        id: u8,
        /// True if what is sent on it may be lost.
        datagrams: bool,
    },
    /// `disconnect CONNECTION`.
    Disconnect(ConnId),
    /// `message CONNECTION MESSAGE [HEAD]`: HEAD is what an ERROR quotes, if that is not the
    /// beginning of MESSAGE, because the message arrived in another form.
    Message {
        /// The connection.
        conn: ConnId,
        /// The message.
        bytes: Vec<u8>,
        /// The bytes that an ERROR quotes.
        head: Vec<u8>,
    },
    /// `wrong CONNECTION MESSAGE`: what arrived is no message, and is answered with this ERROR.
    Wrong(ConnId, Vec<u8>),
    /// `clock NANOSECONDS`: what the clock of scheduled commits showed at time 0.
    Clock(u64),
    /// `work`: one slice of the work that waits.
    Work,
    /// `tick`: timers that are due are handled.
    Tick,
    /// `fail-mode secure|standalone`.
    FailMode(FailMode),
    /// `forget-addresses`: what NORMAL has learned is forgotten.
    ForgetAddresses,
    /// `queue PORT QUEUE SPEC`: a queue is made or changed; SPEC is as for `dpctl`.
    Queue(PortNo, QueueId, QueueSpec),
    /// `queue-gone PORT QUEUE`.
    QueueGone(PortNo, QueueId),
    /// `reconfigure PORTS QUEUES ID SECRET EPOCH PROFILE OPTIONS`: PORTS is `-` or a list of
    /// `OFFLOADS:DESC` with `;` in between, QUEUES one of `PORT:QUEUE:SPEC`.
    Reconfigure(Box<RecordedReconfiguration>),
    /// An input of a switch with a P4 program.
    P4(P4Input),
}

/// One output.
#[derive(Clone, Debug)]
pub enum RecordedOutput {
    /// `frame PORT QUEUE FRAME`: a frame leaves by a port; QUEUE is the queue that it waited in, or
    /// 0, and with a P4 program its priority.
    Frame(PortNo, QueueId, RecordedFrame),
    /// `message CONNECTION MESSAGE`.
    Message(ConnId, Vec<u8>),
    /// `unsaid CONNECTION NAME`: a message that the connection's version cannot express, or that is
    /// too long.
    Unsupported(ConnId, &'static str),
    /// `link PORT up|down`: a port's link has to be set.
    Link(PortNo, bool),
    /// `advertise PORT FEATURES`: what a port advertises has to be changed.
    Advertise(PortNo, PortFeatures),
    /// An output of a switch with a P4 program.
    P4(P4Output),
}

/// An input with its answers and outputs.
#[derive(Clone, Debug)]
pub struct NotedStep {
    /// Its time.
    pub at: Time,
    /// The input.
    pub input: RecordedInput,
    /// The numbers of the questions that were answered with no, ascending: the switch asks whether
    /// ports and connections have room, and whether links may be changed.
    pub denied: Vec<u32>,
    /// True if the buffer pool was short. Then it depends on more than the record has what was
    /// dropped for lack of buffers.
    pub pool_is_short: bool,
    /// The outputs that it caused.
    pub outputs: Vec<RecordedOutput>,
}

impl NotedStep {
    /// About how many bytes it takes in memory.
    pub fn weight_bytes(&self) -> usize {
        let mut bytes = size_of::<Self>() + size_of_val(&self.denied[..]);
        if let RecordedInput::Frames(_, frames) = &self.input {
            let lengths = frames.iter().map(|frame| frame.bytes.len());
            bytes += lengths.sum::<usize>() + size_of_val(&frames[..]);
        } else if let RecordedInput::Message { bytes: held, .. } = &self.input {
            bytes += held.len();
        } else if let RecordedInput::P4(input) = &self.input {
            bytes += input.held_bytes();
        }
        for output in &self.outputs {
            bytes += size_of::<RecordedOutput>();
            if let RecordedOutput::Frame(_, _, RecordedFrame { bytes: held, .. })
            | RecordedOutput::Message(_, held) = output
            {
                bytes += held.len();
            } else if let RecordedOutput::P4(output) = output {
                bytes += output.held_bytes();
            }
        }
        bytes
    }
}

/// The fault of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError(pub String);

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for RecordError {}

impl From<String> for RecordError {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<ParseError> for RecordError {
    fn from(error: ParseError) -> Self {
        Self(error.to_string())
    }
}
