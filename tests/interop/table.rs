//! The table of messages and readers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bofuss_oflib::Version;

use crate::drive::Told;
use crate::readers::{READERS, Reader, Verdict};

/// The verdicts of each reader on the messages of each version and name.
#[derive(Default)]
pub struct Table(BTreeMap<(Version, String), BTreeMap<Reader, Vec<Verdict>>>);

impl Table {
    /// Has all readers read what a switch said.
    pub fn read(&mut self, version: Version, told: &[Told]) {
        for reader in READERS.into_iter().filter(|one| one.speaks(version)) {
            println!("  {reader:?} reads {} messages", told.len());
            let verdicts = reader.read(version, told);
            for (verdict, told) in verdicts.into_iter().zip(told) {
                let row = self.0.entry((version, told.name.clone())).or_default();
                row.entry(reader).or_default().push(verdict);
            }
        }
    }

    /// Returns what no reader may say.
    pub fn faults(&self) -> BTreeSet<String> {
        self.notes(|verdict| match verdict {
            Verdict::Fault(said) => Some(said),
            Verdict::Read | Verdict::Misread(_) => None,
        })
    }

    fn notes(&self, of: impl Fn(&Verdict) -> Option<&String>) -> BTreeSet<String> {
        let mut notes = BTreeSet::new();
        for ((version, name), readers) in &self.0 {
            for (reader, verdicts) in readers {
                let said = verdicts.iter().filter_map(&of);
                notes.extend(said.map(|said| format!("{reader:?}, {version} {name}: {said}")));
            }
        }
        notes
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\nversion message {:26} count", "")?;
        for reader in READERS {
            write!(f, " {:>14}", format!("{reader:?}"))?;
        }
        for ((version, name), readers) in &self.0 {
            let count = readers.values().map(Vec::len).max().unwrap_or_default();
            write!(f, "\n{:7} {name:34} {count:5}", version.to_string())?;
            for reader in READERS {
                write!(f, " {:>14}", cell(readers.get(&reader)))?;
            }
        }
        writeln!(f, "\n\nWhat is misread, and why:")?;
        let misread = self.notes(|verdict| match verdict {
            Verdict::Misread(why) => Some(why),
            Verdict::Read | Verdict::Fault(_) => None,
        });
        misread.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

/// Returns what is wrong with the verdicts on one kind of message, and how often.
fn cell(verdicts: Option<&Vec<Verdict>>) -> String {
    let Some(verdicts) = verdicts else {
        return "-".into();
    };
    let count = |is: fn(&&Verdict) -> bool| verdicts.iter().filter(is).count();
    let faults = count(|verdict| matches!(verdict, Verdict::Fault(_)));
    let misread = count(|verdict| matches!(verdict, Verdict::Misread(_)));
    match (faults, misread) {
        (0, 0) => "read".into(),
        (0, misread) => format!("{misread} misread"),
        (faults, _) => format!("{faults} FAULTS"),
    }
}
