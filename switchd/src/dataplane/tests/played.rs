//! A record that is played: its outputs, and how they differ.

use super::*;

/// What a record has, and how it was played.
#[derive(Default)]
pub(super) struct Played {
    pub(super) steps: Vec<RecordedStep>,
    /// The lines of inputs whose outputs differ.
    pub(super) others: Vec<usize>,
    pub(super) frames: Frames,
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) counters: String,
}

fn bytes_of(hex: &str) -> Vec<u8> {
    bofuss_oflib::text::parse_bytes(hex).unwrap()
}

/// Plays a record. Panics: if it is none.
pub(super) fn played(record: &Path) -> Played {
    let mut items = Vec::new();
    let mut reader = RecordReader::default();
    for line in BufReader::new(File::open(record).unwrap()).lines() {
        reader.push(&line.unwrap(), &mut items).unwrap();
    }
    reader.end(&mut items);
    let mut this = Played::default();
    let mut player = None;
    for item in items {
        match item {
            Item::Run(config, detail) => {
                let made = Player::new(&config, detail, Box::new(remake_switch));
                player = Some(made.unwrap());
            }
            Item::Step(step) => {
                let player = player.as_mut().unwrap();
                let (at, input) = RecordedInput::read(&step.text).unwrap();
                let outputs = player.play(at, &input, &step.denied).unwrap();
                let outputs: Vec<String> = outputs.iter().map(ToString::to_string).collect();
                if outputs != step.outputs {
                    this.others.push(step.line);
                }
                this.note(&step.outputs);
                this.steps.push(step);
            }
            other => panic!("{other:?}"),
        }
    }
    let mut player = player.unwrap();
    this.counters = counters(&player.switch().settled());
    this
}

impl Played {
    fn note(&mut self, outputs: &[String]) {
        for output in outputs {
            let words: Vec<&str> = output.split(' ').collect();
            match words[..] {
                ["frame", port, _, frame] => {
                    let frame: RecordedFrame = frame.parse().unwrap();
                    let bytes = frame.filled().into_owned();
                    self.frames.push((port.parse().unwrap(), bytes));
                }
                ["message", _, hex] => {
                    let mut framer = Framer::new();
                    framer.push(&bytes_of(hex));
                    while let Some(message) = framer.next_message().unwrap() {
                        self.messages.push(message.into());
                    }
                }
                _ => panic!("{output}"),
            }
        }
    }
}
