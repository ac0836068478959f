//! A stateful table: the fields that make the keys of its flows, its dialect and states.

use bofuss_oflib::ErrorCode;

use super::dialect::{Dialects, StateDialect};
use super::error;
use super::extractor::{Extractor, FieldSource, FlowKey};
use super::state_mod::{ExtractorLayout, Scope};
use super::table::{Behaviour, StateTable};

/// The configuration of a stateful table, and its states.
#[derive(Debug, Default)]
pub struct Stateful {
    /// True if it is on. A table that is off keeps everything.
    pub(super) on: bool,
    pub(super) lookup: Option<Extractor>,
    pub(super) update: Option<Extractor>,
    pub(super) bit_update: Option<Extractor>,
    /// True if the lookup scope and the update scope are equal, so that a packet updates the flow
    /// whose state it has read.
    pub(super) updates_what_is_read: bool,
    /// The dialects that know all messages and actions about it so far.
    pub(super) dialects: Dialects,
    /// True if it has been switched off, or on while no flow had a state, since an extractor was
    /// last set: then one extractor of another length or dialect replaces all, and the states with
    /// them. So the next application on a running switch begins anew.
    pub(super) may_change: bool,
    /// The number of times that an extractor has replaced all so far.
    resets: u32,
    /// The states.
    pub states: StateTable,
}

impl Stateful {
    /// Returns true if packets have states here: both scopes are set.
    pub fn is_enabled(&self) -> bool {
        self.on && self.has_both_scopes()
    }

    /// Returns true if both scopes are set, even if it is off: switched on, it is enabled.
    pub(crate) fn has_both_scopes(&self) -> bool {
        self.lookup.is_some() && self.update.is_some()
    }

    /// Returns true if it is on, even if a scope is not set.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// The scopes that are set.
    pub fn scopes(&self) -> impl Iterator<Item = (Scope, &Extractor)> {
        let all = [
            (Scope::Lookup, &self.lookup),
            (Scope::Update, &self.update),
            (Scope::BitUpdate, &self.bit_update),
        ];
        all.into_iter()
            .filter_map(|(scope, extractor)| Some((scope, extractor.as_ref()?)))
    }

    /// The layout of messages that set scopes, in its dialect.
    pub fn layout(&self) -> ExtractorLayout {
        match self.dialect() {
            StateDialect::OpenState => ExtractorLayout::OpenState,
            StateDialect::Beba | StateDialect::Opp => ExtractorLayout::Beba,
        }
    }

    /// Returns how often it has begun anew, with other scopes and without states. What an extension
    /// keeps for the table then belongs to the one before.
    pub(crate) fn resets(&self) -> u32 {
        self.resets
    }

    /// The lookup scope.
    pub fn lookup(&self) -> Option<&Extractor> {
        self.lookup.as_ref()
    }

    /// The dialect that it has.
    pub fn dialect(&self) -> StateDialect {
        self.dialects.dialect()
    }

    /// Returns true if it has the dialect of Open Packet Processor, or may still turn out to.
    pub(crate) fn may_be_opp(&self) -> bool {
        let opp = Dialects::only(StateDialect::Opp);
        self.dialects.and(opp).is_some()
    }

    /// Rules out all dialects but `known`, after a message or an action that only these know.
    /// Returns false if none would be left; then nothing is changed.
    pub(super) fn narrow(&mut self, known: Dialects) -> bool {
        let Some(dialects) = self.dialects.and(known) else {
            return false;
        };
        self.dialects = dialects;
        self.states.behaviour = match dialects.dialect() {
            StateDialect::OpenState => Behaviour::OpenState,
            StateDialect::Beba | StateDialect::Opp => Behaviour::Beba,
        };
        true
    }

    /// The key of the flow that an action of a packet changes: in the action's own scope if it has
    /// one, else in the update scope or the bit-update scope. `None` if there is no such scope, if
    /// its keys have another length, or if the packet lacks a field of it.
    pub(crate) fn updated_flow(
        &self,
        bit: bool,
        own: Option<&Extractor>,
        packet: &mut impl FieldSource,
    ) -> Option<FlowKey> {
        let of_table = if bit { &self.bit_update } else { &self.update };
        let scope = own.or(of_table.as_ref())?;
        if Some(scope.bytes()) != self.key_bytes() {
            return None;
        }
        scope.key(packet)
    }

    /// Bytes of its keys.
    pub(super) fn key_bytes(&self) -> Option<usize> {
        self.scopes().map(|(_, extractor)| extractor.bytes()).next()
    }

    /// Checks a key that a controller has sent. Errors: BAD_EXP_LEN if the table's keys have
    /// another length.
    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), ErrorCode> {
        if self.key_bytes() == Some(key.len()) {
            Ok(())
        } else {
            Err(error::BAD_EXP_LEN)
        }
    }

    /// Sets an extractor. `known` are the dialects that know the message, `initial` those of a
    /// table about which nothing is known yet.
    ///
    /// Errors: SET_EXTRACTOR if the table is off; BAD_EXP_LEN for keys of another length than the
    /// other scopes', or if the table's dialect does not know the message.
    pub(super) fn set_extractor(
        &mut self,
        scope: Scope,
        known: Dialects,
        extractor: Extractor,
        initial: Dialects,
    ) -> Result<(), ErrorCode> {
        if !self.on {
            return Err(error::SET_EXTRACTOR);
        }
        let same_length = self
            .key_bytes()
            .is_none_or(|bytes| bytes == extractor.bytes());
        let is_possible = self.dialects.and(known).is_some();
        if !same_length || !is_possible {
            if !self.may_change || initial.and(known).is_none() {
                return Err(error::BAD_EXP_LEN);
            }
            let counts = self.states.counts;
            *self = Self {
                on: true,
                dialects: initial,
                resets: self.resets + 1,
                ..Self::default()
            };
            self.states.counts = counts;
        } else if self.may_change && initial.and(known).is_some() {
            self.dialects = initial;
        }
        self.may_change = false;
        self.narrow(known);
        let place = match scope {
            Scope::Lookup => &mut self.lookup,
            Scope::Update => &mut self.update,
            Scope::BitUpdate => &mut self.bit_update,
        };
        *place = Some(extractor);
        self.updates_what_is_read = self.lookup == self.update;
        Ok(())
    }
}
