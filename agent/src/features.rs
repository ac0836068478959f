//! What the switch can do, derived from the rows of fields, actions and instructions.

use alloc::{format, string::String, vec::Vec};

use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::Features;
use bofuss_oflib::message::features::Capabilities;
use bofuss_oflib::message::multipart::table_features::{
    FieldId, PropertyList, TableFeatureSet, TypeId,
};
use bofuss_oflib::message::multipart::{TableFeatures, TableProperty};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::FixedStr;

use crate::Switch;
use crate::buffers::MAX_BUFFERS;

/// Instructions in force: goto-table, write-metadata, write-, apply- and clear-actions.
const INSTRUCTIONS: [u16; 5] = [1, 2, 3, 4, 5];
/// The action type of groups: none can be made.
const GROUP: u16 = 22;

impl Switch {
    /// The body of FEATURES_REPLY.
    pub(crate) fn features(&self) -> Features {
        Features {
            datapath_id: self.identity.datapath_id,
            n_buffers: MAX_BUFFERS as u32,
            n_tables: self.datapath.config().n_tables,
            capabilities: Capabilities::FLOW_STATS
                | Capabilities::TABLE_STATS
                | Capabilities::PORT_STATS,
            ..Features::default()
        }
    }

    /// The body of a TABLE_FEATURES reply: every table can do everything, and go on in any later
    /// one.
    pub(crate) fn table_features(&self) -> Vec<TableFeatures> {
        let config = self.datapath.config();
        let common = self.common_properties();
        let table = |number: u8| {
            let later: Vec<_> = (number + 1..config.n_tables).map(TableId).collect();
            let next = |ty| TableProperty {
                ty,
                list: PropertyList::Tables(later.clone()),
            };
            let mut properties = common.clone();
            properties.splice(2..2, [next(2), next(3)]);
            TableFeatures(TableFeatureSet {
                table_id: TableId(number),
                name: FixedStr(table_name(number)),
                metadata_match: u64::MAX,
                metadata_write: u64::MAX,
                config: 0,
                max_entries: config.max_entries,
                properties,
            })
        };
        (0..config.n_tables).map(table).collect()
    }

    /// The properties that all tables share: what is listed once counts for the miss entry, too.
    fn common_properties(&self) -> Vec<TableProperty> {
        let catalogue = self.datapath.catalogue();
        let basic = |ty| TypeId {
            ty,
            experimenter: 0,
        };
        let with_extensions = |mut types: Vec<TypeId>, kind| {
            types.extend(catalogue.values(kind).map(|row| TypeId {
                ty: 0xffff,
                experimenter: row.experimenter,
            }));
            PropertyList::Types(types)
        };
        let numbers = ACTIONS
            .iter()
            .map(|row| row.number)
            .filter(|number| *number != GROUP);
        let actions = with_extensions(numbers.map(basic).collect(), ExtKind::Action);
        let instructions = with_extensions(INSTRUCTIONS.map(basic).into(), ExtKind::Instruction);
        let fields = |keep: fn(&bofuss_oflib::Field) -> bool, mask: bool| {
            let rows = catalogue.fields().iter().filter(|field| keep(field));
            let ids = rows.map(|field| FieldId {
                field,
                masked: mask && field.maskable,
            });
            PropertyList::Fields(ids.collect())
        };
        let matched = fields(|_| true, true);
        let wild = fields(|_| true, false);
        let set = fields(|field| field.settable, false);
        let property = |ty, list: &PropertyList| TableProperty {
            ty,
            list: list.clone(),
        };
        let lists = [
            (0, &instructions),
            (1, &instructions),
            (4, &actions),
            (5, &actions),
            (6, &actions),
            (7, &actions),
            (8, &matched),
            (10, &wild),
            (12, &set),
            (13, &set),
            (14, &set),
            (15, &set),
        ];
        lists.map(|(ty, list)| property(ty, list)).into()
    }
}

fn table_name(number: u8) -> String {
    format!("table{number}")
}
