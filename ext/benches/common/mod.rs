//! The parts that benches share: the allocator, the clock, and where frames go.

use std::alloc::System;

use bofuss_datapath::{PacketInEvent, Sink};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::{FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::types::QueueId;
use bofuss_ports::HugePageAllocator;

#[global_allocator]
static GLOBAL: HugePageAllocator<System> = HugePageAllocator(System);

/// Keeps the frames that left, to be sent again, and counts them by port.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) frames: Vec<Frame>,
    pub(crate) left: [u64; 4],
}

impl Sink for Seen {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.left[port.0 as usize] += 1;
        self.frames.push(frame);
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}
