//! Counters, meters and registers of arrays.

use std::collections::BTreeMap;
use std::ops::Range;

use super::amounts::{count, no_colors, rates, shown_count, shown_rates};
use super::{Target, View, entity};
use crate::error::{Refusal, Result};
use crate::info::{ArrayInfo, Info};
use crate::value::{canonical, canonical_signed, parse, parse_signed};
use crate::wire::entities::{
    CounterEntry, Entity, EntityKind, Index, MeterEntry, P4Data, P4DataData, RegisterEntry,
};

/// The most cells that one update sets.
const MAX_AT_ONCE: usize = 1 << 16;

/// What an array has.
#[derive(Clone, Copy, Debug)]
pub enum Cell {
    Counter,
    Meter,
    Register,
}

impl ArrayInfo {
    /// The cell that an index names. Errors: it is below 0, or there is none.
    pub fn cell(&self, index: Index) -> Result<usize> {
        let what = || format!("{} has {} cells", self.name, self.size);
        match usize::try_from(index.index) {
            Ok(index) if index < self.size => Ok(index),
            Ok(_) => Err(Refusal::new(tonic::Code::OutOfRange, what())),
            Err(_) => Err(Refusal::invalid(what())),
        }
    }
}

/// The arrays of a kind, by id.
pub fn arrays(info: &Info, cell: Cell) -> &BTreeMap<u32, ArrayInfo> {
    match cell {
        Cell::Counter => &info.counters,
        Cell::Meter => &info.meters,
        Cell::Register => &info.registers,
    }
}

impl Target<'_> {
    /// The cells that an update is for, and the index of their array.
    fn cells(&self, cell: Cell, id: u32, index: Option<Index>) -> Result<(usize, Range<usize>)> {
        let array = arrays(self.info, cell).get(&id);
        let array = array.ok_or_else(|| Refusal::not_found(format!("there is no {id}")))?;
        let Some(index) = index else {
            if array.size > MAX_AT_ONCE {
                let what = format!("{} has too many cells to set all at once", array.name);
                return Err(Refusal::new(tonic::Code::ResourceExhausted, what));
            }
            return Ok((array.index, 0..array.size));
        };
        let index = array.cell(index)?;
        Ok((array.index, index..index + 1))
    }

    /// Sets cells of a counter; without data, they stay. Errors: what does not fit.
    pub fn set_counter(&mut self, entry: &CounterEntry) -> Result<()> {
        let (array, cells) = self.cells(Cell::Counter, entry.counter_id, entry.index)?;
        let Some(data) = &entry.data else {
            return Ok(());
        };
        let count = count(data)?;
        for cell in cells {
            self.switch.externs_mut().set_counter(array, cell, count)?;
        }
        Ok(())
    }

    pub fn set_meter(&mut self, entry: &MeterEntry) -> Result<()> {
        no_colors(entry.counter_data.is_some())?;
        let (array, cells) = self.cells(Cell::Meter, entry.meter_id, entry.index)?;
        let rates = entry.config.as_ref().map(rates).transpose()?;
        for cell in cells {
            self.switch
                .externs_mut()
                .set_meter(array, cell, rates, self.now)?;
        }
        Ok(())
    }

    pub fn set_register(&mut self, entry: &RegisterEntry) -> Result<()> {
        let (array, cells) = self.cells(Cell::Register, entry.register_id, entry.index)?;
        let data = entry.data.as_ref().and_then(|data| data.data.as_ref());
        let Some(P4DataData::Bitstring(bytes)) = data else {
            return Err(Refusal::invalid("the data of a register is a bit string"));
        };
        let info = &self.info.registers[&entry.register_id];
        let value = if info.signed {
            parse_signed(bytes, info.width, &info.name)?.wrapped(info.width)
        } else {
            parse(bytes, info.width, &info.name)?
        };
        for cell in cells {
            self.switch
                .externs_mut()
                .set_register(array, cell, &value)?;
        }
        Ok(())
    }
}

impl View<'_> {
    /// A cell as controllers see it; `None` if there is none of this index.
    pub fn show_cell(&self, cell: Cell, id: u32, index: usize) -> Option<Entity> {
        let array = arrays(self.info, cell).get(&id)?;
        let shown = Some(Index {
            index: index as i64,
        });
        Some(entity(match cell {
            Cell::Counter => {
                let count = self.switch.externs().counter(array.index, index)?;
                EntityKind::CounterEntry(CounterEntry {
                    counter_id: id,
                    index: shown,
                    data: Some(shown_count(count)),
                })
            }
            Cell::Meter => {
                let config = self.switch.externs().meter(array.index, index)?;
                EntityKind::MeterEntry(MeterEntry {
                    meter_id: id,
                    index: shown,
                    config: config.map(shown_rates),
                    counter_data: None,
                })
            }
            Cell::Register => {
                let value = self.switch.externs().register(array.index, index)?;
                let data = P4DataData::Bitstring(if array.signed {
                    canonical_signed(&value.signed(array.width))
                } else {
                    canonical(&value, array.width)
                });
                EntityKind::RegisterEntry(RegisterEntry {
                    register_id: id,
                    index: shown,
                    data: Some(P4Data { data: Some(data) }),
                })
            }
        }))
    }
}
