//! The microflows and aggregates of a discipline, by numbers that cannot be mixed up.

use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use bofuss_datapath::engine::Slab;

/// The kind of numbers of microflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FlowKind {}

/// The kind of numbers of aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AggregateKind {}

/// The number of a member of [`Members`] of this kind: only adding a member makes one. It is
/// kept nowhere once the member is removed, so it stands for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number<K>(u32, PhantomData<K>);

pub(crate) type FlowNumber = Number<FlowKind>;
pub(crate) type AggregateNumber = Number<AggregateKind>;

impl<K> Number<K> {
    /// The number of a slot; `slot` is that of a member.
    pub(crate) fn of(slot: u32) -> Self {
        Self(slot, PhantomData)
    }

    /// Its slot.
    pub(crate) fn slot(self) -> u32 {
        self.0
    }
}

/// Members by number.
#[derive(Debug)]
pub(crate) struct Members<K, T> {
    slots: Slab<T>,
    kind: PhantomData<K>,
}

impl<K, T> Default for Members<K, T> {
    fn default() -> Self {
        Self {
            slots: Slab::default(),
            kind: PhantomData,
        }
    }
}

impl<K, T> Members<K, T> {
    /// Returns how many there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds a member. Returns its number.
    pub(crate) fn insert(&mut self, member: T) -> Number<K> {
        Number::of(self.slots.insert(|_| member))
    }

    /// Removes a member; its number must be kept nowhere.
    pub(crate) fn remove(&mut self, number: Number<K>) -> T {
        let removed = self.slots.remove(number.0);
        removed.expect("a number stands for a member")
    }

    /// Removes all members, by ascending number.
    pub(crate) fn take_all(mut self) -> impl Iterator<Item = T> {
        let mut next = 0;
        core::iter::from_fn(move || {
            next = self.slots.used(next)?;
            self.slots.remove(next)
        })
    }
}

impl<K, T> Index<Number<K>> for Members<K, T> {
    type Output = T;

    fn index(&self, number: Number<K>) -> &T {
        &self.slots[number.0]
    }
}

impl<K, T> IndexMut<Number<K>> for Members<K, T> {
    fn index_mut(&mut self, number: Number<K>) -> &mut T {
        &mut self.slots[number.0]
    }
}
