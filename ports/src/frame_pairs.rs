//! Buffers into which frames are received: places at the end of the caller's vector.
//!
//! The kernel fills the small frame of a pair first and what follows goes straight to its place in
//! the large one, so that neither kind is copied whole. One frame of each pair is kept, the other
//! returns to the pool.

use bofuss_frame::{Frame, MAX_FRAME_BYTES, Pool, SMALL_FRAME_BYTES};

/// The buffers into which each frame is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A pair of a small and a large frame: its length is unknown.
    Pair,
    /// A large frame: it is known to be longer than a small one.
    Large,
}

impl Place {
    /// The number of the vector's frames that it takes.
    pub(crate) fn frames(self) -> usize {
        match self {
            Self::Pair => 2,
            Self::Large => 1,
        }
    }

    /// Appends up to `count` places of empty frames to `out`; fewer when the pool is exhausted.
    pub(crate) fn arm(self, pool: &Pool, out: &mut Vec<Frame>, count: usize) -> usize {
        for armed in 0..count {
            if self == Self::Pair && !push(pool, out, SMALL_FRAME_BYTES) {
                return armed;
            }
            if !push(pool, out, MAX_FRAME_BYTES) {
                out.truncate(out.len() + 1 - self.frames());
                return armed;
            }
        }
        count
    }

    /// Makes what came into place `slot` of those that start at `base` one frame of `len` bytes and
    /// moves it to `at`.
    ///
    /// `at` is at most `base + slot`: what it displaces is of a place that is done with.
    pub(crate) fn keep(self, out: &mut [Frame], base: usize, slot: usize, at: usize, len: usize) {
        let mut kept = base + self.frames() * slot;
        if self == Self::Pair && len > SMALL_FRAME_BYTES {
            let (small, rest) = out[kept..].split_at_mut(1);
            rest[0].bytes_mut()[..SMALL_FRAME_BYTES].copy_from_slice(small[0].bytes());
            kept += 1;
        }
        out[kept].set_len(len);
        out.swap(at, kept);
    }
}

/// Appends an empty frame that has room for `bytes`. Errors: `false` if the pool is exhausted.
fn push(pool: &Pool, out: &mut Vec<Frame>, bytes: usize) -> bool {
    let Some(mut frame) = pool.take(bytes) else {
        return false;
    };
    frame.set_len(bytes);
    out.push(frame);
    true
}

/// The two parts of a place that the kernel fills in turn; the second one is empty if it is one
/// frame.
pub(crate) fn parts(place: &mut [Frame]) -> [&mut [u8]; 2] {
    match place {
        [large] => [large.bytes_mut(), &mut []],
        [small, large] => [
            small.bytes_mut(),
            &mut large.bytes_mut()[SMALL_FRAME_BYTES..],
        ],
        _ => panic!("a place is one frame or two"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_frames_are_whole_and_in_order_whatever_is_skipped() {
        let pool = Pool::new(1 << 22);
        let mut out = vec![pool.frame(b"before").expect("within the limit")];
        let sizes = [60, 4000, SMALL_FRAME_BYTES, SMALL_FRAME_BYTES + 1, 61];
        assert_eq!(Place::Pair.arm(&pool, &mut out, sizes.len()), sizes.len());
        for slot in 0..sizes.len() {
            for part in parts(&mut out[1 + 2 * slot..][..2]) {
                part.fill(slot as u8);
            }
        }
        let mut at = 1;
        for (slot, len) in sizes.into_iter().enumerate() {
            if slot != 2 {
                Place::Pair.keep(&mut out, 1, slot, at, len);
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
        assert_eq!(Place::Pair.arm(&pool, &mut out, 8), 2);
        assert_eq!(out.len(), 4);
        out.clear();
        assert_eq!(pool.stats().bytes_in_use, 0);
        assert_eq!(Place::Large.arm(&pool, &mut out, 8), 2);
        assert_eq!(out.len(), 2);
    }

    #[test]
    fn frames_that_are_known_to_be_long_are_kept_where_they_came() {
        let pool = Pool::new(1 << 22);
        let mut out = Vec::new();
        assert_eq!(Place::Large.arm(&pool, &mut out, 3), 3);
        for slot in 0..3 {
            let [whole, nothing] = parts(&mut out[slot..][..1]);
            assert!(nothing.is_empty());
            whole.fill(slot as u8);
        }
        Place::Large.keep(&mut out, 0, 0, 0, 1999);
        Place::Large.keep(&mut out, 0, 2, 1, MAX_FRAME_BYTES);
        out.truncate(2);
        let seen: Vec<_> = out.iter().map(|f| (f.bytes()[0], f.len())).collect();
        assert_eq!(seen, [(0, 1999), (2, MAX_FRAME_BYTES)]);
    }
}
