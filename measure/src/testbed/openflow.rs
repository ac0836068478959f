//! A minimal controller: sends prepared bytes and counts replies.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::field::IN_PORT;
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::multipart::{FlowStatsRequest, RequestBody};
use bofuss_oflib::message::{
    Empty, FlowModCommand, Hello, MultipartRequest, PacketOut, SwitchConfig,
};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::{BufferId, MaxLen};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Catalogue, Codec, ExtValue, FieldMatch, Message, PortNo, Version};

use crate::error::{Error, Result};

/// The time to wait for a reply.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of an OpenFlow header.
const HEADER: usize = 8;
/// Bytes that are written before replies are read.
const CHUNK: usize = 1 << 16;

/// Types of messages, and the offsets of the flags and entries in a multipart reply.
const ECHO_REQUEST: u8 = 2;
const ECHO_REPLY: u8 = 3;
const MULTIPART_REPLY: u8 = 19;
const MULTIPART_FLAGS: usize = 11;
const MULTIPART_HEAD: usize = 16;
/// The offset of the match in an entry of flow statistics.
const MATCH_AT: usize = 48;
/// The OXM header of an exact UDP source port.
const UDP_SRC: [u8; 4] = [0x80, 0x00, 15 << 1, 2];

/// A connection to a switch.
pub struct Session {
    stream: TcpStream,
    /// The writing side, locked for a whole message.
    writer: Arc<Mutex<TcpStream>>,
    codec: Codec,
    /// Bytes that were read and not yet handled.
    pending: Vec<u8>,
}

fn failed(error: impl std::fmt::Display) -> Error {
    format!("OpenFlow connection: {error}").into()
}

/// Encoded messages.
pub fn encode(codec: &Codec, messages: impl IntoIterator<Item = Message>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        codec
            .encode(1, &message, &mut bytes)
            .expect("a flow-mod fits in a message");
    }
    bytes
}

/// The codec that both sides speak.
pub fn codec() -> Codec {
    Codec::new(Version::V1_3, Arc::new(bofuss_ext::catalogue()))
}

/// The flow-mods that add these entries.
///
/// Errors: the text that is no flow.
pub fn adds<T: AsRef<str>>(codec: &Codec, flows: impl IntoIterator<Item = T>) -> Result<Vec<u8>> {
    mods(&codec.catalogue, FlowModCommand::ADD, flows).map(|mods| encode(codec, mods))
}

/// Flow-mods from text.
///
/// Errors: the text that is no flow.
pub fn mods<T: AsRef<str>>(
    catalogue: &Catalogue,
    command: FlowModCommand,
    flows: impl IntoIterator<Item = T>,
) -> Result<Vec<Message>> {
    flows
        .into_iter()
        .map(|flow| {
            let parsed = parse_flow(flow.as_ref(), command, catalogue);
            Ok(Message::FlowMod(parsed.map_err(|e| e.to_string())?))
        })
        .collect()
}

/// A message of an extension, from text.
///
/// Errors: no extension has a message of that name, or the text is wrong.
pub fn extension(catalogue: &Catalogue, name: &str, text: &str) -> Result<Message> {
    let mut rows = catalogue.values(ExtKind::Message);
    match rows.find(|row| row.name == name) {
        Some(row) => Ok(Message::Experimenter(ExtValue::parse(
            row, text, catalogue,
        )?)),
        None => Err(format!("there is no message {name}").into()),
    }
}

fn lock(writer: &Mutex<TcpStream>) -> MutexGuard<'_, TcpStream> {
    writer.lock().expect("no holder panics")
}

/// Splits the bytes into parts of about [`CHUNK`] that end with a message.
fn whole_messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let mut at = 0;
        while let Some(header) = bytes.get(at..at + HEADER)
            && at < CHUNK
        {
            at += usize::from(u16::from_be_bytes([header[2], header[3]]));
        }
        let (part, rest) = bytes.split_at(at);
        bytes = rest;
        (at > 0).then_some(part)
    })
}

impl Session {
    /// Connects to a switch's TCP port on this machine, and exchanges HELLOs.
    ///
    /// Errors: the connection's.
    pub fn connect(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        let writer = stream.try_clone().map_err(failed)?;
        let mut this = Self {
            stream,
            writer: Arc::new(Mutex::new(writer)),
            codec: codec(),
            pending: Vec::new(),
        };
        let hello = Message::Hello(Hello::offering(&[Version::V1_3]));
        this.write(&encode(&this.codec.clone(), [hello]))?;
        this.read_until(|_, message| matches!(message, Message::Hello(_)).then_some(()))?;
        // Open vSwitch sends packet-ins to a controller that connected to it only after this.
        let config = SwitchConfig {
            flags: ConfigFlags(0),
            miss_send_len: MaxLen::NO_BUFFER,
        };
        this.write(&encode(&this.codec.clone(), [Message::SetConfig(config)]))?;
        Ok(this)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        lock(&self.writer).write_all(bytes).map_err(failed)
    }

    /// Reads messages until `look` returns a value; answers echo requests.
    fn read_until<T>(&mut self, mut look: impl FnMut(u32, &Message) -> Option<T>) -> Result<T> {
        let codec = self.codec.clone();
        self.walk(|bytes| {
            let (xid, message) = codec.decode(bytes).map_err(failed)?;
            Ok(look(xid, &message))
        })
    }

    /// The same with undecoded messages.
    fn walk<T>(&mut self, mut look: impl FnMut(&[u8]) -> Result<Option<T>>) -> Result<T> {
        let mut block = vec![0; CHUNK];
        loop {
            let mut at = 0;
            while let Some(header) = self.pending.get(at..at + HEADER) {
                let length = usize::from(u16::from_be_bytes([header[2], header[3]])).max(HEADER);
                let Some(bytes) = self.pending.get(at..at + length) else {
                    break;
                };
                at += length;
                if bytes[1] == ECHO_REQUEST {
                    let mut reply = bytes.to_vec();
                    reply[1] = ECHO_REPLY;
                    lock(&self.writer).write_all(&reply).map_err(failed)?;
                } else if let Some(found) = look(bytes)? {
                    self.pending.drain(..at);
                    return Ok(found);
                }
            }
            self.pending.drain(..at);
            match self.stream.read(&mut block) {
                Ok(0) => return Err(failed("the switch closed it")),
                Ok(count) => self.pending.extend_from_slice(&block[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Sends prepared changes and waits for the barrier. Returns the time.
    ///
    /// Errors: the first change that the switch refuses, or the connection's.
    pub fn change(&mut self, changes: &[u8]) -> Result<Duration> {
        let start = Instant::now();
        let barrier = encode(&self.codec, [Message::BarrierRequest(Empty)]);
        let writer = Arc::clone(&self.writer);
        let refused = std::thread::scope(|scope| {
            scope.spawn(move || {
                // Replies to echo requests may be sent in between.
                let mut parts = whole_messages(changes).chain([&barrier[..]]);
                parts.try_for_each(|part| lock(&writer).write_all(part))
            });
            self.read_until(|_, message| {
                if let Message::Error(error) = message {
                    Some(Some(error.error.to_string()))
                } else {
                    matches!(message, Message::BarrierReply(_)).then_some(None)
                }
            })
        })?;
        match refused {
            None => Ok(start.elapsed()),
            Some(error) => Err(format!("the switch answered {error}").into()),
        }
    }

    /// Requests the statistics of all flows. Returns their number, the sum of the UDP source ports
    /// in their matches, and the time. Replies are scanned, not decoded, because the switch is
    /// measured and not this side.
    ///
    /// Errors: the connection's.
    pub fn flow_stats(&mut self) -> Result<(usize, u64, Duration)> {
        let start = Instant::now();
        let body = RequestBody::Flow(FlowStatsRequest::all());
        let request = MultipartRequest { more: false, body };
        self.write(&encode(
            &self.codec.clone(),
            [Message::MultipartRequest(request)],
        ))?;
        let mut count = 0;
        let mut sum = 0;
        self.walk(|bytes| {
            if bytes[1] != MULTIPART_REPLY {
                return Ok(None);
            }
            let (head, mut entries) = bytes
                .split_at_checked(MULTIPART_HEAD)
                .ok_or("a reply is cut off")?;
            while let Some(length) = entries.first_chunk() {
                let length = usize::from(u16::from_be_bytes(*length));
                let entry = entries.get(..length).ok_or("an entry is cut off")?;
                sum += udp_source(entry).unwrap_or(0);
                count += 1;
                entries = &entries[length.max(1)..];
            }
            Ok((head[MULTIPART_FLAGS] & 1 == 0).then_some(()))
        })?;
        Ok((count, sum, start.elapsed()))
    }

    /// Answers packet-ins until `over` returns true: with `install`, by an entry for the packet's
    /// flow and the packet itself to port 2; otherwise only counts them. Returns how many came from
    /// ports 1 and 2.
    ///
    /// Errors: the connection's.
    pub fn react(&mut self, install: bool, over: &AtomicBool) -> Result<[u64; 2]> {
        let timeout = Some(Duration::from_millis(20));
        self.stream.set_read_timeout(timeout).map_err(failed)?;
        let mut counts = [0; 2];
        let mut block = vec![0; CHUNK];
        while !over.load(Relaxed) {
            match self.stream.read(&mut block) {
                Ok(0) => return Err(failed("the switch closed it")),
                Ok(read) => self.pending.extend_from_slice(&block[..read]),
                Err(_) => continue,
            }
            let mut answers = Vec::new();
            let mut at = 0;
            while let Some(header) = self.pending.get(at..at + HEADER) {
                let length = usize::from(u16::from_be_bytes([header[2], header[3]])).max(HEADER);
                let Some(bytes) = self.pending.get(at..at + length) else {
                    break;
                };
                at += length;
                let message = self.codec.decode(bytes).map_err(failed)?.1;
                if let Message::PacketIn(packet_in) = message {
                    let port = packet_in.fields.get(IN_PORT).map_or(0, FieldMatch::number);
                    match port {
                        2 => counts[1] += 1,
                        _ => counts[0] += 1,
                    }
                    if install {
                        answers.extend(answer(&self.codec, &packet_in.data.0)?);
                    }
                } else if let Message::EchoRequest(data) = message {
                    answers.extend(encode(&self.codec, [Message::EchoReply(data)]));
                }
            }
            self.pending.drain(..at);
            self.write(&answers)?;
        }
        let patience = Some(PATIENCE);
        self.stream.set_read_timeout(patience).map_err(failed)?;
        Ok(counts)
    }
}

/// The UDP source port that an entry in flow statistics matches.
fn udp_source(entry: &[u8]) -> Option<u64> {
    let [_, _, high, low, rest @ ..] = entry.get(MATCH_AT..)? else {
        return None;
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let mut fields = rest.get(..length.checked_sub(4)?)?;
    while let Some((header, rest)) = fields.split_first_chunk::<4>() {
        let (value, rest) = rest.split_at_checked(header[3].into())?;
        if *header == UDP_SRC {
            return Some(u16::from_be_bytes(value.try_into().ok()?).into());
        }
        fields = rest;
    }
    None
}

/// An entry for the flow of a UDP packet, and the packet sent on.
fn answer(codec: &Codec, packet: &[u8]) -> Result<Vec<u8>> {
    let Some(ports) = packet.get(34..38) else {
        return Ok(Vec::new());
    };
    let source = u16::from_be_bytes([ports[0], ports[1]]);
    let destination = u16::from_be_bytes([ports[2], ports[3]]);
    let flow = format!(
        "priority=20,in_port=1,{},actions=2",
        exact(source, destination)
    );
    let mut messages = mods(&codec.catalogue, FlowModCommand::ADD, [flow])?;
    messages.push(Message::PacketOut(PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNo(1),
        actions: vec![Action::output(PortNo(2))],
        data: Bytes(packet.into()),
        ..PacketOut::default()
    }));
    Ok(encode(codec, messages))
}

/// The match of one UDP flow from A to B.
pub fn exact(source: u16, destination: u16) -> String {
    use crate::testbed::net::{A_ADDRESS, B_ADDRESS};
    format!("udp,nw_src={A_ADDRESS},nw_dst={B_ADDRESS},tp_src={source},tp_dst={destination}")
}
