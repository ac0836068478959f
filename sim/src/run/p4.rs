//! Carries out what a switch with a P4 program does with a frame.

use bofuss_embed::p4::{Loss, P4Effect};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;

use super::EventLoop;
use crate::link::NodePort;
use crate::network::NodeKind;

impl EventLoop<'_> {
    /// Gives a P4 switch a frame, and sends what leaves. Digests and logs are only counted.
    pub(super) fn receive_p4(&mut self, at: NodePort, frame: Frame) {
        let id = at.node.0 as usize;
        if let NodeKind::P4(switch) = &mut self.network.nodes[id].kind {
            let received = switch.receive_frame(self.network.now, at.port.0, frame);
            received.expect("a link has its ports");
        }
        while let NodeKind::P4(switch) = &mut self.network.nodes[id].kind
            && let Some(effect) = switch.next_effect()
        {
            let P4Effect::Transmit(sent) = effect else {
                continue;
            };
            match self.network.pool.frame(&sent.frame) {
                Some(frame) => self.transmit(at.node, PortNo(sent.port), frame),
                None => switch.lose(Loss::NoBuffer),
            }
        }
    }
}
