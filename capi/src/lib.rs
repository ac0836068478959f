//! The switch as a library for C: checks pointers and lengths, and calls `bofuss-embed`.
//!
//! The header is `include/bofuss.h`, which says who owns what. The functions of a switch are in
//! [`switch`], those of its ports and frames in [`port`], of connections in [`connection`], of a
//! switch with a P4 program in [`p4`], and of messages as bytes and text in [`codec`].
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

use std::any::Any;
use std::ffi::{c_char, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, LazyLock};

use bofuss_oflib::Catalogue;

pub mod codec;
pub mod connection;
pub mod frame;
pub mod p4;
pub mod port;
pub mod switch;

/// The result of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call succeeded.
    Ok = 0,
    /// A pointer is NULL that must not be, or the object was freed through this pointer.
    Null = -1,
    /// A number or length is not allowed.
    BadValue = -2,
    /// The switch has no port with this number.
    NoPort = -3,
    /// The switch has no connection with this number, or it was closed.
    NoConnection = -4,
    /// A text is not UTF-8, or is not understood: then the error's text says why.
    BadText = -5,
    /// The bytes are no message: the codec's error says why.
    BadMessage = -6,
    /// The result is longer than the buffer. Its length is stored nevertheless.
    TooShort = -7,
    /// The switch has no buffer for the frame.
    NoMemory = -8,
    /// The call is not allowed within a callback of the same switch.
    Busy = -9,
    /// There is nothing to return or to do.
    None = -10,
    /// A defect of the library. The switch can only be freed.
    Internal = -11,
}

impl Status {
    /// What it means, in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Ok => "the call succeeded",
            Self::Null => "a pointer is NULL that must not be",
            Self::BadValue => "a number or length is not allowed",
            Self::NoPort => "the switch has no such port",
            Self::NoConnection => "the switch has no such connection",
            Self::BadText => "a text is not UTF-8, or is not understood",
            Self::BadMessage => "the bytes are no message",
            Self::TooShort => "the result is longer than the buffer",
            Self::NoMemory => "the switch has no buffer for the frame",
            Self::Busy => "the call is not allowed within a callback of the same switch",
            Self::None => "there is nothing to return or to do",
            Self::Internal => "a defect of the library",
        }
    }
}

/// The most bytes of a text for C that says what is wrong.
const MAX_TEXT_BYTES: usize = 500;

/// A text for C, cut at the first zero byte, and after [`MAX_TEXT_BYTES`].
pub(crate) fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    let end = text.floor_char_boundary(end.min(MAX_TEXT_BYTES));
    CString::new(&text[..end]).unwrap_or_default()
}

/// The fields and extensions that are known. All switches and codecs share it, because its rows are
/// never freed.
pub(crate) static CATALOGUE: LazyLock<Arc<Catalogue>> =
    LazyLock::new(|| Arc::new(bofuss_ext::catalogue()));

/// The outcome of a call. Errors: its status.
pub(crate) type Done = Result<(), Status>;

/// Runs the body of a function. A panic ends here, as [`Status::Internal`].
pub(crate) fn guarded(body: impl FnOnce() -> Done) -> Status {
    let done: Result<Done, Box<dyn Any + Send>> = catch_unwind(AssertUnwindSafe(body));
    match done {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(status)) => status,
        Err(_) => Status::Internal,
    }
}

/// The bytes at a caller's pointer. Errors: Null, or BadValue for a length that no object can have.
///
/// # Safety
///
/// `bytes` is NULL, or `length` bytes may be read there for as long as `'a`.
pub(crate) unsafe fn bytes_at<'a>(bytes: *const u8, length: usize) -> Result<&'a [u8], Status> {
    if length == 0 {
        return Ok(&[]);
    }
    if bytes.is_null() {
        return Err(Status::Null);
    }
    if length > isize::MAX as usize {
        return Err(Status::BadValue);
    }
    // SAFETY: it is not NULL and not longer than an object can be; the caller vouches for the rest.
    Ok(unsafe { std::slice::from_raw_parts(bytes, length) })
}

/// The text at a caller's pointer. Errors: Null, or BadText if it is not UTF-8.
///
/// # Safety
///
/// `text` is NULL, or ends with a zero byte and may be read for as long as `'a`.
pub(crate) unsafe fn text_at<'a>(text: *const c_char) -> Result<&'a str, Status> {
    if text.is_null() {
        return Err(Status::Null);
    }
    // SAFETY: it is not NULL, and the caller vouches for the zero byte.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Status::BadText)
}

/// Writes a result to a caller's pointer. Errors: Null.
///
/// # Safety
///
/// `place` is NULL, or a `T` may be written there.
pub(crate) unsafe fn store<T>(place: *mut T, value: T) -> Done {
    if place.is_null() {
        return Err(Status::Null);
    }
    // SAFETY: it is not NULL, and the caller vouches for the place.
    unsafe { place.write(value) };
    Ok(())
}

/// Makes a `T` for the caller, who owns it. Errors: Null; then nothing is made.
///
/// # Safety
///
/// `out` is NULL, or may be written.
pub(crate) unsafe fn give<T>(out: *mut *mut T, made: T) -> Done {
    if out.is_null() {
        return Err(Status::Null);
    }
    // SAFETY: the caller vouches for the place.
    unsafe { store(out, Box::into_raw(Box::new(made))) }
}

/// Frees what [`give`] made, unless `check` refuses, and sets the caller's pointer to NULL. Errors:
/// Null, for a pointer that is NULL already, too.
///
/// # Safety
///
/// `place` is NULL, or points to NULL or a `T` of [`give`] that was not freed and that no other
/// thread uses.
pub(crate) unsafe fn free<T>(place: *mut *mut T, check: impl FnOnce(&T) -> Done) -> Done {
    // SAFETY: the caller vouches for the outer pointer.
    let place = unsafe { place.as_mut() }.ok_or(Status::Null)?;
    // SAFETY: and for the inner one.
    check(unsafe { place.as_ref() }.ok_or(Status::Null)?)?;
    let owned = std::mem::replace(place, std::ptr::null_mut());
    // SAFETY: it came from a box, and nobody else has the pointer that was freed here.
    drop(unsafe { Box::from_raw(owned) });
    Ok(())
}

/// Stores the length of a result, and copies the result and `end` into a caller's buffer, which has
/// to have room for both. Errors: Null, TooShort; then nothing is copied.
///
/// # Safety
///
/// `out` is NULL, or `capacity` bytes may be written there; `length` is NULL or may be written.
pub(crate) unsafe fn copy_out(
    result: &[u8],
    end: &[u8],
    out: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> Done {
    // SAFETY: the caller vouches for the place.
    unsafe { store(length, result.len())? };
    if capacity < result.len() + end.len() {
        return Err(Status::TooShort);
    }
    if out.is_null() {
        return Err(Status::Null);
    }
    // SAFETY: `capacity` bytes may be written, which is enough; our result does not overlap the
    // caller's buffer.
    unsafe {
        out.copy_from_nonoverlapping(result.as_ptr(), result.len());
        out.add(result.len())
            .copy_from_nonoverlapping(end.as_ptr(), end.len());
    }
    Ok(())
}

/// The version of the library, such as `0.1.0`. The string is never freed.
#[no_mangle]
pub extern "C" fn bofuss_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
