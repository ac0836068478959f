//! A P4Info joined with its program: from the ids of controllers to the indices of the program.

use std::collections::{BTreeMap, HashMap, HashSet};

use bofuss_p4::{MatchKind, Named, Program};
use prost::Message;

use crate::error::{Refusal, Result};
use crate::packets::Layout;
use crate::value::width;
use crate::wire::config::{ActionRefScope, MatchFieldMatchType, P4Info, Preamble, SumOfMembers};

/// A field of a key, in the order of the program's key.
#[derive(Debug)]
pub struct FieldInfo {
    pub id: u32,
    pub name: String,
    pub width: u32,
    /// Its values are in two's complement.
    pub signed: bool,
    pub kind: MatchKind,
}

/// An action as one table has it.
#[derive(Debug)]
pub struct TableActionInfo {
    /// Its index in the program.
    pub index: usize,
    pub scope: ActionRefScope,
}

/// A table.
#[derive(Debug)]
pub struct TableInfo {
    pub index: usize,
    pub name: String,
    pub fields: Vec<FieldInfo>,
    /// By the ids of actions.
    pub actions: BTreeMap<u32, TableActionInfo>,
    pub profile: Option<u32>,
    pub is_const: bool,
    pub has_timeout: bool,
}

/// An action.
#[derive(Debug)]
pub struct ActionInfo {
    pub name: String,
    /// Ids, names and widths of the parameters, in the order of the program.
    pub params: Vec<(u32, String, u32)>,
}

/// An action profile.
#[derive(Debug)]
pub struct ProfileInfo {
    pub index: usize,
    pub max_group_size: i32,
    /// The size of a group is the number of its members, and not the sum of their weights.
    counts_members: bool,
    /// The highest weight of a member, if there is one.
    pub max_weight: Option<u32>,
    /// The program's actions of the profile's tables, by the ids of actions.
    pub actions: BTreeMap<u32, usize>,
}

impl ProfileInfo {
    /// The size of a group whose members have these weights.
    pub fn group_size(&self, weights: impl Iterator<Item = u32>) -> u64 {
        if self.counts_members {
            weights.count() as u64
        } else {
            weights.map(u64::from).sum()
        }
    }
}

/// An array of counters, meters or registers, or a value set.
#[derive(Debug)]
pub struct ArrayInfo {
    pub index: usize,
    pub name: String,
    pub size: usize,
    /// The bits of a register.
    pub width: u32,
    /// A register is in two's complement.
    pub signed: bool,
}

/// How a digest's values are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestShape {
    Bits,
    Tuple,
    Struct,
    Header,
}

/// A digest.
#[derive(Debug)]
pub struct DigestInfo {
    pub id: u32,
    pub shape: DigestShape,
    /// The bits of each value, 0 for what is no field, and whether it is signed.
    pub fields: Vec<(u32, bool)>,
}

/// A value set of the parser.
#[derive(Debug)]
pub struct ValueSetInfo {
    pub index: usize,
    pub fields: Vec<FieldInfo>,
}

/// What controllers name, by id.
#[derive(Debug, Default)]
pub struct Info {
    pub tables: BTreeMap<u32, TableInfo>,
    pub actions: BTreeMap<u32, ActionInfo>,
    /// The ids of actions by name.
    pub action_ids: HashMap<String, u32>,
    pub profiles: BTreeMap<u32, ProfileInfo>,
    pub counters: BTreeMap<u32, ArrayInfo>,
    pub meters: BTreeMap<u32, ArrayInfo>,
    pub registers: BTreeMap<u32, ArrayInfo>,
    pub value_sets: BTreeMap<u32, ValueSetInfo>,
    /// By index in the program.
    pub digests: BTreeMap<usize, DigestInfo>,
    pub packet_in: Layout,
    pub packet_out: Layout,
}

impl Info {
    /// Joins an encoded P4Info with its program. Errors: what is no P4Info, what the program has
    /// not, or has otherwise.
    pub fn new(bytes: &[u8], program: &Program) -> Result<Self> {
        let wrong = |error| Refusal::invalid(format!("the P4Info cannot be decoded: {error}"));
        let p4info = P4Info::decode(bytes).map_err(wrong)?;
        let mut info = Self::default();
        info.add_actions(&p4info, program)?;
        for row in &p4info.tables {
            info.add_table(row, program)?;
        }
        info.add_profiles(&p4info, program)?;
        info.add_arrays(&p4info, program)?;
        info.add_digests(&p4info, program)?;
        for row in &p4info.controller_packet_metadata {
            let layout = Layout::new(row)?;
            match &*preamble(&row.preamble)?.name {
                "packet_in" => info.packet_in = layout,
                "packet_out" => info.packet_out = layout,
                // Programs for other targets have more.
                _ => {}
            }
        }
        Ok(info)
    }

    /// The table of an id. Errors: there is none.
    pub fn table(&self, id: u32) -> Result<&TableInfo> {
        let absent = || Refusal::not_found(format!("there is no table {id}"));
        self.tables.get(&id).ok_or_else(absent)
    }

    /// The action profile of an id. Errors: there is none.
    pub fn profile(&self, id: u32) -> Result<&ProfileInfo> {
        let absent = || Refusal::not_found(format!("there is no action profile {id}"));
        self.profiles.get(&id).ok_or_else(absent)
    }

    fn add_actions(&mut self, p4info: &P4Info, program: &Program) -> Result<()> {
        for row in &p4info.actions {
            let Preamble { id, name, .. } = preamble(&row.preamble)?;
            let of_program = program.actions.iter().filter(|action| action.name == *name);
            let wanted: Vec<_> = of_program.flat_map(|action| &action.parameters).collect();
            // A type of its own may be translated from another width.
            for param in row.params.iter().filter(|param| param.type_name.is_empty()) {
                let is_other = |(named, bits): &&&(String, u32)| {
                    *named == param.name && i32::try_from(*bits) != Ok(param.bitwidth)
                };
                if let Some((named, bits)) = wanted.iter().find(is_other) {
                    let what = format!("{name}, {named}: the program has {bits} bits");
                    return Err(Refusal::invalid(what));
                }
            }
            let params = row.params.iter();
            let params = params.map(|p| Ok((p.id, p.name.clone(), width(p.bitwidth, &p.name)?)));
            let action = ActionInfo {
                name: name.clone(),
                params: params.collect::<Result<_>>()?,
            };
            check_ids(name, action.params.iter().map(|(id, ..)| *id))?;
            add(&mut self.actions, (*id, action))?;
            self.action_ids.insert(name.clone(), *id);
        }
        Ok(())
    }

    fn add_table(&mut self, row: &crate::wire::config::Table, program: &Program) -> Result<()> {
        let Preamble { id, name, .. } = preamble(&row.preamble)?;
        let index = program.index(Named::Table, name);
        let index = index.ok_or_else(|| absent("table", name))?;
        let table = &program.tables[index];
        let mut fields = Vec::new();
        for part in &table.key {
            let field = row.match_fields.iter().find(|f| f.name == part.name);
            let absent = || Refusal::invalid(format!("{name}: P4Info has no field {}", part.name));
            let field = field_info(field.ok_or_else(absent)?, part.kind, part.width)?;
            let signed = program.is_signed(part);
            fields.push(FieldInfo { signed, ..field });
        }
        if row.match_fields.len() != fields.len() {
            let what = format!("{name}: the program has {} keys", fields.len());
            return Err(Refusal::invalid(what));
        }
        let mut actions = BTreeMap::new();
        for reference in &row.action_refs {
            let action = self.actions.get_mut(&reference.id);
            let action = action.ok_or_else(|| absent("action", &reference.id.to_string()))?;
            let mut of_table = table.actions.iter();
            let found = of_table.find(|index| program.actions[**index].name == action.name);
            let index = *found.ok_or_else(|| absent("action", &action.name))?;
            sort_params(action, &program.actions[index].parameters)?;
            let scope = reference.scope();
            actions.insert(reference.id, TableActionInfo { index, scope });
        }
        let table = TableInfo {
            index,
            name: name.clone(),
            fields,
            actions,
            profile: Some(row.implementation_id).filter(|id| *id != 0),
            is_const: row.is_const_table,
            has_timeout: table.timeout,
        };
        check_ids(name, table.fields.iter().map(|field| field.id))?;
        add(&mut self.tables, (*id, table))
    }

    fn add_profiles(&mut self, p4info: &P4Info, program: &Program) -> Result<()> {
        for row in &p4info.action_profiles {
            let Preamble { id, name, .. } = preamble(&row.preamble)?;
            let index = program.index(Named::Profile, name);
            let index = index.ok_or_else(|| absent("action profile", name))?;
            let tables = self.tables.values().filter(|t| t.profile == Some(*id));
            let actions = tables.flat_map(|table| table.actions.iter());
            let profile = ProfileInfo {
                index,
                max_group_size: row.max_group_size,
                counts_members: row.sum_of_members.is_some(),
                max_weight: row.sum_of_members.as_ref().and_then(max_weight),
                actions: actions.map(|(id, action)| (*id, action.index)).collect(),
            };
            add(&mut self.profiles, (*id, profile))?;
        }
        let mut tables = self.tables.values();
        let known = |table: &TableInfo| {
            table
                .profile
                .is_none_or(|id| self.profiles.contains_key(&id))
        };
        match tables.find(|table| !known(table)) {
            Some(table) => Err(absent("action profile of", &table.name)),
            None => Ok(()),
        }
    }

    fn add_arrays(&mut self, p4info: &P4Info, program: &Program) -> Result<()> {
        let array = |what: &str, kind, row: &Option<Preamble>, said: i64| {
            let Preamble { id, name, .. } = preamble(row)?;
            let index = program.index(kind, name);
            let index = index.ok_or_else(|| absent(what, name))?;
            let arrays = match kind {
                Named::Counter => &program.counters,
                Named::Meter => &program.meters,
                _ => &program.registers,
            };
            let size = arrays[index].size;
            if usize::try_from(said) != Ok(size) {
                let what = format!("{name}: the program has {size} cells, not {said}");
                return Err(Refusal::invalid(what));
            }
            let array = ArrayInfo {
                index,
                name: name.clone(),
                size,
                width: arrays[index].width,
                signed: false,
            };
            Ok::<_, Refusal>((*id, array))
        };
        for row in &p4info.counters {
            let counter = array("counter", Named::Counter, &row.preamble, row.size)?;
            add(&mut self.counters, counter)?;
        }
        for row in &p4info.meters {
            let meter = array("meter", Named::Meter, &row.preamble, row.size)?;
            add(&mut self.meters, meter)?;
        }
        for row in &p4info.registers {
            let size = i64::from(row.size);
            let (id, mut register) = array("register", Named::Register, &row.preamble, size)?;
            let bits = row.type_spec.as_ref().and_then(|t| t.bitstring.as_ref());
            register.signed = bits.is_some_and(|bits| bits.int.is_some());
            add(&mut self.registers, (id, register))?;
        }
        for row in &p4info.value_sets {
            let Preamble { id, name, .. } = preamble(&row.preamble)?;
            let index = program.index(Named::ValueSet, name);
            let index = index.ok_or_else(|| absent("value set", name))?;
            let fields = row.r#match.iter();
            let fields = fields.map(|field| field_info(field, MatchKind::Exact, 0));
            let fields: Vec<FieldInfo> = fields.collect::<Result<_>>()?;
            check_ids(name, fields.iter().map(|field| field.id))?;
            add(&mut self.value_sets, (*id, ValueSetInfo { index, fields }))?;
        }
        Ok(())
    }

    fn add_digests(&mut self, p4info: &P4Info, program: &Program) -> Result<()> {
        for row in &p4info.digests {
            let Preamble { id, name, .. } = preamble(&row.preamble)?;
            let index = program.digests.iter().position(|list| list.name == *name);
            let index = index.ok_or_else(|| absent("digest", name))?;
            // The number of the field that a P4DataTypeSpec begins with.
            let shape = match row.type_spec.first().map(|tag| tag >> 3) {
                Some(3) => DigestShape::Tuple,
                Some(4) => DigestShape::Struct,
                Some(5) => DigestShape::Header,
                _ => DigestShape::Bits,
            };
            let info = DigestInfo {
                id: *id,
                shape,
                fields: program.digests[index].fields.clone(),
            };
            self.digests.insert(index, info);
        }
        Ok(())
    }

    /// The id of the program's action of this index, 0 if P4Info has none.
    pub fn action_id(&self, program: &Program, action: usize) -> u32 {
        let id = self.action_ids.get(&program.actions[action].name);
        id.copied().unwrap_or(0)
    }
}

/// The highest weight of a member. As with other limits of P4Info, 0 or less is none.
fn max_weight(sum: &SumOfMembers) -> Option<u32> {
    let most = u32::try_from(sum.max_member_weight?).ok();
    most.filter(|most| *most > 0)
}

fn field_info(
    row: &crate::wire::config::MatchField,
    kind: MatchKind,
    program_width: u32,
) -> Result<FieldInfo> {
    let said = match row.match_type() {
        MatchFieldMatchType::Unspecified => None,
        MatchFieldMatchType::Exact => Some(MatchKind::Exact),
        MatchFieldMatchType::Lpm => Some(MatchKind::Lpm),
        MatchFieldMatchType::Ternary => Some(MatchKind::Ternary),
        MatchFieldMatchType::Range => Some(MatchKind::Range),
        MatchFieldMatchType::Optional => Some(MatchKind::Optional),
    };
    let same = said == Some(kind) || kind == MatchKind::Valid && said == Some(MatchKind::Exact);
    // A program may be compiled with a more general kind than its source names.
    let wider = kind == MatchKind::Ternary && said.is_some_and(|said| said != MatchKind::Range);
    if !same && !wider {
        let what = format!("{}: the program matches it as {}", row.name, kind.name());
        return Err(Refusal::invalid(what));
    }
    let width = match row.bitwidth {
        // Of the type `error`, the program alone knows how wide it is.
        0 if row.type_name.is_empty() && program_width > 0 => program_width,
        bits => width(bits, &row.name)?,
    };
    // A type of its own may be translated from another width.
    if row.type_name.is_empty() && program_width > 0 && width != program_width {
        let what = format!("{}: the program has {program_width} bits", row.name);
        return Err(Refusal::invalid(what));
    }
    Ok(FieldInfo {
        id: row.id,
        name: row.name.clone(),
        width,
        signed: false,
        kind: said.unwrap_or(kind),
    })
}

/// Puts the parameters of an action in the order of the program.
fn sort_params(action: &mut ActionInfo, wanted: &[(String, u32)]) -> Result<()> {
    let place = |name: &str| wanted.iter().position(|(other, _)| other == name);
    let all = action
        .params
        .iter()
        .all(|(_, name, _)| place(name).is_some());
    if !all || action.params.len() != wanted.len() {
        let what = format!("{}: the program has other parameters", action.name);
        return Err(Refusal::invalid(what));
    }
    action.params.sort_by_key(|(_, name, _)| place(name));
    Ok(())
}

/// The preamble of what is in a P4Info. Errors: it has none.
pub fn preamble(preamble: &Option<Preamble>) -> Result<&Preamble> {
    let absent = || Refusal::invalid("something in the P4Info has no preamble");
    preamble.as_ref().ok_or_else(absent)
}

fn absent(what: &str, name: &str) -> Refusal {
    Refusal::invalid(format!("the program has no {what} {name}"))
}

/// Adds what has an id. Errors: the id is 0, which names nothing, or that of another.
fn add<T>(all: &mut BTreeMap<u32, T>, (id, row): (u32, T)) -> Result<()> {
    if id == 0 {
        let what = "the P4Info has the id 0, which names nothing";
        return Err(Refusal::invalid(what));
    }
    match all.insert(id, row) {
        Some(_) => Err(Refusal::invalid(format!("the P4Info has {id} twice"))),
        None => Ok(()),
    }
}

/// Errors: one of the ids of what is within `name` is 0 or there twice.
fn check_ids(name: &str, ids: impl Iterator<Item = u32>) -> Result<()> {
    let mut seen = HashSet::new();
    for id in ids {
        if id == 0 || !seen.insert(id) {
            let what = format!("{name}: the id {id} is 0 or there twice");
            return Err(Refusal::invalid(what));
        }
    }
    Ok(())
}
