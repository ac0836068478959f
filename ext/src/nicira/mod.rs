//! Actions that only Open vSwitch has, as its tools send and write them. See README.md.

mod clone;
mod learn;
mod learning;
mod note;
mod resubmit;

pub use clone::CloneAction;
pub use learn::Learn;
pub use note::Note;
pub use resubmit::Resubmit;

use alloc::{boxed::Box, string::String, vec::Vec};

use bofuss_datapath::{
    ControlContext, Hook, HookContext, HookEffect, Metric, Time, Verdict, WantedResult,
};
use bofuss_oflib::error::BadAction;
use bofuss_oflib::ext::{ExtKind, ExtRow};
use bofuss_oflib::message::{FlowMod, FlowRemoved};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Field, Message, NICIRA};

use learning::Learning;

/// The extension has no fields.
pub static FIELDS: [Field; 0] = [];

/// The actions. Text has one form of both types of `resubmit`, and makes the newer one.
pub static VALUES: [ExtRow; 5] = [
    ExtRow::typed::<Note>(ExtKind::Action, NICIRA, 8, "note").with_short_type(),
    ExtRow::typed::<CloneAction>(ExtKind::Action, NICIRA, 42, "clone").with_short_type(),
    ExtRow::typed::<Learn>(ExtKind::Action, NICIRA, 16, "learn").with_short_type(),
    ExtRow::typed::<Resubmit>(ExtKind::Action, NICIRA, 14, "resubmit").with_short_type(),
    ExtRow::typed::<resubmit::ToPort>(ExtKind::Action, NICIRA, 1, "resubmit_to_port")
        .with_short_type(),
];

/// The hook of this extension.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(Nicira::default())
}

#[derive(Default)]
struct Nicira {
    learning: Learning,
    /// True if this is one of several replicas, which would learn other entries each.
    is_replica: bool,
}

impl Hook for Nicira {
    fn name(&self) -> &'static str {
        "nicira"
    }

    /// Only the actions act on packets.
    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::None
    }

    /// A note does nothing, and a clone and what is learned leave the packet unchanged. What a
    /// resubmit finds depends on all fields and entries.
    fn action_effect(&self, _: usize, value: &ExtValue) -> HookEffect {
        if value.body::<Note>().is_some() {
            HookEffect::Pure
        } else if value.body::<CloneAction>().is_some() || value.body::<Learn>().is_some() {
            HookEffect::Live
        } else {
            HookEffect::Unknown
        }
    }

    /// Segments may meet different entries after a resubmit, and have to be changed one by one.
    fn acts_on_segments(&self) -> bool {
        true
    }

    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, value: &ExtValue) -> Verdict {
        if let Some(clone) = value.body::<CloneAction>() {
            cx.apply_to_copy(clone.0.clone());
        } else if let Some(learn) = value.body::<Learn>() {
            self.learning.learn(cx, learn);
        } else if let Some(resubmit) = value.body::<Resubmit>() {
            resubmit.act(cx);
        } else if let Some(resubmit) = value.body::<resubmit::ToPort>() {
            resubmit.0.act(cx);
        }
        Verdict::Continue
    }

    fn on_wanted_entry(&mut self, now: Time, result: WantedResult) {
        self.learning.learned(now, result);
    }

    /// Those that were learned are known.
    fn on_flow_mod(&mut self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {
        if cx.asker.is_some() || !self.learning.asks_for(flow_mod) {
            self.learning.forget();
        }
    }

    fn on_flow_removed(&mut self, _: &mut ControlContext<'_>, _: &FlowRemoved) {
        self.learning.forget();
    }

    fn be_replica(&mut self) {
        self.is_replica = true;
    }

    fn check(&self, _: usize, value: &ExtValue, _: TableId) -> Result<(), ErrorCode> {
        if self.is_replica && value.body::<Learn>().is_some() {
            return Err(BadAction::BAD_EXP_TYPE);
        }
        Ok(())
    }

    fn explain(&self, _: &Message, error: ErrorCode) -> Option<String> {
        let is_learn = self.is_replica && error == BadAction::BAD_EXP_TYPE;
        is_learn.then(|| "a switch of several workers has no learn".into())
    }

    fn metrics(&self, _: Time, _: u64, list: &mut Vec<Metric>) -> Option<u64> {
        self.learning.metrics(list);
        None
    }
}
