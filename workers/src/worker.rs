//! What every worker does: its bursts, and its part of a change.

use std::sync::Arc;

use bofuss_datapath::{DispatchBy, EntryUse, OutOfStep, ReplicaCounts, TakenStates, Time};
use bofuss_ext::Switch;
use bofuss_frame::Frame;

use crate::change::Change;
use crate::dispatch::{Dispatch, Share};
use crate::outbox::{Outbox, WorkerIo};
use crate::source::Source;

/// Room for the frames of a burst.
const BURST_FRAMES: usize = 64;

/// The states of flows that the leader had, if they are divided anew.
pub(crate) type GivenStates = Option<Arc<Vec<TakenStates>>>;

/// A replica with its ports.
pub(crate) struct Worker<S> {
    pub(crate) switch: Switch,
    pub(crate) io: WorkerIo<S>,
    pub(crate) share: Share,
    /// The time of the last burst or change.
    pub(crate) latest: Time,
    /// The places of those among the last changes that were refused, for a reason that may be the
    /// states which the leader has.
    refused: Vec<usize>,
    frames: Vec<Frame>,
}

/// What is equal in all replicas after changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// How many of the changes were made.
    pub(crate) made: usize,
    n_entries: usize,
    next_entry: u64,
    /// True if the last of these has further slices.
    pub(crate) is_changing: bool,
}

impl<S: Source> Worker<S> {
    /// Makes worker number `worker` of `workers` from a switch without entries of controllers.
    pub(crate) fn new(
        mut switch: Switch,
        source: S,
        outbox: Outbox,
        (worker, workers): (usize, usize),
    ) -> Self {
        let leads = worker == 0;
        switch.replica().begin(!leads);
        let share = Share {
            worker,
            workers,
            dispatch: Dispatch::of(&mut switch, DispatchBy::Auto),
            secret: switch.datapath().config().secret,
        };
        let io = WorkerIo {
            source,
            outbox,
            leads,
            is_changing: false,
            is_refused: false,
        };
        Self {
            switch,
            io,
            share,
            latest: Time(0),
            refused: Vec::new(),
            frames: Vec::with_capacity(BURST_FRAMES),
        }
    }

    /// Processes a burst, and one turn of frames that wait. Returns false if there was nothing.
    #[inline]
    pub(crate) fn burst(&mut self) -> bool {
        let Self {
            switch,
            io,
            share,
            latest,
            frames,
            ..
        } = self;
        let pool = switch.datapath().pool();
        let arrived = io.source.receive(share, pool, frames);
        if let Some((now, port)) = arrived {
            *latest = now.max(*latest);
            switch.receive(*latest, port, frames, io);
        }
        let waits = !switch.datapath().lane().backlog.is_empty();
        if waits {
            switch.catch_up(*latest, io);
        }
        arrived.is_some() || waits
    }

    /// Processes the bursts that wait now, and all frames that wait for a turn.
    pub(crate) fn finish_bursts(&mut self) {
        for _ in 0..self.io.source.waiting() {
            self.burst();
        }
        while !self.switch.datapath().lane().backlog.is_empty() {
            self.switch.catch_up(self.latest, &mut self.io);
        }
    }

    /// Takes what a follower has counted.
    pub(crate) fn counts(&mut self) -> ReplicaCounts {
        self.switch.replica().take_counts()
    }

    /// Replaces its states of flows by those of the leader that belong to it, if these are divided
    /// anew.
    pub(crate) fn keep_states(&mut self, states: &GivenStates) {
        let place = (self.share.worker, self.share.workers);
        if let (Some(states), Some(division)) = (states, self.share.dispatch.of_states()) {
            self.switch.replica().keep_states(states, division, place);
        }
    }

    /// The changes for followers, after a leader has made these.
    pub(crate) fn for_followers(&self, changes: &Arc<Vec<Change>>) -> Arc<Vec<Change>> {
        let mut theirs = Arc::clone(changes);
        for place in &self.refused {
            Arc::make_mut(&mut theirs)[*place] = Change::Refused;
        }
        theirs
    }

    /// Makes changes in this replica, until one has further slices.
    pub(crate) fn change(
        &mut self,
        now: Time,
        uses: &[EntryUse],
        changes: &[Change],
    ) -> Result<Progress, OutOfStep> {
        self.latest = now;
        self.switch.replica().note_uses(now, uses)?;
        self.io.is_changing = true;
        self.refused.clear();
        let mut made = 0;
        for change in changes {
            made += 1;
            if !self.io.leads && !change.is_for_followers() {
                continue;
            }
            self.io.is_refused = false;
            change.clone().make(now, &mut self.switch, &mut self.io);
            if self.io.is_refused {
                self.refused.push(made - 1);
            }
            if self.switch.is_changing() {
                break;
            }
        }
        self.io.is_changing = false;
        if !self.io.leads {
            // What the change itself has sent and counted is sent and counted by the leader.
            drop(self.counts());
        }
        let datapath = self.switch.datapath();
        Ok(Progress {
            made,
            n_entries: datapath.tables().iter().map(|table| table.len()).sum(),
            next_entry: datapath.next_entry_number(),
            is_changing: self.switch.is_changing(),
        })
    }
}
