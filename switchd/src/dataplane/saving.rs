//! Saves the state of the switch now and then, in slices, and gives a new switch an earlier state.

use std::time::Duration;

use bofuss_datapath::Time;
use bofuss_embed::saved::{SAVER, SavedState, Saving};
use bofuss_oflib::message::multipart::TableFeatures;
use tracing::{info, warn};

use super::clock::BundleClock;
use super::live_switch::LiveSwitch;
use crate::config::ConfiguredQueue;
use crate::state_dir::StateWriter;

/// The time after which a state is tried again that could not be begun.
const RETRY_NS: u64 = 10_000_000;

/// What saves the state, if it is to be saved.
#[derive(Default)]
pub(super) struct StateSaver(Option<Saver>);

/// What saves the state.
struct Saver {
    writer: StateWriter,
    /// The features of tables as configured.
    configured: Vec<TableFeatures>,
    interval: Option<Duration>,
    /// When the next state is due, if not at the end.
    next: Option<Time>,
    /// The state that is being collected.
    saving: Option<Saving>,
}

/// Gives a switch an earlier state. Its tables are as configured, and it has its ports.
pub(super) fn restore(live: &mut LiveSwitch, state: &SavedState<'_>) {
    let now = live.now();
    let restored = state.restore(now, live.unrecorded().0);
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

impl StateSaver {
    /// What writes states by `writer`; `configured` are the features of tables as configured.
    pub(super) fn new(writer: StateWriter, configured: Vec<TableFeatures>) -> Self {
        Self(Some(Saver {
            writer,
            configured,
            interval: None,
            next: None,
            saving: None,
        }))
    }

    /// Changes how often the state is saved.
    pub(super) fn set_interval(&mut self, now: Time, interval: Option<Duration>) {
        if let Some(saver) = &mut self.0
            && saver.interval != interval
        {
            saver.interval = interval;
            saver.next = interval.map(|interval| now.after(interval.as_nanos() as u64));
        }
    }

    /// When the next state is to be saved.
    pub(super) fn next(&self) -> Option<Time> {
        self.0.as_ref()?.next
    }

    /// Returns true if a state is being collected.
    pub(super) fn is_saving(&self) -> bool {
        self.0.as_ref().is_some_and(Saver::is_saving)
    }

    /// Goes on with the state that is being collected, or begins one that is due.
    pub(super) fn save(&mut self, now: Time, queues: &[ConfiguredQueue], live: &mut LiveSwitch) {
        if let Some(saver) = &mut self.0 {
            saver.save(now, queues, live);
        }
    }

    /// Saves the state as the last one, and waits until it is written.
    pub(super) fn save_at_end(&mut self, queues: &[ConfiguredQueue], live: &mut LiveSwitch) {
        let Some(mut saver) = self.0.take() else {
            return;
        };
        saver.complete(live);
        live.complete_changes();
        saver.begin(live.now(), queues, live);
        saver.complete(live);
        saver.writer.end();
    }
}

impl Saver {
    fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    fn is_due(&self, now: Time) -> bool {
        !self.is_saving() && self.next.is_some_and(|next| next <= now)
    }

    /// Goes on with the state that is being collected, or begins one that is due.
    fn save(&mut self, now: Time, queues: &[ConfiguredQueue], live: &mut LiveSwitch) {
        if self.is_due(now) {
            // The writer of the last one may still be busy.
            let wait = if self.writer.is_free() && !live.switch().is_changing() {
                self.begin(now, queues, live);
                self.interval
            } else {
                Some(Duration::from_nanos(RETRY_NS))
            };
            self.next = wait.map(|wait| now.after(wait.as_nanos() as u64));
        }
        self.save_slice(now, live);
    }

    /// Begins anew later, because a bundle is committed at its time: the state would be that of two
    /// moments.
    fn abandon(&mut self, now: Time, live: &mut LiveSwitch) {
        let (switch, io) = live.unrecorded();
        switch.disconnected(now, SAVER);
        io.for_saver.clear();
        self.saving = None;
        self.next = self.interval.map(|_| now.after(RETRY_NS));
    }

    /// Completes the state that is being collected.
    fn complete(&mut self, live: &mut LiveSwitch) {
        while self.is_saving() {
            let now = live.now();
            let (switch, io) = live.unrecorded();
            switch.work(now, io);
            self.save_slice(now, live);
        }
    }

    fn begin(&mut self, now: Time, queues: &[ConfiguredQueue], live: &mut LiveSwitch) {
        live.accelerator().hear_of_stations();
        let is_configured = |port, id| {
            let mut queues = queues.iter();
            queues.any(|queue| queue.port == port && queue.id == id)
        };
        let (switch, io) = live.unrecorded();
        let nanos = BundleClock::Realtime.nanos();
        let begun = Saving::begin(now, nanos, &self.configured, is_configured, switch, io);
        self.saving = Some(begun);
    }

    /// Takes in what the switch replied since the last slice, and asks the next question.
    fn save_slice(&mut self, now: Time, live: &mut LiveSwitch) {
        let Some(saving) = &mut self.saving else {
            return;
        };
        if live.switch().is_changing() {
            return self.abandon(now, live);
        }
        let (switch, io) = live.unrecorded();
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
