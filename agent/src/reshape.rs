//! Changes of tables by TABLE_FEATURES. Spec: OpenFlow 1.3.5 section 7.3.5.5.
//!
//! Without the feature `reshape`, `no_reshape.rs` takes the place of this file.

use alloc::vec::Vec;

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, FILLING_BITS};
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_oflib::{ErrorCode, Version};

use crate::deliver::SwitchSink;
use crate::io::SwitchIo;

/// Sets the features of tables. Errors: TABLE_FEATURES_FAILED's; then all tables are as before.
pub(crate) fn reshape<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    version: Version,
    wanted: &[TableFeatures],
) -> Result<(), ErrorCode> {
    let wanted = without_abilities(datapath, version, wanted);
    datapath.control(sink.now, sink).set_table_features(&wanted)
}

/// Undoes what the reply adds for a version in the features that a controller sends, and fills in
/// what its version cannot express.
fn without_abilities(
    datapath: &Datapath<impl FrameEngine>,
    version: Version,
    wanted: &[TableFeatures],
) -> Vec<TableFeatures> {
    let mut wanted = wanted.to_vec();
    let present = datapath.shape().features();
    for TableFeatures(table) in &mut wanted {
        let mut same = present.iter().map(|one| &one.0);
        if let Some(same) = same.find(|one| one.table_id == table.table_id) {
            // Only the request of 1.5 has a field for these flags, so no older one can change them.
            if !version.has_stat_lists() {
                table.features = same.features;
            }
            table.keep_unsupported(same, version, datapath.catalogue());
        }
    }
    if version.has_bundles() {
        for table in &mut wanted {
            // These bits say what a table can do, and a controller sends back what it was told.
            table.0.config &= !FILLING_BITS;
        }
    }
    wanted
}
