//! Revalidation: when a packet finds a flow that was last checked before a change, decides whether
//! the flow is still right.

use bofuss_datapath::EntryKey;
use bofuss_oflib::types::TableId;
use bofuss_packet::{Key, KeyMatch};

use super::{Cache, Hit};

/// A change of a table that may make a flow wrong.
#[derive(Debug)]
pub(super) enum LoggedChange {
    Added(TableId, EntryKey, KeyMatch),
    Gone(Hit),
}

impl Cache {
    /// Notes a change of an entry with this match.
    pub(super) fn note(&mut self, change: LoggedChange, rule: &KeyMatch) {
        self.changes += 1;
        let n_flows = self.flows.len();
        self.versions.note(
            self.changes,
            rule,
            &self.key.mask,
            n_flows,
            &self.key.secret,
        );
        if self.log.len() >= self.max_log {
            self.log.pop_front();
        }
        self.log.push_back(change);
        self.take_back_changed(rule);
    }

    /// Notes that any entries may have changed: the next packet of each flow has its entries looked
    /// up again.
    pub(crate) fn all_changed(&mut self) {
        self.changes += 1;
        self.log.clear();
        self.versions.clear(self.changes);
        self.take_back_flows();
    }

    /// Returns true if nothing has changed since the flow was last known to be right.
    #[inline]
    pub(crate) fn is_current(&self, slot: u32) -> bool {
        self.flows[slot].checked == self.changes
    }

    /// Returns true if no change since its last check concerns a flow, judged by the words of its
    /// key alone. If so, the flow is marked as checked.
    #[inline(never)]
    pub(crate) fn renew(&mut self, slot: u32, words: &[u64]) -> bool {
        self.renews = true;
        let is_right = self.is_unchanged(slot, words);
        if is_right {
            self.stats.confirmed += 1;
            self.flows[slot].checked = self.changes;
        }
        is_right
    }

    /// As [`Self::renew`], but marks nothing.
    pub(crate) fn is_unchanged(&self, slot: u32, words: &[u64]) -> bool {
        let flow = &self.flows[slot];
        let depends_on_key_alone = usize::from(flow.program.unchanged) == flow.n_hits();
        let secret = &self.key.secret;
        depends_on_key_alone && self.versions.are_unchanged(flow.checked, words, secret)
    }

    /// Checks a flow, whose packets have this key, against the log of changes. Returns whether it
    /// is still right; `None` if the log no longer has all changes since its last check.
    /// `rival_wins` says whether an added entry takes precedence over an entry that was hit.
    pub(crate) fn confirm(
        &mut self,
        slot: u32,
        key: &Key,
        rival_wins: impl Fn(EntryKey, Hit) -> bool,
    ) -> Option<bool> {
        let flow = &self.flows[slot];
        let missed = (self.changes - flow.checked) as usize;
        if missed > self.log.len() {
            self.stats.overrun += 1;
            return None;
        }
        for change in self.log.iter().rev().take(missed) {
            let is_concerned = match change {
                LoggedChange::Gone(gone) => flow.hits().any(|hit| hit == *gone),
                LoggedChange::Added(table, rival, rule) => {
                    flow.hits().enumerate().any(|(i, hit)| {
                        let unchanged = i < usize::from(flow.program.unchanged);
                        let known = unchanged && !self.volatile_tables.contains(*table);
                        hit.table == *table
                            && (!known || key.matches(rule, &mut ()))
                            && rival_wins(*rival, hit)
                    })
                }
            };
            if is_concerned {
                self.stats.refuted += 1;
                return Some(false);
            }
        }
        self.stats.confirmed += 1;
        self.flows[slot].checked = self.changes;
        Some(true)
    }

    /// Notes that a flow was checked by looking up its entries again, and is right.
    pub(crate) fn retraced(&mut self, slot: u32) {
        self.stats.retraced += 1;
        self.flows[slot].checked = self.changes;
    }
}
