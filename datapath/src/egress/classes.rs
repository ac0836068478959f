//! The queueing classes of the frames that wait at a port, by numbers that the frames carry.
//!
//! The class is not in the frame itself, because most frames never wait. `Frame::tag` has the
//! number, which means nothing outside of the egress.

use alloc::vec::Vec;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::qos::QueueClass;

/// For how many classes memory is kept when no frame waits.
const KEPT: usize = 64;

/// The classes of waiting frames. Numbers are reused; memory beyond [`KEPT`] is freed when no frame
/// is left.
#[derive(Debug, Default)]
pub(super) struct WaitingClasses {
    classes: Vec<QueueClass>,
    free: Vec<u32>,
    /// The number of waiting frames of each microflow that has a number.
    of_flows: HashMap<u64, usize>,
}

impl WaitingClasses {
    /// Adds a frame's class; returns its number.
    pub(super) fn insert(&mut self, class: QueueClass) -> u32 {
        if let Some(id) = class.qos().flow_id {
            *self.of_flows.entry(id).or_default() += 1;
        }
        if let Some(number) = self.free.pop() {
            self.classes[number as usize] = class;
            return number;
        }
        self.classes.push(class);
        self.classes.len() as u32 - 1
    }

    /// Removes the class with a number from `insert`. Panics: there never was such a number.
    pub(super) fn remove(&mut self, number: u32) -> QueueClass {
        let class = self.classes[number as usize];
        let entry = class.qos().flow_id.map(|id| self.of_flows.entry(id));
        if let Some(Entry::Occupied(mut waiting)) = entry {
            *waiting.get_mut() -= 1;
            if *waiting.get() == 0 {
                waiting.remove();
            }
        }
        self.free.push(number);
        if self.free.len() == self.classes.len() {
            self.classes.clear();
            self.free.clear();
            self.classes.shrink_to(KEPT);
            self.free.shrink_to(KEPT);
            self.of_flows.shrink_to(KEPT);
        }
        class
    }

    /// Returns true if frames of the microflow with this number wait.
    pub(super) fn has(&self, flow_id: u64) -> bool {
        self.of_flows.contains_key(&flow_id)
    }
}
