//! Reads the lines of a test case.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::int::Int;
use crate::number::number;

/// A call of an action: its name, and its arguments by name.
pub struct Call {
    pub action: String,
    pub arguments: Vec<(String, Int)>,
}

/// How a number is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Sign {
    /// All of them, as they are written: those that begin another one behind it.
    pub const ALL: [(&str, Self); 6] = [
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("<", Self::Less),
        (">", Self::Greater),
    ];

    /// Whether it holds.
    pub fn holds(self, left: &Int, right: &Int) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

/// What a check looks at: a name, and an index or the name of an entry after `$`.
pub struct Indexed {
    pub name: String,
    pub index: String,
}

/// An entry to add.
pub struct Add {
    pub table: String,
    pub priority: Option<i32>,
    pub key: Vec<(String, String)>,
    pub call: Call,
    /// The name by which checks know the entry.
    pub id: Option<String>,
}

/// A command.
pub enum Command {
    Add(Add),
    SetDefault(String, Call),
    RemoveAll,
    /// The port and the bytes.
    Packet(u32, Vec<u8>),
    /// The port and the digits, in which stars are any; without digits, any number of packets.
    Expect(u32, Option<String>),
    NoPacket,
    Wait,
    /// Bytes and not packets, and what they are compared with.
    CheckCounter(Indexed, bool, Option<(Sign, Int)>),
    CheckRegister(Indexed, Sign, Int),
    /// A command of bmv2's command line, with its numbers.
    Numbers(&'static str, Vec<u32>),
    RegisterWrite(String, Int, Int),
}

/// The command that has any number of ports after its own numbers.
const WITH_PORTS: &str = "mc_node_create";
/// The commands that have numbers only, and how many.
const WITH_NUMBERS: [(&str, usize); 10] = [
    ("mirroring_add", 2),
    ("mirroring_add_mc", 2),
    ("mirroring_delete", 1),
    ("mc_mgrp_create", 1),
    ("mc_mgrp_destroy", 1),
    (WITH_PORTS, 1),
    ("mc_node_associate", 2),
    ("mc_node_dissociate", 2),
    ("hold", 1),
    ("leave", 2),
];

/// Reads a line; `None` if it has no command. Errors: a sentence about the line.
pub fn parse(line: &str) -> Result<Option<Command>, String> {
    // Generated cases have names in quotes.
    let plain = line.replace('"', "");
    let text = plain.split('#').next().unwrap_or_default().trim();
    let Some(first) = text.split_whitespace().next() else {
        return Ok(None);
    };
    let rest = text[first.len()..].trim();
    let name = first.to_ascii_lowercase();
    Ok(Some(match &*name {
        "add" => add(rest)?,
        "setdefault" => {
            let (table, call_text) = split(rest);
            let (call, behind) = call(call_text)?;
            if !behind.is_empty() {
                return Err(format!("{behind} is too much"));
            }
            Command::SetDefault(table.to_owned(), call)
        }
        "remove" if rest.eq_ignore_ascii_case("all") => Command::RemoveAll,
        "remove" => return Err("only `remove all` is known".to_owned()),
        "packet" => {
            let (port, digits) = split(rest);
            Command::Packet(small(port)?, bytes(digits)?)
        }
        "expect" => {
            let (port, digits) = split(rest);
            let digits = expected(digits)?;
            Command::Expect(small(port)?, (!digits.is_empty()).then_some(digits))
        }
        "no_packet" => Command::NoPacket,
        "wait" => Command::Wait,
        "check_counter" => check_counter(rest)?,
        "check_register" => {
            let (indexed, rest) = indexed(rest)?;
            let (sign, value) = comparison(rest)?;
            Command::CheckRegister(indexed, sign, value)
        }
        "register_write" => {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let [name, index, value] = words[..] else {
                return Err("register_write needs a name, an index and a value".to_owned());
            };
            Command::RegisterWrite(name.to_owned(), number(index)?, number(value)?)
        }
        _ => numbers(&name, rest)?,
    }))
}

fn numbers(name: &str, rest: &str) -> Result<Command, String> {
    let found = WITH_NUMBERS.iter().find(|(other, _)| *other == name);
    let Some((name, least)) = found else {
        return Err(format!("{name} is no command"));
    };
    let numbers: Vec<u32> = rest
        .split_whitespace()
        .map(small)
        .collect::<Result<_, _>>()?;
    if numbers.len() < *least {
        return Err(format!("{name} needs {least} numbers"));
    }
    if numbers.len() > *least && *name != WITH_PORTS {
        return Err(format!("{name} has {least} numbers, and no more"));
    }
    Ok(Command::Numbers(name, numbers))
}

/// The first word, and the rest.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (text, ""),
    }
}

fn small(text: &str) -> Result<u32, String> {
    let value = u32::try_from(number(text)?.index());
    value.map_err(|_| format!("{text} is not a number from 0 to {}", u32::MAX))
}

fn bytes(digits: &str) -> Result<Vec<u8>, String> {
    let digits: String = digits.split_whitespace().collect();
    if !digits.bytes().all(|c| c.is_ascii_hexdigit()) || digits.len() % 2 != 0 {
        return Err("a packet is whole bytes in hexadecimal".to_owned());
    }
    let pairs = (0..digits.len()).step_by(2);
    let bytes = pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
    Ok(bytes.filter_map(Result::ok).collect())
}

fn expected(digits: &str) -> Result<String, String> {
    let digits: String = digits.split_whitespace().collect();
    let digits = digits.to_ascii_lowercase();
    let plain = digits.strip_suffix('$').unwrap_or(&digits);
    if plain.bytes().all(|c| c.is_ascii_hexdigit() || c == b'*') {
        Ok(digits)
    } else {
        Err("an expected packet is hexadecimal, stars, and a $ at its end".to_owned())
    }
}

fn add(text: &str) -> Result<Command, String> {
    let (table, mut rest) = split(text);
    let mut priority = None;
    let (word, after) = split(rest);
    if word.bytes().all(|c| c.is_ascii_digit()) && !word.is_empty() {
        priority = Some(i32::try_from(small(word)?).map_err(|_| format!("{word} is too large"))?);
        rest = after;
    } else if number(word).is_ok() {
        return Err(format!(
            "{word} is no priority: it is 0 or more, in decimal"
        ));
    }
    let mut key = Vec::new();
    loop {
        let (word, after) = split(rest);
        if word.is_empty() {
            return Err("has no action".to_owned());
        }
        if word.contains('(') || !word.contains(':') {
            break;
        }
        if let Some((name, value)) = word.split_once(':') {
            key.push((name.to_owned(), value.to_owned()));
        }
        rest = after;
    }
    let (call, behind) = call(rest)?;
    let id = behind.strip_prefix('=').map(|id| id.trim().to_owned());
    if id.is_none() && !behind.is_empty() {
        return Err(format!("{behind} is too much"));
    }
    Ok(Command::Add(Add {
        table: table.to_owned(),
        priority,
        key,
        call,
        id,
    }))
}

/// `ACTION(NAME:VALUE, ...)`, and what is behind it.
fn call(text: &str) -> Result<(Call, &str), String> {
    let wrong = || format!("{text} is no call of an action");
    let (action, rest) = text.split_once('(').ok_or_else(wrong)?;
    let (inner, behind) = rest.split_once(')').ok_or_else(wrong)?;
    let mut arguments = Vec::new();
    for argument in inner.split(',').map(str::trim).filter(|a| !a.is_empty()) {
        let (name, value) = argument.split_once(':').ok_or_else(wrong)?;
        arguments.push((name.trim().to_owned(), number(value.trim())?));
    }
    let action = action.trim().to_owned();
    Ok((Call { action, arguments }, behind.trim()))
}

/// `NAME(INDEX)`, and what is behind it.
fn indexed(text: &str) -> Result<(Indexed, &str), String> {
    let wrong = || format!("{text} has no name with an index");
    let (name, rest) = text.split_once('(').ok_or_else(wrong)?;
    let (index, behind) = rest.split_once(')').ok_or_else(wrong)?;
    let indexed = Indexed {
        name: name.trim().to_owned(),
        index: index.trim().to_owned(),
    };
    Ok((indexed, behind.trim()))
}

fn comparison(text: &str) -> Result<(Sign, Int), String> {
    let text = text.trim();
    for (written, sign) in Sign::ALL {
        if let Some(value) = text.strip_prefix(written) {
            return Ok((sign, number(value.trim())?));
        }
    }
    Err(format!("{text} compares with nothing"))
}

fn check_counter(text: &str) -> Result<Command, String> {
    let (indexed, rest) = indexed(text)?;
    let (bytes, rest) = match rest.strip_prefix("bytes") {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix("packets").unwrap_or(rest)),
    };
    let compared = match rest.trim() {
        "" => None,
        rest => Some(comparison(rest)?),
    };
    Ok(Command::CheckCounter(indexed, bytes, compared))
}
