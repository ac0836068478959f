//! Saves the state of the switch now and then, in slices, and gives a new switch an earlier state.

use std::time::Duration;

use bofuss_datapath::Time;
use bofuss_embed::saved::{SAVER, SavedState, Saving};
use bofuss_ext::Switch;
use bofuss_oflib::message::multipart::TableFeatures;
use tracing::{info, warn};

use super::super::clock::BundleClock;
use super::LiveSwitch;
use crate::config::ConfiguredQueue;
use crate::dataplane::DataPlane;
use crate::dataplane::io::DataPlaneIo;
use crate::dataplane::thread_clock::ThreadClock;
use crate::error::Result;
use crate::state_dir::{StateFolder, StateWriter};

/// The time after which a state is tried again that could not be begun.
const RETRY_NS: u64 = 10_000_000;

/// What saves the state.
pub(in crate::dataplane) struct Saver {
    writer: StateWriter,
    /// The features of tables as configured.
    configured: Vec<TableFeatures>,
    interval: Option<Duration>,
    /// When the next state is due, if not at the end.
    next: Option<Time>,
    /// The state that is being collected.
    saving: Option<Saving>,
}

impl DataPlane {
    /// Gives the switch an earlier state.
    pub fn restore(&mut self, state: &SavedState<'_>) {
        self.live.restore(state);
    }

    /// Saves the state from now on; `configured` are the features of tables as configured.
    ///
    /// Errors: the system's.
    pub fn begin_saving(
        &mut self,
        folder: StateFolder,
        configured: Vec<TableFeatures>,
    ) -> Result<()> {
        let writer = StateWriter::start(folder)?;
        let interval = self.config.state.interval;
        self.live.begin_saving(writer, configured, interval);
        Ok(())
    }
}

impl LiveSwitch {
    /// Gives the switch an earlier state. Its tables are as configured, and it has its ports.
    pub(in crate::dataplane) fn restore(&mut self, state: &SavedState<'_>) {
        let now = self.now();
        let restored = state.restore(now, &mut self.switch);
        let age = Duration::from_nanos(now.since(state.time)).as_secs();
        info!(
            "state: {} entries, {} groups, {} meters, {} queues, {} addresses and {} states of \
             extensions of {age} s ago; {} things were left out",
            restored.flows,
            restored.groups,
            restored.meters,
            restored.queues,
            restored.addresses,
            restored.states,
            restored.left_out
        );
        for why in &restored.why {
            warn!("state: left out: {why}");
        }
    }

    /// Saves the state every `interval` from now on, and at the end.
    pub(in crate::dataplane) fn begin_saving(
        &mut self,
        writer: StateWriter,
        configured: Vec<TableFeatures>,
        interval: Option<Duration>,
    ) {
        let saver = self.saver.insert(Saver {
            writer,
            configured,
            interval: None,
            next: None,
            saving: None,
        });
        saver.set_interval(self.clock.now(), interval);
    }

    /// Returns true if a state is being collected.
    pub(in crate::dataplane) fn is_saving(&self) -> bool {
        self.saver.as_ref().is_some_and(Saver::is_saving)
    }

    /// Goes on with the state that is being collected, or begins one that is due.
    pub(in crate::dataplane) fn save(&mut self, now: Time, queues: &[ConfiguredQueue]) {
        let saver = self.saver.as_ref();
        if saver.is_some_and(|saver| saver.begins(now, &self.switch)) {
            self.hear_of_stations();
        }
        if let Some(saver) = &mut self.saver {
            saver.save(now, queues, &mut self.switch, &mut self.io);
        }
    }

    /// Saves the state as the last one, and waits until it is written.
    pub(in crate::dataplane) fn save_at_end(&mut self, queues: &[ConfiguredQueue]) {
        let Some(mut saver) = self.saver.take() else {
            return;
        };
        saver.complete(&self.clock, &mut self.switch, &mut self.io);
        self.complete_changes();
        let now = self.now();
        self.hear_of_stations();
        saver.begin(now, queues, &mut self.switch, &mut self.io);
        saver.complete(&self.clock, &mut self.switch, &mut self.io);
        saver.writer.end();
    }
}

impl Saver {
    /// Changes how often the state is saved.
    pub(in crate::dataplane) fn set_interval(&mut self, now: Time, interval: Option<Duration>) {
        if self.interval != interval {
            self.interval = interval;
            self.next = interval.map(|interval| now.after(interval.as_nanos() as u64));
        }
    }

    /// When the next state is to be saved.
    pub(in crate::dataplane) fn next(&self) -> Option<Time> {
        self.next
    }

    fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    fn is_due(&self, now: Time) -> bool {
        !self.is_saving() && self.next.is_some_and(|next| next <= now)
    }

    /// Returns true if a state is due and can be begun.
    fn begins(&self, now: Time, switch: &Switch) -> bool {
        // The writer of the last one may still be busy.
        self.is_due(now) && self.writer.is_free() && !switch.is_changing()
    }

    /// Goes on with the state that is being collected, or begins one that is due.
    fn save(
        &mut self,
        now: Time,
        queues: &[ConfiguredQueue],
        switch: &mut Switch,
        io: &mut DataPlaneIo,
    ) {
        if self.is_due(now) {
            let wait = if self.begins(now, switch) {
                self.begin(now, queues, switch, io);
                self.interval
            } else {
                Some(Duration::from_nanos(RETRY_NS))
            };
            self.next = wait.map(|wait| now.after(wait.as_nanos() as u64));
        }
        self.save_slice(now, switch, io);
    }

    /// Begins anew later, because a bundle is committed at its time: the state would be that of two
    /// moments.
    fn abandon(&mut self, now: Time, switch: &mut Switch, io: &mut DataPlaneIo) {
        switch.disconnected(now, SAVER);
        io.for_saver.clear();
        self.saving = None;
        self.next = self.interval.map(|_| now.after(RETRY_NS));
    }

    /// Completes the state that is being collected.
    fn complete(&mut self, clock: &ThreadClock, switch: &mut Switch, io: &mut DataPlaneIo) {
        while self.is_saving() {
            let now = clock.now();
            switch.work(now, io);
            self.save_slice(now, switch, io);
        }
    }

    fn begin(
        &mut self,
        now: Time,
        queues: &[ConfiguredQueue],
        switch: &mut Switch,
        io: &mut DataPlaneIo,
    ) {
        let is_configured = |port, id| {
            let mut queues = queues.iter();
            queues.any(|queue| queue.port == port && queue.id == id)
        };
        let nanos = BundleClock::Realtime.nanos();
        let begun = Saving::begin(now, nanos, &self.configured, is_configured, switch, io);
        self.saving = Some(begun);
    }

    /// Takes in what the switch replied since the last slice, and asks the next question.
    fn save_slice(&mut self, now: Time, switch: &mut Switch, io: &mut DataPlaneIo) {
        let Some(saving) = &mut self.saving else {
            return;
        };
        if switch.is_changing() {
            return self.abandon(now, switch, io);
        }
        for message in io.for_saver.drain(..) {
            saving.reply(now, message);
        }
        let goes_on = saving.go_on(now, switch, io);
        for message in io.for_saver.drain(..) {
            saving.reply(now, message);
        }
        if goes_on {
            return;
        }
        if let Some(saving) = self.saving.take() {
            match saving.finish() {
                Ok(state) => self.writer.write(state),
                Err(why) => warn!("state: it is not saved: {why}"),
            }
        }
    }
}
