//! The keys of a scenario's text.

use std::collections::BTreeMap;

use bofuss_oflib::Version;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::traffic::TrafficRow;

/// The keys of a topology, and where their values are.
pub type TopologyTable = BTreeMap<String, Spanned<toml::Value>>;

/// A scenario as it is written. Times are in seconds unless the key says otherwise.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Seed of every random choice.
    #[serde(default = "one")]
    pub seed: u64,
    /// When the run ends.
    pub end: Spanned<f64>,
    /// Events after which the run ends with an error.
    pub max_events: Option<u64>,
    /// Bytes of buffers of all frames together, at most.
    pub pool_bytes: Option<usize>,
    /// Whether hosts know each other's Ethernet addresses from the start.
    #[serde(default)]
    pub known_addresses: bool,
    /// A topology that is made or read.
    pub topology: Option<Spanned<TopologyTable>>,
    /// What links, switches and hosts are like unless they say otherwise.
    #[serde(default)]
    pub defaults: Defaults,
    /// Switches; those of the topology may be named again, to say what they are like.
    #[serde(default, rename = "switch")]
    pub switches: Vec<Spanned<SwitchRow>>,
    /// Hosts, likewise.
    #[serde(default, rename = "host")]
    pub hosts: Vec<Spanned<HostRow>>,
    /// Links, likewise.
    #[serde(default, rename = "link")]
    pub links: Vec<Spanned<LinkRow>>,
    /// Controllers.
    #[serde(default, rename = "controller")]
    pub controllers: Vec<Spanned<ControllerRow>>,
    /// What hosts send.
    #[serde(default)]
    pub traffic: Vec<Spanned<TrafficRow>>,
    /// What changes at a time.
    #[serde(default, rename = "change")]
    pub changes: Vec<Spanned<ChangeRow>>,
    /// What is to be true at the end.
    #[serde(default, rename = "assert")]
    pub assertions: Vec<Spanned<AssertionRow>>,
}

/// What things are like unless they say otherwise.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// Links, without ends and names.
    #[serde(default)]
    pub link: LinkRow,
    /// Switches, without names, ids and flows.
    #[serde(default)]
    pub switch: SwitchRow,
    /// The longest IP packet that hosts send, in bytes.
    pub mtu: Option<u16>,
}

/// A link; what it does not say is as in the defaults, and there as in [`crate::LinkConfig`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkRow {
    /// Its ends: nodes, perhaps with a port as in `s1:3`. With `*` for any characters, or if there
    /// are such links already: those.
    pub ends: Option<Spanned<(String, String)>>,
    /// Its name; if missing, the ends' with a `-` in between.
    pub name: Option<Spanned<String>>,
    /// Megabits a second; 0: frames take no time to be sent.
    pub mbps: Option<f64>,
    /// Microseconds from the end of sending to the arrival.
    pub delay_us: Option<f64>,
    /// The most frames that wait at one end.
    pub queue: Option<u32>,
    /// The most bytes that wait at one end.
    pub queue_bytes: Option<u64>,
    /// The share of frames that are lost.
    pub loss: Option<f64>,
    /// Bytes that each frame takes besides its own: 24 as on an Ethernet wire.
    pub overhead: Option<u32>,
}

/// A switch; what it does not say is as in the defaults.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchRow {
    /// Its name; with `*` for any characters, or if there are such switches already: those.
    pub name: Option<Spanned<String>>,
    /// Its datapath id; if missing, its number among the switches, from 1.
    pub dpid: Option<u64>,
    /// What it does without a controller: `secure`, `standalone` or `arp-path`.
    pub fail_mode: Option<Spanned<String>>,
    /// How many tables it has.
    pub tables: Option<u8>,
    /// How packets find their entries: `reference`, `tables` or `cache`.
    pub engine: Option<Spanned<String>>,
    /// How select groups choose: `hash`, `round-robin` or `random`.
    pub select: Option<Spanned<String>>,
    /// What orders the frames of ports with queues, as `hfair`.
    pub discipline: Option<Spanned<String>>,
    /// Entries, groups, meters and queues that it has from the start, as in a file for `bofuss
    /// trace`.
    #[serde(default)]
    pub flows: Vec<Spanned<String>>,
}

/// A host. Host `n` of a scenario has 10.0.0.0 plus `n`, fd00:: plus `n` and 02:00:00:00:00:00
/// plus `n` unless it says otherwise.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRow {
    /// Its name.
    pub name: Spanned<String>,
    /// The switch that it has a link to.
    pub switch: Option<Spanned<String>>,
    /// Its Ethernet address.
    pub mac: Option<Spanned<String>>,
    /// Its IPv4 address, with the prefix's length after a slash.
    pub ip: Option<Spanned<String>>,
    /// Its IPv6 address, likewise.
    pub ip6: Option<Spanned<String>>,
    /// The longest IP packet that it sends, in bytes.
    pub mtu: Option<u16>,
}

/// A controller.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerRow {
    /// Its name.
    pub name: Spanned<String>,
    /// What it is: `learning`, `rules`, or a kind from outside of the simulator, such as `tcp`.
    pub kind: Spanned<String>,
    /// Where a controller from outside is.
    pub address: Option<String>,
    /// Its switches; `*` stands for any characters.
    #[serde(default = "all")]
    pub switches: Vec<Spanned<String>>,
    /// Microseconds that a message takes.
    #[serde(default)]
    pub delay_us: f64,
    /// The version that it speaks: `1.0`, `1.2` or `1.3`. One from outside chooses itself.
    #[serde(default = "usual", deserialize_with = "version")]
    pub version: Version,
    /// When it connects.
    #[serde(default)]
    pub start: f64,
    /// What `rules` sends each of its switches.
    #[serde(default)]
    pub flows: Vec<Spanned<String>>,
}

/// A change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeRow {
    /// When.
    pub at: f64,
    /// The link that changes,
    pub link: Option<Spanned<String>>,
    /// or the controller whose connections do.
    pub controller: Option<Spanned<String>>,
    /// Which of its switches; if missing, all.
    pub switch: Option<Spanned<String>>,
    /// `up`, `down`, or of a link `silent`: it loses all frames, and its ends do not see it.
    pub state: Spanned<String>,
}

/// What is to be true at the end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssertionRow {
    /// Which of the statistics: keys with dots in between, where `*` stands for any one key.
    pub statistic: Spanned<String>,
    /// The value that it has,
    pub is: Option<f64>,
    /// the least that it has,
    pub min: Option<f64>,
    /// and the most.
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
