//! `bofuss sim`: runs a scenario, or lets one of its switches stand still at a moment.

use std::path::PathBuf;
use std::sync::Arc;

use bofuss_datapath::Time;
use bofuss_ext::Switch;
use bofuss_oflib::{Catalogue, Codec, Version};
use bofuss_sim::controller::ControlData;
use bofuss_sim::{ControllerId, EventKind, LogEvent, NodeId, Observer};

use super::progress::Progress;
use super::tcp_controller::Lateness;
use super::{SimOptions, read_scenario, until};
use crate::config::Options;
use crate::error::{Result, context};
use crate::past::{KeepMessage, PastMessage, PastMoment, system_time};
use crate::runtime::with_runtime;
use crate::still;

/// Does what the options say. Errors: a sentence for the user.
pub fn run(options: SimOptions) -> Result<()> {
    let Some(switch) = options.serve else {
        return options.run();
    };
    let moment = SimulatedMoment {
        file: options.file,
        seed: options.seed,
        switch,
        until: options.until,
    };
    with_runtime(moment.serve())
}

/// A scenario, one of its switches, and the time in seconds up to which it runs, if not to its end.
#[derive(Debug)]
struct SimulatedMoment {
    file: PathBuf,
    seed: Option<u64>,
    switch: String,
    until: Option<f64>,
}

impl SimulatedMoment {
    /// Serves the switch by the sockets of its name. Errors: those of the scenario; it has no such
    /// switch; those of [`still::serve`].
    async fn serve(self) -> Result<()> {
        let what = self.file.display().to_string();
        let options = Options {
            name: Some(self.switch.clone()),
            ..Options::default()
        };
        still::serve(options, None, &what, self).await
    }
}

impl PastMoment for SimulatedMoment {
    fn reached(&self, keep: KeepMessage<'_>) -> Result<(Time, Switch)> {
        let name = self.file.display();
        let lateness = Lateness::default();
        let mut scenario = read_scenario(&self.file, self.seed, false, &lateness)?;
        let switches = &scenario.names().switches;
        let known = switches.iter().find(|(known, _)| *known == self.switch);
        let Some((_, node)) = known.cloned() else {
            let names: Vec<&str> = switches.iter().map(|(name, _)| &name[..]).collect();
            let all = names.join(", ");
            return Err(format!("--serve '{}': the scenario has {all}", self.switch).into());
        };
        let end = until(self.until, scenario.end())?;
        let mut messages = SimulatedMessages {
            node,
            controllers: scenario.names().controllers.clone(),
            catalogue: scenario.catalogue().clone(),
            keep,
            progress: Progress::begin(end)?,
        };
        let run = scenario.run_until(end, &mut messages);
        messages.progress.finish();
        run.map_err(context(name))?;
        let switch = scenario.into_switch(node);
        let switch = switch.ok_or("--serve: a switch with a P4 program has no such tables")?;
        Ok((end, switch.into_switch()))
    }
}

/// Passes on the messages of a switch of a simulation.
struct SimulatedMessages<'a> {
    node: NodeId,
    controllers: Vec<String>,
    catalogue: Arc<Catalogue>,
    keep: KeepMessage<'a>,
    progress: Progress,
}

impl SimulatedMessages<'_> {
    fn pass_on(
        &mut self,
        at: Time,
        node: NodeId,
        controller: ControllerId,
        is_received: bool,
        data: &ControlData,
    ) {
        let peer = self.controllers.get(controller.0 as usize);
        if let (true, Some(peer), Some(bytes)) = (node == self.node, peer, self.bytes(data)) {
            (self.keep)(PastMessage {
                at: system_time(0, at),
                peer,
                is_received,
                bytes: &bytes,
            });
        }
    }

    /// The bytes of what a control link carried. A message that has no version there gets the first
    /// of these that can express it.
    fn bytes(&self, data: &ControlData) -> Option<Vec<u8>> {
        let (xid, message) = match data {
            ControlData::Bytes(bytes) => return Some(bytes.clone()),
            ControlData::Message(xid, message) => (*xid, message),
        };
        let mut versions = [Version::V1_3, Version::NEWEST].into_iter();
        versions.find_map(|version| {
            let mut bytes = Vec::new();
            let codec = Codec::new(version, self.catalogue.clone());
            codec.encode(xid, message, &mut bytes).ok()?;
            Some(bytes)
        })
    }
}

impl Observer for SimulatedMessages<'_> {
    fn event(&mut self, event: &LogEvent<'_>) {
        match event.kind {
            EventKind::ToSwitch(node, of, data) => self.pass_on(event.at, node, of, true, data),
            EventKind::ToController(node, of, data) => {
                self.pass_on(event.at, node, of, false, data);
            }
            EventKind::Sent(..)
            | EventKind::Arrived(..)
            | EventKind::Dropped(..)
            | EventKind::Link(..)
            | EventKind::Connected(..)
            | EventKind::Disconnected(..)
            | EventKind::Host(..)
            | EventKind::Controller(..) => {}
        }
    }

    fn goes_on(&mut self, now: Time, events: u64) -> bool {
        self.progress.goes_on(now, events)
    }
}
