//! QoS records that hooks give to packets: they reach the discipline of the port on any path.

use bofuss_datapath::{
    Entitlement, Hook, HookContext, HookEffect, Qos, QueueSpec, Rate, Time, Verdict,
};
use bofuss_fastpath::Datapath;
use bofuss_oflib::field::IPV4_DST;
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::{ExtValue, PortNo};
use bofuss_packet::craft;

use super::{Engine, Frame, Mac, Seen, catalogue, switch};

/// The port with the discipline.
const SLOW: PortNo = PortNo(2);
/// The last byte of the address of which packets have weight 3.
const FAVOURED: u8 = 7;
/// Frames to each of two addresses.
const FRAMES: usize = 24;

/// The place at which a record is given.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Action,
    BeforeLookup,
    AfterHit,
    Miss,
    Egress,
}

struct Giver(At);

impl Giver {
    fn give(cx: &mut HookContext<'_>) {
        let is_favoured = cx.get(IPV4_DST).is_some_and(|to| to as u8 == FAVOURED);
        if is_favoured {
            let weighted = Entitlement {
                weight: 3,
                ..Entitlement::DEFAULT
            };
            cx.set_qos(Qos {
                aggregate: Some(weighted),
                ..Qos::DEFAULT
            });
        }
    }
}

impl Hook for Giver {
    fn name(&self) -> &'static str {
        "test"
    }
    fn effect(&self, table: TableId) -> HookEffect {
        let acts = table == TableId(0) && self.0 != At::Action && self.0 != At::Egress;
        if acts {
            HookEffect::Live
        } else {
            HookEffect::None
        }
    }
    fn only_misses(&self) -> bool {
        self.0 == At::Miss
    }
    fn action_effect(&self, _: usize, _: &ExtValue) -> HookEffect {
        HookEffect::Live
    }
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        if self.0 == At::BeforeLookup {
            Self::give(cx);
        }
        Verdict::Continue
    }
    fn after_hit(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        if self.0 == At::AfterHit {
            Self::give(cx);
        }
        Verdict::Continue
    }
    fn on_miss(&mut self, cx: &mut HookContext<'_>) -> bool {
        Self::give(cx);
        cx.forward(SLOW);
        false
    }
    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, _: &ExtValue) -> Verdict {
        if self.0 == At::Action {
            Self::give(cx);
        }
        Verdict::Continue
    }
    fn acts_on_egress(&self) -> bool {
        self.0 == At::Egress
    }
    fn on_egress(&mut self, cx: &mut HookContext<'_>, _: PortNo) -> Verdict {
        Self::give(cx);
        Verdict::Continue
    }
}

fn frame(datapath: &Datapath, to: u8) -> Frame {
    let ip = craft::ipv4(
        [10, 0, 0, 1].into(),
        [10, 0, 0, to].into(),
        64,
        craft::udp(1, 2, &[0; 900]),
    );
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    datapath.pool().frame(&bytes).unwrap()
}

/// Returns how many of the first 16 frames of two greedy senders are the favoured one's.
fn favoured(datapath: &mut Datapath, now: &mut Time) -> usize {
    let mut frames = Vec::new();
    for _ in 0..FRAMES {
        frames.extend([frame(datapath, FAVOURED), frame(datapath, FAVOURED + 1)]);
    }
    let mut seen = Seen::default();
    datapath.receive(*now, PortNo(1), &mut frames, &mut seen);
    while let Some(next) = datapath
        .next_tick()
        .filter(|_| seen.left.len() < 2 * FRAMES)
    {
        *now = next.max(*now);
        datapath.tick(*now, &mut seen);
    }
    assert_eq!(seen.left.len(), 2 * FRAMES, "all leave");
    let first = seen.left.iter().take(16);
    first
        .filter(|(port, bytes)| *port == SLOW && bytes[33] == FAVOURED)
        .count()
}

#[test]
fn a_record_that_a_hook_gives_reaches_the_port_on_any_path() {
    for at in [
        At::Action,
        At::BeforeLookup,
        At::AfterHit,
        At::Miss,
        At::Egress,
    ] {
        let flows: &[&str] = match at {
            At::Action => &["actions=stamp,output:2"],
            At::Miss => &[],
            At::BeforeLookup | At::AfterHit | At::Egress => &["actions=output:2"],
        };
        for (name, engine) in Engine::ALL {
            let (mut now, catalogue) = (Time(0), catalogue());
            let mut datapath = switch(engine, &catalogue, flows);
            datapath.add_hook(Box::new(Giver(at)));
            let sink = &mut Seen::default();
            datapath
                .port_control(now, sink)
                .set_discipline(SLOW, "hfair")
                .unwrap();
            let slow = QueueSpec {
                max: Some(Rate::Kbps(10_000)),
                ..QueueSpec::default()
            };
            datapath.modify_queue(now, SLOW, QueueId(0), slow).unwrap();
            // On the path that is recorded, and on the known one.
            for round in 0..3 {
                let count = favoured(&mut datapath, &mut now);
                assert!(
                    (11..=13).contains(&count),
                    "{at:?}, {name}, {round}: {count}"
                );
                now = now.after(Time::SEC);
            }
        }
    }
}
