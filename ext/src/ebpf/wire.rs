//! The action and the messages of programs and their maps, on the wire and as text.

use alloc::{format, vec::Vec};
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::parse_bytes;
use bofuss_oflib::wire::{Bytes, Reader, Text, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ErrorCode, ParseError};

use super::code::{BadCode, Code};
use super::error::{BAD_COMMAND, BAD_INSTRUCTION, BAD_JUMP, BAD_KEY, BAD_LENGTH, BAD_MAP, ENDLESS};
use super::map::{MapForm, MapKind};
use super::name::Name;
use crate::common::args::{Args, parse_number};
use crate::common::list::{Listed, ValueList};

/// The number in the action for which the entry says where the packet goes on.
const NO_TABLE: u8 = 0xff;
/// The most maps of a program.
pub const MAX_MAPS: usize = 16;

/// The action: runs a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunProgram {
    /// The program.
    pub program: Name,
    /// The table in which packets go on with which it says so.
    pub table: Option<u8>,
}

impl Wire for RunProgram {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let program = r.at("program").get()?;
        let table = r.at("table_id").get()?;
        r.take(7)?;
        let table = (table != NO_TABLE).then_some(table);
        Ok(Self { program, table })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.program)
            .put(&self.table.unwrap_or(NO_TABLE))
            .pad(7);
    }
}

impl TextForm for RunProgram {
    /// `NAME` or `NAME,table=N`.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.program.text(f)?;
        self.table
            .map_or(Ok(()), |table| write!(f, ",table={table}"))
    }
}

impl TypedBody for RunProgram {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let (program, rest) = text.split_once(',').unwrap_or((text, ""));
        let mut args = Args::new(rest);
        let table = match args.take("table") {
            Some(table) => Some(parse_number(table)?),
            None => None,
        };
        args.finish()?;
        let program = Name::parse(program)?;
        if table == Some(NO_TABLE) {
            return Err("there is no table 255".into());
        }
        Ok(Self { program, table })
    }
}

/// A change of the programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProgramMod {
    /// Adds a program, or replaces the one of this name; a map that is as one of before keeps what
    /// it has.
    Add {
        /// Its name.
        name: Name,
        /// Its maps, of different names, in the order of their numbers in the code.
        maps: Vec<MapForm>,
        /// Its code.
        code: Code,
    },
    /// Deletes a program, with its maps.
    Delete {
        /// Its name.
        name: Name,
    },
}

impl Wire for ProgramMod {
    /// Errors: BAD_COMMAND, BAD_NAME, BAD_MAP, and the reason to refuse the code.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_command = r.at("command").clone();
        let command: u8 = r.get()?;
        let count = usize::from(r.at("n_maps").get::<u8>()?);
        r.take(6)?;
        let name = r.at("name").get()?;
        match command {
            0 => {
                let at_maps = r.at("maps").clone();
                let maps: Vec<_> = (0..count).map(|_| r.get()).collect::<Result<_, _>>()?;
                if !are_maps(&maps) {
                    return Err(at_maps.err(BAD_MAP));
                }
                let at_code = r.at("code").clone();
                let code = Code::load(r.rest(), maps.len());
                let code = code.map_err(|bad| at_code.err(error_of(bad)))?;
                Ok(Self::Add { name, maps, code })
            }
            1 => {
                r.finish()?;
                Ok(Self::Delete { name })
            }
            _ => Err(at_command.err(BAD_COMMAND)),
        }
    }

    fn encode(&self, w: &mut Writer<'_>) {
        match self {
            Self::Add { name, maps, code } => {
                // At most 16.
                w.put(&0u8).put(&(maps.len() as u8)).pad(6).put(name);
                for map in maps {
                    w.put(map);
                }
                w.raw(&code.bytes());
            }
            Self::Delete { name } => {
                w.put(&1u8).pad(7).put(name);
            }
        }
    }
}

/// Returns true if a program may have these maps.
fn are_maps(maps: &[MapForm]) -> bool {
    let others = |at: usize| &maps[..at];
    let is_new = |at: usize| others(at).iter().all(|map| map.name() != maps[at].name());
    maps.len() <= MAX_MAPS && (0..maps.len()).all(is_new)
}

/// The error for code that is refused.
fn error_of(bad: BadCode) -> ErrorCode {
    match bad {
        BadCode::Length => BAD_LENGTH,
        BadCode::Instruction(_) => BAD_INSTRUCTION,
        BadCode::Jump(_) => BAD_JUMP,
        BadCode::Endless(_) => ENDLESS,
    }
}

impl TextForm for ProgramMod {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { name, maps, code } => {
                write!(f, "add,name={name}")?;
                for (number, map) in maps.iter().enumerate() {
                    write!(f, ",map{number}=({})", Text(map))?;
                }
                f.write_str(",code=")?;
                Bytes(code.bytes()).text(f)
            }
            Self::Delete { name } => write!(f, "delete,name={name}"),
        }
    }
}

impl Listed for ProgramMod {}

impl TypedBody for ProgramMod {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        if args.take("delete").is_some() {
            let name = name(&mut args, "name")?;
            args.finish()?;
            return Ok(Self::Delete { name });
        }
        args.take("add").ok_or("there are add and delete")?;
        let name = name(&mut args, "name")?;
        let mut maps = Vec::new();
        while let Some(map) = args.take(&format!("map{}", maps.len())) {
            maps.push(parse_map(map)?);
        }
        if !are_maps(&maps) {
            return Err(format!("a program has at most {MAX_MAPS} maps, each with a name").into());
        }
        let code = parse_bytes(args.take("code").unwrap_or_default())?;
        args.finish()?;
        let code = Code::load(&code, maps.len()).map_err(|bad| format!("{bad}"))?;
        Ok(Self::Add { name, maps, code })
    }
}

/// Takes a name. Errors: it is not there, or none.
fn name(args: &mut Args<'_>, key: &str) -> Result<Name, ParseError> {
    let text = args.take(key);
    Name::parse(text.ok_or_else(|| format!("there is no {key}"))?)
}

impl Wire for MapForm {
    /// Errors: BAD_NAME, BAD_MAP.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let name = r.get()?;
        let at = r.at("map_type").clone();
        let number: u8 = r.get()?;
        r.take(3)?;
        let key_bytes: u16 = r.at("key_bytes").get()?;
        let value_bytes: u16 = r.at("value_bytes").get()?;
        let entries: u32 = r.at("max_entries").get()?;
        r.take(4)?;
        let row = MapKind::ALL.iter().find(|row| row.1 == number);
        let form = row.and_then(|row| {
            Self::new(
                name,
                row.0,
                key_bytes.into(),
                value_bytes.into(),
                entries as usize,
            )
        });
        form.ok_or_else(|| at.err(BAD_MAP))
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (number, _) = kind_row(self.kind());
        // The maxima fit.
        w.put(self.name()).put(&number).pad(3);
        w.put(&(self.key_bytes() as u16))
            .put(&(self.value_bytes() as u16));
        w.put(&(self.entries() as u32)).pad(4);
    }
}

/// The number and the name of a kind of maps.
fn kind_row(kind: MapKind) -> (u8, &'static str) {
    let row = MapKind::ALL.iter().find(|row| row.0 == kind);
    row.map(|row| (row.1, row.2)).expect("all kinds are listed")
}

impl TextForm for MapForm {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, kind) = kind_row(self.kind());
        let (name, entries) = (self.name(), self.entries());
        let (key, value) = (self.key_bytes(), self.value_bytes());
        write!(
            f,
            "name={name},type={kind},key={key},value={value},entries={entries}"
        )
    }
}

/// Reads a map's text. Errors: what is wrong, in words.
fn parse_map(text: &str) -> Result<MapForm, ParseError> {
    let inner = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    let mut args = Args::new(inner.ok_or_else(|| format!("'{text}' is not in parentheses"))?);
    let name = name(&mut args, "name")?;
    let kind = args.take("type").unwrap_or_default();
    let row = MapKind::ALL.iter().find(|row| row.2 == kind);
    let row = row.ok_or_else(|| format!("'{kind}': a map is a hash or an array"))?;
    let (key, value): (u16, u16) = (args.number("key")?, args.number("value")?);
    let entries: u32 = args.number("entries")?;
    args.finish()?;
    let form = MapForm::new(name, row.0, key.into(), value.into(), entries as usize);
    form.ok_or_else(|| format!("no map has the sizes of '{text}'").into())
}

/// A change of a map's keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapMod {
    /// The program.
    pub program: Name,
    /// The map.
    pub map: Name,
    /// The key.
    pub key: Bytes,
    /// Its value; `None` if it is deleted.
    pub value: Option<Bytes>,
}

impl Wire for MapMod {
    /// Errors: BAD_COMMAND, BAD_NAME.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_command = r.at("command").clone();
        let command: u8 = r.get()?;
        r.take(1)?;
        let key_bytes: u16 = r.at("key_bytes").get()?;
        let value_bytes: u16 = r.at("value_bytes").get()?;
        r.take(2)?;
        let (program, map) = (r.at("program").get()?, r.at("map").get()?);
        let key = r.at("key").take(key_bytes.into())?;
        let value = r.at("value").take(value_bytes.into())?;
        let value = match command {
            0 => Some(Bytes(value.into())),
            1 if value.is_empty() => None,
            1 => return Err(at_command.err(BAD_KEY)),
            _ => return Err(at_command.err(BAD_COMMAND)),
        };
        let key = Bytes(key.into());
        Ok(Self {
            program,
            map,
            key,
            value,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let value: &[u8] = self.value.as_ref().map_or(&[], |value| &value.0);
        w.put(&u8::from(self.value.is_none())).pad(1);
        // A message has no room for more bytes than 16 bits can count.
        w.put(&(self.key.0.len() as u16))
            .put(&(value.len() as u16))
            .pad(2);
        w.put(&self.program)
            .put(&self.map)
            .put(&self.key)
            .raw(value);
    }
}

impl TextForm for MapMod {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = if self.value.is_some() {
            "set"
        } else {
            "delete"
        };
        write!(
            f,
            "{command},program={},map={},key=",
            self.program, self.map
        )?;
        self.key.text(f)?;
        let Some(value) = &self.value else {
            return Ok(());
        };
        f.write_str(",data=")?;
        value.text(f)
    }
}

impl Listed for MapMod {}

impl TypedBody for MapMod {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let deletes = args.take("delete").is_some();
        if !deletes {
            args.take("set").ok_or("there are set and delete")?;
        }
        let (program, map) = (name(&mut args, "program")?, name(&mut args, "map")?);
        let mut bytes = |key| parse_bytes(args.take(key).unwrap_or_default()).map(Bytes);
        let key = bytes("key")?;
        let value = if deletes { None } else { Some(bytes("data")?) };
        args.finish()?;
        Ok(Self {
            program,
            map,
            key,
            value,
        })
    }
}

/// A request for what a map has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapRequest {
    /// The program.
    pub program: Name,
    /// The map.
    pub map: Name,
}

/// The request, or a part of its reply: a list, as [`ValueList`] has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MapEntries {
    /// A controller's request.
    Request(MapRequest),
    /// A switch's reply.
    Reply(Vec<MapMod>),
}

/// The first byte of a request, which no list has.
const REQUEST: u8 = 0xff;

impl Wire for MapEntries {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if r.clone().rest().first() == Some(&REQUEST) {
            r.take(8)?;
            let (program, map) = (r.at("program").get()?, r.at("map").get()?);
            return Ok(Self::Request(MapRequest { program, map }));
        }
        let list: ValueList<MapMod> = r.get()?;
        Ok(Self::Reply(list.0))
    }

    fn encode(&self, w: &mut Writer<'_>) {
        match self {
            Self::Request(request) => {
                w.put(&REQUEST)
                    .pad(7)
                    .put(&request.program)
                    .put(&request.map);
            }
            Self::Reply(list) => {
                w.put(&ValueList(list.clone()));
            }
        }
    }
}

impl TextForm for MapEntries {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(MapRequest { program, map }) => write!(f, "program={program},map={map}"),
            Self::Reply(list) => ValueList(list.clone()).text(f),
        }
    }
}

impl TypedBody for MapEntries {
    /// Reads a request.
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let (program, map) = (name(&mut args, "program")?, name(&mut args, "map")?);
        args.finish()?;
        Ok(Self::Request(MapRequest { program, map }))
    }

    fn join(&mut self, part: Self) -> bool {
        match (self, part) {
            (Self::Reply(list), Self::Reply(part)) => {
                list.extend(part);
                true
            }
            (Self::Request(_) | Self::Reply(_), _) => false,
        }
    }
}

/// What a program tells controllers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notification {
    /// The program.
    pub program: Name,
    /// Its first argument.
    pub id: u32,
    /// The data.
    pub data: Bytes,
}

impl Wire for Notification {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let program = r.at("program").get()?;
        let id = r.at("id").get()?;
        r.take(4)?;
        let data = r.at("data").get()?;
        Ok(Self { program, id, data })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.program).put(&self.id).pad(4).put(&self.data);
    }
}

impl TextForm for Notification {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "program={},id={},data=", self.program, self.id)?;
        self.data.text(f)
    }
}

impl TypedBody for Notification {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let program = name(&mut args, "program")?;
        let id = args.number("id")?;
        let data = Bytes(parse_bytes(args.take("data").unwrap_or_default())?);
        args.finish()?;
        Ok(Self { program, id, data })
    }
}
