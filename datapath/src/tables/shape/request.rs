//! The shape that a controller asks for by table features. Spec: OpenFlow 1.3.5 section 7.3.5.5.

use alloc::vec;

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::TableFeaturesFailed;
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_oflib::message::multipart::table_features::{
    PropertyList, TableFeatureFlags, TableFeaturesCommand,
};
use bofuss_oflib::types::TableId;

use super::PipelineShape;

impl PipelineShape {
    /// Returns how many tables it may have.
    pub(crate) fn n_tables(&self) -> usize {
        self.tables.len()
    }

    /// Returns true if controllers may request the same of both, names included.
    #[cfg(feature = "reconfigure")]
    pub(crate) fn has_same_limits(&self, other: &Self) -> bool {
        self.most.len() == other.most.len()
            && self.most.iter().zip(&other.most).all(|pair| match pair {
                (Some(one), Some(other)) => one.is_as_able_as(other) && one.head == other.head,
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            })
    }

    /// Returns true if a table has the same features as in another shape, apart from name and
    /// configuration, and is in the same stage; so its entries are still valid.
    pub(crate) fn keeps(&self, table: TableId, other: &Self) -> bool {
        let place = usize::from(table.0);
        let same = match (&other.tables[place], &self.tables[place]) {
            (Some(old), Some(new)) => new.is_as_able_as(old),
            _ => false,
        };
        same && other.is_egress(table) == self.is_egress(table)
    }

    /// Makes this the most that controllers may request.
    ///
    /// For a profile: what the operator has described is all that controllers can ask for.
    pub(crate) fn limited(self) -> Self {
        Self {
            most: self.tables.clone(),
            ..self
        }
    }

    /// Computes the requested pipeline.
    ///
    /// All descriptions of a request are for one command. REPLACE describes the whole pipeline, and
    /// a table that it does not name is not part of it; other commands are about the named tables
    /// alone. Spec: OpenFlow 1.5.1 section 7.3.5.18.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE, BAD_METADATA, BAD_TYPE, BAD_ARGUMENT, BAD_CAP,
    /// BAD_FEATURES, BAD_COMMAND or TOO_MANY.
    pub(crate) fn changed(&self, wanted: &[TableFeatures]) -> Result<Self, ErrorCode> {
        let present = &self.tables;
        let command = wanted.first().map(|one| one.0.command).unwrap_or_default();
        if wanted.iter().any(|one| one.0.command != command) {
            return Err(TableFeaturesFailed::BAD_COMMAND);
        }
        if wanted.len() > present.len() && command != TableFeaturesCommand::REPLACE {
            return Err(TableFeaturesFailed::TOO_MANY);
        }
        let mut shape = self.clone();
        if command == TableFeaturesCommand::REPLACE {
            shape.tables.fill(None);
            shape.first_egress = None;
        }
        let mut seen = vec![false; present.len()];
        for TableFeatures(wanted) in wanted {
            let number = usize::from(wanted.table_id.0);
            let bound = self.most.get(number).and_then(Option::as_ref);
            let bound = bound.ok_or(TableFeaturesFailed::BAD_TABLE)?;
            // Choice: a table that is described twice is refused, as either description could be
            // meant.
            if core::mem::replace(&mut seen[number], true) {
                return Err(TableFeaturesFailed::BAD_TABLE);
            }
            let known = present[number].as_ref();
            shape.tables[number] = match command {
                TableFeaturesCommand::DISABLE => None,
                TableFeaturesCommand::ENABLE => Some(known.unwrap_or(bound).clone()),
                TableFeaturesCommand::MODIFY => {
                    let known = known.ok_or(TableFeaturesFailed::BAD_TABLE)?;
                    Some(known.changed(wanted, bound)?)
                }
                TableFeaturesCommand::REPLACE => {
                    Some(known.unwrap_or(bound).changed(wanted, bound)?)
                }
                _ => return Err(TableFeaturesFailed::BAD_COMMAND),
            };
        }
        if matches!(
            command,
            TableFeaturesCommand::REPLACE | TableFeaturesCommand::MODIFY
        ) {
            shape.choose_first_egress(wanted, &seen)?;
        }
        shape.validate(command)?;
        Ok(shape)
    }

    /// Finds the first egress table in a request; `seen` are the tables that it names.
    ///
    /// A request that describes the first egress table without the flag takes the flag from it.
    ///
    /// Errors: TABLE_FEATURES_FAILED/BAD_FEATURES if there are several.
    fn choose_first_egress(
        &mut self,
        wanted: &[TableFeatures],
        seen: &[bool],
    ) -> Result<(), ErrorCode> {
        let is_seen = |first: TableId| seen[usize::from(first.0)];
        if self.first_egress.is_some_and(is_seen) {
            self.first_egress = None;
        }
        let mut first = wanted
            .iter()
            .filter(|one| one.0.features.has(TableFeatureFlags::FIRST_EGRESS));
        if let Some(one) = first.next() {
            self.first_egress = Some(one.0.table_id);
        }
        match first.next() {
            None => Ok(()),
            Some(_) => Err(TableFeaturesFailed::BAD_FEATURES),
        }
    }

    /// Checks that there is a table 0, and that each table is valid in its stage.
    ///
    /// It looks at the whole pipeline, because a table is valid or not together with the others: it
    /// may have become an egress table without being named.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE or BAD_FEATURES.
    fn validate(&mut self, command: TableFeaturesCommand) -> Result<(), ErrorCode> {
        if self.tables[0].is_none() {
            return Err(TableFeaturesFailed::BAD_TABLE);
        }
        let first = self.first_egress;
        if first.is_some_and(|first| self.tables[usize::from(first.0)].is_none()) {
            self.first_egress = None;
        }
        for abilities in self.tables.iter().flatten() {
            let number = abilities.head.table_id;
            let stage = match self.first_egress {
                Some(first) if number >= first => TableFeatureFlags::EGRESS_TABLE,
                Some(_) | None => TableFeatureFlags::INGRESS_TABLE,
            };
            if !abilities.head.features.has(stage) {
                return Err(TableFeaturesFailed::BAD_FEATURES);
            }
            if command != TableFeaturesCommand::REPLACE {
                continue;
            }
            let is_missing = |table: &TableId| self.tables[usize::from(table.0)].is_none();
            for list in &abilities.next {
                if matches!(list, PropertyList::Tables(next) if next.iter().any(is_missing)) {
                    return Err(TableFeaturesFailed::BAD_TABLE);
                }
            }
        }
        Ok(())
    }
}
