//! The programs of a switch, with their maps.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use bofuss_datapath::Trial;
use bofuss_oflib::ErrorCode;
use bofuss_oflib::wire::Bytes;

use super::code::Code;
use super::error::{BAD_KEY, FULL, NO_MAP, NO_PROGRAM};
use super::instruction::SLOT_BYTES;
use super::map::{Map, MapForm, UpdateIf};
use super::name::Name;
use super::wire::{MAX_MAPS, MapMod, MapRequest, ProgramMod};
use crate::common::trial_map::TrialMap;

/// The most programs.
pub const MAX_PROGRAMS: usize = 64;
/// The most bytes that all maps need when they are full.
pub const MAX_MAP_BYTES: usize = 16 << 20;

/// The most bytes of a part of a reply, unless it has only one program.
const BYTES_PER_PART: usize = 30_000;
/// The most bytes of a program in such a part besides its code.
const BYTES_OF_MAPS: usize = 50 + 48 * MAX_MAPS;
/// The bytes of a key in such a part besides key and value.
const ENTRY_BYTES: usize = 74;

/// A program and its maps.
#[derive(Clone, Debug)]
pub struct Program {
    /// The code, which a trace shares.
    pub code: Arc<Code>,
    /// The maps, by the numbers that the code has for them.
    pub maps: Vec<Map>,
    /// Packets that it was run for, and the steps that it took.
    pub runs: u64,
    /// See [`Program::runs`].
    pub steps: u64,
}

impl Program {
    fn most_bytes(&self) -> usize {
        self.maps.iter().map(|map| map.form().most_bytes()).sum()
    }

    /// The map of a name. Errors: NO_MAP.
    fn map(&mut self, name: &Name) -> Result<&mut Map, ErrorCode> {
        let found = self.maps.iter_mut().find(|map| map.form().name() == name);
        found.ok_or(NO_MAP)
    }
}

/// The programs, by name.
#[derive(Default)]
pub struct Programs(TrialMap<Name, Program>);

impl Programs {
    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.live().is_empty()
    }

    /// A program, for a packet that may be one of a trace: what that writes is then forgotten.
    pub fn get_mut(&mut self, trial: Trial, name: &Name) -> Option<&mut Program> {
        self.0.get_mut(trial, name)
    }

    /// A part of the messages that add all of them, in the order of names, from the one of this
    /// number on; and the number of the next one.
    pub fn list(&self, from: u64) -> (Vec<ProgramMod>, Option<u64>) {
        let mut list = Vec::new();
        let mut bytes = 0;
        for (at, (name, program)) in (0..).zip(self.in_order()).skip(from as usize) {
            bytes += BYTES_OF_MAPS + program.code.slots().len() * SLOT_BYTES;
            if bytes > BYTES_PER_PART && !list.is_empty() {
                return (list, Some(at));
            }
            list.push(ProgramMod::Add {
                name: *name,
                maps: program.maps.iter().map(|map| map.form().clone()).collect(),
                code: Code::clone(&program.code),
            });
        }
        (list, None)
    }

    /// All of them, in the order of names.
    pub fn in_order(&self) -> BTreeMap<&Name, &Program> {
        self.0.live().iter().collect()
    }

    /// Adds, replaces or deletes a program. Errors: NO_PROGRAM; FULL, with nothing done.
    pub fn modify(&mut self, change: &ProgramMod) -> Result<(), ErrorCode> {
        match change {
            ProgramMod::Add { name, maps, code } => self.add(name, maps, code),
            ProgramMod::Delete { name } => {
                let removed = self.0.live_mut().remove(name);
                removed.map(|_| ()).ok_or(NO_PROGRAM)
            }
        }
    }

    fn add(&mut self, name: &Name, forms: &[MapForm], code: &Code) -> Result<(), ErrorCode> {
        let all = self.0.live_mut();
        let others = all.iter().filter(|(other, _)| *other != name);
        let (count, bytes) = others.fold((0, 0), |(count, bytes), (_, program)| {
            (count + 1, bytes + program.most_bytes())
        });
        let own: usize = forms.iter().map(MapForm::most_bytes).sum();
        if count >= MAX_PROGRAMS || bytes + own > MAX_MAP_BYTES {
            return Err(FULL);
        }
        let before = all.remove(name);
        let (runs, steps) = before.as_ref().map_or((0, 0), |one| (one.runs, one.steps));
        let mut old = before.map_or(Vec::new(), |one| one.maps);
        let maps = forms
            .iter()
            .map(|form| match old.iter().position(|map| map.form() == form) {
                Some(at) => old.swap_remove(at),
                None => Map::new(form.clone()),
            });
        let program = Program {
            maps: maps.collect(),
            code: Arc::new(code.clone()),
            runs,
            steps,
        };
        all.insert(*name, program);
        Ok(())
    }

    /// Sets or deletes a key of a map. Errors: NO_PROGRAM, NO_MAP, BAD_KEY, FULL.
    pub fn modify_map(&mut self, change: &MapMod) -> Result<(), ErrorCode> {
        let program = self.0.live_mut().get_mut(&change.program);
        let map = program.ok_or(NO_PROGRAM)?.map(&change.map)?;
        let key = &change.key.0;
        let Some(value) = &change.value else {
            return if map.delete(key) {
                Ok(())
            } else {
                Err(BAD_KEY)
            };
        };
        if !map.fits(key, &value.0) {
            return Err(BAD_KEY);
        }
        let done = map.update(key, &value.0, UpdateIf::Always);
        if done { Ok(()) } else { Err(FULL) }
    }

    /// A part of what a map has, from the entry of this number on, and the number of the next one.
    ///
    /// Errors: NO_PROGRAM, NO_MAP.
    pub fn entries(
        &mut self,
        request: &MapRequest,
        from: u64,
    ) -> Result<(Vec<MapMod>, Option<u64>), ErrorCode> {
        let program = self.0.live_mut().get_mut(&request.program);
        let map = program.ok_or(NO_PROGRAM)?.map(&request.map)?;
        let form = map.form();
        let most = BYTES_PER_PART / (ENTRY_BYTES + form.key_bytes() + form.value_bytes());
        let (rows, next) = map.entries_from(from as usize, most);
        let list = rows.into_iter().map(|(key, value)| MapMod {
            program: request.program,
            map: request.map,
            key: Bytes(key),
            value: Some(Bytes(value)),
        });
        Ok((list.collect(), next.map(|next| next as u64)))
    }
}
