//! Tells the processor what is needed soon, as a safe function; only on x86-64 yet.
#![no_std]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

/// Bytes that come together.
const LINE: usize = 64;

/// Asks for the memory of `place` to be brought near, and does not wait.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    for line in (0..size_of::<T>()).step_by(LINE) {
        prefetch_line(core::ptr::from_ref(place).cast(), line);
    }
}

/// Does the same for the first line of `place`.
#[inline(always)]
pub fn prefetch_start<T>(place: &T) {
    prefetch_line(core::ptr::from_ref(place).cast(), 0);
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_line(place: *const i8, offset: usize) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch changes nothing that a program sees, and any address is allowed.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add(offset)) }
}

#[cfg(not(target_arch = "x86_64"))]
fn prefetch_line(_: *const i8, _: usize) {}
