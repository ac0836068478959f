//! How a table finds entries: the trait of classifiers, and the plain scan, which is the oracle for
//! all others.

use alloc::collections::BTreeSet;
use core::fmt::Debug;
use core::hash::BuildHasher;

use bofuss_oflib::FieldSet;
use bofuss_packet::{Key, KeyMatch};
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::slab::Slab;
use crate::tables::entry::{Entry, EntryKey, View};

/// A classifier: finds the entries of a table, which are in `slab`.
pub trait Classifier: Debug {
    /// Adds an entry whose match and priority no other entry has in the same view.
    fn insert(&mut self, slab: &mut Slab<Entry>, key: EntryKey);
    /// Removes an entry, which is still in the slab.
    fn remove(&mut self, slab: &mut Slab<Entry>, key: EntryKey);
    /// The entry of exactly this priority and match in a view.
    fn find(
        &self,
        slab: &Slab<Entry>,
        view: View,
        priority: u16,
        rule: &KeyMatch,
    ) -> Option<EntryKey>;
    /// The entry of highest priority in a view that `key` matches; of equal ones, the oldest. The
    /// fields read are added to `log`.
    fn lookup(
        &self,
        slab: &Slab<Entry>,
        view: View,
        key: &Key,
        log: &mut FieldSet,
    ) -> Option<EntryKey>;
    /// The first entry that is not before `from` in a walk over all.
    fn next(&self, slab: &Slab<Entry>, from: EntryKey) -> Option<EntryKey>;
}

/// The plain scan, from the highest priority down. Walks have the same order.
#[derive(Debug, Default)]
pub struct Scan {
    order: BTreeSet<EntryKey>,
    /// Finds an entry by priority and match.
    index: HashTable<EntryKey>,
    hasher: DefaultHashBuilder,
}

impl Scan {
    fn hash(hasher: &DefaultHashBuilder, priority: u16, rule: &KeyMatch) -> u64 {
        hasher.hash_one((priority, rule))
    }
}

impl Classifier for Scan {
    fn insert(&mut self, slab: &mut Slab<Entry>, key: EntryKey) {
        let hash = Self::hash(&self.hasher, key.priority.0, &slab[key.slot].rule);
        self.index.insert_unique(hash, key, |other| {
            Self::hash(&self.hasher, other.priority.0, &slab[other.slot].rule)
        });
        self.order.insert(key);
    }

    fn remove(&mut self, slab: &mut Slab<Entry>, key: EntryKey) {
        let hash = Self::hash(&self.hasher, key.priority.0, &slab[key.slot].rule);
        if let Ok(found) = self.index.find_entry(hash, |k| *k == key) {
            found.remove();
        }
        self.order.remove(&key);
    }

    fn find(
        &self,
        slab: &Slab<Entry>,
        view: View,
        priority: u16,
        rule: &KeyMatch,
    ) -> Option<EntryKey> {
        let hash = Self::hash(&self.hasher, priority, rule);
        let found = self.index.find(hash, |key| {
            let entry = &slab[key.slot];
            key.priority.0 == priority && entry.rule == *rule && view.has(entry)
        });
        found.copied()
    }

    fn lookup(
        &self,
        slab: &Slab<Entry>,
        view: View,
        key: &Key,
        log: &mut FieldSet,
    ) -> Option<EntryKey> {
        for one in &self.order {
            let entry = &slab[one.slot];
            if view.has(entry) && key.matches(&entry.rule, log) {
                return Some(*one);
            }
        }
        None
    }

    fn next(&self, _: &Slab<Entry>, from: EntryKey) -> Option<EntryKey> {
        self.order.range(from..).next().copied()
    }
}
