//! How microflows and aggregates become known to schemes of OpenQFlow, and are forgotten.

use super::schemes::Scheme;
use super::shares::{Rights, Tally, Waterline};
use super::{EtaAggregate, EtaFlow, EtaOrder, IDLE_NS, KNOWN, MAX_FLOWS};
use crate::Qos;
use crate::egress::microflow::{Aggregate, Microflow};
use crate::qos::{PRIORITIES, QueueClass};

impl<S: Scheme> EtaOrder<S> {
    /// The number of a microflow of this class, and whether it was known.
    pub(super) fn flow(
        &mut self,
        now: u64,
        microflow: Microflow,
        class: &QueueClass,
        capacity: f64,
    ) -> (u32, bool) {
        let key = S::HAS_AGGREGATES.then(|| microflow.aggregate(class));
        if let Some(&number) = self.flow_of.get(&microflow) {
            self.change_aggregate(number, key);
            self.entitle(number, class.qos(), capacity);
            return (number, true);
        }
        for _ in 0..2 {
            self.look_at_next(now);
        }
        let members = self.n_members();
        let aggregate = self.aggregate(key);
        self.aggregates.get_mut(aggregate).expect(KNOWN).n_flows += 1;
        let number = self.flows.insert(|_| EtaFlow {
            microflow,
            aggregate,
            rights: Rights::DEFAULT,
            priority: 0,
            n_waiting: 0,
            waiting_bytes: 0,
            eta_ns: now,
            leaves_ns: now,
            last_ns: now,
            active_in: u64::MAX,
            limited_in: u64::MAX,
        });
        self.flow_of.insert(microflow, number);
        if self.n_members() > members {
            // What a new member gets, the others have less.
            let share = self.waterline.share;
            let before = if members == 0 { capacity } else { share * members as f64 };
            self.waterline.share = before / (members + 1) as f64;
        }
        self.entitle(number, class.qos(), capacity);
        (number, false)
    }

    /// The number of an aggregate, which is known from now on.
    fn aggregate(&mut self, key: Option<Aggregate>) -> u32 {
        if let Some(number) = self.aggregate_of.get(&key) {
            return *number;
        }
        let number = self.aggregates.insert(|_| EtaAggregate {
            key,
            n_flows: 0,
            rights: Rights::DEFAULT,
            eta_ns: 0,
            active_in: u64::MAX,
            limited_in: u64::MAX,
            tally: Tally::default(),
            waterline: Waterline {
                share: f64::INFINITY,
            },
        });
        self.aggregate_of.insert(key, number);
        number
    }

    /// Lets a microflow belong to another aggregate, if its record says so.
    fn change_aggregate(&mut self, number: u32, key: Option<Aggregate>) {
        let old = self.flows.get(number).expect(KNOWN).aggregate;
        if self.aggregates.get(old).expect(KNOWN).key == key {
            return;
        }
        let new = self.aggregate(key);
        self.aggregates.get_mut(new).expect(KNOWN).n_flows += 1;
        let flow = self.flows.get_mut(number).expect(KNOWN);
        (flow.aggregate, flow.active_in, flow.limited_in) = (new, u64::MAX, u64::MAX);
        self.leave_aggregate(old);
    }

    /// Gives a microflow and its aggregate the rights of its record. The paper's schemes know none.
    fn entitle(&mut self, number: u32, qos: &Qos, capacity: f64) {
        if !S::IS_MENDED {
            return;
        }
        let flow = self.flows.get_mut(number).expect(KNOWN);
        let priority = usize::from(qos.priority).min(PRIORITIES - 1);
        // Frames of a higher priority would leave before those that wait.
        if priority < flow.priority || flow.n_waiting == 0 {
            flow.priority = priority;
        }
        let aggregate = self.aggregates.get_mut(flow.aggregate).expect(KNOWN);
        let of_flow = (&mut flow.rights, Some(&qos.flow));
        let of_aggregate = (&mut aggregate.rights, qos.aggregate.as_ref());
        for (rights, entitlement) in [of_flow, of_aggregate] {
            if let Some(entitlement) = entitlement
                && !rights.are(entitlement)
            {
                self.guaranteed -= rights.guaranteed;
                let is_new = rights.is_other_than(entitlement);
                *rights = Rights::of(entitlement, capacity - self.guaranteed);
                self.guaranteed += rights.guaranteed;
                self.n_refused += u64::from(is_new && !rights.are(entitlement));
            }
        }
    }

    /// Forgets the next microflow if it is idle, or if there are too many. One of which a frame
    /// waits stays.
    fn look_at_next(&mut self, now: u64) {
        let next = self.flows.used(self.looked_at).or_else(|| self.flows.used(0));
        let Some(number) = next else { return };
        self.looked_at = number + 1;
        let flow = self.flows.get(number).expect(KNOWN);
        let is_idle = now.saturating_sub(flow.last_ns) >= IDLE_NS;
        if flow.n_waiting > 0 || !is_idle && self.flows.len() < MAX_FLOWS {
            return;
        }
        let flow = self.flows.remove(number).expect(KNOWN);
        self.flow_of.remove(&flow.microflow);
        self.guaranteed -= flow.rights.guaranteed;
        self.leave_aggregate(flow.aggregate);
    }

    /// Counts that an aggregate has a microflow less, and forgets it with its last.
    fn leave_aggregate(&mut self, number: u32) {
        let aggregate = self.aggregates.get_mut(number).expect(KNOWN);
        aggregate.n_flows -= 1;
        if aggregate.n_flows == 0 {
            self.guaranteed -= aggregate.rights.guaranteed;
            self.aggregate_of.remove(&aggregate.key);
            self.aggregates.remove(number);
        }
    }
}
