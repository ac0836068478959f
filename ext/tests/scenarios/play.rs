//! Plays the lines of a scenario, and compares the effects with the expected ones.

pub use std::collections::BTreeMap;
pub use std::sync::Arc;

pub use bofuss_agent::{ConnId, FailMode, SwitchIo};
pub use bofuss_datapath::{Config, Engine, Time};
pub use bofuss_ext::queues;
pub use bofuss_ext::trace::{Trace, TraceEvent};
pub use bofuss_frame::{Frame, Gso, GsoKind, Offload, OffloadCapabilities, Pool};
pub use bofuss_oflib::ext::{ExtKind, ExtRow};
pub use bofuss_oflib::field::IP_DSCP;
pub use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
pub use bofuss_oflib::message::group_mod::GroupModCommand;
pub use bofuss_oflib::message::meter_mod::MeterModCommand;
pub use bofuss_oflib::message::multipart::group::{BucketCounter, GroupDesc};
pub use bofuss_oflib::message::multipart::{
    ExtBody, FlowUpdate, GroupDescRequest, GroupRequest, MeterRequest, PortDescRequest,
    QueueStatsRequest, ReplyBody, RequestBody, TableFeatures,
};
pub use bofuss_oflib::message::port::{PortConfig, PortFeatures, PortState};
pub use bofuss_oflib::message::table_mod::TableMiss;
pub use bofuss_oflib::message::{
    BundleAdd, BundleControl, ControllerRole, ControllerStatus, Empty, FlowModCommand, PacketOut,
    PortDesc, PortMod, QueueConfigRequest, Role,
};
pub use bofuss_oflib::text::{
    add_field, parse_actions, parse_flow, parse_flow_filter, parse_group, parse_meter, parse_port,
};
pub use bofuss_oflib::types::{BufferId, GroupId, MeterId, QueueId};
pub use bofuss_oflib::wire::{Bytes, Text};
pub use bofuss_oflib::{
    Catalogue, Codec, EncodeError, ErrorCode, ExtValue, Mac, Match, Message, PortNo, Version,
};
pub use bofuss_packet::Packet;
pub use bofuss_packet::checksum::{fold, sum};
pub use bofuss_packet::craft::{self, Layer};
pub use bofuss_packet::offload;

use super::{Datapath, effects, reshape};

/// A datapath without ports.
pub fn datapath(
    config: Config,
    profile: &str,
    catalogue: &Arc<Catalogue>,
    pool: &Pool,
) -> Datapath {
    let mut datapath = Datapath::new(config, catalogue.clone(), pool.clone());
    let hooks = bofuss_ext::hooks(catalogue);
    hooks.into_iter().for_each(|hook| datapath.add_hook(hook));
    if !catalogue.values_of("effects").is_empty() {
        datapath.add_hook(effects::hook());
    }
    if !profile.is_empty() {
        let words: Vec<&str> = profile.split_whitespace().collect();
        let all = datapath.shape().features();
        let tables = reshape::request(&words, &all, &all, catalogue);
        datapath.set_profile(&tables).unwrap();
    }
    datapath
}
use super::frames::{frame, hex};
use super::openflow11::in_1_1;
use super::openflow12::in_1_2;
use super::openflow14::in_1_4;
use super::openflow15::{in_1_5, is_told_in_1_5};
use super::stage::Stage;

/// The configuration `before`, with the values that `said` has for its keys.
pub fn config(before: &Config, said: impl Fn(&str) -> Option<String>) -> Config {
    let number = |key, before| said(key).map_or(before, |n| n.parse().unwrap());
    let engine = said("datapath").map(|name| {
        let mut all = Engine::ALL.iter();
        all.find(|(known, _)| *known == name).unwrap().1
    });
    Config {
        n_tables: number("tables", before.n_tables.into()) as u8,
        max_entries: number("max-entries", before.max_entries),
        max_total_entries: number("max-total-entries", before.max_total_entries),
        max_groups: number("max-groups", before.max_groups),
        max_buckets: number("max-buckets", before.max_buckets),
        max_meters: number("max-meters", before.max_meters),
        max_bands: number("max-bands", before.max_bands.into()) as u8,
        select: said("select").map_or(before.select, |name| name.parse().unwrap()),
        engine: engine.unwrap_or(before.engine),
        ..before.clone()
    }
}

/// An expected effect, in which the frame of an `out` is written in hexadecimal.
pub fn expected(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["out", port, "hex", ..] => format!("out {port} {}", words[3..].concat()),
        ["out", port, ..] => format!("out {port} {}", hex(&frame(&words[2..]))),
        _ => line.to_string(),
    }
}

/// Sorts entries that are reported in a row: their order depends on the engine.
pub fn sort_entries(effects: &mut [String]) {
    let is_entry = |line: &String| line.split(' ').nth(1) == Some("flow");
    let rows = effects.chunk_by_mut(|a, b| is_entry(a) && is_entry(b));
    rows.for_each(<[String]>::sort);
}

/// The catalogue of a scenario: the extensions, [`effects`] if the scenario uses it, and the fields
/// that it configures.
pub fn catalogue(text: &str) -> Catalogue {
    let mut catalogue = if text.contains("effect(") || text.contains("effect_") {
        effects::catalogue()
    } else {
        bofuss_ext::catalogue()
    };
    let fields = text
        .lines()
        .filter_map(|line| line.strip_prefix("set field "));
    for field in fields {
        add_field(field.trim(), &mut catalogue).unwrap();
    }
    catalogue
}

/// A line of a scenario with other effects than expected.
pub struct Failure {
    /// The scenario and the line's number in it.
    place: String,
    /// The line.
    pub line: String,
    /// The effects.
    pub did: Vec<String>,
    /// The expected effects.
    should: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (did, should) = (self.did.join("\n  "), self.should.join("\n  "));
        let Self { place, line, .. } = self;
        write!(
            f,
            "{place}: {line}\nit did\n  {did}\nand should\n  {should}"
        )
    }
}

/// Plays a scenario; its connections speak `version` where it names none.
pub fn play(engine: Engine, version: Version, name: &str, text: &str, failures: &mut Vec<Failure>) {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line.trim()))
        .peekable();
    let option = |key: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("set {key} ")));
        line.map(|value| value.trim().to_string())
    };
    let fail_mode = match option("fail-mode").as_deref() {
        Some("standalone") => FailMode::Standalone,
        _ => FailMode::Secure,
    };
    let least = Config {
        n_tables: 4,
        max_entries: 1000,
        max_total_entries: 4000,
        max_groups: 100,
        max_buckets: 1000,
        max_meters: 100,
        engine,
        ..Config::default()
    };
    let config = config(&least, option);
    let profile = option("profile").unwrap_or_default();
    let number = |key, usual| option(key).map_or(usual, |n| n.parse().unwrap());
    let ports = (number("ports", 4), PortFeatures(number("supported", 0)));
    let mut stage = Stage::new(ports, config, &profile, fail_mode, catalogue(text));
    stage.io.links_locked = option("links").is_some();
    stage.version = version;
    if fail_mode == FailMode::Secure {
        stage.speaks(ConnId(1), version);
        stage.switch.connected(Time(0), ConnId(1), version, true);
        if version.miss_goes_to_controller() {
            stage.play("table-mod 255 0 drop");
        }
    }
    while let Some((at, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') || line.starts_with("set ") {
            continue;
        }
        stage.io.effects.clear();
        stage.play(line);
        let mut wanted = Vec::new();
        while let Some((_, effect)) = lines.next_if(|(_, line)| line.starts_with("> ")) {
            let effect = expected(&effect[2..]);
            let conn = effect.split(' ').next().and_then(|conn| conn.parse().ok());
            let codec = conn.and_then(|conn| stage.io.codecs.get(&ConnId(conn)));
            let speaks_it = codec.is_some_and(|codec| codec.version == version);
            wanted.push(match version {
                Version::V1_1 if speaks_it => in_1_1(&effect),
                Version::V1_2 if speaks_it => in_1_2(&effect),
                Version::V1_4 if speaks_it => in_1_4(&effect),
                Version::V1_5 if speaks_it => in_1_5(&effect),
                _ => effect,
            });
        }
        if version == Version::V1_5 {
            stage.io.effects.retain(|effect| !is_told_in_1_5(effect));
        }
        sort_entries(&mut wanted);
        sort_entries(&mut stage.io.effects);
        if stage.io.effects != wanted {
            failures.push(Failure {
                place: format!("{name}:{at}"),
                line: line.into(),
                did: std::mem::take(&mut stage.io.effects),
                should: wanted,
            });
        }
    }
}
