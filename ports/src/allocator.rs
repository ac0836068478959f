//! The allocator of a program that runs for long: what it frees goes back to the system at once.
//!
//! glibc keeps small blocks for good. mimalloc has blocks of one size in pages of 64 KiB, or of
//! 512 KiB if they are larger than 8 KiB, and gives a page back when its last block is freed: some
//! microseconds each, so that no packet waits long, however much is freed.

use std::ffi::{c_int, c_long, c_ulong};
use std::fs;

use mimalloc::MiMalloc;

use crate::HugePageAllocator;

/// The allocator of a program that runs for long.
pub type Allocator = HugePageAllocator<MiMalloc>;

/// `mi_option_purge_delay` of `mimalloc.h`: the milliseconds for which an empty page is kept.
const PURGE_DELAY: c_int = 15;
/// With a delay, all pages that became empty meanwhile would go in one long step.
const AT_ONCE: c_long = 0;
/// `PR_THP_DISABLE_EXCEPT_ADVISED` of `linux/prctl.h`, since Linux 6.18.
const EXCEPT_ADVISED: c_ulong = 1 << 1;
/// The file that says, in brackets, which processes get transparent huge pages.
const HUGE_PAGES_FOR: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Makes an [`Allocator`].
pub const fn allocator() -> Allocator {
    HugePageAllocator(MiMalloc)
}

/// Makes [`Allocator`] free empty pages at once. Call it first in `main`.
///
/// Only blocks that ask for them get transparent huge pages: otherwise each thread's first block of
/// a size would take 2 MiB, and memory that is returned by 64 KiB would be cut out of them. A
/// kernel that cannot tell them apart, and gives huge pages to all, is to give none.
pub fn return_memory_at_once() {
    // SAFETY: sets one word of mimalloc's, which may be set at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, AT_ONCE) };
    // SAFETY: takes integers only.
    let refused = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, EXCEPT_ADVISED, 0, 0) } != 0;
    if refused && fs::read_to_string(HUGE_PAGES_FOR).is_ok_and(|to| to.contains("[always]")) {
        // SAFETY: takes integers only.
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    }
}

/// Starts the thread that gives back large blocks of [`Allocator`]. It has the rights that the
/// calling thread has left.
pub fn return_memory_in_background() {
    allocator().return_memory_in_background();
}
