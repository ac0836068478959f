//! Where and how often a switch saves its state.

use std::path::PathBuf;
use std::time::Duration;

use super::Options;
use super::workers::WorkerCount;
use crate::error::Result;

/// The usual time between two states.
const INTERVAL_SECONDS: u32 = 60;

/// The options of the saved state.
#[derive(Clone, Debug, Default)]
pub struct StateOptions {
    /// The folder of the state; `None` if it is not saved.
    pub folder: Option<PathBuf>,
    /// The time between two states; `None` to save it only at the end.
    pub interval: Option<Duration>,
}

impl StateOptions {
    /// Reads these options. Errors: they exclude another one.
    pub(super) fn of(options: &Options) -> Result<Self> {
        if options.state_dir.is_some() {
            if options.record.is_some() {
                return Err(
                    "--state-dir: a record has everything from the start of a switch \
                            without a state: leave --record out"
                        .into(),
                );
            }
            let workers = options.workers.as_ref();
            if workers.is_some_and(WorkerCount::may_be_several) {
                return Err("--state-dir is for one worker: leave --workers out".into());
            }
        }
        if options.state_interval.is_some() && options.state_dir.is_none() {
            return Err("--state-interval: nothing is saved without --state-dir".into());
        }
        let seconds = options.state_interval.unwrap_or(INTERVAL_SECONDS);
        Ok(Self {
            folder: options.state_dir.clone(),
            interval: (seconds > 0).then(|| Duration::from_secs(seconds.into())),
        })
    }
}
