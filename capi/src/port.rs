//! Ports and frames of a switch, for C.

use std::ffi::c_char;

use bofuss_embed::{port, EmbeddedSwitch, Time};
use bofuss_oflib::wire::FixedStr;
use bofuss_oflib::{Mac, PortNo};

use crate::frame::FrameBytes;
use crate::switch::{CallError, SwitchHandle};
use crate::{bytes_at, copy_out, text_at, Status};

/// The number of frames that are copied into buffers of the pool at once, and then received as a
/// burst.
const BATCH: usize = 32;

/// Adds a port with its link up, or changes the one with this number. `name` may be NULL, and so
/// may `hw_addr`, which otherwise has 6 bytes. `kbps` is the rate of the link in kbit/s, or 0.
/// BOFUSS_STATUS_BAD_VALUE for a number that no port can have.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `name` is NULL,
/// or ends with a zero byte; `hw_addr` is NULL, or 6 bytes may be read there.
#[no_mangle]
pub unsafe extern "C" fn bofuss_port_add(
    sw: *const SwitchHandle,
    now: u64,
    number: u32,
    name: *const c_char,
    hw_addr: *const u8,
    kbps: u32,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        let mut desc = port(number);
        if !name.is_null() {
            // SAFETY: the caller vouches for the text.
            let name = unsafe { text_at(name) }?;
            desc.name = FixedStr(name.into());
        }
        if !hw_addr.is_null() {
            // SAFETY: the caller vouches for 6 bytes.
            let bytes = unsafe { bytes_at(hw_addr, 6) }?;
            desc.hw_addr = Mac(bytes.try_into().expect("there are 6"));
        }
        desc.curr_speed = kbps;
        desc.max_speed = kbps;
        Ok(embedded.add_port(Time(now), desc, Default::default())?)
    })
}

/// Removes a port.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_port_remove(
    sw: *const SwitchHandle,
    now: u64,
    number: u32,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        Ok(embedded.remove_port(Time(now), PortNo(number))?)
    })
}

/// Says that the link of a port came up (`up` 1) or went down (0).
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_port_set_link(
    sw: *const SwitchHandle,
    now: u64,
    number: u32,
    up: u8,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        Ok(embedded.set_link(Time(now), PortNo(number), up != 0)?)
    })
}

/// Says that a port accepts at most `frames` more frames until the next call. Below 0 it accepts
/// all, as a new port does. Further frames wait in the port's queues if it has some; otherwise they
/// leave nevertheless.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_port_set_room(
    sw: *const SwitchHandle,
    now: u64,
    number: u32,
    frames: i64,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        let room = (frames >= 0).then(|| u32::try_from(frames).unwrap_or(u32::MAX));
        Ok(embedded.set_port_room(Time(now), PortNo(number), room)?)
    })
}

/// Passes frames that arrived on a port. BOFUSS_STATUS_NO_MEMORY if the switch has no buffer for a
/// frame, or a frame is longer than 65,792 bytes: the frames before it were taken.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `frames` is NULL,
/// or `count` of them may be read, and of each `length` bytes at `bytes`.
#[no_mangle]
pub unsafe extern "C" fn bofuss_receive(
    sw: *const SwitchHandle,
    now: u64,
    number: u32,
    frames: *const FrameBytes,
    count: usize,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    if count == 0 {
        return SwitchHandle::call(switch, |_| Ok(()));
    }
    if frames.is_null() {
        return Status::Null;
    }
    if count > isize::MAX as usize / size_of::<FrameBytes>() {
        return Status::BadValue;
    }
    // SAFETY: it is not NULL and not longer than an object can be; the caller vouches for the rest.
    let frames = unsafe { std::slice::from_raw_parts(frames, count) };
    for batch in frames.chunks(BATCH) {
        let status = SwitchHandle::call(switch, |embedded| {
            // SAFETY: the caller vouches for the bytes of the frames.
            unsafe { take(embedded, now, number, batch) }
        });
        if status != Status::Ok {
            return status;
        }
    }
    Status::Ok
}

/// Passes a batch to the switch, up to the first frame that cannot be copied.
///
/// # Safety
///
/// Of each frame, `length` bytes may be read at `bytes`.
unsafe fn take(
    embedded: &mut EmbeddedSwitch,
    now: u64,
    number: u32,
    batch: &[FrameBytes],
) -> Result<(), CallError> {
    let mut taken = Vec::with_capacity(batch.len());
    let mut error = None;
    for frame in batch {
        // SAFETY: the caller vouches for the bytes.
        let bytes = unsafe { bytes_at(frame.bytes, frame.length) };
        let copy = bytes.and_then(|bytes| embedded.frame(bytes).ok_or(Status::NoMemory));
        match copy {
            Ok(mut copy) => {
                copy.tunnel_id = frame.tunnel_id;
                taken.push(copy);
            }
            Err(status) => {
                error = Some(status);
                break;
            }
        }
    }
    embedded.receive(Time(now), PortNo(number), &mut taken)?;
    error.map_or(Ok(()), |status| Err(status.into()))
}

/// Explains what would happen to a frame on a port, as text (`as_json` 0) or JSON (1), and changes
/// nothing. The result says the tunnels by which frames leave. `length` is its length, without the
/// zero byte that ends it in `out`.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `frame.bytes`
/// may be read; `capacity` bytes may be written at `out` unless it is NULL; `length` is NULL, or
/// may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_trace(
    sw: *const SwitchHandle,
    now: u64,
    number: u32,
    frame: FrameBytes,
    as_json: u8,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        // SAFETY: the caller vouches for the bytes.
        let bytes = unsafe { bytes_at(frame.bytes, frame.length) }?;
        let trace = embedded.explain(Time(now), PortNo(number), frame.tunnel_id, bytes)?;
        let text = if as_json == 0 {
            trace.to_string()
        } else {
            serde_json::to_string(&trace).map_err(|_| Status::BadText)?
        };
        // SAFETY: the caller vouches for the buffer.
        Ok(unsafe { copy_out(text.as_bytes(), &[0], out.cast(), capacity, length) }?)
    })
}
