//! The switches and hosts of a scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use bofuss_datapath::{Algorithm, Config, Engine, Time};
use bofuss_disciplines::DISCIPLINES;
use bofuss_embed::{ConnId, Effect, EmbeddedConfig, EmbeddedSwitch, FailMode};
use bofuss_oflib::{Mac, Message, Version};
use toml::Spanned;

use super::unique::Owners;
use super::{Builder, BuiltHost, Outside};
use crate::host::{EndHost, HostAddresses, HostConfig, MIN_MTU_BYTES, known_addresses};
use crate::link::NodeId;
use crate::random::Random;
use crate::scenario::file::{HostRow, SwitchRow};
use crate::scenario::names::matches;
use crate::scenario::{ScenarioError, parse_rule};
use crate::topology::MAX_ELEMENTS;
use crate::traffic::Traffic;

/// The longest IP packet that hosts send, unless they say otherwise.
const DEFAULT_MTU: u16 = 1500;
/// The first streams of random numbers of switches and hosts; those of links begin at 0.
const SWITCH_STREAMS: u64 = 1 << 32;
const HOST_STREAMS: u64 = 2 << 32;

impl Builder<'_> {
    /// Adds the switches to the network, and lists the hosts.
    pub(super) fn nodes(&mut self, outside: &mut dyn Outside) -> Result<(), ScenarioError> {
        let mut switches: Vec<(String, SwitchRow)> = Vec::new();
        for node in self.topology.nodes.iter().filter(|node| !node.is_host) {
            switches.push((node.name.clone(), SwitchRow::default()));
        }
        for row in &self.file.switches {
            let Some(name) = &row.get_ref().name else {
                return Err(self.source.error(row.span(), "switch: name is missing"));
            };
            let pattern = name.get_ref();
            let before = switches.len();
            let mut found = false;
            for (other, old) in &mut switches[..before] {
                if matches(pattern, other) {
                    merge(old, row.get_ref());
                    found = true;
                }
            }
            if !found {
                self.source.check_name(name)?;
                switches.push((pattern.clone(), row.get_ref().clone()));
            }
        }
        check_count(switches.len(), "switches")?;
        let mut owners = Owners::default();
        for (name, row) in switches {
            let id = match &row.p4 {
                Some(program) => self.add_p4_switch(&name, program, &row, outside)?,
                None => self.add_switch(&name, &row, &mut owners)?,
            };
            self.names.add_switch(&name, id);
        }
        self.find_hosts()
    }

    fn add_switch(
        &mut self,
        name: &str,
        row: &SwitchRow,
        owners: &mut Owners,
    ) -> Result<NodeId, ScenarioError> {
        if let Some(entries) = &row.entries {
            let text = format!("switch {name}: entries: it has no p4");
            return Err(self.source.error(entries.span(), text));
        }
        if let Some(queues) = &row.queues {
            let text = format!("switch {name}: queues: it has no p4");
            return Err(self.source.error(queues.span(), text));
        }
        let defaults = &self.file.defaults.switch;
        let (number, mut random) = self.next_switch();
        let mut config = EmbeddedConfig {
            pool: self.network.pool().clone(),
            datapath_id: owners.datapath_id(self.source, name, row, number)?,
            ..EmbeddedConfig::with_catalogue(self.catalogue.clone())
        };
        config.tables.seed = random.next();
        config.tables.secret = random.next();
        let tables = row.tables.as_ref().or(defaults.tables.as_ref());
        if let Some(tables) = tables {
            config.tables.n_tables = *tables.get_ref();
        }
        self.set_choices(row, &mut config.tables)?;
        if let Some(mode) = row.fail_mode.as_ref().or(defaults.fail_mode.as_ref()) {
            config.fail_mode = self
                .source
                .named(mode, FailMode::NAMES.iter().map(|(m, n)| (*n, *m)))?;
        }
        let switch = EmbeddedSwitch::new(Time(0), config).map_err(|error| {
            // Of what a scenario says, only a number of tables can be refused there.
            let place = tables.map_or(0..0, Spanned::span);
            self.source.error(place, format!("switch {name}: {error}"))
        })?;
        Ok(self.network.add_switch(name, switch))
    }

    /// The number of the next switch, and its random numbers.
    pub(super) fn next_switch(&self) -> (u64, Random) {
        let number = self.names.switches.len() as u64 + 1;
        (number, Random::new(self.file.seed, SWITCH_STREAMS + number))
    }

    /// Sets what `row`, or else the defaults, choose by name.
    fn set_choices(&self, row: &SwitchRow, tables: &mut Config) -> Result<(), ScenarioError> {
        let defaults = &self.file.defaults.switch;
        if let Some(engine) = row.engine.as_ref().or(defaults.engine.as_ref()) {
            tables.engine = self.source.named(engine, Engine::ALL.into_iter())?;
        }
        if let Some(select) = row.select.as_ref().or(defaults.select.as_ref()) {
            let chosen = Algorithm::from_str(select.get_ref());
            tables.select = chosen.map_err(|error| self.source.error(select.span(), error))?;
        }
        if let Some(name) = row.discipline.as_ref().or(defaults.discipline.as_ref()) {
            let rows = DISCIPLINES.iter().map(|row| (row.name, row));
            tables.discipline = self.source.named(name, rows)?;
        }
        Ok(())
    }

    /// Installs the entries that switches have from the start.
    pub(super) fn install_flows(&mut self) -> Result<(), ScenarioError> {
        for row in &self.file.switches {
            let name = row.get_ref().name.as_ref().map(Spanned::get_ref);
            let pattern = name.expect("it was checked when the switch was added");
            let messages = self.messages(&row.get_ref().flows)?;
            for id in self.names.matching_switches(pattern) {
                if let Some(line) = row.get_ref().flows.first()
                    && self.network.p4_switch(id).is_some()
                {
                    let text = format!("switch {pattern}: flows: it has a P4 program");
                    return Err(self.source.error(line.span(), text));
                }
                self.install(id, &messages)?;
            }
        }
        Ok(())
    }

    /// The messages of some lines, sorted: meters, groups, entries, the rest.
    pub(super) fn messages<'r>(
        &self,
        lines: &'r [Spanned<String>],
    ) -> Result<Vec<(&'r Spanned<String>, Message)>, ScenarioError> {
        let mut ranked = Vec::new();
        for line in lines {
            let parsed = parse_rule(line.get_ref(), &self.catalogue);
            let rule = parsed.map_err(|error| self.source.error(line.span(), error.text))?;
            if let Some((rank, message)) = rule {
                ranked.push((rank, line, message));
            }
        }
        ranked.sort_by_key(|(rank, ..)| *rank);
        let messages = ranked.into_iter();
        Ok(messages.map(|(_, line, message)| (line, message)).collect())
    }

    fn install(
        &mut self,
        id: NodeId,
        messages: &[(&Spanned<String>, Message)],
    ) -> Result<(), ScenarioError> {
        if messages.is_empty() {
            return Ok(());
        }
        let switch = self.network.switch_mut(id).expect("it was added as one");
        let conn = switch.connect_typed(Time(0), Version::V1_3);
        for (line, message) in messages {
            if let Err(error) = take(switch, conn, message) {
                return Err(self.source.error(line.span(), error));
            }
        }
        switch.disconnect(Time(0), conn).expect("it is connected");
        Ok(())
    }

    /// Lists the hosts, with their configurations.
    fn find_hosts(&mut self) -> Result<(), ScenarioError> {
        let mut names: Vec<String> = Vec::new();
        for node in self.topology.nodes.iter().filter(|node| node.is_host) {
            names.push(node.name.clone());
        }
        let mut known: BTreeSet<String> = names.iter().cloned().collect();
        let mut rows: BTreeMap<&str, &HostRow> = BTreeMap::new();
        for row in &self.file.hosts {
            let row = row.get_ref();
            let name = row.name.get_ref();
            if rows.insert(name, row).is_some() || self.names.nodes.contains_key(name) {
                return Err(self.source.about(&row.name, "there are two with this name"));
            }
            if known.insert(name.clone()) {
                self.source.check_name(&row.name)?;
                names.push(name.clone());
            }
        }
        check_count(names.len(), "hosts")?;
        let mut owners = Owners::default();
        for (name, number) in names.into_iter().zip(1..) {
            let row = rows.get(name.as_str()).copied();
            let config = self.host_config(number, row)?;
            owners.own_addresses(self.source, &name, &config.addresses, row)?;
            self.hosts.push(BuiltHost {
                // It is set when the host is added to the network.
                node: NodeId(u32::MAX),
                name,
                config,
            });
        }
        self.introduce_hosts();
        Ok(())
    }

    fn host_config(&self, number: u32, row: Option<&HostRow>) -> Result<HostConfig, ScenarioError> {
        let [a, b, c, d] = number.to_be_bytes();
        let mut addresses = HostAddresses {
            mac: Mac([2, 0, a, b, c, d]),
            ip4: Some((Ipv4Addr::from_bits((10 << 24) + number), 8)),
            ip6: Some((
                Ipv6Addr::from_bits((0xfd00 << 112) + u128::from(number)),
                64,
            )),
        };
        if let Some(mac) = row.and_then(|row| row.mac.as_ref()) {
            let parsed = Mac::from_str(mac.get_ref());
            let parsed = parsed.ok().filter(|mac| !mac.is_multicast());
            let wanted = "no Ethernet address of one host";
            addresses.mac = parsed.ok_or_else(|| self.source.about(mac, wanted))?;
        }
        if let Some(ip) = row.and_then(|row| row.ip.as_ref()) {
            let parsed = prefixed(ip.get_ref(), 32);
            let wanted = "no IPv4 address with its prefix, as 10.0.0.1/8";
            addresses.ip4 = Some(parsed.ok_or_else(|| self.source.about(ip, wanted))?);
        }
        if let Some(ip) = row.and_then(|row| row.ip6.as_ref()) {
            let parsed = prefixed(ip.get_ref(), 128);
            let wanted = "no IPv6 address with its prefix, as fd00::1/64";
            addresses.ip6 = Some(parsed.ok_or_else(|| self.source.about(ip, wanted))?);
        }
        let mtu = row.and_then(|row| row.mtu.as_ref());
        let mtu = mtu.or(self.file.defaults.mtu.as_ref());
        if let Some(mtu) = mtu.filter(|mtu| *mtu.get_ref() < MIN_MTU_BYTES) {
            let text = format!("mtu: at least {MIN_MTU_BYTES}");
            return Err(self.source.error(mtu.span(), text));
        }
        let mut random = Random::new(self.file.seed, HOST_STREAMS + u64::from(number));
        Ok(HostConfig {
            addresses,
            mtu_bytes: mtu.map_or(DEFAULT_MTU, |mtu| *mtu.get_ref()),
            seed: random.next(),
            known: Default::default(),
        })
    }

    /// Tells all hosts each other's addresses, if the scenario wants that.
    fn introduce_hosts(&mut self) {
        if self.file.known_addresses {
            let all = known_addresses(self.hosts.iter().map(|host| &host.config.addresses));
            for host in &mut self.hosts {
                host.config.known.clone_from(&all);
            }
        }
    }

    /// Adds the hosts to the network, with their traffic.
    pub(super) fn add_hosts(&mut self, traffic: &mut Traffic) {
        for (at, host) in self.hosts.iter_mut().enumerate() {
            let mut end_host = EndHost::new(host.config.clone());
            traffic.give(at, &mut end_host);
            host.node = self.network.add_host(&host.name, Box::new(end_host));
            self.names.add_host(&host.name, host.node);
        }
    }
}

/// Replaces what was said of a switch by what a later row says.
fn merge(old: &mut SwitchRow, new: &SwitchRow) {
    let old_values = std::mem::take(old);
    let new = new.clone();
    *old = SwitchRow {
        name: None,
        dpid: new.dpid.or(old_values.dpid),
        fail_mode: new.fail_mode.or(old_values.fail_mode),
        tables: new.tables.or(old_values.tables),
        engine: new.engine.or(old_values.engine),
        select: new.select.or(old_values.select),
        discipline: new.discipline.or(old_values.discipline),
        p4: new.p4.or(old_values.p4),
        entries: new.entries.or(old_values.entries),
        queues: new.queues.or(old_values.queues),
        flows: Vec::new(),
    };
}

/// Reads an address and the length of its prefix, which is at most `bits`.
fn prefixed<A: FromStr>(text: &str, bits: u8) -> Option<(A, u8)> {
    let (address, length) = text.split_once('/')?;
    let length = length.parse().ok().filter(|length| *length <= bits)?;
    Some((address.parse().ok()?, length))
}

/// Gives a switch a message. Errors: the error that the switch answers, as text.
fn take(switch: &mut EmbeddedSwitch, conn: ConnId, message: &Message) -> Result<(), String> {
    let taken = switch.message(Time(0), conn, 1, message.clone());
    taken.map_err(|error| error.to_string())?;
    while switch.has_work() {
        switch.work(Time(0));
    }
    let effects: Vec<Effect> = switch.drain().collect();
    for effect in effects {
        if let Effect::Message {
            message: Message::Error(error),
            ..
        } = effect
        {
            return Err(switch.catalogue().error_text(error.error));
        }
    }
    Ok(())
}

fn check_count(count: usize, what: &str) -> Result<(), ScenarioError> {
    if count > MAX_ELEMENTS {
        return Err(ScenarioError::from(format!(
            "more than {MAX_ELEMENTS} {what}"
        )));
    }
    Ok(())
}
