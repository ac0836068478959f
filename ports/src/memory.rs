//! A port in memory, for tests: what enters at one end leaves at the other.

use std::{cell::RefCell, collections::VecDeque, os::fd::BorrowedFd, rc::Rc};

use bofuss_frame::{Frame, Pool};

use crate::{Counters, DriverDropReason, OffloadCapabilities, PortDriver, PortError, vnet};

/// Frames that wait at one end at most; beyond, the other end has no room.
const QUEUE_FRAMES: usize = 1024;
const MTU_BYTES: u32 = 1500;

type FrameQueue = Rc<RefCell<VecDeque<Frame>>>;

/// One end of a pair of ports; dropping it makes the other one [`PortError::Gone`].
pub struct Memory {
    incoming: FrameQueue,
    outgoing: FrameQueue,
    counters: Counters,
    mtu_bytes: u32,
    /// The work that this end takes off its user, as a test may wish: none by default.
    pub offers: OffloadCapabilities,
}

impl Memory {
    /// Makes two ends that are connected. Frames move with their records, unpadded, and are never
    /// copied.
    pub fn pair() -> (Self, Self) {
        let forth = FrameQueue::default();
        let back = FrameQueue::default();
        let first = Self::end(back.clone(), forth.clone());
        let second = Self::end(forth, back);
        (first, second)
    }

    fn end(incoming: FrameQueue, outgoing: FrameQueue) -> Self {
        Self {
            incoming,
            outgoing,
            counters: Counters::default(),
            mtu_bytes: MTU_BYTES,
            offers: OffloadCapabilities::default(),
        }
    }

    fn other_end_is_gone(&self) -> bool {
        Rc::strong_count(&self.outgoing) == 1
    }
}

impl PortDriver for Memory {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn recv(&mut self, _pool: &Pool, out: &mut Vec<Frame>, max: usize) -> Result<usize, PortError> {
        let mut queue = self.incoming.borrow_mut();
        if queue.is_empty() && self.other_end_is_gone() {
            return Err(PortError::Gone);
        }
        let count = max.min(queue.len());
        for frame in queue.drain(..count) {
            self.counters.received(frame.len());
            out.push(frame);
        }
        Ok(count)
    }

    fn send(&mut self, frames: &mut Vec<Frame>) -> Result<usize, PortError> {
        if self.other_end_is_gone() {
            self.counters
                .drop_some(DriverDropReason::TxLinkDown, frames.len() as u64);
            frames.clear();
            return Err(PortError::Gone);
        }
        let mtu = self.mtu_bytes as usize;
        frames.retain_mut(|frame| {
            let ready = vnet::prepare(frame, mtu, false);
            ready
                .inspect_err(|&reason| self.counters.drop_some(reason, 1))
                .is_ok()
        });
        let mut queue = self.outgoing.borrow_mut();
        let count = frames.len().min(QUEUE_FRAMES - queue.len());
        for frame in frames.drain(..count) {
            self.counters.sent(frame.len());
            queue.push_back(frame);
        }
        Ok(count)
    }

    fn counters(&mut self) -> Counters {
        self.counters
    }

    fn capabilities(&self) -> OffloadCapabilities {
        self.offers
    }

    fn is_drained(&self) -> bool {
        self.incoming.borrow().is_empty()
    }

    fn set_mtu(&mut self, mtu_bytes: u32) {
        self.mtu_bytes = mtu_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_leaves_the_rest_in_order() {
        let pool = Pool::new(1 << 24);
        let (mut a, mut b) = Memory::pair();
        let numbered = |n: usize| pool.frame(&n.to_be_bytes()).expect("within the limit");
        let mut frames: Vec<_> = (0..QUEUE_FRAMES + 2).map(numbered).collect();
        assert_eq!(a.send(&mut frames).expect("connected"), QUEUE_FRAMES);
        assert_eq!(frames[0].bytes(), QUEUE_FRAMES.to_be_bytes());
        let mut out = Vec::new();
        assert_eq!(b.recv(&pool, &mut out, 1).expect("connected"), 1);
        assert_eq!(a.send(&mut frames).expect("connected"), 1);
        assert_eq!(frames.len(), 1);
        assert_eq!((a.counters().tx_packets, b.counters().rx_bytes), (1025, 8));
    }

    #[test]
    fn a_dropped_end_makes_the_other_gone_once_drained() {
        let pool = Pool::new(1 << 20);
        let (mut a, mut b) = Memory::pair();
        let mut frames = vec![pool.frame(b"last words").expect("within the limit")];
        a.send(&mut frames).expect("connected");
        drop(a);
        assert_eq!(b.recv(&pool, &mut frames, 9).expect("one is left"), 1);
        assert!(matches!(
            b.recv(&pool, &mut frames, 9),
            Err(PortError::Gone)
        ));
        assert!(matches!(b.send(&mut frames), Err(PortError::Gone)));
        assert_eq!(b.counters().dropped(DriverDropReason::TxLinkDown), 1);
    }
}
