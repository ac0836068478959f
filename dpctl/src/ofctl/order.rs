//! Sorts flow entries by priority or by a match field, as ovs-ofctl does.

use std::cmp::Reverse;

use bofuss_oflib::message::multipart::FlowStats;
use bofuss_oflib::message::multipart::flow::FlowEntry;
use bofuss_oflib::text::nearest;
use bofuss_oflib::{Catalogue, Field, FieldMatch};

use super::flow::ORDER;
use crate::Failure;
use crate::words::Argument;

/// The name that sorts by priority; any other name is a field's.
const PRIORITY: &str = "priority";

/// The sort key of entries.
pub(crate) struct Order {
    /// The ids of the fields with the name that was given; empty for the priority.
    fields: Vec<u8>,
    direction: SortDirection,
}

/// The entries that come first.
#[derive(Clone, Copy)]
pub(crate) enum SortDirection {
    /// The smallest value.
    Up,
    /// The greatest value.
    Down,
}

impl Order {
    /// An order by `name`, which is `priority` or a field of `all`. Errors: it is neither.
    pub(crate) fn by(
        name: &str,
        direction: SortDirection,
        all: &Catalogue,
    ) -> Result<Self, Failure> {
        let list = all.fields().iter().copied();
        let named = list
            .clone()
            .filter(|field| names(field).any(|one| one == name));
        let fields: Vec<u8> = named.map(|field| field.id).collect();
        if fields.is_empty() && name != PRIORITY {
            let mut known = list.flat_map(names).chain([PRIORITY]);
            let mut what = "neither a field nor priority".to_string();
            if let Some(near) = nearest(name, &mut known) {
                what += &format!("; did you mean '{near}'?");
            }
            return Err(Argument(name).wrong(name, &what));
        }
        Ok(Self { fields, direction })
    }

    /// Sorts entries. Those without the field come last; equal ones are sorted by priority, the
    /// highest first.
    pub(crate) fn sort(&self, entries: &mut [FlowStats]) {
        entries.sort_by_key(|FlowStats(entry)| Reverse(entry.priority));
        match self.direction {
            SortDirection::Up => entries.sort_by_key(|entry| {
                let value = self.value(&entry.0);
                (value.is_none(), value)
            }),
            SortDirection::Down => entries.sort_by_key(|entry| Reverse(self.value(&entry.0))),
        }
    }

    /// The value that an entry is sorted by; `None` if it does not match the field.
    fn value(&self, entry: &FlowEntry) -> Option<u128> {
        if self.fields.is_empty() {
            return Some(u128::from(entry.priority));
        }
        let matched = entry.fields.fields().iter();
        let mut found = matched.filter(|one| self.fields.contains(&one.field.id));
        found.next().map(FieldMatch::number)
    }
}

/// The names of a field: ours, its aliases, and ovs-ofctl's.
fn names(field: &'static Field) -> impl Iterator<Item = &'static str> {
    let alias = ORDER.iter().find(|row| row.0.id == field.id);
    let own = [field.name]
        .into_iter()
        .chain(field.aliases.iter().copied());
    let all = own.chain(alias.map(|row| row.1));
    all.filter(|name| !name.is_empty())
}
