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
        entries.sort_by_key(|FlowStats(entry)| Reverse(entry.priority));
        if self.descending {
            entries.sort_by_key(|entry| Reverse(self.value(&entry.0)))
        } else {
            entries.sort_by_key(|entry| {
                let value = self.value(&entry.0);
                (value.is_none(), value)
            })
        }
    }

    /// What an entry is sorted by; `None` if it does not match the field.
    fn value(&self, entry: &FlowEntry) -> Option<u128> {
        if self.fields.is_empty() {
            return Some(u128::from(entry.priority));
        }
        let matched = entry.fields.fields().iter();
        let mut found = matched.filter(|one| self.fields.contains(&one.field.id));
        found.next().map(FieldMatch::number)
    }
}

/// The names of a field, that of ovs-ofctl among them.
fn names(field: &'static Field) -> impl Iterator<Item = &'static str> {
    let alias = ORDER.iter().find(|row| row.0.id == field.id);
    let own = [field.name]
        .into_iter()
        .chain(field.aliases.iter().copied());
    let all = own.chain(alias.map(|row| row.1));
    all.filter(|name| !name.is_empty())
}
