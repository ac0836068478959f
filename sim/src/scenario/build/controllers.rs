//! The controllers of a scenario.

use std::ops::Range;

use bofuss_oflib::{Message, Version};

use super::{Builder, Outside};
use crate::controller::{
    Controller, LearningController, PathChoice, PathGraph, PathsController, RulesController,
};
use crate::link::{NodeId, NodePort};
use crate::network::Change;
use crate::scenario::ScenarioError;
use crate::scenario::file::ControllerRow;

impl Builder<'_> {
    /// Adds the controllers, and plans their connections.
    pub(super) fn controllers(&mut self, outside: &mut dyn Outside) -> Result<(), ScenarioError> {
        for row in &self.file.controllers {
            let span = row.span();
            let row = row.get_ref();
            self.source.check_letters(&row.name)?;
            let switches = self.switches_of(row)?;
            self.check_keys(row, &span)?;
            let controller = self.controller(row, &switches, outside)?;
            let id = self.network.add_controller(controller);
            if !self.names.add_controller(row.name.get_ref(), id) {
                return Err(self.source.about(&row.name, "there are two with this name"));
            }
            let delay = self.source.time("delay_us", row.delay_us / 1e6, &span)?;
            let start = self.source.time("start", row.start, &span)?;
            for switch in switches {
                let added = self
                    .network
                    .add_control_link(switch, id, delay.0, row.version);
                added.expect("the switch is there");
                let planned = self.network.plan(start, Change::Connect(switch, id));
                planned.expect("they have a control link");
            }
        }
        Ok(())
    }

    fn switches_of(&self, row: &ControllerRow) -> Result<Vec<NodeId>, ScenarioError> {
        let mut switches = Vec::new();
        for pattern in &row.switches {
            let found = self.names.matching_switches(pattern.get_ref());
            if found.is_empty() && pattern.span().is_empty() {
                return Err(self.source.about(&row.name, "there is no switch for it"));
            }
            if found.is_empty() {
                return Err(self.source.about(pattern, "there is no such switch"));
            }
            let before = switches.len();
            let speak = |id: &NodeId| self.network.p4_switch(*id).is_none();
            switches.extend(found.into_iter().filter(speak));
            if switches.len() == before {
                let text = "it has a P4 program, and no controller of OpenFlow";
                return Err(self.source.about(pattern, text));
            }
        }
        switches.sort();
        switches.dedup();
        Ok(switches)
    }

    fn controller(
        &self,
        row: &ControllerRow,
        switches: &[NodeId],
        outside: &mut dyn Outside,
    ) -> Result<Box<dyn Controller>, ScenarioError> {
        match row.kind.get_ref().as_str() {
            "learning" => Ok(Box::<LearningController>::default()),
            "shortest-path" => self.paths(PathChoice::Shortest, row, switches),
            "ecmp" => self.paths(PathChoice::Ecmp, row, switches),
            "rules" => {
                let mut messages: Vec<Message> = Vec::new();
                for (_, message) in self.messages(&row.flows)? {
                    messages.push(message);
                }
                let mut controller = RulesController::default();
                for &switch in switches {
                    controller.add(switch, messages.clone());
                }
                Ok(Box::new(controller))
            }
            _ => {
                let made = outside.controller(row);
                made.map_err(|error| self.source.about(&row.kind, &error.text))
            }
        }
    }

    /// Errors: a key that a controller of this kind does not have.
    fn check_keys(&self, row: &ControllerRow, span: &Range<usize>) -> Result<(), ScenarioError> {
        let kind = row.kind.get_ref().as_str();
        let foreign = match kind {
            _ if row.address.is_some() && kind != "tcp" => "address",
            _ if row.file.is_some() && kind != "python" => "file",
            _ if !row.flows.is_empty() && kind != "rules" => "flows",
            _ => return Ok(()),
        };
        let text = format!("controller: one of kind {kind} has no {foreign}");
        Err(self.source.error(span.clone(), text))
    }

    /// A controller that knows the links and hosts of its switches.
    fn paths(
        &self,
        choice: PathChoice,
        row: &ControllerRow,
        switches: &[NodeId],
    ) -> Result<Box<dyn Controller>, ScenarioError> {
        if row.version < Version::V1_3 {
            let text = format!("it needs OpenFlow 1.3 or later, and not {}", row.version);
            return Err(self.source.about(&row.kind, &text));
        }
        let mut graph = PathGraph::new(switches.iter().copied());
        for pair in self.network.transmitters.chunks(2) {
            let (first, second) = (pair[0].from, pair[0].to);
            match (graph.has(first.node), graph.has(second.node)) {
                (true, true) => graph.add_link(first, second),
                (true, false) => self.add_place(&mut graph, second.node, first),
                (false, true) => self.add_place(&mut graph, first.node, second),
                (false, false) => {}
            }
        }
        Ok(Box::new(PathsController::new(choice, graph)))
    }

    /// Adds the port at which a host is, if the node is one.
    fn add_place(&self, graph: &mut PathGraph, node: NodeId, at: NodePort) {
        if let Some(host) = self.hosts.iter().find(|host| host.node == node) {
            graph.add_host(host.config.addresses.mac, at);
        }
    }
}
