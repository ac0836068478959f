//! The way of a flow's frames: the departures that actions lead to, each after a change.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use bofuss_oflib::types::EtherType;
use bofuss_oflib::{Action, FieldMatch, PortNo};

use crate::key::{self, HAS_TAG, KEY_BYTES, MACS_AT, PORTS_AT, Row, TAG_AT, TCP_FLAGS_AT};
use crate::layout::{KEY_WORDS, LONGEST_WAY, Leg};
use crate::memory::SharedArray;

/// The type of the tags that are pushed.
const VLAN: EtherType = EtherType(0x8100);
/// Bytes of a tag.
const TAG_BYTES: i8 = 4;

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

/// A change of frames, and the port by which they leave then.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Departure {
    /// Masks of the key: the bits that stay, and those that are set.
    stays: [u8; KEY_BYTES],
    set: [u8; KEY_BYTES],
    changes: u32,
    /// By how much the TTL is lowered.
    pub(crate) hops: u32,
    /// How many bytes a frame has more than it had when it arrived.
    pub(crate) more_bytes: i8,
    pub(crate) port: PortNo,
}

impl Departure {
    /// Returns true if frames leave as they arrived.
    pub(crate) fn is_plain(&self) -> bool {
        self.changes == 0
    }

    fn unchanged(more_bytes: i8) -> Self {
        Self {
            stays: [0xff; KEY_BYTES],
            set: [0; KEY_BYTES],
            changes: 0,
            hops: 0,
            more_bytes,
            port: PortNo(0),
        }
    }

    /// Sets bits of the key, which are the mask's.
    fn set(&mut self, at: usize, value: &[u8], mask: &[u8], changes: u32) {
        for (number, (value, mask)) in value.iter().zip(mask).enumerate() {
            self.stays[at + number] &= !mask;
            self.set[at + number] = self.set[at + number] & !mask | value & mask;
        }
        self.changes |= changes;
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
        let changes = match row.at {
            TAG_AT => Changes::TAG,
            MACS_AT.. if row.at < MACS_AT + 12 => Changes::MACS,
            PORTS_AT.. if row.at < PORTS_AT + 4 => Changes::TRANSPORT,
            _ => Changes::IP,
        };
        self.set(row.at, &value[from..], &mask[from..], changes);
    }

    fn set_tag(&mut self, tci: u16, changes: u32) {
        self.set(TAG_AT, &tci.to_be_bytes(), &[0xff; 2], changes);
    }
}

/// The departures of frames with this key by these actions, the last of which is an output; `None`
/// if there are too many, or an action is none of those that the kernel does.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whoever adds an action need not know of this way"
)]
pub(crate) fn departures(actions: &[Action], key: &[u8; KEY_BYTES]) -> Option<Vec<Departure>> {
    let had_tag = key::has_tag(key);
    let mut has_tag = had_tag;
    let mut departures = Vec::new();
    let mut next = Departure::unchanged(0);
    for action in actions {
        match action {
            Action::SetField(set) => match key::row_of(set.0.field) {
                Ok(row) if row.at == TCP_FLAGS_AT => return None,
                Ok(row) if row.is_in(key, has_tag) => next.set_field(&set.0, &row),
                Ok(_) => {}
                Err(true) => return None,
                // No frame of a key has its header.
                Err(false) => {}
            },
            Action::PushVlan(VLAN) if !has_tag => {
                next.set_tag(HAS_TAG, Changes::TAG | Changes::NEW_TAG);
                has_tag = true;
            }
            Action::PopVlan => {
                if has_tag {
                    next.set_tag(0, Changes::TAG);
                }
                has_tag = false;
            }
            Action::DecNwTtl => {
                next.hops += 1;
                next.changes |= Changes::IP;
            }
            Action::Output(output) => {
                let more_bytes = TAG_BYTES * (i8::from(has_tag) - i8::from(had_tag));
                next.port = output.port;
                next.more_bytes = more_bytes;
                departures.push(next);
                next = Departure::unchanged(more_bytes);
            }
            _ => return None,
        }
    }
    (departures.len() <= LONGEST_WAY).then_some(departures)
}

/// The legs of ways, each of which is there once for all flows that have it.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    known: BTreeMap<Rc<[(Departure, u32)]>, Legs>,
    free: Vec<u32>,
    /// How many numbers have been used.
    used: u32,
}

#[derive(Debug)]
struct Legs {
    numbers: Vec<u32>,
    users: u32,
}

/// The departures of a way, with the interfaces that frames leave by.
pub(crate) type Way = Rc<[(Departure, u32)]>;

impl Ways {
    /// Writes the legs of a way for one flow more. Returns the number of the first; `None` if there
    /// is no room.
    pub(crate) fn add(&mut self, way: &Way, legs: &SharedArray<Leg>) -> Option<u32> {
        if let Some(known) = self.known.get_mut(way) {
            known.users += 1;
            return known.numbers.first().copied();
        }
        let room = legs.len() as u32 - 1 - self.used + self.free.len() as u32;
        if way.len() as u32 > room {
            return None;
        }
        let mut numbers = Vec::new();
        for _ in way.iter() {
            numbers.push(self.free.pop().unwrap_or_else(|| {
                self.used += 1;
                self.used
            }));
        }
        for (place, (departure, out)) in way.iter().enumerate() {
            let next = numbers.get(place + 1).copied().unwrap_or(0);
            write(&legs[numbers[place] as usize], departure, *out, next);
        }
        let first = numbers.first().copied();
        self.known
            .insert(Rc::clone(way), Legs { numbers, users: 1 });
        first
    }

    /// Gives the legs of a way up for one flow, which no frame is on any more.
    pub(crate) fn remove(&mut self, way: &Way) {
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

fn write(leg: &Leg, departure: &Departure, out: u32, next: u32) {
    let words = |bytes: &[u8; KEY_BYTES]| -> [u64; KEY_WORDS] {
        std::array::from_fn(|word| {
            let bytes: [u8; 8] = std::array::from_fn(|byte| bytes[8 * word + byte]);
            u64::from_ne_bytes(bytes)
        })
    };
    for (place, word) in leg.stays.iter().zip(words(&departure.stays)) {
        place.store(word, Relaxed);
    }
    for (place, word) in leg.set.iter().zip(words(&departure.set)) {
        place.store(word, Relaxed);
    }
    leg.out.store(out, Relaxed);
    leg.next.store(next, Relaxed);
    leg.hops.store(departure.hops, Relaxed);
    leg.changes.store(departure.changes, Relaxed);
}
