//! Carries out what a switch with a P4 program does with frames.

use bofuss_embed::p4::{Loss, P4Effect};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;

use super::EventLoop;
use crate::event_queue::Due;
use crate::link::{NodeId, NodePort};
use crate::network::{Network, NetworkError, NodeKind};

/// Why a port of a link is one of the switch.
const OF_A_LINK: &str = "a link has its ports";

impl Network {
    /// Lets packets of a switch with a P4 program wait before egress, by their priority, while the
    /// link of their port is busy; of its own queue, the link uses one place then.
    ///
    /// Errors: [`NetworkError::Unknown`], for any other node.
    pub fn add_p4_queues(&mut self, node: NodeId) -> Result<(), NetworkError> {
        self.p4_switch(node).ok_or(NetworkError::Unknown)?;
        self.p4_queues.insert(node);
        Ok(())
    }
}

impl EventLoop<'_> {
    /// Gives a P4 switch a frame, and sends what leaves.
    pub(super) fn receive_p4(&mut self, at: NodePort, frame: Frame) {
        let id = at.node.0 as usize;
        if let NodeKind::P4(switch) = &mut self.network.nodes[id].kind {
            let received = switch.receive_frame(self.network.now, at.port.0, frame);
            received.expect(OF_A_LINK);
        }
        self.serve_p4(at.node);
    }

    /// Sends what leaves a P4 switch. Digests and logs are only counted.
    fn serve_p4(&mut self, node: NodeId) {
        let id = node.0 as usize;
        while let NodeKind::P4(switch) = &mut self.network.nodes[id].kind
            && let Some(effect) = switch.next_effect()
        {
            let P4Effect::Transmit(sent) = effect else {
                continue;
            };
            let port = PortNo(sent.port);
            match self.network.pool.frame(&sent.frame) {
                Some(frame) => {
                    self.transmit(node, port, frame);
                    self.hold_p4(node, port);
                }
                None => switch.lose(Loss::NoBuffer),
            }
        }
    }

    /// Lets further packets wait for a port whose link is busy, if the switch has queues. While
    /// they wait, one event is scheduled for the time when the link has room.
    fn hold_p4(&mut self, node: NodeId, port: PortNo) {
        if !self.network.p4_queues.contains(&node) {
            return;
        }
        let Some(number) = self.network.nodes[node.0 as usize].transmitter_at(port) else {
            return;
        };
        let room = self.network.transmitters[number as usize].room(self.network.now);
        let NodeKind::P4(switch) = &mut self.network.nodes[node.0 as usize].kind else {
            return;
        };
        if let Err(at) = room
            && !switch.switch().holds(port.0)
        {
            switch.hold(port.0).expect(OF_A_LINK);
            let transmitter = number;
            self.network.events.schedule(at, Due::Room { transmitter });
        }
    }

    /// Lets packets leave that wait for a port, as far as its link has room.
    pub(super) fn p4_has_room(&mut self, transmitter: u32) {
        let NodePort { node, port } = self.network.transmitters[transmitter as usize].from;
        let now = self.network.now;
        loop {
            let room = self.network.transmitters[transmitter as usize].room(now);
            let NodeKind::P4(switch) = &mut self.network.nodes[node.0 as usize].kind else {
                return;
            };
            match room {
                Ok(most) => {
                    let left = switch.leave(now, port.0, most as usize);
                    left.expect(OF_A_LINK);
                }
                Err(at) => {
                    self.network.events.schedule(at, Due::Room { transmitter });
                    return;
                }
            }
            let others_wait = switch.switch().holds(port.0);
            self.serve_p4(node);
            if !others_wait {
                return;
            }
        }
    }
}
