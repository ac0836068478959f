//! `memcpy` and `memmove` of a program that is static with musl, for x86-64.
//!
//! musl copies every block, however small, with the processor's string instruction, which takes
//! some ten nanoseconds to begin: a sixth of the time of a flow-mod. glibc does as is done here.

use std::arch::asm;
use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128};

/// From so many bytes on, the processor's string instruction is worth its start, but not within one
/// block: there it goes byte by byte.
const STRING_COPY: usize = 2048;
/// Bytes of one step of a longer copy.
const STEP: usize = 64;

/// Copies `count` bytes from `from` to `to`; the two blocks may overlap.
///
/// # Safety
///
/// `from` may be read, and `to` written, for `count` bytes.
#[inline(always)]
unsafe fn copy(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: each arm copies the first and the last bytes of a block that is at least as long as
    // what it copies at once, and has read all of it before it writes any.
    unsafe {
        if count > STEP {
            long(to, from, count);
        } else if count > 32 {
            both_ends::<[__m128i; 2]>(to, from, count);
        } else if count >= 16 {
            both_ends::<__m128i>(to, from, count);
        } else if count >= 8 {
            both_ends::<u64>(to, from, count);
        } else if count >= 4 {
            both_ends::<u32>(to, from, count);
        } else if count >= 2 {
            both_ends::<u16>(to, from, count);
        } else if count == 1 {
            *to = *from;
        }
    }
}

/// Copies more than [`STEP`] bytes, in the direction in which nothing is overwritten that is yet to
/// be read.
///
/// # Safety
///
/// As for [`copy`].
#[inline(never)]
unsafe fn long(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: so says the caller; `to` lies within the block at `from` in the second case alone.
    unsafe {
        if (to as usize).wrapping_sub(from as usize) >= count {
            forward(to, from, count);
        } else {
            backward(to, from, count);
        }
    }
}

/// Copies the first and the last bytes of a block, as many as a `T` has.
///
/// # Safety
///
/// As for [`copy`], and a `T` has at most `count` bytes.
#[inline(always)]
unsafe fn both_ends<T: Copy>(to: *mut u8, from: *const u8, count: usize) {
    let last = count - size_of::<T>();
    // SAFETY: both ends lie within the blocks, and no alignment is asked for.
    unsafe {
        let start = from.cast::<T>().read_unaligned();
        let end = from.add(last).cast::<T>().read_unaligned();
        to.cast::<T>().write_unaligned(start);
        to.add(last).cast::<T>().write_unaligned(end);
    }
}

/// Copies more than [`STEP`] bytes from the front; `to` is not within the block at `from`.
///
/// # Safety
///
/// As for [`copy`].
unsafe fn forward(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: the last step is read first, and the others end before the blocks do.
    unsafe {
        if count >= STRING_COPY && (from as usize).wrapping_sub(to as usize) >= count {
            asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _,
                options(nostack, preserves_flags));
            return;
        }
        let last = count - STEP;
        let end = read_step(from.add(last));
        let mut at = 0;
        while at < last {
            write_step(to.add(at), read_step(from.add(at)));
            at += STEP;
        }
        write_step(to.add(last), end);
    }
}

/// Copies more than [`STEP`] bytes from the end; `to` is within the block at `from`.
///
/// # Safety
///
/// As for [`copy`].
unsafe fn backward(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: the first step is read first, and the others begin after the blocks do.
    unsafe {
        let start = read_step(from);
        let mut at = count;
        while at > STEP {
            at -= STEP;
            write_step(to.add(at), read_step(from.add(at)));
        }
        write_step(to, start);
    }
}

/// Reads [`STEP`] bytes.
///
/// # Safety
///
/// They may be read.
#[inline(always)]
unsafe fn read_step(from: *const u8) -> [__m128i; 4] {
    // SAFETY: so says the caller.
    unsafe { [0, 16, 32, 48].map(|at| _mm_loadu_si128(from.add(at).cast())) }
}

/// Writes [`STEP`] bytes.
///
/// # Safety
///
/// They may be written.
#[inline(always)]
unsafe fn write_step(to: *mut u8, step: [__m128i; 4]) {
    let [first, second, third, fourth] = step;
    // SAFETY: so says the caller.
    unsafe {
        _mm_storeu_si128(to.cast(), first);
        _mm_storeu_si128(to.add(16).cast(), second);
        _mm_storeu_si128(to.add(32).cast(), third);
        _mm_storeu_si128(to.add(48).cast(), fourth);
    }
}

/// Replaces the C library's functions of these names.
#[cfg(target_env = "musl")]
mod symbols {
    /// C's `memcpy`.
    ///
    /// # Safety
    ///
    /// As for C's.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
        // SAFETY: so says the caller.
        unsafe { super::copy(to, from, count) };
        to
    }

    /// C's `memmove`.
    ///
    /// # Safety
    ///
    /// As for C's.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
        // SAFETY: so says the caller.
        unsafe { super::copy(to, from, count) };
        to
    }
}

#[cfg(test)]
mod tests {
    use super::{STEP, STRING_COPY, copy};

    /// Copies within a block, by [`copy`] and by the standard library.
    fn compare(from: usize, to: usize, count: usize) {
        let mut block: Vec<u8> = (0..from.max(to) + count)
            .map(|n| (n * 7 + n / 256) as u8)
            .collect();
        let mut expected = block.clone();
        expected.copy_within(from..from + count, to);
        let start = block.as_mut_ptr();
        // SAFETY: both blocks lie within the vector.
        unsafe { copy(start.add(to), start.add(from), count) };
        assert!(block == expected, "{count} bytes from {from} to {to}");
    }

    #[test]
    fn blocks_of_every_length_and_overlap_are_copied() {
        let lengths = (0..5 * STEP).chain(STRING_COPY - 3..STRING_COPY + 3);
        for count in lengths {
            for distance in [
                0,
                1,
                7,
                8,
                15,
                16,
                31,
                33,
                STEP - 1,
                STEP,
                STEP + 1,
                200,
                count,
            ] {
                compare(0, distance, count);
                compare(distance, 0, count);
                compare(3, 3 + distance, count);
            }
        }
    }
}
