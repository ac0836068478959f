//! Saves the state of the switch, in slices: now and then into a folder, or for a successor. Gives
//! a new switch an earlier state.

use std::time::Duration;

use bofuss_datapath::Time;
use bofuss_embed::saved::{Restored, SAVER, SavedState, Saving};
use bofuss_oflib::message::multipart::TableFeatures;
use tokio::sync::oneshot;
use tracing::{info, warn};

use super::clock::BundleClock;
use super::live_switch::LiveSwitch;
use crate::config::ConfiguredQueue;
use crate::error::Result;
use crate::state_dir::StateWriter;

/// The time after which a state is tried again that could not be begun.
const RETRY_NS: u64 = 10_000_000;
/// How often a state without packets in between is begun. Frames that wait may begin a change.
const MOST_TRIES: usize = 100;

/// What saves the state, if it is to be saved.
pub(super) struct StateSaver {
    /// The features of tables as configured.
    configured: Vec<TableFeatures>,
    /// The state that is being collected.
    saving: Option<Saving>,
    /// What saves it into a folder.
    folder: Option<FolderSaver>,
    successor: Successor,
}

/// What saves states into a folder.
struct FolderSaver {
    writer: StateWriter,
    interval: Option<Duration>,
    /// When the next state is due, if not at the end.
    next: Option<Time>,
}

/// The process that takes the switch over.
enum Successor {
    None,
    /// It waits for the state.
    Waits(oneshot::Sender<Result<Vec<u8>>>),
    /// It has the state, which nothing but packets may change until it begins or gives up.
    Prepares,
}

/// Gives a switch an earlier state, or one that may not have the last states of extensions yet. Its
/// tables are as configured, and it has its ports.
pub(super) fn restore(live: &mut LiveSwitch, state: &SavedState<'_>, with_states: bool) {
    let now = live.now();
    let switch = live.unrecorded().0;
    let restored = if with_states {
        state.restore(now, switch)
    } else {
        state.restore_but_states(now, switch)
    };
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
    warn_of(&restored);
}

/// Logs what a switch was not given.
pub(super) fn warn_of(restored: &Restored) {
    for why in &restored.why {
        warn!("state: left out: {why}");
    }
}

impl StateSaver {
    /// Saves nothing yet; `configured` are the features of tables as configured.
    pub(super) fn new(configured: Vec<TableFeatures>) -> Self {
        Self {
            configured,
            saving: None,
            folder: None,
            successor: Successor::None,
        }
    }

    /// Saves states by `writer` from now on, how often says [`Self::set_interval`].
    pub(super) fn begin_folder(&mut self, writer: StateWriter) {
        self.folder = Some(FolderSaver {
            writer,
            interval: None,
            next: None,
        });
    }

    /// What writes states into a folder.
    pub(super) fn writer(&self) -> Option<&StateWriter> {
        self.folder.as_ref().map(|folder| &folder.writer)
    }

    /// Changes how often the state is saved.
    pub(super) fn set_interval(&mut self, now: Time, interval: Option<Duration>) {
        if let Some(folder) = &mut self.folder
            && folder.interval != interval
        {
            folder.interval = interval;
            folder.next = interval.map(|interval| now.after(interval.as_nanos() as u64));
        }
    }

    /// When the next state is to be saved; not while another process takes the switch over.
    pub(super) fn next(&self) -> Option<Time> {
        let folder = self.folder.as_ref();
        folder.filter(|_| !self.has_successor())?.next
    }

    /// Returns true if a state is being collected.
    pub(super) fn is_saving(&self) -> bool {
        self.saving.is_some() || matches!(self.successor, Successor::Waits(_))
    }

    /// Returns true if messages that change the switch have to wait, because a state is that of one
    /// moment.
    pub(super) fn holds_changes(&self) -> bool {
        self.is_saving() || matches!(self.successor, Successor::Prepares)
    }

    /// Returns true if commands that change the switch have to wait. While a successor prepares,
    /// which may take seconds, they are refused instead.
    pub(super) fn holds_commands(&self) -> bool {
        self.saving.is_some() && !self.has_successor()
    }

    /// Returns true if another process takes the switch over.
    pub(super) fn has_successor(&self) -> bool {
        !matches!(self.successor, Successor::None)
    }

    /// Collects the state for a successor; changes wait until [`Self::forget_successor`].
    ///
    /// Errors, to the successor: there is one already.
    pub(super) fn save_for_successor(
        &mut self,
        live: &mut LiveSwitch,
        reply: oneshot::Sender<Result<Vec<u8>>>,
    ) {
        if self.has_successor() {
            // It may be gone.
            let _ = reply.send(Err("another process takes the switch over already".into()));
            return;
        }
        self.abandon(live);
        self.successor = Successor::Waits(reply);
    }

    /// Lets changes go on: the successor has given up, or begins.
    pub(super) fn forget_successor(&mut self, live: &mut LiveSwitch) {
        if matches!(self.successor, Successor::Waits(_)) {
            self.abandon(live);
        }
        self.successor = Successor::None;
    }

    /// Goes on with the state that is being collected, or begins one that is due.
    pub(super) fn save(&mut self, now: Time, queues: &[ConfiguredQueue], live: &mut LiveSwitch) {
        if self.saving.is_none() && self.begins_now(now, live) {
            self.begin(now, queues, live);
        }
        if let Some(state) = self.save_slice(now, live) {
            self.pass_on(state);
        }
    }

    /// Returns true if a state is due that can be begun, and notes when the next is.
    fn begins_now(&mut self, now: Time, live: &LiveSwitch) -> bool {
        let is_changing = live.switch().is_changing();
        match (&self.successor, &mut self.folder) {
            // Once the successor has the state, nothing is written where it will.
            (Successor::Waits(_), folder) => {
                let is_free = folder.as_ref().is_none_or(|folder| folder.writer.is_free());
                is_free && !is_changing
            }
            (Successor::None, Some(folder)) if folder.next.is_some_and(|next| next <= now) => {
                // The writer of the last one may still be busy.
                let begins = folder.writer.is_free() && !is_changing;
                let retry = Some(Duration::from_nanos(RETRY_NS));
                let wait = if begins { folder.interval } else { retry };
                folder.next = wait.map(|wait| now.after(wait.as_nanos() as u64));
                begins
            }
            (Successor::None | Successor::Prepares, _) => false,
        }
    }

    /// Passes a state on to who wanted it.
    fn pass_on(&mut self, state: Result<Vec<u8>>) {
        match (
            std::mem::replace(&mut self.successor, Successor::None),
            state,
        ) {
            (Successor::Waits(reply), state) => {
                let is_complete = state.is_ok();
                if reply.send(state).is_ok() && is_complete {
                    self.successor = Successor::Prepares;
                }
            }
            (Successor::None | Successor::Prepares, Ok(state)) => {
                if let Some(folder) = &self.folder {
                    folder.writer.write(state);
                }
            }
            (Successor::None | Successor::Prepares, Err(why)) => {
                warn!("state: it is not saved: {why}");
            }
        }
    }

    /// Saves the state as the last one, and waits until it is written.
    pub(super) fn save_at_end(&mut self, queues: &[ConfiguredQueue], live: &mut LiveSwitch) {
        if self.folder.is_none() {
            return;
        }
        self.forget_successor(live);
        let state = self.collect_at_once(queues, live);
        self.pass_on(state);
        if let Some(folder) = self.folder.take() {
            folder.writer.end();
        }
    }

    /// Collects the state without packets in between. Errors: it cannot be written, or the switch
    /// is changing each time.
    pub(super) fn collect_at_once(
        &mut self,
        queues: &[ConfiguredQueue],
        live: &mut LiveSwitch,
    ) -> Result<Vec<u8>> {
        self.collect(live, |this, live| this.begin(live.now(), queues, live))
    }

    /// Collects the states of extensions alone, likewise.
    pub(super) fn collect_states(&mut self, live: &mut LiveSwitch) -> Result<Vec<u8>> {
        self.collect(live, |this, live| {
            let now = live.now();
            let (switch, io) = live.unrecorded();
            let nanos = BundleClock::Realtime.nanos();
            this.saving = Some(Saving::begin_states(now, nanos, switch, io));
        })
    }

    /// Collects what is begun by `begin`: anew if it is abandoned, as a change has begun meanwhile.
    pub(super) fn collect(
        &mut self,
        live: &mut LiveSwitch,
        mut begin: impl FnMut(&mut Self, &mut LiveSwitch),
    ) -> Result<Vec<u8>> {
        for _ in 0..MOST_TRIES {
            self.abandon(live);
            live.complete_changes();
            begin(self, live);
            while self.saving.is_some() {
                let now = live.now();
                let (switch, io) = live.unrecorded();
                switch.work(now, io);
                if let Some(state) = self.save_slice(now, live) {
                    return state;
                }
            }
        }
        Err("the switch is changing each time".into())
    }

    /// Gives up the state that is being collected. It is begun anew if it is due.
    fn abandon(&mut self, live: &mut LiveSwitch) {
        if self.saving.take().is_some() {
            let now = live.now();
            let (switch, io) = live.unrecorded();
            switch.disconnected(now, SAVER);
            io.for_saver.clear();
            if let Some(folder) = &mut self.folder {
                folder.next = folder.interval.map(|_| now.after(RETRY_NS));
            }
        }
    }

    pub(super) fn begin(&mut self, now: Time, queues: &[ConfiguredQueue], live: &mut LiveSwitch) {
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

    /// Takes in what the switch replied since the last slice, and asks the next question. Returns
    /// the state once it is complete.
    fn save_slice(&mut self, now: Time, live: &mut LiveSwitch) -> Option<Result<Vec<u8>>> {
        let saving = self.saving.as_mut()?;
        if live.switch().is_changing() {
            // A bundle is committed at its time: the state would be that of two moments.
            self.abandon(live);
            return None;
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
            return None;
        }
        let saving = self.saving.take()?;
        Some(saving.finish().map_err(Into::into))
    }
}
