//! Admission of rules: what the QoS rules guarantee at each port, so that a rule is refused when
//! its port could not keep what it guarantees.
//!
//! Choice: the port of a rule is the one to which the forwarding rules send a packet that has the
//! fields of its match and no others. Where that is none, the port itself refuses what it cannot
//! keep, when packets come.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_datapath::{ControlContext, StepMap, Table};
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::{FlowMod, FlowModCommand, FlowRemoved};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, FieldSet, Instruction, Match, PortNo};
use bofuss_packet::{Key, KeyMatch};

use super::error::NOT_ADMITTED;
use super::hook::OpenQflow;
use super::records::{ForwardRecord, QosRecord};

/// A rule by its table, priority and match.
type RuleId = (TableId, u16, KeyMatch);

/// What a rule guarantees: the port, and kb/s.
#[derive(Clone, Copy, Debug)]
struct Promise {
    port: PortNo,
    kbps: u32,
}

/// The rules that guarantee a rate at a port that is known. Some may be gone: those of a bundle
/// that failed, or of a flow-mod that was refused later.
#[derive(Debug, Default)]
pub(super) struct Promises {
    rules: StepMap<RuleId, Promise>,
    /// Kb/s of all rules, by port.
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

    /// Kb/s that rules guarantee at a port, but for those of some numbers.
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

    /// Forgets the rules that are gone.
    fn forget_lost(&mut self, tables: &[Table]) {
        let mut lost = Vec::new();
        let mut next = self.rules.used(0);
        while let Some(slot) = next {
            let (rule, _) = self.rules.at(slot).expect("the slot is used");
            let table = tables.get(usize::from(rule.0.0));
            if table
                .and_then(|table| table.find(rule.1, &rule.2))
                .is_none()
            {
                lost.push(rule.clone());
            }
            next = self.rules.used(slot + 1);
        }
        lost.iter().for_each(|rule| self.forget(rule));
    }
}

/// The record of a kind among instructions, if there is one.
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

impl OpenQflow {
    /// Takes note of what a rule of QoS guarantees.
    ///
    /// Errors: its port cannot keep that along with what other rules guarantee.
    pub(super) fn admit_rule(
        &mut self,
        cx: &ControlContext<'_>,
        flow_mod: &FlowMod,
    ) -> Result<(), ErrorCode> {
        let found = record::<QosRecord>(&flow_mod.instructions);
        let Some(record) = found.filter(|record| record.is_guaranteed()) else {
            return Ok(());
        };
        let Some(port) = self.rule_port(cx.tables(), &flow_mod.fields) else {
            return Ok(());
        };
        let Some(guarantees) = cx.guarantees(port) else {
            return Ok(());
        };
        let most = guarantees.granted_kbps + guarantees.free_kbps;
        let rules = rules_of(cx.tables(), flow_mod);
        let asked = u64::from(record.rate) * rules.len().max(1) as u64;
        if self.promises.of_others(port, &rules) + asked > most {
            self.promises.forget_lost(cx.tables());
        }
        if self.promises.of_others(port, &rules) + asked > most {
            self.table.counts.not_admitted += 1;
            return Err(NOT_ADMITTED);
        }
        for rule in rules {
            let kbps = record.rate;
            self.promises.note(rule, Promise { port, kbps });
        }
        Ok(())
    }

    /// Forgets what rules guaranteed that a flow-mod has given other records.
    pub(super) fn rules_changed_by(&mut self, cx: &ControlContext<'_>, flow_mod: &FlowMod) {
        let found = record::<QosRecord>(&flow_mod.instructions);
        if found.is_some_and(QosRecord::is_guaranteed) || self.promises.rules.is_empty() {
            return;
        }
        for rule in rules_of(cx.tables(), flow_mod) {
            self.promises.forget(&rule);
        }
    }

    /// Forgets what a rule guaranteed that is gone.
    pub(super) fn rule_removed(&mut self, removed: &FlowRemoved) {
        if !self.promises.rules.is_empty() {
            let rule = KeyMatch::from(&removed.fields);
            let id = (removed.table_id, removed.priority, rule);
            self.promises.forget(&id);
        }
    }

    /// The port to which forwarding rules send a packet with the fields of a match and no others.
    fn rule_port(&self, tables: &[Table], fields: &Match) -> Option<PortNo> {
        let mut key = Key::EMPTY;
        for one in fields.fields() {
            key.set(one.field, one.number());
        }
        for number in &self.options.forwarding {
            let table = tables.get(usize::from(number.0))?;
            let Some(found) = table.lookup(&key, &mut FieldSet::default()) else {
                continue;
            };
            let entry = table.get(found)?;
            let found = record::<ForwardRecord>(&entry.instructions);
            return found.map(|record| self.table.port_of(record));
        }
        None
    }
}
