//! Carries out the effects of a follower's switch: frames go to its ports, packet-ins to the first
//! worker.

use std::sync::mpsc::SyncSender;
use std::task::Waker;

use bofuss_agent::{ConnId, SwitchIo};
use bofuss_frame::Frame;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Message, PortNo};

use crate::dataplane::port_set::PortSet;

/// A packet-in of another worker, and the port by which its packet came.
pub(in crate::dataplane) struct PacketIn {
    pub(in crate::dataplane) in_port: PortNo,
    pub(in crate::dataplane) conn: ConnId,
    pub(in crate::dataplane) xid: u32,
    pub(in crate::dataplane) message: Message,
}

/// The ports of a follower, and its way to the connections.
pub(super) struct FollowerIo {
    pub(super) ports: PortSet,
    packet_ins: SyncSender<PacketIn>,
    leader: Waker,
    /// The ingress port of the packet-in that was allowed last.
    in_port: PortNo,
    pub(super) lost_packet_ins: u64,
}

impl FollowerIo {
    /// Sends frames out of these ports, and packet-ins to the first worker, which `leader` wakes.
    pub(super) fn new(ports: PortSet, packet_ins: SyncSender<PacketIn>, leader: Waker) -> Self {
        Self {
            ports,
            packet_ins,
            leader,
            in_port: PortNo(0),
            lost_packet_ins: 0,
        }
    }
}

impl SwitchIo for FollowerIo {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.ports.transmit(port, frame);
    }

    fn port_takes_frames(&self, port: PortNo) -> bool {
        self.ports.takes_frames(port)
    }

    fn flush(&mut self) {
        self.ports.flush();
    }

    fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        let packet_in = PacketIn {
            in_port: self.in_port,
            conn,
            xid,
            message,
        };
        match self.packet_ins.try_send(packet_in) {
            Ok(()) => self.leader.wake_by_ref(),
            Err(_) => self.lost_packet_ins += 1,
        }
    }

    /// Whether a connection has room is found out by the first worker.
    fn has_room(&self, _: ConnId) -> bool {
        true
    }

    fn takes_packet_in(&mut self, _: ConnId, in_port: PortNo) -> bool {
        self.in_port = in_port;
        true
    }

    fn holds_packets(&self) -> bool {
        false
    }

    /// Frames do not change links.
    fn set_link(&mut self, _: PortNo, _: bool) {}
}
