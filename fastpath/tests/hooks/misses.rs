//! Hooks that act where no entry matches: the packet is looked up again, taken, or forwarded.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bofuss_datapath::{DropReason, Engine, Hook, HookContext, HookEffect, Time, Verdict};
use bofuss_oflib::field::{METADATA, TCP_DST};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, PortNo};

use super::{Seen, catalogue, frame, switch};

/// On a miss, sets the metadata to what is told it and has the packet looked up again.
struct Finder(Arc<AtomicU32>, HookEffect);

impl Hook for Finder {
    fn name(&self) -> &'static str {
        "test"
    }
    fn effect(&self, _: TableId) -> HookEffect {
        self.1
    }
    fn on_miss(&mut self, cx: &mut HookContext<'_>) -> bool {
        cx.set(METADATA, self.0.load(Relaxed).into());
        true
    }
}

#[test]
fn a_packet_looked_up_again_is_cached_under_its_new_key() {
    let flows = [
        "metadata=1,actions=output:2",
        "metadata=2,actions=goto_table:1",
        "table=1,actions=output:3",
    ];
    for effect in [HookEffect::Live, HookEffect::Branch, HookEffect::Unknown] {
        for (name, engine) in Engine::ALL {
            let catalogue = catalogue();
            let mut datapath = switch(engine, &catalogue, &flows);
            let value = Arc::new(AtomicU32::new(1));
            datapath.add_hook(Box::new(Finder(Arc::clone(&value), effect)));
            let mut seen = Seen::default();
            for wanted in [1, 2, 1, 3, 2, 3] {
                value.store(wanted, Relaxed);
                let mut frames = vec![frame(datapath.pool(), 0)];
                datapath.receive(Time(0), PortNo(1), &mut frames, &mut seen);
            }
            let ports: Vec<_> = seen.left.iter().map(|(port, _)| port.0).collect();
            assert_eq!(ports, [2, 3, 2, 3], "{name} {effect:?}");
            let stats = datapath.lane().engine.stats();
            if engine == Engine::Cache && effect != HookEffect::Unknown {
                assert!(stats.hits >= 5 + 3, "{stats:?}");
            }
        }
    }
}

/// On a miss, sends the packet to port 2 and takes it.
struct Taker;

impl Hook for Taker {
    fn name(&self) -> &'static str {
        "test"
    }
    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::Live
    }
    fn only_misses(&self) -> bool {
        true
    }
    fn before_lookup(&mut self, _: &mut HookContext<'_>) -> Verdict {
        panic!("it acts on misses only");
    }
    fn after_hit(&mut self, _: &mut HookContext<'_>) -> Verdict {
        panic!("it acts on misses only");
    }
    fn on_miss(&mut self, cx: &mut HookContext<'_>) -> bool {
        if cx.get(TCP_DST).is_some() {
            cx.apply(vec![Action::output(PortNo(2))]);
            cx.take();
        } else if cx.in_port() != PortNo(3) {
            cx.forward(PortNo(2));
        }
        false
    }
}

#[test]
fn a_packet_taken_on_a_miss_counts_neither_as_miss_nor_as_drop() {
    for (name, engine) in Engine::ALL {
        let catalogue = catalogue();
        let flows = ["udp,udp_dst=8,actions=output:3"];
        let mut datapath = switch(engine, &catalogue, &flows);
        datapath.add_hook(Box::new(Taker));
        let mut seen = Seen::default();
        for _ in 0..5 {
            // Two that hit and miss, one of TCP; and the miss where the hook does nothing, and
            // where it sends the packet back.
            let sent = [(1, 1 << 4), (1, 2 << 4), (1, 66), (3, 2 << 4), (2, 2 << 4)];
            for (port, number) in sent {
                let mut frames = vec![frame(datapath.pool(), number)];
                datapath.receive(Time(0), PortNo(port), &mut frames, &mut seen);
            }
        }
        let to = |number| {
            let left = seen.left.iter();
            left.filter(|(port, _)| port.0 == number).count()
        };
        assert_eq!((to(2), to(3)), (10, 5), "{name}");
        let drops = datapath.lane().drops().filter(|(_, count)| *count > 0);
        let drops: HashMap<DropReason, u64> = drops.collect();
        let expected = [(DropReason::TableMiss, 5), (DropReason::OutputIsIngress, 5)];
        assert_eq!(drops, HashMap::from(expected), "{name}");
        assert_eq!(seen.offered, 0, "{name}");
        let sent = datapath.ports()[&PortNo(2)].stats.tx_packets;
        assert_eq!(sent, 10, "{name}");
        if engine == Engine::Cache {
            let stats = datapath.lane().engine.stats();
            assert!(stats.hits >= 15, "{stats:?}");
        }
    }
}
