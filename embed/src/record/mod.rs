//! Records of what a switch was given and what it did, as lines of text, and playing them.
//!
//! A [`Switch`](bofuss_agent::Switch) depends on nothing but its configuration, its inputs with
//! their times, and what it hears when it asks whether there is room. A record has these, and the
//! outputs; so whoever plays it finds the same outputs, or the first that is another. Batches of
//! frames, and slices of long work, are inputs of their own.
//!
//! ```text
//! bofuss-record 1                                   a run begins; `bofuss-record 1 headers` if
//!                                                   payload is left out, see FrameDetail
//! switch ID SECRET EPOCH PROFILE OPTIONS            its configuration, see RecordedConfig
//! TIME port OFFLOADS DESC                           an input, its time in nanoseconds
//! TIME frames PORT FRAME...
//! ? 3 8                                             the input's questions 3 and 8 were denied
//! ! pool                                            buffers were short
//! > frame PORT QUEUE FRAME                          what the input caused, in order
//! > message CONNECTION MESSAGE
//! ! lost 7                                          7 inputs are missing here
//! ! full                                            the file has no room for more of the run
//! end                                               the run ended as it should
//! ```
//!
//! DESC is a PORT_STATUS of OpenFlow 1.3, MESSAGE one or several whole messages in the version of
//! their connection, and FRAME the bytes of a frame, each in hexadecimal digits, or `-` for none.
//! `RecordedInput` lists all inputs, and `RecordedOutput` all outputs.

mod connections;
mod headers;
mod player;
mod reader;
mod text;
mod words;

use alloc::{boxed::Box, string::String, vec::Vec};
use core::fmt;

use bofuss_agent::{ConnId, FailMode};
use bofuss_datapath::{QueueSpec, Time};
use bofuss_frame::{Frame, Offload, OffloadCapabilities};
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::multipart::PortStats;
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{PortNo, Version};

pub use connections::RecordedConnections;
pub use headers::FrameDetail;
pub use player::{Answers, Player};
pub use reader::{Item, RecordReader, RecordedStep};

/// The line that begins a run; the number is that of the format.
pub const FIRST_LINE: &str = "bofuss-record 1";
/// The same of a run without payload.
const FIRST_HEADERS_LINE: &str = "bofuss-record 1 headers";
/// The line that ends a run.
pub const LAST_LINE: &str = "end";
/// The line that says that the file has no room for more of the run.
pub const FULL_LINE: &str = "! full";
/// What follows a line that was cut off when another run is appended to the file.
pub const CUT_MARK: &str = " !cut";

/// What decides what a switch does besides its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedConfig {
    /// The datapath id, `0x` and 16 digits in the text.
    pub datapath_id: u64,
    /// What its tables hash with.
    pub secret: u64,
    /// Nanoseconds from 1970 to the origin of its times.
    pub epoch_ns: u64,
    /// What its tables can do: replies to TABLE_FEATURES, in the version that their first byte
    /// says; empty for everything.
    pub profile: Vec<u8>,
    /// Its other options, in the words of whoever made it: one line.
    pub options: String,
}

/// The bytes of a frame and its offload record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFrame {
    /// From the address on, without FCS.
    pub bytes: Vec<u8>,
    /// How many more it had, which are not recorded.
    pub omitted_bytes: usize,
    /// What its sender left to others.
    pub offload: Offload,
}

impl From<&Frame> for RecordedFrame {
    /// All of a frame.
    fn from(frame: &Frame) -> Self {
        Self {
            bytes: frame.bytes().into(),
            omitted_bytes: 0,
            offload: frame.offload,
        }
    }
}

/// A configuration that a switch takes over, with the ports and queues that it will have.
#[derive(Clone, Debug)]
pub struct RecordedReconfiguration {
    /// The configuration.
    pub config: RecordedConfig,
    /// Its ports.
    pub ports: Vec<(PortDesc, OffloadCapabilities)>,
    /// Its queues.
    pub queues: Vec<(PortNo, QueueId, QueueSpec)>,
}

/// One input: a call of a [`Switch`](bofuss_agent::Switch).
#[derive(Clone, Debug)]
pub enum RecordedInput {
    /// `port OFFLOADS DESC`: a port appeared or changed. OFFLOADS is `-` or what it takes off the
    /// switch's hands, as `checksum,tcp,udp,vlan=2`.
    Port(Box<PortDesc>, OffloadCapabilities),
    /// `port-gone PORT`: a port went.
    PortGone(PortNo),
    /// `port-room PORT`: a port takes frames again.
    PortRoom(PortNo),
    /// `port-lost PORT RX_OVER RX_ERRORS TX_DROPPED TX_ERRORS`: what its driver lost.
    PortLost(PortNo, Box<PortStats>),
    /// `frames PORT FRAME...`: one batch. After the bytes of a frame may come `,omitted=BYTES` for
    /// those that are not recorded, `,checksum=START:AT`, `,gso=KIND:BYTES`, `,ecn` and
    /// `,fragment=BYTES`.
    Frames(PortNo, Vec<RecordedFrame>),
    /// `connect CONNECTION VERSION controller|tool`.
    Connect(ConnId, Version, bool),
    /// `peer CONNECTION URI`: where its peer is.
    Peer(ConnId, String),
    /// `connect CONNECTION beside MAIN ID stream|datagrams`: an auxiliary connection.
    ConnectBeside {
        /// The connection,
        conn: ConnId,
        /// the main one,
        main: ConnId,
        /// its auxiliary id,
        id: u8,
        /// and whether what is sent on it may be lost.
        datagrams: bool,
    },
    /// `disconnect CONNECTION`.
    Disconnect(ConnId),
    /// `message CONNECTION MESSAGE [HEAD]`: HEAD is what an ERROR quotes, if that is not the
    /// beginning of MESSAGE, as of what came in another form.
    Message {
        /// The connection.
        conn: ConnId,
        /// The message.
        bytes: Vec<u8>,
        /// What an ERROR quotes.
        head: Vec<u8>,
    },
    /// `wrong CONNECTION MESSAGE`: what came deserves this ERROR.
    Wrong(ConnId, Vec<u8>),
    /// `clock NANOSECONDS`: what the clock of scheduled commits says at time 0.
    Clock(u64),
    /// `work`: one slice of what waits.
    Work,
    /// `tick`: what is due is done.
    Tick,
    /// `fail-mode secure|standalone`.
    FailMode(FailMode),
    /// `queue PORT QUEUE SPEC`, SPEC as for `dpctl`: a queue is made or changed.
    Queue(PortNo, QueueId, QueueSpec),
    /// `queue-gone PORT QUEUE`.
    QueueGone(PortNo, QueueId),
    /// `reconfigure PORTS QUEUES ID SECRET EPOCH PROFILE OPTIONS`: PORTS is `-` or a list of
    /// `OFFLOADS:DESC` with `;` in between, QUEUES one of `PORT:QUEUE:SPEC`.
    Reconfigure(Box<RecordedReconfiguration>),
}

/// One output.
#[derive(Clone, Debug)]
pub enum RecordedOutput {
    /// `frame PORT QUEUE FRAME`: a frame leaves by a port, after it waited in a queue, or in 0.
    Frame(PortNo, QueueId, RecordedFrame),
    /// `message CONNECTION MESSAGE`.
    Message(ConnId, Vec<u8>),
    /// `unsaid CONNECTION NAME`: a message that the connection's version cannot say, or that is too
    /// long.
    Unsaid(ConnId, &'static str),
    /// `link PORT up|down`: a port's link is to be set.
    Link(PortNo, bool),
    /// `advertise PORT FEATURES`: what a port advertises is to be changed.
    Advertise(PortNo, PortFeatures),
}

/// An input with all that a record has of it.
#[derive(Clone, Debug)]
pub struct NotedStep {
    /// Its time.
    pub at: Time,
    /// What it is.
    pub input: RecordedInput,
    /// The numbers of the questions that were denied, ascending: the switch asks whether ports and
    /// connections have room, and whether links may be changed.
    pub denied: Vec<u32>,
    /// Whether buffers were short, so that what was dropped for want of them depends on more than
    /// the record has.
    pub pool_is_short: bool,
    /// What it caused.
    pub outputs: Vec<RecordedOutput>,
}

impl NotedStep {
    /// The bytes that it takes in memory, about.
    pub fn weight_bytes(&self) -> usize {
        let mut bytes = size_of::<Self>() + size_of_val(&self.denied[..]);
        if let RecordedInput::Frames(_, frames) = &self.input {
            let lengths = frames.iter().map(|frame| frame.bytes.len());
            bytes += lengths.sum::<usize>() + size_of_val(&frames[..]);
        } else if let RecordedInput::Message { bytes: held, .. } = &self.input {
            bytes += held.len();
        }
        for output in &self.outputs {
            bytes += size_of::<RecordedOutput>();
            if let RecordedOutput::Frame(_, _, RecordedFrame { bytes: held, .. })
            | RecordedOutput::Message(_, held) = output
            {
                bytes += held.len();
            }
        }
        bytes
    }
}

/// What is wrong with a record.
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
