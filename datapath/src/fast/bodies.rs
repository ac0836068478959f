//! The instructions of entries: each list once, however many have it, and how long all are.

use bofuss_oflib::instruction::Instructions;
use hashbrown::HashMap;

/// Actions of one list that take the place of an entry, or of a bucket, where these are limited.
pub(crate) const ACTIONS_PER_PLACE: usize = 8;

/// The instructions of entries.
#[derive(Default)]
pub(crate) struct Bodies {
    /// Each, and how many entries have it.
    users: HashMap<Instructions, u32>,
    /// Places of entries that they take by their length.
    pub(crate) places: usize,
}

impl Bodies {
    /// Places of entries that these instructions would take; none if they are known.
    pub(crate) fn more_places(&self, body: &Instructions) -> usize {
        match places(body) {
            0 => 0,
            more => more * usize::from(!self.users.contains_key(body)),
        }
    }

    /// These instructions, for one more entry.
    pub(crate) fn share(&mut self, body: &Instructions) -> Instructions {
        if let Some((known, users)) = self.users.get_key_value_mut(body) {
            *users += 1;
            return known.clone();
        }
        let body = body.unshared();
        self.places += places(&body);
        self.users.insert(body.clone(), 1);
        body
    }

    /// One entry has them no more.
    pub(crate) fn release(&mut self, body: &Instructions) {
        if let Some(users) = self.users.get_mut(body) {
            *users -= 1;
            if *users == 0 {
                self.users.remove(body);
                self.places -= places(body);
            }
        }
    }
}

/// Places of entries that instructions take by their length.
pub(crate) fn places(body: &Instructions) -> usize {
    body.actions().count() / ACTIONS_PER_PLACE
}
