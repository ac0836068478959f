//! `packet-out`: sends packets through the switch, in the two forms that ovs-ofctl reads.

use bofuss_oflib::message::{FlowMod, FlowModCommand, PacketOut};
use bofuss_oflib::text::{find_unquoted, parse_actions, parse_bytes, parse_flow, parse_port_named};
use bofuss_oflib::types::BufferId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Instruction, Match, Message, PortNo, field};

use crate::Failure;
use crate::verb::{Command, Made, Requests, misused};
use crate::words::Argument;

/// The word before the packet in the form with one argument.
const PACKET: &str = "packet=";

/// `IN_PORT ACTIONS HEX...`, or `in_port=1,metadata=5,packet=HEX,actions=output:2`.
pub(crate) fn packet_out(command: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [text] => Ok(Requests::Change(vec![with_fields(command, text)?])),
        [port, actions, packets @ ..] if !packets.is_empty() => {
            of_port(command, port, actions, packets)
        }
        _ => misused(),
    }
}

fn of_port(command: &Command, port: &str, actions: &str, packets: &[&str]) -> Made {
    let actions = parse_actions(actions, &Match::ANY, &command.catalogue)?;
    let in_port = parse_port_named(port, &command.catalogue)?;
    let mut messages = Vec::new();
    for packet in packets {
        messages.push(Message::PacketOut(PacketOut {
            buffer_id: BufferId::NO_BUFFER,
            in_port,
            actions: actions.clone(),
            data: Bytes(parse_bytes(packet)?),
            fields: Match::ANY,
        }));
    }
    Ok(Requests::Change(messages))
}

/// Reads the form with one argument: the syntax of a flow, with a packet and without properties.
/// Its fields are those that are in no header, such as metadata, which a packet-out has since
/// OpenFlow 1.5.
fn with_fields(command: &Command, text: &str) -> Result<Message, Failure> {
    let argument = Argument(text);
    let Some(start) = text.find(PACKET) else {
        return Err(argument.wrong("", "no packet: write packet=HEX before actions=..."));
    };
    let rest = &text[start..];
    let packet = &rest[..find_unquoted(rest, &[',', ' ', '\t']).unwrap_or(rest.len())];
    // Blanks replace the packet, so that errors report the right positions.
    let blanks = " ".repeat(packet.len());
    let without_packet = text.replacen(packet, &blanks, 1);
    let flow = parse_flow(&without_packet, FlowModCommand::ADD, &command.catalogue)
        .map_err(Failure::in_text(text))?;
    let plain = FlowMod {
        fields: flow.fields.clone(),
        instructions: flow.instructions.clone(),
        ..FlowMod::add(Match::ANY)
    };
    let actions = match flow.instructions.list() {
        [] => &[][..],
        [Instruction::ApplyActions(actions)] => actions,
        _ => return Err(argument.wrong("", "a packet has actions and no other instructions")),
    };
    if flow != plain {
        return Err(argument.wrong("", "a packet has fields and no properties of an entry"));
    }
    let mut fields = flow.fields.fields().to_vec();
    let mut in_port = PortNo::CONTROLLER;
    if let Some(port) = flow.fields.get(field::IN_PORT) {
        in_port = PortNo(port.number() as u32);
        fields.retain(|one| one.field != field::IN_PORT);
    }
    let fields = Match::new(&fields).map_err(|(_, field)| {
        let why = format!("a controller's packet has no {}", field.name);
        argument.wrong("", &why)
    })?;
    Ok(Message::PacketOut(PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port,
        actions: actions.to_vec(),
        data: Bytes(parse_bytes(&packet[PACKET.len()..])?),
        fields,
    }))
}
