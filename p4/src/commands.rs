//! Commands that change a switch while it runs, as bmv2's command line has them.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::count::Count;
use crate::error::ControlError;
use crate::meter::MeterConfig;
use crate::naming::named;
use crate::nodes::Nodes;
use crate::number::number;
use crate::program::{Array, Named, Program};
use crate::stf::command::{Command, parse};
use crate::stf::value::matched;
use crate::switch::Switch;
use crate::table::{Does, Entry, Handle};

/// What a command says, or why it is refused; then nothing has changed.
type Said = Result<String, String>;

/// Carries out commands on a switch, and knows what earlier ones have made. It belongs to one
/// switch with one program.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    nodes: Nodes,
}

impl Commands {
    /// The names of all of them.
    pub const NAMES: [&str; 21] = [
        "table_add",
        "table_modify",
        "table_delete",
        "table_clear",
        "table_set_default",
        "table_reset_default",
        "register_read",
        "register_write",
        "register_reset",
        "counter_read",
        "counter_write",
        "counter_reset",
        "meter_set_rates",
        "mirroring_add",
        "mirroring_add_mc",
        "mirroring_delete",
        "mc_mgrp_create",
        "mc_mgrp_destroy",
        "mc_node_create",
        "mc_node_associate",
        "mc_node_dissociate",
    ];

    /// Carries out a command, at `now` in microseconds since the switch began. A word that begins
    /// with `#` and all behind it are a comment. Returns what the command says: lines, of which
    /// there may be none. Errors: a sentence; then nothing has changed.
    ///
    /// ```
    /// use bofuss_p4::{Commands, Program, Switch};
    ///
    /// let json = include_bytes!("../../examples/p4/router/router.json");
    /// let mut switch = Switch::new(Program::load(json)?, 1);
    /// let line = "table_add routes drop 10.9.0.0/16 =>";
    /// let said = Commands::default().run(&mut switch, line, 0)?;
    /// assert_eq!(said, "Entry has been added with handle 0\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(&mut self, switch: &mut Switch, line: &str, now: u64) -> Said {
        let words = line.split_whitespace();
        let words: Vec<&str> = words.take_while(|word| !word.starts_with('#')).collect();
        let Some((name, words)) = words.split_first() else {
            return Err("there is no command".into());
        };
        match *name {
            "table_add" => table_add(switch, words),
            "table_modify" => table_modify(switch, words),
            "table_delete" => table_delete(switch, words),
            "table_clear" => table_clear(switch, words),
            "table_set_default" => table_set_default(switch, words),
            "table_reset_default" => table_reset_default(switch, words),
            "register_read" => register_read(switch, words),
            "register_reset" => register_reset(switch, words),
            "counter_read" => counter_read(switch, words),
            "counter_write" => counter_write(switch, words),
            "counter_reset" => counter_reset(switch, words),
            "meter_set_rates" => meter_set_rates(switch, words, now),
            _ => self.of_cases(switch, line),
        }
    }

    /// Carries out a command that packet tests have, too.
    fn of_cases(&mut self, switch: &mut Switch, line: &str) -> Said {
        match parse(line)? {
            Some(Command::Numbers(name, numbers)) if Self::NAMES.contains(&name) => {
                let replication = switch.replication_mut();
                self.nodes.command(name, &numbers, replication)
            }
            Some(Command::RegisterWrite(name, index, value)) => {
                let register = switch.program().named(Named::Register, &name)?;
                let externs = switch.externs_mut();
                let done = externs.set_register(register, index.index(), &value);
                // As it was written.
                let index = line.split_whitespace().nth(2).unwrap_or_default();
                of_cell(done, &switch.program().registers[register], index)
            }
            Some(_) | None => Err(format!("{line} is no command that changes a switch")),
        }
    }
}

/// Why a change of an entry is refused. `which` says which one of the table it is.
fn of_entry(switch: &Switch, table: usize, which: &str, error: &ControlError) -> String {
    let name = &switch.program().tables[table].name;
    if *error == ControlError::Constant {
        return format!("the program fixes the entries of {name}");
    }
    error.about(&format!("{which} of {name}"))
}

/// Sets the default action of a table; `None` is that of the program.
fn set_default(switch: &mut Switch, table: usize, does: Option<Does>) -> Said {
    let set = switch.set_default(table, does);
    let name = &switch.program().tables[table].name;
    let refused = |error: ControlError| error.about(&format!("the default action of {name}"));
    set.map(|()| String::new()).map_err(refused)
}

/// The refusal of a command that has other words behind its name.
fn needs<T>(words: &str) -> Result<T, String> {
    Err(format!("it needs {words}"))
}

fn table_of(switch: &Switch, name: &str) -> Result<usize, String> {
    switch.program().named(Named::Table, name)
}

/// An index of a cell, or the number of an entry; one that nothing has if it is below 0.
fn place(text: &str) -> Result<usize, String> {
    Ok(number(text)?.index())
}

fn amount(text: &str) -> Result<u64, String> {
    let parsed = text.parse::<u64>();
    parsed.map_err(|_| format!("{text} is not a number from 0 to {}", u64::MAX))
}

/// A priority, of which the lower is preferred.
fn priority(text: &str) -> Result<i32, String> {
    match i32::try_from(place(text)?) {
        Ok(number) => Ok(-number),
        Err(_) => Err(format!("{text} is no priority: it is 0 to {}", i32::MAX)),
    }
}

/// The values of an action, in front of which there may be an arrow.
fn values<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    match words {
        ["=>", values @ ..] => values,
        values => values,
    }
}

/// An action of a table with values in the order of its parameters.
fn does(switch: &Switch, table: usize, action: &str, values: &[&str]) -> Result<Does, String> {
    let program = switch.program();
    let actions = program.tables[table].actions.iter();
    let actions = actions.map(|id| (*id, &*program.actions[*id].name));
    let action = named(actions, action, "action")?;
    let data: Result<Vec<_>, String> = values.iter().map(|value| number(value)).collect();
    Ok(Does::Action(action, data?))
}

/// `TABLE ACTION KEY... => VALUE... [PRIORITY]`
fn table_add(switch: &mut Switch, words: &[&str]) -> Said {
    let [table, action, rest @ ..] = words else {
        return needs("a table and an action");
    };
    let table = table_of(switch, table)?;
    let Some(arrow) = rest.iter().position(|word| *word == "=>") else {
        return needs("a => between the key and the values of the action");
    };
    let (key, behind) = (&rest[..arrow], &rest[arrow + 1..]);
    let (data, priority) = if switch.has_priorities(table) {
        let Some((last, data)) = behind.split_last() else {
            return needs("a priority, as all entries of this table");
        };
        (data, priority(last)?)
    } else {
        (behind, 0)
    };
    let parts = &switch.program().tables[table].key;
    if key.len() != parts.len() {
        return needs(&format!("a key of {} parts before the =>", parts.len()));
    }
    let pairs = parts.iter().zip(key);
    let key = pairs.map(|(part, text)| matched(part, text));
    let key = key.collect::<Result<Vec<_>, _>>()?;
    let does = does(switch, table, action, data)?;
    let handle = switch.insert(table, Entry::new(key, priority, does));
    let handle = handle.map_err(|error| of_entry(switch, table, "this entry", &error))?;
    Ok(format!("Entry has been added with handle {handle}\n"))
}

/// `TABLE ACTION ENTRY [=>] VALUE...`
fn table_modify(switch: &mut Switch, words: &[&str]) -> Said {
    let [table, action, handle, data @ ..] = words else {
        return needs("a table, an action and the number of an entry");
    };
    let table = table_of(switch, table)?;
    let does = does(switch, table, action, values(data))?;
    let done = switch.modify(table, place(handle)?, does);
    let which = format!("entry {handle}");
    done.map_err(|error| of_entry(switch, table, &which, &error))?;
    Ok(String::new())
}

/// `TABLE ENTRY`
fn table_delete(switch: &mut Switch, words: &[&str]) -> Said {
    let [table, handle] = words else {
        return needs("a table and the number of an entry");
    };
    let table = table_of(switch, table)?;
    let done = switch.delete(table, place(handle)?);
    let which = format!("entry {handle}");
    done.map_err(|error| of_entry(switch, table, &which, &error))?;
    Ok(String::new())
}

/// `TABLE`
fn table_clear(switch: &mut Switch, words: &[&str]) -> Said {
    let [table] = words else {
        return needs("a table");
    };
    let table = table_of(switch, table)?;
    let entries = switch.entries(table);
    let handles: Vec<Handle> = entries.map(|(handle, _)| handle).collect();
    for handle in handles {
        // Of a table whose entries are fixed, already the first is refused.
        let done = switch.delete(table, handle);
        let which = format!("entry {handle}");
        done.map_err(|error| of_entry(switch, table, &which, &error))?;
    }
    Ok(String::new())
}

/// `TABLE ACTION [=>] VALUE...`
fn table_set_default(switch: &mut Switch, words: &[&str]) -> Said {
    let [table, action, data @ ..] = words else {
        return needs("a table and an action");
    };
    let table = table_of(switch, table)?;
    let does = does(switch, table, action, values(data))?;
    set_default(switch, table, Some(does))
}

/// `TABLE`
fn table_reset_default(switch: &mut Switch, words: &[&str]) -> Said {
    let [table] = words else {
        return needs("a table");
    };
    let table = table_of(switch, table)?;
    set_default(switch, table, None)
}

/// `REGISTER INDEX`
fn register_read(switch: &Switch, words: &[&str]) -> Said {
    let [name, index] = words else {
        return needs("a register and an index");
    };
    let program = switch.program();
    let register = program.named(Named::Register, name)?;
    let row = &program.registers[register];
    let value = switch.externs().register(register, place(index)?);
    let value = value.ok_or_else(|| no_index(row, index))?;
    let name = &row.name;
    Ok(format!("{name}[{index}]= {value}\n"))
}

/// `REGISTER`
fn register_reset(switch: &mut Switch, words: &[&str]) -> Said {
    let [name] = words else {
        return needs("a register");
    };
    let register = switch.program().named(Named::Register, name)?;
    switch.externs_mut().reset_register(register);
    Ok(String::new())
}

/// The table to whose entries a counter or meter belongs; `None` if it has cells of its own.
fn bound(program: &Program, row: &Array) -> Option<usize> {
    let table = row.table.as_deref().filter(|_| row.direct)?;
    program.index(Named::Table, table)
}

/// Says that an array has no cell of this index, which is the number of an entry in some.
fn no_index(row: &Array, index: &str) -> String {
    let what = if row.direct { "entry" } else { "index" };
    format!("{} has no {what} {index}", row.name)
}

/// What a command says that only changes a cell.
fn of_cell(done: Result<(), ControlError>, row: &Array, index: &str) -> Said {
    match done {
        Ok(()) => Ok(String::new()),
        Err(ControlError::NotFound) => Err(no_index(row, index)),
        Err(error) => Err(error.to_string()),
    }
}

/// `COUNTER INDEX`
fn counter_read(switch: &Switch, words: &[&str]) -> Said {
    let [name, index] = words else {
        return needs("a counter and an index");
    };
    let program = switch.program();
    let counter = program.named(Named::Counter, name)?;
    let row = &program.counters[counter];
    let at = place(index)?;
    let count = match bound(program, row) {
        Some(table) => switch.direct_counter(table, at),
        None => switch.externs().counter(counter, at),
    };
    let count = count.ok_or_else(|| no_index(row, index))?;
    let name = &row.name;
    let Count { packets, bytes } = count;
    Ok(format!(
        "{name}[{index}]= ({bytes} bytes, {packets} packets)\n"
    ))
}

/// `COUNTER INDEX PACKETS BYTES`
fn counter_write(switch: &mut Switch, words: &[&str]) -> Said {
    let [name, index, packets, bytes] = words else {
        return needs("a counter, an index, packets and bytes");
    };
    let program = switch.program();
    let counter = program.named(Named::Counter, name)?;
    let count = Count {
        packets: amount(packets)?,
        bytes: amount(bytes)?,
    };
    let at = place(index)?;
    let done = match bound(program, &program.counters[counter]) {
        Some(table) => switch.set_direct_counter(table, at, count),
        None => switch.externs_mut().set_counter(counter, at, count),
    };
    of_cell(done, &switch.program().counters[counter], index)
}

/// `COUNTER`
fn counter_reset(switch: &mut Switch, words: &[&str]) -> Said {
    let [name] = words else {
        return needs("a counter");
    };
    let program = switch.program();
    let counter = program.named(Named::Counter, name)?;
    let Some(table) = bound(program, &program.counters[counter]) else {
        switch.externs_mut().reset_counter(counter);
        return Ok(String::new());
    };
    let entries = switch.entries(table);
    let handles: Vec<Handle> = entries.map(|(handle, _)| handle).collect();
    for handle in handles {
        let reset = switch.set_direct_counter(table, handle, Count::default());
        reset.map_err(|error| error.to_string())?;
    }
    Ok(String::new())
}

/// `METER INDEX RATE:BURST RATE:BURST`
fn meter_set_rates(switch: &mut Switch, words: &[&str], now: u64) -> Said {
    let [name, index, committed, peak] = words else {
        return needs("a meter, an index and two rates as RATE:BURST");
    };
    let program = switch.program();
    let meter = program.named(Named::Meter, name)?;
    let table = bound(program, &program.meters[meter]);
    let (committed_rate, committed_burst) = rate(committed)?;
    let (peak_rate, peak_burst) = rate(peak)?;
    let config = MeterConfig {
        committed_rate,
        committed_burst,
        peak_rate,
        peak_burst,
    };
    let at = place(index)?;
    let done = match table {
        Some(table) => switch.set_direct_meter(table, at, Some(config), now),
        None => switch.externs_mut().set_meter(meter, at, Some(config), now),
    };
    of_cell(done, &switch.program().meters[meter], index)
}

/// A rate in units a second, which is written in units a microsecond, and a burst.
fn rate(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("{text} is no RATE:BURST, as 0.5:1500");
    let (rate, burst) = text.split_once(':').ok_or_else(wrong)?;
    let rate: f64 = rate.parse().map_err(|_| wrong())?;
    if !(0.0..=1e12).contains(&rate) {
        return Err(wrong());
    }
    // To the nearest whole number.
    Ok(((rate * 1e6 + 0.5) as u64, amount(burst)?))
}
