//! Hooks of table 0, and actions at the beginning of paths: they are called with a frame that is
//! not a packet yet.

use std::sync::Arc;

use bofuss_datapath::{Hook, HookContext, HookEffect, Time, Upcoming, Verdict};
use bofuss_fastpath::CacheStats;
use bofuss_oflib::field::{IPV4_DST, IPV4_SRC, METADATA, UDP_DST};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, Catalogue, ExtValue, Field, PortNo};

use super::{catalogue, compare_with, large_catalogue, mark};

/// The acts of a hook before the lookup of table 0, or in its action, with each so many packets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Extra {
    Nothing,
    Drops,
    GoesElsewhere,
    Outputs,
    Rewrites,
    SetsHeaderField,
    SetsAnotherMark,
    ReadsKey,
    Clears,
}

impl Extra {
    const ALL: [Self; 9] = [
        Self::Nothing,
        Self::Drops,
        Self::GoesElsewhere,
        Self::Outputs,
        Self::Rewrites,
        Self::SetsHeaderField,
        Self::SetsAnotherMark,
        Self::ReadsKey,
        Self::Clears,
    ];

    fn done(self, cx: &mut HookContext<'_>, field: &'static Field) -> Verdict {
        match self {
            Self::Nothing => {}
            Self::Drops => return cx.drop("extra"),
            Self::GoesElsewhere => cx.goto(TableId(2)),
            Self::Outputs => cx.apply(vec![Action::output(PortNo(4))]),
            Self::Rewrites => cx.edit().set_nw_ttl(9).unwrap(),
            Self::SetsHeaderField => cx.set(UDP_DST, 9),
            Self::SetsAnotherMark => {
                cx.set(field, 3);
                cx.set(METADATA, 5);
            }
            Self::ReadsKey => {
                let (key, log) = cx.key();
                assert!(key.get(IPV4_DST, log).is_some());
                assert!(!cx.frame().bytes().is_empty());
                assert_eq!(cx.layout().vlan_tags, 0);
            }
            Self::Clears => cx.clear(field),
        }
        Verdict::Continue
    }
}

/// The prediction of a hook.
#[derive(Clone, Copy, Debug)]
enum Foresight {
    Nothing,
    Rightly,
    Wrongly,
}

/// Counts the packets of each source, and marks them by that.
struct Marks {
    field: &'static Field,
    counts: [u32; 4],
    /// The acts before the lookup, and in its action.
    extras: [Extra; 2],
    calls: u32,
    predicts: Foresight,
    /// The sources of the packets in the last prefetch.
    shown: Vec<u128>,
    /// The marks that it predicted for them.
    predicted: Vec<u32>,
}

impl Marks {
    fn extra(&mut self, which: usize, cx: &mut HookContext<'_>) -> Verdict {
        self.calls += 1;
        if self.calls % 7 == 0 {
            return self.extras[which].done(cx, self.field);
        }
        Verdict::Continue
    }
}

impl Hook for Marks {
    fn name(&self) -> &'static str {
        "test"
    }
    fn effect(&self, table: TableId) -> HookEffect {
        match table.0 {
            0 => HookEffect::Branch,
            _ => HookEffect::None,
        }
    }
    fn only_prepares(&self) -> bool {
        true
    }
    fn action_effect(&self, _: usize, _: &ExtValue) -> HookEffect {
        HookEffect::Live
    }
    fn prefetch(&mut self, _: TableId, packets: &mut Upcoming<'_>) {
        self.shown.clear();
        self.predicted.clear();
        for packet in packets.packets() {
            let source = packet.get(IPV4_SRC).expect("all are IPv4");
            assert_eq!(packet.get(METADATA), Some(0));
            self.shown.push(source);
            self.predicted.push(self.counts[source as usize & 3] & 3);
        }
        let n_packets = packets.len();
        match self.predicts {
            Foresight::Nothing => {}
            Foresight::Rightly => {
                let marks = self.predicted.iter().map(|mark| Some((*mark).into()));
                packets.predict(self.field, marks);
            }
            Foresight::Wrongly => {
                packets.predict(self.field, (0..n_packets).map(|_| Some(3)));
                let even = (0..n_packets).map(|number| (number % 2 == 0).then_some(5));
                packets.predict(METADATA, even);
            }
        }
    }
    fn apply_prediction(&mut self, _: Time, _: TableId, number: usize) -> bool {
        let source = self.shown[number] as usize & 3;
        let mark = self.counts[source] & 3;
        let predicts = matches!(self.predicts, Foresight::Rightly);
        let has_extra = (self.calls + 1) % 7 == 0 && self.extras[0] != Extra::Nothing;
        if !predicts || has_extra || self.predicted[number] != mark {
            return false;
        }
        self.calls += 1;
        true
    }
    fn apply_predicted_action(&mut self, _: Time, number: usize, _: usize, _: &ExtValue) -> bool {
        let has_extra = (self.calls + 1) % 7 == 0 && self.extras[1] != Extra::Nothing;
        // Of two actions of a path, the second one may be called.
        if has_extra || self.calls % 5 == 0 {
            return false;
        }
        self.calls += 1;
        self.counts[self.shown[number] as usize & 3] += 1;
        true
    }
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        if let Some(number) = cx.upcoming() {
            assert_eq!(cx.get(IPV4_SRC), Some(self.shown[number]));
        }
        let source = cx.get(IPV4_SRC).unwrap_or(0) as usize & 3;
        assert_eq!(cx.get(METADATA), Some(0));
        cx.set(self.field, u128::from(self.counts[source] & 3));
        assert_eq!(
            cx.get(self.field),
            Some(u128::from(self.counts[source] & 3))
        );
        self.extra(0, cx)
    }
    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, _: &ExtValue) -> Verdict {
        let source = cx.get(IPV4_SRC).unwrap_or(0) as usize & 3;
        self.counts[source] += 1;
        self.extra(1, cx)
    }
}

/// Paths of which all is simple after the actions, and others.
const FLOWS: [&str; 9] = [
    "priority=9,cookie=5,mark=0,actions=stamp,output:2",
    "priority=9,cookie=6,mark=1,udp,actions=stamp,stamp,goto_table:1",
    "priority=9,cookie=7,mark=2,actions=stamp",
    "priority=8,udp,udp_dst=7,mark=3,actions=output:3,stamp",
    "priority=8,udp,udp_dst=8,mark=3,actions=stamp,set_field:10.0.9.9->ip_dst,output:3",
    "priority=7,actions=write_actions(output:3),goto_table:1",
    "table=1,priority=2,metadata=5,actions=output:2",
    "table=1,priority=1,actions=stamp,output:4",
    "table=2,actions=output:3",
];

fn run(
    catalogue: &Arc<Catalogue>,
    extras: [Extra; 2],
    predicts: Foresight,
    batch: usize,
) -> CacheStats {
    let hook = |catalogue: &Catalogue| -> Box<dyn Hook> {
        Box::new(Marks {
            field: mark(catalogue),
            counts: [0; 4],
            extras,
            calls: 0,
            predicts,
            shown: Vec::new(),
            predicted: Vec::new(),
        })
    };
    compare_with(catalogue, &FLOWS, hook, batch, 600)
}

// I14
#[test]
fn hooks_treat_frames_as_they_treat_packets() {
    let catalogue = catalogue();
    for extra in Extra::ALL {
        let nothing = Extra::Nothing;
        for extras in [[extra, nothing], [nothing, extra], [extra, extra]] {
            for batch in [1, 32] {
                for predicts in [Foresight::Nothing, Foresight::Rightly, Foresight::Wrongly] {
                    let stats = run(&catalogue, extras, predicts, batch);
                    assert!(stats.hits > 400, "{extras:?} {predicts:?} {stats:?}");
                }
            }
        }
    }
}

#[test]
fn hooks_treat_frames_as_packets_with_fields_of_a_large_catalogue() {
    let catalogue = large_catalogue();
    for extra in Extra::ALL {
        run(&catalogue, [extra, extra], Foresight::Rightly, 32);
    }
}
