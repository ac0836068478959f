//! The data plane with ports in memory and a controller at a socket: what is recorded of it is what
//! it did, and is done again.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, sleep};
use std::time::Duration;

use bofuss_channel::{Hub, Settings};
use bofuss_datapath::Cursor;
use bofuss_embed::record::{
    Item, Player, RecordReader, RecordedFrame, RecordedInput, RecordedStep,
};
use bofuss_fastpath::Settled;
use bofuss_oflib::message::multipart::{MultipartRequest, RequestBody};
use bofuss_oflib::message::{Empty, FlowModCommand, Hello};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, Codec, Framer, Message, PortNo, Version};
use bofuss_ports::{Memory, PortDriver};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::*;
use crate::config::Options;
use crate::record::{RecordFile, SwitchRecorder};
use crate::run::{make_switch, remake_switch};
use crate::runtime::POOL_BYTES;

mod auxiliary;
mod played;
#[path = "../../../sim/tests/common/random_inputs.rs"]
mod random_inputs;
#[path = "../../../sim/tests/common/random_record.rs"]
mod random_record;
mod reload;
mod saving;
mod turns;

use played::played;

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let unique = format!("bofuss-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Frames with their ports.
type Frames = Vec<(u32, Vec<u8>)>;

/// A data plane, the other ends of its ports, and a controller.
struct Lab {
    plane: DataPlane,
    wires: Vec<Memory>,
    controller: UnixStream,
    codec: Codec,
    /// Bytes that came to the controller and are no whole message yet.
    framer: Framer,
    /// What left, by port and on the connection, in order.
    frames: Frames,
    messages: Vec<Vec<u8>>,
    /// Ends the thread of connections when dropped.
    _end: oneshot::Sender<()>,
    _inputs: mpsc::Sender<Input>,
}

/// Starts a thread that takes connections at a socket.
fn listen(config: &Config, socket: &Path, events: mpsc::Sender<Event>) -> oneshot::Sender<()> {
    let mut settings = Settings::new(config.catalogue.clone());
    settings.is_switch = true;
    settings.packet_in_rate = config.packet_in_rate;
    // However slow the machine is: no probe is among the messages.
    settings.probe_interval = Duration::from_secs(3600);
    let address = format!("punix:{}", socket.display()).parse().unwrap();
    let (end, ended) = oneshot::channel();
    let (ready, is_ready) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let hub = Hub::new(settings, events);
            let _listener = hub.listen(&address).await.unwrap();
            ready.send(()).unwrap();
            let _ = ended.await;
        });
    });
    is_ready.recv().unwrap();
    end
}

impl Lab {
    /// A switch that records into `record`.
    fn new(folder: &Folder, record: &Path, options: Options) -> Self {
        let options = Options {
            record: Some(record.into()),
            fail_mode: Some("secure".into()),
            tables: Some(random_record::TABLES),
            ..options
        };
        let mut config = options.check().unwrap();
        // The secret that an embedded switch has.
        config.tables.secret = 0;
        let catalogue = config.catalogue.clone();
        let (events, received) = mpsc::channel(256);
        let socket = folder.0.join("openflow");
        let end = listen(&config, &socket, events);
        let (inputs, asked) = mpsc::channel(16);
        let pool = Pool::new(POOL_BYTES);
        let switch = make_switch(&config, &pool, 1).unwrap();
        let file = RecordFile::open(record).unwrap();
        let (recorder, writer) = SwitchRecorder::new(file, &config, &switch, pool.clone());
        let mut plane = DataPlane::new(DataPlaneParts {
            switch,
            now: Time(0),
            pool,
            ports: Vec::new(),
            config,
            recorder: Some(recorder),
            events: received,
            inputs: asked,
            monitor: LinkMonitor::open().unwrap(),
        })
        .unwrap();
        plane.live.clock_mut().stop_at(Some(Time(0)));
        let mut wires = Vec::new();
        for number in 1..=random_inputs::PORTS {
            let (near, far) = Memory::pair();
            let port = OpenPort::in_memory(PortNo(number), near);
            plane.config.add_port(&mut plane.live, port).unwrap();
            wires.push(far);
        }
        plane.live.clock_mut().stop_at(None);
        plane.begin_record(writer).unwrap();
        let controller = UnixStream::connect(&socket).unwrap();
        controller.set_nonblocking(true).unwrap();
        let mut this = Self {
            plane,
            wires,
            controller,
            codec: Codec::new(Version::V1_3, catalogue),
            framer: Framer::new(),
            frames: Vec::new(),
            messages: Vec::new(),
            _end: end,
            _inputs: inputs,
        };
        this.tell(0, &Message::Hello(Hello::offering(&[Version::V1_3])));
        this.until(|lab| lab.plane.live.io().connections.select(|_| true).len() == 1);
        this
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        self.codec.catalogue.clone()
    }

    /// The controller sends a message.
    fn tell(&mut self, xid: u32, message: &Message) {
        let mut bytes = Vec::new();
        self.codec.encode(xid, message, &mut bytes).unwrap();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match self.controller.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(_) => self.turn(&[]),
            }
        }
    }

    /// One turn of the data plane, in which these ports have frames.
    fn turn(&mut self, ports: &[u32]) {
        let next_tick = self.plane.live.switch().next_tick();
        let mut now = self.plane.live.now();
        for number in ports {
            now = self
                .plane
                .live
                .serve_port(now, PortNo(*number), &mut Vec::new());
        }
        assert!(self.plane.take_inputs(&mut now));
        self.plane.complete_turn(now, next_tick);
        self.take_frames();
    }

    fn take_frames(&mut self) {
        for (number, wire) in (1..).zip(&mut self.wires) {
            let mut frames = Vec::new();
            wire.recv(self.plane.live.pool(), &mut frames, usize::MAX)
                .unwrap();
            for frame in frames {
                self.frames.push((number, frame.bytes().into()));
            }
        }
    }

    /// The controller reads what there is.
    fn read(&mut self) {
        let mut bytes = [0; 65_536];
        while let Ok(count) = self.controller.read(&mut bytes)
            && count > 0
        {
            self.framer.push(&bytes[..count]);
            while let Some(message) = self.framer.next_message().unwrap() {
                self.messages.push(message.into());
            }
        }
    }

    /// Lets the data plane go on until a condition holds.
    fn until(&mut self, is_so: impl Fn(&Self) -> bool) {
        for _ in 0..10_000 {
            self.turn(&[]);
            self.read();
            if is_so(self) {
                return;
            }
            sleep(Duration::from_millis(1));
        }
        panic!("it does not become so");
    }

    /// Gives the switch the 10,000 random inputs, some frames in batches.
    fn play_random_inputs(&mut self) {
        let inputs = random_inputs::inputs(&self.catalogue());
        for (number, input) in (1..).zip(inputs) {
            match input {
                random_inputs::Input::Frame(port, bytes) => {
                    let frame = self.plane.live.pool().frame(&bytes).unwrap();
                    let wire = &mut self.wires[port as usize - 1];
                    wire.send(&mut vec![frame]).unwrap();
                    if number % 3 == 0 {
                        self.turn(&[1, 2, 3, 4]);
                    }
                }
                random_inputs::Input::Message(message) => {
                    self.tell(number, &message);
                    self.turn(&[]);
                }
            }
            if number % 50 == 0 {
                self.read();
            }
        }
        self.until_answered(random_inputs::INPUTS as u32 + 5);
    }

    /// Waits until the controller has the whole answer to its multipart request.
    fn until_answered(&mut self, xid: u32) {
        self.until(|lab| {
            let last = lab.messages.last();
            last.is_some_and(|last| last[4..8] == xid.to_be_bytes() && last[11] & 1 == 0)
        });
    }

    /// Gives the random inputs at their times, one by one, and does what is due at its time.
    fn play_on_time(&mut self) {
        let inputs = random_inputs::inputs(&self.catalogue());
        let mut messages = 0;
        for (input, step) in inputs.into_iter().zip(1..) {
            let now = random_inputs::time(step).after(1);
            while let Some(due) = self
                .plane
                .live
                .switch()
                .next_tick()
                .filter(|due| *due < now)
            {
                let due = due.max(self.plane.live.now());
                self.plane.live.clock_mut().stop_at(Some(due));
                self.turn(&[]);
            }
            self.plane.live.clock_mut().stop_at(Some(now));
            match input {
                random_inputs::Input::Frame(port, bytes) => {
                    let frame = self.plane.live.pool().frame(&bytes).unwrap();
                    let wire = &mut self.wires[port as usize - 1];
                    wire.send(&mut vec![frame]).unwrap();
                    self.turn(&[port]);
                }
                random_inputs::Input::Message(message) => {
                    messages += 1;
                    self.tell(step as u32, &message);
                    // A change of many entries takes several turns.
                    while self.plane.live.counters().messages() < messages
                        || self.plane.live.switch().has_work(self.plane.live.io())
                    {
                        self.turn(&[]);
                    }
                }
            }
            self.read();
        }
        self.until_answered(random_inputs::INPUTS as u32 + 5);
    }

    /// Ends the switch; returns its counters, and all frames and messages that left.
    fn end(mut self) -> (String, Frames, Vec<Vec<u8>>) {
        let counters = counters(&self.plane.live.settled());
        drop(self.plane);
        (counters, self.frames, self.messages)
    }
}

/// Entries with their counters, and the ports' counters, as text.
fn counters(settled: &Settled<'_>) -> String {
    let datapath = settled.datapath();
    let mut text = String::new();
    for (number, port) in datapath.ports() {
        text += &format!("{number}: {:?}\n", port.stats);
    }
    for (reason, count) in datapath.lane().drops() {
        text += &format!("{}: {count}\n", reason.name());
    }
    let mut cursor = Cursor::new(TableId::ALL);
    let mut done = false;
    while !done {
        done = settled.slice(&mut cursor, |table, entry| {
            let packets = entry.packets;
            text += &format!("{table:?} {packets} {:?}\n", entry.instructions);
        });
    }
    text
}

/// The frames of one port, in order.
fn of_port(frames: &[(u32, Vec<u8>)], port: u32) -> Vec<&Vec<u8>> {
    let own = frames.iter().filter(|(number, _)| *number == port);
    own.map(|(_, bytes)| bytes).collect()
}

fn is_recorded_and_played(engine: &str) {
    let folder = Folder::new(&format!("record-{engine}"));
    let record = folder.0.join("record");
    let options = Options {
        datapath: Some(engine.into()),
        packet_in_rate: Some(200),
        ..Options::default()
    };
    let mut lab = Lab::new(&folder, &record, options);
    lab.play_random_inputs();
    let (counters, frames, messages) = lab.end();
    let mode = fs::metadata(&record).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let played = played(&record);
    assert_eq!(played.others, [0; 0]);
    assert_eq!(played.counters, counters);
    assert!(frames.len() > 3_000, "{}", frames.len());
    for port in 1..=random_inputs::PORTS {
        assert_eq!(of_port(&frames, port), of_port(&played.frames, port));
    }
    // All but the HELLO, which is the connection's.
    assert_eq!(messages[1..], played.messages[..]);
    let denied = played.steps.iter().any(|step| !step.denied.is_empty());
    assert!(denied, "the rate of packet-ins denies some");
}

#[test]
fn what_the_cache_does_with_random_inputs_is_recorded_and_done_again() {
    is_recorded_and_played("cache");
}

#[test]
fn what_the_plain_scan_does_with_random_inputs_is_recorded_and_done_again() {
    is_recorded_and_played("reference");
}

#[test]
fn a_record_of_headers_has_no_payload_and_is_done_again() {
    let folder = Folder::new("record-headers");
    let record = folder.0.join("record");
    let options = Options {
        record_frames: Some("headers".into()),
        ..Options::default()
    };
    let mut lab = Lab::new(&folder, &record, options);
    lab.play_random_inputs();
    let (counters, frames, messages) = lab.end();
    let text = fs::read_to_string(&record).unwrap();
    let payloads = ["data".as_bytes(), &[7; 20]].map(|bytes| {
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        digits.collect::<String>()
    });
    for payload in payloads {
        assert!(!text.contains(&payload), "{payload} is in the record");
    }
    let played = played(&record);
    assert_eq!(played.others, [0; 0]);
    assert_eq!(played.counters, counters);
    assert!(frames.len() > 3_000, "{}", frames.len());
    for port in 1..=random_inputs::PORTS {
        let lengths = |frames| {
            of_port(frames, port)
                .iter()
                .map(|frame| frame.len())
                .collect()
        };
        let (sent, again): (Vec<_>, Vec<_>) = (lengths(&frames), lengths(&played.frames));
        assert_eq!(sent, again);
    }
    assert_eq!(messages.len() - 1, played.messages.len());
}

#[test]
fn ten_thousand_inputs_have_the_effect_that_they_have_on_an_embedded_switch() {
    let folder = Folder::new("equality");
    let record = folder.0.join("record");
    let mut lab = Lab::new(&folder, &record, Options::default());
    let expected = random_record::random_record(&lab.catalogue());
    lab.plane.live.clock_mut().stop_at(Some(Time(0)));
    lab.play_on_time();
    let (_, frames, messages) = lab.end();
    for port in 1..=random_inputs::PORTS {
        let wanted = of_port(&expected.frames, port);
        for (at, (one, other)) in of_port(&frames, port).iter().zip(&wanted).enumerate() {
            assert_eq!(one, other, "frame {at} of port {port}");
        }
        assert_eq!(of_port(&frames, port).len(), wanted.len(), "{port}");
    }
    assert!(expected.frames.len() > 3_000);
    // All but the HELLO. What entries, tables, ports, groups and meters count is at the end.
    assert_eq!(messages[1..].concat(), expected.messages);
}

#[test]
fn long_changes_and_replies_are_recorded_in_their_slices() {
    let folder = Folder::new("slices");
    let record = folder.0.join("record");
    let mut lab = Lab::new(&folder, &record, Options::default());
    let catalogue = lab.catalogue();
    for number in 0..2000 {
        let flow = format!("priority={number},in_port=1,actions=output:2,output:3");
        let flow = parse_flow(&flow, FlowModCommand::ADD, &catalogue).unwrap();
        lab.tell(1, &Message::FlowMod(flow));
    }
    for number in 0..5_u8 {
        let flow = format!(
            "in_port=1,actions=CONTROLLER:65535,output:{}",
            2 + number % 3
        );
        let flow = parse_flow(&flow, FlowModCommand::MODIFY, &catalogue).unwrap();
        lab.tell(2, &Message::FlowMod(flow));
        let body = RequestBody::Flow(Default::default());
        let request = MultipartRequest { body, more: false };
        lab.tell(3, &Message::MultipartRequest(request));
        for _ in 0..50 {
            let frame = lab.plane.live.pool().frame(&[number; 1400]).unwrap();
            lab.wires[0].send(&mut vec![frame]).unwrap();
            lab.turn(&[1]);
        }
    }
    let barrier = Message::BarrierRequest(Empty);
    lab.tell(4, &barrier);
    lab.until(|lab| {
        let last = lab.messages.last();
        last.is_some_and(|last| last[4..8] == 4_u32.to_be_bytes())
    });
    let (counters, frames, messages) = lab.end();
    let played = played(&record);
    assert_eq!(played.others, [0; 0]);
    assert_eq!(played.counters, counters);
    assert!(frames.len() >= 250);
    assert_eq!(frames.len(), played.frames.len());
    assert_eq!(messages[1..], played.messages[..]);
    let slices = played
        .steps
        .iter()
        .filter(|step| step.text.ends_with(" work"));
    assert!(
        slices.count() > 20,
        "changes and replies take several turns"
    );
}
