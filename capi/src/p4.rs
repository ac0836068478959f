//! Switches with a P4 program, for C.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_void, CString};

use bofuss_embed::p4::{Named, P4Effect, P4Error, P4Switch, Program};
use bofuss_embed::Time;

use crate::frame::FrameBytes;
use crate::{bytes_at, c_text, copy_out, free, give, guarded, store, text_at, Done, Status};

/// A switch with a P4 program.
pub struct P4Handle {
    switch: RefCell<P4Switch>,
    seed: u64,
    error: RefCell<CString>,
    /// True if the library has panicked. Then all further calls are refused.
    broken: Cell<bool>,
}

impl P4Handle {
    fn new(seed: u64) -> Self {
        Self {
            switch: RefCell::new(P4Switch::new(Program::default(), seed)),
            seed,
            error: RefCell::default(),
            broken: Cell::new(false),
        }
    }

    /// Runs a body on a switch; Null without one, Internal for one that a defect has stopped.
    fn call(this: Option<&Self>, body: impl FnOnce(&Self, &mut P4Switch) -> Done) -> Status {
        let Some(this) = this else {
            return Status::Null;
        };
        if this.broken.get() {
            return Status::Internal;
        }
        let status = guarded(|| {
            let mut switch = this.switch.try_borrow_mut().map_err(|_| Status::Internal)?;
            body(this, &mut switch)
        });
        this.broken.set(status == Status::Internal);
        status
    }

    /// Keeps why a call is refused.
    fn fail(&self, status: Status, why: impl ToString) -> Status {
        *self.error.borrow_mut() = c_text(&why.to_string());
        status
    }

    fn refuse(&self, error: &P4Error) -> Status {
        let status = match error {
            P4Error::NoPort(_) => Status::NoPort,
            // Of a number that is not allowed, and of what later versions refuse.
            P4Error::BadPort(_) | _ => Status::BadValue,
        };
        self.fail(status, error)
    }
}

/// Passes frames that leave to the caller's function; the switch must not be borrowed meanwhile.
fn deliver(
    effects: Vec<P4Effect>,
    transmit: Option<extern "C" fn(user: *mut c_void, port: u32, frame: *const u8, length: usize)>,
    user: *mut c_void,
) {
    for effect in effects {
        if let (P4Effect::Transmit(sent), Some(transmit)) = (effect, transmit) {
            transmit(user, sent.port, sent.frame.as_ptr(), sent.frame.len());
        }
    }
}

/// Makes a switch without ports and program, which drops all frames. The caller owns it. `seed` is
/// that of the random numbers of programs.
///
/// # Safety
///
/// `out` is NULL, or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_p4_new(seed: u64, out: *mut *mut P4Handle) -> Status {
    guarded(|| {
        // SAFETY: the caller vouches for the place.
        unsafe { give(out, P4Handle::new(seed)) }
    })
}

/// Frees a switch and sets the caller's pointer to NULL. A second call gives BOFUSS_STATUS_NULL.
///
/// # Safety
///
/// `sw` is NULL, or points to NULL or a switch of bofuss_p4_new that was not freed and that no
/// other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_p4_free(sw: *mut *mut P4Handle) -> Status {
    // SAFETY: the caller vouches for both pointers.
    guarded(|| unsafe { free(sw, |_| Ok(())) })
}

/// Returns why a call was last refused, as a sentence; empty if none was. It is valid until the
/// next one is refused. NULL for NULL.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_p4_error(sw: *const P4Handle) -> *const c_char {
    // SAFETY: the caller vouches for the pointer.
    let this = unsafe { sw.as_ref() };
    this.map_or(std::ptr::null(), |this| this.error.borrow().as_ptr())
}

/// Sets the program: the JSON that p4c-bm2-ss writes. Entries, counters and registers of the old
/// one are gone; the ports stay. BOFUSS_STATUS_BAD_TEXT if it is no program: bofuss_p4_error has
/// the place.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `length` bytes may
/// be read at `json`.
#[no_mangle]
pub unsafe extern "C" fn bofuss_p4_load(
    sw: *const P4Handle,
    json: *const u8,
    length: usize,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    P4Handle::call(unsafe { sw.as_ref() }, |this, switch| {
        // SAFETY: the caller vouches for the bytes.
        let json = unsafe { bytes_at(json, length) }?;
        let program = Program::load(json).map_err(|error| this.fail(Status::BadText, error))?;
        switch.set_program(program, this.seed);
        Ok(())
    })
}

/// Adds table entries, multicast groups and clone sessions: JSON in the form of the P4 tutorials'
/// runtime files. BOFUSS_STATUS_BAD_TEXT if one is wrong: bofuss_p4_error has the place.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `length` bytes may
/// be read at `json`.
#[no_mangle]
pub unsafe extern "C" fn bofuss_p4_write(
    sw: *const P4Handle,
    json: *const u8,
    length: usize,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    P4Handle::call(unsafe { sw.as_ref() }, |this, switch| {
        // SAFETY: the caller vouches for the bytes.
        let json = unsafe { bytes_at(json, length) }?;
        let loaded = switch.load_entries(json);
        loaded.map_err(|error| this.fail(Status::BadText, error))
    })
}

/// Adds a port, 0 to 510; one that is there stays as it is.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_p4_add_port(sw: *const P4Handle, port: u32) -> Status {
    // SAFETY: the caller vouches for the switch.
    P4Handle::call(unsafe { sw.as_ref() }, |this, switch| {
        let added = switch.add_port(port);
        added.map_err(|error| this.refuse(&error))
    })
}

/// Passes a frame that arrived on a port, and calls `transmit` (if it is not NULL) for each frame
/// that leaves, with `user`. It may call any function of the same switch except bofuss_p4_free.
/// `now` is nanoseconds since the switch began.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `frame.bytes` may be
/// read.
#[no_mangle]
pub unsafe extern "C" fn bofuss_p4_receive(
    sw: *const P4Handle,
    now: u64,
    port: u32,
    frame: FrameBytes,
    transmit: Option<extern "C" fn(user: *mut c_void, port: u32, frame: *const u8, length: usize)>,
    user: *mut c_void,
) -> Status {
    let mut effects = Vec::new();
    // SAFETY: the caller vouches for the switch.
    let status = P4Handle::call(unsafe { sw.as_ref() }, |this, switch| {
        // SAFETY: the caller vouches for the bytes.
        let frame = unsafe { bytes_at(frame.bytes, frame.length) }?;
        let received = switch.receive(Time(now), port, frame);
        received.map_err(|error| this.refuse(&error))?;
        effects.extend(switch.drain());
        Ok(())
    });
    deliver(effects, transmit, user);
    status
}

/// Lets packets for a port wait before egress, by their priority, because it has no room. Until
/// bofuss_p4_leave is called, none leaves.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_p4_hold(sw: *const P4Handle, port: u32) -> Status {
    // SAFETY: the caller vouches for the switch.
    P4Handle::call(unsafe { sw.as_ref() }, |this, switch| {
        let held = switch.hold(port);
        held.map_err(|error| this.refuse(&error))
    })
}

/// Lets at most `most` of the packets leave that wait for a port, those of the highest priority
/// first, and calls `transmit` as bofuss_p4_receive does. When none is left, the port has room
/// again.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_p4_leave(
    sw: *const P4Handle,
    now: u64,
    port: u32,
    most: usize,
    transmit: Option<extern "C" fn(user: *mut c_void, port: u32, frame: *const u8, length: usize)>,
    user: *mut c_void,
) -> Status {
    let mut effects = Vec::new();
    // SAFETY: the caller vouches for the switch.
    let status = P4Handle::call(unsafe { sw.as_ref() }, |this, switch| {
        let left = switch.leave(Time(now), port, most);
        left.map_err(|error| this.refuse(&error))?;
        effects.extend(switch.drain());
        Ok(())
    });
    deliver(effects, transmit, user);
    status
}

/// Stores the packets and bytes of a counter. BOFUSS_STATUS_BAD_VALUE if there is none of this name
/// and index.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `name` is NULL, or
/// ends with a zero byte; `packets` and `bytes` are NULL, or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_p4_counter(
    sw: *const P4Handle,
    name: *const c_char,
    index: usize,
    packets: *mut u64,
    bytes: *mut u64,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    P4Handle::call(unsafe { sw.as_ref() }, |this, switch| {
        // SAFETY: the caller vouches for the text.
        let name = unsafe { text_at(name) }?;
        if packets.is_null() || bytes.is_null() {
            return Err(Status::Null);
        }
        let program = switch.switch().program();
        let counter = program.index(Named::Counter, name);
        let externs = switch.switch().externs();
        let count = counter.and_then(|counter| externs.counter(counter, index));
        let why = format!("there is no counter {name} with an index {index}");
        let count = count.ok_or_else(|| this.fail(Status::BadValue, why))?;
        // SAFETY: the caller vouches for the places.
        unsafe {
            store(packets, count.packets)?;
            store(bytes, count.bytes)
        }
    })
}

/// Explains what would become of a frame on a port, as text, and changes nothing. `length` is that
/// of the text, without the zero byte that ends it in `out`.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `frame.bytes` may be
/// read; `capacity` bytes may be written at `out` unless it is NULL; `length` is NULL, or may be
/// written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_p4_trace(
    sw: *const P4Handle,
    now: u64,
    port: u32,
    frame: FrameBytes,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    P4Handle::call(unsafe { sw.as_ref() }, |this, switch| {
        // SAFETY: the caller vouches for the bytes.
        let frame = unsafe { bytes_at(frame.bytes, frame.length) }?;
        let explained = switch.explain(Time(now), port, frame);
        let explained = explained.map_err(|error| this.refuse(&error))?;
        // SAFETY: the caller vouches for the places.
        unsafe { copy_out(explained.as_bytes(), &[0], out.cast(), capacity, length) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_defect_a_switch_can_only_be_freed() {
        let handle = P4Handle::new(1);
        let used = || P4Handle::call(Some(&handle), |_, _| Ok(()));
        assert_eq!(used(), Status::Ok);
        let stopped = P4Handle::call(Some(&handle), |_, _| panic!("a defect"));
        assert_eq!((stopped, used()), (Status::Internal, Status::Internal));
    }
}
