//! A running switch takes over another configuration: all of it, or nothing if a part is refused.

use bofuss_channel::Origin;
use bofuss_embed::record::RecordedInput;
use tokio::sync::oneshot;

use super::DataPlane;
use super::command::Answer;
use super::copiers::CopierChange;
use super::trial_switch::{TrialSwitch, datapath_id_of};
use crate::config::{Config, PortSpec};
use crate::error::Result;

impl DataPlane {
    /// Takes over a changed configuration; what is equal in both stays untouched. Everything that
    /// can fail is prepared first; then this reports `ready` and waits for `go`. If `go` is closed,
    /// nothing changes.
    ///
    /// Errors: a port or file that cannot be opened, a queue that is refused, an entry that would
    /// not fit. Nothing has changed then.
    pub(super) fn reconfigure(
        &mut self,
        mut new: Config,
        ready: oneshot::Sender<()>,
        go: oneshot::Receiver<()>,
    ) -> Answer {
        let Self { config, live, .. } = self;
        check_numbers(&config.current, &new.ports)?;
        let opened = config.open_ports(live, &new.ports)?;
        let copiers = CopierChange::prepare(live, Some(&config.current), &new)?;
        live.workers().gather_states();
        live.complete_changes();
        let fail_modes = config.fail_modes(live, new.fail_mode, new.has_fail_mode);
        new.fail_mode = fail_modes.now;
        let trial = TrialSwitch {
            old: &config.current,
            new: &new,
            opened: &opened,
        };
        let (mut other, recorded) = trial.build(live)?;
        let now = live.now();
        let (switch, io) = live.unrecorded();
        let checked = switch.check_reconfigure(now, &mut other, io);
        checked.map_err(|obstacle| trial.describe_obstacle(obstacle))?;
        if ready.send(()).is_err() || go.blocking_recv().is_err() {
            return Err("another switch refused its part of the change".into());
        }
        let mut effects = config.note_fail_modes(fail_modes);
        let id = live.switch().identity().datapath_id;
        let now = live.now();
        live.give(
            now,
            |_| Some(RecordedInput::Reconfigure(Box::new(recorded))),
            |switch, io| switch.reconfigure(now, other, io),
        );
        live.workers().lead();
        live.workers().divide_by(new.dispatch);
        let old = config.replace(live, new, opened, &mut effects)?;
        let copied = copiers.make(&mut live.io_mut().ports.copiers);
        if live.switch().identity().datapath_id != id {
            live.close_connections(|_| true, "the datapath id changed");
        }
        if old.auxiliaries != config.current.auxiliaries {
            live.close_connections(
                |origin| matches!(origin, Origin::Auxiliary { .. }),
                "the auxiliary connections changed",
            );
        }
        config.close_unwanted_connections(live);
        self.exports.set(live, &config.current.exports);
        let (now, interval) = (live.now(), config.current.state.interval);
        self.saver.set_interval(now, interval);
        copied.map(|()| effects)
    }

    /// The datapath id as the configuration has it, if a start with these ports would give another
    /// one; else an empty text.
    pub(super) fn kept_datapath_id(&self) -> String {
        let id = self.live.switch().identity().datapath_id;
        if datapath_id_of(&self.config.current, &self.live) == id {
            return String::new();
        }
        format!("{id:#x}")
    }
}

/// Errors: with several workers, a port would get another number.
fn check_numbers(config: &Config, wanted: &[PortSpec]) -> Result<()> {
    let is_moved = |old: &&PortSpec| {
        let mut new = wanted.iter();
        new.any(|new| new.kind == old.kind && new.number != old.number)
    };
    match config.ports.iter().find(is_moved) {
        Some(port) if config.workers > 1 => Err(format!(
            "port {}: with --workers, a port keeps its number; remove it, and then add it",
            port.kind
        )
        .into()),
        Some(_) | None => Ok(()),
    }
}
