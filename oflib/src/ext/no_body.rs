//! In the place of `body.rs` without the feature `extensions`: no value has a body.

use alloc::vec::Vec;
use core::hash::Hasher;

use super::{ExtRow, ExtValue};
use crate::action::Action;
use crate::error::DecodeError;
use crate::message::Message;
use crate::version::Version;
use crate::wire::{Reader, Writer};

impl ExtValue {
    /// Returns the key that distinguishes it from others of its row in an action set: all have 0.
    pub fn action_set_key(&self) -> u64 {
        0
    }

    /// The actions in it: none.
    pub fn actions(&self) -> &[Action] {
        &[]
    }

    /// The same, as every connection gets it.
    #[must_use]
    pub fn in_form(&self, _: u8) -> Self {
        self.clone()
    }

    /// The standard messages that say the same: there are none.
    pub fn in_messages(&self, _: Version) -> Option<Vec<Message>> {
        None
    }

    /// Appends the data of a further part of a multipart message. Errors: `false` if they do not go
    /// together, or one part is all.
    #[cfg(feature = "connections")]
    pub fn join(&mut self, part: Self) -> bool {
        let joins = self.row.data && self.row == part.row && self.args == part.args;
        if joins {
            self.data.0.extend(part.data.0);
        }
        joins
    }

    pub(super) fn has_same_body(&self, _: &Self) -> bool {
        true
    }

    pub(super) fn hash_body(&self, _: &mut impl Hasher) {}

    pub(super) fn decode_body(
        _: &'static ExtRow,
        _: &Reader<'_>,
        _: &mut Reader<'_>,
    ) -> Result<Option<Self>, DecodeError> {
        Ok(None)
    }

    pub(super) fn encode_body(&self, _: &mut Writer<'_>) {}
}
