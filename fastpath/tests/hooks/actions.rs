//! Actions of extensions on cached paths.

use bofuss_datapath::{Hook, HookContext, HookEffect, Verdict};
use bofuss_fastpath::CacheStats;
use bofuss_oflib::field::IPV4_DST;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, Catalogue, ExtValue, Field, PortNo};

use super::{compare, mark};

/// Packets of each run.
const PACKETS: u32 = 2000;

/// The effect of an action: what it declares, or more.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    /// Marks packets by their destination.
    MarksByDestination,
    /// Marks packets by how many came before.
    MarksByCount,
    /// Counts, and for some packets outputs, drops, rewrites, or goes elsewhere.
    Counts,
}

/// Does it on each of its actions.
struct Doer {
    field: &'static Field,
    deed: Deed,
    effect: HookEffect,
    count: u32,
}

impl Hook for Doer {
    fn name(&self) -> &'static str {
        "test"
    }
    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::None
    }
    fn action_effect(&self, _: usize, _: &ExtValue) -> HookEffect {
        self.effect
    }
    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, _: &ExtValue) -> Verdict {
        self.count += 1;
        match self.deed {
            Deed::MarksByDestination => {
                let to = cx.get(IPV4_DST).unwrap_or(0);
                cx.set(self.field, to & 3);
            }
            Deed::MarksByCount => cx.set(self.field, u128::from(self.count / 4 % 4)),
            Deed::Counts if self.count % 5 == 0 => cx.goto(TableId(3)),
            Deed::Counts if self.count % 7 == 0 => return cx.drop("seventh"),
            Deed::Counts if self.count % 11 == 0 => {
                cx.apply(vec![Action::output(PortNo(4))]);
            }
            Deed::Counts if self.count % 13 == 0 => {
                cx.edit().set_nw_ttl(9).unwrap();
                cx.set(self.field, 2);
            }
            Deed::Counts => {}
        }
        Verdict::Continue
    }
}

/// Actions in the first table, in a middle table, in the last table, and in an action set.
const FLOWS: [&str; 9] = [
    "priority=2,udp,udp_dst=7,actions=output:3,stamp,goto_table:1",
    "priority=2,tcp,tcp_dst=7,actions=stamp",
    "priority=1,udp,actions=stamp,set_field:10.9.9.1->ip_dst,stamp,goto_table:1",
    "priority=1,tcp,actions=write_actions(stamp,output:4),goto_table:1",
    "table=1,priority=2,mark=1,actions=drop",
    "table=1,priority=2,mark=2,actions=stamp,output:2,goto_table:2",
    "table=1,priority=1,actions=goto_table:2",
    "table=2,actions=output:2",
    "table=3,actions=output:3",
];

fn run(deed: Deed, effect: HookEffect, batch: usize) -> CacheStats {
    let hook = |catalogue: &Catalogue| -> Box<dyn Hook> {
        Box::new(Doer {
            field: mark(catalogue),
            deed,
            effect,
            count: 0,
        })
    };
    compare(&FLOWS, hook, batch, PACKETS)
}

// I14
#[test]
fn packets_with_actions_of_extensions_are_treated_alike_by_all_engines() {
    for (deed, effect) in [
        (Deed::MarksByDestination, HookEffect::Pure),
        (Deed::MarksByDestination, HookEffect::Branch),
        (Deed::MarksByCount, HookEffect::Branch),
        (Deed::MarksByCount, HookEffect::Live),
        (Deed::MarksByCount, HookEffect::Unknown),
        (Deed::Counts, HookEffect::Live),
        (Deed::Counts, HookEffect::Branch),
        (Deed::Counts, HookEffect::Unknown),
        // It does more than it declares, which is noticed.
        (Deed::Counts, HookEffect::Pure),
    ] {
        for batch in [1, 32] {
            let stats = run(deed, effect, batch);
            assert!(stats.hits > 1700, "{deed:?} {effect:?} {stats:?}");
        }
    }
}

#[test]
fn a_path_continues_after_an_action_that_is_pure_or_live() {
    let pure = run(Deed::MarksByDestination, HookEffect::Pure, 32);
    assert_eq!(pure.continued, 0, "one path goes through all tables");
    let branch = run(Deed::MarksByDestination, HookEffect::Branch, 32);
    assert!(branch.continued > 1000, "each action ends a path");
    let live = run(Deed::Counts, HookEffect::Live, 32);
    assert!(
        live.continued < 1000,
        "only where the packet goes elsewhere"
    );
}
