//! The records that rules give to flows: forwarding, and quality of service.

use alloc::{format, string::ToString, vec::Vec};
use core::fmt;
use core::hash::Hash;

use bofuss_datapath::StepMap;
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::{Actions, number, parse_actions, parse_port};
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Action, Catalogue, DecodeError, Match, ParseError, PortNo};

use super::error::BAD_VALUE;
use crate::common::args::Args;

/// No record.
pub(super) const NO_RECORD: u16 = u16::MAX;
/// The most different records of a kind. Slots are used from the lowest on, so each number is below
/// [`NO_RECORD`].
const MAX_RECORDS: usize = NO_RECORD as usize;

/// The forward record of a flow: 8 bytes, then actions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ForwardRecord {
    /// The port; ANY drops the packets, CONTROLLER sends each to the controllers.
    pub port: PortNo,
    /// The port to use while that one is down; ANY for none.
    pub failover: PortNo,
    /// The actions applied before, such as setting the next hop's addresses.
    pub actions: Vec<Action>,
}

impl ForwardRecord {
    /// A record that outputs to a port and does nothing else.
    pub fn to(port: PortNo) -> Self {
        Self {
            port,
            failover: PortNo::ANY,
            actions: Vec::new(),
        }
    }
}

impl Wire for ForwardRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port = r.at("port").get()?;
        let failover = r.at("failover").get()?;
        r.take(4)?;
        let bytes = r.remaining();
        let actions = Action::decode_list(r, bytes)?;
        Ok(Self {
            port,
            failover,
            actions,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.port)
            .put(&self.failover)
            .pad(4)
            .put(&self.actions);
    }
}

impl TextForm for ForwardRecord {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.port == PortNo::ANY {
            f.write_str("drop")?;
        } else {
            write!(f, "port={}", self.port)?;
        }
        if self.failover != PortNo::ANY {
            write!(f, ",failover={}", self.failover)?;
        }
        if !self.actions.is_empty() {
            write!(f, ",actions=({})", Actions(&self.actions))?;
        }
        Ok(())
    }
}

impl TypedBody for ForwardRecord {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let this = Self::take(&mut args, catalogue)?;
        args.finish()?;
        this.ok_or_else(|| "it is drop or port=N[,failover=N][,actions=(ACTIONS)]".into())
    }
}

impl ForwardRecord {
    /// Takes its words from a text; `None` if there is neither `drop` nor `port`.
    pub(super) fn take(
        args: &mut Args<'_>,
        catalogue: &Catalogue,
    ) -> Result<Option<Self>, ParseError> {
        let port = match (args.take("drop"), args.take("port")) {
            (Some(_), None) => PortNo::ANY,
            (None, Some(text)) => parse_port(text)?,
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => return Err("drop has no port".into()),
        };
        let failover = args.take("failover").map(parse_port).transpose()?;
        let actions = args.take("actions").unwrap_or("()");
        let inner = actions
            .strip_prefix('(')
            .and_then(|text| text.strip_suffix(')'))
            .ok_or("actions stand in parentheses")?;
        let mut list = Vec::new();
        if !inner.is_empty() {
            let read = parse_actions(inner, &Match::ANY, catalogue);
            list = read.map_err(|error| error.to_string())?;
        }
        Ok(Some(Self {
            port,
            failover: failover.unwrap_or(PortNo::ANY),
            actions: list,
        }))
    }
}

/// The service of a flow: with a guaranteed rate, or without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ServiceType {
    /// It shares the rate that guarantees leave.
    #[default]
    BestEffort,
    /// It has `rate`, and shares the rest.
    Guaranteed,
}

/// To whom a record's rights belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QosScope {
    /// The aggregate of the flow, at the port.
    #[default]
    Aggregate,
    /// The flow, within its aggregate.
    Flow,
}

/// The quality of service of a flow: 16 bytes. Rates are in kb/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QosRecord {
    /// Best effort or guaranteed.
    pub service: ServiceType,
    /// The strict priority: 0 is the lowest.
    pub priority: u8,
    /// The number of the aggregate key; [`QosRecord::PORT_KEY`] is that of the output port.
    pub key: u8,
    /// To whom weight, rate and cap belong.
    pub scope: QosScope,
    /// The share among others; at least 1.
    pub weight: u16,
    /// The guaranteed rate.
    pub rate: u32,
    /// The maximum rate; 0 for no limit.
    pub cap: u32,
}

impl Default for QosRecord {
    fn default() -> Self {
        Self {
            service: ServiceType::BestEffort,
            priority: 0,
            key: Self::PORT_KEY,
            scope: QosScope::Aggregate,
            weight: 1,
            rate: 0,
            cap: 0,
        }
    }
}

impl QosRecord {
    /// Returns true if it asks for a guaranteed rate.
    pub fn is_guaranteed(&self) -> bool {
        self.service == ServiceType::Guaranteed && self.rate > 0
    }

    /// Stands for the aggregate key of the output port.
    pub const PORT_KEY: u8 = 0xff;
    /// The highest priority.
    pub const MAX_PRIORITY: u8 = 3;

    /// Takes its words from a text; `None` if there are none.
    pub(super) fn take(args: &mut Args<'_>) -> Result<Option<Self>, ParseError> {
        let mut this = Self::default();
        let mut is_there = false;
        if let Some(name) = args.take("type") {
            this.service = match name {
                "best-effort" => ServiceType::BestEffort,
                "guaranteed" => ServiceType::Guaranteed,
                _ => return Err(format!("'{name}' is not best-effort or guaranteed").into()),
            };
            is_there = true;
        }
        if let Some(name) = args.take("of") {
            this.scope = match name {
                "aggregate" => QosScope::Aggregate,
                "flow" => QosScope::Flow,
                _ => return Err(format!("'{name}' is not aggregate or flow").into()),
            };
            is_there = true;
        }
        is_there |= take(args, "priority", &mut this.priority)?;
        is_there |= take(args, "weight", &mut this.weight)?;
        is_there |= take(args, "rate", &mut this.rate)?;
        is_there |= take(args, "cap", &mut this.cap)?;
        is_there |= take(args, "key", &mut this.key)?;
        if this.weight == 0 || this.priority > Self::MAX_PRIORITY {
            return Err("a weight is at least 1, a priority at most 3".into());
        }
        Ok(is_there.then_some(this))
    }
}

/// Takes a number from a text, if it is there. Errors: it is not a number, or too large.
pub(super) fn take<T: TryFrom<u64>>(
    args: &mut Args<'_>,
    name: &str,
    to: &mut T,
) -> Result<bool, ParseError> {
    let Some(text) = args.take(name) else {
        return Ok(false);
    };
    let value = number(text).and_then(|value| value.try_into().ok());
    *to = value.ok_or_else(|| format!("{name}={text} is not a number in range"))?;
    Ok(true)
}

impl Wire for QosRecord {
    /// Errors: BAD_VALUE.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_type = r.at("type").clone();
        let service = match r.get::<u8>()? {
            0 => ServiceType::BestEffort,
            1 => ServiceType::Guaranteed,
            _ => return Err(at_type.err(BAD_VALUE)),
        };
        let at_priority = r.at("priority").clone();
        let priority = r.get()?;
        if priority > Self::MAX_PRIORITY {
            return Err(at_priority.err(BAD_VALUE));
        }
        let key = r.at("key").get()?;
        let at_scope = r.at("scope").clone();
        let scope = match r.get::<u8>()? {
            0 => QosScope::Aggregate,
            1 => QosScope::Flow,
            _ => return Err(at_scope.err(BAD_VALUE)),
        };
        let at_weight = r.at("weight").clone();
        let weight = r.get()?;
        if weight == 0 {
            return Err(at_weight.err(BAD_VALUE));
        }
        r.take(2)?;
        Ok(Self {
            service,
            priority,
            key,
            scope,
            weight,
            rate: r.at("rate").get()?,
            cap: r.at("cap").get()?,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&(self.service as u8)).put(&self.priority);
        w.put(&self.key)
            .put(&(self.scope as u8))
            .put(&self.weight)
            .pad(2);
        w.put(&self.rate).put(&self.cap);
    }
}

impl TextForm for QosRecord {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let service = match self.service {
            ServiceType::BestEffort => "best-effort",
            ServiceType::Guaranteed => "guaranteed",
        };
        let scope = match self.scope {
            QosScope::Aggregate => "aggregate",
            QosScope::Flow => "flow",
        };
        write!(f, "type={service},of={scope},priority={}", self.priority)?;
        write!(f, ",weight={}", self.weight)?;
        write!(f, ",rate={},cap={},key={}", self.rate, self.cap, self.key)
    }
}

impl TypedBody for QosRecord {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let this = Self::take(&mut args)?.unwrap_or_default();
        args.finish()?;
        Ok(this)
    }
}

/// Records, each stored once however many flows have it. A flow stores the number of its record.
#[derive(Debug)]
pub(super) struct Records<T, X>(StepMap<T, Used<X>>);

/// The number of flows that have a record, and what is stored for all of them.
#[derive(Debug)]
struct Used<X> {
    flows: u32,
    own: X,
}

impl<T, X> Default for Records<T, X> {
    fn default() -> Self {
        Self(StepMap::default())
    }
}

impl<T: Hash + Eq + Clone, X> Records<T, X> {
    /// The number of a record, for one more flow; `None` if there are too many.
    pub(super) fn acquire(&mut self, record: &T, own: impl FnOnce() -> X) -> Option<u16> {
        let hash = self.0.hash(record);
        let slot = match self.0.find(hash, u32::MAX, record) {
            Some(slot) => slot,
            None if self.0.len() >= MAX_RECORDS => return None,
            None => self.0.insert(
                record.clone(),
                Used {
                    flows: 0,
                    own: own(),
                },
            ),
        };
        let (_, used) = self.0.at_mut(slot).expect("it was found or added just now");
        used.flows += 1;
        Some(slot as u16)
    }

    /// Returns true if a record can be acquired.
    pub(super) fn has_room_for(&self, record: &T) -> bool {
        self.0.len() < MAX_RECORDS || self.0.find(self.0.hash(record), u32::MAX, record).is_some()
    }

    /// Notes that one flow no longer has it.
    pub(super) fn release(&mut self, number: u16) {
        let Some((record, used)) = self.0.at_mut(number.into()) else {
            return;
        };
        used.flows -= 1;
        if used.flows == 0 {
            let record = record.clone();
            self.0.remove(&record);
        }
    }

    /// A record and what is stored with it; `None` for [`NO_RECORD`].
    #[inline]
    pub(super) fn get(&self, number: u16) -> Option<(&T, &X)> {
        self.0
            .at(number.into())
            .map(|(record, used)| (record, &used.own))
    }

    /// Changes what is stored with each.
    pub(super) fn for_each(&mut self, mut change: impl FnMut(&T, &mut X)) {
        let mut from = 0;
        while let Some(slot) = self.0.used(from) {
            let (record, used) = self.0.at_mut(slot).expect("the slot is used");
            change(record, &mut used.own);
            from = slot + 1;
        }
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
