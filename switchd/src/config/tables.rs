//! The options of tables, groups, disciplines and NORMAL: sizes and algorithms.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use bofuss_datapath::{Algorithm, Engine, MAX_ADDRESSES, Station};
use bofuss_disciplines::DISCIPLINES;
use bofuss_oflib::field::VID_PRESENT;
use bofuss_oflib::types::GroupId;
use bofuss_oflib::{Mac, ParseError, PortNo};

use super::Options;
use super::options::TABLE_COUNTS;
use super::ports::{PortSpec, existing, number_of, ports};
use super::vlans::port_vlans;
use crate::error::{Result, context};
use crate::profile::Profile;

/// The highest VLAN of a station. IEEE 802.1Q reserves 4095, so that no frame has it.
const MAX_VLAN: u16 = 4094;

/// Checks these options. Errors: a sentence that begins with the wrong one.
pub(super) fn datapath_config(
    options: &Options,
    profile: Option<&Profile>,
) -> Result<bofuss_datapath::Config> {
    let default = bofuss_disciplines::config();
    let least = profile.map_or(1, Profile::n_tables);
    let n_tables = options
        .tables
        .unwrap_or(profile.map_or(default.n_tables, Profile::n_tables));
    if !(1..=254).contains(&n_tables) {
        return Err(format!("--tables {n_tables}: {TABLE_COUNTS}").into());
    }
    if n_tables < least {
        return Err(format!(
            "--tables {n_tables}: the profile has tables 0 to {}",
            least - 1
        )
        .into());
    }
    let max_entries = options.max_entries.unwrap_or(default.max_entries);
    let total = options
        .max_total_entries
        .unwrap_or(default.max_total_entries.max(max_entries));
    if max_entries == 0 || total == 0 {
        return Err("--max-entries and --max-total-entries: at least 1".into());
    }
    let mut config = bofuss_datapath::Config {
        n_tables,
        max_entries,
        max_total_entries: total,
        select: options
            .select
            .as_deref()
            .map_or(Ok(default.select), algorithm)?,
        group_select: options
            .group_select
            .iter()
            .map(group_algorithm)
            .collect::<Result<_, _>>()?,
        engine: match options.datapath.as_deref() {
            Some(name) => engine(name)?,
            None => default.engine,
        },
        seed: options.seed.map_or(default.seed, u64::from),
        secret: random(),
        ..default
    };
    let ports = ports(options)?;
    for text in &options.mac_limits {
        mac_limit(text, &ports, &mut config)?;
    }
    for text in &options.macs {
        let option = format!("--mac {text}");
        let (station, port) = station(&option, text, &ports)?;
        existing(&option, port, &ports)?;
        config.static_addresses.insert(station, port);
    }
    config.port_vlans = port_vlans(options, &ports)?;
    for text in &options.disciplines {
        discipline(text, &ports, &mut config)?;
    }
    Ok(config)
}

/// Chooses what orders the frames of one port, or of all. Errors: what is wrong with it.
fn discipline(text: &str, ports: &[PortSpec], config: &mut bofuss_datapath::Config) -> Result<()> {
    let option = format!("--discipline {text}");
    let (port, name) = match text.split_once('=') {
        Some((port, name)) => (Some(number_of(&option, port, ports)?), name),
        None => (None, text),
    };
    port.map(|port| existing(&option, port, ports))
        .transpose()?;
    let Some(row) = DISCIPLINES.iter().find(|row| row.name == name) else {
        let names: Vec<_> = DISCIPLINES.iter().map(|row| row.name).collect();
        return Err(format!("{option}: '{name}' is none of {}", names.join(", ")).into());
    };
    match port {
        Some(port) => drop(config.port_disciplines.insert(port, row)),
        None => config.discipline = row,
    }
    Ok(())
}

/// Bounds what NORMAL learns on one port, or on all. Errors: what is wrong with it.
fn mac_limit(text: &str, ports: &[PortSpec], config: &mut bofuss_datapath::Config) -> Result<()> {
    let option = format!("--mac-limit {text}");
    let (port, limit) = match text.split_once('=') {
        Some((port, limit)) => (Some(number_of(&option, port, ports)?), limit),
        None => (None, text),
    };
    port.map(|port| existing(&option, port, ports))
        .transpose()?;
    let limit: u32 = limit.parse().unwrap_or(0);
    if !(1..=MAX_ADDRESSES).contains(&limit) {
        return Err(format!("{option}: it is 1 to {MAX_ADDRESSES}").into());
    }
    match port {
        Some(port) => drop(config.port_addresses.insert(port, limit)),
        None => config.max_addresses = limit,
    }
    Ok(())
}

/// Reads a station at a port, `PORT=MAC[,VLAN]`. Errors: what is wrong with it, after `option`.
pub fn station(option: &str, text: &str, ports: &[PortSpec]) -> Result<(Station, PortNo)> {
    let example = || format!("{option}: it is PORT=MAC[,VLAN], as 2=02:00:00:00:00:01,7");
    let (port, station) = text.split_once('=').ok_or_else(example)?;
    Ok((address(option, station)?, number_of(option, port, ports)?))
}

/// Reads a station, `MAC[,VLAN]`. Errors: what is wrong with it, after `option`.
pub fn address(option: &str, station: &str) -> Result<Station> {
    let (mac, vlan) = match station.split_once(',') {
        Some((mac, vlan)) => (mac, Some(vlan)),
        None => (station, None),
    };
    let mac: Mac = mac
        .parse()
        .map_err(|_| format!("{option}: '{mac}' is no address, as 02:00:00:00:00:01"))?;
    if mac.is_multicast() {
        return Err(format!("{option}: it is the address of a group").into());
    }
    let tag = match vlan.map(str::parse) {
        None => 0,
        Some(Ok(vlan @ 0..=MAX_VLAN)) => VID_PRESENT | vlan,
        Some(_) => return Err(format!("{option}: a VLAN is 0 to {MAX_VLAN}").into()),
    };
    Ok((tag, mac))
}

/// Finds an engine by its name. Errors: a sentence with the names that would be right.
fn engine(name: &str) -> Result<Engine> {
    let found = Engine::ALL.iter().find(|(known, _)| *known == name);
    let names = Engine::ALL.map(|(known, _)| known).join(", ");
    found.map_or_else(
        || Err(format!("--datapath {name}: it is one of {names}").into()),
        |(_, engine)| Ok(*engine),
    )
}

/// A secret for the switch's hashes, so that senders of packets cannot choose collisions.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Finds an algorithm by its name. Errors: a sentence with the names that would be right.
fn algorithm(name: &str) -> Result<Algorithm> {
    name.parse()
        .map_err(context(format_args!("--select {name}")))
}

fn group_algorithm(text: &String) -> Result<(GroupId, Algorithm)> {
    let option = format!("--group-select {text}");
    let Some((group, name)) = text.split_once('=') else {
        return Err(format!("{option}: write GROUP=ALGORITHM, as 7=random").into());
    };
    let Ok(number) = group.parse() else {
        return Err(format!("{option}: '{group}' is no group").into());
    };
    let algorithm = name.parse().map_err(context::<ParseError>(option))?;
    Ok((GroupId(number), algorithm))
}
