//! How packets are divided among the replicas of a switch, so that those of a flow or a state are
//! in one; and why all have to be in one replica, if they have.

use alloc::vec::Vec;
use core::fmt;

use bofuss_oflib::Action;
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::types::TableId;

use super::Replica;
use crate::flow_states::{Agreement, DispatchFields, StateKey, TakenStates};
use crate::frame_engine::FrameEngine;
use crate::groups::actions_of;
use crate::hook::HookPoint;
use crate::{Algorithm, HookEffect};

/// By what packets are to be divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DispatchBy {
    /// By what the pipeline allows: flows, or the fields of its states.
    #[default]
    Auto,
    /// By addresses, protocol and ports.
    FiveTuple,
    /// By the ingress port.
    Port,
    /// By these fields.
    Fields(DispatchFields),
}

/// By what packets are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// By addresses, protocol and ports.
    Flows,
    /// By the ingress port.
    Port,
    /// By these fields.
    Fields(DispatchFields),
}

/// The reason why a switch needs all packets in one worker: what replicas cannot do each for
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneWorker {
    /// A port with queues has one order of frames.
    Queues,
    /// The fragments of a packet must meet.
    Reassembly,
    /// NORMAL learns addresses.
    Normal,
    /// A select group does not choose by the flow.
    Selection,
    /// An extension, which this names, may have a state that is not one of flows.
    Extension(&'static str),
    /// Packets of one state may be in several workers, for this reason.
    States(&'static str),
    /// Flows are not known by packets without an Ethernet header.
    PacketType,
}

/// The name of an extension that is not known.
const UNNAMED: &str = "an extension";

impl fmt::Display for OneWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why: &str = match self {
            Self::Queues => "a port has queues, in which frames have one order",
            Self::Reassembly => "fragments are reassembled",
            Self::Normal => "NORMAL learns addresses",
            Self::Selection => "a select group chooses by the packet instead of the flow",
            Self::Extension(name) => return write!(f, "{name} acts, which may have a state"),
            Self::States(why) => why,
            Self::PacketType => "a port's packets have no Ethernet header",
        };
        f.write_str(why)
    }
}

impl<E: FrameEngine> Replica<'_, E> {
    /// Returns how packets are to be divided. Errors: why all have to be in one worker.
    pub fn division(&mut self, by: DispatchBy) -> Result<Division, OneWorker> {
        if let Some(why) = self.one_worker() {
            return Err(why);
        }
        let Some(agreement) = self.agreement()? else {
            return Ok(match by {
                DispatchBy::Auto | DispatchBy::FiveTuple => Division::Flows,
                DispatchBy::Port => Division::Port,
                DispatchBy::Fields(fields) => Division::Fields(fields),
            });
        };
        let by_port = agreement.same_port.then_some(Division::Port);
        let division = match by {
            DispatchBy::Auto => agreement.fields().map(Division::Fields).or(by_port),
            DispatchBy::FiveTuple => None,
            DispatchBy::Port => by_port,
            DispatchBy::Fields(fields) if fields.are_in(agreement.same) => {
                Some(Division::Fields(fields))
            }
            DispatchBy::Fields(_) => None,
        };
        let unlike = "packets of one state do not agree in what they would be divided by";
        let division = division.ok_or(OneWorker::States(unlike))?;
        let uses = &self.pipeline.field_uses;
        if let Division::Fields(fields) = division {
            let changes = fields.fields().any(|field| uses.sets(field) > 0);
            if changes || uses.alone.reshapes > 0 {
                let why = "entries change fields by which states are found";
                return Err(OneWorker::States(why));
            }
        }
        Ok(division)
    }

    /// Returns in what packets of one state agree; `None` if packets have no states. Errors: why
    /// all packets have to be in one worker.
    fn agreement(&mut self) -> Result<Option<Agreement>, OneWorker> {
        let mut agreement: Option<Agreement> = None;
        for hook in self.hooks.all.iter_mut() {
            let Some(states) = hook.flow_states() else {
                continue;
            };
            if let Some(one) = states.agreement().map_err(OneWorker::States)? {
                agreement = Some(agreement.map_or(one, |all| all.and(one)));
            }
        }
        let mut groups = self.pipeline.groups.values();
        let is_own = |action: &Action| matches!(action, Action::Experimenter(_));
        if agreement.is_some() && groups.any(|group| actions_of(&group.plans).any(is_own)) {
            return Err(OneWorker::States("a group has an action of an extension"));
        }
        Ok(agreement)
    }

    /// Returns what replicas cannot do whatever packets are divided by.
    fn one_worker(&mut self) -> Option<OneWorker> {
        let pipeline = &*self.pipeline;
        let config = &pipeline.config;
        let chooses_by_packet = || {
            let mut groups = pipeline.groups.values();
            let by_flow = config.select == Algorithm::Hash && config.group_select.is_empty();
            !by_flow && groups.any(|group| group.selector.is_per_packet())
        };
        let reasons = [
            (!self.queues.ports.is_empty(), OneWorker::Queues),
            (
                pipeline.fragments.has(ConfigFlags::FRAG_REASM),
                OneWorker::Reassembly,
            ),
            (pipeline.field_uses.alone.normal > 0, OneWorker::Normal),
            (chooses_by_packet(), OneWorker::Selection),
            (
                pipeline.ports.values().any(|port| port.without_ethernet),
                OneWorker::PacketType,
            ),
        ];
        let first = reasons.into_iter().find_map(|(is, why)| is.then_some(why));
        first.or_else(|| self.acting_extension().map(OneWorker::Extension))
    }

    /// Returns the name of an extension that acts and has no states of flows, other than by setting
    /// fields that depend on the packet alone.
    fn acting_extension(&mut self) -> Option<&'static str> {
        let n_hooks = self.hooks.all.len();
        let divides: Vec<bool> = (0..n_hooks).map(|number| self.divides(number)).collect();
        let (hooks, alone) = (&*self.hooks, &self.pipeline.field_uses.alone);
        let mut tables = (0..self.pipeline.tables.len()).map(|number| TableId(number as u8));
        let acting_in = |table| {
            let before = hooks.at(table, HookPoint::BeforeLookup);
            let after = hooks.at(table, HookPoint::AfterHit);
            let mut all = before.iter().chain(after).chain(hooks.at_miss(table));
            let acting = all.find(|(hook, effect)| *effect > HookEffect::Pure && !divides[*hook]);
            acting.map(|(hook, _)| *hook)
        };
        let at_egress = || hooks.at_egress.first().copied();
        if let Some(hook) = tables.find_map(acting_in).or_else(at_egress) {
            return Some(hooks.all[hook].name());
        }
        let mut rows = alone.actions.iter().map(|(row, _)| hooks.of(row));
        match rows.find(|hook| !hook.is_some_and(|(hook, _)| divides[hook])) {
            Some(Some((hook, _))) => Some(hooks.all[hook].name()),
            Some(None) => Some(UNNAMED),
            None => (alone.instructions > 0).then_some(UNNAMED),
        }
    }

    /// Returns true if a hook has states of flows, which replicas can divide.
    fn divides(&mut self, hook: usize) -> bool {
        self.hooks.all[hook].flow_states().is_some()
    }

    /// Takes the states of flows of all hooks.
    pub fn take_states(&mut self) -> Vec<TakenStates> {
        let hooks = self.hooks.all.iter_mut();
        let states = hooks.filter_map(|hook| hook.flow_states());
        states.map(|states| states.take()).collect()
    }

    /// Adds all states of flows that a follower had.
    pub fn add_states(&mut self, taken: &[TakenStates]) {
        self.add_some(taken, &|_| true);
    }

    /// Replaces the states of flows by those of the leader that replica number `number` of `count`
    /// has with this division.
    pub fn keep_states(
        &mut self,
        taken: &[TakenStates],
        division: Division,
        (number, count): (usize, usize),
    ) {
        drop(self.take_states());
        let secret = self.pipeline.config.secret;
        self.add_some(taken, &|key| {
            let owner = match division {
                Division::Flows => 0,
                Division::Port => replica_of_port(key.port().unwrap_or(0), count),
                Division::Fields(fields) => fields.replica_of_key(key, (count, secret)),
            };
            owner == number
        });
    }

    fn add_some(&mut self, taken: &[TakenStates], is_own: &dyn Fn(&dyn StateKey) -> bool) {
        let hooks = self.hooks.all.iter_mut();
        let states = hooks.filter_map(|hook| hook.flow_states());
        for (states, taken) in states.zip(taken) {
            states.add(taken, is_own);
        }
    }
}

/// The replica of `count` that has the packets of a port.
pub fn replica_of_port(port: u32, count: usize) -> usize {
    port as usize % count
}
