//! A map of a program: values by keys, as an array or by hash, with room for so many.

use alloc::{boxed::Box, collections::BTreeMap, vec, vec::Vec};

use super::name::Name;

/// The most bytes of a key.
pub const MAX_KEY_BYTES: usize = 64;
/// The most bytes of a value.
pub const MAX_VALUE_BYTES: usize = 1024;
/// The most entries of a map.
pub const MAX_ENTRIES: usize = 65_536;
/// Bytes of an array's key: a number, little-endian.
pub const INDEX_BYTES: usize = 4;
/// Bytes that an entry of a hash needs besides key and value, about.
const ENTRY_BYTES: usize = 64;

/// The kinds of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapKind {
    /// Values by keys; those that are not there can be added until there is no room.
    Hash,
    /// Values by numbers from 0 on, which are all there, at first with zeros.
    Array,
}

impl MapKind {
    /// The kinds, with their numbers in Linux and their names.
    pub const ALL: [(Self, u8, &'static str); 2] =
        [(Self::Hash, 1, "hash"), (Self::Array, 2, "array")];
}

/// What a program says of one of its maps.
///
/// Invariant: none of the sizes is 0 or above its maximum, and the key of an array has
/// [`INDEX_BYTES`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapForm {
    name: Name,
    kind: MapKind,
    key_bytes: usize,
    value_bytes: usize,
    entries: usize,
}

impl MapForm {
    /// Checks the invariant; `None` if it is broken.
    pub fn new(
        name: Name,
        kind: MapKind,
        key_bytes: usize,
        value_bytes: usize,
        entries: usize,
    ) -> Option<Self> {
        let is_right = (1..=MAX_KEY_BYTES).contains(&key_bytes)
            && (1..=MAX_VALUE_BYTES).contains(&value_bytes)
            && (1..=MAX_ENTRIES).contains(&entries)
            && (kind == MapKind::Hash || key_bytes == INDEX_BYTES);
        is_right.then_some(Self {
            name,
            kind,
            key_bytes,
            value_bytes,
            entries,
        })
    }

    /// The name, within its program.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The kind.
    pub fn kind(&self) -> MapKind {
        self.kind
    }

    /// Bytes of a key.
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// Bytes of a value.
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// The most entries.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// About how many bytes a full map needs.
    pub fn most_bytes(&self) -> usize {
        let besides = match self.kind {
            MapKind::Hash => 2 * self.key_bytes + ENTRY_BYTES,
            MapKind::Array => 0,
        };
        self.entries * (self.value_bytes + besides)
    }
}

/// The condition under which an update is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateIf {
    /// None.
    Always,
    /// The key is not there.
    Absent,
    /// The key is there.
    Present,
}

impl UpdateIf {
    /// The condition of the flags that a program gives, if they are known.
    pub fn of_flags(flags: u64) -> Option<Self> {
        match flags {
            0 => Some(Self::Always),
            1 => Some(Self::Absent),
            2 => Some(Self::Present),
            _ => None,
        }
    }
}

/// A map with its values.
///
/// A value has a place as long as its key is there, and its bytes are those from `place *
/// value_bytes` on.
#[derive(Clone, Debug)]
pub struct Map {
    form: MapForm,
    values: Vec<u8>,
    /// The places of a hash's keys.
    places: BTreeMap<Box<[u8]>, usize>,
    /// The keys of a hash, by place; `None` where one was deleted.
    keys: Vec<Option<Box<[u8]>>>,
    /// Places whose keys were deleted.
    free: Vec<usize>,
}

impl Map {
    /// A map without keys, or an array of zeros.
    pub fn new(form: MapForm) -> Self {
        let values = match form.kind {
            MapKind::Hash => Vec::new(),
            MapKind::Array => vec![0; form.entries * form.value_bytes],
        };
        Self {
            form,
            values,
            places: BTreeMap::new(),
            keys: Vec::new(),
            free: Vec::new(),
        }
    }

    /// What its program says of it.
    pub fn form(&self) -> &MapForm {
        &self.form
    }

    /// The place of a key's value, in bytes from the first one; `None` if it is not there.
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        let place = match self.form.kind {
            MapKind::Hash => *self.places.get(key)?,
            MapKind::Array => {
                let index = u32::from_le_bytes(key.try_into().ok()?) as usize;
                (index < self.form.entries).then_some(index)?
            }
        };
        Some(place * self.form.value_bytes)
    }

    /// Bytes from a place on, if all are of one value.
    pub fn part(&mut self, from: usize, count: usize) -> Option<&mut [u8]> {
        let within = from % self.form.value_bytes;
        if count > self.form.value_bytes - within {
            return None;
        }
        self.values.get_mut(from..from.saturating_add(count))
    }

    /// Sets a key's value. Returns false, with nothing done, if there is no room, the lengths are
    /// not those of the map, or the condition does not hold.
    pub fn update(&mut self, key: &[u8], value: &[u8], when: UpdateIf) -> bool {
        if key.len() != self.form.key_bytes || value.len() != self.form.value_bytes {
            return false;
        }
        let found = self.find(key);
        let holds = match when {
            UpdateIf::Always => true,
            UpdateIf::Absent => found.is_none(),
            UpdateIf::Present => found.is_some(),
        };
        if !holds {
            return false;
        }
        let Some(at) = found.or_else(|| self.add(key)) else {
            return false;
        };
        self.values[at..at + value.len()].copy_from_slice(value);
        true
    }

    /// Finds a place for the value of a new key of a hash, if there is room.
    fn add(&mut self, key: &[u8]) -> Option<usize> {
        if self.form.kind == MapKind::Array || self.places.len() >= self.form.entries {
            return None;
        }
        let bytes = self.form.value_bytes;
        let place = self.free.pop().unwrap_or_else(|| {
            let place = self.values.len() / bytes;
            self.values.resize(self.values.len() + bytes, 0);
            self.keys.push(None);
            place
        });
        self.keys[place] = Some(key.into());
        self.places.insert(key.into(), place);
        Some(place * bytes)
    }

    /// Removes a key of a hash. Returns false if it is not there, or this is an array.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        let Some(place) = self.places.remove(key) else {
            return false;
        };
        self.keys[place] = None;
        self.free.push(place);
        true
    }

    /// Returns true if key and value have the map's lengths, and the key may be there.
    pub fn fits(&self, key: &[u8], value: &[u8]) -> bool {
        let lengths = (self.form.key_bytes, self.form.value_bytes);
        let may_be = self.form.kind == MapKind::Hash || self.find(key).is_some();
        (key.len(), value.len()) == lengths && may_be
    }

    /// Keys and values from a place on, and the place to go on from. A key that is there throughout
    /// is in one of the parts.
    pub fn entries_from(&self, from: usize, most: usize) -> (Vec<Entry>, Option<usize>) {
        let bytes = self.form.value_bytes;
        let end = self.values.len() / bytes;
        let to = end.min(from.saturating_add(most));
        let places = from..to;
        let value = |place: usize| self.values[place * bytes..][..bytes].to_vec();
        let list = match self.form.kind {
            MapKind::Hash => {
                let used = self.keys[from.min(to)..to].iter().zip(places);
                let used = used.filter_map(|(key, place)| Some((key.as_ref()?.to_vec(), place)));
                used.map(|(key, place)| (key, value(place))).collect()
            }
            MapKind::Array => places
                .map(|place| ((place as u32).to_le_bytes().to_vec(), value(place)))
                .collect(),
        };
        (list, (to < end).then_some(to))
    }
}

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);
