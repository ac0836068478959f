//! STATE_MOD, with the commands that Open Packet Processor adds to it.

use alloc::vec::Vec;
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ParseError};

use super::RegisterMod;
use crate::common::args::Args;
use crate::common::list::Listed;
use crate::openstate::StateMod;
use crate::openstate::args::take_table;
use crate::openstate::state_mod::{COMMANDS, unknown};

/// A change of state tables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OppMod {
    /// One that OpenState has, too.
    State(StateMod),
    /// A change of the registers of a table.
    Registers {
        /// The table.
        table: u8,
        /// The change.
        change: RegisterMod,
    },
}

impl From<StateMod> for OppMod {
    fn from(command: StateMod) -> Self {
        Self::State(command)
    }
}

impl Wire for OppMod {
    /// Errors: those of [`StateMod`] and of the commands about registers.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut after = r.clone();
        let commands = RegisterMod::FIRST_COMMAND..=RegisterMod::LAST_COMMAND;
        match after.array::<2>() {
            Ok([command, _]) if commands.contains(&command) => {
                *r = after;
                r.at("table_id");
                let (table, change) = RegisterMod::decode(command, r)?;
                Ok(Self::Registers { table, change })
            }
            Ok(_) | Err(_) => r.get().map(Self::State),
        }
    }

    fn encode(&self, w: &mut Writer<'_>) {
        match self {
            Self::State(command) => command.encode(w),
            Self::Registers { table, change } => {
                w.put(&change.command()).pad(1);
                change.encode(*table, w);
            }
        }
    }
}

impl TextForm for OppMod {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State(command) => command.text(f),
            Self::Registers { table, change } => change.text(*table, f),
        }
    }
}

impl Listed for OppMod {
    fn text_after(&self, others: &[Self], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = others.iter().filter_map(|other| match other {
            Self::State(command) => Some(command),
            Self::Registers { .. } => None,
        });
        match self {
            Self::State(command) => command.text_in(others, f),
            Self::Registers { .. } => self.text(f),
        }
    }
}

impl TypedBody for OppMod {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let (command, rest) = text.split_once(',').unwrap_or((text, ""));
        if COMMANDS.contains(&command) {
            return StateMod::parse(text, catalogue).map(Self::State);
        }
        let mut args = Args::new(rest);
        let table = take_table(&mut args)?;
        let Some(change) = RegisterMod::parse(command, &mut args, catalogue)? else {
            let all: Vec<_> = COMMANDS.into_iter().chain(RegisterMod::COMMANDS).collect();
            return Err(unknown(command, &all).into());
        };
        args.finish()?;
        Ok(Self::Registers { table, change })
    }
}
