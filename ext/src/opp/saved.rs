//! The state tables of a switch as they are saved for a restart: the commands that make them, and
//! each flow with its past.

use alloc::vec::Vec;
use core::fmt;

use bofuss_datapath::{ReplyPart, Time};
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ExtValue, ParseError};

use super::tables::RegisterTables;
use super::{OppMod, RESTORE_FLOW, SAVED_STATES, STATE_MOD, VALUES};
use crate::common::list::{Listed, ValueList};
use crate::common::saved::SavedExtension;
use crate::openstate::StateMod;
use crate::openstate::commands::{self, CommandList};
use crate::openstate::error;
use crate::openstate::machine::Machine;
use crate::openstate::saved_flow::SavedFlow;
use crate::openstate::stateful::Stateful;
use crate::openstate::table::StateEntry;

/// How the state tables are saved.
pub const SAVED: SavedExtension = SavedExtension {
    request,
    messages,
    rows: &[&VALUES[STATE_MOD], &VALUES[RESTORE_FLOW]],
    thing: Some(&VALUES[RESTORE_FLOW]),
};

/// The byte before a command, and before a flow.
const COMMAND: u8 = 0;
const FLOW: u8 = 1;

/// A part of the saved state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Saved {
    /// A command about the global state, or a table and its scopes and registers.
    Command(OppMod),
    /// A flow.
    Flow(SavedFlow),
}

impl Wire for Saved {
    /// Errors: those of a command or flow; BAD_COMMAND if it is neither.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_kind = r.at("kind").clone();
        match r.get::<u8>()? {
            COMMAND => r.get().map(Self::Command),
            FLOW => r.get().map(Self::Flow),
            _ => Err(at_kind.err(error::BAD_COMMAND)),
        }
    }

    fn encode(&self, w: &mut Writer<'_>) {
        match self {
            Self::Command(command) => w.put(&COMMAND).put(command),
            Self::Flow(flow) => w.put(&FLOW).put(flow),
        };
    }
}

impl TextForm for Saved {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => command.text(f),
            Self::Flow(flow) => flow.text(f),
        }
    }
}

impl TypedBody for Saved {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("it is only reported".into())
    }
}

impl Listed for Saved {}

/// A list for the saved state.
struct SavedList<'a> {
    list: Vec<Saved>,
    registers: &'a RegisterTables,
}

impl CommandList for SavedList<'_> {
    fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds a command, unless it is about a flow: that comes as a whole.
    fn push(&mut self, command: StateMod) {
        if !matches!(command, StateMod::SetFlowState { .. }) {
            self.list.push(Saved::Command(command.into()));
        }
    }

    fn end_table(&mut self, table: u8, stateful: &Stateful) {
        let changes = self.registers.commands(table, stateful);
        self.list.extend(changes.map(Saved::Command));
    }

    fn end_flow(&mut self, table: u8, key: &[u8], flow: &StateEntry) {
        self.list
            .push(Saved::Flow(SavedFlow::new(table, key, flow)));
    }
}

/// The part of a reply that begins at `from`.
pub(super) fn part(
    now: Time,
    machine: &Machine,
    registers: &RegisterTables,
    from: u64,
) -> ReplyPart {
    let mut all = SavedList {
        list: Vec::new(),
        registers,
    };
    let next = commands::add_part(now, machine, from, &mut all);
    let value = ExtValue::typed(&VALUES[SAVED_STATES], ValueList(all.list));
    ReplyPart {
        value: Some(value),
        next,
    }
}

fn request() -> ExtValue {
    ExtValue::typed(&VALUES[SAVED_STATES], ValueList::<Saved>(Vec::new()))
}

fn messages(reply: &ExtValue) -> Vec<ExtValue> {
    let list: Option<&ValueList<Saved>> = reply.body();
    let all = list.into_iter().flat_map(|list| &list.0);
    let messages = all.map(|saved| match saved {
        Saved::Command(command) => ExtValue::typed(&VALUES[STATE_MOD], command.clone()),
        Saved::Flow(flow) => ExtValue::typed(&VALUES[RESTORE_FLOW], flow.clone()),
    });
    messages.collect()
}
