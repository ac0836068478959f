//! STATE_MOD: the message by which controllers change state tables.

use alloc::{string::String, vec::Vec};
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ParseError};

use super::args::{
    take_fields, take_key, take_table, take_transition, write_fields, write_transition,
};
use super::dialect::{Dialects, StateDialect};
use super::extractor::{MAX_FIELDS, is_opp_field, write_key};
use super::table::Transition;
use super::wire::{check_key, get_timers, put_timers};
use super::{N_TABLES, check_length, error, table_id};
use crate::common::args::{Args, write_masked};
use crate::common::list::Listed;

/// One of a table's extractors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The flow whose state a packet has.
    Lookup,
    /// The flow whose state a packet changes.
    Update,
    /// The flow that it changes by an action whose `bit` is set.
    BitUpdate,
}

/// The two layouts of an extractor message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExtractorLayout {
    /// OpenState's, without `bit`.
    OpenState,
    /// BEBA's, and with `biflow` Open Packet Processor's.
    Beba,
}

/// A change of state tables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StateMod {
    /// Makes a table stateful, or makes it stateless again.
    TableConfig {
        /// The table.
        table: u8,
        /// True if it is stateful from now on.
        stateful: bool,
    },
    /// Sets the fields that make a flow's key.
    SetExtractor {
        /// The table.
        table: u8,
        /// The extractor.
        scope: Scope,
        /// The layout in which it was sent.
        layout: ExtractorLayout,
        /// True if both directions of a conversation have the same key.
        biflow: bool,
        /// OXM headers.
        fields: Vec<u32>,
    },
    /// Sets the state of a flow.
    SetFlowState {
        /// The table.
        table: u8,
        /// The flow's key in the update scope.
        key: Vec<u8>,
        /// Its state.
        transition: Transition,
    },
    /// Deletes a flow's state.
    DelFlowState {
        /// The table.
        table: u8,
        /// The flow's key in the update scope.
        key: Vec<u8>,
    },
    /// Changes bits of the global state.
    SetGlobalState {
        /// The new value, where the mask has ones.
        value: u32,
        /// The bits that change.
        mask: u32,
    },
    /// Makes the global state 0.
    ResetGlobalState,
}

/// Bytes of a SET_FLOW_STATE before its key.
const SET_FLOW_STATE_BYTES: usize = 32;
/// Bytes of a DEL_FLOW_STATE before its key.
const DEL_FLOW_STATE_BYTES: usize = 8;

impl StateMod {
    /// The command's number on the wire.
    fn command(&self) -> u8 {
        match self {
            Self::TableConfig { .. } => 0,
            Self::SetExtractor {
                scope: Scope::Lookup,
                ..
            } => 1,
            Self::SetExtractor { .. } => 2,
            Self::SetFlowState { .. } => 3,
            Self::DelFlowState { .. } => 4,
            Self::SetGlobalState { .. } => 5,
            Self::ResetGlobalState => 6,
        }
    }

    /// The table that it is about, and the dialects that know such a message; `None` if all
    /// dialects do.
    pub(crate) fn evidence(&self) -> Option<(u8, Dialects)> {
        match self {
            Self::SetExtractor {
                table,
                layout,
                biflow,
                fields,
                ..
            } => {
                let is_opp = *biflow || fields.iter().any(|header| is_opp_field(*header));
                let known = match layout {
                    ExtractorLayout::OpenState => Dialects::only(StateDialect::OpenState),
                    ExtractorLayout::Beba if is_opp => Dialects::only(StateDialect::Opp),
                    ExtractorLayout::Beba => Dialects::BEBA_OR_OPP,
                };
                Some((*table, known))
            }
            Self::TableConfig { .. }
            | Self::SetFlowState { .. }
            | Self::DelFlowState { .. }
            | Self::SetGlobalState { .. }
            | Self::ResetGlobalState => None,
        }
    }

    /// The table whose scopes or flows it changes, if it does.
    pub(crate) fn table(&self) -> Option<u8> {
        match self {
            Self::SetExtractor { table, .. }
            | Self::SetFlowState { table, .. }
            | Self::DelFlowState { table, .. } => Some(*table),
            Self::TableConfig { .. } | Self::SetGlobalState { .. } | Self::ResetGlobalState => None,
        }
    }

    fn decode_extractor(r: &mut Reader<'_>, is_update: bool) -> Result<Self, DecodeError> {
        let head = r.clone().take(8.min(r.remaining()))?;
        let [table, biflow, _, _, second @ ..] = head else {
            return Err(r.err(error::BAD_EXP_LEN));
        };
        // The second word is OpenState's number of fields, 1 to 6. BEBA has `bit` in its first byte
        // and zeros after it.
        let layout = match second {
            [0, rest @ ..] if rest.iter().any(|byte| *byte != 0) => ExtractorLayout::OpenState,
            _ => ExtractorLayout::Beba,
        };
        let table = *table;
        let biflow = layout == ExtractorLayout::Beba && *biflow != 0;
        let mut bit = 0;
        r.at("table_id").take(4)?;
        if layout == ExtractorLayout::Beba {
            if r.remaining() < 8 {
                return Err(r.err(error::BAD_EXP_LEN));
            }
            bit = r.at("bit").get::<u8>()?;
            r.take(3)?;
        }
        let count = r.at("field_count").clone().get::<u32>()? as usize;
        if !(1..=MAX_FIELDS).contains(&count) || r.remaining() != 4 + 4 * count {
            return Err(r.err(error::BAD_EXP_LEN));
        }
        r.take(4)?;
        check_table(r, table)?;
        let scope = match (is_update, bit) {
            (false, _) => Scope::Lookup,
            (true, 0) => Scope::Update,
            (true, _) => Scope::BitUpdate,
        };
        Ok(Self::SetExtractor {
            table,
            scope,
            layout,
            biflow,
            fields: r.at("fields").get()?,
        })
    }

    fn decode_set_flow_state(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        check_key(r, SET_FLOW_STATE_BYTES)?;
        let table = table_id(r)?;
        r.take(7)?;
        let state = r.at("state").get()?;
        let mask = r.at("state_mask").get()?;
        let timers = get_timers(r)?;
        let transition = Transition {
            state,
            mask,
            timers,
        };
        let key = r.rest().into();
        Ok(Self::SetFlowState {
            table,
            key,
            transition,
        })
    }
}

fn check_table(r: &mut Reader<'_>, table: u8) -> Result<(), DecodeError> {
    if usize::from(table) >= N_TABLES {
        return Err(r.at("table_id").err(error::BAD_TABLE_ID));
    }
    Ok(())
}

impl Wire for StateMod {
    /// Errors: BAD_COMMAND; BAD_EXP_LEN; BAD_TABLE_ID, in this order.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if r.remaining() < 2 {
            return Err(r.at("command").err(error::BAD_EXP_LEN));
        }
        let at_command = r.at("command").clone();
        let command = r.get::<u8>()?;
        r.take(1)?;
        r.at("table_id");
        match command {
            0 => {
                check_length(r, 2)?;
                let table = table_id(r)?;
                let stateful = r.at("stateful").get::<u8>()? != 0;
                Ok(Self::TableConfig { table, stateful })
            }
            1 | 2 => Self::decode_extractor(r, command == 2),
            3 => Self::decode_set_flow_state(r),
            4 => {
                check_key(r, DEL_FLOW_STATE_BYTES)?;
                let table = table_id(r)?;
                r.take(7)?;
                let key = r.rest().into();
                Ok(Self::DelFlowState { table, key })
            }
            5 => {
                check_length(r, 8)?;
                let value = r.at("global_state").get()?;
                let mask = r.at("global_state_mask").get()?;
                Ok(Self::SetGlobalState { value, mask })
            }
            6 => check_length(r, 0).map(|()| Self::ResetGlobalState),
            _ => Err(at_command.err(error::BAD_COMMAND)),
        }
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.command()).pad(1);
        match self {
            Self::TableConfig { table, stateful } => {
                w.put(table).put(&u8::from(*stateful));
            }
            Self::SetExtractor {
                table,
                scope,
                layout,
                biflow,
                fields,
            } => {
                w.put(table).put(&u8::from(*biflow)).pad(2);
                if *layout == ExtractorLayout::Beba {
                    w.put(&u8::from(*scope == Scope::BitUpdate)).pad(3);
                }
                w.put(&(fields.len() as u32)).put(fields);
            }
            Self::SetFlowState {
                table,
                key,
                transition,
            } => {
                w.put(table).pad(3).put(&(key.len() as u32));
                w.put(&transition.state).put(&transition.mask);
                put_timers(&transition.timers, w);
                w.raw(key);
            }
            Self::DelFlowState { table, key } => {
                w.put(table).pad(3).put(&(key.len() as u32)).raw(key);
            }
            Self::SetGlobalState { value, mask } => {
                w.put(value).put(mask);
            }
            Self::ResetGlobalState => {}
        }
    }
}

impl StateMod {
    /// Writes the text. A key is written as the values of its fields if `fields_of_key` has them,
    /// else in hexadecimal.
    fn write(&self, fields_of_key: &[u32], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TableConfig { table, stateful } => {
                write!(
                    f,
                    "table_config,table={table},stateful={}",
                    u8::from(*stateful)
                )
            }
            Self::SetExtractor {
                table,
                scope,
                layout,
                biflow,
                fields,
            } => {
                let scope = match scope {
                    Scope::Lookup => "set_lookup_extractor",
                    Scope::Update => "set_update_extractor",
                    Scope::BitUpdate => "set_bit_update_extractor",
                };
                write!(f, "{scope},table={table},fields=")?;
                write_fields(f, fields)?;
                match layout {
                    ExtractorLayout::OpenState => f.write_str(",openstate"),
                    ExtractorLayout::Beba if *biflow => f.write_str(",biflow"),
                    ExtractorLayout::Beba => Ok(()),
                }
            }
            Self::SetFlowState {
                table,
                key,
                transition,
            } => {
                write!(f, "set_flow_state,table={table},key=")?;
                write_key(f, fields_of_key, key)?;
                f.write_str(",")?;
                write_transition(f, transition)
            }
            Self::DelFlowState { table, key } => {
                write!(f, "del_flow_state,table={table},key=")?;
                write_key(f, fields_of_key, key)
            }
            Self::SetGlobalState { value, mask } => {
                f.write_str("set_global_state,")?;
                write_masked(f, "global_state", *value, *mask)
            }
            Self::ResetGlobalState => f.write_str("reset_global_state"),
        }
    }
}

impl TextForm for StateMod {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(&[], f)
    }
}

impl Listed for StateMod {
    /// A key is written with the fields of its table's lookup scope, if that comes earlier in the
    /// list.
    fn text_after(&self, others: &[Self], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text_in(others.iter(), f)
    }
}

impl StateMod {
    /// Writes the text as [`Listed::text_after`] does, after these others of a list.
    pub(crate) fn text_in<'a>(
        &self,
        mut others: impl Iterator<Item = &'a Self>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let (Self::SetFlowState { table: own, .. } | Self::DelFlowState { table: own, .. }) = self
        else {
            return self.text(f);
        };
        let fields = others.find_map(|other| {
            let Self::SetExtractor {
                table,
                scope: Scope::Lookup,
                fields,
                ..
            } = other
            else {
                return None;
            };
            (table == own).then_some(&fields[..])
        });
        self.write(fields.unwrap_or(&[]), f)
    }
}

/// The first words of these messages' texts.
pub(crate) const COMMANDS: [&str; 8] = [
    "table_config",
    "set_lookup_extractor",
    "set_update_extractor",
    "set_bit_update_extractor",
    "set_flow_state",
    "del_flow_state",
    "set_global_state",
    "reset_global_state",
];

/// The error for a text that begins with another word than these.
pub(crate) fn unknown(command: &str, commands: &[&str]) -> String {
    let commands = commands.join(", ");
    alloc::format!("there is no command '{command}'; there are {commands}")
}

/// Reads the arguments of a text that sets an extractor. Errors: the name of a field is unknown.
fn parse_extractor(
    table: u8,
    scope: Scope,
    args: &mut Args<'_>,
    catalogue: &Catalogue,
) -> Result<StateMod, ParseError> {
    let layout = match args.take("openstate") {
        Some(_) => ExtractorLayout::OpenState,
        None => ExtractorLayout::Beba,
    };
    Ok(StateMod::SetExtractor {
        table,
        scope,
        layout,
        biflow: layout == ExtractorLayout::Beba && args.take("biflow").is_some(),
        fields: take_fields(args, catalogue)?,
    })
}

impl TypedBody for StateMod {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let (command, rest) = text.split_once(',').unwrap_or((text, ""));
        let mut args = Args::new(rest);
        let table = take_table(&mut args)?;
        let this = match command {
            "table_config" => Self::TableConfig {
                table,
                stateful: match args.take("stateful") {
                    Some("0") => false,
                    Some("1") => true,
                    _ => return Err("say stateful=1 or stateful=0".into()),
                },
            },
            "set_lookup_extractor" => parse_extractor(table, Scope::Lookup, &mut args, catalogue)?,
            "set_update_extractor" => parse_extractor(table, Scope::Update, &mut args, catalogue)?,
            "set_bit_update_extractor" => {
                parse_extractor(table, Scope::BitUpdate, &mut args, catalogue)?
            }
            "set_flow_state" => Self::SetFlowState {
                table,
                key: take_key(&mut args, catalogue)?,
                transition: take_transition(&mut args)?,
            },
            "del_flow_state" => Self::DelFlowState {
                table,
                key: take_key(&mut args, catalogue)?,
            },
            "set_global_state" => {
                let (value, mask) = args.masked("global_state")?;
                Self::SetGlobalState { value, mask }
            }
            "reset_global_state" => Self::ResetGlobalState,
            _ => return Err(unknown(command, &COMMANDS).into()),
        };
        args.finish()?;
        Ok(this)
    }
}
