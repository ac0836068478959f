//! Drives a switch through everything that it says in one version, and keeps each message.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use bofuss_oflib::message::multipart::MULTIPARTS;
use bofuss_oflib::message::{Empty, MESSAGES};
use bofuss_oflib::{Catalogue, Codec, EncodeError, Framer, HEADER_BYTES, Message, Version};
use bofuss_tests::{PATIENCE, raw};

/// The type of messages of experimenters.
const EXPERIMENTER: u8 = 4;
const REPLY: &str = "MULTIPART_REPLY";
/// Names that are not counted: multiparts go by their types, and those of extensions are for those
/// who ask for them.
const NEVER: [&str; 2] = [REPLY, "MULTIPART_REPLY EXPERIMENTER"];

/// A message of the switch.
pub struct Told {
    /// Its type, and that of its multipart.
    pub name: String,
    /// The message in our words.
    pub text: String,
    pub bytes: Vec<u8>,
}

/// A controller's connection in one version.
pub struct Session {
    pub codec: Codec,
    stream: TcpStream,
    framer: Framer,
    /// The messages that the switch has said.
    pub told: Vec<Told>,
    /// The names of what was not asked.
    unasked: Vec<String>,
}

impl Session {
    pub fn new(port: u16, version: Version) -> Self {
        let mut session = Self {
            codec: Codec::new(version, Arc::new(Catalogue::default())),
            stream: raw::connect(port),
            framer: Framer::new(),
            told: Vec::new(),
            unasked: Vec::new(),
        };
        session.send_raw(&[version.number(), 0, 0, 8, 0, 0, 0, 1]);
        session.hears("HELLO", 1);
        session
    }

    /// Sends a message, unless the version cannot say it, or only in an extension's words: whoever
    /// uses these can also read them.
    pub fn send(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        match self.codec.encode(7, message, &mut bytes) {
            Ok(()) if !self.is_extension(&bytes) => self.send_raw(&bytes),
            Ok(()) | Err(EncodeError::Unsupported(_)) => self.unasked.push(name(message)),
            Err(error) => panic!("{error}: {message}"),
        }
    }

    /// Sends bytes, right or wrong.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    fn is_extension(&self, bytes: &[u8]) -> bool {
        let [multipart, _] = self.codec.version.multipart_types();
        let ty = &bytes[HEADER_BYTES..];
        bytes[1] == EXPERIMENTER || bytes[1] == multipart && ty.starts_with(&[0xff, 0xff])
    }

    /// Returns how many messages of this name the switch has said.
    pub fn count(&self, name: &str) -> usize {
        self.told.iter().filter(|told| told.name == name).count()
    }

    /// Waits until the switch has said so many messages of this name, if the version has it.
    pub fn hears(&mut self, name: &str, count: usize) {
        let row = MESSAGES.iter().find(|row| row.1 == name);
        let start = Instant::now();
        while row.unwrap().2.has(self.codec.version) && self.count(name) < count {
            assert!(start.elapsed() < PATIENCE, "in time: {name} {count}");
            self.next();
        }
    }

    /// Waits until the switch has answered everything that was sent.
    pub fn settle(&mut self) {
        let before = self.count("BARRIER_REPLY");
        self.send(&Message::BarrierRequest(Empty));
        self.hears("BARRIER_REPLY", before + 1);
    }

    fn next(&mut self) {
        let stream = &mut self.stream;
        let bytes = self.framer.read_message(|room| stream.read(room));
        let bytes = bytes.expect("a message in time");
        let bytes = bytes.unwrap().expect("the switch goes on");
        let (_, message) = self.codec.decode(bytes).unwrap();
        self.told.push(Told {
            name: name(&message),
            text: message.to_string(),
            bytes: bytes.to_vec(),
        });
        if let Message::EchoRequest(data) = message {
            self.send(&Message::EchoReply(data));
        }
    }

    /// Returns what a switch says in this version and has not said, although it was asked.
    pub fn missing(&self) -> Vec<String> {
        let version = self.codec.version;
        let types = (0..=u8::MAX).filter(|ty| version.is_from_switch(*ty));
        let names: Vec<&str> = types.filter_map(|ty| version.message_name(ty)).collect();
        let messages = MESSAGES.iter().filter(|row| names.contains(&row.1));
        let messages = messages.filter(|row| row.2.has(version));
        let messages = messages.map(|row| row.1.to_string());
        let multiparts = MULTIPARTS.iter().filter(|row| row.2.has(version));
        let multiparts = multiparts.map(|row| format!("{REPLY} {}", row.1));
        let mut missing: Vec<String> = messages.chain(multiparts).collect();
        missing.retain(|name| {
            let asked = name.replace("REPLY", "REQUEST");
            self.count(name) == 0 && !self.unasked.contains(&asked) && !NEVER.contains(&&**name)
        });
        missing
    }
}

fn name(message: &Message) -> String {
    let name = message.name();
    match message {
        Message::MultipartRequest(request) => format!("{name} {}", request.body.name()),
        Message::MultipartReply(reply) => format!("{name} {}", reply.body.name()),
        _ => name.into(),
    }
}
