//! Protects a switch that the meter did not start: its rules are shown, nothing is changed without
//! `--wipe`, and at the end of a run, or by the next one, the rules are as they were.

use std::time::Duration;

use bofuss_oflib::{Catalogue, Version};

use crate::error::{Error, Result};
use crate::runs::results::Store;
use crate::runs::signals;
use crate::subject::address::{SwitchAddress, patiently};
use crate::subject::controller::{ControlSession, METER_COOKIE};
use crate::subject::installed::Installed;
use crate::tell::tell;

/// Rules that are shown at most.
const MAX_SHOWN: usize = 20;
/// The end of the name of a file of rules.
const ENDING: &str = ".txt";

/// What a switch had before the meter changed it.
pub struct Guard<'a> {
    address: &'a SwitchAddress,
    stall: Duration,
    store: &'a Store,
    /// The file that has it in case the meter is killed.
    file: String,
    /// The beginning of the name of this file, and of those of other switches with this datapath.
    begin: String,
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
        tell!(
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
        let mut why = format!("there is no {}: nothing was removed", path.display());
        let others = guard.other_files();
        if !others.is_empty() {
            why += &format!("; {}", of_another(&others, &guard.file));
        }
        Err(why.into())
    }

    /// Connects in the newest version, and names the file by the switch's datapath and by the way
    /// to it: several switches may have one datapath.
    fn open(
        address: &'a SwitchAddress,
        stall: Duration,
        store: &'a Store,
    ) -> Result<(Self, ControlSession)> {
        let mut session = ControlSession::connect(address, Version::SPOKEN, stall)?;
        let begin = file_begin(session.features()?.datapath_id);
        let guard = Self {
            address,
            stall,
            store,
            file: file_name(&begin, session.path()),
            begin,
            before: Installed::default(),
        };
        Ok((guard, session))
    }

    /// Puts the rules back, and reads them again.
    ///
    /// Errors: what is not as it was, with the file that has it; the connection's.
    pub fn restore(self) -> Result<()> {
        let mut session = self.connect()?;
        self.give_back(&mut session, &self.before, &self.file)
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
    fn give_back(
        &self,
        session: &mut ControlSession,
        before: &Installed,
        file: &str,
    ) -> Result<()> {
        Installed::read(session)?.remove(session)?;
        let given = session.change(&before.messages());
        let now = Installed::read(session)?;
        let missing = before.missing_in(&now);
        if !missing.is_empty() {
            let path = self.store.path(file);
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
            tell!("{} are back, and were read again", before.counted());
        }
        self.store.remove(file)
    }

    /// The files of this datapath.
    fn files(&self) -> Vec<String> {
        let listed = std::fs::read_dir(self.store.path(""));
        let files = listed.into_iter().flatten();
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names
            .filter(|name| name.starts_with(&self.begin) && name.ends_with(ENDING))
            .collect();
        names.sort();
        names
    }

    /// Those with another name: of another way to it or to another switch, or of an older version,
    /// which had no way in it.
    fn other_files(&self) -> Vec<String> {
        let mut names = self.files();
        names.retain(|name| *name != self.file);
        names
    }

    /// The file that has what was removed from this switch: that of its name, or that of an older
    /// version if the switch shows that it is its own. None if there is none.
    ///
    /// Errors: the switch has the meter's entries, and only other files are there.
    fn left_file(&self, now: &Installed, catalogue: &Catalogue) -> Result<Option<String>> {
        if self.store.path(&self.file).exists() {
            return Ok(Some(self.file.clone()));
        }
        let others = self.other_files();
        let older = format!("{}{ENDING}", self.begin);
        if others.contains(&older) && shows_the_run_of(&self.read(&older, catalogue)?, now) {
            return Ok(Some(older));
        }
        if !others.is_empty() && has_our_entries(now) {
            let of_another = of_another(&others, &self.file);
            return Err(format!("the switch has entries of an earlier run; {of_another}").into());
        }
        Ok(None)
    }

    /// Reads a file of rules.
    ///
    /// Errors: the system's; it has something else.
    fn read(&self, file: &str, catalogue: &Catalogue) -> Result<Installed> {
        let text = self.store.read(file)?.unwrap_or_default();
        let path = self.store.path(file);
        let read = Installed::of_text(&text, catalogue);
        read.map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// Puts back what an earlier run removed, if it was killed before it did. Returns true if there
    /// was anything.
    ///
    /// Errors: the switch has been given other rules meanwhile; the connection's.
    fn recover(&self, session: &mut ControlSession) -> Result<bool> {
        if self.files().is_empty() {
            return Ok(false);
        }
        let catalogue = session.codec().catalogue;
        let now = Installed::read(session)?;
        let Some(file) = self.left_file(&now, &catalogue)? else {
            return Ok(false);
        };
        let before = self.read(&file, &catalogue)?;
        let others = others(&now, &before);
        if !others.is_empty() {
            return Err(format!(
                "an earlier run removed {} and was killed before it put them back, and the switch \
                 has got others since:\n  {}\nRemove these, or delete {}",
                before.counted(),
                shown(&others),
                self.store.path(&file).display()
            )
            .into());
        }
        tell!("an earlier run removed {}", before.counted());
        self.give_back(session, &before, &file)?;
        Ok(true)
    }
}

/// The beginning of the names of the files of a datapath.
fn file_begin(datapath_id: u64) -> String {
    format!("rules-before-{datapath_id:016x}")
}

/// The file of a way to a datapath. No two ways have the same.
fn file_name(begin: &str, path: &str) -> String {
    let mut name = format!("{begin}-");
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => name.push(char::from(byte)),
            other => name += &format!("%{other:02x}"),
        }
    }
    name + ENDING
}

/// Says what to do with files that may be of the switch whose file is the last.
fn of_another(files: &[String], own: &str) -> String {
    format!(
        "{} may have what it had, if it was reached by another address then: if so, name it {own}",
        files.join(" or ")
    )
}

/// Returns true if the meter has given a switch entries.
fn has_our_entries(now: &Installed) -> bool {
    now.entries.iter().any(|entry| entry.cookie == METER_COOKIE)
}

/// What a switch has that it was not given by the meter, and did not have before.
fn others(now: &Installed, before: &Installed) -> Vec<String> {
    let mut others = now.clone();
    others.entries.retain(|entry| entry.cookie != METER_COOKIE);
    others.missing_in(before)
}

/// Returns true if a switch has the entries of a run of the meter, and otherwise nothing that it
/// did not have before.
fn shows_the_run_of(before: &Installed, now: &Installed) -> bool {
    has_our_entries(now) && others(now, before).is_empty()
}

/// The first lines.
fn shown(lines: &[String]) -> String {
    let some = &lines[..lines.len().min(MAX_SHOWN)];
    some.join("\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::held::ScratchFolder;

    fn installed(text: &str) -> Installed {
        Installed::of_text(text, &bofuss_ext::catalogue()).unwrap()
    }

    /// A guard of a switch in a folder, which was reached by this way.
    fn guard<'a>(address: &'a SwitchAddress, store: &'a Store, path: &str) -> Guard<'a> {
        Guard {
            address,
            stall: Duration::from_secs(1),
            store,
            file: file_name(&file_begin(7), path),
            begin: file_begin(7),
            before: Installed::default(),
        }
    }

    #[test]
    fn switches_with_one_datapath_have_files_of_their_own() {
        let folder = ScratchFolder::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let address: SwitchAddress = "tcp:10.0.0.5:6653".parse().unwrap();
        let [one, other] = ["tcp:10.0.0.5:6653", "tcp:10.0.0.6:6653"];
        let [one, other] = [one, other].map(|path| guard(&address, &store, path));
        let own = "rules-before-0000000000000007-tcp%3a10.0.0.5%3a6653.txt";
        assert_eq!(one.file, own);
        store.write(&one.file, "udp,actions=drop\n").unwrap();
        let catalogue = bofuss_ext::catalogue();
        let left = |guard: &Guard<'_>, now: &str| guard.left_file(&installed(now), &catalogue);
        assert_eq!(left(&one, "").unwrap().as_deref(), Some(own));
        // The other one has nothing, or what others gave it: nothing of it was removed.
        for now in ["", "tcp,actions=drop"] {
            assert_eq!(left(&other, now), Ok(None), "{now}");
        }
        // Or it is the same by another address.
        let ours = format!("cookie={METER_COOKIE},ip,actions=drop");
        let why = left(&other, &ours).unwrap_err().to_string();
        assert!(why.contains(own) && why.contains(&other.file), "{why}");
    }

    #[test]
    fn a_file_without_an_address_is_of_the_switch_that_has_entries_of_its_run() {
        let folder = ScratchFolder::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let address: SwitchAddress = "tcp:10.0.0.5:6653".parse().unwrap();
        let guard = guard(&address, &store, "tcp:10.0.0.5:6653");
        let older = "rules-before-0000000000000007.txt";
        store.write(older, "priority=3,udp,actions=drop\n").unwrap();
        let catalogue = bofuss_ext::catalogue();
        let left = |now: &str| guard.left_file(&installed(now), &catalogue);
        let ours = format!("cookie={METER_COOKIE},ip,actions=drop");
        assert_eq!(left(&ours).unwrap().as_deref(), Some(older));
        // Some may have been put back already.
        let half = format!("{ours}\npriority=3,udp,actions=drop");
        assert_eq!(left(&half).unwrap().as_deref(), Some(older));
        // Of another switch it is not known whether it is the one.
        assert_eq!(left("tcp,actions=drop"), Ok(None));
        assert!(left(&format!("{ours}\ntcp,actions=drop")).is_err());
    }
}
