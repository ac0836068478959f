//! TABLE_FEATURES in scenarios: the words of a request, the line of a reply.

use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::instruction::INSTRUCTIONS;
use bofuss_oflib::message::multipart::table_features::{
    FieldId, PROPERTIES, PropertyList, TableFeatureFlags, TypeId,
};
use bofuss_oflib::message::multipart::{TableFeatures, TableProperty};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::{Bytes, TextForm};
use bofuss_oflib::{Catalogue, Version};

/// The property of packet types, and how many the switch has.
const PACKET_TYPES: u16 = 22;
const N_PACKET_TYPES: usize = 3;
/// Properties of fields to copy to.
const COPIED: [u16; 4] = [18, 19, 20, 21];
/// The longest list that is written in full.
const FEW: usize = 4;

fn number<T: TryFrom<u64, Error: std::fmt::Debug>>(text: &str) -> T {
    let digits = text.strip_prefix("0x");
    let number = digits.map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16));
    number.unwrap().try_into().unwrap()
}

/// The list of a property of this kind, from words.
fn list(kind: char, words: &str, catalogue: &Catalogue) -> PropertyList {
    let words = words.split(',').filter(|word| !word.is_empty());
    let row = |name: &str| match kind {
        'i' => INSTRUCTIONS
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.number),
        _ => ACTIONS
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.number),
    };
    let ty = |name: &str| TypeId {
        ty: row(name).unwrap_or_else(|| number(name)),
        experimenter: 0,
    };
    let field = |word: &str| match word.strip_prefix("oxm:") {
        Some(header) => FieldId::Unknown(number(header), 0),
        None => {
            let name = word.trim_end_matches("/mask");
            FieldId::Known(catalogue.field_named(name).unwrap(), name != word)
        }
    };
    match kind {
        'i' | 'a' => PropertyList::Types(words.map(ty).collect()),
        't' => PropertyList::Tables(words.map(|word| TableId(number(word))).collect()),
        'f' => PropertyList::Fields(words.map(field).collect()),
        _ => PropertyList::Experimenter(1, 2, Bytes::default()),
    }
}

/// Tables from words: `NUMBER KEY=VALUE...`, with a bar between them. What is not named is as in
/// `present`, or after `all=` as in `first`.
pub fn request(
    words: &[&str],
    first: &[TableFeatures],
    present: &[TableFeatures],
    catalogue: &Catalogue,
) -> Vec<TableFeatures> {
    let table = |words: &[&str]| {
        let table_id = TableId(number(words[0]));
        let same = present.iter().find(|one| one.0.table_id == table_id);
        let mut table = same.unwrap_or(&present[0]).clone().0;
        table.table_id = table_id;
        for word in &words[1..] {
            let (key, value) = word.split_once('=').unwrap();
            let ty = |name: &str| PROPERTIES.iter().find(|row| row.1 == name).unwrap();
            match key {
                "name" => table.name = value.into(),
                "features" => table.features.0 = number(value),
                "command" => table.command.0 = number(value),
                "max" => table.max_entries = number(value),
                "config" => table.config = number(value),
                "metadata_match" => table.metadata_match = number(value),
                "metadata_write" => table.metadata_write = number(value),
                "all" => {
                    let first = first.iter().find(|one| one.0.table_id == table_id);
                    table = first.unwrap().clone().0;
                }
                "only" if value.is_empty() => table.properties.clear(),
                "without" => table.properties.retain(|one| one.ty != ty(value).0),
                "twice" => {
                    let again = table.properties.iter().find(|one| one.ty == ty(value).0);
                    let again = again.unwrap().clone();
                    table.properties.push(again);
                }
                _ => {
                    let &(ty, _, kind, _) = ty(key);
                    let of_miss = kind != 'e' && ty & 1 == 0;
                    let replaced = |one: u16| one == ty || of_miss && one == ty + 1;
                    table.properties.retain(|one| !replaced(one.ty));
                    let list = list(kind, value, catalogue);
                    table.properties.push(TableProperty { ty, list });
                }
            }
        }
        // Versions before 1.5 cannot name the properties of 1.5; those that are left out stay.
        table.properties.retain(|one| {
            let row = PROPERTIES.iter().find(|row| row.0 == one.ty).unwrap();
            let is_named = words
                .iter()
                .any(|word| word.split('=').next() == Some(row.1));
            is_named || row.3.has(Version::V1_4)
        });
        TableFeatures(table)
    };
    words.split(|word| *word == "|").map(table).collect()
}

/// A property as text.
struct Shown<'a>(&'a TableProperty);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.text(f)
    }
}

/// Returns how many things a property lists.
fn n_listed(list: &PropertyList) -> usize {
    match list {
        PropertyList::Types(list) => list.len(),
        PropertyList::Tables(list) => list.len(),
        PropertyList::Fields(list) => list.len(),
        PropertyList::Values(list) => list.len(),
        PropertyList::Experimenter(..) => 0,
    }
}

/// The line for a table of a reply. Lists of more than four are "many"; lists of the table-miss
/// entry are written where they differ, packet types if not all, fields to copy to if few.
pub fn line(TableFeatures(table): &TableFeatures) -> String {
    let find = |ty: u16| table.properties.iter().find(|one| one.ty == ty);
    let mut line = format!(
        "table {} {} max={} config={} metadata={:#x}/{:#x}",
        table.table_id,
        table.name.0,
        table.max_entries,
        table.config,
        table.metadata_match,
        table.metadata_write
    );
    if table.features.has(TableFeatureFlags::FIRST_EGRESS) {
        line += " first_egress";
    }
    for one in &table.properties {
        let regular = find(one.ty & !1).filter(|regular| regular.ty != one.ty);
        let is_all_types = one.ty == PACKET_TYPES && n_listed(&one.list) == N_PACKET_TYPES;
        let is_usual = COPIED.contains(&one.ty) && n_listed(&one.list) > FEW;
        if is_all_types || is_usual || regular.is_some_and(|regular| regular.list == one.list) {
            continue;
        }
        let name = PROPERTIES.iter().find(|row| row.0 == one.ty).unwrap().1;
        line += &match n_listed(&one.list) {
            0..=FEW => format!(" {}", Shown(one)).replace("; ", ","),
            _ => format!(" {name}=many"),
        };
    }
    line
}
