//! The instructions and masks of entries, each kept once however many entries have it, and their
//! total size.

use alloc::rc::Rc;

use crate::tables::step_map::StepMap;
use bofuss_oflib::Action;
use bofuss_oflib::instruction::{Instruction, Instructions};
use bofuss_packet::{KeyMask, KeyMatch};

/// So many actions of an entry, in both lists together, count as one more entry towards the limit.
const ACTIONS_PER_PLACE: usize = 4;
/// So many bytes in an extension's value count as an action; an action takes about as much.
const ACTION_BYTES: usize = 16;
/// So many words of a mask (of 8 bytes) count as one more entry.
const WORDS_PER_PLACE: usize = 8;
/// The number of masks of a table that count as no further entry; together they take some 25 KB.
const FREE_MASKS: usize = 64;

/// The instructions of entries.
#[derive(Default)]
pub(crate) struct SharedInstructions {
    /// Each value, with how many entries have it.
    users: StepMap<Instructions, u32>,
    /// The number of entries that they count as, by their length.
    pub(crate) places: usize,
}

impl SharedInstructions {
    /// Returns how many entries these instructions would count as; 0 if other entries have them.
    pub(crate) fn more_places(&self, body: &Instructions) -> usize {
        match places(body) {
            0 => 0,
            more => more * usize::from(self.users.get(body).is_none()),
        }
    }

    /// The shared copy of these instructions, for one more entry.
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

    /// Notes that one entry no longer has them.
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

/// Returns how many entries instructions count as, by their length.
pub(crate) fn places(body: &Instructions) -> usize {
    let mut actions: usize = body.actions().map(actions_in).sum();
    for instruction in body.list() {
        if let Instruction::Experimenter(value) = instruction {
            actions += value.held_bytes() / ACTION_BYTES;
        }
    }
    actions / ACTIONS_PER_PLACE
}

/// Returns how many actions one action counts as: an extension's may contain bytes and nested
/// actions.
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
    /// Each value, with how many entries have it.
    users: StepMap<Rc<KeyMask>, u32>,
}

impl SharedMasks {
    /// Returns how many entries an entry with this match would count as: one, one more for a new
    /// mask beyond [`FREE_MASKS`], and more if the match or the new mask is long.
    pub(crate) fn places(&self, rule: &KeyMatch) -> usize {
        let more = rule.mask().words().len() / WORDS_PER_PLACE;
        if self.users.get(rule.mask()).is_some() {
            return 1 + more;
        }
        1 + usize::from(self.users.len() >= FREE_MASKS) + 2 * more
    }

    /// Returns how many entries have the mask of a match.
    pub(crate) fn users(&self, rule: &KeyMatch) -> u32 {
        self.users.get(rule.mask()).map_or(0, |(_, users)| *users)
    }

    /// Makes the match of a new entry share its mask.
    pub(crate) fn share(&mut self, rule: &mut KeyMatch) {
        let (mask, users) = self.users.entry(rule.mask());
        *users += 1;
        rule.share_mask(mask);
    }

    /// Notes that one entry no longer has its mask.
    pub(crate) fn release(&mut self, rule: &KeyMatch) {
        if let Some((_, users)) = self.users.get_mut(rule.mask()) {
            *users -= 1;
            if *users == 0 {
                self.users.remove(rule.mask());
            }
        }
    }
}
