//! Tells the processor what is needed soon, as a safe function; only on x86-64 yet.
#![no_std]

/// Bytes that come together.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Asks for the memory of `place` to be brought near, and does not wait.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of::<T>()).step_by(LINE) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = core::ptr::from_ref(place).cast::<i8>().wrapping_add(line);
        // SAFETY: a prefetch changes nothing that a program sees, and any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
