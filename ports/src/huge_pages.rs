//! Huge pages for large blocks of memory, by an allocator around another one.

use std::alloc::{GlobalAlloc, Layout};

/// Bytes of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// An allocator that has blocks of 2 MiB and more begin at a huge page, and asks the kernel for
/// such pages. What is looked up at random in many MiB waits for page tables as long as for itself
/// otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct HugePageAllocator<A>(pub A);

/// Where a large block begins; `None` of a small one.
fn at_huge_page(layout: Layout) -> Option<Layout> {
    let is_large = layout.size() >= HUGE_PAGE_BYTES;
    is_large.then_some(layout.align_to(HUGE_PAGE_BYTES).ok()?)
}

/// Asks for huge pages. A kernel without them refuses, and nothing else changes.
fn ask(block: *mut u8, bytes: usize) {
    if !block.is_null() {
        // SAFETY: the range is one block of our allocator's, and what it holds stays as it is.
        unsafe { libc::madvise(block.cast(), bytes, libc::MADV_HUGEPAGE) };
    }
}

// SAFETY: all calls are passed on with the layout that the block has or gets, whose alignment
// depends on the size and alignment asked for alone. An alignment that is too large for a layout is
// left as it was.
unsafe impl<A: GlobalAlloc> GlobalAlloc for HugePageAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(large) = at_huge_page(layout) else {
            // SAFETY: as the caller promises.
            return unsafe { self.0.alloc(layout) };
        };
        // SAFETY: the size is not 0.
        let block = unsafe { self.0.alloc(large) };
        ask(block, large.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(large) = at_huge_page(layout) else {
            // SAFETY: as the caller promises.
            return unsafe { self.0.alloc_zeroed(layout) };
        };
        // SAFETY: the size is not 0.
        let block = unsafe { self.0.alloc_zeroed(large) };
        ask(block, large.size());
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: it was allocated with this layout.
        unsafe {
            self.0
                .dealloc(block, at_huge_page(layout).unwrap_or(layout))
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if layout.size() < HUGE_PAGE_BYTES && bytes < HUGE_PAGE_BYTES {
            // SAFETY: as the caller promises, and neither layout is a large one.
            return unsafe { self.0.realloc(block, layout, bytes) };
        }
        // SAFETY: the caller promises that the new size is right with this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        // SAFETY: the size is not 0, as the caller promises.
        let new = unsafe { self.alloc(wanted) };
        if !new.is_null() {
            // SAFETY: both blocks have as many bytes, and are not the same; the old one is the
            // caller's.
            unsafe {
                std::ptr::copy_nonoverlapping(block, new, layout.size().min(bytes));
                self.dealloc(block, layout);
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::System;

    use super::*;

    /// Whether the memory map of this process says that huge pages are wanted at an address.
    fn is_asked(block: *const u8) -> bool {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_inside = false;
        for line in smaps.lines() {
            let range = line.split(' ').next().unwrap().split_once('-');
            let bounds = range.map(|(from, to)| {
                let number = |text| usize::from_str_radix(text, 16);
                (number(from), number(to))
            });
            if let Some((Ok(from), Ok(to))) = bounds {
                is_inside = (from..to).contains(&block.addr());
            }
            if is_inside && let Some(flags) = line.strip_prefix("VmFlags:") {
                return flags.split_whitespace().any(|flag| flag == "hg");
            }
        }
        false
    }

    #[test]
    fn a_large_block_begins_at_a_huge_page_and_asks_for_such() {
        let allocator = HugePageAllocator(System);
        let small = Layout::from_size_align(1000, 64).unwrap();
        let large = Layout::from_size_align(3 << 20, 64).unwrap();
        // SAFETY: the layouts are sound, and each block goes back with its own.
        unsafe {
            let block = allocator.alloc(small);
            block.write_bytes(7, small.size());
            let block = allocator.realloc(block, small, large.size());
            assert!(block.addr().is_multiple_of(HUGE_PAGE_BYTES) && is_asked(block));
            assert_eq!((*block, *block.add(small.size() - 1)), (7, 7));
            let block = allocator.realloc(block, large, small.size());
            assert_eq!((*block, *block.add(small.size() - 1)), (7, 7));
            allocator.dealloc(block, small);
            let block = allocator.alloc_zeroed(large);
            assert!(block.addr().is_multiple_of(HUGE_PAGE_BYTES) && is_asked(block));
            assert_eq!((*block, *block.add(large.size() - 1)), (0, 0));
            allocator.dealloc(block, large);
        }
    }
}
