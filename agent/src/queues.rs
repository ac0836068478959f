//! Queues for controllers: QUEUE_GET_CONFIG, and the multiparts about queues.
//!
//! OpenFlow only lets controllers read queues; how they are made is left to the switch. A queue is
//! described by the properties of OpenFlow 1.3, whatever version the connection speaks.
//!
//! Without the feature `queues`, `no_queues.rs` takes the place of this file.

#[cfg(feature = "queue_messages")]
mod messages;

use alloc::vec::Vec;

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, Egress, Queue, QueueSpec, Rate, Time};
use bofuss_oflib::error::QueueOpFailed;
use bofuss_oflib::ext::BOFUSS;
use bofuss_oflib::message::features::Capabilities;
use bofuss_oflib::message::multipart::{QueueDesc, QueueStats, QueueStatsRequest};
use bofuss_oflib::message::queue::{PacketQueue, QueueProperty};
use bofuss_oflib::message::{QueueConfig, QueueConfigRequest};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{ErrorCode, PortNo};

#[cfg(feature = "queue_messages")]
pub(crate) use messages::queue_message;
#[cfg(feature = "queue_messages")]
pub use messages::{DESC_BYTES, ROWS, spec};

/// What FEATURES_REPLY says of queues.
pub(crate) const CAPABILITIES: Capabilities = Capabilities::QUEUE_STATS;

/// The properties of a queue. What OpenFlow's own cannot express is in an experimenter property of
/// ours: priority and weight (16 bits each), minimum and maximum rate in kb/s (32 bits each), and 4
/// zero bytes.
///
/// Choice: a rate in kb/s is also listed in thousandths of the port's rate, rounded down, if that
/// is known.
pub fn properties(spec: &QueueSpec, port_kbps: u32) -> Vec<QueueProperty> {
    let mut list = Vec::new();
    list.extend(per_mille(spec.min, port_kbps).map(QueueProperty::MinRate));
    list.extend(per_mille(spec.max, port_kbps).map(QueueProperty::MaxRate));
    // Default priority and weight and no rate in kb/s: the queue needs no property of ours.
    let min = kbps(spec.min);
    let max = kbps(spec.max);
    if (spec.priority, spec.weight, min, max) != (0, 1, 0, 0) {
        let mut data = Vec::new();
        data.extend(spec.priority.to_be_bytes());
        data.extend(spec.weight.to_be_bytes());
        data.extend([min, max, 0].iter().flat_map(|n| n.to_be_bytes()));
        list.push(QueueProperty::Experimenter(BOFUSS, 0, Bytes(data)));
    }
    list
}

/// A rate in thousandths of its port's, at most 1,000; `None` if there is no rate, or it is in kb/s
/// and the port's is not known.
fn per_mille(rate: Option<Rate>, port_kbps: u32) -> Option<u16> {
    match rate? {
        Rate::PerMille(share) => Some(share),
        Rate::Kbps(kbps) => {
            let share = (u64::from(kbps) * 1000).checked_div(port_kbps.into())?;
            Some(share.min(1000) as u16)
        }
    }
}

/// A rate in kb/s; 0 if there is none, or if it is in thousandths, which have a property of their
/// own.
fn kbps(rate: Option<Rate>) -> u32 {
    match rate {
        Some(Rate::Kbps(kbps)) => kbps,
        Some(Rate::PerMille(_)) | None => 0,
    }
}

/// The queues of a port, or for ANY those of all ports, port by port. A port without queues has
/// none to list, and that is no error.
///
/// Errors: QUEUE_OP_FAILED/BAD_PORT.
fn queues_of(
    datapath: &Datapath<impl FrameEngine>,
    wanted: PortNo,
) -> Result<Vec<&Queue>, ErrorCode> {
    let ports = datapath.ports();
    let any = wanted == PortNo::ANY;
    if !any && !ports.contains_key(&wanted) {
        return Err(QueueOpFailed::BAD_PORT);
    }
    let chosen = ports.keys().filter(|port| any || wanted == **port);
    let egresses = chosen.filter_map(|port| datapath.queues().of(*port));
    Ok(egresses.flat_map(Egress::queues).collect())
}

/// The body of QUEUE_GET_CONFIG_REPLY. Errors: QUEUE_OP_FAILED/BAD_PORT.
pub(crate) fn queues(
    datapath: &Datapath<impl FrameEngine>,
    request: &QueueConfigRequest,
) -> Result<QueueConfig, ErrorCode> {
    let port = request.port;
    let mut queues = Vec::new();
    for queue in queues_of(datapath, port)? {
        let port = queue.stats.port_no;
        let port_kbps = datapath.ports()[&port].desc.curr_speed;
        queues.push(PacketQueue {
            queue_id: queue.id,
            port,
            properties: properties(&queue.spec, port_kbps),
        });
    }
    Ok(QueueConfig { port, queues })
}

/// The queues that a request names; for ALL there may be none.
///
/// Errors: QUEUE_OP_FAILED with BAD_PORT, or BAD_QUEUE if none of the requested ports has it.
fn queues_asked<'a>(
    datapath: &'a Datapath<impl FrameEngine>,
    request: &QueueStatsRequest,
) -> Result<Vec<&'a Queue>, ErrorCode> {
    let wanted = request.queue_id;
    let mut queues = queues_of(datapath, request.port_no)?;
    queues.retain(|queue| wanted == QueueId::ALL || wanted == queue.id);
    if queues.is_empty() && wanted != QueueId::ALL {
        return Err(QueueOpFailed::BAD_QUEUE);
    }
    Ok(queues)
}

/// The body of a QUEUE_DESC reply. Errors: as [`queues_asked`].
pub(crate) fn queue_descs(
    datapath: &Datapath<impl FrameEngine>,
    request: &QueueStatsRequest,
) -> Result<Vec<QueueDesc>, ErrorCode> {
    let mut list = Vec::new();
    for queue in queues_asked(datapath, request)? {
        let port_no = queue.stats.port_no;
        let port_kbps = datapath.ports()[&port_no].desc.curr_speed;
        list.push(QueueDesc {
            port_no,
            queue_id: queue.id,
            properties: properties(&queue.spec, port_kbps),
        });
    }
    Ok(list)
}

/// The body of a QUEUE reply. Errors: as [`queues_asked`].
pub(crate) fn queue_stats(
    datapath: &Datapath<impl FrameEngine>,
    now: Time,
    request: &QueueStatsRequest,
) -> Result<Vec<QueueStats>, ErrorCode> {
    let queues = queues_asked(datapath, request)?;
    let mut list = Vec::with_capacity(queues.len());
    for queue in queues {
        let (duration_sec, duration_nsec) = now.duration(queue.since);
        list.push(QueueStats {
            duration_sec,
            duration_nsec,
            ..queue.stats.clone()
        });
    }
    Ok(list)
}
