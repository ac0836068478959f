//! Hooks that begin to act while flows are cached.

use alloc::{boxed::Box, vec, vec::Vec};

use bofuss_frame::Frame;
use bofuss_oflib::field::METADATA;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use super::stage::{flow, send, switch};
use bofuss_datapath::{Hook, HookContext, HookEffect, Time, Verdict};

/// Writes the metadata 1 before each lookup in table 1, if the last connection that ended has the
/// number 1.
struct Writer(bool);

impl Hook for Writer {
    fn name(&self) -> &'static str {
        "writer"
    }
    fn effect(&self, table: TableId) -> HookEffect {
        if self.0 && table == TableId(1) {
            HookEffect::Branch
        } else {
            HookEffect::None
        }
    }
    fn generation(&self) -> u64 {
        self.0.into()
    }
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        cx.set(METADATA, 1);
        Verdict::Continue
    }
    fn on_disconnect(&mut self, connection: u64) {
        self.0 = connection == 1;
    }
}

#[test]
fn a_hook_that_becomes_busy_is_asked_in_every_table_again() {
    let mut datapath = switch(0, 2);
    datapath.add_hook(Box::new(Writer(false)));
    flow(&mut datapath, "ip,actions=goto_table:1");
    flow(&mut datapath, "table=1,priority=2,metadata=1,actions=drop");
    flow(&mut datapath, "table=1,priority=1,actions=output:2");
    for is_busy in [false, true, false] {
        let sink = &mut Vec::<Frame>::new();
        let mut hooks = datapath.hook_calls(Time(0), sink);
        hooks.disconnected(is_busy.into());
        let leave = usize::from(!is_busy);
        (0..3).for_each(|_| assert_eq!(send(&mut datapath, 1).len(), leave));
    }
    let stats = datapath.lane().engine.stats();
    assert_eq!((stats.hits, stats.misses), (2 + 4 + 3, 1 + 2));
}

/// Becomes busy with the first packet that no entry matches, and then writes metadata.
struct Once(bool);

impl Hook for Once {
    fn name(&self) -> &'static str {
        "once"
    }
    fn effect(&self, _: TableId) -> HookEffect {
        if self.0 {
            HookEffect::Branch
        } else {
            HookEffect::Live
        }
    }
    fn generation(&self) -> u64 {
        self.0.into()
    }
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        cx.set(METADATA, self.0.into());
        Verdict::Continue
    }
    fn on_miss(&mut self, _: &mut HookContext<'_>) -> bool {
        self.0 = true;
        false
    }
}

#[test]
fn a_hook_that_becomes_busy_is_called_for_later_frames_of_the_burst() {
    let mut datapath = switch(0, 2);
    datapath.add_hook(Box::new(Once(false)));
    flow(&mut datapath, "priority=2,metadata=1,actions=drop");
    flow(
        &mut datapath,
        "priority=1,ip,nw_src=10.0.0.1,actions=output:2",
    );
    (0..2).for_each(|_| assert_eq!(send(&mut datapath, 1).len(), 1));
    let frame = |n: u8| {
        let (from, to) = ([10, 0, 0, n].into(), [10, 9, 9, 9].into());
        let ip = craft::ipv4(from, to, 64, craft::udp(1, 2, b"x"));
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        datapath.pool().frame(&bytes).expect("within the limit")
    };
    let (mut frames, mut out) = (vec![frame(1), frame(9), frame(1)], Vec::new());
    datapath.receive(Time(1), PortNo(1), &mut frames, &mut out);
    assert_eq!(out.len(), 1);
}
