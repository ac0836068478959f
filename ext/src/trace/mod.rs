//! The trace of a packet, for people and programs: read from the switch's lines, printed as text or
//! JSON, drawn as a page or a picture. Also makes packets from text.

mod craft;
mod html;
mod names;
mod picture;
mod read;
mod text;

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

pub use bofuss_agent::trace::{ROWS, request};
pub use craft::{names_port, parse_packet};
pub use html::{Escaped, STYLE};
pub use names::PortNames;
pub use picture::Picture;

/// The version of [`Trace`]'s JSON. It grows when a key is removed or changes its meaning, but not
/// when one is added.
pub const VERSION: u32 = 1;

/// A packet's path through a switch. As JSON, `version` says what the other keys mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// [`VERSION`].
    pub version: u32,
    /// The packet that came in; `port` and `queue` are the ingress port and 0.
    pub packet: TracedFrame,
    /// Its fields, as a match.
    pub fields: String,
    /// The stages of its path, in order.
    pub stages: Vec<Stage>,
    /// The frames that left and where packets ended, in order.
    pub result: Vec<TraceEvent>,
    /// True if the trace was longer than one message, and is cut.
    pub cut: bool,
    /// Where frames of its flow are forwarded, as `by the switch: WHY`, if the kernel could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded: Option<String>,
}

/// A stage of the path: a table, the action set, or the arrival of a packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Its kind: `arrival`, `table` or `action_set`.
    pub kind: String,
    /// The number of the table, if it is a table.
    pub table: Option<u8>,
    /// The packet's fields as the table saw them, with metadata and fields of extensions; empty if
    /// an extension sent the packet elsewhere before the lookup.
    pub fields: String,
    /// The extensions that prepared the packet.
    pub extensions: Vec<Extension>,
    /// The reports of extensions before the lookup.
    #[serde(default)]
    pub before: Vec<TraceEvent>,
    /// The entry that the packet hit; in a table, `None` is a miss.
    pub won: Option<HitEntry>,
    /// The nearest entries that it did not hit.
    pub lost: Vec<LostEntry>,
    /// The events there.
    pub events: Vec<TraceEvent>,
}

/// An extension that acted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// The dependence of its effect: `Pure`, `Live`, `Branch` or `Unknown`.
    pub effect: String,
}

/// An entry that was hit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HitEntry {
    /// Its priority.
    pub priority: u16,
    /// Its cookie, in hexadecimal.
    pub cookie: String,
    /// Its match; empty for every packet.
    #[serde(rename = "match")]
    pub fields: String,
}

/// An entry that was not hit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LostEntry {
    /// Its priority.
    pub priority: u16,
    /// Its match.
    #[serde(rename = "match")]
    pub fields: String,
    /// The reason; empty if it matches, too, but the entry that won comes first.
    pub differs: Vec<FieldDifference>,
}

/// A field in which a packet differs from the match of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldDifference {
    /// The field as the entry has it: `tcp_dst=80`.
    pub wanted: String,
    /// The field as the packet has it; `None` if it has none.
    pub is: Option<String>,
    /// The wanted value; in hexadecimal, as are the next three.
    pub value: String,
    /// The bits that count.
    pub mask: String,
    /// The packet's value, or empty.
    pub packet: String,
    /// The bits that differ: all that count, if the packet has no such field.
    pub bits: String,
}

/// A frame that arrived or left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracedFrame {
    /// The port, by number or reserved name.
    pub port: String,
    /// The queue.
    pub queue: u32,
    /// Its length.
    pub bytes: usize,
    /// Its first bytes, in hexadecimal.
    pub hex: String,
    /// The tunnel by which it leaves, the field TUNNEL_ID; missing in JSON if it is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tunnel_id: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One thing that was done. As JSON, `what` names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum TraceEvent {
    /// The packet waits for its other fragments.
    Fragment,
    /// The packet goes through the egress tables, on its way to a port.
    Egress {
        /// The port.
        port: String,
    },
    /// An instruction of the entry.
    Instruction {
        /// As in a flow.
        text: String,
    },
    /// An action.
    Action {
        /// As in a flow.
        text: String,
    },
    /// An extension reports what it did.
    #[serde(rename = "said")]
    Reported {
        /// Its name.
        extension: String,
        /// Its report: a word and `name=value` for each fact, or a sentence.
        text: String,
        /// The facts, if it is not a sentence.
        facts: BTreeMap<String, String>,
    },
    /// A bucket of a group got the packet or a copy.
    Bucket {
        /// The group.
        group: String,
        /// Its type.
        #[serde(rename = "type")]
        ty: String,
        /// The bucket's place.
        bucket: String,
    },
    /// A meter saw the packet.
    Meter {
        /// The meter.
        meter: String,
        /// The band that applies, if a rate is exceeded.
        band: Option<String>,
    },
    /// NORMAL decided where the packet goes.
    Normal {
        /// The decision, in words.
        text: String,
    },
    /// A frame goes to a queue.
    Queue {
        /// The port.
        port: String,
        /// The queue.
        queue: String,
    },
    /// A further packet enters the tables, for example one that an extension made.
    In(TracedFrame),
    /// A frame leaves.
    Out(TracedFrame),
    /// The packet goes to the controllers.
    PacketIn {
        /// The reason.
        reason: String,
    },
    /// The packet, or a copy, ends here.
    Drop {
        /// The counter's name.
        reason: String,
        /// The same in words.
        meaning: String,
    },
}

impl TraceEvent {
    /// Returns true if the packet or a copy of it has ended or left with this.
    fn is_end(&self) -> bool {
        match self {
            Self::Out(_) | Self::PacketIn { .. } | Self::Drop { .. } | Self::Fragment => true,
            Self::Egress { .. }
            | Self::Instruction { .. }
            | Self::Action { .. }
            | Self::Reported { .. }
            | Self::In(_)
            | Self::Bucket { .. }
            | Self::Meter { .. }
            | Self::Normal { .. }
            | Self::Queue { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests;
