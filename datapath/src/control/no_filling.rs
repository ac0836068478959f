//! Without the feature `filling`, a full table refuses new entries, and says nothing of how full it
//! is: see `filling.rs`.

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::{BadProperty, FlowModFailed};
use bofuss_oflib::message::TableMod;
use bofuss_oflib::message::multipart::table_desc::{TableDesc, TableStatus};
use bofuss_oflib::types::TableId;

use crate::Sink;
use crate::control::Control;
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;

/// The bits of a table's configuration for what it does as it fills: none.
pub const FILLING_BITS: u32 = 0;

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Configures nothing.
    ///
    /// Errors: BAD_PROPERTY/BAD_TYPE for a property of eviction or of vacancy events.
    pub fn configure_filling(&mut self, table_mod: &TableMod) -> Result<(), ErrorCode> {
        if table_mod.eviction.is_some() || table_mod.vacancy.is_some() {
            return Err(BadProperty::BAD_TYPE);
        }
        Ok(())
    }

    /// Evicts nothing. Errors: FLOW_MOD_FAILED/TABLE_FULL.
    pub(crate) fn evict(&mut self, _: TableId, _: u16) -> Result<bool, ErrorCode> {
        Err(FlowModFailed::TABLE_FULL)
    }

    /// Returns `None`, as tables have no events.
    pub fn next_table_status(&mut self) -> Option<TableStatus> {
        None
    }
}

impl<E: FrameEngine> Pipeline<E> {
    /// Adds nothing.
    pub(crate) fn describe_filling(&self, _: &mut TableDesc) {}
}
