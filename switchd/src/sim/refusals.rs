//! What switches of a simulation refuse of their controllers, for the report at the end.

use std::sync::Arc;

use bofuss_oflib::{Catalogue, Message};
use bofuss_sim::controller::ControlData;
use bofuss_sim::{EventKind, LogEvent, NetworkNames};

/// The most refusals that are printed.
const SHOWN: usize = 10;

/// The first refusals in words, and the number of all.
pub struct Refusals {
    names: NetworkNames,
    catalogue: Arc<Catalogue>,
    first: Vec<String>,
    count: usize,
}

impl Refusals {
    /// None so far, of a network with these names.
    pub fn new(names: NetworkNames, catalogue: Arc<Catalogue>) -> Self {
        Self {
            names,
            catalogue,
            first: Vec::new(),
            count: 0,
        }
    }

    /// Takes an event, if it is an ERROR that arrives at a controller of the simulator.
    pub fn add(&mut self, event: &LogEvent<'_>) {
        let EventKind::ToController(node, controller, data) = event.kind else {
            return;
        };
        let ControlData::Message(xid, Message::Error(error)) = data else {
            return;
        };
        self.count += 1;
        if self.first.len() < SHOWN {
            let mut switches = self.names.switches.iter();
            let switch = switches.find(|(_, id)| *id == node);
            let switch = switch.map_or("", |(name, _)| name.as_str());
            let controllers = &self.names.controllers;
            let controller = controllers.get(controller.0 as usize);
            let controller = controller.map_or("", |name| name.as_str());
            let why = self.catalogue.error_text(error.error);
            let text = format!("switch {switch} refuses message {xid} of {controller}: {why}");
            self.first.push(text);
        }
    }

    /// The first refusals, a line each, and how many more there were.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.first.clone();
        match self.count - lines.len() {
            0 => {}
            more => lines.push(format!("{more} more messages of controllers were refused")),
        }
        lines
    }
}
