//! Captures of OpenFlow messages into files, as Wireshark's exported PDUs.

use std::fmt;
use std::fs::File;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use bofuss_channel::AddressPair;
use bofuss_ports::{CaptureSource, Direction, LinkType};

use super::{CaptureWriter, CopyCounts, MAX_COPIERS, is_named};
use crate::error::Result;

/// Tags before a message, as Wireshark's exported PDUs have them (`epan/exported_pdu.h`): the name
/// of the dissector, source and destination address (IPv4 or IPv6), the type of the ports, the
/// ports, and the direction.
const DISSECTOR: u16 = 12;
const IPV4: [u16; 2] = [20, 21];
const IPV6: [u16; 2] = [22, 23];
const PORT_KIND: u16 = 24;
const PORTS: [u16; 2] = [25, 26];
const DIRECTION: u16 = 35;
/// The port type of TCP.
const TCP: u32 = 2;

/// The tags before a message. A unix socket has no addresses.
fn tags(ends: Option<AddressPair>, received: bool) -> Vec<u8> {
    let mut tags = Vec::new();
    put_tag(&mut tags, DISSECTOR, b"openflow");
    if let Some(AddressPair { local, peer }) = ends {
        let ends = if received {
            [peer, local]
        } else {
            [local, peer]
        };
        for (place, end) in ends.into_iter().enumerate() {
            match end.ip().to_canonical() {
                IpAddr::V4(address) => put_tag(&mut tags, IPV4[place], &address.octets()),
                IpAddr::V6(address) => put_tag(&mut tags, IPV6[place], &address.octets()),
            }
            let port = u32::from(end.port());
            put_tag(&mut tags, PORTS[place], &port.to_be_bytes());
        }
        put_tag(&mut tags, PORT_KIND, &TCP.to_be_bytes());
    }
    put_tag(&mut tags, DIRECTION, &u32::from(received).to_be_bytes());
    // The end marker.
    put_tag(&mut tags, 0, &[]);
    tags
}

fn put_tag(tags: &mut Vec<u8>, tag: u16, value: &[u8]) {
    tags.extend(tag.to_be_bytes());
    tags.extend((value.len() as u16).to_be_bytes());
    tags.extend(value);
}

/// Captures of the messages of all OpenFlow connections, decrypted.
#[derive(Clone, Default)]
pub struct MessageCaptures(Arc<Mutex<Vec<MessageCapture>>>);

struct MessageCapture {
    name: String,
    file: CaptureWriter,
    counts: CopyCounts,
}

impl MessageCaptures {
    fn list(&self) -> MutexGuard<'_, Vec<MessageCapture>> {
        self.0.lock().expect("no holder panics")
    }

    /// Copies messages of a connection. `bytes` are one or several whole messages.
    pub fn see(&self, ends: Option<AddressPair>, received: bool, mut bytes: &[u8]) {
        let mut list = self.list();
        if list.is_empty() {
            return;
        }
        let head = tags(ends, received);
        let direction = if received {
            Direction::In
        } else {
            Direction::Out
        };
        while bytes.len() >= 4 {
            let length = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
            let (message, rest) = bytes.split_at(length.clamp(4, bytes.len()));
            let record = [&head, message].concat();
            for capture in list.iter_mut() {
                let copied = capture.file.record(direction, &record);
                capture.counts.count(record.len(), copied);
            }
            bytes = rest;
        }
        list.retain(|capture| !capture.file.is_full());
    }

    /// Starts a capture of a switch's messages into `file`; without it, opens the file `name`.
    /// Errors: a sentence for the user.
    pub fn begin(&self, name: &str, file: Option<File>, switch: &str) -> Result<()> {
        self.prepare(name, file, switch)?;
        let begun = self.begin_prepared();
        if begun.is_err() {
            self.end(name);
        }
        begun
    }

    /// The same, but nothing is written before [`Self::begin_prepared`].
    pub fn prepare(&self, name: &str, file: Option<File>, switch: &str) -> Result<()> {
        if self.list().len() >= MAX_COPIERS {
            return Err(format!("there are {MAX_COPIERS} captures already").into());
        }
        let source = CaptureSource {
            name: "openflow".into(),
            link_type: LinkType::UpperPdu,
            comment: format!("OpenFlow messages of all connections of switch {switch}"),
        };
        let file = CaptureWriter::create(name, file, source)?;
        self.list().push(MessageCapture {
            name: name.into(),
            file,
            counts: CopyCounts::default(),
        });
        Ok(())
    }

    /// Begins to write the captures that are prepared. Errors: the system's.
    pub fn begin_prepared(&self) -> Result<()> {
        let list = self.list();
        let begun = list.iter().map(|capture| capture.file.begin());
        begun.fold(Ok(()), Result::and)
    }

    /// Ends the capture into a file. Returns false if there is none.
    pub fn end(&self, name: &str) -> bool {
        let mut list = self.list();
        let before = list.len();
        list.retain(|capture| !is_named(&capture.name, name));
        list.len() < before
    }
}

impl fmt::Display for MessageCaptures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for capture in self.list().iter() {
            writeln!(f, "openflow {} {}", capture.name, capture.counts)?;
        }
        Ok(())
    }
}
