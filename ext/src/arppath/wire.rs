//! Lists and changes of ARP-Path for operators and controllers: entries, ports and tables, on the
//! wire and as text.

use alloc::format;
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, Mac, ParseError, PortNo};

use super::error::{BAD_COMMAND, BAD_VALUE};
use super::neighbours::NeighbourKind;
use super::table::place;
use crate::common::args::Args;
use crate::common::list::Listed;
use crate::common::words::{named, place_of};

/// The VLAN value that means all VLANs in a deletion.
const ANY_VLAN: u16 = 0xffff;

/// The state of an entry in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryState {
    /// A first copy came from there.
    Locked,
    /// The path is in use.
    Learnt,
    /// The operator has pinned it.
    Pinned,
}

impl EntryState {
    /// The states with their names; the number on the wire is the index.
    const NAMES: [(Self, &'static str); 3] = [
        (Self::Locked, "locked"),
        (Self::Learnt, "learnt"),
        (Self::Pinned, "pinned"),
    ];
}

/// One entry: 28 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathRecord {
    /// The VLAN_VID value, 0 for untagged.
    pub vlan: u16,
    /// The host.
    pub mac: Mac,
    /// The port towards it.
    pub port: PortNo,
    /// The certainty of that.
    pub state: EntryState,
    /// Milliseconds until it expires if it is not used; 0 if pinned.
    pub left_ms: u32,
    /// The next switch, if known; otherwise 0.
    pub via: u64,
}

impl PathRecord {
    /// Its place in the list, from which a part of the list may begin.
    pub fn place(&self) -> u64 {
        place((self.vlan, self.mac))
    }

    /// The name of its state.
    pub fn state_name(&self) -> &'static str {
        place_of(&EntryState::NAMES, &self.state).1
    }
}

impl Wire for PathRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let vlan = r.at("vlan").get()?;
        let mac = r.at("mac").get()?;
        let port = r.at("port").get()?;
        let state = named(&EntryState::NAMES, r.at("state"), BAD_VALUE)?;
        r.take(3)?;
        Ok(Self {
            vlan,
            mac,
            port,
            state,
            left_ms: r.at("left_ms").get()?,
            via: r.at("via").get()?,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (state, _) = place_of(&EntryState::NAMES, &self.state);
        w.put(&self.vlan).put(&self.mac).put(&self.port);
        w.put(&state).pad(3).put(&self.left_ms).put(&self.via);
    }
}

impl TextForm for PathRecord {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state_name();
        let vlan = self.vlan;
        let mac = self.mac;
        let port = self.port;
        write!(f, "vlan={vlan:#x},mac={mac},port={port},state={state}")?;
        if self.left_ms > 0 {
            write!(f, ",left_ms={}", self.left_ms)?;
        }
        if self.via > 0 {
            write!(f, ",via={:#x}", self.via)?;
        }
        Ok(())
    }
}

/// One port: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathPortRecord {
    /// The port.
    pub port: PortNo,
    /// The kind of the other end.
    pub kind: NeighbourKind,
    /// The switch directly on the link; otherwise 0.
    pub neighbour: u64,
}

impl Wire for PathPortRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port = r.at("port").get()?;
        let kind = named(&NeighbourKind::NAMES, r.at("kind"), BAD_VALUE)?;
        r.take(3)?;
        let neighbour = r.at("neighbour").get()?;
        Ok(Self {
            port,
            kind,
            neighbour,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (kind, _) = place_of(&NeighbourKind::NAMES, &self.kind);
        w.put(&self.port).put(&kind).pad(3).put(&self.neighbour);
    }
}

impl TextForm for PathPortRecord {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, kind) = place_of(&NeighbourKind::NAMES, &self.kind);
        write!(f, "port={},kind={kind}", self.port)?;
        if self.neighbour > 0 {
            write!(f, ",neighbour={:#x}", self.neighbour)?;
        }
        Ok(())
    }
}

/// The packets of a table that ARP-Path forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableUse {
    /// Misses, because the table was chosen by the option.
    Misses,
    /// Packets that match the table-miss entry, because of its action.
    Entry,
    /// None: the table was chosen, but its table-miss entry lacks the action and takes precedence.
    Off,
}

impl TableUse {
    const NAMES: [(Self, &'static str); 3] = [
        (Self::Misses, "misses"),
        (Self::Entry, "table-miss-entry"),
        (Self::Off, "off-by-table-miss-entry"),
    ];
}

/// One table: 2 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathTableRecord {
    /// The table.
    pub table: TableId,
    /// The packets of it that ARP-Path forwards.
    pub usage: TableUse,
}

impl Wire for PathTableRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table = r.at("table").get()?;
        let usage = named(&TableUse::NAMES, r.at("usage"), BAD_VALUE)?;
        Ok(Self { table, usage })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (usage, _) = place_of(&TableUse::NAMES, &self.usage);
        w.put(&self.table).put(&usage);
    }
}

impl TextForm for PathTableRecord {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, usage) = place_of(&TableUse::NAMES, &self.usage);
        write!(f, "table={},arp_path={usage}", self.table)
    }
}

/// These are only listed as a whole.
macro_rules! listed {
    ($($ty:ty),*) => {$(
        impl TypedBody for $ty {
            fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
                Err("it is only reported".into())
            }
        }
        impl Listed for $ty {}
    )*};
}

listed!(PathRecord, PathPortRecord, PathTableRecord);

/// A change of entries: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathMod {
    /// Pins a host to a port until the entry is deleted, whatever frames arrive.
    Pin {
        /// The VLAN_VID value.
        vlan: u16,
        /// The host.
        mac: Mac,
        /// The port.
        port: PortNo,
    },
    /// Deletes entries, also pinned ones: those of a VLAN, a host and a port, or any of these.
    Delete {
        /// The VLAN_VID value, if of one.
        vlan: Option<u16>,
        /// The host, if of one.
        mac: Option<Mac>,
        /// The port, if of one.
        port: Option<PortNo>,
    },
    /// Deletes all entries but pinned ones.
    Flush,
}

impl Wire for PathMod {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_command = r.at("command").clone();
        let command = r.get::<u8>()?;
        r.take(1)?;
        let vlan = r.at("vlan").get()?;
        let port = r.at("port").get()?;
        let mac = r.at("mac").get()?;
        r.take(2)?;
        match command {
            0 => Ok(Self::Pin { vlan, mac, port }),
            1 => Ok(Self::Delete {
                vlan: Some(vlan).filter(|vlan| *vlan != ANY_VLAN),
                mac: Some(mac).filter(|mac| *mac != Mac::default()),
                port: Some(port).filter(|port| *port != PortNo::ANY),
            }),
            2 => Ok(Self::Flush),
            _ => Err(at_command.err(BAD_COMMAND)),
        }
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (command, vlan, mac, port) = match self {
            Self::Pin { vlan, mac, port } => (0u8, *vlan, *mac, *port),
            Self::Flush => (2, ANY_VLAN, Mac::default(), PortNo::ANY),
            Self::Delete { vlan, mac, port } => (
                1,
                vlan.unwrap_or(ANY_VLAN),
                mac.unwrap_or_default(),
                port.unwrap_or(PortNo::ANY),
            ),
        };
        w.put(&command).pad(1).put(&vlan).put(&port);
        w.put(&mac).pad(2);
    }
}

impl TextForm for PathMod {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pin { vlan, mac, port } => {
                write!(f, "pin,vlan={vlan:#x},mac={mac},port={port}")
            }
            Self::Flush => f.write_str("flush"),
            Self::Delete { vlan, mac, port } => {
                f.write_str("delete")?;
                if let Some(vlan) = vlan {
                    write!(f, ",vlan={vlan:#x}")?;
                }
                if let Some(mac) = mac {
                    write!(f, ",mac={mac}")?;
                }
                match port {
                    Some(port) => write!(f, ",port={port}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl TypedBody for PathMod {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let pins = args.take("pin").is_some();
        let deletes = args.take("delete").is_some();
        let flushes = args.take("flush").is_some();
        let mac = args.take("mac").map(parse_mac).transpose()?;
        let vlan = optional(&mut args, "vlan")?;
        let port = optional(&mut args, "port")?.map(PortNo);
        args.finish()?;
        match (pins, mac, port) {
            (false, None, None) if flushes && !deletes && vlan.is_none() => Ok(Self::Flush),
            (true, Some(mac), Some(port)) if !deletes && !flushes => Ok(Self::Pin {
                vlan: vlan.unwrap_or(0),
                mac,
                port,
            }),
            (false, ..) if deletes && !flushes => Ok(Self::Delete { vlan, mac, port }),
            (..) => {
                let delete = "delete[,mac=M][,port=N][,vlan=V]";
                Err(format!("it is pin,mac=M,port=N[,vlan=V], {delete} or flush").into())
            }
        }
    }
}

fn optional<T: TryFrom<u64>>(args: &mut Args<'_>, name: &str) -> Result<Option<T>, ParseError> {
    let Some(text) = args.take(name) else {
        return Ok(None);
    };
    let number = bofuss_oflib::text::number(text).and_then(|number| number.try_into().ok());
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(format!("{name}={text} is not a number in range").into()),
    }
}

/// Reads the address of one host.
fn parse_mac(text: &str) -> Result<Mac, ParseError> {
    match text.parse::<Mac>() {
        Ok(mac) if !mac.is_multicast() && mac != Mac::default() => Ok(mac),
        Ok(_) | Err(_) => Err(format!("'{text}' is no host's address").into()),
    }
}
