//! A profile: the tables of another switch with their features, read from a TOML file and checked.
//!
//! There is a key for each property of OpenFlow's table features, with `-` for `_`. A list that is
//! left out is the longest possible one; but `wildcards` is then as `match`, and a list for the
//! table-miss entry as that for other entries. Spec: OpenFlow 1.3.5 section 7.3.5.5.2.

use std::path::Path;

use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::instruction::INSTRUCTIONS;
use bofuss_oflib::message::multipart::table_features::{
    FieldId, PROPERTIES, PropertyList, TableFeatureSet, TypeId,
};
use bofuss_oflib::message::multipart::{TableFeatures, TableProperty};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, Version};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Result, context};

/// The keys of a table that are no properties.
const OTHER_KEYS: &str = "id, name, max-entries, metadata-match, metadata-write";

/// The tables of a profile, with the lists that were given.
#[derive(Clone, Debug)]
pub struct Profile(Vec<TableFeatureSet>);

/// An error, and the byte of the file at which it is.
type Wrong = (usize, String);

impl Profile {
    /// Reads a profile. Errors: the file, the line, the key, and what would be right.
    pub fn read(path: &Path, catalogue: &Catalogue) -> Result<Self> {
        let text = bofuss_channel::read_text(path).map_err(context(path.display()))?;
        let file = DeTable::parse(&text).map_err(context(path.display()))?;
        Self::of(file.get_ref(), catalogue).map_err(|(at, what)| {
            let line = text[..at].matches('\n').count() + 1;
            format!("{}: line {line}: {what}", path.display()).into()
        })
    }

    fn of(file: &DeTable<'_>, catalogue: &Catalogue) -> Result<Self, Wrong> {
        let mut tables: Vec<TableFeatureSet> = Vec::new();
        let mut nexts: Vec<(TableId, usize, TableId)> = Vec::new();
        for (key, value) in file {
            let at = key.span().start;
            let list = value
                .get_ref()
                .as_array()
                .filter(|_| key.get_ref() == "table")
                .ok_or((at, format!("{}: a profile has [[table]]s", key.get_ref())))?;
            for value in list.iter() {
                let at = value.span().start;
                let value = value.get_ref();
                let Some(keys) = value.as_table() else {
                    return Err((at, "table: it is [[table]]".into()));
                };
                let table = table_of(keys, at, catalogue, &mut nexts)?;
                let id = table.table_id;
                if tables.iter().any(|other| other.table_id == id) {
                    return Err((at, format!("id: there is a table {id} already")));
                }
                tables.push(table);
            }
        }
        let profile = Self(tables);
        if !profile.has_table(TableId(0)) {
            return Err((0, "id: packets begin in table 0, but there is none".into()));
        }
        for (table, at, next) in nexts {
            if next <= table || !profile.has_table(next) {
                let what = format!("next-tables: {next} is no table after table {table}");
                return Err((at, what));
            }
        }
        Ok(profile)
    }

    fn has_table(&self, id: TableId) -> bool {
        self.0.iter().any(|table| table.table_id == id)
    }

    /// The number of tables that a switch with this profile needs.
    pub fn n_tables(&self) -> u8 {
        let last = self.0.iter().map(|table| table.table_id.0).max();
        last.map_or(1, |last| last + 1)
    }

    /// The features of the tables. What was left out is completed from `all`, the features of a
    /// switch without a profile.
    pub fn tables(&self, all: &[TableFeatures]) -> Vec<TableFeatures> {
        let mut completed = Vec::new();
        for given in &self.0 {
            let mut table = given.clone();
            if let Some(full) = all.iter().find(|one| one.0.table_id == given.table_id) {
                let properties = full.0.properties.iter();
                table.properties = properties
                    .filter_map(|most| self.property(given, most))
                    .collect();
            }
            completed.push(TableFeatures(table));
        }
        completed
    }

    /// A property of `table`: as it was given, or else its default, of which `most` is the longest
    /// list. `None` for a list of the table-miss entry that is as that for other entries.
    fn property(&self, table: &TableFeatureSet, most: &TableProperty) -> Option<TableProperty> {
        let ty = most.ty;
        let (_, name, ..) = PROPERTIES.iter().find(|row| row.0 == ty)?;
        if let Some(given) = given(table, ty) {
            return Some(given.clone());
        }
        if *name == "wildcards" {
            // Their type is that of match plus two.
            let like = given(table, ty - 2).unwrap_or(most);
            return Some(TableProperty { ty, ..like.clone() });
        }
        // A list for the table-miss entry has an odd type: that of the list for other entries, plus
        // one.
        if ty & 1 == 1 && given(table, ty - 1).is_some() {
            return None;
        }
        let list = match &most.list {
            PropertyList::Tables(later) => {
                let later = later.iter().copied();
                PropertyList::Tables(later.filter(|next| self.has_table(*next)).collect())
            }
            other @ (PropertyList::Types(_)
            | PropertyList::Fields(_)
            | PropertyList::Values(_)
            | PropertyList::Experimenter(..)) => other.clone(),
        };
        Some(TableProperty { ty, list })
    }
}

/// The property of this type that the profile gives a table.
fn given(table: &TableFeatureSet, ty: u16) -> Option<&TableProperty> {
    table.properties.iter().find(|one| one.ty == ty)
}

fn table_of(
    keys: &DeTable<'_>,
    at: usize,
    catalogue: &Catalogue,
    nexts: &mut Vec<(TableId, usize, TableId)>,
) -> Result<TableFeatureSet, Wrong> {
    let Some(given_id) = keys.get("id") else {
        return Err((at, "id: the table has none".into()));
    };
    let id = table_id(given_id, "id")?;
    let mut table = TableFeatureSet {
        table_id: id,
        name: format!("table{id}").as_str().into(),
        metadata_match: u64::MAX,
        metadata_write: u64::MAX,
        ..TableFeatureSet::default()
    };
    for (key, value) in keys {
        let at = key.span().start;
        let key = key.get_ref().as_ref();
        match key {
            "id" => {}
            "name" => {
                let name = value
                    .get_ref()
                    .as_str()
                    .filter(|name| name.len() < 32)
                    .ok_or((at, "name: text of at most 31 bytes".to_string()))?;
                table.name = name.into();
            }
            "max-entries" => table.max_entries = number(value, key, u32::MAX.into())? as u32,
            "metadata-match" => table.metadata_match = number(value, key, u64::MAX)?,
            "metadata-write" => table.metadata_write = number(value, key, u64::MAX)?,
            key => {
                // Only properties of 1.3: the one of 1.4 names tables that follow changes of
                // others, and none does.
                let properties = PROPERTIES
                    .iter()
                    .filter(|row| row.2 != 'e' && row.3.has(Version::V1_3));
                let row = properties
                    .clone()
                    .find(|row| row.1.replace('_', "-") == key);
                let Some(&(ty, name, kind, _)) = row else {
                    let keys: Vec<_> = properties.map(|row| row.1.replace('_', "-")).collect();
                    let known = keys.join(", ");
                    let what = format!("{key}: no such key; there are {OTHER_KEYS}, {known}");
                    return Err((at, what));
                };
                let items = value
                    .get_ref()
                    .as_array()
                    .ok_or((at, format!("{key}: a list, as [\"...\"]")))?;
                let list = list(kind, name, key, items.iter(), catalogue)?;
                if let PropertyList::Tables(tables) = &list {
                    nexts.extend(tables.iter().map(|next| (id, at, *next)));
                }
                table.properties.push(TableProperty { ty, list });
            }
        }
    }
    Ok(table)
}

/// The items of a list: instructions, actions, tables or fields.
fn list<'a>(
    kind: char,
    name: &str,
    key: &str,
    items: impl Iterator<Item = &'a Spanned<DeValue<'a>>>,
    catalogue: &Catalogue,
) -> Result<PropertyList, Wrong> {
    Ok(match kind {
        'i' => {
            let types = items.map(|item| instruction(item, key, catalogue));
            PropertyList::Types(types.collect::<Result<_, _>>()?)
        }
        'a' => {
            let types = items.map(|item| action(item, key, catalogue));
            PropertyList::Types(types.collect::<Result<_, _>>()?)
        }
        't' => {
            let tables = items.map(|item| table_id(item, key));
            PropertyList::Tables(tables.collect::<Result<_, _>>()?)
        }
        _ => {
            let set = name.contains("setfield");
            let fields = items.map(|item| field(item, key, set, catalogue));
            PropertyList::Fields(fields.collect::<Result<_, _>>()?)
        }
    })
}

fn instruction(
    item: &Spanned<DeValue<'_>>,
    key: &str,
    catalogue: &Catalogue,
) -> Result<TypeId, Wrong> {
    let word = text(item, key)?;
    let mut rows = INSTRUCTIONS.iter();
    let row = rows.find(|row| row.name.replace('_', "-") == word);
    let number = row.map(|row| row.number);
    let found = type_id(number, ExtKind::Instruction, word, catalogue);
    found.ok_or_else(|| wrong(item, format!("{key}: there is no instruction '{word}'")))
}

fn action(item: &Spanned<DeValue<'_>>, key: &str, catalogue: &Catalogue) -> Result<TypeId, Wrong> {
    let word = text(item, key)?;
    let name = word.replace('-', "_");
    let mut rows = ACTIONS.iter();
    let row = rows.find(|row| row.name == name || row.aliases.contains(&&*name));
    let number = row.map(|row| row.number);
    let found = type_id(number, ExtKind::Action, word, catalogue);
    found.ok_or_else(|| wrong(item, format!("{key}: there is no action '{word}'")))
}

/// The type of this number, or that of an extension's value with this name.
fn type_id(
    number: Option<u16>,
    kind: ExtKind,
    name: &str,
    catalogue: &Catalogue,
) -> Option<TypeId> {
    if let Some(ty) = number {
        return Some(TypeId {
            ty,
            experimenter: 0,
        });
    }
    let row = catalogue.values(kind).find(|row| row.name == name)?;
    Some(TypeId {
        ty: 0xffff,
        experimenter: row.experimenter,
    })
}

/// A field, or with `/mask` its masked form; `set` if the list is of fields that an action sets.
fn field(
    item: &Spanned<DeValue<'_>>,
    key: &str,
    set: bool,
    catalogue: &Catalogue,
) -> Result<FieldId, Wrong> {
    let word = text(item, key)?;
    let name = word.strip_suffix("/mask").unwrap_or(word);
    let masked = name != word;
    let what = match catalogue.field_named(name) {
        None => "there is no field",
        Some(field) if set && (masked || !field.settable) => "nothing can set",
        Some(field) if masked && !field.maskable => "no mask is defined for",
        Some(field) => return Ok(FieldId::Known(field, masked)),
    };
    Err(wrong(item, format!("{key}: {what} '{word}'")))
}

fn table_id(item: &Spanned<DeValue<'_>>, key: &str) -> Result<TableId, Wrong> {
    let id = number(item, key, u64::from(TableId::MAX.0) - 1)?;
    Ok(TableId(id as u8))
}

fn text<'a>(item: &'a Spanned<DeValue<'_>>, key: &str) -> Result<&'a str, Wrong> {
    let text = item.get_ref().as_str();
    text.ok_or_else(|| wrong(item, format!("{key}: names in quotes")))
}

fn number(item: &Spanned<DeValue<'_>>, key: &str, most: u64) -> Result<u64, Wrong> {
    let digits = item.get_ref().as_integer();
    let parsed = digits.and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
    let number = parsed.filter(|number| *number <= most);
    number.ok_or_else(|| wrong(item, format!("{key}: a number from 0 to {most}")))
}

fn wrong(item: &Spanned<DeValue<'_>>, what: String) -> Wrong {
    (item.span().start, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bofuss_datapath::{Config, Time};
    use bofuss_fastpath::Datapath;
    use bofuss_frame::{Frame, Pool};
    use bofuss_oflib::ErrorCode;
    use bofuss_oflib::error::{BadAction, BadInstruction, BadMatch};
    use bofuss_oflib::message::FlowModCommand;
    use bofuss_oflib::text::parse_flow;

    fn example() -> Datapath {
        let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/profile.toml");
        let profile = Profile::read(Path::new(profile), &bofuss_ext::catalogue())
            .expect("the example is right");
        let config = Config {
            n_tables: profile.n_tables(),
            ..Config::default()
        };
        let mut datapath =
            Datapath::new(config, bofuss_ext::catalogue().into(), Pool::new(1 << 16));
        let tables = profile.tables(&datapath.shape().features());
        datapath.set_profile(&tables).expect("the example can be");
        datapath
    }

    #[test]
    fn a_switch_takes_the_shape_of_its_profile() {
        let mut datapath = example();
        let told = datapath.shape().features();
        let told: Vec<_> = told.iter().map(|one| &one.0).collect();
        let ids: Vec<u8> = told.iter().map(|table| table.table_id.0).collect();
        assert_eq!(ids, [0, 10, 20, 30, 40, 50, 60]);
        assert_eq!(
            (told[1].name.0.as_str(), told[1].max_entries),
            ("vlan", 4096)
        );
        let mut add = |flow: &str| {
            let flow = parse_flow(flow, FlowModCommand::ADD, &bofuss_ext::catalogue());
            let flow = flow.expect("it is a flow");
            datapath
                .control(Time(0), &mut Vec::<Frame>::new())
                .flow_mod(&flow)
        };
        let cases: [(&str, Result<(), ErrorCode>); 9] = [
            ("table=0,in_port=1,actions=goto_table:10", Ok(())),
            (
                "table=0,in_port=1,actions=goto_table:20",
                Err(BadInstruction::BAD_TABLE_ID),
            ),
            (
                "table=0,in_port=1,actions=output:2",
                Err(BadInstruction::UNSUP_INST),
            ),
            (
                "table=10,in_port=1,actions=goto_table:20",
                Err(BadMatch::BAD_WILDCARDS),
            ),
            (
                "table=10,in_port=1,vlan_vid=0x1007/0x1fff,actions=pop_vlan,goto_table:20",
                Ok(()),
            ),
            (
                "table=20,priority=1,ip,dl_dst=02:00:00:00:00:01,actions=goto_table:50",
                Err(BadInstruction::BAD_TABLE_ID),
            ),
            ("table=20,priority=0,actions=goto_table:50", Ok(())),
            (
                "table=30,ip,nw_dst=10.0.0.0/8,actions=write_actions(set_field:1->ip_dscp)",
                Err(BadAction::BAD_SET_TYPE),
            ),
            (
                "table=50,vlan_vid=0x1007,in_port=1,actions=",
                Err(BadMatch::BAD_FIELD),
            ),
        ];
        for (flow, wanted) in cases {
            assert_eq!(add(flow), wanted, "{flow}");
        }
    }

    #[test]
    fn what_is_not_named_is_the_longest_that_there_is() {
        let datapath = example();
        let told = datapath.shape().features();
        let list = |table: usize, ty: u16| {
            let mut properties = told[table].0.properties.iter();
            &properties
                .find(|one| one.ty == ty)
                .expect("it is told")
                .list
        };
        // The first table may write every action, and its wildcards are its match.
        assert!(matches!(list(0, 4), PropertyList::Types(list) if list.len() > 10));
        assert_eq!(list(0, 8), list(0, 10));
        // The last has no later table.
        assert_eq!(list(6, 2), &PropertyList::Tables(Vec::new()));
        // What the table-miss entry may is what the others may, unless it says.
        assert_eq!(list(0, 2), list(0, 3));
        assert_ne!(list(2, 2), list(2, 3));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_key() {
        let cases = [
            ("[[tables]]\nid = 0", "tables: a profile has [[table]]s"),
            ("table = [1]", "table: it is [[table]]"),
            ("[[table]]\nname = 'x'", "id: the table has none"),
            ("[[table]]\nid = 254", "id: a number from 0 to 253"),
            ("[[table]]\nid = 1", "id: packets begin in table 0"),
            (
                "[[table]]\nid = 0\n[[table]]\nid = 0",
                "id: there is a table 0 already",
            ),
            (
                "[[table]]\nid = 0\nsize = 3",
                "size: no such key; there are id,",
            ),
            ("[[table]]\nid = 0\nmatch = 'x'", "match: a list"),
            ("[[table]]\nid = 0\nmatch = [1]", "match: names in quotes"),
            (
                "[[table]]\nid = 0\nmatch = ['x']",
                "match: there is no field 'x'",
            ),
            (
                "[[table]]\nid = 0\nmatch = ['tcp_dst/mask']",
                "match: no mask is defined for",
            ),
            (
                "[[table]]\nid = 0\napply-setfield = ['in_port']",
                "apply-setfield: nothing can set",
            ),
            (
                "[[table]]\nid = 0\ninstructions = ['x']",
                "instructions: there is no instruction",
            ),
            (
                "[[table]]\nid = 0\nwrite-actions = ['x']",
                "write-actions: there is no action 'x'",
            ),
            (
                "[[table]]\nid = 0\nnext-tables = [0]",
                "next-tables: 0 is no table after table 0",
            ),
            (
                "[[table]]\nid = 0\nnext-tables = [9]",
                "next-tables: 9 is no table after table 0",
            ),
            (
                "[[table]]\nid = 0\nmax-entries = -1",
                "max-entries: a number from 0 to",
            ),
            (
                "[[table]]\nid = 0\nname = 3",
                "name: text of at most 31 bytes",
            ),
        ];
        for (text, wanted) in cases {
            let file = DeTable::parse(text).expect("it is TOML");
            let (at, what) = Profile::of(file.get_ref(), &bofuss_ext::catalogue()).expect_err(text);
            assert!(what.starts_with(wanted), "{text}: {what}");
            assert!(at <= text.len());
        }
    }
}
