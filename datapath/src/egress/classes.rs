//! How the frames that wait at a port are to wait: by numbers, which the frames carry.

use alloc::vec::Vec;

use crate::qos::QueueClass;

/// Classes whose memory is kept when nothing waits.
const KEPT: usize = 64;

/// The classes of frames that wait. Numbers are used again; the memory of many goes back once none
/// is left.
#[derive(Debug, Default)]
pub(super) struct WaitingClasses {
    classes: Vec<QueueClass>,
    free: Vec<u32>,
}

impl WaitingClasses {
    /// Adds a frame's class; returns its number.
    pub(super) fn insert(&mut self, class: QueueClass) -> u32 {
        if let Some(number) = self.free.pop() {
            self.classes[number as usize] = class;
            return number;
        }
        self.classes.push(class);
        self.classes.len() as u32 - 1
    }

    /// Takes the class out that has a number from `insert`. Panics: there never was such a number.
    pub(super) fn remove(&mut self, number: u32) -> QueueClass {
        let class = self.classes[number as usize];
        self.free.push(number);
        if self.free.len() == self.classes.len() {
            self.classes.clear();
            self.free.clear();
            self.classes.shrink_to(KEPT);
            self.free.shrink_to(KEPT);
        }
        class
    }
}
