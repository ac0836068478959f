//! The keys of a scenario's text, as structures that `serde` reads.

use std::collections::BTreeMap;

use bofuss_oflib::Version;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::link::Bursts;
use crate::traffic::TrafficRow;

/// The keys of a topology, with the places of their values.
pub type TopologyTable = BTreeMap<String, Spanned<toml::Value>>;

/// A scenario as it is written. Times are in seconds unless the key says otherwise.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Seed of every random choice.
    #[serde(default = "one")]
    pub seed: u64,
    /// The time at which the run ends.
    pub end: Spanned<f64>,
    /// The order of frames that arrive at the same time on several links.
    #[serde(default)]
    pub ties: Ties,
    /// The most events; a run with more ends with an error.
    pub max_events: Option<Spanned<u64>>,
    /// The most bytes of buffers for all frames together.
    pub pool_bytes: Option<Spanned<usize>>,
    /// True if all hosts know each other's Ethernet addresses from the start.
    #[serde(default)]
    pub known_addresses: bool,
    /// A topology, made from a few numbers or read from a file.
    pub topology: Option<Spanned<TopologyTable>>,
    /// The defaults of links, switches and hosts.
    #[serde(default)]
    pub defaults: Defaults,
    /// Switches, or properties of those of the topology.
    #[serde(default, rename = "switch")]
    pub switches: Vec<Spanned<SwitchRow>>,
    /// Hosts, or properties of those of the topology.
    #[serde(default, rename = "host")]
    pub hosts: Vec<Spanned<HostRow>>,
    /// Links, or properties of those that there are already.
    #[serde(default, rename = "link")]
    pub links: Vec<Spanned<LinkRow>>,
    /// Controllers.
    #[serde(default, rename = "controller")]
    pub controllers: Vec<Spanned<ControllerRow>>,
    /// The traffic of hosts.
    #[serde(default)]
    pub traffic: Vec<Spanned<TrafficRow>>,
    /// Planned changes.
    #[serde(default, rename = "change")]
    pub changes: Vec<Spanned<ChangeRow>>,
    /// The assertions, which have to hold at the end.
    #[serde(default, rename = "assert")]
    pub assertions: Vec<Spanned<AssertionRow>>,
}

/// The order of events at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// That in which they were caused, so that the first of several equal ways always wins.
    #[default]
    Order,
    /// A random one, by the seed.
    Random,
}

/// The defaults of links, switches and hosts.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// Of links: all but ends and name.
    pub link: Option<Spanned<LinkRow>>,
    /// Of switches of OpenFlow: all but name, datapath id and flows.
    #[serde(default)]
    pub switch: SwitchRow,
    /// The longest IP packet that hosts send, in bytes.
    pub mtu: Option<Spanned<u16>>,
}

/// A link. Missing keys are as in the defaults, and keys missing there as in
/// [`LinkConfig`](crate::LinkConfig).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkRow {
    /// Its ends: nodes, perhaps with a port as in `s1:3`. If there are links between such nodes
    /// already, the row is about those; in their names, `*` stands for any characters.
    pub ends: Option<Spanned<Ends>>,
    /// Its name; if missing, the names of its ends with a `-` in between.
    pub name: Option<Spanned<String>>,
    /// Megabits per second; with `inf`, sending a frame takes no time.
    pub mbps: Option<Spanned<f64>>,
    /// Microseconds from the end of sending to the arrival.
    pub delay_us: Option<f64>,
    /// The most frames that wait at each end.
    pub queue: Option<u32>,
    /// The most bytes that wait at each end.
    pub queue_bytes: Option<u64>,
    /// Frames that wait at an end above which further ones are marked (ECN).
    pub mark: Option<u32>,
    /// The most microseconds by which a frame is late at random, in order.
    pub jitter_us: Option<f64>,
    /// Bursts of losses: the shares of frames at which they begin and end, and that they lose.
    pub bursts: Option<Bursts>,
    /// The share of frames that are lost at random, 0 to 1.
    pub loss: Option<f64>,
    /// Bytes that each frame takes in addition to its own: on an Ethernet wire, 24.
    pub overhead: Option<u32>,
}

/// The two ends of a link.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Ends(pub String, pub String);

impl TryFrom<Vec<String>> for Ends {
    type Error = String;

    fn try_from(nodes: Vec<String>) -> Result<Self, String> {
        let [first, second]: [String; 2] = nodes
            .try_into()
            .map_err(|nodes: Vec<_>| format!("ends: a link has 2, and not {}", nodes.len()))?;
        Ok(Self(first, second))
    }
}

/// A switch. Missing keys are as in the defaults.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchRow {
    /// Its name. If there are such switches already, the row is about those; `*` stands for any
    /// characters.
    pub name: Option<Spanned<String>>,
    /// Its datapath id; if missing, its number among the switches, from 1.
    pub dpid: Option<Spanned<u64>>,
    /// The fail mode, by which it acts without a controller: `secure`, `standalone` or `arp-path`.
    pub fail_mode: Option<Spanned<String>>,
    /// The number of tables that it has.
    pub tables: Option<Spanned<u8>>,
    /// The engine, by which packets find their entries: `reference`, `tables` or `cache`.
    pub engine: Option<Spanned<String>>,
    /// The algorithm of select groups: `hash`, `round-robin` or `random`.
    pub select: Option<Spanned<String>>,
    /// The discipline of ports with queues, as `hfair`.
    pub discipline: Option<Spanned<String>>,
    /// The file of a P4 program, as p4c compiles it. Such a switch has of the other keys only
    /// `name`, `entries` and `queues`.
    pub p4: Option<Spanned<String>>,
    /// The file of the program's entries, in the form of the P4 tutorials' runtime files.
    pub entries: Option<Spanned<String>>,
    /// Whether packets of the program wait before egress, by priority, while a link is busy.
    pub queues: Option<Spanned<bool>>,
    /// Entries, groups, meters and queues that it has from the start, one a line, as [`parse_rule`]
    /// reads them.
    ///
    /// [`parse_rule`]: super::parse_rule
    #[serde(default)]
    pub flows: Vec<Spanned<String>>,
}

/// A host. The defaults of host number `n` of a scenario are the addresses 10.0.0.0 + `n`,
/// fd00:: + `n` and 02:00:00:00:00:00 + `n`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRow {
    /// Its name.
    pub name: Spanned<String>,
    /// The switch to which it has a link.
    pub switch: Option<Spanned<String>>,
    /// Its Ethernet address.
    pub mac: Option<Spanned<String>>,
    /// Its IPv4 address, with the prefix's length after a slash.
    pub ip: Option<Spanned<String>>,
    /// Its IPv6 address, likewise.
    pub ip6: Option<Spanned<String>>,
    /// The longest IP packet that it sends, in bytes.
    pub mtu: Option<Spanned<u16>>,
}

/// A controller.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerRow {
    /// Its name.
    pub name: Spanned<String>,
    /// Its kind: `learning`, `shortest-path`, `ecmp`, `rules`, or a kind from outside of the
    /// simulator, such as `tcp`.
    pub kind: Spanned<String>,
    /// The address of a controller of kind `tcp`.
    pub address: Option<String>,
    /// The file with the class of a controller of kind `python`.
    pub file: Option<Spanned<String>>,
    /// Its switches; `*` stands for any characters.
    #[serde(default = "all")]
    pub switches: Vec<Spanned<String>>,
    /// Microseconds that a message takes in each direction.
    #[serde(default)]
    pub delay_us: f64,
    /// The version that it speaks, one of [`Version::SPOKEN`]; 1.3 if missing. A controller from
    /// outside agrees on one itself.
    #[serde(default = "usual", deserialize_with = "version")]
    pub version: Version,
    /// The time at which it connects.
    #[serde(default)]
    pub start: f64,
    /// The messages that a controller of the kind `rules` sends to each of its switches.
    #[serde(default)]
    pub flows: Vec<Spanned<String>>,
}

/// A planned change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeRow {
    /// The time of it.
    pub at: f64,
    /// The link that changes,
    pub link: Option<Spanned<String>>,
    /// the controller whose connections change,
    pub controller: Option<Spanned<String>>,
    /// or the host that moves.
    pub host: Option<Spanned<String>>,
    /// The switches of the controller that are meant, where `*` stands for any characters; if
    /// missing, all.
    pub switch: Option<Spanned<String>>,
    /// Of a link or connections: `up`, `down`, or for a link `silent`: it loses all frames, and
    /// both ends keep their carrier.
    pub state: Option<Spanned<String>>,
    /// The switch to which the host moves, perhaps with a port as in `s1:3`.
    pub to: Option<Spanned<String>>,
    /// Whether the host announces its addresses there; no if missing, as with Linux.
    pub announce: Option<bool>,
}

/// The assertions, which have to hold at the end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssertionRow {
    /// The statistic: keys with dots in between, where `*` stands for any one key.
    pub statistic: Spanned<String>,
    /// The value that it must have,
    pub is: Option<f64>,
    /// the least that it may have,
    pub min: Option<f64>,
    /// and the most that it may have.
    pub max: Option<f64>,
}

fn one() -> u64 {
    1
}

fn usual() -> Version {
    Version::USUAL
}

/// Reads the name of a version.
fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
    let text = String::deserialize(deserializer)?;
    let mut known = Vec::new();
    for version in Version::SPOKEN {
        if version.to_string() == text {
            return Ok(*version);
        }
        known.push(version.to_string());
    }
    let known = known.join(", ");
    Err(D::Error::custom(format!("'{text}': it is one of {known}")))
}

fn all() -> Vec<Spanned<String>> {
    vec![Spanned::new(0..0, "*".into())]
}
