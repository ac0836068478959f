//! Plays commands on a switch, and compares what left with what was expected.

use alloc::collections::BTreeMap;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::command::{Add, Call, Command, Indexed, Sign};
use super::outcome::{Difference, Outcome};
use super::value::{matched, unsaid};
use crate::count::Count;
use crate::error::ControlError;
use crate::int::Int;
use crate::naming::named;
use crate::nodes::Nodes;
use crate::number::number;
use crate::program::Program;
use crate::run::sink::{Sent, Sink};
use crate::switch::Switch;
use crate::table::{Does, Entry, Handle};

/// The time between two packets, in microseconds.
const STEP: u64 = 1000;
/// The time that `wait` waits.
const WAIT: u64 = 1_000_000;

/// What left so far.
#[derive(Default)]
struct Left {
    sent: Vec<Sent>,
    log: Vec<String>,
}

impl Sink for Left {
    fn transmit(&mut self, sent: Sent) {
        self.sent.push(sent);
    }

    fn log(&mut self, text: String) {
        self.log.push(text);
    }
}

/// A switch in a test case.
pub struct Player {
    switch: Switch,
    left: Left,
    /// What is expected, by port, with lines.
    expected: BTreeMap<u32, Vec<(usize, String)>>,
    /// Ports on which any packets are fine.
    any: BTreeSet<u32>,
    /// Ports that the case names. Others are not looked at.
    named: BTreeSet<u32>,
    entries: BTreeMap<String, (usize, Handle)>,
    /// The nodes of its multicast groups.
    nodes: Nodes,
    /// What the last packet sent.
    last: usize,
    outcome: Outcome,
    now: u64,
}

impl Player {
    /// A new switch.
    pub fn new(program: Program) -> Self {
        Self {
            switch: Switch::new(program, 1),
            left: Left::default(),
            expected: BTreeMap::new(),
            any: BTreeSet::new(),
            named: BTreeSet::new(),
            entries: BTreeMap::new(),
            nodes: Nodes::default(),
            last: 0,
            outcome: Outcome::default(),
            now: 0,
        }
    }

    /// Plays the command of a line. Errors: it names what the program has not.
    pub fn play(&mut self, line: usize, command: Command) -> Result<(), String> {
        match command {
            Command::Add(add) => self.add(line, add)?,
            Command::SetDefault(table, call) => {
                let table = self.table(&table)?;
                let does = self.does(table, call)?;
                if let Err(error) = self.switch.set_default(table, Some(does)) {
                    self.refused(line, &error);
                }
            }
            Command::RemoveAll => self.remove_all(),
            Command::Packet(port, frame) => {
                self.switch
                    .replication()
                    .check_port(port)
                    .map_err(|error| error.to_string())?;
                self.packet(port, &frame);
            }
            Command::Expect(port, digits) => {
                self.switch
                    .replication()
                    .check_port(port)
                    .map_err(|error| error.to_string())?;
                self.named.insert(port);
                match digits {
                    Some(digits) => self.expected.entry(port).or_default().push((line, digits)),
                    None => drop(self.any.insert(port)),
                }
            }
            Command::NoPacket => {
                for sent in &self.left.sent[self.left.sent.len() - self.last..] {
                    let what =
                        format!("no packet was expected, but one left at port {}", sent.port);
                    let line = Some(line);
                    self.outcome.differences.push(Difference { line, what });
                }
            }
            Command::Wait => self.now += WAIT,
            Command::CheckCounter(indexed, bytes, compared) => {
                let count = self.counter(&indexed)?;
                let value = Int::from(if bytes { count.bytes } else { count.packets });
                if let Some((sign, wanted)) = compared {
                    self.check(line, &indexed, &value, sign, &wanted);
                }
            }
            Command::CheckRegister(indexed, sign, wanted) => {
                let register = self.register(&indexed.name)?;
                let cell = self
                    .switch
                    .externs()
                    .register(register, number(&indexed.index)?.index());
                let value = cell.ok_or_else(|| format!("{} has no such index", indexed.name))?;
                self.check(line, &indexed, &value, sign, &wanted);
            }
            Command::RegisterWrite(name, index, value) => {
                let register = self.register(&name)?;
                if let Err(error) =
                    self.switch
                        .externs_mut()
                        .set_register(register, index.index(), &value)
                {
                    self.refused(line, &error);
                }
            }
            Command::Numbers(name, numbers) => {
                if let Err(why) = self.numbers(name, &numbers) {
                    self.outcome.refused.push((line, why));
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, line: usize, add: Add) -> Result<(), String> {
        let table = self.table(&add.table)?;
        let does = self.does(table, add.call)?;
        let key = self.key(table, &add.key)?;
        let entry = Entry::new(key, add.priority.unwrap_or(0), does);
        match self.switch.insert(table, entry) {
            Ok(handle) => self.entries.extend(add.id.map(|id| (id, (table, handle)))),
            Err(error) => self.refused(line, &error),
        }
        Ok(())
    }

    fn refused(&mut self, line: usize, error: &ControlError) {
        self.outcome.refused.push((line, error.to_string()));
    }

    fn packet(&mut self, port: u32, frame: &[u8]) {
        self.named.insert(port);
        self.now += STEP;
        let before = self.left.sent.len();
        self.switch.receive(port, frame, self.now, &mut self.left);
        self.last = self.left.sent.len() - before;
        self.outcome.received += 1;
    }

    fn remove_all(&mut self) {
        for table in 0..self.switch.program().tables.len() {
            let entries = self.switch.entries(table);
            let handles: Vec<Handle> = entries.map(|(handle, _)| handle).collect();
            for handle in handles {
                // The entries of the program stay.
                let _ = self.switch.delete(table, handle);
            }
        }
    }

    fn check(&mut self, line: usize, what: &Indexed, value: &Int, sign: Sign, wanted: &Int) {
        if !sign.holds(value, wanted) {
            let what = format!(
                "{}({}) is {value}, and not as {wanted}",
                what.name, what.index
            );
            let line = Some(line);
            self.outcome.differences.push(Difference { line, what });
        }
    }

    fn table(&self, name: &str) -> Result<usize, String> {
        let tables = self.switch.program().tables.iter();
        named(tables.map(|table| &*table.name).enumerate(), name, "table")
    }

    fn register(&self, name: &str) -> Result<usize, String> {
        let registers = self.switch.program().registers.iter();
        named(
            registers.map(|row| &*row.name).enumerate(),
            name,
            "register",
        )
    }

    fn does(&self, table: usize, call: Call) -> Result<Does, String> {
        let program = self.switch.program();
        let actions = program.tables[table].actions.iter();
        let actions = actions.map(|id| (*id, &*program.actions[*id].name));
        let action = named(actions, &call.action, "action")?;
        let parameters = &program.actions[action].parameters;
        let mut data = Vec::new();
        if let Some(name) = twice(call.arguments.iter().map(|(name, _)| name)) {
            return Err(format!("{} has {name} twice", call.action));
        }
        for (name, width) in parameters {
            let found = call.arguments.iter().find(|(other, _)| other == name);
            let (_, value) = found.ok_or_else(|| format!("{} needs {name}", call.action))?;
            data.push(if value.is_negative() {
                value.wrapped(*width)
            } else {
                value.clone()
            });
        }
        let known = |name: &String| parameters.iter().any(|(other, _)| other == name);
        match call.arguments.iter().find(|(name, _)| !known(name)) {
            Some((name, _)) => Err(format!("{} has no parameter {name}", call.action)),
            None => Ok(Does::Action(action, data)),
        }
    }

    fn key(
        &self,
        table: usize,
        said: &[(String, String)],
    ) -> Result<Vec<crate::program::Match>, String> {
        let parts = &self.switch.program().tables[table].key;
        let mut key: Vec<_> = parts.iter().map(unsaid).collect();
        let mut places = BTreeSet::new();
        for (name, value) in said {
            let place = key_part(parts, name).ok_or_else(|| format!("there is no key {name}"))?;
            if !places.insert(place) {
                return Err(format!("the key {} is there twice", parts[place].name));
            }
            key[place] = matched(&parts[place], value)?;
        }
        Ok(key)
    }

    fn counter(&self, indexed: &Indexed) -> Result<Count, String> {
        let program = self.switch.program();
        let counters = program.counters.iter().map(|row| &*row.name).enumerate();
        let counter = named(counters, &indexed.name, "counter")?;
        if let Some((table, handle)) = self.entries.get(indexed.index.trim_start_matches('$')) {
            let count = self.switch.direct_counter(*table, *handle);
            return Ok(count.unwrap_or_default());
        }
        let cell = self
            .switch
            .externs()
            .counter(counter, number(&indexed.index)?.index());
        cell.ok_or_else(|| format!("{} has no such index", indexed.name))
    }

    fn numbers(&mut self, name: &str, numbers: &[u32]) -> Result<(), String> {
        let port = numbers[0];
        match name {
            "hold" => drop(self.switch.hold(port)),
            "leave" => {
                let most = numbers[1] as usize;
                self.switch.leave(port, most, self.now, &mut self.left);
            }
            _ => {
                let replication = self.switch.replication_mut();
                self.nodes.command(name, numbers, replication)?;
            }
        }
        Ok(())
    }

    /// Compares what left with what was expected.
    pub fn finish(mut self) -> Outcome {
        self.outcome.sent = self.left.sent.len();
        self.outcome.log = self.left.log;
        for port in self.named.iter().filter(|port| !self.any.contains(port)) {
            let sent = self.left.sent.iter().filter(|sent| sent.port == *port);
            let mut sent = sent.map(|sent| crate::show::hex(&sent.frame));
            for (line, wanted) in self.expected.remove(port).unwrap_or_default() {
                let what = match sent.next() {
                    None => format!("nothing left at port {port}; expected was {wanted}"),
                    Some(frame) => match difference(&wanted, &frame) {
                        None => continue,
                        Some(why) => {
                            format!("port {port}: {why}\n  expected {wanted}\n  got      {frame}")
                        }
                    },
                };
                let line = Some(line);
                self.outcome.differences.push(Difference { line, what });
            }
            for frame in sent {
                let what = format!("port {port}: a packet left that was not expected: {frame}");
                self.outcome
                    .differences
                    .push(Difference { line: None, what });
            }
        }
        self.outcome
    }
}

/// The first of several names that is there before.
fn twice<'a>(names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = BTreeSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// Why a packet is not the expected one.
fn difference(wanted: &str, frame: &str) -> Option<String> {
    let digits = wanted.trim_end_matches('$');
    if frame.len() < digits.len() {
        return Some(format!("{} digits are missing", digits.len() - frame.len()));
    }
    let pairs = digits.bytes().zip(frame.bytes()).enumerate();
    let mut wrong = pairs.filter(|(_, (wanted, got))| *wanted != b'*' && wanted != got);
    if let Some((at, _)) = wrong.next() {
        return Some(format!("byte {} differs", at / 2));
    }
    let exact = wanted.ends_with('$') && frame.len() > digits.len();
    exact.then(|| format!("{} digits are too many", frame.len() - digits.len()))
}

/// The part of a key that a case calls `name`: by its name in P4 or by its field, whole or by its
/// end. `$N` stands for an index in brackets.
fn key_part(parts: &[crate::program::KeyPart], name: &str) -> Option<usize> {
    let mut wanted = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('$') {
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        wanted.push_str(before);
        match digits {
            0 => wanted.push('$'),
            _ => wanted.push_str(&format!("[{}]", &after[..digits])),
        }
        rest = &after[digits..];
    }
    wanted.push_str(rest);
    let valid = match wanted.strip_suffix("valid") {
        Some(header) if !wanted.ends_with("$valid") => format!("{header}$valid$"),
        Some(_) | None => format!("{wanted}.$valid$"),
    };
    let forms = [wanted.clone(), format!("{wanted}$"), valid];
    let is = |part: &crate::program::KeyPart, test: &dyn Fn(&str) -> bool| {
        test(&part.name) || test(&part.target)
    };
    let equal = |form: &String| {
        parts
            .iter()
            .position(|part| is(part, &|other| other == form))
    };
    let ends = |form: &String| {
        let end = format!(".{form}");
        parts
            .iter()
            .position(|part| is(part, &|other| other.ends_with(&end)))
    };
    forms
        .iter()
        .find_map(equal)
        .or_else(|| forms.iter().find_map(ends))
}
