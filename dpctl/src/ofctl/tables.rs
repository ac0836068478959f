//! Prints the counters and features of tables as ovs-ofctl does.

use std::collections::BTreeSet;

use bofuss_oflib::Version;
use bofuss_oflib::message::multipart::TableStats;
use bofuss_oflib::message::multipart::table_features::{PropertyList, TableFeatureSet};
use bofuss_oflib::message::table_mod::{TableConfig, TableMiss};
use bofuss_oflib::wire::OneLine;

use super::action_names::{SETTERS, action_names};
use super::field_names::{FieldNames, Fields};

/// ovs-ofctl's order of instructions, by their type.
const INSTRUCTIONS: &[(u16, &str)] = &[
    (6, "meter"),
    (4, "apply_actions"),
    (5, "clear_actions"),
    (3, "write_actions"),
    (2, "write_metadata"),
    (7, "stat_trigger"),
    (1, "goto_table"),
];

/// The types of the properties in TABLE_FEATURES (7.3.5.5.2 of 1.3.5). If entries with a match and
/// the table-miss entry differ, the next type is that of the table-miss entry.
const INSTRUCTION_TYPES: u16 = 0;
const NEXT_TABLES: u16 = 2;
const WRITE_ACTIONS: u16 = 4;
const APPLY_ACTIONS: u16 = 6;
const MATCH: u16 = 8;
const WILDCARDS: u16 = 10;
const WRITE_SETFIELD: u16 = 12;
const APPLY_SETFIELD: u16 = 14;

/// The list in a table's property of this type.
fn property(table: &TableFeatureSet, ty: u16) -> Option<&PropertyList> {
    let found = table.properties.iter().find(|one| one.ty == ty);
    found.map(|one| &one.list)
}

/// The types of actions or instructions in a list; none if it is not there.
fn types(list: Option<&PropertyList>) -> BTreeSet<u16> {
    if let Some(PropertyList::Types(list)) = list {
        list.iter().map(|one| one.ty).collect()
    } else {
        BTreeSet::new()
    }
}

/// The kinds of entries, by what is added to the type of their properties.
#[derive(Clone, Copy)]
enum EntryKind {
    /// An entry with a match.
    Hit = 0,
    /// The table-miss entry.
    Miss = 1,
}

impl EntryKind {
    /// The list in the property of this kind; that of both kinds if it is not there.
    fn property(self, table: &TableFeatureSet, ty: u16) -> Option<&PropertyList> {
        property(table, ty + self as u16).or_else(|| property(table, ty))
    }
}

/// The features of a list of actions.
#[derive(Default, PartialEq, Eq)]
struct ActionFeatures {
    /// The types of actions.
    types: BTreeSet<u16>,
    /// The fields that set-field may write.
    set_fields: Fields,
}

impl ActionFeatures {
    fn text(&self, title: &str, names: &FieldNames) -> String {
        let actions = action_names(|ty| self.types.contains(&ty));
        let mut text = format!("      {title} features:\n        actions: {actions}\n");
        if !self.set_fields.is_empty() {
            let fields = names.text(&self.set_fields);
            text += &format!("        supported on Set-Field: {fields}\n");
        }
        text
    }
}

/// The features of one kind of entries.
#[derive(Default, PartialEq, Eq)]
struct EntryFeatures {
    next: BTreeSet<u8>,
    instructions: BTreeSet<u16>,
    write: ActionFeatures,
    apply: ActionFeatures,
}

impl EntryFeatures {
    fn new(table: &TableFeatureSet, kind: EntryKind, names: &FieldNames) -> Self {
        let mut next = BTreeSet::new();
        if let Some(PropertyList::Tables(list)) = kind.property(table, NEXT_TABLES) {
            next.extend(list.iter().map(|one| one.0));
        }
        Self {
            next,
            instructions: types(kind.property(table, INSTRUCTION_TYPES)),
            write: ActionFeatures {
                types: types(kind.property(table, WRITE_ACTIONS)),
                set_fields: names.find(kind.property(table, WRITE_SETFIELD)).all,
            },
            apply: ActionFeatures {
                types: types(kind.property(table, APPLY_ACTIONS)),
                set_fields: names.find(kind.property(table, APPLY_SETFIELD)).all,
            },
        }
    }

    /// The same in the terms of OpenFlow 1.1: an action for each field instead of one set-field.
    fn with_setters(mut self, names: &FieldNames) -> Self {
        for actions in [&mut self.write, &mut self.apply] {
            for (number, _, field) in SETTERS {
                let place = names.place(field);
                if place.is_some_and(|place| actions.set_fields.contains(&place)) {
                    actions.types.insert(*number);
                }
            }
            actions.set_fields.clear();
        }
        self
    }

    /// Returns true if both have the same features. Next tables up to table `later` are ignored,
    /// because a table can only go to those after it.
    fn equals(&self, other: &Self, later: u8) -> bool {
        let ours = self.next.iter().filter(|id| **id > later);
        let theirs = other.next.iter().filter(|id| **id > later);
        ours.eq(theirs) && self.instructions == other.instructions && self.has_actions_of(other)
    }

    fn has_actions_of(&self, other: &Self) -> bool {
        self.write == other.write && self.apply == other.apply
    }

    /// The text, with references to the same kind of entries in the table before.
    fn text(&self, before: Option<&Self>, names: &FieldNames) -> String {
        let mut text = String::new();
        if !self.next.is_empty() {
            text += &format!("      next tables: {}\n", ranges(&self.next));
        }
        if self.instructions.is_empty() {
        } else if before.is_some_and(|kind| kind.instructions == self.instructions) {
            text += "      (same instructions)\n";
        } else {
            let known: Vec<&str> = INSTRUCTIONS
                .iter()
                .filter(|row| self.instructions.contains(&row.0))
                .map(|row| row.1)
                .collect();
            text += &format!("      instructions: {}\n", known.join(" "));
        }
        let has_fields = !self.write.set_fields.is_empty();
        if has_fields && before.is_some_and(|kind| kind.has_actions_of(self)) {
            text + "      (same actions)\n"
        } else if self.write != self.apply {
            text + &self.write.text("Write-Actions", names)
                + &self.apply.text("Apply-Actions", names)
        } else if self.write != ActionFeatures::default() {
            text + &self.write.text("Write-Actions and Apply-Actions", names)
        } else {
            text
        }
    }
}

/// Numbers as ranges: `1-3,5`.
fn ranges(numbers: &BTreeSet<u8>) -> String {
    let numbers: Vec<u8> = numbers.iter().copied().collect();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        run => run[0].to_string(),
    })
    .collect::<Vec<_>>()
    .join(",")
}

/// The features of a table.
struct TableAbilities {
    table: u8,
    /// The bits of the metadata that can be matched and written.
    metadata: (u64, u64),
    /// The fate of a miss, in the versions whose statistics report it (1.1 and 1.2).
    config: Option<&'static str>,
    /// Its support of eviction and vacancy events, in the versions that report it (since 1.4).
    fills: Option<TableConfig>,
    max_entries: u32,
    hit: EntryFeatures,
    miss: EntryFeatures,
    matched: Fields,
    masked: Fields,
    wild: Fields,
}

impl TableAbilities {
    /// The features in a table's TABLE_FEATURES.
    fn from_features(table: &TableFeatureSet, names: &FieldNames) -> Self {
        let matching = names.find(property(table, MATCH));
        Self {
            table: table.table_id.0,
            metadata: (table.metadata_match, table.metadata_write),
            config: None,
            fills: None,
            max_entries: table.max_entries,
            hit: EntryFeatures::new(table, EntryKind::Hit, names),
            miss: EntryFeatures::new(table, EntryKind::Miss, names),
            matched: matching.all,
            masked: matching.masked,
            wild: names.find(property(table, WILDCARDS)).all,
        }
    }

    /// The features in a table's statistics, which have some before OpenFlow 1.3.
    fn from_statistics(version: Version, table: &TableStats, names: &FieldNames) -> Self {
        let mut this = Self::from_features(&table.features, names);
        this.table = table.table_id.0;
        if version < Version::V1_2 {
            for fields in [&mut this.wild, &mut this.matched] {
                names.use_older(fields);
            }
        }
        if version == Version::V1_0 {
            this.matched = this.wild.clone();
        } else if version.table_stats_have_features() {
            let miss = TableMiss::CONTROLLER.0 + (table.features.config & TableMiss::MASK);
            this.config = TableMiss(miss).name();
        }
        if version == Version::V1_1 {
            this.hit = this.hit.with_setters(names);
            this.miss = this.miss.with_setters(names);
        }
        this
    }

    /// Returns true if the switch has reported anything for this table.
    fn is_reported(&self) -> bool {
        self.max_entries != 0 || !self.matched.is_empty()
    }

    fn same_kinds(&self, other: &Self) -> bool {
        let later = self.table.max(other.table);
        self.hit.equals(&other.hit, later) && self.miss.equals(&other.miss, later)
    }

    fn same_matching(&self, other: &Self) -> bool {
        (&self.matched, &self.masked, &self.wild) == (&other.matched, &other.masked, &other.wild)
    }

    fn equals(&self, other: &Self) -> bool {
        (self.metadata, self.config, self.fills, self.max_entries)
            == (other.metadata, other.config, other.fills, other.max_entries)
            && self.same_kinds(other)
            && self.same_matching(other)
    }

    /// The text, with references to the table before.
    fn text(&self, before: Option<&Self>, names: &FieldNames) -> String {
        let mut text = String::new();
        if self.metadata != (0, 0) {
            let (matched, written) = self.metadata;
            text += &format!("    metadata: match={matched:#x} write={written:#x}\n");
        }
        if let Some(config) = self.config {
            text += &format!("    config={config}\n");
        }
        if let Some(fills) = self.fills {
            text += &super::filling::abilities(fills);
        }
        if self.max_entries != 0 {
            text += &format!("    max_entries={}\n", self.max_entries);
        }
        let hit = before.map(|table| &table.hit);
        let miss = before.map(|table| &table.miss);
        if self.hit == EntryFeatures::default() && self.miss == EntryFeatures::default() {
        } else if before.is_some_and(|table| table.same_kinds(self)) {
            text += "    (same instructions)\n";
        } else if self.hit != self.miss {
            text += "    instructions (other than table miss):\n";
            text += &self.hit.text(hit, names);
            text += "    instructions (table miss):\n";
            text += &self.miss.text(miss, names);
        } else {
            text += "    instructions (table miss and others):\n";
            text += &self.hit.text(hit, names);
        }
        if self.matched.is_empty() {
            return text;
        }
        if before.is_some_and(|table| table.same_matching(self)) {
            return text + "    (same matching)\n";
        }
        let exact: Fields = self.matched.difference(&self.masked).copied().collect();
        text += "    matching:\n";
        for (title, fields) in [
            ("arbitrary mask", self.masked.clone()),
            ("exact match or wildcard", &exact & &self.wild),
            ("must exact match", &exact - &self.wild),
        ] {
            if !fields.is_empty() {
                text += &format!("      {title}: {}\n", names.text(&fields));
            }
        }
        text
    }
}

/// A table, as it is printed.
struct PrintedTable<'a> {
    name: &'a str,
    /// The counters, if the reply has them.
    stats: Option<&'a TableStats>,
    abilities: TableAbilities,
}

impl PrintedTable<'_> {
    /// The counters, in the order of output: active entries, lookups, matches.
    fn figures(&self) -> Option<[u64; 3]> {
        let stats = self.stats?;
        let active = stats.active_count.into();
        Some([active, stats.lookup_count, stats.matched_count])
    }
}

/// The text of tables: of each its name, counters if known, and features. Tables equal to the one
/// before are abbreviated.
fn tables(list: &[PrintedTable<'_>], names: &FieldNames) -> String {
    let mut text = String::new();
    let mut same: Vec<u8> = Vec::new();
    for (i, table) in list.iter().enumerate() {
        let PrintedTable {
            name, abilities, ..
        } = table;
        let before = i.checked_sub(1).map(|i| &list[i]);
        let same_abilities = before.is_some_and(|one| one.abilities.equals(abilities));
        let same_figures = before.is_some_and(|one| one.figures() == table.figures());
        let is_ditto = same_abilities && same_figures;
        if is_ditto && name.is_empty() {
            same.push(abilities.table);
            continue;
        }
        text += &dittos(&mut same);
        text += &format!("\n  table {}", abilities.table);
        if !name.is_empty() {
            text += &format!(" (\"{}\")", OneLine(name));
        }
        text.push(':');
        if is_ditto {
            text += " ditto";
            continue;
        }
        text.push('\n');
        if let Some([active, lookup, matched]) = table.figures() {
            text += &format!("    active={active}, lookup={lookup}, matched={matched}\n");
        }
        if !same_abilities {
            text += &abilities.text(before.map(|one| &one.abilities), names);
        } else if table.stats.is_some() && abilities.is_reported() {
            text += "    (same features)\n";
        }
    }
    text + &dittos(&mut same)
}

/// The line for the tables `same`, which equal the one before them; empties the list.
fn dittos(same: &mut Vec<u8>) -> String {
    match *std::mem::take(same) {
        [] => String::new(),
        [one] => format!("\n  table {one}: ditto\n"),
        [first, .., last] => format!("\n  tables {first}...{last}: ditto\n"),
    }
}

/// The text of table statistics: counters, and before OpenFlow 1.3 features.
pub(super) fn statistics(version: Version, list: &[TableStats]) -> String {
    let names = FieldNames::new();
    let mut printed = Vec::new();
    for table in list {
        printed.push(PrintedTable {
            name: &table.features.name.0,
            stats: Some(table),
            abilities: TableAbilities::from_statistics(version, table, &names),
        });
    }
    format!("{}\n", tables(&printed, &names).trim_matches('\n'))
}

/// The text of table features.
pub(super) fn features(version: Version, list: &[&TableFeatureSet]) -> String {
    let names = FieldNames::new();
    let mut printed = Vec::new();
    for table in list {
        let mut abilities = TableAbilities::from_features(table, &names);
        abilities.fills = version.has_bundles().then_some(TableConfig(table.config));
        printed.push(PrintedTable {
            name: &table.name.0,
            stats: None,
            abilities,
        });
    }
    format!("{}\n", tables(&printed, &names).trim_start_matches('\n'))
}
