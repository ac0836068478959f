//! What each host or switch of a scenario has alone: its addresses, its datapath id.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

use super::ScenarioText;
use crate::host::HostAddresses;
use crate::scenario::ScenarioError;
use crate::scenario::file::{HostRow, SwitchRow};

/// Keys with their values, and who has each.
#[derive(Default)]
pub(super) struct Owners(BTreeMap<String, Owner>);

/// A host or switch.
#[derive(Clone)]
struct Owner {
    name: String,
    /// The place of the value in the scenario's text; `None` if it is the default.
    place: Option<Range<usize>>,
}

impl Owners {
    /// The datapath id of switch number `number`. Errors: it is 0, or another has it.
    pub(super) fn datapath_id(
        &mut self,
        source: ScenarioText<'_>,
        name: &str,
        row: &SwitchRow,
        number: u64,
    ) -> Result<u64, ScenarioError> {
        let written = row.dpid.as_ref();
        let id = written.map_or(number, |id| *id.get_ref());
        let place = written.map(Spanned::span);
        if id == 0 {
            let text = format!("switch {name}: dpid: it is at least 1");
            return Err(source.error(place.unwrap_or_default(), text));
        }
        self.own(source, name, format!("dpid {id}"), place)?;
        Ok(id)
    }

    /// Errors: another host has one of the addresses.
    pub(super) fn own_addresses(
        &mut self,
        source: ScenarioText<'_>,
        name: &str,
        addresses: &HostAddresses,
        row: Option<&HostRow>,
    ) -> Result<(), ScenarioError> {
        let written = |key: fn(&HostRow) -> &Option<Spanned<String>>| {
            let value = row.and_then(|row| key(row).as_ref());
            value.map(Spanned::span)
        };
        let mac = format!("mac {}", addresses.mac);
        self.own(source, name, mac, written(|row| &row.mac))?;
        if let Some((ip, _)) = addresses.ip4 {
            self.own(source, name, format!("ip {ip}"), written(|row| &row.ip))?;
        }
        if let Some((ip, _)) = addresses.ip6 {
            self.own(source, name, format!("ip6 {ip}"), written(|row| &row.ip6))?;
        }
        Ok(())
    }

    /// Notes who has a value. Errors: another has it, too, with both lines.
    fn own(
        &mut self,
        source: ScenarioText<'_>,
        name: &str,
        value: String,
        place: Option<Range<usize>>,
    ) -> Result<(), ScenarioError> {
        let name = name.into();
        let owner = Owner { name, place };
        let Some(before) = self.0.insert(value.clone(), owner.clone()) else {
            return Ok(());
        };
        let (one, other) = match owner.place {
            Some(_) => (owner, before),
            None => (before, owner),
        };
        let why = match other.place {
            Some(place) => format!("line {}", source.line(place)),
            None => "by default".into(),
        };
        let place = one.place.expect("all defaults differ");
        let text = format!("{value}: {} has it, too ({why})", other.name);
        Err(source.error(place, text))
    }
}
