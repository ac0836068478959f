//! Checks of a scenario's keys against each other, and the loops in which frames never end.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;

use super::Builder;
use crate::link::NodeId;
use crate::scenario::ScenarioError;
use crate::scenario::file::{AssertionRow, ScenarioFile};
use crate::scenario::names::matches;
use crate::traffic::TrafficRow;

/// The most events of a scenario with loops that nothing breaks, unless it has `max_events`.
const STORM_EVENTS: u64 = 10_000_000;
/// The smallest pool: of some hundred frames.
const MIN_POOL_BYTES: usize = 1 << 20;

impl Builder<'_> {
    /// Checks what each key alone does not show. Errors: the first mistake.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        let file = self.file;
        if let Some(most) = &file.max_events
            && *most.get_ref() == 0
        {
            let text = "max_events: 0 events are no run";
            return Err(self.source.error(most.span(), text));
        }
        if let Some(pool) = &file.pool_bytes
            && *pool.get_ref() < MIN_POOL_BYTES
        {
            let text = format!("pool_bytes: at least {MIN_POOL_BYTES}");
            return Err(self.source.error(pool.span(), text));
        }
        let defaults = &file.defaults.switch;
        let named = [&defaults.name, &defaults.p4, &defaults.entries];
        let places = named.into_iter().flatten().map(Spanned::span);
        let places = places.chain(defaults.dpid.as_ref().map(Spanned::span));
        let mut places = places.chain(defaults.queues.as_ref().map(Spanned::span));
        let place = places.next();
        if let Some(place) = place.or(defaults.flows.first().map(Spanned::span)) {
            let text = "defaults.switch: name, dpid, flows, p4, entries and queues are of a \
                        [[switch]] only";
            return Err(self.source.error(place, text));
        }
        for row in &file.traffic {
            let (start, stop) = times(row.get_ref());
            self.check_within("traffic: start", start, row.span())?;
            if let Some(stop) = stop
                && stop <= start
            {
                let text = format!("traffic: stop {stop} is not after start {start}");
                return Err(self.source.error(row.span(), text));
            }
            if let (key, Some(0)) = amount(row.get_ref()) {
                let text = format!("traffic: {key} is at least 1");
                return Err(self.source.error(row.span(), text));
            }
        }
        for row in &file.controllers {
            self.check_within("controller: start", row.get_ref().start, row.span())?;
        }
        for row in &file.changes {
            self.check_within("change: at", row.get_ref().at, row.span())?;
        }
        for row in &file.assertions {
            check_assertion(row.get_ref()).map_err(|text| self.source.error(row.span(), text))?;
        }
        Ok(())
    }

    /// Errors: a time is after the end of the run.
    fn check_within(&self, key: &str, at: f64, span: Range<usize>) -> Result<(), ScenarioError> {
        let end = *self.file.end.get_ref();
        if at > end {
            let text = format!("{key} {at} is after the end, {end}");
            return Err(self.source.error(span, text));
        }
        Ok(())
    }

    /// Says which loops have switches only that flood, and bounds such a run.
    pub(super) fn find_storms(&mut self) {
        let flooding = self.flooding();
        let mut group: Vec<usize> = (0..self.network.nodes.len()).collect();
        let mut closing = Vec::new();
        for (at, pair) in self.network.transmitters.chunks(2).enumerate() {
            let ends = [pair[0].from.node, pair[0].to.node];
            let name = self.names.links.get(at).map_or("", |name| name.as_str());
            if ends.iter().any(|end| !flooding.contains(end)) || is_down_at_first(self.file, name) {
                continue;
            }
            let [first, second] = ends.map(|end| root(&mut group, end.0 as usize));
            if first == second {
                closing.push(name.to_string());
            }
            group[second] = first;
        }
        let Some(first) = closing.first() else {
            return;
        };
        let others = match closing.len() {
            1 => String::new(),
            count => format!(", and {} others", count - 1),
        };
        let mut text = format!(
            "link {first} closes a loop{others}, and all switches in it flood: a broadcast goes \
             round for ever, as nothing breaks the loop"
        );
        if self.file.max_events.is_none() {
            self.network.config.max_events = STORM_EVENTS;
            text +=
                &format!("; the run ends after {STORM_EVENTS} events, unless max_events is set");
        }
        self.warnings.push(text);
    }

    /// The switches that flood what they do not know: those of controllers that let them learn, and
    /// without a controller those of fail mode `standalone`.
    fn flooding(&self) -> BTreeSet<NodeId> {
        let mut flooding = BTreeSet::new();
        for (name, node) in &self.names.switches {
            if self.network.p4_switch(*node).is_some() {
                continue;
            }
            let mut controllers = self.file.controllers.iter().map(|row| row.get_ref());
            let is_of = |patterns: &[Spanned<String>]| {
                let mut patterns = patterns.iter();
                patterns.any(|pattern| matches(pattern.get_ref(), name))
            };
            let mut kinds = controllers.by_ref().filter(|row| is_of(&row.switches));
            let floods = match kinds.next() {
                Some(row) => row.kind.get_ref() == "learning",
                None => fail_mode_of(self.file, name) == Some("standalone"),
            };
            if floods {
                flooding.insert(*node);
            }
        }
        flooding
    }
}

/// The one that stands for all nodes which links join with `node`.
fn root(group: &mut [usize], mut node: usize) -> usize {
    while group[node] != node {
        group[node] = group[group[node]];
        node = group[node];
    }
    node
}

/// When traffic starts, and when it stops if it does.
fn times(row: &TrafficRow) -> (f64, Option<f64>) {
    match row {
        TrafficRow::Ping(row) => (row.start, row.stop),
        TrafficRow::Udp(row) => (row.start, row.stop),
        TrafficRow::Tcp(row) => (row.start, row.stop),
    }
}

/// The most that traffic sends, with its key.
fn amount(row: &TrafficRow) -> (&'static str, Option<u64>) {
    match row {
        TrafficRow::Ping(row) => ("count", row.count),
        TrafficRow::Udp(row) => ("count", row.count),
        TrafficRow::Tcp(row) => ("size", row.size),
    }
}

/// Errors: the assertion holds for all values, or for none.
fn check_assertion(row: &AssertionRow) -> Result<(), String> {
    match (row.is, row.min, row.max) {
        (None, None, None) => Err("assert: it needs is, min or max".into()),
        (_, Some(least), Some(most)) if least > most => {
            Err(format!("assert: min {least} is above max {most}"))
        }
        _ => Ok(()),
    }
}

/// The fail mode that the last row of a switch has, or that of the defaults.
fn fail_mode_of<'f>(file: &'f ScenarioFile, name: &str) -> Option<&'f str> {
    let of_default = file.defaults.switch.fail_mode.as_ref();
    let mut mode = of_default.map(|mode| mode.get_ref().as_str());
    for row in file.switches.iter().map(|row| row.get_ref()) {
        let pattern = row.name.as_ref().map_or("", |name| name.get_ref());
        if let Some(said) = &row.fail_mode
            && matches(pattern, name)
        {
            mode = Some(said.get_ref());
        }
    }
    mode
}

/// Returns true if a change at time 0 takes a link down.
fn is_down_at_first(file: &ScenarioFile, name: &str) -> bool {
    let mut changes = file.changes.iter().map(|row| row.get_ref());
    changes.any(|row| {
        let link = row.link.as_ref().map(|link| link.get_ref().as_str());
        let state = row.state.as_ref().map(|state| state.get_ref().as_str());
        link == Some(name) && row.at == 0.0 && state != Some("up")
    })
}
