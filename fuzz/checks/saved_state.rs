//! Any bytes are a state that a switch goes on with, or an error; a switch that was given a state
//! still takes packets.

use std::sync::{Arc, LazyLock};

use bofuss_agent::{ConnId, FailMode, Identity, SwitchIo};
use bofuss_datapath::{Config, Time};
use bofuss_embed::saved::{SavedState, seal};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Message, PortNo};

/// Bytes of frames that the switch may hold.
const POOL_BYTES: usize = 1 << 20;

/// One for all states: the rows of a catalogue live as long as the process.
static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(|| Arc::new(bofuss_ext::catalogue()));

struct Nothing;

impl SwitchIo for Nothing {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn flush(&mut self) {}
    fn send(&mut self, _: ConnId, _: u32, _: Message) {}
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// Reads bytes as they are, and with the checksum that they should have.
pub fn run(bytes: &[u8]) {
    restore(bytes, &[]);
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    let mut other = bytes.to_vec();
    if let Some(byte) = other.get_mut(bytes.len() / 2) {
        *byte ^= 1;
    }
    seal(&mut other);
    restore(&sealed, &other);
}

/// Restores a state, and adds what happened since another one if that can be read.
fn restore(bytes: &[u8], earlier: &[u8]) {
    let Ok(state) = SavedState::read(bytes) else {
        return;
    };
    let config = Config {
        n_tables: 4,
        max_entries: 16,
        cache_flows: 16,
        ..bofuss_disciplines::config()
    };
    let catalogue = CATALOGUE.clone();
    let hooks = bofuss_ext::hooks(&catalogue);
    let pool = Pool::new(POOL_BYTES);
    let mut datapath = Datapath::new(config, catalogue, pool.clone());
    hooks.into_iter().for_each(|hook| datapath.add_hook(hook));
    let now = state.resumed_at(state.unix_ns);
    let mut switch = Switch::new(now, datapath, Identity::default(), FailMode::Standalone);
    for number in 1..=2 {
        let port = bofuss_embed::port(number);
        switch.ports(now, &mut Nothing, |ports| {
            ports.changed(port, Default::default())
        });
    }
    let restored = state.restore(now, &mut switch);
    assert!(restored.why.len() <= restored.left_out);
    if let Ok(earlier) = SavedState::read(earlier) {
        let mut since = state.since(&earlier);
        while !since.is_empty() {
            since.give(now, 7, &mut switch);
        }
    }
    let mut frames: Vec<Frame> = pool.frame(&[0xff; 60]).into_iter().collect();
    switch.receive(now, PortNo(1), &mut frames, &mut Nothing);
    switch.tick(now.after(Time::SEC), &mut Nothing);
}
