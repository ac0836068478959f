//! What the externs of a program keep: counters, meters, registers, value sets, calculations.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use hashbrown::HashSet;

use crate::canonical::fits;
use crate::count::Count;
use crate::error::ControlError;
use crate::hash::{Algorithm, Crc};
use crate::int::Int;
use crate::meter::{Meter, MeterConfig};
use crate::program::{Array, Program, SelectCase, State};
use crate::show;

type Result<T, E = ControlError> = core::result::Result<T, E>;

/// The cells of a page.
const PAGE: usize = 1024;

/// Cells that take memory only once they are written.
#[derive(Clone, Debug)]
pub struct Paged<T> {
    pages: Vec<Option<Box<[T]>>>,
    size: usize,
}

impl<T: Clone + Default> Paged<T> {
    /// Cells that all have the default.
    pub fn new(size: usize) -> Self {
        Self {
            pages: vec![None; size.div_ceil(PAGE)],
            size,
        }
    }

    /// A cell; `None` if there is none of this index.
    pub fn get(&self, index: usize) -> Option<T> {
        if index >= self.size {
            return None;
        }
        let page = self.pages[index / PAGE].as_ref();
        Some(page.map_or_else(T::default, |page| page[index % PAGE].clone()))
    }

    /// Those of the cells that are not as they were at first, with their indices.
    pub fn changed(&self) -> impl Iterator<Item = (usize, &T)>
    where
        T: PartialEq,
    {
        let pages = self.pages.iter().enumerate();
        let cells = pages.flat_map(|(page, cells)| {
            let cells = cells.as_deref().unwrap_or_default().iter().enumerate();
            cells.map(move |(at, cell)| (page * PAGE + at, cell))
        });
        cells.filter(|(_, cell)| **cell != T::default())
    }

    /// A cell to write; `None` if there is none of this index.
    pub fn cell(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.size {
            return None;
        }
        let page = self.pages[index / PAGE]
            .get_or_insert_with(|| vec![T::default(); PAGE].into_boxed_slice());
        Some(&mut page[index % PAGE])
    }
}

fn paged<T: Clone + Default>(arrays: &[Array]) -> Vec<Paged<T>> {
    arrays.iter().map(|array| Paged::new(array.size)).collect()
}

/// What the externs of a program keep, but for what belongs to entries. An extern is named by its
/// index in the program.
#[derive(Clone, Debug)]
pub struct Externs {
    program: Arc<Program>,
    pub(crate) counters: Vec<Paged<Count>>,
    pub(crate) meters: Vec<Paged<Meter>>,
    pub(crate) registers: Vec<Paged<Int>>,
    value_sets: Vec<HashSet<Vec<u8>>>,
    /// The algorithms of calculations, of which some can be changed.
    pub(crate) algorithms: Vec<Algorithm>,
    /// The counters of those that go round robin.
    pub(crate) turns: Vec<u64>,
}

impl Externs {
    /// As they are at the start.
    pub(crate) fn new(program: Arc<Program>) -> Self {
        let calculations = program.calculations.iter();
        Self {
            counters: paged(&program.counters),
            meters: paged(&program.meters),
            registers: paged(&program.registers),
            value_sets: vec![HashSet::new(); program.value_sets.len()],
            algorithms: calculations.map(|row| row.algorithm.clone()).collect(),
            turns: vec![0; program.calculations.len()],
            program,
        }
    }

    /// The value of a counter; `None` if there is none of this index.
    pub fn counter(&self, counter: usize, index: usize) -> Option<Count> {
        self.counters[counter].get(index)
    }

    /// Sets a counter of an array. Errors: none of this index.
    pub fn set_counter(&mut self, counter: usize, index: usize, count: Count) -> Result<()> {
        let cell = self.counters[counter].cell(index);
        *cell.ok_or(ControlError::NotFound)? = count;
        Ok(())
    }

    /// Sets all cells of a counter of an array to 0.
    pub fn reset_counter(&mut self, counter: usize) {
        self.counters[counter] = Paged::new(self.program.counters[counter].size);
    }

    /// The cells of a counter that have counted, with their indices.
    pub fn counted(&self, counter: usize) -> impl Iterator<Item = (usize, &Count)> {
        self.counters[counter].changed()
    }

    /// The cells of a counter that have counted, at most `most`, as text.
    pub fn show_counter(&self, counter: usize, most: usize) -> String {
        let cells = self.counted(counter).map(|(index, count)| {
            let Count { packets, bytes } = count;
            (index, format!("packets={packets} bytes={bytes}"))
        });
        show::cells(&self.program.counters[counter], cells, most)
    }

    /// The value of a register; `None` if there is none of this index.
    pub fn register(&self, register: usize, index: usize) -> Option<Int> {
        self.registers[register].get(index)
    }

    /// Writes a register. Errors: none of this index, a value that is wider.
    pub fn set_register(&mut self, register: usize, index: usize, value: &Int) -> Result<()> {
        let row = &self.program.registers[register];
        let value = fits(value, row.width, &row.name)?;
        let cell = self.registers[register].cell(index);
        *cell.ok_or(ControlError::NotFound)? = value;
        Ok(())
    }

    /// Sets all cells of a register to 0.
    pub fn reset_register(&mut self, register: usize) {
        self.registers[register] = Paged::new(self.program.registers[register].size);
    }

    /// The cells of a register that are not 0, at most `most`, as text.
    pub fn show_register(&self, register: usize, most: usize) -> String {
        let cells = self.registers[register].changed();
        let cells = cells.map(|(index, value)| (index, format!("{value}")));
        show::cells(&self.program.registers[register], cells, most)
    }

    /// The rates of a meter of an array, if it has any; `None` if there is no such meter.
    pub fn meter(&self, meter: usize, index: usize) -> Option<Option<MeterConfig>> {
        let cell = self.meters[meter].get(index);
        cell.map(|meter| meter.config())
    }

    /// Sets or removes the rates of a meter of an array. Errors: none of this index.
    pub fn set_meter(
        &mut self,
        meter: usize,
        index: usize,
        config: Option<MeterConfig>,
        now: u64,
    ) -> Result<()> {
        let cell = self.meters[meter].cell(index);
        cell.ok_or(ControlError::NotFound)?.configure(config, now);
        Ok(())
    }

    /// Adds a value to a value set, or removes it. `value` is as wide as all parts of the key.
    /// Errors: a value that is wider, no room, what is not there.
    pub fn set_parser_value(&mut self, set: usize, value: &[Int], there: bool) -> Result<()> {
        let row = &self.program.value_sets[set];
        let widths = self.value_set_widths(set);
        if value.len() != widths.len() {
            let what = format!("{} has {} values a member", row.name, widths.len());
            return Err(ControlError::Invalid(what));
        }
        let mut bytes = Vec::new();
        for (value, width) in value.iter().zip(widths) {
            fits(value, width, &row.name)?.append_to(width, &mut bytes);
        }
        let values = &mut self.value_sets[set];
        if !there {
            return if values.remove(&bytes) {
                Ok(())
            } else {
                Err(ControlError::NotFound)
            };
        }
        if values.len() >= row.size {
            return Err(ControlError::Full);
        }
        values.insert(bytes);
        Ok(())
    }

    /// The widths of the parts of a value set, as the states that use it have them.
    fn value_set_widths(&self, set: usize) -> Vec<u32> {
        let mut states = self.program.states.iter();
        let uses = |state: &&State| {
            let mut cases = state.cases.iter();
            cases.any(|(case, _)| matches!(case, SelectCase::Set(other, _) if *other == set))
        };
        match states.find(uses) {
            Some(state) => state.key_widths.clone(),
            None => vec![self.program.value_sets[set].width],
        }
    }

    /// Returns true if a value set has a member that is equal to `key` in the bits of `mask`.
    pub(crate) fn in_value_set(&self, set: usize, key: &[u8], mask: Option<&[u8]>) -> bool {
        let values = &self.value_sets[set];
        match mask {
            None => values.contains(key),
            Some(mask) => values.iter().any(|value| {
                let mut bytes = value.iter().zip(key).zip(mask);
                bytes.all(|((value, key), mask)| value & mask == key & mask)
            }),
        }
    }

    /// Sets the parameters of a calculation with a custom CRC. Errors: another algorithm or width.
    pub fn set_crc(&mut self, calculation: usize, crc: Crc) -> Result<()> {
        match &mut self.algorithms[calculation] {
            Algorithm::Crc(old) if old.width == crc.width => {
                *old = crc;
                Ok(())
            }
            Algorithm::Crc(_)
            | Algorithm::Csum16
            | Algorithm::Identity
            | Algorithm::Xor16
            | Algorithm::Xor32
            | Algorithm::RoundRobin => {
                let what = "the calculation has no CRC of this width";
                Err(ControlError::Invalid(what.into()))
            }
        }
    }
}
