//! Steps of a trace about packets and lookups.

use alloc::vec::Vec;

use bofuss_oflib::field::{ETH_TYPE, IN_PHY_PORT};
use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, Match};
use bofuss_packet::{Key, Packet};

use crate::engine_notes::EngineNotes;
use crate::hooks::Hooks;
use crate::pipeline::context::Context;
use crate::{DropReason, Entry, EntryKey, Lost, Port, Sink, Step, Table};

/// The number of entries of all tables together that one trace searches for those that nearly
/// matched, which takes some 0.5 ms. Any connection may ask for a trace, and packets wait for it.
pub(super) const LOST_SEARCHED: usize = 1000;

/// The number of entries that a trace names which matched but lost a lookup.
const LOST_SHOWN: usize = 4;

/// Traces the lookup of a packet in a table: the entry that was hit, and those that nearly matched.
/// Returns true if a table-miss entry was hit.
///
/// Of the entries that lost, first come those before the winner, ordered by how many bits of theirs
/// differ; then those after it that match as well, and would have been hit without it.
pub(super) fn trace_lookup(
    (number, table): (TableId, &Table),
    packet: &Packet,
    hit: Option<EntryKey>,
    catalogue: &Catalogue,
    searches: &mut usize,
    sink: &mut impl Sink,
) -> bool {
    let key = packet.key();
    let won = hit.and_then(|hit| table.get(hit));
    let mut near = Vec::new();
    // An index of labels or masks would not help: any entry may be the nearest.
    for (_, entry) in table.entries(EntryKey::FIRST).take(*searches) {
        *searches -= 1;
        let is_after = won.is_some_and(|won| entry.key > won.key);
        let distance = key.distance(&entry.rule);
        // After the winner, only entries that also match are of interest.
        if hit != Some(entry.key) && (!is_after || distance == 0) {
            near.push(((is_after, distance, entry.key), entry));
        }
    }
    near.sort_unstable_by_key(|(rank, _)| *rank);
    let shown = near.into_iter().take(LOST_SHOWN);
    let lost = shown
        .map(|(_, entry)| lost(entry, key, catalogue))
        .collect();
    let is_table_miss = won.is_some_and(|entry| entry.reason() == PacketInReason::NO_MATCH);
    let fields = won.map(|entry| entry.rule.to_match(catalogue));
    let winner = won
        .zip(fields.as_ref())
        .map(|(entry, fields)| (entry.key.priority.0, fields, entry.cookie));
    let packet = describe(packet, catalogue);
    sink.step(Step::Lookup(number, packet, winner, lost));
    is_table_miss
}

/// Names in a trace the extensions that act only on misses and so do nothing in a table with a
/// table-miss entry.
pub(super) fn trace_outdone(hooks: &Hooks, table: TableId, sink: &mut impl Sink) {
    for (number, _) in hooks.at_miss(table) {
        let hook = &hooks.all[*number];
        if hook.only_misses() {
            let line = "off in this table, whose table-miss entry takes what no other matches";
            sink.step(Step::Reported(hook.name(), line));
        }
    }
}

/// Describes for a trace why an entry lost the lookup of a key.
fn lost(entry: &Entry, key: &Key, catalogue: &Catalogue) -> Lost {
    let fields = entry.rule.to_match(catalogue);
    let mut differs = Vec::new();
    for one in fields.fields() {
        if !key.has(one, &mut ()) {
            differs.push((*one, key.get(one.field, &mut ())));
        }
    }
    // All fields match, except that for an entry with ONE_TAG they are after a second VLAN tag.
    if differs.is_empty() && !key.matches(&entry.rule, &mut ()) {
        let second = key.second_tag(&mut ()).map(u128::from);
        differs.extend(fields.get(ETH_TYPE).map(|eth_type| (*eth_type, second)));
    }
    Lost {
        priority: entry.key.priority.0,
        differs,
        fields,
    }
}

/// The step of a packet's arrival.
///
/// The length is that on the wire, which for a super-frame is that of all its segments.
pub(super) fn received<'a>(packet: &'a Packet, catalogue: &Catalogue) -> Step<'a> {
    let key = describe(packet, catalogue);
    Step::Received(packet.in_port(), key, packet.wire_bytes())
}

/// A packet's key as an exact match. Metadata and extensions' fields with their initial values are
/// omitted.
///
/// IN_PHY_PORT is omitted as well, since here it always equals IN_PORT.
fn describe(packet: &Packet, catalogue: &Catalogue) -> Match {
    let all = packet.key().to_match(catalogue);
    let shown = all.fields().iter().filter(|one| {
        let from_packet = !one.field.at.is_empty();
        let initial = u128::from(one.field.initial.unwrap_or(0));
        (from_packet || one.number() != initial) && one.field.id != IN_PHY_PORT.id
    });
    Match::new(&shown.copied().collect::<Vec<_>>()).unwrap_or_default()
}

/// Sends a packet through the tables for the steps of its trace: with a sink that is
/// [`Sink::DRY`], nothing is counted, learned or changed.
///
/// A packet that its port would not accept is shown as dropped, as if it had been received.
pub(crate) fn trace<S: Sink, E: EngineNotes>(cx: &mut Context<'_, S, E>, mut packet: Packet) {
    let ingress = cx.pipeline.ports.get(&packet.in_port());
    match ingress.map_or(Some(DropReason::NoSuchIngress), Port::ingress_block) {
        None => {
            cx.lane.work.begin_frame();
            cx.lane.work.searches = LOST_SEARCHED;
            cx.run(&mut packet, E::PathNotes::default());
            cx.pipeline.bridge.end_trial();
        }
        Some(reason) => {
            cx.sink.step(received(&packet, &cx.pipeline.catalogue));
            cx.drop(reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, sync::Arc};

    use bofuss_frame::{Frame, OffloadCapabilities, Pool};
    use bofuss_oflib::message::{FlowModCommand, FlowRemoved, PortDesc, PortStatusReason};
    use bofuss_oflib::text::parse_flow;
    use bofuss_oflib::types::QueueId;
    use bofuss_oflib::{Mac, PortNo};
    use bofuss_packet::craft;

    use super::*;
    use crate::{Config, Datapath, PacketInEvent, Sink, Time};

    /// Keeps how many entries of each table a trace names that nearly matched, and why packets were
    /// dropped.
    #[derive(Default)]
    struct Steps {
        lost: Vec<usize>,
        drops: Vec<DropReason>,
    }

    impl Sink for Steps {
        const TRACES: bool = true;
        const DRY: bool = true;
        fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
        fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
        fn flow_removed(&mut self, _: FlowRemoved) {}
        fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
        fn set_link(&mut self, _: PortNo, _: bool) {}
        fn step(&mut self, step: Step<'_>) {
            match step {
                Step::Lookup(_, _, _, lost) => self.lost.push(lost.len()),
                Step::Drop(reason) => self.drops.push(reason),
                _ => {}
            }
        }
    }

    #[test]
    fn a_packet_of_a_port_that_is_not_there_ends_for_that_reason() {
        let catalogue = Arc::new(Catalogue::default());
        let pool = Pool::new(1 << 20);
        let mut datapath: Datapath = Datapath::new(Config::default(), catalogue, pool);
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), craft::Layer::new(0x88b5, &[0]));
        let frame = datapath.pool().frame(&bytes).expect("within the limit");
        let mut steps = Steps::default();
        let packet = Packet::new(frame, PortNo(9));
        datapath.control(Time(0), &mut steps).trace(packet);
        assert_eq!(steps.drops, [DropReason::NoSuchIngress]);
    }

    /// A packet passes 60 tables, each with 50 entries that it does not match.
    #[test]
    fn a_trace_searches_a_limited_number_of_entries_in_all_tables_together() {
        const TABLES: u8 = 60;
        let config = Config {
            n_tables: TABLES,
            ..Config::default()
        };
        let catalogue = Arc::new(Catalogue::default());
        let mut datapath: Datapath =
            Datapath::new(config, Arc::clone(&catalogue), Pool::new(1 << 20));
        let sink = &mut Vec::<Frame>::new();
        let desc = PortDesc {
            port_no: PortNo(1),
            ..PortDesc::default()
        };
        datapath
            .port_control(Time(0), sink)
            .changed(desc, OffloadCapabilities::default());
        let mut add = |text: &str| {
            let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).expect(text);
            datapath.control(Time(0), sink).flow_mod(&flow).expect(text);
        };
        for table in 0..TABLES {
            for n in 0..50 {
                add(&format!(
                    "table={table},priority=9,tcp,tp_dst={n},actions=drop"
                ));
            }
            if table + 1 < TABLES {
                add(&format!(
                    "table={table},priority=1,actions=goto_table:{}",
                    table + 1
                ));
            }
        }
        for _ in 0..2 {
            let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), craft::Layer::new(0x88b5, &[0]));
            let frame = datapath.pool().frame(&bytes).expect("within the limit");
            let packet = Packet::new(frame, PortNo(1));
            let mut steps = Steps::default();
            datapath.control(Time(0), &mut steps).trace(packet);
            let searched = steps.lost.iter().filter(|count| **count > 0).count();
            assert_eq!(
                (steps.lost.len(), searched),
                (60, 20),
                "1,000 entries in 20 tables"
            );
            let lane = datapath.context(Time(0), &mut steps).lane;
            assert_eq!(lane.work.searches, 0);
        }
    }
}
