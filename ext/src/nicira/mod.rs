//! Actions that only Open vSwitch has, as its tools send and write them. See README.md.

mod clone;
mod note;
mod resubmit;

pub use clone::CloneAction;
pub use note::Note;
pub use resubmit::Resubmit;

use alloc::boxed::Box;

use bofuss_datapath::{Hook, HookContext, HookEffect, Verdict};
use bofuss_oflib::ext::{ExtKind, ExtRow};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, ExtValue, Field, NICIRA};

/// The extension has no fields.
pub static FIELDS: [Field; 0] = [];

/// The actions. Text has one form of both types of `resubmit`, and makes the newer one.
pub static VALUES: [ExtRow; 4] = [
    ExtRow::typed::<Note>(ExtKind::Action, NICIRA, 8, "note").with_short_type(),
    ExtRow::typed::<CloneAction>(ExtKind::Action, NICIRA, 42, "clone").with_short_type(),
    ExtRow::typed::<Resubmit>(ExtKind::Action, NICIRA, 14, "resubmit").with_short_type(),
    ExtRow::typed::<resubmit::ToPort>(ExtKind::Action, NICIRA, 1, "resubmit_to_port")
        .with_short_type(),
];

/// The hook of this extension, which has no state.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(Nicira)
}

struct Nicira;

impl Hook for Nicira {
    fn name(&self) -> &'static str {
        "nicira"
    }

    /// Only the actions act on packets.
    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::None
    }

    /// A note does nothing, and a clone leaves its packet unchanged. What a resubmit finds depends
    /// on all fields and entries.
    fn action_effect(&self, _: usize, value: &ExtValue) -> HookEffect {
        if value.body::<Note>().is_some() {
            HookEffect::Pure
        } else if value.body::<CloneAction>().is_some() {
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
        } else if let Some(resubmit) = value.body::<Resubmit>() {
            resubmit.act(cx);
        } else if let Some(resubmit) = value.body::<resubmit::ToPort>() {
            resubmit.0.act(cx);
        }
        Verdict::Continue
    }
}
