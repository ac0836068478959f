//! A controller that is a learning switch, over plain TCP: `controller [ADDRESS]`.
//!
//! It answers HELLO, FEATURES_REPLY and ECHO_REQUEST, and installs a flow on each packet-in whose
//! destination it knows.

use std::collections::HashMap;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use bofuss_oflib::action::Output;
use bofuss_oflib::field::{ETH_DST, IN_PORT};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::{Empty, FlowMod, Hello, PacketIn, PacketOut};
use bofuss_oflib::types::MaxLen;
use bofuss_oflib::{Action, Assembler, Codec, FieldMatch, Framer, Match, Message, PortNo, Version};

/// Bytes of unfinished multipart messages that are kept.
const MAX_UNFINISHED_BYTES: usize = 1 << 20;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:6653"))?;
    for stream in listener.incoming() {
        let stream = stream?;
        std::thread::spawn(|| serve(stream).map_err(|error| eprintln!("{error}")));
    }
    Ok(())
}

/// Serves one switch until it goes.
fn serve(mut stream: TcpStream) -> Outcome<()> {
    let codec = Codec::new(Version::V1_3, Arc::default());
    let mut framer = Framer::new();
    let mut assembler = Assembler::new(codec.clone(), MAX_UNFINISHED_BYTES);
    let mut learned = HashMap::new();
    let mut received = [0; 4096];
    let mut out = Vec::new();
    let hello = Hello::offering(&[Version::V1_3]);
    codec.encode(0, &Message::Hello(hello), &mut out)?;
    loop {
        stream.write_all(&out)?;
        out.clear();
        match stream.read(&mut received)? {
            0 => return Ok(()),
            count => framer.push(&received[..count]),
        }
        while let Some(frame) = framer.next_message()? {
            let message = assembler.receive(frame).map_err(|refused| refused.cause)?;
            if let Some((xid, message)) = message {
                for answer in answers(message, &mut learned) {
                    codec.encode(xid, &answer, &mut out)?;
                }
            }
        }
    }
}

/// What a message from the switch is answered with. `learned` says behind which port a host is.
fn answers(message: Message, learned: &mut HashMap<[u8; 6], PortNo>) -> Vec<Message> {
    match message {
        Message::Hello(_) => vec![Message::FeaturesRequest(Empty)],
        Message::FeaturesReply(features) => {
            println!("switch {:#x}", features.datapath_id);
            let whole = Action::Output(Output {
                port: PortNo::CONTROLLER,
                max_len: MaxLen::NO_BUFFER,
            });
            vec![Message::FlowMod(FlowMod {
                priority: 0,
                instructions: Instructions::apply(vec![whole]),
                ..FlowMod::add(Match::ANY)
            })]
        }
        Message::EchoRequest(data) => vec![Message::EchoReply(data)],
        Message::PacketIn(packet) => forward(packet, learned).unwrap_or_default(),
        Message::Error(error) => {
            println!("{}", error.error);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// A flow for packets like this one, if their destination is known, and the packet itself.
fn forward(packet: PacketIn, learned: &mut HashMap<[u8; 6], PortNo>) -> Option<Vec<Message>> {
    let in_port = PortNo(packet.fields.get(IN_PORT)?.number() as u32);
    let destination = *packet.data.0.first_chunk::<6>()?;
    learned.insert(*packet.data.0[6..].first_chunk()?, in_port);
    let known = learned.get(&destination).copied();
    let actions = vec![Action::output(known.unwrap_or(PortNo::FLOOD))];
    let mut answers = Vec::new();
    if known.is_some() {
        let [a, b, c, d, e, f] = destination;
        let to = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        let fields = [
            FieldMatch::exact(IN_PORT, in_port.0.into()),
            FieldMatch::exact(ETH_DST, to.into()),
        ];
        answers.push(Message::FlowMod(FlowMod {
            instructions: Instructions::apply(actions.clone()),
            ..FlowMod::add(Match::new(&fields).expect("both need nothing else"))
        }));
    }
    answers.push(Message::PacketOut(PacketOut {
        buffer_id: packet.buffer_id,
        in_port,
        actions,
        data: packet.data,
        ..PacketOut::default()
    }));
    Some(answers)
}
