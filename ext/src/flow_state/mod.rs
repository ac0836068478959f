//! Per-flow state: a `set_flow_state` action, a `flow_state` field, idle timeouts, a message that
//! lists states.
//!
//! A flow is a pair of Ethernet addresses. Its state is 0 until the action sets it.

use alloc::{boxed::Box, vec, vec::Vec};

use bofuss_datapath::{ControlContext, Hook, HookContext, HookEffect, Time, Trial, Verdict};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{Arg, ExtKind, ExtRow};
use bofuss_oflib::field::{ETH_DST, ETH_SRC};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Field, PortNo};
use bofuss_packet::Shares;

use crate::common::trial_map::TrialMap;

/// This extension's number as an experimenter: a locally administered OUI.
pub const EXPERIMENTER: u32 = 0x0062_6f73;
/// The most flows with a state, of which the packets of one port make at most its [share](Shares);
/// `set_flow_state` for a further one is only counted.
pub const MAX_STATES: usize = 65_536;

/// The `flow_state` field, 32 bits, with mask.
pub static FIELDS: [Field; 1] = [Field::extension(EXPERIMENTER, 0, "flow_state", 32, true)];

/// `set_flow_state(state=S,idle_timeout=SECONDS)` (timeout 0: none; state 0: the flow is
/// forgotten), the message that requests the states, and its answer.
pub static VALUES: [ExtRow; 3] = [
    ExtRow::new(ExtKind::Action, EXPERIMENTER, 1, "set_flow_state")
        .with_args(&[Arg::new("state", 4), Arg::new("idle_timeout", 4)]),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 2, "state_request")
        .with_usage("", "the states of flows"),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 3, "state_reply")
        .with_args(&[Arg::new("flows", 4), Arg::new("refused", 4)])
        .with_data(),
];

/// The index in [`VALUES`] of the message that requests the states.
const STATE_REQUEST: usize = 1;

/// Nanoseconds between two searches for idle flows that make room for others: the limit of the work
/// that packets can cause.
const SEARCH_INTERVAL: u64 = Time::SEC;

/// The most states that one answer lists, at 16 bytes each: source, destination, state.
const MAX_LISTED: usize = 4000;

/// Ethernet source and destination address.
type FlowAddresses = (u64, u64);

#[derive(Clone)]
struct State {
    value: u32,
    idle_ns: u64,
    used: Time,
    /// The port in whose share it counts.
    port: PortNo,
}

impl State {
    fn lives(&self, now: Time) -> bool {
        self.idle_ns == 0 || now.since(self.used) < self.idle_ns
    }
}

/// Makes the hook, with no states. Panics: if `catalogue` lacks [`FIELDS`].
pub fn hook(catalogue: &Catalogue) -> Box<dyn Hook> {
    let field = catalogue.field(EXPERIMENTER, 0);
    Box::new(FlowState {
        field: field.expect("the catalogue has this extension"),
        states: TrialMap::default(),
        shares: Shares::default(),
        search_at: Time(0),
        refused: 0,
    })
}

/// The states of all flows.
struct FlowState {
    field: &'static Field,
    states: TrialMap<FlowAddresses, State>,
    /// The number of states of each port.
    shares: Shares,
    /// The time from which idle flows may be searched to make room for others.
    search_at: Time,
    refused: u32,
}

impl FlowState {
    /// Removes the state of a flow.
    fn forget(&mut self, trial: Trial, flow: &FlowAddresses) {
        if let Some(state) = self.states.remove(trial, flow) {
            self.shares.give_back(state.port, 1);
        }
    }

    /// Removes the states that were idle for too long.
    fn forget_idle(&mut self, now: Time) {
        self.states.live_mut().retain(|_, state| {
            let lives = state.lives(now);
            if !lives {
                self.shares.give_back(state.port, 1);
            }
            lives
        });
    }

    /// Returns true if a port has room for one more state, perhaps after a search for idle ones.
    fn has_room(&mut self, trial: Trial, now: Time, port: PortNo) -> bool {
        let has_room = self.shares.allow(MAX_STATES, port, 1);
        if has_room || trial.is_dry() || now < self.search_at {
            return has_room;
        }
        self.search_at = now.after(SEARCH_INTERVAL);
        self.forget_idle(now);
        self.shares.allow(MAX_STATES, port, 1)
    }

    /// Sets the state of a flow. Returns false if it has none and its port has no room for one.
    fn set(&mut self, trial: Trial, flow: FlowAddresses, mut state: State) -> bool {
        if let Some(before) = self.states.get(trial, &flow) {
            state.port = before.port;
        } else if !self.has_room(trial, state.used, state.port) {
            return false;
        } else if !trial.is_dry() {
            self.shares.take(state.port, 1);
        }
        self.states.insert(trial, flow, state);
        true
    }
}

fn flow(cx: &mut HookContext<'_>) -> FlowAddresses {
    let source = cx.get(ETH_SRC).unwrap_or(0);
    let destination = cx.get(ETH_DST).unwrap_or(0);
    (source as u64, destination as u64)
}

impl Hook for FlowState {
    fn name(&self) -> &'static str {
        "flow_state"
    }

    fn effect(&self, table: TableId) -> HookEffect {
        if table == TableId(0) && !self.states.live().is_empty() {
            HookEffect::Branch
        } else {
            HookEffect::None
        }
    }

    fn only_prepares(&self) -> bool {
        true
    }

    fn generation(&self) -> u64 {
        u64::from(self.states.live().is_empty())
    }

    /// Sets the packet's field to the state of its flow, or forgets a state that was idle for too
    /// long.
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        let flow = flow(cx);
        match self.states.get_mut(cx.trial(), &flow) {
            Some(state) if state.lives(cx.now) => {
                state.used = cx.now;
                cx.set(self.field, state.value.into());
            }
            Some(_) => self.forget(cx.trial(), &flow),
            None => {}
        }
        Verdict::Continue
    }

    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, value: &ExtValue) -> Verdict {
        let flow = flow(cx);
        let trial = cx.trial();
        let state = value.args[0] as u32;
        if state == 0 {
            self.forget(trial, &flow);
        } else {
            let state = State {
                value: state,
                idle_ns: value.args[1] * Time::SEC,
                used: cx.now,
                port: cx.in_port(),
            };
            if !self.set(trial, flow, state) && !cx.is_dry() {
                self.refused = self.refused.saturating_add(1);
            }
        }
        cx.set(self.field, state.into());
        Verdict::Continue
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        _: &ExtValue,
    ) -> Result<(), ErrorCode> {
        if row != STATE_REQUEST {
            return Err(BadRequest::BAD_EXP_TYPE);
        }
        self.forget_idle(cx.now);
        let states = self.states.live();
        let mut data = Vec::new();
        for ((source, destination), state) in states.iter().take(MAX_LISTED) {
            data.extend_from_slice(&source.to_be_bytes()[2..]);
            data.extend_from_slice(&destination.to_be_bytes()[2..]);
            data.extend_from_slice(&state.value.to_be_bytes());
        }
        let args = vec![states.len() as u64, self.refused.into()];
        cx.reply(ExtValue::new(&VALUES[2], args, Bytes(data)));
        Ok(())
    }
}
