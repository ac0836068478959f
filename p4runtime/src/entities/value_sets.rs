//! Value sets of the parser.

use std::collections::HashSet;

use bofuss_p4::{Int, Match};

use super::keys::{parse_field, write_field};
use super::{Target, View, entity};
use crate::error::{Refusal, Result};
use crate::info::ValueSetInfo;
use crate::wire::entities::{Entity, EntityKind, FieldMatch, ValueSetEntry, ValueSetMember};

impl Target<'_> {
    /// Gives a value set other members. Errors: what does not fit; the old ones stay then.
    pub fn set_value_set(&mut self, entry: &ValueSetEntry) -> Result<()> {
        let info = self.info;
        let set = info.value_sets.get(&entry.value_set_id);
        let absent = || Refusal::not_found(format!("there is no {}", entry.value_set_id));
        let set = set.ok_or_else(absent)?;
        let new: Vec<Vec<Int>> = entry
            .members
            .iter()
            .map(|member| values(set, member))
            .collect::<Result<_>>()?;
        let mut seen = HashSet::new();
        if !new.iter().all(|value| seen.insert(value)) {
            let what = "a member is there twice";
            return Err(Refusal::new(tonic::Code::AlreadyExists, what));
        }
        let old = self.side.value_sets.get(&entry.value_set_id);
        let old = old.map_or(&[][..], |members| members);
        let old: Vec<Vec<Int>> = old
            .iter()
            .map(|member| values(set, member))
            .collect::<Result<_>>()?;
        for value in &old {
            self.switch
                .externs_mut()
                .set_parser_value(set.index, value, false)?;
        }
        for (place, value) in new.iter().enumerate() {
            let added = self
                .switch
                .externs_mut()
                .set_parser_value(set.index, value, true);
            let Err(error) = added else {
                continue;
            };
            for value in &new[..place] {
                self.switch
                    .externs_mut()
                    .set_parser_value(set.index, value, false)?;
            }
            for value in &old {
                self.switch
                    .externs_mut()
                    .set_parser_value(set.index, value, true)?;
            }
            return Err(error.into());
        }
        let members = new.iter().map(|values| member(set, values)).collect();
        self.side.value_sets.insert(entry.value_set_id, members);
        Ok(())
    }
}

impl View<'_> {
    /// The value sets; `only` one of them if it is not 0.
    pub fn show_value_sets(&self, only: u32) -> Vec<Entity> {
        let sets = self.info.value_sets.keys();
        let sets = sets.filter(|id| only == 0 || **id == only);
        let shown = sets.map(|id| {
            let members = self.side.value_sets.get(id).cloned();
            entity(EntityKind::ValueSetEntry(ValueSetEntry {
                value_set_id: *id,
                members: members.unwrap_or_default(),
            }))
        });
        shown.collect()
    }
}

/// A member, as it is read: with byte strings that are the shortest.
fn member(set: &ValueSetInfo, values: &[Int]) -> ValueSetMember {
    let parts = set.fields.iter().zip(values);
    let fields = parts.map(|(field, value)| FieldMatch {
        field_id: field.id,
        field_match_type: write_field(field, &Match::Exact(value.clone())),
    });
    ValueSetMember {
        r#match: fields.collect(),
    }
}

fn values(set: &ValueSetInfo, member: &ValueSetMember) -> Result<Vec<Int>> {
    if member.r#match.len() != set.fields.len() {
        let what = format!("a member has {} values", set.fields.len());
        return Err(Refusal::invalid(what));
    }
    let values = set.fields.iter().map(|field| {
        let mut given = member.r#match.iter();
        let given = given.find(|given| given.field_id == field.id);
        let absent = || Refusal::invalid(format!("a member has no {}", field.name));
        match parse_field(field, given.ok_or_else(absent)?)? {
            Match::Exact(value) => Ok(value),
            _ => Err(Refusal::missing("value sets have only exact members")),
        }
    });
    values.collect()
}
