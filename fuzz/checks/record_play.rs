//! Any text is a record that can be played, and played again with the same outputs, or an error
//! with its line.

use std::sync::{Arc, LazyLock};

use bofuss_agent::{FailMode, Identity};
use bofuss_datapath::{Config, Time};
use bofuss_embed::record::{
    Item, NotedStep, Player, RecordError, RecordReader, RecordedConfig, RecordedInput,
};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::Pool;
use bofuss_oflib::Catalogue;

/// Bytes of frames that the switch may hold.
const POOL_BYTES: usize = 1 << 20;
/// Entries of a table, so that tables get full.
const MAX_ENTRIES: u32 = 16;

/// One for all records: the rows of a catalogue live as long as the process.
static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(|| Arc::new(bofuss_ext::catalogue()));

fn make(recorded: &RecordedConfig) -> Result<Switch, RecordError> {
    let config = Config {
        n_tables: 4,
        max_entries: MAX_ENTRIES,
        cache_flows: 16,
        secret: recorded.secret,
        epoch_ns: recorded.epoch_ns,
        ..bofuss_disciplines::config()
    };
    let catalogue = CATALOGUE.clone();
    let hooks = bofuss_ext::hooks(&catalogue);
    let mut datapath = Datapath::new(config, catalogue, Pool::new(POOL_BYTES));
    hooks.into_iter().for_each(|hook| datapath.add_hook(hook));
    let identity = Identity {
        datapath_id: recorded.datapath_id,
        ..Identity::default()
    };
    Ok(Switch::new(
        Time(0),
        datapath,
        identity,
        FailMode::Standalone,
    ))
}

/// Panics: if playing what was played, as text, has other outputs.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut items = Vec::new();
    let mut reader = RecordReader::default();
    for line in text.lines() {
        if reader.push(line, &mut items).is_err() {
            break;
        }
    }
    reader.end(&mut items);
    let first = played(&items);
    assert_eq!(first, played(&items));
}

/// The steps that can be played, with their outputs.
fn played(items: &[Item]) -> String {
    let mut text = String::new();
    let mut player = None;
    for item in items {
        match item {
            Item::Run(config, detail) => player = Player::new(config, *detail, Box::new(make)).ok(),
            // Only the daemon can play P4Runtime.
            Item::P4Run(_) => player = None,
            Item::Step(step) => {
                let Some(player) = &mut player else {
                    continue;
                };
                if let Ok(noted) = play(player, &step.text, &step.denied) {
                    let begin = text.len();
                    noted.write(&mut text);
                    let input = text[begin..].lines().next().unwrap_or_default();
                    assert!(RecordedInput::read(input).is_ok(), "{input}");
                }
            }
            Item::Lost(_) | Item::Full => {}
        }
    }
    text
}

fn play(player: &mut Player, line: &str, denied: &[u32]) -> Result<NotedStep, RecordError> {
    let (at, input) = RecordedInput::read(line)?;
    let outputs = player.play(at, &input, denied)?;
    Ok(NotedStep {
        at,
        input,
        denied: denied.into(),
        pool_is_short: false,
        outputs,
    })
}
