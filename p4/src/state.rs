//! What a switch knows besides its program, by its owners.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::externs::Externs;
use crate::int::Int;
use crate::key::Key;
use crate::profile::ProfileState;
use crate::program::Program;
use crate::queues::Queues;
use crate::replication::Replication;
use crate::run::phv::Phv;
use crate::table::TableState;

/// What a switch knows besides its program.
#[derive(Clone, Debug)]
pub struct State {
    pub tables: Vec<TableState>,
    pub profiles: Vec<ProfileState>,
    pub externs: Externs,
    pub replication: Replication,
    pub queues: Queues,
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
    pub fn new(program: &Arc<Program>, seed: u64) -> Self {
        Self {
            tables: program.tables.iter().map(TableState::new).collect(),
            profiles: program.profiles.iter().map(ProfileState::new).collect(),
            externs: Externs::new(Arc::clone(program)),
            replication: Replication::new(program),
            queues: Queues::default(),
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
}
