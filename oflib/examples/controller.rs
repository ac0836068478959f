//! A controller that is a hub, over plain TCP, one switch after another: `controller [ADDRESS]`.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use bofuss_oflib::message::{FlowModCommand, Hello, PacketOut};
use bofuss_oflib::{Action, Codec, Framer, Message, PortNo, Version, text::parse_flow};

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:6653"))?;
    let codec = Codec::new(Version::V1_3, Arc::default());
    let to_us = "priority=0,actions=controller:65535";
    let miss = parse_flow(to_us, FlowModCommand::ADD, &codec.catalogue)?;
    loop {
        let (mut stream, _) = listener.accept()?;
        let mut framer = Framer::new();
        while let Some(frame) = framer.read_message(|room| stream.read(room))?? {
            let (xid, message) = codec.decode(frame)?;
            let answers = match message {
                Message::Hello(_) => vec![
                    Message::Hello(Hello::offering(&[Version::V1_3])),
                    Message::FlowMod(miss.clone()),
                ],
                Message::EchoRequest(data) => vec![Message::EchoReply(data)],
                Message::PacketIn(packet) => vec![Message::PacketOut(PacketOut {
                    buffer_id: packet.buffer_id,
                    in_port: packet.in_port().unwrap_or(PortNo::CONTROLLER),
                    actions: vec![Action::output(PortNo::FLOOD)],
                    data: packet.data,
                    ..PacketOut::default()
                })],
                _ => vec![],
            };
            let mut out = Vec::new();
            for answer in answers {
                codec.encode(xid, &answer, &mut out)?;
            }
            stream.write_all(&out)?;
        }
    }
}
