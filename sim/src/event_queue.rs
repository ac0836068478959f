//! The queue of events: by time, and for equal times in the order of scheduling.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bofuss_datapath::Time;

use crate::random::Random;

/// The turn of an event: the time at which it is due, a random number if ties are random, and a
/// number that grows with each scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    pub(crate) at: Time,
    pub(crate) tie: u32,
    pub(crate) serial: u64,
}

/// An event that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// The first frame that a transmitter has on its link arrives.
    Arrival { transmitter: u32 },
    /// A transmitter that accepted no frames accepts them again.
    Room { transmitter: u32 },
    /// A node has a timer that is due.
    Tick { node: u32 },
    /// The first message or bytes in one direction of a control link arrive.
    Control { direction: u32 },
    /// A controller has a timer that is due.
    ControllerTick { controller: u32 },
    /// A planned change of the network.
    Change { change: u32 },
}

/// The queue. Turns are unique, so the order depends on nothing else.
#[derive(Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(Turn, Due)>>,
    scheduled: u64,
    /// Draws the order of events at the same time, if it is random.
    ties: Option<Random>,
}

impl EventQueue {
    /// An empty queue; `ties` draws the order of events at the same time.
    pub(crate) fn with_ties(ties: Option<Random>) -> Self {
        Self {
            ties,
            ..Self::default()
        }
    }

    /// Returns the turn of an event at `at`: after all turns taken so far for that time, unless
    /// ties are random.
    pub(crate) fn turn(&mut self, at: Time) -> Turn {
        self.scheduled += 1;
        let serial = self.scheduled;
        let tie = self.ties.as_mut().map_or(0, |random| random.next() as u32);
        Turn { at, tie, serial }
    }

    pub(crate) fn push(&mut self, turn: Turn, due: Due) {
        self.heap.push(Reverse((turn, due)));
    }

    pub(crate) fn schedule(&mut self, at: Time, due: Due) {
        let turn = self.turn(at);
        self.push(turn, due);
    }

    /// Returns when the next event is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((turn, _))| turn.at)
    }

    /// Takes the next event, if it is due by `end`.
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
