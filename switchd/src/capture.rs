//! Copies of what passes: frames of a port into a file or to another port, OpenFlow into a file.

use std::net::IpAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use std::{fmt, io, thread};

use bofuss_channel::{Ends, Watch};
use bofuss_frame::Frame;
use bofuss_oflib::{Catalogue, PortNo, field, text};
use bofuss_packet::{Key, KeyMatch, Layout, parse};
use bofuss_ports::CaptureFile;
use tracing::warn;

/// Packets or messages of one capture; it ends then.
const MAX_PACKETS: u64 = 1_000_000;
/// Bytes of one capture; it ends then.
const MAX_BYTES: u64 = 1 << 30;
/// Packets that wait to be written at most; what comes then is missing, and counted.
const MAX_WAITING: usize = 512;
/// Captures and mirrors at a time.
pub const MAX_TAPS: usize = 16;
/// Tags before a message, of Wireshark's exported PDUs (`epan/exported_pdu.h`): the name of its
/// dissector, source and destination over IPv4 or IPv6, the kind of their ports, the ports, and
/// whether it was received.
const DISSECTOR: u16 = 12;
const IPV4: [u16; 2] = [20, 21];
const IPV6: [u16; 2] = [22, 23];
const PORT_KIND: u16 = 24;
const PORTS: [u16; 2] = [25, 26];
const DIRECTION: u16 = 35;
/// TCP, as a kind of port.
const TCP: u32 = 2;

/// Refuses a file that is not in the folder for captures, if there is one.
pub fn check_place(file: &str, folder: Option<&Path>) -> Result<(), String> {
    let parent = Path::new(file).parent().map(Path::canonicalize);
    match folder {
        Some(folder) if !matches!(parent, Some(Ok(place)) if place.starts_with(folder)) => {
            let folder = folder.display();
            Err(format!(
                "{file}: captures go to {folder} alone (--capture-folder)"
            ))
        }
        Some(_) | None => Ok(()),
    }
}

/// A capture file, written by a thread of its own.
pub struct Recorder(SyncSender<(SystemTime, Vec<u8>)>);

impl Recorder {
    /// Makes a file. Errors: a sentence for the user.
    pub fn create(path: &str, link_type: u32) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{path}: {error}");
        if !Path::new(path).is_absolute() {
            return Err(format!("{path}: a file is named from / on"));
        }
        let file = CaptureFile::create(Path::new(path), link_type).map_err(failed)?;
        let (to, records) = sync_channel(MAX_WAITING);
        let thread = thread::Builder::new().name("capture".into());
        let name = path.to_string();
        let spawned = thread.spawn(move || {
            if let Err(error) = write(file, &records) {
                warn!("capture {name}: {error}");
            }
        });
        spawned.map(|_| Self(to)).map_err(failed)
    }

    /// Has something written, now or soon; whether there was room.
    pub fn record(&mut self, bytes: &[u8]) -> bool {
        let record = (SystemTime::now(), bytes.to_vec());
        self.0.try_send(record).is_ok()
    }
}

/// Writes until nobody records any more, in whole batches.
fn write(mut file: CaptureFile, records: &Receiver<(SystemTime, Vec<u8>)>) -> io::Result<()> {
    while let Ok((at, bytes)) = records.recv() {
        file.write(at, &bytes)?;
        for (at, bytes) in records.try_iter() {
            file.write(at, &bytes)?;
        }
        file.flush()?;
    }
    Ok(())
}

/// Where copies go.
pub enum To {
    /// Into a file.
    File(Recorder),
    /// Out of a port.
    Port(PortNo),
}

/// Who gets copies of a port's frames, both ways.
pub struct Tap {
    /// The port that is watched.
    port: PortNo,
    /// Which frames.
    rule: KeyMatch,
    /// Where they go.
    pub to: To,
    /// The file or port, as it was named.
    pub name: String,
    packets: u64,
    bytes: u64,
    lost: u64,
}

impl Tap {
    /// Of a port's frames that match a flow, which may be empty. Errors: what is wrong with it.
    pub fn new(
        port: PortNo,
        flow: &str,
        catalogue: &Catalogue,
        name: &str,
        to: To,
    ) -> Result<Self, String> {
        let rule = text::parse_match(flow, catalogue).map_err(|error| error.to_string())?;
        Ok(Self {
            port,
            rule: KeyMatch::from(&rule),
            to,
            name: name.into(),
            packets: 0,
            bytes: 0,
            lost: 0,
        })
    }

    /// The VLAN tags of a frame, if it is to be copied.
    pub fn wants(&self, port: PortNo, frame: &Frame) -> Option<u8> {
        if port != self.port {
            return None;
        }
        let (mut key, mut layout) = (Key::EMPTY, Layout::EMPTY);
        key.set(field::IN_PORT, port.0.into());
        parse(frame.bytes(), &mut key, &mut layout);
        let fits = key.matches(&self.rule, &mut ());
        fits.then_some(layout.vlan_tags)
    }

    /// Counts a frame that was copied, or could not be.
    pub fn count(&mut self, bytes: usize, copied: bool) {
        let (packets, lost) = (u64::from(copied), u64::from(!copied));
        self.packets += packets;
        self.bytes += packets * bytes as u64;
        self.lost += lost;
    }

    /// Whether it is at its end; a mirror has none.
    pub fn is_full(&self) -> bool {
        match self.to {
            To::File(_) => self.packets >= MAX_PACKETS || self.bytes >= MAX_BYTES,
            To::Port(_) => false,
        }
    }
}

impl fmt::Display for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (port, name) = (self.port, &self.name);
        let (packets, bytes, lost) = (self.packets, self.bytes, self.lost);
        writeln!(
            f,
            "{port} {name} packets={packets} bytes={bytes} lost={lost}"
        )
    }
}

/// Whether a file or port is meant by a name: its own, or a file's last part.
pub fn is_named(one: &str, name: &str) -> bool {
    one == name || one.rsplit_once('/').is_some_and(|(_, last)| last == name)
}

/// The tags before a message. Over a unix socket it has no addresses.
fn tags(ends: Option<Ends>, received: bool) -> Vec<u8> {
    let mut tags = Vec::new();
    let mut put = |tag: u16, value: &[u8]| {
        tags.extend(tag.to_be_bytes());
        tags.extend((value.len() as u16).to_be_bytes());
        tags.extend(value);
    };
    put(DISSECTOR, b"openflow");
    if let Some(Ends { local, peer }) = ends {
        let ends = if received {
            [peer, local]
        } else {
            [local, peer]
        };
        for (place, end) in ends.into_iter().enumerate() {
            match end.ip().to_canonical() {
                IpAddr::V4(address) => put(IPV4[place], &address.octets()),
                IpAddr::V6(address) => put(IPV6[place], &address.octets()),
            }
            put(PORTS[place], &u32::from(end.port()).to_be_bytes());
        }
        put(PORT_KIND, &TCP.to_be_bytes());
    }
    put(DIRECTION, &u32::from(received).to_be_bytes());
    // The end of the tags.
    put(0, &[]);
    tags
}

/// Captures of what passes on all OpenFlow connections, decrypted.
#[derive(Clone, Default)]
pub struct Messages(Arc<Mutex<Vec<Message>>>);

struct Message {
    name: String,
    file: Recorder,
    bytes: u64,
    lost: u64,
}

impl Messages {
    /// What shows it the messages.
    pub fn watch(&self) -> Watch {
        let this = self.clone();
        Watch(Arc::new(move |ends, received, bytes| {
            this.see(ends, received, bytes);
        }))
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Message>> {
        self.0.lock().expect("nobody panics who has it")
    }

    fn see(&self, ends: Option<Ends>, received: bool, mut bytes: &[u8]) {
        let mut list = self.list();
        if list.is_empty() {
            return;
        }
        let head = tags(ends, received);
        while bytes.len() >= 4 {
            let length = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
            let (message, rest) = bytes.split_at(length.clamp(4, bytes.len()));
            let record = [&head, message].concat();
            for capture in list.iter_mut() {
                let copied = capture.file.record(&record);
                capture.bytes += record.len() as u64;
                capture.lost += u64::from(!copied);
            }
            bytes = rest;
        }
        list.retain(|capture| capture.bytes < MAX_BYTES);
    }

    /// Begins to write into a file. Errors: a sentence for the user.
    pub fn begin(&self, name: &str) -> Result<(), String> {
        if self.list().len() >= MAX_TAPS {
            return Err(format!("there are {MAX_TAPS} captures already"));
        }
        let file = Recorder::create(name, CaptureFile::UPPER_PDU)?;
        self.list().push(Message {
            name: name.into(),
            file,
            bytes: 0,
            lost: 0,
        });
        Ok(())
    }

    /// Ends the capture into a file; whether there was one.
    pub fn end(&self, name: &str) -> bool {
        let mut list = self.list();
        let before = list.len();
        list.retain(|capture| !is_named(&capture.name, name));
        list.len() < before
    }
}

impl fmt::Display for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.list();
        list.iter().try_for_each(|one| {
            let (name, bytes, lost) = (&one.name, one.bytes, one.lost);
            writeln!(f, "openflow {name} bytes={bytes} lost={lost}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_packets_wait_to_be_written_as_there_is_room_and_one_more_is_missing() {
        let (to, records) = sync_channel(MAX_WAITING);
        let mut recorder = Recorder(to);
        assert!((0..MAX_WAITING).all(|_| recorder.record(b"x")));
        assert!(!recorder.record(b"x"));
        records.recv().expect("they are there");
        assert!(recorder.record(b"x"));
    }

    #[test]
    fn captures_go_where_their_folder_is_and_nowhere_else() {
        let folder = std::env::temp_dir().canonicalize().expect("it is there");
        let inside = folder.join("a.pcap").display().to_string();
        let around = folder.join("../a.pcap").display().to_string();
        assert!(check_place(&inside, Some(&folder)).is_ok());
        for outside in ["/a.pcap", "a.pcap", "", "/nosuch/a.pcap", &around] {
            assert!(check_place(outside, Some(&folder)).is_err(), "{outside}");
            assert!(check_place(outside, None).is_ok());
        }
    }
}
