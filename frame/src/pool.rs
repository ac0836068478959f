//! Frames and the bounded pool that their buffers return to.

use alloc::{rc::Rc, vec::Vec};
use core::cell::RefCell;

use crate::Offload;

/// Free bytes before a received frame, for headers that actions push.
pub const HEADROOM_BYTES: usize = 128;
/// The longest frame that a small buffer holds: an Ethernet frame of MTU 1,500 with tags, rounded
/// up.
pub const SMALL_FRAME_BYTES: usize = 2048 - HEADROOM_BYTES;
/// The longest frame that any buffer holds: a 64 KiB IP packet with Ethernet and tags.
pub const MAX_FRAME_BYTES: usize = 65536 + 256;
/// Free small buffers that a pool keeps for reuse.
const KEEP_SMALL_BUFFERS: usize = 4096;
/// Free large buffers that a pool keeps for reuse.
const KEEP_LARGE_BUFFERS: usize = 128;

/// Frames may be kept for long only while at most one buffer in so many is in use, so that frames
/// being forwarded find room.
pub const KEPT_SHARE: usize = 4;

/// The counts of buffers that a pool has given out and allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes of buffers held by frames now.
    pub bytes_in_use: usize,
    /// Buffers allocated since the start; flat after warm-up.
    pub allocations: u64,
    /// Requests refused because the limit was reached.
    pub refused: u64,
}

#[derive(Debug, Default)]
struct Inner {
    small: Vec<Vec<u8>>,
    large: Vec<Vec<u8>>,
    limit_bytes: usize,
    stats: PoolStats,
}

impl Inner {
    fn shelf(&mut self, size: usize) -> (&mut Vec<Vec<u8>>, usize) {
        if size == HEADROOM_BYTES + SMALL_FRAME_BYTES {
            (&mut self.small, KEEP_SMALL_BUFFERS)
        } else {
            (&mut self.large, KEEP_LARGE_BUFFERS)
        }
    }
}

/// A bounded pool of frame buffers of two sizes. Cloning gives another handle to the same pool.
///
/// Single-threaded: the thread that owns the switch owns its pool.
///
/// ```
/// use bofuss_frame::Pool;
///
/// let pool = Pool::new(3000);
/// let mut frame = pool.frame(&[1, 2, 3, 4]).expect("the pool is unused");
/// assert!(pool.frame(&[0; 60]).is_none(), "the limit allows one buffer");
/// assert!(frame.insert(2, 2), "there is headroom");
/// frame.bytes_mut()[2..4].copy_from_slice(&[8, 9]);
/// assert_eq!(frame.bytes(), [1, 2, 8, 9, 3, 4]);
/// drop(frame);
/// assert_eq!(pool.stats().bytes_in_use, 0);
/// ```
#[derive(Clone, Debug)]
pub struct Pool(Rc<RefCell<Inner>>);

impl Pool {
    /// Makes an empty pool that hands out at most `limit_bytes` of buffers at a time.
    pub fn new(limit_bytes: usize) -> Self {
        Self(Rc::new(RefCell::new(Inner {
            limit_bytes,
            ..Inner::default()
        })))
    }

    /// Takes a zero-length frame with room for `capacity` bytes after the standard headroom.
    ///
    /// Errors: `None` if the pool's limit is reached or `capacity` exceeds [`MAX_FRAME_BYTES`].
    pub fn take(&self, capacity: usize) -> Option<Frame> {
        let longest = [SMALL_FRAME_BYTES, MAX_FRAME_BYTES]
            .into_iter()
            .find(|longest| capacity <= *longest)?;
        let size = HEADROOM_BYTES + longest;
        let mut inner = self.0.borrow_mut();
        if inner.stats.bytes_in_use + size > inner.limit_bytes {
            inner.stats.refused += 1;
            return None;
        }
        inner.stats.bytes_in_use += size;
        let buffer = inner.shelf(size).0.pop().unwrap_or_else(|| {
            inner.stats.allocations += 1;
            alloc::vec![0; size]
        });
        drop(inner);
        let pool = self.clone();
        Some(Frame {
            buffer,
            start: HEADROOM_BYTES,
            end: HEADROOM_BYTES,
            offload: Offload::NONE,
            tag: 0,
            tunnel_id: 0,
            pool,
        })
    }

    /// Takes a frame that holds a copy of `bytes`. Errors: as [`Pool::take`].
    pub fn frame(&self, bytes: &[u8]) -> Option<Frame> {
        let mut frame = self.take(bytes.len())?;
        frame.set_len(bytes.len());
        frame.bytes_mut().copy_from_slice(bytes);
        Some(frame)
    }

    /// Returns the counts of buffers given out so far.
    pub fn stats(&self) -> PoolStats {
        self.0.borrow().stats
    }
}

/// A frame: bytes between headroom and tailroom of a pooled buffer, and an offload record.
///
/// Dropping it returns the buffer to its pool.
#[derive(Debug)]
pub struct Frame {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The work that remains to be done before the frame is on a wire.
    pub offload: Offload,
    /// A number for the use of the frame's current owner; copies and segments do not have it.
    pub tag: u32,
    /// The tunnel by which it came in to a logical port or leaves by one; 0 for none. Copies and
    /// segments have it, too.
    pub tunnel_id: u64,
    pool: Pool,
}

impl Frame {
    /// The frame's bytes, from the destination address on, without FCS.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The frame's bytes, to be edited in place.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..self.end]
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that can still be inserted in front.
    pub fn headroom(&self) -> usize {
        self.start
    }

    /// Bytes of the buffer, whatever the frame uses of it.
    pub fn buffer_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// The longest length that [`Frame::set_len`] accepts.
    pub fn capacity(&self) -> usize {
        self.buffer.len() - self.start.min(HEADROOM_BYTES)
    }

    /// Cuts the frame to `len` bytes, or grows it by bytes of unspecified content. If bytes were
    /// removed in front and the room at the end is too small, the frame moves back to the place
    /// that it has with the standard headroom.
    ///
    /// Panics: if `len` exceeds [`Frame::capacity`].
    pub fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity(), "a frame is grown within its buffer");
        if self.start + len > self.buffer.len() {
            self.buffer
                .copy_within(self.start..self.end, HEADROOM_BYTES);
            self.start = HEADROOM_BYTES;
        }
        self.end = self.start + len;
    }

    /// Opens a gap of `count` zero bytes at `at` by moving the bytes before it into the headroom.
    ///
    /// Errors: `false`, and nothing changed, if the headroom is too small or `at` is past the end.
    pub fn insert(&mut self, at: usize, count: usize) -> bool {
        if count > self.start || at > self.len() {
            return false;
        }
        let start = self.start - count;
        self.buffer.copy_within(self.start..self.start + at, start);
        self.start = start;
        self.buffer[start + at..start + at + count].fill(0);
        true
    }

    /// Removes `count` bytes at `at` by moving the bytes before them.
    ///
    /// Errors: `false`, and nothing changed, if the range is not inside the frame.
    pub fn remove(&mut self, at: usize, count: usize) -> bool {
        if at + count > self.len() {
            return false;
        }
        self.buffer
            .copy_within(self.start..self.start + at, self.start + count);
        self.start += count;
        true
    }

    /// Returns true if a copy may be kept for long: at most a [`KEPT_SHARE`]th of its pool is in
    /// use.
    pub fn may_be_kept(&self) -> bool {
        let inner = self.pool.0.borrow();
        inner.stats.bytes_in_use <= inner.limit_bytes / KEPT_SHARE
    }

    /// Copies the frame and its record into another buffer. Errors: as [`Pool::take`].
    pub fn try_clone(&self) -> Option<Self> {
        let mut copy = self.pool.frame(self.bytes())?;
        copy.offload = self.offload;
        copy.tunnel_id = self.tunnel_id;
        Some(copy)
    }

    /// Takes the bytes and the record out, and leaves a frame without a buffer.
    #[inline]
    pub fn take(&mut self) -> Self {
        let empty = Self {
            buffer: Vec::new(),
            start: 0,
            end: 0,
            offload: Offload::NONE,
            tag: 0,
            tunnel_id: 0,
            pool: self.pool.clone(),
        };
        core::mem::replace(self, empty)
    }

    /// The pool that the frame came from.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
}

impl Drop for Frame {
    #[inline]
    fn drop(&mut self) {
        if !self.buffer.is_empty() {
            self.return_buffer();
        }
    }
}

impl Frame {
    #[inline(never)]
    fn return_buffer(&mut self) {
        let buffer = core::mem::take(&mut self.buffer);
        let mut inner = self.pool.0.borrow_mut();
        inner.stats.bytes_in_use -= buffer.len();
        let (shelf, keep) = inner.shelf(buffer.len());
        if shelf.len() < keep {
            shelf.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insert_and_remove_move_the_front_only() {
        let pool = Pool::new(1 << 20);
        let mut frame = pool.frame(b"abcdef").expect("within the limit");
        assert!(frame.insert(2, 3));
        assert_eq!(frame.bytes(), b"ab\0\0\0cdef");
        assert!(frame.remove(1, 4));
        assert_eq!(frame.bytes(), b"acdef");
        assert!(
            !frame.insert(0, HEADROOM_BYTES + 2),
            "one byte more than the headroom"
        );
        assert!(frame.insert(0, HEADROOM_BYTES + 1));
        assert!(!frame.remove(frame.len(), 1));
    }

    #[test]
    fn a_frame_that_lost_its_front_grows_as_far_as_a_fresh_one() {
        let pool = Pool::new(1 << 20);
        let mut frame = pool.take(SMALL_FRAME_BYTES).expect("within the limit");
        frame.set_len(SMALL_FRAME_BYTES);
        frame.bytes_mut()[SMALL_FRAME_BYTES - 2..].copy_from_slice(b"ab");
        assert!(frame.remove(0, SMALL_FRAME_BYTES - 2));
        assert_eq!(frame.capacity(), SMALL_FRAME_BYTES);
        frame.set_len(3);
        assert_eq!((&frame.bytes()[..2], frame.len()), (&b"ab"[..], 3));
        frame.set_len(SMALL_FRAME_BYTES);
        assert_eq!(frame.headroom(), HEADROOM_BYTES);
    }

    // I8
    #[test]
    fn a_dropped_frame_is_reused_and_the_limit_holds() {
        let pool = Pool::new(2 * 2048);
        let one = pool.take(60).expect("first");
        let two = pool.take(60).expect("second");
        assert!(pool.take(60).is_none(), "the third is past the limit");
        drop((one, two));
        let frames = [pool.take(60), pool.take(60)];
        assert!(frames.iter().all(Option::is_some));
        assert_eq!(
            pool.stats(),
            PoolStats {
                bytes_in_use: 4096,
                allocations: 2,
                refused: 1
            }
        );
    }

    #[test]
    fn a_frame_of_the_longest_size_fits_and_one_byte_more_does_not() {
        let pool = Pool::new(1 << 20);
        assert!(pool.take(MAX_FRAME_BYTES).is_some());
        assert!(pool.take(MAX_FRAME_BYTES + 1).is_none());
    }
}
