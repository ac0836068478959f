//! The trace: what the pipeline would do with a packet, requested by an experimenter message.

use alloc::string::String;
use alloc::vec;
use core::fmt::Write;

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, PacketInEvent, Sink, Step, Time};
use bofuss_frame::Frame;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{Arg, BOFUSS, ExtKind, ExtRow};
use bofuss_oflib::field::TUNNEL_ID;
use bofuss_oflib::message::{FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::wire::{Bytes, cut};
use bofuss_oflib::{ErrorCode, ExtValue, PortNo};

use crate::given_packet::packet_of;

/// The messages: a request with the frame as its data, and a reply whose data are the steps as
/// lines of UTF-8. If the last line has no end, the trace was cut off.
pub static ROWS: [ExtRow; 2] = [
    ExtRow::new(ExtKind::Message, BOFUSS, 1, "trace_request")
        .with_args(&[Arg::new("in_port", 4)])
        .with_data(),
    ExtRow::new(ExtKind::Message, BOFUSS, 2, "trace_reply").with_data(),
];

/// The longest trace in a reply, in bytes; the rest is cut off.
const MAX_TRACE_BYTES: usize = 60_000;

/// A request to trace `frame` as received on `in_port`.
pub fn request(in_port: PortNo, frame: &[u8]) -> ExtValue {
    ExtValue::new(&ROWS[0], vec![in_port.0.into()], Bytes(frame.into()))
}

/// Returns true if a value is a trace request.
pub(crate) fn asks(value: &ExtValue) -> bool {
    value.row.place_in(&ROWS) == Some(0)
}

/// A sink that writes the steps as text and has no other effect.
struct StepLines(String);

impl Sink for StepLines {
    const TRACES: bool = true;
    const DRY: bool = true;
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
    fn step(&mut self, step: Step<'_>) {
        if self.0.len() < MAX_TRACE_BYTES {
            writeln!(self.0, "{step}").expect("a string takes everything");
        }
    }
}

/// Carries out [`crate::Switch::trace`].
pub(crate) fn trace(
    datapath: &mut Datapath<impl FrameEngine>,
    now: Time,
    value: &ExtValue,
    tunnel_id: u64,
) -> Result<ExtValue, ErrorCode> {
    let in_port = PortNo(value.args[0] as u32);
    if !in_port.is_port() {
        return Err(BadRequest::BAD_PORT);
    }
    let ingress = datapath.ports().get(&in_port);
    let is_of_ethernet = ingress.is_none_or(|port| !port.without_ethernet);
    let made = packet_of(datapath, &value.data.0, in_port, is_of_ethernet)?;
    let mut packet = made.ok_or(BadRequest::BAD_PACKET)?;
    if tunnel_id != 0 {
        packet.key_mut().set(TUNNEL_ID, tunnel_id.into());
    }
    let mut lines = StepLines(String::new());
    datapath.control(now, &mut lines).trace(packet);
    let data = Bytes(cut(&lines.0, MAX_TRACE_BYTES).into());
    Ok(ExtValue::new(&ROWS[1], vec![], data))
}
