//! Parts of the wire format that several messages and actions have: tables, timers, keys.

use bofuss_oflib::DecodeError;
use bofuss_oflib::wire::{Reader, Writer};

use super::error;
use super::flow_key::MAX_KEY_BYTES;
use super::timers::Timers;

/// The number of tables that can have states, as in the reference switches: those with numbers
/// below this.
pub const N_TABLES: usize = 64;
/// The number that stands for all tables in a request.
pub const ALL_TABLES: u8 = 0xff;

/// Checks that exactly `bytes` bytes are left. Errors: BAD_EXP_LEN.
pub(crate) fn check_length(r: &Reader<'_>, bytes: usize) -> Result<(), DecodeError> {
    if r.remaining() != bytes {
        return Err(r.err(error::BAD_EXP_LEN));
    }
    Ok(())
}

/// Reads a table's number. Errors: BAD_TABLE_ID.
pub(crate) fn table_id(r: &mut Reader<'_>) -> Result<u8, DecodeError> {
    let at = r.at("table_id").clone();
    let table = r.get::<u8>()?;
    if usize::from(table) >= N_TABLES {
        return Err(at.err(error::BAD_TABLE_ID));
    }
    Ok(table)
}

/// Reads rollbacks and timeouts, in the order in which messages and actions have them.
pub(crate) fn get_timers(r: &mut Reader<'_>) -> Result<Timers, DecodeError> {
    Ok(Timers {
        hard_rollback: r.at("hard_rollback").get()?,
        idle_rollback: r.at("idle_rollback").get()?,
        hard_timeout: r.at("hard_timeout").get()?,
        idle_timeout: r.at("idle_timeout").get()?,
    })
}

/// Writes what [`get_timers`] reads.
pub(crate) fn put_timers(timers: &Timers, w: &mut Writer<'_>) {
    w.put(&timers.hard_rollback).put(&timers.idle_rollback);
    w.put(&timers.hard_timeout).put(&timers.idle_timeout);
}

/// Checks that `key_len`, 4 bytes from here, is the length of a key and equals the number of bytes
/// that follow the next `head` bytes. Errors: BAD_EXP_LEN.
pub(crate) fn check_key(r: &mut Reader<'_>, head: usize) -> Result<(), DecodeError> {
    if r.remaining() < head {
        return Err(r.err(error::BAD_EXP_LEN));
    }
    let mut at_length = r.clone();
    at_length.take(4)?;
    let length = at_length.at("key_len").clone().get::<u32>()? as usize;
    if !(1..=MAX_KEY_BYTES).contains(&length) || r.remaining() != head + length {
        return Err(at_length.err(error::BAD_EXP_LEN));
    }
    Ok(())
}
