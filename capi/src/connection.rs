//! Connections of controllers to a switch, for C.

use bofuss_embed::{ConnId, Time};

use crate::switch::SwitchHandle;
use crate::{bytes_at, store, Status};

/// Opens a connection of a controller, or of a tool (`is_controller` 0), and stores its number. The
/// switch sends its HELLO. With tools alone, the switch goes on as without a controller. Numbers
/// are never used again.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `connection` is
/// NULL, or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_connect(
    sw: *const SwitchHandle,
    is_controller: u8,
    connection: *mut u64,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        if connection.is_null() {
            return Err(Status::Null.into());
        }
        let conn = embedded.connect(is_controller != 0);
        // SAFETY: the caller vouches for the place.
        Ok(unsafe { store(connection, conn.0) }?)
    })
}

/// Passes bytes that arrived on a connection, cut anywhere. `taken` is how many the switch took:
/// fewer than `length` if about 128 KiB wait already because the peer does not read. Pass the rest
/// again after bofuss_work.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `length` bytes
/// may be read at `bytes`; `taken` is NULL, or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_feed(
    sw: *const SwitchHandle,
    now: u64,
    connection: u64,
    bytes: *const u8,
    length: usize,
    taken: *mut usize,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        if taken.is_null() {
            return Err(Status::Null.into());
        }
        // SAFETY: the caller vouches for the bytes.
        let bytes = unsafe { bytes_at(bytes, length) }?;
        let count = embedded.feed(Time(now), ConnId(connection), bytes)?;
        // SAFETY: the caller vouches for the place.
        Ok(unsafe { store(taken, count) }?)
    })
}

/// Says how many bytes the caller holds that the peer of a connection has not taken yet; initially
/// 0. Above 256 KiB, packet-ins are dropped and long replies wait. Above 4 MiB, the switch closes
/// the connection.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_set_held_bytes(
    sw: *const SwitchHandle,
    connection: u64,
    bytes: usize,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        Ok(embedded.set_held_bytes(ConnId(connection), bytes)?)
    })
}

/// Removes a connection that was closed.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_disconnect(
    sw: *const SwitchHandle,
    now: u64,
    connection: u64,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        Ok(embedded.disconnect(Time(now), ConnId(connection))?)
    })
}
