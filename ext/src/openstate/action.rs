//! The actions that change states: SET_STATE, SET_GLOBAL_STATE, INC_STATE.

use alloc::string::String;
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError};

use super::args::{Args, write_masked, write_transition};
use super::state_mod::{get_timers, put_timers};
use super::table::Transition;
use super::{check_length, table_id};

/// Gives the packet's flow in the update scope another state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetState {
    /// The table whose state it is.
    pub table: u8,
    /// The state and its timers.
    pub transition: Transition,
    /// Whether the flow is that of the bit-update scope.
    pub bit: bool,
}

impl Wire for SetState {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        check_length(r, 36)?;
        r.take(4)?;
        let state = r.at("state").get()?;
        let mask = r.at("state_mask").get()?;
        let table = table_id(r)?;
        r.take(3)?;
        let timers = get_timers(r)?;
        let bit = r.at("bit").get::<u8>()? != 0;
        r.take(3)?;
        Ok(Self {
            table,
            transition: Transition { state, mask, timers },
            bit,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.pad(4);
        w.put(&self.transition.state).put(&self.transition.mask);
        w.put(&self.table).pad(3);
        put_timers(&self.transition.timers, w);
        w.put(&u8::from(self.bit)).pad(3);
    }
}

impl TextForm for SetState {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table={},", self.table)?;
        write_transition(f, &self.transition)?;
        if self.bit {
            f.write_str(",bit=1")?;
        }
        Ok(())
    }
}

impl TypedBody for SetState {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, String> {
        let mut args = Args::new(text);
        let this = Self {
            table: args.table()?,
            transition: args.transition()?,
            bit: args.number::<u8>("bit")? != 0,
        };
        args.finish().map(|()| this)
    }
}

/// Changes bits of the global state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetGlobalState {
    /// The new bits.
    pub value: u32,
    /// Which bits.
    pub mask: u32,
}

impl Wire for SetGlobalState {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        check_length(r, 12)?;
        r.take(4)?;
        Ok(Self {
            value: r.at("global_state").get()?,
            mask: r.at("global_state_mask").get()?,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.pad(4).put(&self.value).put(&self.mask);
    }
}

impl TextForm for SetGlobalState {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_masked(f, "global_state", self.value, self.mask)
    }
}

impl TypedBody for SetGlobalState {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, String> {
        let mut args = Args::new(text);
        let (value, mask) = args.masked("global_state")?;
        args.finish().map(|()| Self { value, mask })
    }
}

/// Counts up the state of the packet's flow in the update scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IncState {
    /// The table whose state it is.
    pub table: u8,
}

impl Wire for IncState {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        check_length(r, 12)?;
        r.take(4)?;
        let table = table_id(r)?;
        r.take(7)?;
        Ok(Self { table })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.pad(4).put(&self.table).pad(7);
    }
}

impl TextForm for IncState {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table={}", self.table)
    }
}

impl TypedBody for IncState {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, String> {
        let mut args = Args::new(text);
        let table = args.table()?;
        args.finish().map(|()| Self { table })
    }
}
