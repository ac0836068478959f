//! Sorts flow entries by priority or by a field, as ovs-ofctl does.

use std::cmp::Reverse;

use bofuss_oflib::message::multipart::FlowStats;
use bofuss_oflib::message::multipart::flow::FlowEntry;
use bofuss_oflib::{Catalogue, Field, FieldMatch};

use super::flow::ORDER;
use crate::Failure;
use crate::words::Argument;

/// The name that stands for the priority.
const PRIORITY: &str = "priority";

/// The sort key of entries.
pub(crate) struct Order {
    /// The fields of this name; empty for the priority.
    fields: Vec<u8>,
    descending: bool,
}

impl Order {
    /// Sorts by `name`: `priority`, or a field. Errors: there is no such field.
    pub(crate) fn by(name: &str, descending: bool, all: &Catalogue) -> Result<Self, Failure> {
        let alias = |field: &Field| {
            ORDER
                .iter()
                .find(|row| row.0.id == field.id)
                .map(|row| row.1)
        };
        let names = |field: &'static Field| {
            let own = [field.name]
                .into_iter()
                .chain(field.aliases.iter().copied());
            own.chain(alias(field)).filter(|name| !name.is_empty())
        };
        let list = all.fields().iter().copied();
        let named = list
            .clone()
            .filter(|field| names(field).any(|one| one == name));
        let fields: Vec<u8> = named.map(|field| field.id).collect();
        if fields.is_empty() && name != PRIORITY {
            let mut known = list.flat_map(names).chain([PRIORITY]);
            let near = crate::words::nearest(name, &mut known);
            let near = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            let what = format!("neither a field nor priority{near}");
            return Err(Argument(name).wrong(name, &what));
        }
        Ok(Self { fields, descending })
    }

    /// Sorts. Entries without the field come last; equal ones are sorted by priority, the highest
    /// first.
    pub(crate) fn sort(&self, entries: &mut [FlowStats]) {
        let value = |entry: &FlowEntry| match self.fields.as_slice() {
            [] => Some(u128::from(entry.priority)),
            fields => {
                let matched = entry.fields.fields().iter();
                let mut found = matched.filter(|one| fields.contains(&one.field.id));
                found.next().map(FieldMatch::number)
            }
        };
        entries.sort_by_key(|FlowStats(entry)| Reverse(entry.priority));
        let key = |entry: &FlowStats| value(&entry.0);
        if self.descending {
            entries.sort_by_key(|entry| Reverse(key(entry)))
        } else {
            entries.sort_by_key(|entry| (key(entry).is_none(), key(entry)))
        }
    }
}
