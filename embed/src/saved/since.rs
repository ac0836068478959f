//! What happened between two states of a switch, for another one that goes on from the earlier.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use bofuss_agent::Switch;
use bofuss_datapath::Time;
use bofuss_datapath::engine::FrameEngine;

use super::restore::{Restored, Restoring};
use super::{SavedState, kind};

/// Bytes of an entry's record before its message: four numbers and the flags.
const PAST_BYTES: usize = 4 * 8 + 4;
/// Bytes of when it was added, with which the record begins.
const CREATED_BYTES: usize = 8;
/// Where the counters of a record are: of an entry after when it was used,
const ENTRY_COUNTERS: usize = 2 * CREATED_BYTES;
/// and those of a group or meter after its number and when it was added.
const PART_COUNTERS: usize = 4 + CREATED_BYTES;

/// Records of what happened since an earlier state, as a state has them: the counters of what was
/// there before are those since then.
#[derive(Clone, Debug, Default)]
pub struct Since(VecDeque<(u8, Vec<u8>)>);

impl SavedState<'_> {
    /// What happened since `earlier`, a state of the same switch: packets, and entries and
    /// addresses that they added. Messages that add or remove something have waited. States of
    /// extensions are given as a whole instead, by [`Self::restore_states`].
    pub fn since(&self, earlier: &SavedState<'_>) -> Since {
        let mut known = BTreeMap::new();
        for (kind, payload) in earlier.records {
            known.insert((kind, identity(kind, payload)), payload);
        }
        let of_switch = self.records.filter(|record| record.0 != kind::EXTENSION);
        let news = of_switch.filter_map(|(kind, payload)| {
            match known.get(&(kind, identity(kind, payload))) {
                Some(before) if *before == payload => None,
                Some(before) => Some(difference(kind, payload, before)),
                None => Some((kind, payload.to_vec())),
            }
        });
        Since(news.collect())
    }
}

/// What two records are about if they have it in common.
fn identity(kind: u8, payload: &[u8]) -> &[u8] {
    match kind {
        kind::FLOW => payload.get(PAST_BYTES..),
        kind::GROUP | kind::METER => payload.get(..PART_COUNTERS),
        _ => None,
    }
    .unwrap_or(payload)
}

/// The record of what happened to something between two records of it.
fn difference(kind: u8, payload: &[u8], before: &[u8]) -> (u8, Vec<u8>) {
    if payload.len() != before.len() {
        return (kind, payload.to_vec());
    }
    let counters = match kind {
        // It was replaced by an equal one.
        kind::FLOW if payload[..CREATED_BYTES] != before[..CREATED_BYTES] => {
            return (kind, payload.to_vec());
        }
        kind::FLOW => ENTRY_COUNTERS..PAST_BYTES - 4,
        _ => PART_COUNTERS..payload.len(),
    };
    let mut record = payload.to_vec();
    let after = record[counters.clone()].chunks_exact_mut(8);
    for (after, before) in after.zip(before[counters].chunks_exact(8)) {
        let more = number(after).saturating_sub(number(before));
        after.copy_from_slice(&more.to_be_bytes());
    }
    let kind = if kind == kind::FLOW { kind::HITS } else { kind };
    (kind, record)
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |all, byte| all << 8 | u64::from(*byte))
}

impl Since {
    /// Returns true if nothing is left to be given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives the next `most` things at most to the switch that goes on. It does not matter what
    /// happened there meanwhile.
    pub fn give<E: FrameEngine>(
        &mut self,
        now: Time,
        most: usize,
        switch: &mut Switch<E>,
    ) -> Restored {
        let most = most.min(self.0.len());
        let mut restoring = Restoring::begin(now, switch);
        for (kind, payload) in self.0.drain(..most) {
            restoring.record(kind, &payload);
        }
        restoring.end()
    }
}
