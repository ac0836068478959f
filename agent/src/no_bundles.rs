//! In the place of `bundles.rs` in a switch without bundles: there are none, and it refuses
//! requests about them as any that it does not know.

use alloc::boxed::Box;

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, Time};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::features::Capabilities;
use bofuss_oflib::message::multipart::{BundleFeaturesRequest, ReplyBody};
use bofuss_oflib::{ErrorCode, Message};

use crate::deliver::SwitchSink;
use crate::io::SwitchIo;
use crate::parts::Parts;
use crate::request::{ConnId, HandlerResult, Origin};

/// What FEATURES_REPLY says of bundles.
pub(crate) const CAPABILITIES: Capabilities = Capabilities(0);

/// A commit in progress, of which there is none.
pub(crate) enum Commit {}

impl Commit {
    pub(crate) fn origin(&self) -> Origin<'_> {
        match *self {}
    }
    pub(crate) fn holds_back(&self, _: ConnId, _: Option<&Message>) -> bool {
        match *self {}
    }
    pub(crate) fn waits_until(&self, _: &Bundles) -> Option<Time> {
        match *self {}
    }
    pub(crate) fn rests(&self, _: &Bundles) -> bool {
        match *self {}
    }
    pub(crate) fn stop_waiting(&mut self, _: &mut Datapath<impl FrameEngine>) {
        match *self {}
    }
}

/// The bundles of all connections: none.
#[derive(Default)]
pub(crate) struct Bundles {}

impl Bundles {
    pub(crate) fn end(&mut self, _: ConnId) {}
    pub(crate) fn end_idle<I: SwitchIo>(&mut self, _: Time, _: &mut I) {}
    pub(crate) fn free_some(&mut self) {}
    pub(crate) fn has_discarded(&self) -> bool {
        false
    }
    pub(crate) fn next_tick(&self, _: Option<Time>) -> Option<Time> {
        None
    }
}

/// Errors: BAD_REQUEST/BAD_TYPE; in 1.3, where the message is the ONF's, BAD_EXPERIMENTER.
pub(crate) fn bundle_message<E: FrameEngine, I: SwitchIo>(
    parts: &mut Parts<'_, E, I>,
    from: Origin<'_>,
    _: &Message,
) -> HandlerResult {
    let version = parts.sink.connections.channel(from.conn).version;
    Err(if version.has_bundles() {
        BadRequest::BAD_TYPE
    } else {
        BadRequest::BAD_EXPERIMENTER
    })
}

/// Errors: BAD_REQUEST/BAD_MULTIPART; in 1.3 and 1.4, where the multipart is the ONF's,
/// BAD_EXPERIMENTER.
pub(crate) fn bundle_features<I>(
    _: &mut Bundles,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    _: &BundleFeaturesRequest,
) -> Result<ReplyBody, ErrorCode> {
    let version = sink.connections.channel(conn).version;
    Err(if version.has_stat_lists() {
        BadRequest::BAD_MULTIPART
    } else {
        BadRequest::BAD_EXPERIMENTER
    })
}

pub(crate) fn begin_due_commit<E: FrameEngine, I: SwitchIo>(_: &mut Parts<'_, E, I>) {}

pub(crate) fn go_on_with_commit<E: FrameEngine, I: SwitchIo>(
    _: &mut Parts<'_, E, I>,
    _: Box<Commit>,
) -> bool {
    false
}
