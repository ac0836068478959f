//! The way of a flow's frames: the departures that actions lead to, each after a change.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use bofuss_fastpath::Way;
use bofuss_oflib::types::EtherType;
use bofuss_oflib::{Action, FieldMatch};

use crate::error::Refusal;
use crate::key::{
    self, ADDRESSES_AT, HAS_TAG, KEY_BYTES, LABEL_AT, MACS_AT, PORTS_AT, Row, TAG_AT, TCP_FLAGS_AT,
    TOS_AT,
};
use crate::layout::{KEY_WORDS, Leg};
use crate::memory::SharedArray;

/// The type of the tags that are pushed.
const VLAN: EtherType = EtherType(0x8100);

/// The bits of [`Leg::changes`].
#[derive(Debug)]
pub(crate) struct Changes;

impl Changes {
    const MACS: u32 = 1;
    const TAG: u32 = 2;
    /// The tag is a new one, without the bit DEI of an old one.
    const NEW_TAG: u32 = 4;
    const IP: u32 = 8;
    const TRANSPORT: u32 = 16;
}

/// The kinds of changes, and places of a key that they are about.
const PLACES: [(u32, Range<usize>); 6] = [
    (Changes::MACS, MACS_AT..MACS_AT + 12),
    (Changes::TAG, TAG_AT..TAG_AT + 2),
    (Changes::IP, TOS_AT..TOS_AT + 1),
    (Changes::IP, ADDRESSES_AT..PORTS_AT),
    (Changes::IP, LABEL_AT..TCP_FLAGS_AT),
    (Changes::TRANSPORT, PORTS_AT..PORTS_AT + 4),
];

/// A change of a frame as its last departure left it, or as it arrived.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    /// Masks of the key: the bits that stay, and those that are set.
    stays: [u8; KEY_BYTES],
    set: [u8; KEY_BYTES],
    kinds: u32,
    /// By how much the TTL is lowered.
    pub(crate) hops: u32,
    /// True if a tag that the frame arrived with is still there, and with it the bit DEI.
    keeps_tag: bool,
}

impl Change {
    const NOTHING: Self = Self {
        stays: [0xff; KEY_BYTES],
        set: [0; KEY_BYTES],
        kinds: 0,
        hops: 0,
        keeps_tag: true,
    };

    /// Returns true if nothing is changed.
    pub(crate) fn is_nothing(&self) -> bool {
        self.kinds == 0
    }

    /// The change that actions make of frames with this key as they arrive. Errors: the first
    /// action that is none of those that the kernel does.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whoever adds an action need not know of this way"
    )]
    fn of<'a>(actions: &'a [Action], key: &[u8; KEY_BYTES]) -> Result<Self, &'a Action> {
        let mut has_tag = key::has_tag(key);
        let mut change = Self::NOTHING;
        for action in actions {
            match action {
                Action::SetField(set) => match key::row_of(set.0.field) {
                    Ok(row) if row.at == TCP_FLAGS_AT => return Err(action),
                    Ok(row)
                        if (ADDRESSES_AT..PORTS_AT).contains(&row.at)
                            && key::has_unknown_sum(key) =>
                    {
                        return Err(action);
                    }
                    Ok(row) if row.is_in(key, has_tag) => change.set_field(&set.0, &row),
                    Ok(_) => {}
                    Err(true) => return Err(action),
                    // No frame of a key has its header.
                    Err(false) => {}
                },
                Action::PushVlan(VLAN) if !has_tag => {
                    change.set_tag(HAS_TAG);
                    change.kinds |= Changes::NEW_TAG;
                    has_tag = true;
                }
                Action::PopVlan => {
                    if has_tag {
                        change.set_tag(0);
                    }
                    (has_tag, change.keeps_tag) = (false, false);
                }
                Action::DecNwTtl => change.hops += 1,
                _ => return Err(action),
            }
        }
        Ok(change)
    }

    /// Sets bits of the key, which are the mask's.
    fn set(&mut self, at: usize, value: &[u8], mask: &[u8]) {
        for (number, (value, mask)) in value.iter().zip(mask).enumerate() {
            self.stays[at + number] &= !mask;
            self.set[at + number] = self.set[at + number] & !mask | value & mask;
        }
    }

    fn set_field(&mut self, one: &FieldMatch, row: &Row) {
        let number = |bytes: &[u8]| {
            let bytes = bytes.iter();
            bytes.fold(0, |sum, byte| sum << 8 | u128::from(*byte))
        };
        let bits = number(row.bits);
        let place = |value: u128| ((value << bits.trailing_zeros()) & bits).to_be_bytes();
        let (value, mask) = (place(one.number()), place(one.mask_number()));
        let from = value.len() - row.bits.len();
        self.set(row.at, &value[from..], &mask[from..]);
    }

    fn set_tag(&mut self, tci: u16) {
        self.set(TAG_AT, &tci.to_be_bytes(), &[0xff; 2]);
    }

    /// This change of frames as they arrive, when `before` was made already: what it does not
    /// change becomes again what it is in the key, as far as the mask knows it. `None` if it does
    /// not know all, or the TTL would have to rise.
    fn after(
        mut self,
        before: &Self,
        key: &[u8; KEY_BYTES],
        mask: &[u8; KEY_BYTES],
    ) -> Option<Self> {
        let had_tag = key::has_tag(key);
        for at in 0..KEY_BYTES {
            let is_tag = (TAG_AT..TAG_AT + 2).contains(&at);
            let restored = self.stays[at] & !before.stays[at];
            if restored & !mask[at] != 0 && (had_tag || !is_tag) {
                return None;
            }
            self.stays[at] &= !restored;
            self.set[at] |= key[at] & restored;
        }
        if had_tag && self.keeps_tag && !before.keeps_tag {
            return None;
        }
        self.hops = self.hops.checked_sub(before.hops)?;
        for (kind, mut places) in PLACES {
            let differs =
                |at: usize| (self.stays[at], self.set[at]) != (before.stays[at], before.set[at]);
            if places.any(differs) {
                self.kinds |= kind;
            }
        }
        if self.hops > 0 {
            self.kinds |= Changes::IP;
        }
        if self.kinds & Changes::TAG == 0 {
            self.kinds &= !Changes::NEW_TAG;
        }
        Some(self)
    }
}

/// The changes before each departure of a way, of frames with this key, of which the mask is known.
/// Errors: why they cannot be made.
pub(crate) fn changes(
    way: &Way,
    key: &[u8; KEY_BYTES],
    mask: &[u8; KEY_BYTES],
) -> Result<Vec<Change>, Refusal> {
    let mut before = Change::NOTHING;
    let mut changes = Vec::new();
    for departure in &way.departures {
        let whole = Change::of(&departure.changes, key);
        let whole = whole.map_err(|action| Refusal::Action(action.clone()))?;
        let change = whole.clone().after(&before, key, mask);
        changes.push(change.ok_or(Refusal::Restores)?);
        before = whole;
    }
    Ok(changes)
}

/// The legs of ways, each of which is there once for all flows that have it.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    known: BTreeMap<Route, Legs>,
    free: Vec<u32>,
    /// The number of numbers that have been used.
    used: u32,
}

#[derive(Debug)]
struct Legs {
    numbers: Vec<u32>,
    users: u32,
}

/// The changes before the departures of a way, with the interfaces that frames leave by.
pub(crate) type Route = Rc<[(Change, u32)]>;

impl Ways {
    /// Writes the legs of a way for one flow more. Returns the number of the first; `None` if there
    /// is no room.
    pub(crate) fn add(&mut self, way: &Route, legs: &SharedArray<Leg>) -> Option<u32> {
        if let Some(known) = self.known.get_mut(way) {
            known.users += 1;
            return known.numbers.first().copied();
        }
        if way.len() > self.room(legs) {
            return None;
        }
        let mut numbers = Vec::new();
        for _ in way.iter() {
            numbers.push(self.free.pop().unwrap_or_else(|| {
                self.used += 1;
                self.used
            }));
        }
        for (place, (change, out)) in way.iter().enumerate() {
            let next = numbers.get(place + 1).copied().unwrap_or(0);
            write(&legs[numbers[place] as usize], change, *out, next);
        }
        let first = numbers.first().copied();
        self.known
            .insert(Rc::clone(way), Legs { numbers, users: 1 });
        first
    }

    /// Returns true if the legs of a way are there, or might be.
    pub(crate) fn have_room(&self, way: &Route, legs: &SharedArray<Leg>) -> bool {
        self.known.contains_key(way) || way.len() <= self.room(legs)
    }

    /// The number of legs that no way has.
    fn room(&self, legs: &SharedArray<Leg>) -> usize {
        legs.len() - 1 - self.used as usize + self.free.len()
    }

    /// Gives the legs of a way up for one flow, which no frame is on any more.
    pub(crate) fn remove(&mut self, way: &Route) {
        let Some(known) = self.known.get_mut(way) else {
            return;
        };
        known.users -= 1;
        if known.users == 0 {
            self.free.append(&mut known.numbers);
            self.known.remove(way);
        }
    }

    /// Gives all legs up.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn write(leg: &Leg, change: &Change, out: u32, next: u32) {
    let words = |bytes: &[u8; KEY_BYTES]| -> [u64; KEY_WORDS] {
        std::array::from_fn(|word| {
            let bytes: [u8; 8] = std::array::from_fn(|byte| bytes[8 * word + byte]);
            u64::from_ne_bytes(bytes)
        })
    };
    for (place, word) in leg.stays.iter().zip(words(&change.stays)) {
        place.store(word, Relaxed);
    }
    for (place, word) in leg.set.iter().zip(words(&change.set)) {
        place.store(word, Relaxed);
    }
    leg.out.store(out, Relaxed);
    leg.next.store(next, Relaxed);
    leg.hops.store(change.hops, Relaxed);
    leg.changes.store(change.kinds, Relaxed);
}
