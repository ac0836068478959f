//! Huge pages for large blocks of memory, by an allocator around another allocator, and a thread
//! that gives their pages back, so that packets do not wait for it.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::{self, Thread};

/// Bytes of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Bytes of the largest pages that a kernel has other than huge pages.
const MAX_PAGE_BYTES: usize = 64 << 10;

/// The thread that gives freed blocks back, once it runs.
static GIVER: OnceLock<Thread> = OnceLock::new();
/// The blocks that it is to give back: the last block that was freed, which names the block before.
static FREED: AtomicPtr<Freed> = AtomicPtr::new(ptr::null_mut());

/// The content of a freed block until it is given back.
struct Freed {
    before: *mut Freed,
    layout: Layout,
}

/// Has the thread give a large block back.
///
/// # Safety
/// The block was allocated with this layout, and nobody uses it any more.
unsafe fn free_beside(giver: &Thread, block: *mut u8, layout: Layout) {
    let freed: *mut Freed = block.cast();
    let mut before = FREED.load(Ordering::Relaxed);
    loop {
        // SAFETY: the block is large, begins at a huge page, and belongs to nobody else.
        unsafe { freed.write(Freed { before, layout }) };
        match FREED.compare_exchange_weak(before, freed, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => break,
            Err(other) => before = other,
        }
    }
    giver.unpark();
}

/// An allocator that has blocks of 2 MiB and more begin at a huge page, and asks the kernel for
/// such pages. What is looked up at random in many MiB waits for page tables as long as for itself
/// otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct HugePageAllocator<A>(pub A);

impl<A: GlobalAlloc + Send + 'static> HugePageAllocator<A> {
    /// Starts a thread that gives the pages of freed large blocks back to the system: 4 MiB take a
    /// third of a millisecond, and whoever freed them goes on at once. Without it they are given
    /// back by whoever frees them. One such thread is enough.
    pub fn return_memory_in_background(self) {
        if GIVER.get().is_some() {
            return;
        }
        let thread = thread::Builder::new().name("memory".into());
        let thread = thread.spawn(move || {
            loop {
                self.give_back();
                thread::park();
            }
        });
        if let Ok(thread) = thread {
            let _ = GIVER.set(thread.thread().clone());
        }
    }

    /// Gives all blocks of the list back.
    fn give_back(&self) {
        let mut freed = FREED.swap(ptr::null_mut(), Ordering::Acquire);
        while !freed.is_null() {
            // SAFETY: what is in the list is a block that nobody else uses, which begins with this
            // value, and is taken from the list once.
            let Freed { before, layout } = unsafe { freed.read() };
            let whole_pages = layout.size() & !(MAX_PAGE_BYTES - 1);
            // SAFETY: these are whole pages of a block that nobody uses.
            unsafe { libc::madvise(freed.cast(), whole_pages, libc::MADV_DONTNEED) };
            // SAFETY: it was allocated with this layout.
            unsafe { self.0.dealloc(freed.cast(), layout) };
            freed = before;
        }
    }
}

/// Returns where a large block begins; `None` of a small one.
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
        let Some(large) = at_huge_page(layout) else {
            // SAFETY: it was allocated with this layout.
            return unsafe { self.0.dealloc(block, layout) };
        };
        match GIVER.get() {
            // SAFETY: it was allocated with this layout, and the caller uses it no more.
            Some(giver) => unsafe { free_beside(giver, block, large) },
            // SAFETY: it was allocated with this layout.
            None => unsafe { self.0.dealloc(block, large) },
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
            // SAFETY: both blocks have as many bytes, and are not the same; the old block is the
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

    /// Returns true if the memory map of this process says that huge pages are wanted at an
    /// address.
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

    /// Returns true if any mapping of this process contains an address.
    fn is_mapped(address: usize) -> bool {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().any(|line| {
            let bounds = line.split(' ').next().unwrap().split_once('-').unwrap();
            let number = |text| usize::from_str_radix(text, 16).unwrap();
            (number(bounds.0)..number(bounds.1)).contains(&address)
        })
    }

    #[test]
    fn freed_large_blocks_are_given_back_beside() {
        let allocator = HugePageAllocator(System);
        let layout = Layout::from_size_align(64 << 20, 64).unwrap();
        HugePageAllocator(System).return_memory_in_background();
        let addresses = [0; 8].map(|_| {
            // SAFETY: the layout is sound.
            let block = unsafe { allocator.alloc(layout) };
            // SAFETY: the block is as long, and is used no more after it went back.
            unsafe {
                block.write_bytes(7, layout.size());
                allocator.dealloc(block, layout);
            }
            block.addr()
        });
        for _ in 0..1000 {
            if !addresses.iter().any(|address| is_mapped(*address)) {
                return;
            }
            thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("they are still there");
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
