//! Which tables the pipeline has, with which features, and where the egress tables begin.
//!
//! With the feature `reshape`, a controller changes the shape by table features; `most` is the
//! bound within which it may, which is what the switch was started with. The shape knows no
//! entries: `control/features.rs` removes those that no longer fit.

use alloc::vec::Vec;

use bofuss_oflib::Catalogue;
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_oflib::message::multipart::table_features::{
    PropertyList, TableFeatureFlags, TableFeatureSet,
};
use bofuss_oflib::types::TableId;

use crate::Config;
use crate::tables::features::{Abilities, NEXT_TABLES, WRITE_ACTIONS, everything};

#[cfg(feature = "reshape")]
mod admission;
#[cfg(not(feature = "reshape"))]
#[path = "shape/no_admission.rs"]
mod admission;
#[cfg(feature = "reshape")]
mod request;

/// The types of the actions that choose a packet's output: output and group.
const OUTPUTS: [u16; 2] = [0, 22];

/// The shape of the pipeline.
#[derive(Clone)]
pub struct PipelineShape {
    /// The features of each table; `None` if it is not in the pipeline.
    tables: Vec<Option<Abilities>>,
    /// The most features that each table can be given.
    #[cfg(feature = "reshape")]
    most: Vec<Option<Abilities>>,
    /// The first egress table, if there are egress tables.
    pub first_egress: Option<TableId>,
}

impl PipelineShape {
    /// All tables, with all features.
    pub(crate) fn new(config: &Config, catalogue: &Catalogue) -> Self {
        let tables = everything(config, catalogue);
        Self {
            #[cfg(feature = "reshape")]
            most: tables.clone(),
            tables,
            first_egress: None,
        }
    }

    /// Returns true if the pipeline has a table.
    pub fn has_table(&self, table: TableId) -> bool {
        matches!(self.tables.get(usize::from(table.0)), Some(Some(_)))
    }

    /// Returns true if a table is an egress table.
    pub(crate) fn is_egress(&self, table: TableId) -> bool {
        self.first_egress.is_some_and(|first| table >= first)
    }

    /// Returns true if a goto-table from one table to another is allowed: the other exists and is
    /// in the same stage.
    ///
    /// That the number increases is not checked here: the next tables in a table's features see to
    /// it.
    pub(crate) fn joins(&self, from: TableId, to: TableId) -> bool {
        self.has_table(to) && self.is_egress(from) == self.is_egress(to)
    }

    /// The features of each table of the pipeline.
    pub fn features(&self) -> Vec<TableFeatures> {
        let tables = self.tables.iter().flatten();
        tables.map(|abilities| self.reported(abilities)).collect()
    }

    /// The number, name and size of each table of the pipeline.
    pub fn heads(&self) -> impl Iterator<Item = &TableFeatureSet> {
        let tables = self.tables.iter().flatten();
        tables.map(|abilities| &abilities.head)
    }

    /// Sets the configuration bits of a table, or of all. Returns the tables that there are.
    pub(crate) fn configure(&mut self, table: TableId, config: u32) -> Vec<TableId> {
        let mut configured = Vec::new();
        for abilities in self.tables.iter_mut().flatten() {
            let number = abilities.head.table_id;
            if table == TableId::ALL || table == number {
                abilities.head.config = config;
                configured.push(number);
            }
        }
        configured
    }

    /// The most entries that a table may have.
    ///
    /// 0 for a table that is not in the pipeline.
    ///
    /// Panics: if the switch has no table with this number at all.
    pub(crate) fn max_entries(&self, table: TableId) -> usize {
        let abilities = self.tables[usize::from(table.0)].as_ref();
        abilities.map_or(0, |abilities| abilities.head.max_entries as usize)
    }

    /// The features of a table as they are reported: only with next tables that exist, and in its
    /// stage.
    ///
    /// A next table that is missing now is left out but not forgotten, since it may be enabled
    /// again.
    fn reported(&self, abilities: &Abilities) -> TableFeatures {
        let mut reported = abilities.to_features();
        let number = abilities.head.table_id;
        if self.first_egress == Some(number) {
            reported.0.features.0 |= TableFeatureFlags::FIRST_EGRESS.0;
        }
        for property in &mut reported.0.properties {
            let kind = property.ty & !1;
            if let PropertyList::Tables(next) = &mut property.list {
                next.retain(|next| kind != NEXT_TABLES || self.joins(number, *next));
            }
            let is_chosen = kind == WRITE_ACTIONS && self.is_egress(number);
            if let PropertyList::Types(types) = &mut property.list {
                types.retain(|id| !is_chosen || !OUTPUTS.contains(&id.ty));
            }
        }
        reported
    }
}
