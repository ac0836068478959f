//! What is due, in order of time, and in the order of its scheduling among equal times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bofuss_datapath::Time;

/// When something is due: the time, and a number that grows with each thing scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    pub(crate) at: Time,
    pub(crate) serial: u64,
}

/// Something that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// The first frame on the direction of a transmitter arrives.
    Arrival { transmitter: u32 },
    /// A transmitter that took no frames takes them again.
    Room { transmitter: u32 },
    /// A node asked to be called.
    Tick { node: u32 },
    /// The first of what is on one direction of a control link arrives.
    Control { direction: u32 },
    /// A controller asked to be called.
    ControllerTick { controller: u32 },
    /// A planned change of the network.
    Change { change: u32 },
}

/// A queue of what is due. Turns are unique, so the order depends on nothing else.
#[derive(Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(Turn, Due)>>,
    scheduled: u64,
}

impl EventQueue {
    /// The turn of something that will be due at `at`, behind all that was scheduled before.
    pub(crate) fn turn(&mut self, at: Time) -> Turn {
        self.scheduled += 1;
        let serial = self.scheduled;
        Turn { at, serial }
    }

    pub(crate) fn push(&mut self, turn: Turn, due: Due) {
        self.heap.push(Reverse((turn, due)));
    }

    pub(crate) fn schedule(&mut self, at: Time, due: Due) {
        let turn = self.turn(at);
        self.push(turn, due);
    }

    /// When something is due next.
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((turn, _))| turn.at)
    }

    /// Takes what is due first, if that is not after `end`.
    pub(crate) fn pop_until(&mut self, end: Time) -> Option<(Turn, Due)> {
        let Reverse((turn, _)) = self.heap.peek()?;
        if turn.at > end {
            return None;
        }
        let Reverse((turn, due)) = self.heap.pop()?;
        Some((turn, due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_the_order_of_scheduling() {
        let mut queue = EventQueue::default();
        let early = queue.turn(Time(5));
        queue.schedule(Time(5), Due::Tick { node: 1 });
        queue.schedule(Time(3), Due::Tick { node: 2 });
        // Its turn was taken first, so it comes first, though it is pushed last.
        queue.push(early, Due::Tick { node: 3 });
        queue.schedule(Time(9), Due::Tick { node: 4 });
        let mut order = Vec::new();
        while let Some((_, Due::Tick { node })) = queue.pop_until(Time(8)) {
            order.push(node);
        }
        assert_eq!(order, [2, 3, 1]);
    }
}
