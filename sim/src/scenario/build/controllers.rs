//! The controllers of a scenario.

use bofuss_oflib::Message;

use super::{Builder, Outside};
use crate::controller::{Controller, LearningController, RulesController};
use crate::link::NodeId;
use crate::network::Change;
use crate::scenario::ScenarioError;
use crate::scenario::file::ControllerRow;

impl Builder<'_> {
    /// Adds the controllers, and plans their connections.
    pub(super) fn controllers(&mut self, outside: &mut dyn Outside) -> Result<(), ScenarioError> {
        for row in &self.file.controllers {
            let span = row.span();
            let row = row.get_ref();
            let switches = self.switches_of(row)?;
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
            if found.is_empty() {
                return Err(self.source.about(pattern, "there is no such switch"));
            }
            switches.extend(found);
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
}
