//! Match fields whose places a controller says while the switch runs. See README.md.

pub mod error;
mod wire;

pub use wire::FieldMap;

use alloc::string::{String, ToString};
use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};
use core::fmt;

use bofuss_datapath::{ControlContext, Hook, HookEffect, Metric, MetricKind, ReplyPart, Time};
use bofuss_oflib::catalogue::{MapError, Mapping};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{ExtKind, ExtRow};
use bofuss_oflib::text::{parse_mapping, parse_spare, write_mapping};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Field, Message};

use crate::common::list::ValueList;
use crate::common::saved::SavedExtension;
use error::{BAD_MAPPING, BAD_PLACE, ERRORS, EXPERIMENTER, IN_USE, MAPPED, NOT_MAPPED, TOO_MANY};

/// The spare rows: fields of 128 bits that no packet has until they are mapped.
pub static FIELDS: [Field; 8] = [
    Field::spare(EXPERIMENTER, 0, "spare0"),
    Field::spare(EXPERIMENTER, 1, "spare1"),
    Field::spare(EXPERIMENTER, 2, "spare2"),
    Field::spare(EXPERIMENTER, 3, "spare3"),
    Field::spare(EXPERIMENTER, 4, "spare4"),
    Field::spare(EXPERIMENTER, 5, "spare5"),
    Field::spare(EXPERIMENTER, 6, "spare6"),
    Field::spare(EXPERIMENTER, 7, "spare7"),
];

/// The message that changes mappings, and the multipart that lists them.
pub static VALUES: [ExtRow; 2] = [
    ExtRow::typed::<FieldMap>(ExtKind::Message, EXPERIMENTER, 1, "field_map")
        .that_changes()
        .with_error_names(ERRORS)
        .with_usage(
            "add,NAME=HEADER:BIT:BITS[,mask][,set][,shared][,FIELD=VALUE]|delete,NAME",
            "gives a spare match field a place in packets, or takes it away",
        ),
    ExtRow::typed::<ValueList<FieldMap>>(ExtKind::Multipart, EXPERIMENTER, 1, "field_maps")
        .with_usage(
            "",
            "prints where spare match fields are, as field_map takes it",
        ),
];

/// The index in [`VALUES`] of the list.
const FIELD_MAPS: usize = 1;

/// Mappings outlive a restart; entries and groups, which are given back later, need them.
pub const SAVED: SavedExtension = SavedExtension {
    request: || ExtValue::typed(&VALUES[FIELD_MAPS], ValueList::<FieldMap>(Vec::new())),
    messages,
    rows: &[&VALUES[0]],
    thing: None,
};

/// The messages that map again what a list names.
fn messages(reply: &ExtValue) -> Vec<ExtValue> {
    let list: Option<&ValueList<FieldMap>> = reply.body();
    let maps = list.into_iter().flat_map(|list| &list.0);
    maps.map(|map| ExtValue::typed(&VALUES[0], map.clone()))
        .collect()
}

/// The hook of this extension, without mappings.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(Fields::default())
}

/// The mappings of a switch.
#[derive(Default)]
struct Fields {
    /// By the id of the row.
    maps: BTreeMap<u8, (&'static Field, Mapping)>,
    /// Why the last change was refused.
    refused: String,
}

impl Fields {
    /// Maps a row. The mapping that it has changes nothing, so that a controller may say it again.
    fn add(&mut self, cx: &mut ControlContext<'_>, text: &str) -> Result<(), ErrorCode> {
        let read = parse_mapping(text, cx.catalogue());
        let (field, mapping) = read.map_err(|error| self.refuse(BAD_MAPPING, error.message))?;
        match self.maps.get(&field.id) {
            Some((_, known)) if *known == mapping => return Ok(()),
            Some(_) => return Err(self.refuse(MAPPED, text.into())),
            None => {}
        }
        self.map(cx, field, Some(mapping))?;
        self.maps.insert(field.id, (field, mapping));
        Ok(())
    }

    fn delete(&mut self, cx: &mut ControlContext<'_>, name: &str) -> Result<(), ErrorCode> {
        let read = parse_spare(name, cx.catalogue());
        let field = read.map_err(|error| self.refuse(BAD_MAPPING, error.message))?;
        if !self.maps.contains_key(&field.id) {
            return Err(self.refuse(NOT_MAPPED, name.into()));
        }
        if cx.uses(field) {
            return Err(self.refuse(IN_USE, name.into()));
        }
        self.map(cx, field, None)?;
        self.maps.remove(&field.id);
        Ok(())
    }

    /// Has the switch go on with another mapping of a row.
    fn map(
        &mut self,
        cx: &mut ControlContext<'_>,
        field: &Field,
        mapping: Option<Mapping>,
    ) -> Result<(), ErrorCode> {
        let mut catalogue = cx.catalogue().clone();
        match catalogue.map(field, mapping) {
            Ok(()) => {
                cx.set_catalogue(catalogue);
                Ok(())
            }
            Err(MapError::Place(why)) => Err(self.refuse(BAD_PLACE, why)),
            Err(MapError::Full) => Err(self.refuse(TOO_MANY, field.name.into())),
        }
    }

    /// Notes why a change is refused.
    fn refuse(&mut self, error: ErrorCode, why: String) -> ErrorCode {
        self.refused = why;
        error
    }
}

/// Shows a mapping as text.
struct Shown<'a>(&'a Field, &'a Mapping);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_mapping(self.0, self.1, f)
    }
}

impl Hook for Fields {
    fn name(&self) -> &'static str {
        "fields"
    }

    /// Packets have the fields by their rows.
    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::None
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        _: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        match value.body() {
            Some(FieldMap::Add(text)) => self.add(cx, text),
            Some(FieldMap::Delete(name)) => self.delete(cx, name),
            None => Err(BadRequest::BAD_EXP_TYPE),
        }
    }

    fn on_multipart(
        &mut self,
        _: &mut ControlContext<'_>,
        _: usize,
        request: &ExtValue,
        _: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        let maps = self.maps.values();
        let texts = maps.map(|(field, mapping)| Shown(field, mapping).to_string());
        let list = ValueList(texts.map(FieldMap::Add).collect());
        Ok(ReplyPart::last(ExtValue::typed(request.row, list)))
    }

    fn explain(&self, message: &Message, error: ErrorCode) -> Option<String> {
        let is_ours = matches!(message, Message::Experimenter(value) if value.row == &VALUES[0]);
        let is_refusal = is_ours && error.experimenter == EXPERIMENTER;
        is_refusal.then(|| self.refused.clone())
    }

    fn metrics(&self, _: Time, _: u64, list: &mut Vec<Metric>) -> Option<u64> {
        let mapped = self.maps.len() as u64;
        let help = "Spare match fields that have a place in packets";
        list.push(Metric::only("mapped", help, MetricKind::Gauge, mapped));
        None
    }
}

#[cfg(test)]
mod tests;
