//! BOFUSS's experimenter messages that make and delete queues.
//!
//! The messages are those that BOFUSS has for it, with the same bytes, so that its tools work. A
//! queue is described by the properties of OpenFlow 1.3 in each of them, whatever version the
//! connection speaks.

use alloc::string::{String, ToString};

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, QueueSpec, Rate};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{Arg, BOFUSS, ExtKind, ExtRow};
use bofuss_oflib::message::queue::{PacketQueue, QueueProperty};
use bofuss_oflib::wire::{FixedStr, Reader};
use bofuss_oflib::{Codec, ErrorCode, ExtValue, PortNo, Version};

use crate::deliver::SwitchSink;
use crate::features::Identity;
use crate::io::SwitchIo;

/// The experimenter id of OpenFlow itself, under which BOFUSS defined its messages.
const OPENFLOW: u32 = 0x0000_26e1;
/// The size in bytes of the description in SET_DESC, which a zero byte ends.
pub const DESC_BYTES: usize = 256;

/// The port, and padding; the packet queue is the data.
const QUEUE_ARGS: &[Arg] = &[word("port"), word("pad")];

const fn word(name: &'static str) -> Arg {
    Arg { name, bytes: 4 }
}

/// A row of BOFUSS's. It changes the switch, so a slave may not send it, and it waits for its turn.
const fn row(ty: u32, name: &'static str, args: &'static [Arg]) -> ExtRow {
    ExtRow::new(ExtKind::Message, OPENFLOW, ty, name)
        .with_args(args)
        .with_data()
        .that_changes()
}

/// The messages: make or change a queue, delete one (the data is one packet queue of OpenFlow 1.3),
/// set the datapath's description, and choose a port's discipline, whose name is the data.
pub static ROWS: [ExtRow; 4] = [
    row(0, "queue_modify", QUEUE_ARGS),
    row(1, "queue_delete", QUEUE_ARGS),
    row(2, "set_desc", &[]),
    ExtRow::new(ExtKind::Message, BOFUSS, 3, "set_discipline")
        .with_args(&[word("port")])
        .with_data()
        .that_changes(),
];

/// The codec of the packet queue in a message: always that of 1.3, which BOFUSS speaks.
fn codec() -> Codec {
    Codec::new(Version::V1_3, alloc::sync::Arc::default())
}

/// A rate in thousandths; values above 1,000 mean that there is none (OFPQ_MIN_RATE_UNCFG,
/// OFPQ_MAX_RATE_UNCFG).
fn rate_of_share(share: u16) -> Option<Rate> {
    (share <= 1000).then_some(Rate::PerMille(share))
}

/// Reads a queue's configuration from its properties. Those that are left out have their defaults,
/// and of two rates for the same limit the later property counts; a rate of 0 kb/s is none. Whether
/// the port can have such a queue is not checked here.
///
/// Errors: BAD_REQUEST with BAD_EXPERIMENTER for a property that is not ours, or BAD_LEN if ours
/// does not have 16 bytes.
pub fn spec(properties: &[QueueProperty]) -> Result<QueueSpec, ErrorCode> {
    let mut spec = QueueSpec::default();
    for property in properties {
        match property {
            QueueProperty::MinRate(rate) => spec.min = rate_of_share(*rate),
            QueueProperty::MaxRate(rate) => spec.max = rate_of_share(*rate),
            QueueProperty::Experimenter(BOFUSS, _, data) => {
                // Priority, weight, the two rates and padding, as [`properties`] writes them.
                let Ok([a, b, c, d, rates @ .., _, _, _, _]) = <[u8; 16]>::try_from(&data.0[..])
                else {
                    return Err(BadRequest::BAD_LEN);
                };
                (spec.priority, spec.weight) =
                    (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                let rates = u64::from_be_bytes(rates);
                let min_kbps = (rates >> 32) as u32;
                let max_kbps = rates as u32;
                if min_kbps > 0 {
                    spec.min = Some(Rate::Kbps(min_kbps));
                }
                if max_kbps > 0 {
                    spec.max = Some(Rate::Kbps(max_kbps));
                }
            }
            QueueProperty::Experimenter(..) => return Err(BadRequest::BAD_EXPERIMENTER),
        }
    }
    Ok(spec)
}

/// Handles a message of [`ROWS`]; `None` if it is none of these.
///
/// Errors: BAD_REQUEST with BAD_LEN or BAD_EXPERIMENTER, QUEUE_OP_FAILED.
pub(crate) fn queue_message<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    identity: &mut Identity,
    sink: &mut SwitchSink<'_, I>,
    value: &ExtValue,
) -> Option<Result<(), ErrorCode>> {
    let at = value.row.place_in(&ROWS)?;
    Some(match at {
        2 => set_description(identity, &value.data.0),
        3 => set_discipline(datapath, sink, value),
        _ => change_queue(datapath, sink, value, at == 1),
    })
}

/// Gives a port the discipline whose name is the data; no name of a discipline is invalid UTF-8, so
/// such a name is not found either. Errors: QUEUE_OP_FAILED.
fn set_discipline<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    value: &ExtValue,
) -> Result<(), ErrorCode> {
    let port = PortNo(value.args[0] as u32);
    let name = core::str::from_utf8(&value.data.0).unwrap_or_default();
    let set = datapath
        .port_control(sink.now, sink)
        .set_discipline(port, name);
    set.map_err(|error| error.0)
}

/// Sets the description of the datapath; it stays until the switch ends or is configured anew.
/// Errors: BAD_REQUEST/BAD_LEN.
fn set_description(identity: &mut Identity, data: &[u8]) -> Result<(), ErrorCode> {
    if data.len() != DESC_BYTES {
        return Err(BadRequest::BAD_LEN);
    }
    let text = data.split(|byte| *byte == 0).next().unwrap_or_default();
    identity.desc.dp_desc = FixedStr(String::from_utf8_lossy(text).to_string());
    Ok(())
}

/// Makes, changes or deletes a queue. The port is the message's; that in the packet queue is not
/// looked at, and of a queue to delete only the number.
///
/// Errors: BAD_REQUEST with BAD_LEN or BAD_EXPERIMENTER, QUEUE_OP_FAILED.
fn change_queue<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    value: &ExtValue,
    delete: bool,
) -> Result<(), ErrorCode> {
    let codec = codec();
    let port = PortNo(value.args[0] as u32);
    let mut r = Reader::new(&codec, &value.data.0);
    let queue = r.get::<PacketQueue>().map_err(|error| error.error)?;
    // One packet queue is all that the data may have.
    r.finish().map_err(|error| error.error)?;
    if delete {
        let deleted = datapath
            .port_control(sink.now, sink)
            .delete_queue(port, queue.queue_id);
        return deleted.map_err(|error| error.0);
    }
    let spec = spec(&queue.properties)?;
    let modified = datapath.modify_queue(sink.now, port, queue.queue_id, spec);
    modified.map_err(|error| error.0)
}
