//! Without the feature `reshape`, controllers change no features of tables: see `reshape.rs`.

use bofuss_datapath::Datapath;
use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::error::TableFeaturesFailed;
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_oflib::{ErrorCode, Version};

use crate::deliver::SwitchSink;
use crate::io::SwitchIo;

/// Errors: TABLE_FEATURES_FAILED/EPERM.
pub(crate) fn reshape<I: SwitchIo>(
    _: &mut Datapath<impl FrameEngine>,
    _: &mut SwitchSink<'_, I>,
    _: Version,
    _: &[TableFeatures],
) -> Result<(), ErrorCode> {
    Err(TableFeaturesFailed::EPERM)
}
