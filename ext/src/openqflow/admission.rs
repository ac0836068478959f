//! Admission of rules: adds up the rates that QoS rules guarantee at each port, and refuses a rule
//! whose guarantee its port could not keep.
//!
//! Choice: the port of a rule is the one to which the forwarding rules send a packet that has the
//! fields of its match and no others. If there is none, the port itself refuses guarantees that it
//! cannot keep, when packets arrive.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_datapath::{ControlContext, StepMap, Table};
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::{FlowMod, FlowModCommand, FlowRemoved};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, FieldSet, Instruction, Match, PortNo};
use bofuss_packet::{Key, KeyMatch};

use super::error::NOT_ADMITTED;
use super::records::{ForwardRecord, QosRecord};
use super::table::FlowTable;

/// Identifies a rule by its table, priority and match.
type RuleId = (TableId, u16, KeyMatch);

/// The guarantee of a rule: a rate in kb/s at a port.
#[derive(Clone, Copy, Debug)]
struct Promise {
    port: PortNo,
    kbps: u32,
}

/// The rules that guarantee a rate at a known port. After a bundle that failed, or a flow-mod that
/// was refused later, some may not exist, or guarantee less than is noted here.
#[derive(Debug, Default)]
pub(super) struct Promises {
    rules: StepMap<RuleId, Promise>,
    /// The sum of all rules' rates in kb/s, by port.
    kbps_of: BTreeMap<PortNo, u64>,
}

impl Promises {
    fn note(&mut self, rule: RuleId, promise: Promise) {
        self.forget(&rule);
        *self.kbps_of.entry(promise.port).or_default() += u64::from(promise.kbps);
        self.rules.insert(rule, promise);
    }

    fn forget(&mut self, rule: &RuleId) {
        let Some((_, promise)) = self.rules.get(rule) else {
            return;
        };
        if let Some(kbps) = self.kbps_of.get_mut(&promise.port) {
            *kbps -= u64::from(promise.kbps);
        }
        self.rules.remove(rule);
    }

    /// The rate in kb/s that rules guarantee at a port, without the rules in `own`.
    fn of_others(&self, port: PortNo, own: &[RuleId]) -> u64 {
        let mut kbps = self.kbps_of.get(&port).copied().unwrap_or(0);
        for rule in own {
            let known = self.rules.get(rule).map(|(_, promise)| promise);
            if let Some(promise) = known.filter(|promise| promise.port == port) {
                kbps -= u64::from(promise.kbps);
            }
        }
        kbps
    }

    /// Notes a rule that may still be refused: until then, its old guarantee holds.
    fn propose(&mut self, rule: RuleId, mut promise: Promise) {
        let old = self.rules.get(&rule).map(|(_, old)| old);
        if let Some(old) = old.filter(|old| old.port == promise.port) {
            promise.kbps = promise.kbps.max(old.kbps);
        }
        self.note(rule, promise);
    }

    /// Changes the rate of a rule, if it is noted.
    fn set_rate(&mut self, rule: RuleId, kbps: u32) {
        if let Some((_, Promise { port, .. })) = self.rules.get(&rule) {
            let port = *port;
            self.note(rule, Promise { port, kbps });
        }
    }

    /// Compares all with the rules in the tables.
    fn settle(&mut self, tables: &[Table]) {
        let mut differing = Vec::new();
        let mut next = self.rules.used(0);
        while let Some(slot) = next {
            let (rule, promise) = self.rules.at(slot).expect("the slot is used");
            let kbps = guaranteed_kbps(tables, rule);
            if kbps != Some(promise.kbps) {
                differing.push((rule.clone(), kbps));
            }
            next = self.rules.used(slot + 1);
        }
        for (rule, kbps) in differing {
            match kbps {
                Some(kbps) => self.set_rate(rule, kbps),
                None => self.forget(&rule),
            }
        }
    }

    /// Records what a QoS rule guarantees.
    ///
    /// Errors: its port cannot keep that together with what other rules guarantee.
    pub(super) fn admit_rule(
        &mut self,
        table: &mut FlowTable,
        forwarding: &[TableId],
        cx: &ControlContext<'_>,
        flow_mod: &FlowMod,
    ) -> Result<(), ErrorCode> {
        let found = record::<QosRecord>(&flow_mod.instructions);
        let Some(record) = found.filter(|record| record.is_guaranteed()) else {
            return Ok(());
        };
        let Some(port) = rule_port(table, forwarding, cx.tables(), &flow_mod.fields) else {
            return Ok(());
        };
        let Some(guarantees) = cx.guarantees(port) else {
            return Ok(());
        };
        let most = guarantees.granted_kbps + guarantees.free_kbps;
        let rules = rules_of(cx.tables(), flow_mod);
        let asked = u64::from(record.rate) * rules.len().max(1) as u64;
        if self.of_others(port, &rules) + asked > most {
            self.settle(cx.tables());
        }
        if self.of_others(port, &rules) + asked > most {
            table.counts.not_admitted += 1;
            return Err(NOT_ADMITTED);
        }
        for rule in rules {
            let kbps = record.rate;
            self.propose(rule, Promise { port, kbps });
        }
        Ok(())
    }

    /// Notes what the rules guarantee to which a flow-mod has given other records.
    pub(super) fn rules_changed_by(&mut self, cx: &ControlContext<'_>, flow_mod: &FlowMod) {
        if self.rules.is_empty() {
            return;
        }
        let found = record::<QosRecord>(&flow_mod.instructions);
        let guaranteed = found.filter(|record| record.is_guaranteed());
        for rule in rules_of(cx.tables(), flow_mod) {
            match guaranteed {
                Some(record) => self.set_rate(rule, record.rate),
                None => self.forget(&rule),
            }
        }
    }

    /// Forgets the guarantee of a removed rule.
    pub(super) fn rule_removed(&mut self, removed: &FlowRemoved) {
        if !self.rules.is_empty() {
            let rule = KeyMatch::from(&removed.fields);
            let id = (removed.table_id, removed.priority, rule);
            self.forget(&id);
        }
    }
}

/// The rate that a rule in the tables guarantees, if it is there and guarantees one.
fn guaranteed_kbps(tables: &[Table], (number, priority, fields): &RuleId) -> Option<u32> {
    let table = tables.get(usize::from(number.0))?;
    let entry = table.get(table.find(*priority, fields)?)?;
    let found = record::<QosRecord>(&entry.instructions)?;
    found.is_guaranteed().then_some(found.rate)
}

/// The record of type `T` among instructions, if there is one.
fn record<T: TypedBody>(instructions: &Instructions) -> Option<&T> {
    instructions.list().iter().find_map(|one| {
        let Instruction::Experimenter(value) = one else {
            return None;
        };
        value.body::<T>()
    })
}

/// The rules that a flow-mod adds or changes.
fn rules_of(tables: &[Table], flow_mod: &FlowMod) -> Vec<RuleId> {
    let number = flow_mod.table_id;
    let own = KeyMatch::from(&flow_mod.fields);
    if flow_mod.command != FlowModCommand::MODIFY {
        return alloc::vec![(number, flow_mod.priority, own)];
    }
    let Some(table) = tables.get(usize::from(number.0)) else {
        return Vec::new();
    };
    let covered = table.entries_within(&own);
    covered
        .map(|entry| (number, entry.key.priority.0, entry.rule.unshared()))
        .collect()
}

/// The port to which forwarding rules send a packet with the fields of a match and no others.
fn rule_port(
    flows: &FlowTable,
    forwarding: &[TableId],
    tables: &[Table],
    fields: &Match,
) -> Option<PortNo> {
    let mut key = Key::EMPTY;
    for one in fields.fields() {
        key.set(one.field, one.number());
    }
    for number in forwarding {
        let table = tables.get(usize::from(number.0))?;
        let Some(found) = table.lookup(&key, &mut FieldSet::default()) else {
            continue;
        };
        let entry = table.get(found)?;
        let found = record::<ForwardRecord>(&entry.instructions);
        return found.map(|record| flows.paths.port_of(record));
    }
    None
}
