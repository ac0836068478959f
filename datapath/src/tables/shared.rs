//! The instructions and masks of entries: each once, however many have it, and how long all are.

use alloc::rc::Rc;

use crate::tables::step_map::StepMap;
use bofuss_oflib::Action;
use bofuss_oflib::instruction::{Instruction, Instructions};
use bofuss_packet::{KeyMask, KeyMatch};

/// Actions of an entry, of both lists together, that take the place of an entry.
const ACTIONS_PER_PLACE: usize = 4;
/// Bytes in an extension's value that count as an action: so many tell one action from another.
const ACTION_BYTES: usize = 16;
/// Words of a mask, 8 bytes of the key each, that take the place of an entry.
const WORDS_PER_PLACE: usize = 8;
/// Masks of a table that take no place: together some 25 KB.
const FREE_MASKS: usize = 64;

/// The instructions of entries.
#[derive(Default)]
pub(crate) struct SharedInstructions {
    /// Each, and how many entries have it.
    users: StepMap<Instructions, u32>,
    /// Places of entries that they take by their length.
    pub(crate) places: usize,
}

impl SharedInstructions {
    /// Places of entries that these instructions would take; none if they are known.
    pub(crate) fn more_places(&self, body: &Instructions) -> usize {
        match places(body) {
            0 => 0,
            more => more * usize::from(self.users.get(body).is_none()),
        }
    }

    /// These instructions, for one more entry.
    pub(crate) fn share(&mut self, body: &Instructions) -> Instructions {
        if let Some((known, users)) = self.users.get_mut(body) {
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
        if let Some((_, users)) = self.users.get_mut(body) {
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
    let mut actions: usize = body.actions().map(actions_in).sum();
    for instruction in body.list() {
        if let Instruction::Experimenter(value) = instruction {
            actions += value.held_bytes() / ACTION_BYTES;
        }
    }
    actions / ACTIONS_PER_PLACE
}

/// How many actions one counts for: an extension's may hold bytes, and further actions.
pub(crate) fn actions_in(action: &Action) -> usize {
    if let Action::Experimenter(value) = action {
        1 + value.held_bytes() / ACTION_BYTES
    } else {
        1
    }
}

/// The masks of a table's entries.
#[derive(Debug, Default)]
pub(crate) struct SharedMasks {
    /// Each, and how many entries have it.
    users: StepMap<Rc<KeyMask>, u32>,
}

impl SharedMasks {
    /// Places of entries that one of this match would take: its own, one for a mask that is one too
    /// many, and more if the match or the new mask is long.
    pub(crate) fn places(&self, rule: &KeyMatch) -> usize {
        let more = rule.mask().words().len() / WORDS_PER_PLACE;
        if self.users.get(rule.mask()).is_some() {
            return 1 + more;
        }
        1 + usize::from(self.users.len() >= FREE_MASKS) + 2 * more
    }

    /// How many entries have the mask of a match.
    pub(crate) fn users(&self, rule: &KeyMatch) -> u32 {
        self.users.get(rule.mask()).map_or(0, |(_, users)| *users)
    }

    /// Makes the match of a new entry share its mask.
    pub(crate) fn share(&mut self, rule: &mut KeyMatch) {
        let (mask, users) = self.users.entry(rule.mask());
        *users += 1;
        rule.share_mask(mask);
    }

    /// One entry has its mask no more.
    pub(crate) fn release(&mut self, rule: &KeyMatch) {
        if let Some((_, users)) = self.users.get_mut(rule.mask()) {
            *users -= 1;
            if *users == 0 {
                self.users.remove(rule.mask());
            }
        }
    }
}
