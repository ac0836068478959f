//! The random inputs as a record, with the outputs of an embedded switch, to which the outputs of
//! switches in a network and in other languages are compared.

use std::sync::Arc;

use bofuss_datapath::{Config, Time};
use bofuss_embed::record::{
    self, NotedStep, RecordedConfig, RecordedFrame, RecordedInput, RecordedOutput,
};
use bofuss_embed::{ConnId, Effect, EmbeddedConfig, EmbeddedSwitch};
use bofuss_frame::Offload;
use bofuss_oflib::message::Hello;
use bofuss_oflib::{Catalogue, Codec, Message, PortNo, Version};

use super::random_inputs::{self, Input, PORTS};

/// The number of tables; all other options have their defaults.
pub const TABLES: u8 = 4;

/// A record, and the outputs in it one after another.
#[derive(Default)]
pub struct RandomRecord {
    /// The lines. All frames and messages are on ports 1 to [`PORTS`] and on one connection.
    pub text: String,
    /// The frames that leave, with their ports.
    pub frames: Vec<(u32, Vec<u8>)>,
    /// The messages that leave, except the HELLO.
    pub messages: Vec<u8>,
}

struct Recording {
    switch: EmbeddedSwitch,
    /// The time of the last input.
    now: Time,
    made: RandomRecord,
}

/// Plays the random inputs. Timers that are due before an input are handled before it.
pub fn random_record(catalogue: &Arc<Catalogue>) -> RandomRecord {
    let config = EmbeddedConfig {
        tables: Config {
            n_tables: TABLES,
            cache_flows: 1 << 14,
            ..Config::default()
        },
        ..EmbeddedConfig::with_catalogue(catalogue.clone())
    };
    let mut recording = Recording {
        switch: EmbeddedSwitch::new(Time(0), config).unwrap(),
        now: Time(0),
        made: RandomRecord::default(),
    };
    let head = RecordedConfig {
        datapath_id: 1,
        secret: 0,
        epoch_ns: 0,
        profile: Vec::new(),
        options: format!("{{ tables = {TABLES}, fail-mode = \"secure\" }}"),
    };
    recording.made.text = format!("{}\nswitch {head}\n", record::FIRST_LINE);
    for number in 1..=PORTS {
        let input = RecordedInput::Port(Box::new(bofuss_embed::port(number)), Default::default());
        recording.step(Time(0), input, |switch| {
            switch
                .add_port(Time(0), bofuss_embed::port(number), Default::default())
                .unwrap();
        });
    }
    let codec = Codec::new(Version::V1_3, catalogue.clone());
    let mut hello = Vec::new();
    let offered = Message::Hello(Hello::offering(&[Version::V1_3]));
    codec.encode(0, &offered, &mut hello).unwrap();
    let conn = recording.switch.connect(true);
    recording.switch.feed(Time(0), conn, &hello).unwrap();
    // What is sent before the connection is up is no output in a record.
    recording.switch.drain().for_each(drop);
    let up = RecordedInput::Connect(conn, Version::V1_3, true);
    recording.step(Time(0), up, |_| ());
    for (input, step) in random_inputs::inputs(catalogue).into_iter().zip(1..) {
        recording.play(
            conn,
            random_inputs::time(step).after(1),
            step as u32,
            input,
            &codec,
        );
    }
    recording.made.text += &format!("{}\n", record::LAST_LINE);
    recording.made
}

impl Recording {
    fn play(&mut self, conn: ConnId, now: Time, xid: u32, input: Input, codec: &Codec) {
        while let Some(due) = self.switch.next_tick().filter(|due| *due < now) {
            // A timer may be due at a time that is past.
            let at = due.max(self.now);
            self.step(at, RecordedInput::Tick, |switch| switch.tick(at));
        }
        self.now = now;
        match input {
            Input::Frame(port, bytes) => {
                let noted = RecordedFrame {
                    omitted_bytes: 0,
                    bytes: bytes.clone(),
                    offload: Offload::NONE,
                    tunnel_id: 0,
                };
                let port = PortNo(port);
                self.step(now, RecordedInput::Frames(port, vec![noted]), |switch| {
                    let frame = switch.frame(&bytes).unwrap();
                    switch.receive(now, port, &mut vec![frame]).unwrap();
                });
            }
            Input::Message(message) => {
                let mut bytes = Vec::new();
                codec.encode(xid, &message, &mut bytes).unwrap();
                let noted = RecordedInput::Message {
                    conn,
                    head: bytes[..bytes.len().min(64)].into(),
                    bytes: bytes.clone(),
                };
                self.step(now, noted, |switch| {
                    assert_eq!(switch.feed(now, conn, &bytes).unwrap(), bytes.len());
                });
            }
        }
    }

    fn step(&mut self, at: Time, input: RecordedInput, act: impl FnOnce(&mut EmbeddedSwitch)) {
        act(&mut self.switch);
        let mut outputs = Vec::new();
        for effect in self.switch.drain() {
            match effect {
                Effect::Transmit { port, queue, frame } => {
                    self.made.frames.push((port.0, frame.bytes().into()));
                    outputs.push(RecordedOutput::Frame(port, queue, (&frame).into()));
                }
                Effect::Send { conn, bytes } => {
                    self.made.messages.extend(&bytes);
                    outputs.push(RecordedOutput::Message(conn, bytes));
                }
                Effect::Refused { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        let step = NotedStep {
            at,
            input,
            denied: Vec::new(),
            pool_is_short: false,
            outputs,
        };
        step.write(&mut self.made.text);
    }
}
