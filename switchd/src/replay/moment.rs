//! `bofuss replay`: plays a record, or lets its switch stand still at one of its moments.

use std::fs::metadata;
use std::path::PathBuf;

use bofuss_datapath::Time;
use bofuss_ext::Switch;

use super::messages::RecordedMessages;
use super::{AnyPlayer, Replay, ReplayOptions};
use crate::config::{Options, from_line};
use crate::error::{Result, context};
use crate::past::{KeepMessage, PastMoment};
use crate::runtime::with_runtime;
use crate::still;

/// Why a record has no switch that could be shown.
const NO_TABLES: &str = "--serve: a switch with a P4 program has no OpenFlow tables to be shown";

/// Does what the options say. Errors: a sentence for the user, also if an output differs.
pub fn run(options: ReplayOptions) -> Result<()> {
    let Some(switch) = &options.serve else {
        return options.run();
    };
    // It is read twice: for the configuration, and in the thread of the switch.
    let name = options.file.display();
    let found = metadata(&options.file).map_err(context(&name))?;
    if !found.is_file() {
        return Err(format!("{name}: --serve needs a regular file").into());
    }
    let moment = RecordedMoment {
        file: options.file,
        until: options.until,
    };
    with_runtime(moment.serve(switch))
}

/// A record, and the last line of it that is played, if not all are.
#[derive(Debug)]
struct RecordedMoment {
    file: PathBuf,
    until: Option<usize>,
}

impl RecordedMoment {
    /// Serves the switch of this moment as `name`. Errors: the record's, with its line; those of
    /// [`still::serve`].
    async fn serve(self, name: &str) -> Result<()> {
        let mut replay = Replay {
            until: self.until,
            only_reads: true,
            ..Replay::default()
        };
        replay.read_file(&self.file)?;
        let recorded = replay.config.ok_or(NO_TABLES)?;
        let options = Options {
            name: Some(name.into()),
            ..from_line(&recorded.options)?
        };
        let what = self.file.display().to_string();
        still::serve(options, Some(recorded.datapath_id), &what, self).await
    }
}

impl PastMoment for RecordedMoment {
    fn reached(&self, keep: KeepMessage<'_>) -> Result<(Time, Switch)> {
        let mut replay = Replay {
            until: self.until,
            messages: Some(RecordedMessages::new(keep)),
            ..Replay::default()
        };
        replay.read_file(&self.file)?;
        replay.report(&self.file.display());
        match replay.player {
            Some(AnyPlayer::OpenFlow(player)) => Ok((replay.now, player.into_switch())),
            Some(AnyPlayer::P4(_)) | None => Err(NO_TABLES.into()),
        }
    }
}
