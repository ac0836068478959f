//! Plays transcripts on a switch that is compiled of the core alone, and compares what it does.
//!
//! A transcript has what enters a switch and, in lines with `> `, what leaves it then: frames and
//! messages of OpenFlow 1.3 in hexadecimal. `ext/tests/core.rs` writes them from the scenarios, by
//! a switch that did as they say.
#![forbid(unsafe_code)]

use std::fmt::Write;
use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request, Switch, SwitchIo};
use bofuss_datapath::engine::PlainEngine;
use bofuss_datapath::{Algorithm, Config, Datapath, Engine, Time};
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::port::{PortFeatures, PortState};
use bofuss_oflib::message::{ErrorMsg, PortDesc};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Codec, Mac, Message, PortNo, Version};

/// Bytes of the switch's frame pool.
const POOL_BYTES: usize = 1 << 26;
/// The transaction id of all messages.
const XID: u32 = 7;

/// The transcript of what the core refuses and other switches do: a TABLE_FEATURES that gives table
/// 0 a name is answered with an error of type 13 (TABLE_FEATURES_FAILED) and code 5 (EPERM), and a
/// SET_CONFIG with FRAG_REASM with one of type 10 (SWITCH_CONFIG_FAILED) and code 0 (BAD_FLAGS); a
/// FLOW_MOD with an output to NORMAL with one of type 2 (BAD_ACTION) and code 4 (BAD_OUT_PORT). A
/// QUEUE_GET_CONFIG_REQUEST and a multipart QUEUE are answered with errors of type 1 (BAD_REQUEST),
/// and codes 1 (BAD_TYPE) and 2 (BAD_MULTIPART).
const REFUSED: &str = concat!(
    "switch 2 10 10 10 10 10 10 0 hash\n",
    "connect 1 1\n",
    "message 1 ",
    "0412005000000007000c0000000000000040000000000000",
    "61636c0000000000000000000000000000000000000000000000000000000000",
    "ffffffffffffffffffffffffffffffff000000000000000a\n",
    "> to 1 0401000c00000007000d0005\n",
    "message 1 0409000c0000000700020080\n",
    "> to 1 0401000c00000007000a0000\n",
    "message 1 ",
    "040e005000000007000000000000000000000000000000000000000000000001",
    "ffffffffffffffffffffffff000000000001000400000000",
    "000400180000000000000010fffffffaffff000000000000\n",
    "> to 1 0401000c0000000700020004\n",
    "message 1 0416001000000007ffffffff00000000\n",
    "> to 1 0401000c0000000700010001\n",
    "message 1 04120018000000070005000000000000ffffffffffffffff\n",
    "> to 1 0401000c0000000700010002\n",
);

/// The outputs of a switch, one line each.
struct Outputs {
    codec: Codec,
    lines: Vec<String>,
    may_change_links: bool,
}

impl SwitchIo for Outputs {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.lines
            .push(format!("out {} {}", port.0, hex(frame.bytes())));
    }
    fn flush(&mut self) {}
    fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        let mut bytes = Vec::new();
        let written = self.codec.encode(xid, &message, &mut bytes);
        let text = written.map_or_else(|error| format!("{error:?}"), |()| hex(&bytes));
        self.lines.push(format!("to {} {text}", conn.0));
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn may_change_links(&self) -> bool {
        self.may_change_links
    }
    fn advertise(&mut self, port: PortNo, features: PortFeatures) {
        self.lines
            .push(format!("advertise {} {}", port.0, features.0));
    }
    fn set_link(&mut self, port: PortNo, up: bool) {
        self.lines.push(format!("link {} {up}", port.0));
    }
}

/// A switch, its clock and its pool.
struct Player {
    switch: Switch<PlainEngine>,
    now: Time,
    pool: Pool,
    outputs: Outputs,
}

impl Player {
    /// The switch that the first line of a transcript describes, without ports.
    fn new(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let ["switch", numbers @ ..] = &words[..] else {
            return None;
        };
        let number = |at: usize| numbers.get(at)?.parse::<u32>().ok();
        let config = Config {
            n_tables: number(0)? as u8,
            max_entries: number(1)?,
            max_total_entries: number(2)?,
            max_groups: number(3)?,
            max_buckets: number(4)?,
            max_meters: number(5)?,
            max_bands: number(6)? as u8,
            select: algorithm(numbers.get(8)?)?,
            engine: Engine::Reference,
            ..Config::default()
        };
        let fail_mode = match number(7)? {
            0 => FailMode::Secure,
            _ => FailMode::Standalone,
        };
        let catalogue = Arc::new(Catalogue::default());
        let pool = Pool::new(POOL_BYTES);
        let datapath = Datapath::new(config, catalogue.clone(), pool.clone());
        Some(Self {
            switch: Switch::new(Time(0), datapath, Identity::default(), fail_mode),
            now: Time(0),
            pool,
            outputs: Outputs {
                codec: Codec::new(Version::V1_3, catalogue),
                lines: Vec::new(),
                may_change_links: true,
            },
        })
    }

    /// Gives the switch an input. Returns `None` if the line is none.
    fn play(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        let port = || Some(PortNo(number(1)? as u32));
        let conn = |at| Some(ConnId(number(at)?));
        let io = &mut self.outputs;
        match *words.first()? {
            "lock" => io.may_change_links = false,
            "at" => self.now = Time(number(1)?),
            "port" => {
                let desc = PortDesc {
                    port_no: port()?,
                    hw_addr: Mac([2, 1, 0, 0, 0, number(1)? as u8]),
                    state: PortState(number(2)? as u32),
                    curr_speed: number(3)? as u32,
                    max_speed: number(3)? as u32,
                    supported: PortFeatures(number(4)? as u32),
                    ..PortDesc::default()
                };
                let capabilities = OffloadCapabilities::default();
                self.switch
                    .ports(self.now, io, |ports| ports.changed(desc, capabilities));
            }
            "unplug" => {
                let port = port()?;
                self.switch.ports(self.now, io, |ports| ports.removed(port));
            }
            "connect" => {
                let is_controller = number(2)? == 1;
                self.switch
                    .connected(self.now, conn(1)?, Version::V1_3, is_controller);
            }
            "beside" => {
                let id = number(3)? as u8;
                let is_there =
                    self.switch
                        .connected_auxiliary(conn(1)?, conn(2)?, id, number(4)? == 1);
                io.lines.push(format!("beside {is_there}"));
            }
            "disconnect" => self.switch.disconnected(self.now, conn(1)?),
            "message" => {
                let bytes = bytes(words.get(2)?)?;
                let read = io.codec.decode(&bytes).map(|(_, message)| message);
                let request = Request {
                    xid: XID,
                    head: &[],
                    message: read.map_err(|error| ErrorMsg::quoting(error.error, &[])),
                };
                self.switch.message(self.now, conn(1)?, request, io);
            }
            "frame" => {
                let frame = self.pool.frame(&bytes(words.get(2)?)?)?;
                self.switch.receive(self.now, port()?, &mut vec![frame], io);
            }
            "work" => {
                while self.switch.has_work(io) {
                    self.switch.work(self.now, io);
                }
            }
            "tick" => self.switch.tick(self.now, io),
            _ => return None,
        }
        Some(())
    }
}

/// The algorithm of select groups that a transcript names.
fn algorithm(name: &str) -> Option<Algorithm> {
    match name {
        "hash" => Some(Algorithm::Hash),
        "round-robin" => Some(Algorithm::RoundRobin),
        "random" => Some(Algorithm::Random),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a string takes everything");
    }
    text
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = (0..digits.len())
        .step_by(2)
        .map(|at| digits.get(at..at + 2));
    pairs
        .map(|pair| u8::from_str_radix(pair?, 16).ok())
        .collect()
}

/// Requests of the ONF's about bundles, their features and flow monitors, which are features of
/// `agent`. The core answers each as that of any experimenter that it does not know, and goes on.
const UNKNOWN: &str = "switch 2 9 9 9 9 9 9 0 hash
connect 1 1
message 1 04040018000000074f4e4600000008fc0000000100000002
> to 1 0401000c0000000700010003
message 1 04040020000000074f4e4600000008fd00000001000000020414000800000007
> to 1 0401000c0000000700010003
message 1 0412002000000007ffff0000000000004f4e460000000d480000000100000000
> to 1 0401000c0000000700010003
message 1 0412002800000007ffff0000000000004f4e46000000074e00000009003f00000000000301000000
> to 1 0401000c0000000700010003
message 1 0414000800000007
> to 1 0415000800000007
";

/// Plays a transcript. Returns how many inputs it has. Errors: the line, and what leaves instead.
fn play(text: &str) -> Result<usize, String> {
    let mut lines = text.lines().zip(1..).peekable();
    let (first, _) = lines.next().unwrap_or_default();
    let mut player = Player::new(first).ok_or("1: no switch")?;
    let mut inputs = 0;
    while let Some((line, number)) = lines.next() {
        player.outputs.lines.clear();
        player.play(line).ok_or(format!("{number}: {line}"))?;
        let mut wanted = Vec::new();
        while let Some((output, _)) = lines.next_if(|(line, _)| line.starts_with("> ")) {
            wanted.push(&output[2..]);
        }
        let did = &player.outputs.lines;
        if *did != wanted {
            return Err(format!("{number}: {line}: {did:#?}, and not {wanted:#?}"));
        }
        inputs += 1;
    }
    Ok(inputs)
}

/// Plays [`UNKNOWN`], [`REFUSED`] and all transcripts of a folder. Errors: a transcript that plays
/// otherwise.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: bofuss-core FOLDER")?;
    play(UNKNOWN).map_err(|error| format!("what the core does not know:{error}"))?;
    play(REFUSED).map_err(|error| format!("what the core refuses:{error}"))?;
    let mut transcripts = 0;
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let text = std::fs::read_to_string(&path)?;
        inputs += play(&text).map_err(|error| format!("{}:{error}", path.display()))?;
        transcripts += 1;
    }
    println!("core: {transcripts} transcripts with {inputs} inputs");
    if inputs == 0 {
        return Err("there are no transcripts".into());
    }
    Ok(())
}
