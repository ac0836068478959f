//! What a switch knows besides its program: entries, counters, meters, registers, groups.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use hashbrown::HashSet;

use crate::count::Count;
use crate::hash::Algorithm;
use crate::int::Int;
use crate::key::Key;
use crate::meter::Meter;
use crate::profile::ProfileState;
use crate::program::{Array, Program};
use crate::run::phv::Phv;
use crate::table::TableState;

/// The cells of a page.
const PAGE: usize = 1024;

/// Cells that take memory only once they are written.
#[derive(Clone, Debug)]
pub struct Paged<T> {
    pages: Vec<Option<Box<[T]>>>,
    size: usize,
}

impl<T: Clone + Default> Paged<T> {
    /// Cells that all have the default.
    pub fn new(size: usize) -> Self {
        Self {
            pages: vec![None; size.div_ceil(PAGE)],
            size,
        }
    }

    /// A cell; `None` if there is none of this index.
    pub fn get(&self, index: usize) -> Option<T> {
        if index >= self.size {
            return None;
        }
        let page = self.pages[index / PAGE].as_ref();
        Some(page.map_or_else(T::default, |page| page[index % PAGE].clone()))
    }

    /// Those of the cells that are not as they were at first, with their indices.
    pub fn changed(&self) -> impl Iterator<Item = (usize, &T)>
    where
        T: PartialEq,
    {
        let pages = self.pages.iter().enumerate();
        let cells = pages.flat_map(|(page, cells)| {
            let cells = cells.as_deref().unwrap_or_default().iter().enumerate();
            cells.map(move |(at, cell)| (page * PAGE + at, cell))
        });
        cells.filter(|(_, cell)| **cell != T::default())
    }

    /// A cell to write; `None` if there is none of this index.
    pub fn cell(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.size {
            return None;
        }
        let page = self.pages[index / PAGE]
            .get_or_insert_with(|| vec![T::default(); PAGE].into_boxed_slice());
        Some(&mut page[index % PAGE])
    }
}

/// Where a copy of a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Replica {
    /// The port that it leaves at.
    pub port: u32,
    /// `egress_rid`, by which the program knows the copy.
    pub instance: u16,
}

/// Where the clones of a session go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// One for each clone.
    pub replicas: Vec<Replica>,
    /// The bytes that a clone keeps, if not all.
    pub truncate: Option<u32>,
}

/// What a switch knows besides its program.
#[derive(Clone, Debug)]
pub struct State {
    pub tables: Vec<TableState>,
    pub profiles: Vec<ProfileState>,
    pub counters: Vec<Paged<Count>>,
    pub meters: Vec<Paged<Meter>>,
    pub registers: Vec<Paged<Int>>,
    pub value_sets: Vec<HashSet<Vec<u8>>>,
    pub groups: BTreeMap<u32, Vec<Replica>>,
    pub sessions: BTreeMap<u32, Session>,
    /// The algorithms of calculations, of which some can be changed.
    pub algorithms: Vec<Algorithm>,
    /// The counters of those that go round robin.
    pub turns: Vec<u64>,
    pub scratch: Scratch,
    random: u64,
}

/// Memory that each packet overwrites, so that it takes none of its own.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub phv: Phv,
    /// The parameters of an action.
    pub parameters: Vec<Int>,
    /// The key of a select, or the input of a calculation.
    pub bytes: Vec<u8>,
    /// The key of a table.
    pub key: Key,
}

impl State {
    /// The state at the start. `seed` is that of the random numbers of the program.
    pub fn new(program: &Program, seed: u64) -> Self {
        Self {
            tables: program.tables.iter().map(TableState::new).collect(),
            profiles: program.profiles.iter().map(ProfileState::new).collect(),
            counters: paged(&program.counters),
            meters: paged(&program.meters),
            registers: paged(&program.registers),
            value_sets: vec![HashSet::new(); program.value_sets.len()],
            groups: BTreeMap::new(),
            sessions: BTreeMap::new(),
            algorithms: program
                .calculations
                .iter()
                .map(|c| c.algorithm.clone())
                .collect(),
            turns: vec![0; program.calculations.len()],
            scratch: Scratch::default(),
            random: seed,
        }
    }

    /// A random number from `low` to `high`, both included; `low` if there is none. The generator
    /// is SplitMix64.
    pub fn random(&mut self, low: u64, high: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.random;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^= value >> 31;
        match high.checked_sub(low) {
            Some(u64::MAX) => value,
            Some(span) => low + value % (span + 1),
            None => low,
        }
    }

    /// Returns true if a value set has a member that is equal to `key` in the bits of `mask`.
    pub fn in_value_set(&self, set: usize, key: &[u8], mask: Option<&[u8]>) -> bool {
        let values = &self.value_sets[set];
        match mask {
            None => values.contains(key),
            Some(mask) => values.iter().any(|value| {
                let mut bytes = value.iter().zip(key).zip(mask);
                bytes.all(|((value, key), mask)| value & mask == key & mask)
            }),
        }
    }
}

fn paged<T: Clone + Default>(arrays: &[Array]) -> Vec<Paged<T>> {
    arrays.iter().map(|array| Paged::new(array.size)).collect()
}
