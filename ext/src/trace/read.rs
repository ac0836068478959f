//! Reads a trace from the lines that a switch sends.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use bofuss_agent::Switch;
use bofuss_agent::trace::request;
use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{DropReason, Time};
use bofuss_oflib::text::items;
use bofuss_oflib::{ParseError, PortNo};

use super::{
    Extension, FieldDifference, HitEntry, LostEntry, Stage, Trace, TraceEvent, TracedFrame, VERSION,
};

impl Trace {
    /// Asks a switch what it would do with a frame that comes by a tunnel, or 0. Errors: the frame
    /// cannot be traced on this port.
    pub fn of<E: FrameEngine>(
        switch: &mut Switch<E>,
        now: Time,
        in_port: PortNo,
        tunnel_id: u64,
        frame: &[u8],
    ) -> Result<Self, ParseError> {
        let reply = switch
            .trace(now, &request(in_port, frame), tunnel_id)
            .map_err(|error| format!("this packet on port {in_port}: {error}"))?;
        Self::read(&String::from_utf8_lossy(&reply.data.0))
    }

    /// Reads the lines of a trace. Errors: the first line that is not one.
    pub fn read(text: &str) -> Result<Self, ParseError> {
        let mut lines = text.lines();
        let first: Vec<&str> = lines.next().unwrap_or("").split('\t').collect();
        let ["in", port, fields, bytes, hex] = first[..] else {
            return Err("this is no trace: it does not begin with the packet".into());
        };
        let mut this = Self {
            version: VERSION,
            packet: frame(port, "0", bytes, hex).ok_or("this is no trace: a wrong length")?,
            fields: fields.into(),
            stages: Vec::new(),
            result: Vec::new(),
            cut: !text.ends_with('\n'),
            forwarded: None,
        };
        for (at, line) in lines.enumerate() {
            let words: Vec<&str> = line.split('\t').collect();
            match this.take(&words) {
                Some(()) => {}
                None if this.cut => break,
                None => {
                    return Err(format!("line {} of the trace is unknown: {line}", at + 2).into());
                }
            }
        }
        let events = this.stages.iter().flat_map(|stage| &stage.events);
        this.result = events.filter(|event| event.is_end()).cloned().collect();
        Ok(this)
    }

    /// Returns true if a table was entered and not looked up yet.
    fn is_before_lookup(&self) -> bool {
        let last = self.stages.last();
        last.is_some_and(|stage| stage.table.is_some() && stage.fields.is_empty())
    }

    /// Adds what the words of a line say; `None` if the line is unknown.
    fn take(&mut self, words: &[&str]) -> Option<()> {
        match *words {
            ["enter", table] => self.stages.push(Stage {
                kind: "table".into(),
                table: Some(table.parse().ok()?),
                ..Stage::default()
            }),
            ["hook", name, effect] => self.stages.last_mut()?.extensions.push(Extension {
                name: name.into(),
                effect: effect.into(),
            }),
            ["says", name, text] if self.is_before_lookup() => {
                self.stages.last_mut()?.before.push(said(name, text));
            }
            ["table", table, fields] => {
                if !self.is_before_lookup() {
                    self.take(&["enter", table])?;
                }
                self.stages.last_mut()?.fields = fields.into();
            }
            ["in", port, fields, bytes, hex] => {
                let frame = frame(port, "0", bytes, hex)?;
                self.stages.push(Stage {
                    kind: "arrival".into(),
                    fields: fields.into(),
                    events: [TraceEvent::In(frame)].into(),
                    ..Stage::default()
                });
            }
            ["set"] => self.stages.push(Stage {
                kind: "action_set".into(),
                ..Stage::default()
            }),
            ["won", priority, cookie, fields] => {
                self.stages.last_mut()?.won = Some(HitEntry {
                    priority: priority.parse().ok()?,
                    cookie: cookie.into(),
                    fields: fields.into(),
                });
            }
            ["lost", priority, fields] => self.stages.last_mut()?.lost.push(LostEntry {
                priority: priority.parse().ok()?,
                fields: fields.into(),
                differs: Vec::new(),
            }),
            ["differs", wanted, is, value, mask, packet] => {
                let lost = self.stages.last_mut()?.lost.last_mut()?;
                lost.differs
                    .push(differs([wanted, is, value, mask, packet])?);
            }
            _ => {
                let event = event(words)?;
                if self.stages.is_empty() {
                    self.stages.push(Stage {
                        kind: "arrival".into(),
                        ..Stage::default()
                    });
                }
                self.stages.last_mut()?.events.push(event);
            }
        }
        Some(())
    }
}

/// The report of an extension: a word and `name=value` for each fact, or a sentence.
fn said(extension: &str, text: &str) -> TraceEvent {
    let facts = text.split_once(' ').map_or("", |(_, facts)| facts);
    let pairs: Option<BTreeMap<String, String>> = items(facts)
        .map(|item| {
            item.split_once('=')
                .map(|(name, value)| (name.into(), value.into()))
        })
        .collect();
    TraceEvent::Reported {
        extension: extension.into(),
        text: text.into(),
        facts: pairs.unwrap_or_default(),
    }
}

fn event(words: &[&str]) -> Option<TraceEvent> {
    Some(match *words {
        ["says", name, text] => said(name, text),
        ["fragment"] => TraceEvent::Fragment,
        ["egress", port] => TraceEvent::Egress { port: port.into() },
        ["do", text] => TraceEvent::Instruction { text: text.into() },
        ["action", text] => TraceEvent::Action { text: text.into() },
        ["bucket", group, ty, bucket] => TraceEvent::Bucket {
            group: group.into(),
            ty: ty.into(),
            bucket: bucket.into(),
        },
        ["meter", meter, band] => TraceEvent::Meter {
            meter: meter.into(),
            band: (!band.is_empty()).then(|| band.into()),
        },
        ["normal", text] => TraceEvent::Normal { text: text.into() },
        ["queue", port, queue] => TraceEvent::Queue {
            port: port.into(),
            queue: queue.into(),
        },
        ["out", port, queue, bytes, hex, ref tunnel @ ..] => TraceEvent::Out(TracedFrame {
            tunnel_id: match *tunnel {
                [] => 0,
                [id] => id.parse().ok()?,
                _ => return None,
            },
            ..frame(port, queue, bytes, hex)?
        }),
        ["controllers", reason] => TraceEvent::PacketIn {
            reason: reason.into(),
        },
        ["drop", name] => TraceEvent::Drop {
            reason: name.into(),
            meaning: DropReason::ALL
                .iter()
                .find(|r| r.name() == name)?
                .meaning()
                .into(),
        },
        _ => return None,
    })
}

fn frame(port: &str, queue: &str, bytes: &str, hex: &str) -> Option<TracedFrame> {
    Some(TracedFrame {
        port: port.into(),
        queue: queue.parse().ok()?,
        bytes: bytes.parse().ok()?,
        hex: hex.into(),
        tunnel_id: 0,
    })
}

fn differs([wanted, is, value, mask, packet]: [&str; 5]) -> Option<FieldDifference> {
    let bits = match number(packet) {
        Some(packet) => (number(value)? ^ packet) & number(mask)?,
        None => number(mask)?,
    };
    Some(FieldDifference {
        wanted: wanted.into(),
        is: (!packet.is_empty()).then(|| is.into()),
        value: value.into(),
        mask: mask.into(),
        packet: packet.into(),
        bits: format!("{bits:#x}"),
    })
}

/// Reads a hexadecimal number after `0x`.
pub(super) fn number(text: &str) -> Option<u128> {
    u128::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
