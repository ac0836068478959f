//! The allocator of a program that runs for long: what it frees goes back to the system at once.
//!
//! glibc keeps small blocks for good. mimalloc has blocks of one size in pages of 64 KiB, or of
//! 512 KiB if they are larger than 8 KiB, and gives a page back when its last block is freed: some
//! microseconds each, so that no packet waits long, however much is freed.

use std::ffi::{c_int, c_long};

pub use mimalloc::MiMalloc as Allocator;

/// `mi_option_purge_delay` of `mimalloc.h`: the milliseconds for which an empty page is kept.
const PURGE_DELAY: c_int = 15;
/// With a delay, all pages that became empty meanwhile would go in one long step.
const AT_ONCE: c_long = 0;

/// Makes [`Allocator`] free empty pages at once. Call it first in `main`.
///
/// Transparent huge pages are turned off for the process: each thread's first block of a size
/// would take 2 MiB, and what is given back by 64 KiB would be cut out of them.
pub fn return_memory_at_once() {
    // SAFETY: sets one word of mimalloc's, which may be set at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, AT_ONCE) };
    // SAFETY: takes integers only. A kernel without huge pages refuses, and needs nothing.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}
