//! What the benches share: the allocator, the clock, and where frames go.

use std::alloc::System;

use bofuss_datapath::{PacketInEvent, Sink};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::{FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::types::QueueId;
use bofuss_ports::HugePageAllocator;

#[global_allocator]
static GLOBAL: HugePageAllocator<System> = HugePageAllocator(System);

/// Nanoseconds that this thread has run on a processor.
pub(crate) fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Keeps frames to be sent again, and counts those that left by each port.
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
