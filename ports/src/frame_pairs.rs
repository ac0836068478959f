//! Where frames are received into: pairs of a small and a large frame at the end of the caller's
//! vector.
//!
//! The kernel fills the small one first and what follows goes straight to its place in the large
//! one, so that neither kind is copied whole. One frame of each pair is kept, the other returns to
//! the pool.

use bofuss_frame::{Frame, MAX_FRAME_BYTES, Pool, SMALL_FRAME_BYTES};

/// Appends up to `count` pairs of empty frames to `out`; fewer when the pool is exhausted.
pub(crate) fn arm(pool: &Pool, out: &mut Vec<Frame>, count: usize) -> usize {
    for armed in 0..count {
        let pair = (pool.take(SMALL_FRAME_BYTES), pool.take(MAX_FRAME_BYTES));
        let (Some(mut small), Some(mut large)) = pair else {
            return armed;
        };
        small.set_len(SMALL_FRAME_BYTES);
        large.set_len(MAX_FRAME_BYTES);
        out.extend([small, large]);
    }
    count
}

/// The two places of a pair that the kernel fills in turn.
pub(crate) fn places(pair: &mut [Frame]) -> [&mut [u8]; 2] {
    let [small, large] = pair else {
        panic!("a pair is two frames");
    };
    [
        small.bytes_mut(),
        &mut large.bytes_mut()[SMALL_FRAME_BYTES..],
    ]
}

/// Makes the pair `slot` of those that start at `base` one frame of `len` bytes and moves it to
/// `at`.
///
/// `at` is at most `base + slot`: what it displaces is of a pair that is done with.
pub(crate) fn keep(out: &mut [Frame], base: usize, slot: usize, at: usize, len: usize) {
    let first = base + 2 * slot;
    let large = usize::from(len > SMALL_FRAME_BYTES);
    if large == 1 {
        let (small, rest) = out[first..].split_at_mut(1);
        rest[0].bytes_mut()[..SMALL_FRAME_BYTES].copy_from_slice(small[0].bytes());
    }
    out[first + large].set_len(len);
    out.swap(at, first + large);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_frames_are_whole_and_in_order_whatever_is_skipped() {
        let pool = Pool::new(1 << 22);
        let mut out = vec![pool.frame(b"before").expect("within the limit")];
        let sizes = [60, 4000, SMALL_FRAME_BYTES, SMALL_FRAME_BYTES + 1, 61];
        assert_eq!(arm(&pool, &mut out, sizes.len()), sizes.len());
        for slot in 0..sizes.len() {
            for place in places(&mut out[1 + 2 * slot..][..2]) {
                place.fill(slot as u8);
            }
        }
        let mut at = 1;
        for (slot, len) in sizes.into_iter().enumerate() {
            if slot != 2 {
                keep(&mut out, 1, slot, at, len);
                at += 1;
            }
        }
        out.truncate(at);
        let seen: Vec<_> = out[1..].iter().map(|f| (f.bytes()[0], f.len())).collect();
        assert_eq!(
            seen,
            [(0, 60), (1, 4000), (3, SMALL_FRAME_BYTES + 1), (4, 61)]
        );
        assert!(out[2].bytes().iter().all(|&byte| byte == 1));
        assert_eq!(out[0].bytes(), b"before");
    }

    #[test]
    fn an_exhausted_pool_arms_what_it_can() {
        let pool = Pool::new(2 * (4096 + 65536));
        let mut out = Vec::new();
        assert_eq!(arm(&pool, &mut out, 8), 2);
        assert_eq!(out.len(), 4);
        out.clear();
        assert_eq!(pool.stats().bytes_in_use, 0);
    }
}
