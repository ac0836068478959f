//! A controller that makes a learning switch of each of its switches.

use std::collections::BTreeMap;

use bofuss_datapath::Time;
use bofuss_oflib::action::Output;
use bofuss_oflib::field::{ETH_DST, ETH_SRC, IN_PORT};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::{FlowMod, FlowModCommand, PacketIn, PacketOut};
use bofuss_oflib::types::{BufferId, MaxLen};
use bofuss_oflib::wire::{Bytes, be_number};
use bofuss_oflib::{Action, FieldMatch, Mac, Match, Message, PortNo};

use super::{Controller, ControllerOutput};
use crate::link::NodeId;

/// Seconds without packets after which a learned entry expires.
const IDLE_TIMEOUT_SECS: u16 = 60;
/// The priority of learned entries, above that of the table-miss entry.
const PRIORITY: u16 = 1;

/// A learning switch as in the tutorials of controllers. Packets that match no entry come here, and
/// the port of their source is noted. If the port of the destination is known, an entry for the two
/// addresses is added; otherwise the packet is flooded.
#[derive(Debug, Default)]
pub struct LearningController {
    /// The port of each address at each switch.
    ports: BTreeMap<(NodeId, Mac), PortNo>,
    xid: u32,
}

impl LearningController {
    fn send(&mut self, switch: NodeId, message: Message, out: &mut ControllerOutput) {
        self.xid = self.xid.wrapping_add(1);
        out.send(switch, self.xid, message);
    }

    fn packet_in(&mut self, switch: NodeId, packet: &PacketIn, out: &mut ControllerOutput) {
        let Some(in_port) = packet.in_port() else {
            return;
        };
        let Some((dst, src)) = addresses(&packet.data.0) else {
            return;
        };
        let before = self.ports.insert((switch, src), in_port);
        if before.is_some_and(|port| port != in_port) {
            // It has moved: entries to its old port would be used as long as packets match them.
            let fields = [FieldMatch::exact(ETH_DST, be_number(&src.0))];
            let mut old = FlowMod::add(Match::new(&fields).expect("the field needs no other"));
            old.command = FlowModCommand::DELETE;
            self.send(switch, Message::FlowMod(old), out);
        }
        let known = self.ports.get(&(switch, dst)).copied();
        let actions = vec![Action::output(known.unwrap_or(PortNo::FLOOD))];
        if known.is_some() {
            let fields = [
                FieldMatch::exact(IN_PORT, in_port.0.into()),
                FieldMatch::exact(ETH_DST, be_number(&dst.0)),
                FieldMatch::exact(ETH_SRC, be_number(&src.0)),
            ];
            let fields = Match::new(&fields).expect("these fields need no other");
            let mut entry = FlowMod::add(fields);
            entry.priority = PRIORITY;
            entry.idle_timeout = IDLE_TIMEOUT_SECS;
            entry.instructions = Instructions::apply(actions.clone());
            self.send(switch, Message::FlowMod(entry), out);
        }
        let held = packet.buffer_id != BufferId::NO_BUFFER;
        let data = if held {
            Vec::new()
        } else {
            packet.data.0.clone()
        };
        let sent = PacketOut {
            buffer_id: packet.buffer_id,
            in_port,
            actions,
            data: Bytes(data),
            ..PacketOut::default()
        };
        self.send(switch, Message::PacketOut(sent), out);
    }
}

impl Controller for LearningController {
    fn connected(&mut self, _: Time, switch: NodeId, out: &mut ControllerOutput) {
        let mut miss = FlowMod::add(Match::ANY);
        miss.priority = 0;
        let to_us = Action::Output(Output {
            port: PortNo::CONTROLLER,
            max_len: MaxLen::NO_BUFFER,
        });
        miss.instructions = Instructions::apply([to_us].into());
        self.send(switch, Message::FlowMod(miss), out);
    }

    fn disconnected(&mut self, _: Time, switch: NodeId, _: &mut ControllerOutput) {
        self.ports.retain(|(at, _), _| *at != switch);
    }

    fn message(
        &mut self,
        _: Time,
        switch: NodeId,
        _xid: u32,
        message: Message,
        out: &mut ControllerOutput,
    ) {
        if let Message::PacketIn(packet) = &message {
            self.packet_in(switch, packet, out);
        }
    }
}

/// The destination and source address of a frame.
fn addresses(frame: &[u8]) -> Option<(Mac, Mac)> {
    let (dst, rest) = frame.split_first_chunk()?;
    let src = rest.first_chunk()?;
    Some((Mac(*dst), Mac(*src)))
}
