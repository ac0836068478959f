//! Protects a switch that the meter did not start: its rules are shown, nothing is changed without
//! `--wipe`, and at the end of a run, or by the next one, the rules are as they were.

use std::time::Duration;

use bofuss_oflib::Version;

use crate::error::{Error, Result};
use crate::runs::results::Store;
use crate::runs::signals;
use crate::subject::controller::{ControlSession, METER_COOKIE, SwitchAddress, patiently};
use crate::subject::installed::Installed;

/// Rules that are shown at most.
const MAX_SHOWN: usize = 20;

/// What a switch had before the meter changed it.
pub struct Guard<'a> {
    address: &'a SwitchAddress,
    stall: Duration,
    store: &'a Store,
    /// The file that has it in case the meter is killed.
    file: String,
    before: Installed,
}

impl<'a> Guard<'a> {
    /// Puts back what an earlier run removed. Then reads what the switch has, writes it into the
    /// folder, and removes it. All this is done on a connection of its own, in the newest version
    /// that the switch speaks: an older one shows and writes less.
    ///
    /// Errors: there are rules, and `wipe` is not set; rules that could not be put back, which are
    /// left as they are; the connection's.
    pub fn new(
        address: &'a SwitchAddress,
        stall: Duration,
        wipe: bool,
        store: &'a Store,
    ) -> Result<Self> {
        let (mut this, mut session) = Self::open(address, stall, store)?;
        // A switch that hangs from here on is no result, but has rules to put back.
        let recovered = this.recover(&mut session);
        recovered.map_err(|error| Error::from(error.to_string()))?;
        let before = Installed::read(&mut session)?;
        if before.is_empty() {
            return Ok(this);
        }
        let (lines, counted) = (before.lines(), before.counted());
        if !wipe {
            return Err(format!(
                "the switch has {counted}:\n  {}\n\
                 with --wipe they are removed during the run and put back in the end",
                shown(&lines)
            )
            .into());
        }
        let checked = before.check(session.version(), &session.codec());
        checked.map_err(|error| {
            format!("nothing is removed, as this could not be put back: {error}")
        })?;
        let path = store.write(&this.file, &(lines.join("\n") + "\n"))?;
        eprintln!(
            "{counted} are removed until the end; if this program is killed, they are put back by \
             the next run with this folder, or by ofmeter restore; they are in {}",
            path.display()
        );
        this.before = before;
        let removed = this.before.remove(&mut session);
        removed.map_err(|error| this.with_file(&error.to_string()))?;
        Ok(this)
    }

    /// Puts back what an earlier run of this folder removed from the switch and did not put back.
    ///
    /// Errors: the folder has nothing of this switch; as [`Guard::new`].
    pub fn put_back(address: &'a SwitchAddress, stall: Duration, store: &'a Store) -> Result<()> {
        let (guard, mut session) = Self::open(address, stall, store)?;
        if guard.recover(&mut session)? {
            return Ok(());
        }
        let path = store.path(&guard.file);
        Err(format!("there is no {}: nothing was removed", path.display()).into())
    }

    /// Connects in the newest version, and names the file by the switch's datapath.
    fn open(
        address: &'a SwitchAddress,
        stall: Duration,
        store: &'a Store,
    ) -> Result<(Self, ControlSession)> {
        let mut session = ControlSession::connect(address, Version::SPOKEN, stall)?;
        let file = format!("rules-before-{:016x}.txt", session.features()?.datapath_id);
        let guard = Self {
            address,
            stall,
            store,
            file,
            before: Installed::default(),
        };
        Ok((guard, session))
    }

    /// Puts the rules back, and reads them again.
    ///
    /// Errors: what is not as it was, with the file that has it; the connection's.
    pub fn restore(self) -> Result<()> {
        let mut session = self.connect()?;
        self.give_back(&mut session, &self.before)
    }

    /// Connects to a switch that may be restarting. It has as long as it may take to answer.
    fn connect(&self) -> Result<ControlSession> {
        let session = patiently(self.stall, &signals::is_over, || {
            ControlSession::connect(self.address, Version::SPOKEN, self.stall)
        });
        session.map_err(|error| self.with_file(&error.to_string()))
    }

    /// An error, with the file that has the rules if any were removed.
    fn with_file(&self, error: &str) -> Error {
        if self.before.is_empty() {
            return error.into();
        }
        let path = self.store.path(&self.file);
        format!("{error}; its rules are in {}", path.display()).into()
    }

    /// Makes the switch have only `before`, and deletes the file once it has.
    fn give_back(&self, session: &mut ControlSession, before: &Installed) -> Result<()> {
        Installed::read(session)?.remove(session)?;
        let given = session.change(&before.messages());
        let now = Installed::read(session)?;
        let missing = before.missing_in(&now);
        if !missing.is_empty() {
            let path = self.store.path(&self.file);
            let why = given.err().map(|error| format!(" ({error})"));
            return Err(format!(
                "{} of {} are not back{}; all of them are in {}:\n  {}",
                missing.len(),
                before.counted(),
                why.unwrap_or_default(),
                path.display(),
                shown(&missing)
            )
            .into());
        }
        if !before.is_empty() {
            eprintln!("{} are back, and were read again", before.counted());
        }
        self.store.remove(&self.file)
    }

    /// Puts back what an earlier run removed, if it was killed before it did. Returns true if there
    /// was anything.
    ///
    /// Errors: the switch has been given other rules meanwhile; the connection's.
    fn recover(&self, session: &mut ControlSession) -> Result<bool> {
        let Some(text) = self.store.read(&self.file)? else {
            return Ok(false);
        };
        let path = self.store.path(&self.file);
        let path = path.display();
        let before = Installed::of_text(&text, &session.codec().catalogue)
            .map_err(|error| format!("{path}: {error}"))?;
        let now = Installed::read(session)?;
        let mut others = now.clone();
        others.entries.retain(|entry| entry.cookie != METER_COOKIE);
        let others = others.missing_in(&before);
        if !others.is_empty() {
            return Err(format!(
                "an earlier run removed {} and was killed before it put them back, and the switch \
                 has got others since:\n  {}\nRemove these, or delete {path}",
                before.counted(),
                shown(&others)
            )
            .into());
        }
        eprintln!("an earlier run removed {}", before.counted());
        self.give_back(session, &before)?;
        Ok(true)
    }
}

/// The first lines.
fn shown(lines: &[String]) -> String {
    let some = &lines[..lines.len().min(MAX_SHOWN)];
    some.join("\n  ")
}
