//! Blind packet forwarding: before the lookup, a table's predicate finds the keyword of a tag.
//!
//! Spec: I. Simsek et al., "Blind packet forwarding in a hierarchical architecture with
//! locator/identifier split", NOF 2014; predicate and wire format are ours. See README.md.

pub mod error;
mod predicate;
mod wire;

pub use predicate::{PredicateFields, Trapdoor};
pub use wire::{Keyword, PredicateMod, TrapdoorMod};

use alloc::{boxed::Box, collections::BTreeMap, format, vec, vec::Vec};

use bofuss_datapath::{
    ControlContext, Hook, HookContext, HookEffect, Metric, MetricKind, ReplyPart, Time, Verdict,
};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{Arg, ExtKind, ExtRow};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Field};

use crate::common::list::ValueList;
use error::{EXPERIMENTER, FULL, NO_PREDICATE, UNKNOWN_KEYWORD};
use predicate::Predicate;

/// The most trapdoors of all tables together: the most that one packet may have to try.
pub const MAX_TRAPDOORS: usize = 4_096;
/// The most keywords in a part of the reply that lists all.
const KEYWORDS_PER_PART: usize = 400;

/// The field `blind_keyword`, 32 bits, with mask: the number of the keyword that the packet's tag
/// is of. A packet whose tag is of none does not have it.
pub static FIELDS: [Field; 1] = [Field::extension(EXPERIMENTER, 0, "blind_keyword", 32, true)];

/// The messages that change predicates and trapdoors, the multipart that lists keywords, and the
/// counters, with the message that requests them.
pub static VALUES: [ExtRow; 7] = [
    ExtRow::typed::<PredicateMod>(ExtKind::Message, EXPERIMENTER, 1, "blind_predicate")
        .that_changes()
        .with_error_names(error::ERRORS)
        .with_usage(
            "table=N,nonce=FIELD,tag=FIELD",
            "has a table look up the keyword of tags",
        ),
    ExtRow::typed::<TrapdoorMod>(ExtKind::Message, EXPERIMENTER, 2, "blind_trapdoor")
        .that_changes()
        .with_usage(
            "table=N,keyword=N,key=HEX",
            "gives a table a trapdoor of 16 bytes for a keyword",
        ),
    ExtRow::typed::<Keyword>(ExtKind::Message, EXPERIMENTER, 3, "blind_forget")
        .that_changes()
        .with_usage("table=N,keyword=N", "forgets a trapdoor"),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 4, "blind_clear")
        .with_args(&[Arg::new("table", 1)])
        .that_changes()
        .with_usage("table=N", "removes a table's predicate and trapdoors"),
    ExtRow::typed::<ValueList<Keyword>>(ExtKind::Multipart, EXPERIMENTER, 5, "blind_keywords")
        .with_usage("", "prints the keywords for which tables have a trapdoor"),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 6, "blind_status").with_usage(
        "",
        "prints how many trapdoors there are, and how often they were tried",
    ),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 7, "blind_status_reply").with_args(&[
        Arg::new("predicates", 1),
        Arg::new("trapdoors", 4),
        Arg::new("evaluations", 8),
        Arg::new("tries", 8),
    ]),
];

/// Indices in [`VALUES`].
const BLIND_FORGET: usize = 2;
const BLIND_CLEAR: usize = 3;
const BLIND_KEYWORDS: usize = 4;
const BLIND_STATUS: usize = 5;
const BLIND_STATUS_REPLY: usize = 6;

/// The hook of this extension, without predicates. Panics: if `catalogue` lacks [`FIELDS`].
pub fn hook(catalogue: &Catalogue) -> Box<dyn Hook> {
    let field = catalogue.field(EXPERIMENTER, 0);
    Box::new(Blind {
        field: field.expect("the catalogue has this extension"),
        predicates: BTreeMap::new(),
        generation: 0,
        evaluations: 0,
        tries: 0,
    })
}

/// The predicates of all tables.
struct Blind {
    /// The field `blind_keyword`.
    field: &'static Field,
    /// By the number of the table.
    predicates: BTreeMap<u8, Predicate>,
    /// Changes with what packets are found to be.
    generation: u64,
    /// How often a predicate was evaluated for a packet that has a tag.
    evaluations: u64,
    /// How many trapdoors were tried for it.
    tries: u64,
}

impl Blind {
    fn trapdoors(&self) -> usize {
        let tables = self.predicates.values();
        tables.map(|table| table.trapdoors.len()).sum()
    }

    /// Gives a table a predicate; it keeps the trapdoors that it has.
    fn set_predicate(&mut self, change: &PredicateMod) {
        let trapdoors = match self.predicates.remove(&change.table) {
            Some(before) => before.trapdoors,
            None => BTreeMap::new(),
        };
        let fields = change.fields;
        let predicate = Predicate { fields, trapdoors };
        self.predicates.insert(change.table, predicate);
    }

    fn set_trapdoor(&mut self, change: &TrapdoorMod) -> Result<(), ErrorCode> {
        let has_room = self.trapdoors() < MAX_TRAPDOORS;
        let Keyword { table, number } = change.keyword;
        let predicate = self.predicates.get_mut(&table).ok_or(NO_PREDICATE)?;
        if !has_room && !predicate.trapdoors.contains_key(&number) {
            return Err(FULL);
        }
        predicate.trapdoors.insert(number, change.trapdoor.clone());
        Ok(())
    }

    fn forget(&mut self, keyword: Keyword) -> Result<(), ErrorCode> {
        let predicate = self.predicates.get_mut(&keyword.table);
        let trapdoors = &mut predicate.ok_or(NO_PREDICATE)?.trapdoors;
        let trapdoor = trapdoors.remove(&keyword.number);
        trapdoor.map(|_| ()).ok_or(UNKNOWN_KEYWORD)
    }

    /// Carries out a message that changes predicates or trapdoors.
    fn change(&mut self, row: usize, value: &ExtValue) -> Result<(), ErrorCode> {
        if let Some(change) = value.body::<PredicateMod>() {
            self.set_predicate(change);
            return Ok(());
        }
        if let Some(change) = value.body::<TrapdoorMod>() {
            return self.set_trapdoor(change);
        }
        match (row, value.body::<Keyword>()) {
            (BLIND_FORGET, Some(keyword)) => self.forget(*keyword),
            (BLIND_CLEAR, None) => {
                let before = self.predicates.remove(&(value.args[0] as u8));
                before.map(|_| ()).ok_or(NO_PREDICATE)
            }
            (_, _) => Err(BadRequest::BAD_EXP_TYPE),
        }
    }

    /// A part of the reply that lists all keywords, from a place on, and the place with which the
    /// next part begins: the table above the number.
    fn part(&self, from: u64) -> (Vec<Keyword>, Option<u64>) {
        let (first_table, first) = ((from >> u32::BITS) as u8, from as u32);
        let tables = self.predicates.range(first_table..);
        let mut keywords = tables.flat_map(|(&table, predicate)| {
            let first = if table == first_table { first } else { 0 };
            let numbers = predicate.trapdoors.range(first..);
            numbers.map(move |(&number, _)| Keyword { table, number })
        });
        let list = keywords.by_ref().take(KEYWORDS_PER_PART).collect();
        let next = keywords.next();
        let place = |next: Keyword| u64::from(next.table) << u32::BITS | u64::from(next.number);
        (list, next.map(place))
    }
}

impl Hook for Blind {
    fn name(&self) -> &'static str {
        "blind"
    }

    /// The keyword depends on nonce and tag alone, until [`Hook::generation`] changes.
    fn effect(&self, table: TableId) -> HookEffect {
        if self.predicates.contains_key(&table.0) {
            HookEffect::Pure
        } else {
            HookEffect::None
        }
    }

    fn only_prepares(&self) -> bool {
        true
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    /// Sets the packet's field to the keyword of its tag, or clears it.
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        let Some(predicate) = self.predicates.get(&cx.table.0) else {
            return Verdict::Continue;
        };
        let PredicateFields { nonce, tag } = predicate.fields;
        let (nonce, tag) = (cx.get(nonce), cx.get(tag));
        let (keyword, tried) = match (nonce, tag) {
            (Some(nonce), Some(tag)) => predicate.keyword_of(nonce, tag),
            (_, _) => (None, 0),
        };
        match keyword {
            Some(keyword) => cx.set(self.field, keyword.into()),
            None => cx.clear(self.field),
        }
        if nonce.and(tag).is_none() {
            return Verdict::Continue;
        }
        if !cx.is_dry() {
            self.evaluations += 1;
            self.tries += tried;
        }
        // Neither the tag that would be right nor a trapdoor is told.
        cx.say(|| match keyword {
            Some(keyword) => format!("the tag is of keyword {keyword}"),
            None => format!("the tag is of none of {tried} keywords"),
        });
        Verdict::Continue
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        if row == BLIND_STATUS {
            let args = vec![
                self.predicates.len() as u64,
                self.trapdoors() as u64,
                self.evaluations,
                self.tries,
            ];
            let row = &VALUES[BLIND_STATUS_REPLY];
            cx.reply(ExtValue::new(row, args, Bytes::default()));
            return Ok(());
        }
        let table = value.body::<PredicateMod>().map(|change| change.table);
        if table.is_some_and(|table| usize::from(table) >= cx.tables().len()) {
            return Err(BadRequest::BAD_TABLE_ID);
        }
        self.change(row, value)?;
        self.generation += 1;
        Ok(())
    }

    fn on_multipart(
        &mut self,
        _: &mut ControlContext<'_>,
        row: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        if row != BLIND_KEYWORDS {
            return Err(BadRequest::BAD_EXP_TYPE);
        }
        let (list, next) = self.part(from);
        let value = Some(ExtValue::typed(request.row, ValueList(list)));
        Ok(ReplyPart { value, next })
    }

    fn metrics(&self, _: Time, _: u64, list: &mut Vec<Metric>) -> Option<u64> {
        let trapdoors = self.trapdoors() as u64;
        let evaluations = "How often the keyword of a packet's tag was looked up";
        let tries = "How many trapdoors were tried for that";
        let (gauge, counter) = (MetricKind::Gauge, MetricKind::Counter);
        list.extend([
            Metric::only("trapdoors", "Trapdoors of all tables", gauge, trapdoors),
            Metric::only("evaluations", evaluations, counter, self.evaluations),
            Metric::only("tries", tries, counter, self.tries),
        ]);
        None
    }
}

#[cfg(test)]
mod tests;
