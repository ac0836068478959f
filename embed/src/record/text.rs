//! Writes inputs and outputs as lines, and reads inputs.

use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::fmt::{self, Display, Write};

use bofuss_agent::{ConnId, FailMode};
use bofuss_datapath::{QueueSpec, Time};
use bofuss_ext::queues;
use bofuss_oflib::message::error::ERROR_DATA_BYTES;
use bofuss_oflib::message::multipart::PortStats;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{PortNo, Version};

use super::words::{
    HexDigits, LineWords, bytes, choice, desc, end_list, list, number, offloads, shortened,
    write_desc, write_offloads,
};
use super::{
    NotedStep, P4Input, RecordError, RecordedConfig, RecordedFrame, RecordedInput, RecordedOutput,
    RecordedReconfiguration,
};

impl NotedStep {
    /// Writes its lines.
    pub fn write(&self, out: &mut String) {
        let _ = write!(out, "{} ", self.at.0);
        self.input.write(out);
        out.push('\n');
        if !self.denied.is_empty() {
            out.push('?');
            for number in &self.denied {
                let _ = write!(out, " {number}");
            }
            out.push('\n');
        }
        if self.pool_is_short {
            out.push_str("! pool\n");
        }
        for output in &self.outputs {
            let _ = writeln!(out, "> {output}");
        }
    }
}

impl Display for RecordedOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(port, queue, frame) => write!(f, "frame {} {} {frame}", port.0, queue.0),
            Self::Message(conn, bytes) => write!(f, "message {} {}", conn.0, HexDigits(bytes)),
            Self::Unsupported(conn, name) => write!(f, "unsaid {} {name}", conn.0),
            Self::Link(port, true) => write!(f, "link {} up", port.0),
            Self::Link(port, false) => write!(f, "link {} down", port.0),
            Self::Advertise(port, features) => write!(f, "advertise {} {}", port.0, features.0),
            Self::P4(output) => output.fmt(f),
        }
    }
}

impl RecordedInput {
    fn write(&self, out: &mut String) {
        // Writing into a string does not fail.
        let _ = match self {
            Self::Port(port, offloads) => {
                out.push_str("port ");
                write_offloads(offloads, out);
                out.push(' ');
                write_desc(port, out);
                Ok(())
            }
            Self::PortGone(port) => write!(out, "port-gone {}", port.0),
            Self::PortRoom(port) => write!(out, "port-room {}", port.0),
            Self::PortLost(port, lost) => write!(
                out,
                "port-lost {} {} {} {} {}",
                port.0, lost.rx_over_err, lost.rx_errors, lost.tx_dropped, lost.tx_errors
            ),
            Self::Frames(port, frames) => {
                let _ = write!(out, "frames {}", port.0);
                frames.iter().try_for_each(|frame| write!(out, " {frame}"))
            }
            Self::Connect(conn, version, true) => {
                write!(out, "connect {} {version} controller", conn.0)
            }
            Self::Connect(conn, version, false) => write!(out, "connect {} {version} tool", conn.0),
            Self::Peer(conn, uri) => write!(out, "peer {} {uri}", conn.0),
            Self::ConnectBeside {
                conn,
                main,
                id,
                datagrams,
            } => {
                let kind = if *datagrams { "datagrams" } else { "stream" };
                write!(out, "connect {} beside {} {id} {kind}", conn.0, main.0)
            }
            Self::Disconnect(conn) => write!(out, "disconnect {}", conn.0),
            Self::Message { conn, bytes, head } => {
                let _ = write!(out, "message {} {}", conn.0, HexDigits(bytes));
                if head[..] == *head_of(bytes) {
                    Ok(())
                } else {
                    write!(out, " {}", HexDigits(head))
                }
            }
            Self::Wrong(conn, bytes) => write!(out, "wrong {} {}", conn.0, HexDigits(bytes)),
            Self::Clock(nanos) => write!(out, "clock {nanos}"),
            Self::Work => write!(out, "work"),
            Self::Tick => write!(out, "tick"),
            Self::FailMode(mode) => write!(out, "fail-mode {mode}"),
            Self::ForgetAddresses => write!(out, "forget-addresses"),
            Self::Queue(port, queue, spec) => {
                write!(out, "queue {} {} {}", port.0, queue.0, queues::text(spec))
            }
            Self::QueueGone(port, queue) => write!(out, "queue-gone {} {}", port.0, queue.0),
            Self::Reconfigure(new) => {
                out.push_str("reconfigure ");
                new.write(out);
                Ok(())
            }
            Self::P4(input) => input.write(out),
        };
    }

    /// Reads a line: the time and the input. Errors: what is wrong with it.
    pub fn read(line: &str) -> Result<(Time, Self), RecordError> {
        let mut words = LineWords(line);
        let at = Time(words.number("time")?);
        let name = words.next("input")?;
        let input = Self::read_words(name, &mut words)?;
        words.end()?;
        Ok((at, input))
    }

    fn read_words(name: &str, words: &mut LineWords<'_>) -> Result<Self, RecordError> {
        Ok(match name {
            "port" => {
                let can = offloads(words.next("list of offloads")?)?;
                Self::Port(Box::new(desc(words.next("port's description")?)?), can)
            }
            "port-gone" => Self::PortGone(port(words)?),
            "port-room" => Self::PortRoom(port(words)?),
            "port-lost" => {
                let port = port(words)?;
                let lost = PortStats {
                    rx_over_err: words.number("count")?,
                    rx_errors: words.number("count")?,
                    tx_dropped: words.number("count")?,
                    tx_errors: words.number("count")?,
                    ..PortStats::default()
                };
                Self::PortLost(port, Box::new(lost))
            }
            "frames" => {
                let port = port(words)?;
                let mut frames: Vec<RecordedFrame> = Vec::new();
                while !words.0.is_empty() {
                    frames.push(words.next("frame")?.parse()?);
                }
                Self::Frames(port, frames)
            }
            "connect" => read_connect(words)?,
            "peer" => Self::Peer(conn(words)?, words.next("URI")?.into()),
            "disconnect" => Self::Disconnect(conn(words)?),
            "message" => {
                let conn = conn(words)?;
                let bytes = bytes(words.next("message")?)?;
                let head = if words.0.is_empty() {
                    head_of(&bytes).into()
                } else {
                    super::words::bytes(words.next("message's head")?)?
                };
                Self::Message { conn, bytes, head }
            }
            "wrong" => Self::Wrong(conn(words)?, bytes(words.next("ERROR")?)?),
            "clock" => Self::Clock(words.number("time")?),
            "work" => Self::Work,
            "tick" => Self::Tick,
            "fail-mode" => {
                let word = words.next("fail mode")?;
                let named = FailMode::NAMES.iter().find(|row| row.1 == word);
                let row = named.ok_or_else(|| format!("'{}' is no fail mode", shortened(word)))?;
                Self::FailMode(row.0)
            }
            "forget-addresses" => Self::ForgetAddresses,
            "queue" => {
                let port = port(words)?;
                let queue = QueueId(words.number("queue")?);
                Self::Queue(
                    port,
                    queue,
                    queues::parse(words.next("queue's description")?)?,
                )
            }
            "queue-gone" => Self::QueueGone(port(words)?, QueueId(words.number("queue")?)),
            "reconfigure" => Self::Reconfigure(Box::new(RecordedReconfiguration::read(words)?)),
            _ => {
                let of_p4 = P4Input::read(name, words)?;
                let unknown = || format!("'{}' is no input", shortened(name));
                Self::P4(of_p4.ok_or_else(unknown)?)
            }
        })
    }
}

/// The first bytes of a message, which an ERROR quotes.
fn head_of(message: &[u8]) -> &[u8] {
    &message[..message.len().min(ERROR_DATA_BYTES)]
}

fn port(words: &mut LineWords<'_>) -> Result<PortNo, RecordError> {
    words.number("port's number").map(PortNo)
}

fn conn(words: &mut LineWords<'_>) -> Result<ConnId, RecordError> {
    words.number("connection's number").map(ConnId)
}

fn read_connect(words: &mut LineWords<'_>) -> Result<RecordedInput, RecordError> {
    let id = conn(words)?;
    let word = words.next("version")?;
    if word == "beside" {
        let main = conn(words)?;
        let aux = words.number("auxiliary id")?;
        let datagrams = choice(words, "datagrams", "stream")?;
        return Ok(RecordedInput::ConnectBeside {
            conn: id,
            main,
            id: aux,
            datagrams,
        });
    }
    let mut versions = Version::ALL.iter();
    let version = versions
        .find(|version| format!("{version}") == word)
        .ok_or_else(|| format!("'{}' is no version", shortened(word)))?;
    let is_controller = choice(words, "controller", "tool")?;
    Ok(RecordedInput::Connect(id, *version, is_controller))
}

impl RecordedReconfiguration {
    fn write(&self, out: &mut String) {
        let begin = out.len();
        for (port, offloads) in &self.ports {
            write_offloads(offloads, out);
            out.push(':');
            write_desc(port, out);
            out.push(';');
        }
        end_list(begin, out);
        out.push(' ');
        let begin = out.len();
        for (port, queue, spec) in &self.queues {
            let _ = write!(out, "{}:{}:{};", port.0, queue.0, queues::text(spec));
        }
        end_list(begin, out);
        let _ = write!(out, " {}", self.config);
    }

    fn read(words: &mut LineWords<'_>) -> Result<Self, RecordError> {
        let mut ports = Vec::new();
        for item in list(words.next("list of ports")?) {
            let (can, port) = item.split_once(':').unwrap_or((item, ""));
            ports.push((desc(port)?, offloads(can)?));
        }
        let mut queues = Vec::new();
        for item in list(words.next("list of queues")?) {
            queues.push(read_queue(item)?);
        }
        let config = RecordedConfig::read(words)?;
        words.0 = "";
        Ok(Self {
            config,
            ports,
            queues,
        })
    }
}

fn read_queue(item: &str) -> Result<(PortNo, QueueId, QueueSpec), RecordError> {
    let (port, rest) = item.split_once(':').unwrap_or((item, ""));
    let (queue, spec) = rest.split_once(':').unwrap_or((rest, ""));
    let port = PortNo(number(port, "port's number")?);
    let queue = QueueId(number(queue, "queue")?);
    Ok((port, queue, queues::parse(spec)?))
}
