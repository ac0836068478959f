//! The links and the changes of a scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bofuss_datapath::Time;
use bofuss_oflib::PortNo;
use toml::Spanned;

use super::{Builder, ScenarioText};
use crate::link::{LinkConfig, LinkState, NodeId, NodePort};
use crate::network::{Change, MAX_PORT, check_link};
use crate::scenario::ScenarioError;
use crate::scenario::file::{ChangeRow, Ends, LinkRow};
use crate::scenario::names::matches;

/// A link before its ports are known.
pub(super) struct PlannedLink {
    pub(super) ends: [PlannedEnd; 2],
    pub(super) name: String,
    pub(super) config: LinkConfig,
    /// True if its first end is a host that has a link already, and moves to this one later.
    pub(super) is_spare: bool,
    /// Its place in the scenario's text.
    span: Range<usize>,
}

#[derive(Clone, Copy)]
pub(super) struct PlannedEnd {
    pub(super) node: NodeId,
    pub(super) port: Option<u32>,
}

impl PlannedLink {
    /// The ends that have a port of their own.
    fn port_ends(&mut self) -> &mut [PlannedEnd] {
        &mut self.ends[usize::from(self.is_spare)..]
    }
}

impl Builder<'_> {
    /// Adds the links: those of the topology, of hosts that name a switch, and of `[[link]]`s.
    pub(super) fn links(&mut self) -> Result<(), ScenarioError> {
        let mut links = Vec::new();
        let mut default = LinkConfig::default();
        if let Some(row) = &self.file.defaults.link {
            default = self.link_config(default, row.get_ref(), row.span())?;
        }
        for link in &self.topology.links {
            let first = self.topology.nodes[link.ends.0].name.clone();
            let second = self.topology.nodes[link.ends.1].name.clone();
            let mut config = default;
            config.rate_bps = link.rate_bps.unwrap_or(config.rate_bps);
            config.delay_ns = link.delay_ns.unwrap_or(config.delay_ns);
            links.push(self.planned(&first, &second, config, 0..0)?);
        }
        for row in &self.file.hosts {
            if let Some(switch) = &row.get_ref().switch {
                let host = row.get_ref().name.get_ref();
                links.push(self.planned(host, switch.get_ref(), default, switch.span())?);
            }
        }
        for row in &self.file.links {
            self.link_row(row, default, &mut links)?;
        }
        self.moves(&mut links)?;
        self.give_ports(&mut links)?;
        for link in links {
            self.add_link(link)?;
        }
        Ok(())
    }

    /// Changes the links whose ends a row matches, or adds one if there are none.
    fn link_row(
        &self,
        row: &Spanned<LinkRow>,
        default: LinkConfig,
        links: &mut Vec<PlannedLink>,
    ) -> Result<(), ScenarioError> {
        let Some(ends) = &row.get_ref().ends else {
            return Err(self.source.error(row.span(), "link: ends is missing"));
        };
        if let Some(name) = &row.get_ref().name {
            self.source.check_letters(name)?;
        }
        let Ends(first, second) = ends.get_ref();
        let mut found = false;
        for link in links.iter_mut() {
            let one = self.network.name(link.ends[0].node);
            let other = self.network.name(link.ends[1].node);
            let forth = matches(first, one) && matches(second, other);
            let back = matches(first, other) && matches(second, one);
            if forth || back {
                found = true;
                link.config = self.link_config(link.config, row.get_ref(), row.span())?;
                if let Some(name) = &row.get_ref().name {
                    link.name.clone_from(name.get_ref());
                }
            }
        }
        if !found {
            let config = self.link_config(default, row.get_ref(), row.span())?;
            let mut link = self.planned(first, second, config, ends.span())?;
            if let Some(name) = &row.get_ref().name {
                link.name.clone_from(name.get_ref());
            }
            links.push(link);
        }
        Ok(())
    }

    pub(super) fn planned(
        &self,
        first: &str,
        second: &str,
        config: LinkConfig,
        span: Range<usize>,
    ) -> Result<PlannedLink, ScenarioError> {
        let ends = [
            self.end("ends", first, &span)?,
            self.end("ends", second, &span)?,
        ];
        let first = self.network.name(ends[0].node);
        let second = self.network.name(ends[1].node);
        Ok(PlannedLink {
            ends,
            name: format!("{first}-{second}"),
            config,
            is_spare: false,
            span,
        })
    }

    /// Reads a node, perhaps with a port.
    pub(super) fn end(
        &self,
        key: &str,
        text: &str,
        span: &Range<usize>,
    ) -> Result<PlannedEnd, ScenarioError> {
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        };
        let found = self.names.nodes.get(name).copied();
        let node = found.ok_or_else(|| {
            let text = format!("{key}: '{name}' is neither a switch nor a host");
            self.source.error(span.clone(), text)
        })?;
        let number: Option<u32> = port.and_then(|port| port.parse().ok());
        let parsed = number.filter(|port| (1..=MAX_PORT).contains(port));
        if port.is_some() && parsed.is_none() {
            let text = format!("{key}: '{text}': a port is 1 to {MAX_PORT}");
            return Err(self.source.error(span.clone(), text));
        }
        Ok(PlannedEnd { node, port: parsed })
    }

    fn link_config(
        &self,
        old: LinkConfig,
        row: &LinkRow,
        span: Range<usize>,
    ) -> Result<LinkConfig, ScenarioError> {
        let mut config = old;
        if let Some(mbps) = &row.mbps {
            let (number, place) = (*mbps.get_ref(), mbps.span());
            config.rate_bps = match (number * 1e6).round() {
                rate if (1.0..=1e15).contains(&rate) => rate as u64,
                f64::INFINITY => 0,
                _ => {
                    let text =
                        format!("mbps: {number} is no rate of 1e-6 to 1e9 Mb/s; inf takes no time");
                    return Err(self.source.error(place, text));
                }
            };
        }
        if let Some(delay_us) = row.delay_us {
            let delay = self.source.time("delay_us", delay_us / 1e6, &span)?;
            config.delay_ns = delay.0.max(1);
        }
        if let Some(jitter_us) = row.jitter_us {
            config.jitter_ns = self.source.time("jitter_us", jitter_us / 1e6, &span)?.0;
        }
        config.bursts = row.bursts.or(old.bursts);
        config.queue_frames = row.queue.unwrap_or(old.queue_frames);
        config.mark_frames = row.mark.unwrap_or(old.mark_frames);
        config.queue_bytes = row.queue_bytes.unwrap_or(old.queue_bytes);
        config.loss = row.loss.unwrap_or(old.loss);
        config.overhead_bytes = row.overhead.unwrap_or(old.overhead_bytes);
        check_link(&config).map_err(|error| self.source.error(span, error.to_string()))?;
        Ok(config)
    }

    /// Gives each end without a port the lowest free port of its node.
    fn give_ports(&self, links: &mut [PlannedLink]) -> Result<(), ScenarioError> {
        let mut taken: BTreeSet<(NodeId, u32)> = BTreeSet::new();
        for link in links.iter_mut() {
            for end in link.port_ends() {
                if let Some(port) = end.port
                    && !taken.insert((end.node, port))
                {
                    let node = self.network.name(end.node);
                    let text = format!("ends: port {port} of {node} has a link");
                    return Err(self.source.error(link.span.clone(), text));
                }
            }
        }
        let hosts: BTreeSet<NodeId> = self.hosts.iter().map(|host| host.node).collect();
        let mut next: BTreeMap<NodeId, u32> = BTreeMap::new();
        for link in links {
            let span = link.span.clone();
            for end in link.port_ends() {
                let port = next.entry(end.node).or_insert(1);
                while end.port.is_none() {
                    if taken.insert((end.node, *port)) {
                        end.port = Some(*port);
                    }
                    *port += 1;
                }
                if hosts.contains(&end.node) && end.port != Some(1) {
                    let node = self.network.name(end.node);
                    let text = format!("ends: {node} is a host, which has one link, at port 1");
                    return Err(self.source.error(span, text));
                }
            }
        }
        Ok(())
    }

    fn add_link(&mut self, link: PlannedLink) -> Result<(), ScenarioError> {
        let place = |end: PlannedEnd| NodePort {
            node: end.node,
            port: PortNo(end.port.expect("each end was given one")),
        };
        let [first, second] = link.ends;
        let added = if link.is_spare {
            let at = place(second);
            self.network.add_spare_link(first.node, at, link.config)
        } else {
            self.network
                .add_link(place(first), place(second), link.config)
        };
        let id = added.map_err(|error| {
            let text = format!("link {}: {error}", link.name);
            self.source.error(link.span.clone(), text)
        })?;
        self.names.add_link(&link.name, id);
        if link.is_spare {
            self.names.spare.push(id);
        }
        Ok(())
    }

    /// Plans the changes.
    pub(super) fn changes(&mut self) -> Result<(), ScenarioError> {
        let mut moved = 0;
        for row in &self.file.changes {
            let at = self.source.time("at", row.get_ref().at, &row.span())?;
            let change = row.get_ref();
            match (&change.link, &change.controller, &change.host) {
                (None, None, Some(_)) => {
                    self.plan_move(at, moved);
                    moved += 1;
                }
                (Some(link), None, None) if change.switch.is_none() => {
                    self.link_change(at, link, state_of(self.source, row)?)?;
                }
                (None, Some(controller), None) => {
                    let state = state_of(self.source, row)?;
                    self.connection_change(at, controller, state, change)?;
                }
                _ => {
                    let text =
                        "change: it needs one of link, controller, perhaps with switch, and host";
                    return Err(self.source.error(row.span(), text));
                }
            }
        }
        Ok(())
    }

    fn link_change(
        &mut self,
        at: Time,
        name: &Spanned<String>,
        state: &Spanned<String>,
    ) -> Result<(), ScenarioError> {
        let states = [
            ("up", LinkState::Up),
            ("down", LinkState::Down),
            ("silent", LinkState::Silent),
        ];
        let state = self.source.named(state, states.into_iter())?;
        let found = self.names.link(name.get_ref());
        let link = found.ok_or_else(|| self.source.about(name, "there is no such link"))?;
        let planned = self.network.plan(at, Change::Link(link, state));
        planned.expect("the link is there");
        Ok(())
    }

    fn connection_change(
        &mut self,
        at: Time,
        name: &Spanned<String>,
        state: &Spanned<String>,
        row: &ChangeRow,
    ) -> Result<(), ScenarioError> {
        let up = self
            .source
            .named(state, [("up", true), ("down", false)].into_iter())?;
        let known = self.names.controller(name.get_ref());
        let controller =
            known.ok_or_else(|| self.source.about(name, "there is no such controller"))?;
        let pattern = row.switch.as_ref().map_or("*", |switch| switch.get_ref());
        let mut found = false;
        for switch in self.names.matching_switches(pattern) {
            let change = if up {
                Change::Connect(switch, controller)
            } else {
                Change::Disconnect(switch, controller)
            };
            found |= self.network.plan(at, change).is_ok();
        }
        if !found {
            return Err(self.source.about(name, "it has no such switch"));
        }
        Ok(())
    }
}

/// The state that a row sets. Errors: it has none, or what only a move has.
fn state_of<'r>(
    source: ScenarioText<'_>,
    row: &'r Spanned<ChangeRow>,
) -> Result<&'r Spanned<String>, ScenarioError> {
    let change = row.get_ref();
    if change.to.is_some() || change.announce.is_some() {
        let text = "change: only a host has to and announce";
        return Err(source.error(row.span(), text));
    }
    let state = change.state.as_ref();
    state.ok_or_else(|| source.error(row.span(), "change: state is missing"))
}
