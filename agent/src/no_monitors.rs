//! In the place of `monitors.rs` in a switch without flow monitors: nobody has any, and a request
//! for one is refused as any that the switch does not know.

use bofuss_datapath::Datapath;
use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::features::Capabilities;
use bofuss_oflib::message::multipart::FlowMonitorRequest;

use crate::connections::Connections;
use crate::deliver::SwitchSink;
use crate::request::{ConnId, HandlerResult};

/// What FEATURES_REPLY says of flow monitors.
pub(crate) const CAPABILITIES: Capabilities = Capabilities(0);

/// Whose request changed entries.
pub(crate) type Cause = Option<(ConnId, u32)>;

/// The monitors of a connection: none.
#[derive(Default)]
pub(crate) struct Monitoring {}

impl Monitoring {
    pub(crate) fn is_paused(&self) -> bool {
        false
    }
    #[cfg(feature = "reconfigure")]
    pub(crate) fn order_changes(&mut self) {}
}

/// Errors: BAD_REQUEST/BAD_MULTIPART; in versions before 1.4, where the multipart is an
/// experimenter's, BAD_EXPERIMENTER.
pub(crate) fn monitor_entries<I>(
    _: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    _: u32,
    _: &[FlowMonitorRequest],
) -> HandlerResult {
    let version = sink.connections.channel(conn).version;
    Err(if version.has_bundles() {
        BadRequest::BAD_MULTIPART
    } else {
        BadRequest::BAD_EXPERIMENTER
    })
}

pub(crate) fn follow_monitored(_: &mut Datapath<impl FrameEngine>, _: &Connections) {}

pub(crate) fn begin_request<I>(_: &mut Datapath<impl FrameEngine>, _: &mut SwitchSink<'_, I>) {}

pub(crate) fn report_news<I>(
    _: &mut Datapath<impl FrameEngine>,
    _: &mut SwitchSink<'_, I>,
    _: Cause,
) {
}

pub(crate) fn report_late_entries<I>(
    _: &mut Datapath<impl FrameEngine>,
    _: &mut SwitchSink<'_, I>,
    _: ConnId,
) {
}
