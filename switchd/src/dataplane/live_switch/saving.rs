//! Saves the state of the switch now and then, in slices, and gives a new switch an earlier state.

use std::time::Duration;

use bofuss_datapath::Time;
use bofuss_embed::saved::{SAVER, SavedState, Saving};
use bofuss_oflib::message::multipart::TableFeatures;
use tracing::{info, warn};

use super::super::clock::BundleClock;
use super::LiveSwitch;
use crate::config::ConfiguredQueue;
use crate::dataplane::DataPlane;
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
        self.saver = Some(Saver {
            writer,
            configured,
            interval: None,
            next: None,
            saving: None,
        });
        self.set_state_interval(interval);
    }

    /// Changes how often the state is saved.
    pub(in crate::dataplane) fn set_state_interval(&mut self, interval: Option<Duration>) {
        let now = self.now();
        if let Some(saver) = &mut self.saver
            && saver.interval != interval
        {
            saver.interval = interval;
            saver.next = interval.map(|interval| now.after(interval.as_nanos() as u64));
        }
    }

    /// When the next state is to be saved.
    pub(in crate::dataplane) fn next_state(&self) -> Option<Time> {
        self.saver.as_ref().and_then(|saver| saver.next)
    }

    /// Returns true if a state is being collected.
    pub(in crate::dataplane) fn is_saving(&self) -> bool {
        let saver = self.saver.as_ref();
        saver.is_some_and(|saver| saver.saving.is_some())
    }

    /// Goes on with the state that is being collected, or begins one that is due.
    pub(in crate::dataplane) fn save(&mut self, now: Time, queues: &[ConfiguredQueue]) {
        let is_due = self.next_state().is_some_and(|next| next <= now);
        // The writer of the last one may still be busy.
        let is_free = self
            .saver
            .as_ref()
            .is_some_and(|saver| saver.writer.is_free());
        if is_due && !self.is_saving() {
            if is_free && !self.switch.is_changing() {
                self.begin_state(now, queues);
            }
            if let Some(saver) = &mut self.saver {
                let wait = match saver.saving {
                    Some(_) => saver.interval,
                    None => Some(Duration::from_nanos(RETRY_NS)),
                };
                saver.next = wait.map(|wait| now.after(wait.as_nanos() as u64));
            }
        }
        if self.is_saving() {
            self.save_slice(now);
        }
    }

    /// Begins anew later, because a bundle is committed at its time: the state would be that of two
    /// moments.
    fn abandon_state(&mut self, now: Time) {
        self.switch.disconnected(now, SAVER);
        self.io.for_saver.clear();
        if let Some(saver) = &mut self.saver {
            saver.saving = None;
            saver.next = saver.interval.map(|_| now.after(RETRY_NS));
        }
    }

    /// Completes the state that is being collected.
    fn complete_state(&mut self) {
        while self.is_saving() {
            let now = self.now();
            self.switch.work(now, &mut self.io);
            self.save_slice(now);
        }
    }

    /// Saves the state as the last one, and waits until it is written.
    pub(in crate::dataplane) fn save_at_end(&mut self, queues: &[ConfiguredQueue]) {
        if self.saver.is_none() {
            return;
        }
        self.complete_state();
        self.complete_changes();
        let now = self.now();
        self.begin_state(now, queues);
        self.complete_state();
        if let Some(saver) = self.saver.take() {
            saver.writer.end();
        }
    }

    fn begin_state(&mut self, now: Time, queues: &[ConfiguredQueue]) {
        self.hear_of_stations();
        let Some(saver) = &mut self.saver else {
            return;
        };
        let is_configured = |port, id| {
            let mut queues = queues.iter();
            queues.any(|queue| queue.port == port && queue.id == id)
        };
        saver.saving = Some(Saving::begin(
            now,
            BundleClock::Realtime.nanos(),
            &saver.configured,
            is_configured,
            &mut self.switch,
            &mut self.io,
        ));
    }

    /// Takes in what the switch replied since the last slice, and asks the next question.
    fn save_slice(&mut self, now: Time) {
        if self.switch.is_changing() {
            return self.abandon_state(now);
        }
        let Some(saver) = &mut self.saver else {
            return;
        };
        let Some(saving) = &mut saver.saving else {
            return;
        };
        for message in self.io.for_saver.drain(..) {
            saving.reply(now, message);
        }
        let goes_on = saving.go_on(now, &mut self.switch, &mut self.io);
        for message in self.io.for_saver.drain(..) {
            saving.reply(now, message);
        }
        if goes_on {
            return;
        }
        if let Some(saving) = saver.saving.take() {
            match saving.finish() {
                Ok(state) => saver.writer.write(state),
                Err(why) => warn!("state: it is not saved: {why}"),
            }
        }
    }
}
