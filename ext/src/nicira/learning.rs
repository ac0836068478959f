//! What `learn` does to the switch: it asks for entries, and counts what becomes of them.

use alloc::collections::VecDeque;
use alloc::{format, vec, vec::Vec};

use bofuss_datapath::{HookContext, Metric, MetricKind, Time, WantedResult};
use bofuss_oflib::Subfield;
use bofuss_oflib::message::FlowMod;

use super::learn::{KnownEntries, Learn};

/// The state of `learn`.
#[derive(Default)]
pub(super) struct Learning {
    known: KnownEntries,
    /// The entries that were asked for, with the values of their packets.
    asked: VecDeque<(Learn, Vec<u128>)>,
    /// The values of the packet at hand, kept for their memory.
    values: Vec<u128>,
    counts: Counts,
}

/// How many entries were asked for, by what became of them.
#[derive(Default)]
struct Counts {
    added: u64,
    replaced: u64,
    kept: u64,
    refused: u64,
    lost: u64,
    /// Packets without a field of the entry.
    incomplete: u64,
}

impl Learning {
    /// Asks for the entry that a packet makes, unless it is known to be there.
    pub(super) fn learn(&mut self, cx: &mut HookContext<'_>, learn: &Learn) {
        self.values.clear();
        for bits in learn.reads() {
            let Some(value) = read(cx, &bits) else {
                self.counts.incomplete += u64::from(!cx.is_dry());
                let name = bits.field.shown();
                return cx.say(|| format!("learns nothing: the packet has no {name}"));
            };
            self.values.push(bits.of_value(value));
        }
        // What others change in the same moment comes first, so nothing is known for certain then.
        let is_known = self.asked.is_empty() && self.known.has(learn, &self.values, cx.now);
        if is_known && !cx.is_dry() {
            return;
        }
        let Ok(flow_mod) = learn.entry(&self.values) else {
            self.counts.refused += u64::from(!cx.is_dry());
            return cx.say(|| "learns nothing: OpenFlow has no such entry".into());
        };
        if cx.is_dry() {
            return cx.say(|| format!("learns {flow_mod}"));
        }
        if cx.want_entry(flow_mod) {
            self.asked.push_back((learn.clone(), self.values.clone()));
        } else {
            self.counts.lost += 1;
        }
    }

    /// Returns true if a flow-mod adds the first of the entries that were asked for.
    pub(super) fn asks_for(&self, flow_mod: &FlowMod) -> bool {
        let asked = self.asked.front();
        let entry = asked.and_then(|(learn, values)| learn.entry(values).ok());
        entry.as_ref() == Some(flow_mod)
    }

    /// Notes what became of the first of the entries that were asked for.
    pub(super) fn learned(&mut self, now: Time, result: WantedResult) {
        let asked = self.asked.pop_front();
        let count = match result {
            WantedResult::Added => &mut self.counts.added,
            WantedResult::Replaced => &mut self.counts.replaced,
            WantedResult::Kept => &mut self.counts.kept,
            WantedResult::Refused(_) => &mut self.counts.refused,
        };
        *count += 1;
        if result == WantedResult::Replaced {
            self.known.forget();
        }
        let is_there = !matches!(result, WantedResult::Refused(_));
        if let Some((learn, values)) = asked.filter(|_| is_there) {
            self.known.note(learn, values, now);
        }
    }

    /// Forgets which entries are there, because some may have changed.
    pub(super) fn forget(&mut self) {
        self.known.forget();
    }

    /// Adds the counters to a list of metrics.
    pub(super) fn metrics(&self, list: &mut Vec<Metric>) {
        let counts = &self.counts;
        let by_result = [
            ("added", counts.added),
            ("replaced", counts.replaced),
            ("kept", counts.kept),
            ("refused", counts.refused),
            ("lost", counts.lost),
            ("incomplete", counts.incomplete),
        ];
        for (result, value) in by_result {
            list.push(Metric {
                name: "learned",
                help: "Entries that packets were to add by learn, by what became of them",
                kind: MetricKind::Counter,
                labels: vec![("result", result.into())],
                value,
            });
        }
    }
}

/// The value of a field. Those that are in no header have one in every packet, and so has the VLAN:
/// 0 without a tag.
fn read(cx: &mut HookContext<'_>, bits: &Subfield) -> Option<u128> {
    let value = cx.get(bits.field);
    let is_always = bits.field.is_pipeline() || bits.field == bofuss_oflib::field::VLAN_VID;
    value.or(is_always.then_some(0))
}
