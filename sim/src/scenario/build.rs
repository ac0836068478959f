//! Builds the network of a scenario from its text, and runs it.

mod checks;
mod controllers;
mod links;
mod moves;
mod nodes;
mod p4;
mod unique;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bofuss_datapath::Time;
use bofuss_embed::EmbeddedSwitch;
use bofuss_embed::p4::Program;
use bofuss_oflib::Catalogue;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::assertions::{self, FailedAssertion};
use super::file::{AssertionRow, ControllerRow, ScenarioFile, Ties};
use super::names::is_name;
use super::{KINDS, ScenarioError};
use crate::controller::Controller;
use crate::host::HostConfig;
use crate::link::NodeId;
use crate::network::{Change, Network, NetworkConfig};
use crate::observer::Observer;
use crate::seconds::time;
use crate::statistics::{self, NetworkNames};
use crate::topology::{MAX_ELEMENTS, Shape, Topology, read_gml};
use crate::traffic::{Traffic, TrafficHost};

/// The things that a scenario gets from outside of the simulator.
pub trait Outside {
    /// Reads the text of a file that the scenario names. Errors: why it cannot be read.
    fn read(&mut self, name: &str) -> Result<String, ScenarioError>;
    /// Makes a controller of a kind that the simulator does not have. Errors: why it cannot.
    fn controller(&mut self, row: &ControllerRow) -> Result<Box<dyn Controller>, ScenarioError>;
}

/// The outside of scenarios that need nothing from there.
pub struct NoOutside;

impl Outside for NoOutside {
    fn read(&mut self, name: &str) -> Result<String, ScenarioError> {
        Err(format!("the scenario reads {name}, but has no files").into())
    }

    fn controller(&mut self, _: &ControllerRow) -> Result<Box<dyn Controller>, ScenarioError> {
        Err(format!("it is one of {KINDS}").into())
    }
}

/// A network with its traffic, its end, and its assertions.
pub struct Scenario {
    network: Network,
    names: NetworkNames,
    traffic: Traffic,
    /// The nodes of the hosts, by the index that they have in `traffic`.
    hosts: Vec<NodeId>,
    end: Time,
    catalogue: Arc<Catalogue>,
    assertions: Vec<(usize, AssertionRow)>,
    warnings: Vec<String>,
}

impl Scenario {
    /// Builds the scenario of a text. A `seed` replaces that of the text. Errors: what is wrong,
    /// and where.
    pub fn build(
        text: &str,
        seed: Option<u64>,
        outside: &mut dyn Outside,
    ) -> Result<Self, ScenarioError> {
        let mut file: ScenarioFile = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            ScenarioError::at(text, span, error.message())
        })?;
        file.seed = seed.unwrap_or(file.seed);
        let source = ScenarioText(text);
        let end = source.time("end", *file.end.get_ref(), &file.end.span())?;
        let default = NetworkConfig::default();
        let mut builder = Builder {
            source,
            network: Network::new(NetworkConfig {
                seed: file.seed,
                pool_bytes: written(&file.pool_bytes, default.pool_bytes),
                max_events: written(&file.max_events, default.max_events),
                has_random_ties: file.ties == Ties::Random,
            }),
            file: &file,
            topology: Topology::default(),
            catalogue: Arc::new(bofuss_ext::catalogue()),
            names: NetworkNames::default(),
            hosts: Vec::new(),
            moves: Vec::new(),
            warnings: Vec::new(),
            programs: BTreeMap::new(),
        };
        builder.check()?;
        builder.topology = builder.topology(outside)?;
        builder.nodes(outside)?;
        let traffic = builder.traffic()?;
        builder.links()?;
        builder.find_storms();
        builder.install_flows()?;
        builder.controllers(outside)?;
        builder.changes()?;
        let hosts = builder.hosts.iter().map(|host| host.node).collect();
        let network = builder.network;
        let warnings = builder.warnings;
        let names = builder.names;
        let catalogue = builder.catalogue;
        let mut assertions = Vec::new();
        for row in file.assertions {
            let line = ScenarioText(text).line(row.span());
            assertions.push((line, row.into_inner()));
        }
        Ok(Self {
            network,
            names,
            traffic,
            hosts,
            end,
            catalogue,
            assertions,
            warnings,
        })
    }

    /// Runs the scenario up to and including a time. Errors: why it ended early.
    pub fn run_until(
        &mut self,
        end: Time,
        observer: &mut dyn Observer,
    ) -> Result<(), ScenarioError> {
        let run = self.network.run_until(end, observer);
        run.map_err(|error| error.to_string().into())
    }

    /// The statistics so far.
    pub fn statistics(&mut self) -> Value {
        let now = self.network.now();
        let network = &self.network;
        let reports = self.traffic.reports(now, |host| {
            let end_host = network.host_as(self.hosts[host]);
            end_host.expect("a scenario's hosts are of this kind")
        });
        let reports = serde_json::to_value(reports).expect("reports are plain data");
        statistics::document(&mut self.network, &self.names, reports)
    }

    /// The assertions that do not hold for these statistics.
    pub fn failures(&self, statistics: &Value) -> Vec<FailedAssertion> {
        let checked = self.assertions.iter().zip(1..);
        checked
            .flat_map(|((line, row), number)| assertions::check(number, *line, row, statistics))
            .collect()
    }

    /// What is probably not meant, in words.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The number of assertions.
    pub fn assertion_count(&self) -> usize {
        self.assertions.len()
    }

    /// The network.
    pub fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    /// One of its switches, as it is; `None` if the node is no switch of OpenFlow.
    pub fn into_switch(self, node: NodeId) -> Option<EmbeddedSwitch> {
        self.network.into_switch(node)
    }

    /// The names of its parts.
    pub fn names(&self) -> &NetworkNames {
        &self.names
    }

    /// Returns when it ends.
    pub fn end(&self) -> Time {
        self.end
    }

    /// The fields and messages of its switches.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }
}

/// The value that is written, or the default.
fn written<T: Copy>(value: &Option<Spanned<T>>, default: T) -> T {
    value.as_ref().map_or(default, |value| *value.get_ref())
}

/// The text of a scenario, in which errors have their place.
#[derive(Clone, Copy)]
struct ScenarioText<'s>(&'s str);

impl ScenarioText<'_> {
    fn error(&self, span: Range<usize>, text: impl Into<String>) -> ScenarioError {
        ScenarioError::at(self.0, span, text)
    }

    fn line(&self, span: Range<usize>) -> usize {
        self.error(span, "").line.unwrap_or_default()
    }

    /// Reads a time in seconds. Errors: it is out of range, with the place.
    fn time(&self, key: &str, seconds: f64, span: &Range<usize>) -> Result<Time, ScenarioError> {
        time(key, seconds).map_err(|error| self.error(span.clone(), error))
    }

    /// An error that quotes a name, at its place.
    fn about(&self, name: &Spanned<String>, text: &str) -> ScenarioError {
        self.error(name.span(), format!("'{}': {text}", name.get_ref()))
    }

    /// An error of a file that a switch names.
    fn wrong_file(
        &self,
        switch: &str,
        key: &str,
        file: &Spanned<String>,
        why: String,
    ) -> ScenarioError {
        let text = format!("switch {switch}: {key}: {}: {why}", file.get_ref());
        self.error(file.span(), text)
    }

    /// Finds the value with a name. Errors: there is none; the error lists the names.
    fn named<'n, T>(
        &self,
        name: &Spanned<String>,
        mut all: impl Iterator<Item = (&'n str, T)> + Clone,
    ) -> Result<T, ScenarioError> {
        let known: Vec<&str> = all.clone().map(|(name, _)| name).collect();
        let found = all.find(|(known, _)| known == name.get_ref());
        let text = format!("it is one of {}", known.join(", "));
        let found = found.ok_or_else(|| self.about(name, &text));
        found.map(|(_, value)| value)
    }

    fn check_name(&self, name: &Spanned<String>) -> Result<(), ScenarioError> {
        if !is_name(name.get_ref()) {
            let text = "there is no such node, and a name has up to 64 letters, digits, - and _";
            return Err(self.about(name, text));
        }
        Ok(())
    }

    /// Checks a name that becomes that of a file, or stands in a picture, and may have any letters
    /// but those that mean something there.
    fn check_letters(&self, name: &Spanned<String>) -> Result<(), ScenarioError> {
        let means_something = |letter: char| "/<&".contains(letter) || letter.is_control();
        if name.get_ref().contains(means_something) {
            return Err(self.about(name, "a name has no /, <, & and control characters"));
        }
        Ok(())
    }
}

/// A host that is in the network, or will be.
struct BuiltHost {
    node: NodeId,
    name: String,
    config: HostConfig,
}

/// Builds the network of a scenario.
struct Builder<'s> {
    source: ScenarioText<'s>,
    file: &'s ScenarioFile,
    topology: Topology,
    network: Network,
    catalogue: Arc<Catalogue>,
    names: NetworkNames,
    hosts: Vec<BuiltHost>,
    /// The moves of hosts, in the order of their rows.
    moves: Vec<Change>,
    warnings: Vec<String>,
    /// The P4 programs by file, each of which several switches may run.
    programs: BTreeMap<String, Arc<Program>>,
}

impl Builder<'_> {
    fn topology(&self, outside: &mut dyn Outside) -> Result<Topology, ScenarioError> {
        let Some(row) = &self.file.topology else {
            return Ok(Topology::default());
        };
        let mut table = toml::Table::new();
        for (key, value) in row.get_ref() {
            let value_is_wrong = match key.as_str() {
                "shape" | "gml" => value.get_ref().as_str().is_none(),
                _ => value.get_ref().as_integer().is_none_or(|number| number < 0),
            };
            if value_is_wrong {
                let text = format!("topology: {key}: {} is not allowed", value.get_ref());
                return Err(self.source.error(value.span(), text));
            }
            table.insert(key.clone(), value.get_ref().clone());
        }
        let read = match table.remove("gml") {
            Some(gml) => gml_topology(gml.as_str().unwrap_or_default(), table, outside),
            None => {
                let shape = Shape::deserialize(table).map_err(|error| error.message().to_string());
                shape.and_then(|shape| shape.make().map_err(|error| error.to_string()))
            }
        };
        read.map_err(|error| self.source.error(row.span(), format!("topology: {error}")))
    }

    fn traffic(&mut self) -> Result<Traffic, ScenarioError> {
        let written = self.file.traffic.iter();
        let rows = written.map(|row| row.get_ref().clone()).collect();
        let mut hosts = Vec::new();
        for host in &self.hosts {
            hosts.push(TrafficHost {
                name: &host.name,
                config: &host.config,
            });
        }
        let planned = Traffic::plan(rows, &hosts, self.file.seed);
        let mut traffic = planned.map_err(|error| {
            let row = &self.file.traffic[error.row - 1];
            self.source
                .error(row.span(), format!("traffic: {}", error.reason))
        })?;
        self.add_hosts(&mut traffic);
        Ok(traffic)
    }
}

/// Reads a topology from a file, and adds hosts to each of its switches.
fn gml_topology(
    name: &str,
    mut rest: toml::Table,
    outside: &mut dyn Outside,
) -> Result<Topology, String> {
    let wanted = rest
        .remove("hosts")
        .map_or(Some(0), |hosts| hosts.as_integer());
    let bounded = wanted.filter(|hosts| (0..=MAX_HOSTS_PER_SWITCH).contains(hosts));
    let hosts = bounded.ok_or_else(|| format!("hosts: 0 to {MAX_HOSTS_PER_SWITCH}"))?;
    if let Some((key, _)) = rest.iter().next() {
        return Err(format!("unknown key '{key}'; there are gml and hosts"));
    }
    let text = outside
        .read(name)
        .map_err(|error| format!("{name}: {error}"))?;
    let mut topology = read_gml(&text).map_err(|error| format!("{name}: {error}"))?;
    let switches = topology.nodes.len();
    let hosts = hosts as usize;
    if switches * hosts > MAX_ELEMENTS {
        return Err(format!("hosts: more than {MAX_ELEMENTS} in all"));
    }
    topology.add_hosts(0..switches, hosts);
    Ok(topology)
}

/// The most hosts that each switch of a file may get.
const MAX_HOSTS_PER_SWITCH: i64 = 1000;
