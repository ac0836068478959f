//! Per-flow state: a `set_flow_state` action, a `flow_state` field, idle timeouts, a message that
//! lists states.
//!
//! The flow is the pair of Ethernet addresses. A packet has the state of its flow; without one, 0.

use alloc::{boxed::Box, vec, vec::Vec};

use bofuss_datapath::{ControlContext, Hook, HookEffect, Time, Verdict};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{Arg, ExtKind, ExtRow};
use bofuss_oflib::field::{ETH_DST, ETH_SRC};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Field};
use bofuss_packet::Packet;
use hashbrown::HashMap;

/// This extension's number as an experimenter: a locally administered OUI.
pub const EXPERIMENTER: u32 = 0x0062_6f73;
/// The most flows that have a state; `set_flow_state` on a further one is counted and does nothing.
pub const MAX_STATES: usize = 65_536;

/// The `flow_state` field, 32 bits, with mask.
pub static FIELDS: [Field; 1] = [Field::extension(EXPERIMENTER, 0, "flow_state", 32, true)];

/// `set_flow_state(state=S,idle_timeout=SECONDS)` (0 is for ever; state 0 forgets the flow), the
/// message that asks for the states and its answer.
pub static VALUES: [ExtRow; 3] = [
    ExtRow::new(ExtKind::Action, EXPERIMENTER, 1, "set_flow_state")
        .with_args(&[Arg::new("state", 4), Arg::new("idle_timeout", 4)]),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 2, "state_request"),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 3, "state_reply")
        .with_args(&[Arg::new("flows", 4), Arg::new("refused", 4)])
        .with_data(),
];

/// The place of the message that asks in [`VALUES`].
const STATE_REQUEST: usize = 1;

/// States that one answer lists at most, at 16 bytes each: source, destination, state.
const MAX_LISTED: usize = 4000;

/// Source and destination address.
type Flow = (u64, u64);

struct State {
    value: u32,
    idle_ns: u64,
    used: Time,
}

impl State {
    fn lives(&self, now: Time) -> bool {
        self.idle_ns == 0 || now.since(self.used) < self.idle_ns
    }
}

/// This extension's behaviour, all flows without a state. Panics: if `catalogue` lacks [`FIELDS`].
pub fn hook(catalogue: &Catalogue) -> Box<dyn Hook> {
    let field = catalogue.field(EXPERIMENTER, 0);
    Box::new(FlowState {
        field: field.expect("the catalogue has this extension"),
        states: HashMap::new(),
        tried: Vec::new(),
        refused: 0,
    })
}

/// The states of all flows.
struct FlowState {
    field: &'static Field,
    states: HashMap<Flow, State>,
    /// What the trace under way has set.
    tried: Vec<(Flow, u32)>,
    refused: u32,
}

fn flow(packet: &Packet) -> Flow {
    let address = |field| packet.key().get(field, &mut ()).unwrap_or(0) as u64;
    (address(ETH_SRC), address(ETH_DST))
}

impl Hook for FlowState {
    fn name(&self) -> &'static str {
        "flow_state"
    }

    fn effect(&self) -> HookEffect {
        HookEffect::Branch
    }

    fn is_quiet(&self) -> bool {
        self.states.is_empty()
    }

    /// Gives the packet the state of its flow, or forgets a state that was idle for too long.
    fn before_lookup(&mut self, now: Time, _: TableId, packet: &mut Packet) {
        if self.states.is_empty() {
            return packet.key_mut().set(self.field, 0);
        }
        let flow = flow(packet);
        let live = self.states.get_mut(&flow).filter(|s| s.lives(now));
        let value = live.map(|state| {
            state.used = now;
            state.value
        });
        if value.is_none() {
            self.states.remove(&flow);
        }
        packet.key_mut().set(self.field, value.unwrap_or(0).into());
    }

    fn peek(&mut self, now: Time, _: TableId, packet: &mut Packet) {
        if packet.key().get(self.field, &mut ()).is_none() {
            // It is a trace's first table.
            self.tried.clear();
        }
        let flow = flow(packet);
        let tried = self.tried.iter().rfind(|(of, _)| *of == flow);
        let live = self.states.get(&flow).filter(|s| s.lives(now));
        let value = tried.map(|(_, value)| *value);
        let value = value.or(live.map(|state| state.value)).unwrap_or(0);
        packet.key_mut().set(self.field, value.into());
    }

    fn try_action(&mut self, _: Time, _: usize, value: &ExtValue, packet: &mut Packet) -> Verdict {
        let state = value.args[0] as u32;
        self.tried.push((flow(packet), state));
        packet.key_mut().set(self.field, state.into());
        Verdict::Continue
    }

    fn on_action(&mut self, now: Time, _: usize, value: &ExtValue, packet: &mut Packet) -> Verdict {
        let (flow, state) = (flow(packet), value.args[0] as u32);
        if state == 0 {
            self.states.remove(&flow);
        } else if self.states.len() < MAX_STATES || self.states.contains_key(&flow) {
            let idle_ns = value.args[1] * Time::SEC;
            self.states.insert(
                flow,
                State {
                    value: state,
                    idle_ns,
                    used: now,
                },
            );
        } else {
            self.refused = self.refused.saturating_add(1);
        }
        packet.key_mut().set(self.field, state.into());
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
        self.states.retain(|_, state| state.lives(cx.now));
        let mut data = Vec::new();
        for ((source, destination), state) in self.states.iter().take(MAX_LISTED) {
            data.extend_from_slice(&source.to_be_bytes()[2..]);
            data.extend_from_slice(&destination.to_be_bytes()[2..]);
            data.extend_from_slice(&state.value.to_be_bytes());
        }
        let args = vec![self.states.len() as u64, self.refused.into()];
        cx.reply(ExtValue::new(&VALUES[2], args, Bytes(data)));
        Ok(())
    }
}
