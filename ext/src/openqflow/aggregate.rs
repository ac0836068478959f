//! Aggregates: sets of flows that share a port as one, and the keys (masks of a flow's tuple) that
//! define them.

use alloc::{collections::BTreeMap, format};
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::parse_port;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ErrorCode, ParseError, PortNo};
use bofuss_packet::header::ethertype;

use super::error::{BAD_COMMAND, BAD_VALUE, NO_KEY};
use super::records::{QosRecord, take};
use super::tuple::{FlowTuple, parse_masked_address};
use crate::common::args::Args;
use crate::common::list::Listed;

/// The key of ports for which none is chosen, and of flows whose own key does not exist.
pub const DEFAULT_KEY: u8 = 0;
/// The most ports with a key of their own.
const MAX_PORT_KEYS: usize = 4096;

/// The bits of a tuple that identify an aggregate.
///
/// A flow that is not IP belongs to the aggregate of its ingress port and the masked bits of its
/// VLAN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AggregateKey {
    /// The masks of the IPv4 source and destination.
    pub ipv4: [u32; 2],
    /// The masks of the IPv6 source and destination.
    pub ipv6: [u128; 2],
    /// The mask of VLAN_VID.
    pub vlan: u16,
    /// The masks of the source and destination port.
    pub ports: [u16; 2],
    /// The mask of the IP protocol.
    pub ip_proto: u8,
}

impl AggregateKey {
    /// Everything that goes to one address.
    const DESTINATION: Self = Self {
        ipv4: [0, u32::MAX],
        ipv6: [0, u128::MAX],
        vlan: 0,
        ports: [0; 2],
        ip_proto: 0,
    };

    /// The masked tuple. Addresses of different kinds stay different.
    pub fn of(&self, tuple: &FlowTuple) -> FlowTuple {
        let addresses = match tuple.eth_type {
            ethertype::IPV4 => self.ipv4.map(u128::from),
            ethertype::IPV6 => self.ipv6,
            _ => [0; 2],
        };
        let has_addresses = addresses != [0; 2];
        tuple.masked(&FlowTuple {
            source: addresses[0],
            destination: addresses[1],
            in_port: if tuple.is_ip() { 0 } else { u32::MAX },
            vlan: self.vlan,
            eth_type: if has_addresses { u16::MAX } else { 0 },
            ports: self.ports,
            ip_proto: self.ip_proto,
        })
    }
}

/// A change of the aggregate keys: 56 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyMod {
    /// Defines the key with this number.
    Set {
        /// The number; 255 is none.
        id: u8,
        /// The key.
        key: AggregateKey,
    },
    /// Deletes the key with this number; key 0 returns to its initial definition.
    Delete {
        /// The number.
        id: u8,
    },
    /// Sets the key for the flows of an output port whose record names none.
    Port {
        /// The number.
        id: u8,
        /// The port.
        port: PortNo,
    },
}

impl Wire for KeyMod {
    /// Errors: BAD_COMMAND, BAD_VALUE.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_command = r.at("command").clone();
        let command = r.get::<u8>()?;
        let at_id = r.at("key").clone();
        let id = r.get()?;
        if id == QosRecord::PORT_KEY {
            return Err(at_id.err(BAD_VALUE));
        }
        let ip_proto = r.at("ip_proto").get()?;
        r.take(1)?;
        let port = r.at("port").get()?;
        let vlan = r.at("vlan").get()?;
        let ports = [r.at("sport").get()?, r.at("dport").get()?];
        r.take(2)?;
        let ipv4 = [r.at("ipv4_src").get()?, r.at("ipv4_dst").get()?];
        let halves: [u64; 4] = [
            r.at("ipv6_src").get()?,
            r.get()?,
            r.at("ipv6_dst").get()?,
            r.get()?,
        ];
        let ipv6 = [0, 2].map(|at| u128::from(halves[at]) << 64 | u128::from(halves[at + 1]));
        let key = AggregateKey {
            ipv4,
            ipv6,
            vlan,
            ports,
            ip_proto,
        };
        match command {
            0 => Ok(Self::Set { id, key }),
            1 => Ok(Self::Delete { id }),
            2 => Ok(Self::Port { id, port }),
            _ => Err(at_command.err(BAD_COMMAND)),
        }
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (command, id, port, key) = match *self {
            Self::Set { id, key } => (0u8, id, PortNo::ANY, key),
            Self::Delete { id } => (1, id, PortNo::ANY, AggregateKey::default()),
            Self::Port { id, port } => (2, id, port, AggregateKey::default()),
        };
        w.put(&command)
            .put(&id)
            .put(&key.ip_proto)
            .pad(1)
            .put(&port);
        w.put(&key.vlan)
            .put(&key.ports[0])
            .put(&key.ports[1])
            .pad(2);
        w.put(&key.ipv4[0]).put(&key.ipv4[1]);
        for address in key.ipv6 {
            w.raw(&address.to_be_bytes());
        }
    }
}

impl TextForm for KeyMod {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, key) = match self {
            Self::Set { id, key } => (id, key),
            Self::Delete { id } => return write!(f, "delete,key={id}"),
            Self::Port { id, port } => return write!(f, "port={port},key={id}"),
        };
        write!(f, "set,key={id}")?;
        for (name, mask) in ["ipv4_src", "ipv4_dst"].into_iter().zip(key.ipv4) {
            if mask != 0 {
                write!(f, ",{name}={}", Ipv4Addr::from_bits(mask))?;
            }
        }
        for (name, mask) in ["ipv6_src", "ipv6_dst"].into_iter().zip(key.ipv6) {
            if mask != 0 {
                write!(f, ",{name}={}", Ipv6Addr::from_bits(mask))?;
            }
        }
        let numbers = [
            ("vlan", key.vlan),
            ("sport", key.ports[0]),
            ("dport", key.ports[1]),
            ("ip_proto", key.ip_proto.into()),
        ];
        for (name, mask) in numbers {
            if mask != 0 {
                write!(f, ",{name}={mask:#x}")?;
            }
        }
        Ok(())
    }
}

impl TypedBody for KeyMod {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let sets = args.take("set").is_some();
        let deletes = args.take("delete").is_some();
        let port = args.take("port").map(parse_port).transpose()?;
        let mut id = QosRecord::PORT_KEY;
        take(&mut args, "key", &mut id)?;
        let mut key = AggregateKey::default();
        take(&mut args, "vlan", &mut key.vlan)?;
        take(&mut args, "sport", &mut key.ports[0])?;
        take(&mut args, "dport", &mut key.ports[1])?;
        take(&mut args, "ip_proto", &mut key.ip_proto)?;
        for (i, name) in ["ipv4_src", "ipv4_dst"].into_iter().enumerate() {
            let mask = take_mask(&mut args, name, 32)?;
            key.ipv4[i] = mask as u32;
        }
        for (i, name) in ["ipv6_src", "ipv6_dst"].into_iter().enumerate() {
            key.ipv6[i] = take_mask(&mut args, name, 128)?;
        }
        args.finish()?;
        if id == QosRecord::PORT_KEY {
            return Err("keys have numbers from 0 to 254".into());
        }
        match (sets, deletes, port) {
            (true, false, None) => Ok(Self::Set { id, key }),
            (false, true, None) if key == AggregateKey::default() => Ok(Self::Delete { id }),
            (false, false, Some(port)) if key == AggregateKey::default() => {
                Ok(Self::Port { id, port })
            }
            (..) => Err("it is set,key=N,MASKS..., delete,key=N or port=N,key=N".into()),
        }
    }
}

/// Takes the mask of an address from a text, if it has one: `/PREFIX`, or written like an address.
fn take_mask(args: &mut Args<'_>, name: &str, width: u32) -> Result<u128, ParseError> {
    let Some(text) = args.take(name) else {
        return Ok(0);
    };
    let zero = if width == 32 { "0.0.0.0" } else { "::" };
    if text.starts_with('/') {
        return Ok(parse_masked_address(&format!("{zero}{text}"))?.1);
    }
    let (mask, _, eth_type) = parse_masked_address(text)?;
    let is_v4 = eth_type == ethertype::IPV4;
    if is_v4 != (width == 32) || eth_type == 0 {
        return Err(format!("{name}={text} is not a mask for such an address").into());
    }
    Ok(mask)
}

impl Listed for KeyMod {}

/// The keys by number, and the numbers chosen for ports.
#[derive(Debug)]
pub(super) struct AggregateKeys {
    keys: BTreeMap<u8, AggregateKey>,
    ports: BTreeMap<PortNo, u8>,
}

impl Default for AggregateKeys {
    fn default() -> Self {
        Self {
            keys: BTreeMap::from([(DEFAULT_KEY, AggregateKey::DESTINATION)]),
            ports: BTreeMap::new(),
        }
    }
}

impl AggregateKeys {
    /// Applies a change. Errors: NO_KEY, or BAD_VALUE for too many ports.
    pub(super) fn change(&mut self, change: &KeyMod) -> Result<(), ErrorCode> {
        match *change {
            KeyMod::Set { id, key } => {
                self.keys.insert(id, key);
            }
            KeyMod::Delete { id } => {
                self.keys.remove(&id).ok_or(NO_KEY)?;
                if id == DEFAULT_KEY {
                    self.keys.insert(id, AggregateKey::DESTINATION);
                }
                self.ports.retain(|_, of_port| *of_port != id);
            }
            KeyMod::Port { id, port } => {
                if !self.keys.contains_key(&id) {
                    return Err(NO_KEY);
                }
                let is_known = self.ports.contains_key(&port);
                if !is_known && self.ports.len() >= MAX_PORT_KEYS {
                    return Err(BAD_VALUE);
                }
                self.ports.insert(port, id);
            }
        }
        Ok(())
    }

    /// The aggregate of a flow with this tuple and key at a port.
    pub(super) fn aggregate(&self, tuple: &FlowTuple, out_port: PortNo, key: u8) -> AggregateId {
        let own = if key == QosRecord::PORT_KEY {
            self.ports.get(&out_port).copied().unwrap_or(DEFAULT_KEY)
        } else {
            key
        };
        let (key, bits) = match self.keys.get(&own) {
            Some(bits) => (own, bits),
            None => (DEFAULT_KEY, &self.keys[&DEFAULT_KEY]),
        };
        AggregateId {
            out_port,
            key,
            tuple: bits.of(tuple),
        }
    }

    /// The changes that would recreate them.
    pub(super) fn list(&self) -> impl Iterator<Item = KeyMod> {
        let keys = self
            .keys
            .iter()
            .map(|(id, key)| KeyMod::Set { id: *id, key: *key });
        let ports = self.ports.iter().map(|(port, id)| KeyMod::Port {
            id: *id,
            port: *port,
        });
        keys.chain(ports)
    }
}

/// Identifies an aggregate. Two ports never share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AggregateId {
    /// The output port of its flows.
    pub out_port: PortNo,
    /// The number of the key.
    pub key: u8,
    /// Their tuples under the key's mask.
    pub tuple: FlowTuple,
}

/// The counters of one aggregate. It exists as long as it has flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AggregateCounts {
    /// The number of its flows.
    pub flows: u32,
    /// Forwarded packets of all flows that it has had, up to the last expiry round.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Dropped packets, including those dropped at the port.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
}
