//! Without the feature `queues`, controllers read no queues: see `queues.rs`.

use alloc::vec::Vec;

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, Time};
use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::features::Capabilities;
use bofuss_oflib::message::multipart::{QueueDesc, QueueStats, QueueStatsRequest};
use bofuss_oflib::message::{QueueConfig, QueueConfigRequest};

/// What FEATURES_REPLY says of queues.
pub(crate) const CAPABILITIES: Capabilities = Capabilities(0);

/// Errors: BAD_REQUEST/BAD_TYPE.
pub(crate) fn queues(
    _: &Datapath<impl FrameEngine>,
    _: &QueueConfigRequest,
) -> Result<QueueConfig, ErrorCode> {
    Err(BadRequest::BAD_TYPE)
}

/// Errors: BAD_REQUEST/BAD_MULTIPART.
pub(crate) fn queue_descs(
    _: &Datapath<impl FrameEngine>,
    _: &QueueStatsRequest,
) -> Result<Vec<QueueDesc>, ErrorCode> {
    Err(BadRequest::BAD_MULTIPART)
}

/// Errors: BAD_REQUEST/BAD_MULTIPART.
pub(crate) fn queue_stats(
    _: &Datapath<impl FrameEngine>,
    _: Time,
    _: &QueueStatsRequest,
) -> Result<Vec<QueueStats>, ErrorCode> {
    Err(BadRequest::BAD_MULTIPART)
}
