//! Where numbered items are in memory: the first ones in small blocks, so that a few items take
//! little memory, and all others in large blocks, which fill huge pages.

use alloc::vec::Vec;
use core::ops::Range;

/// The size in bytes of a huge page on x86-64 and on most other processors with pages of 4 KiB. If
/// the allocator aligns larger blocks with such pages, a lookup among a million items waits only
/// for their memory, and not for page tables as well.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The number of items of a block; both numbers are powers of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockSizes {
    small: usize,
    /// Items of a large block; all small blocks together hold as many.
    large: usize,
}

impl BlockSizes {
    /// Small blocks of `small` items, and large ones that end with a huge page.
    ///
    /// `small` has to be a power of two. A large block is a whole number of huge pages, whatever
    /// the size of an item: items of 3 * 64 bytes make blocks of three pages.
    pub(crate) const fn of<T>(small: usize) -> Self {
        let filling = HUGE_PAGE_BYTES >> size_of::<T>().trailing_zeros();
        let large = if filling > small { filling } else { small };
        Self { small, large }
    }

    /// The block of an item, and its place there.
    ///
    /// The small blocks together have as many items as a large block, so the number of a large
    /// block is an item's number divided by its size, plus a constant.
    #[inline(always)]
    pub(crate) const fn place(self, number: usize) -> (usize, usize) {
        if number < self.large {
            (number / self.small, number % self.small)
        } else {
            let n_small = self.large / self.small;
            (number / self.large + n_small - 1, number % self.large)
        }
    }

    /// An item in blocks of these sizes. The two branches take fewer instructions than a choice
    /// between two places.
    #[inline(always)]
    pub(crate) fn get<T>(self, blocks: &[Vec<T>], number: usize) -> Option<&T> {
        if number < self.large {
            return blocks.get(number / self.small)?.get(number % self.small);
        }
        let (block, at) = self.place(number);
        blocks.get(block)?.get(at)
    }

    /// As [`Self::get`], for changes.
    #[inline(always)]
    pub(crate) fn get_mut<T>(self, blocks: &mut [Vec<T>], number: usize) -> Option<&mut T> {
        if number < self.large {
            return blocks
                .get_mut(number / self.small)?
                .get_mut(number % self.small);
        }
        let (block, at) = self.place(number);
        blocks.get_mut(block)?.get_mut(at)
    }

    /// The items of a block.
    pub(crate) const fn of_block(self, block: usize) -> Range<usize> {
        let n_small = self.large / self.small;
        if block < n_small {
            block * self.small..(block + 1) * self.small
        } else {
            let first = (block - n_small + 1) * self.large;
            first..first + self.large
        }
    }

    /// Returns how many items fit into the blocks that `count` items need.
    pub(crate) const fn room(self, count: usize) -> usize {
        if count <= self.large {
            count.next_multiple_of(self.small)
        } else {
            count.next_multiple_of(self.large)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_has_one_place_and_large_blocks_fill_huge_pages() {
        let sizes = BlockSizes::of::<[u64; 24]>(256);
        assert_eq!(sizes.large * 192, 3 * HUGE_PAGE_BYTES);
        let mut number = 0;
        for block in 0..200 {
            let range = sizes.of_block(block);
            assert_eq!(range.start, number);
            for place in [0, 1, range.len() - 1] {
                assert_eq!(sizes.place(number + place), (block, place));
            }
            assert_eq!(sizes.room(range.start + 1), range.end);
            assert_eq!(sizes.room(range.end), range.end);
            number = range.end;
        }
    }
}
