//! The action set of a packet. Spec: OpenFlow 1.3.5 section 5.10.
//!
//! The set is a sorted list: it is short, is written rarely and executed in order. The ranks are
//! those of section 5.10, with which `oflib` declares each action.

use alloc::{boxed::Box, vec::Vec};

use bofuss_oflib::types::MeterId;
use bofuss_oflib::{Action, PortNo};

use crate::references::meter_of;

/// The kind of an action in a set; it sorts them in the order of execution. It has the rank, the
/// type, and for a set-field the field, for a copy-field both fields, for an experimenter's action
/// its experimenter, type and [key](bofuss_oflib::ext::TypedBody::action_set_key).
type ActionKey = (u8, u16, u64, u64);

/// The actions that run at the end of the pipeline: at most one with each key, in the order of
/// execution.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::box_collection,
    reason = "a packet on its way, which as a rule has none, carries one word"
)]
pub struct ActionSet(Option<Box<Vec<(ActionKey, Action)>>>);

impl ActionSet {
    /// Empties the set; keeps its memory.
    #[inline]
    pub fn clear(&mut self) {
        if let Some(actions) = &mut self.0 {
            actions.clear();
        }
    }

    /// Merges actions into the set; each replaces that of its type.
    ///
    /// Spec: OpenFlow 1.3.5 section 5.10. A set-field replaces only a set-field of the same field.
    pub fn write(&mut self, actions: &[Action]) {
        let set = self.0.get_or_insert_default();
        for action in actions {
            let (rank, number) = action.rank();
            let (sub, own) = if let Action::SetField(set) = action {
                (set.0.field.id.into(), 0)
            } else if let Action::CopyField(copy) = action {
                (copy.src.id.into(), copy.dst.id.into())
            } else if let Action::Experimenter(value) = action {
                let ty = u64::from(value.row.experimenter) << 32 | u64::from(value.row.ty);
                (ty, value.action_set_key())
            } else {
                (0, 0)
            };
            let key = (rank, number, sub, own);
            match set.binary_search_by_key(&key, |(k, _)| *k) {
                Ok(i) => set[i].1 = action.clone(),
                Err(i) => set.insert(i, (key, action.clone())),
            }
        }
    }

    /// The actions in the order of execution; no output if there is a group.
    pub fn in_order(&self) -> impl Iterator<Item = &Action> {
        let set = self.0.as_deref().map_or(&[][..], Vec::as_slice);
        let group = set.iter().any(|(_, a)| matches!(a, Action::Group(_)));
        let actions = set.iter().map(|(_, action)| action);
        actions.filter(move |a| !(group && matches!(a, Action::Output(_))))
    }

    /// The port of its output; UNSET if it has none, or has a group, which takes precedence.
    pub(crate) fn output(&self) -> PortNo {
        let mut port = PortNo::UNSET;
        for action in self.in_order() {
            if let Action::Output(output) = action {
                port = output.port;
            }
        }
        port
    }

    /// The meters of its METER actions.
    ///
    /// They come in the order of execution, and may name a meter more than once.
    pub(crate) fn meters(&self) -> impl Iterator<Item = MeterId> {
        self.in_order().filter_map(meter_of)
    }

    /// Returns true if there is nothing to do.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|set| set.is_empty())
    }
}
