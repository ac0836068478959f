//! Adding and forgetting microflows and aggregates in the schemes of OpenQFlow.

use bofuss_datapath::egress::QueueClass;
use bofuss_datapath::{Aggregate, MAX_MICROFLOWS, Microflow, PRIORITIES, Qos};

use super::schemes::Scheme;
use super::shares::{Rights, Tally, Waterline};
use super::{EtaAggregate, EtaFlow, EtaOrder, IDLE_NS};
use crate::numbers::{AggregateNumber, FlowNumber};

/// Microflows that are forgotten with one frame, so that none is late because many end at once.
const FORGOTTEN_AT_ONCE: usize = 32;

impl<S: Scheme> EtaOrder<S> {
    /// Finds or adds the microflow of this class. Returns its number, and whether it was known.
    pub(super) fn flow(
        &mut self,
        now: u64,
        microflow: Microflow,
        class: &QueueClass,
        capacity: f64,
    ) -> (FlowNumber, bool) {
        self.forget_idle(now);
        let key = S::HAS_AGGREGATES.then(|| microflow.aggregate(class));
        if let Some(&number) = self.flow_of.get(&microflow) {
            self.change_aggregate(number, key);
            self.entitle(number, class.qos(), capacity);
            return (number, true);
        }
        // The one whose deadline is next makes room.
        if self.flows.len() >= MAX_MICROFLOWS {
            self.make_room(now);
        }
        let members = self.n_members();
        let aggregate = self.aggregate(key);
        self.aggregates[aggregate].n_flows += 1;
        let number = self.flows.insert(EtaFlow {
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
        self.deadlines.insert((now + IDLE_NS, number));
        if self.n_members() > members {
            // The others have less by what a new member gets.
            let share = self.waterline.share;
            let before = if members == 0 {
                capacity
            } else {
                share * members as f64
            };
            self.waterline.share = before / (members + 1) as f64;
        }
        self.entitle(number, class.qos(), capacity);
        (number, false)
    }

    /// Finds or adds an aggregate. Returns its number.
    fn aggregate(&mut self, key: Option<Aggregate>) -> AggregateNumber {
        if let Some(number) = self.aggregate_of.get(&key) {
            return *number;
        }
        let number = self.aggregates.insert(EtaAggregate {
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

    /// Moves a microflow to another aggregate, if its record says so.
    fn change_aggregate(&mut self, number: FlowNumber, key: Option<Aggregate>) {
        let old = self.flows[number].aggregate;
        if self.aggregates[old].key == key {
            return;
        }
        let new = self.aggregate(key);
        self.aggregates[new].n_flows += 1;
        let flow = &mut self.flows[number];
        (flow.aggregate, flow.active_in, flow.limited_in) = (new, u64::MAX, u64::MAX);
        self.leave_aggregate(old);
    }

    /// Sets the rights of a microflow and its aggregate by its record; the paper's schemes ignore
    /// records.
    fn entitle(&mut self, number: FlowNumber, qos: &Qos, capacity: f64) {
        if !S::IS_MENDED {
            return;
        }
        let flow = &mut self.flows[number];
        let priority = usize::from(qos.priority).min(PRIORITIES - 1);
        // Frames of a higher priority would overtake those that already wait.
        if priority < flow.priority || flow.n_waiting == 0 {
            flow.priority = priority;
        }
        let aggregate = &mut self.aggregates[flow.aggregate];
        let of_flow = (&mut flow.rights, Some(&qos.flow));
        let of_aggregate = (&mut aggregate.rights, qos.aggregate.as_ref());
        for (rights, entitlement) in [of_flow, of_aggregate] {
            if let Some(entitlement) = entitlement.filter(|one| !rights.are(one)) {
                self.guaranteed -= rights.guaranteed;
                let is_new = rights.is_other_than(entitlement);
                *rights = Rights::of(entitlement, capacity - self.guaranteed);
                self.guaranteed += rights.guaranteed;
                self.n_refused += u64::from(is_new && !rights.are(entitlement));
            }
        }
    }

    /// Forgets microflows that have been idle for long enough, a bounded number with each frame.
    fn forget_idle(&mut self, now: u64) {
        for _ in 0..FORGOTTEN_AT_ONCE {
            let Some(&(deadline, number)) = self.deadlines.first() else {
                return;
            };
            if deadline > now {
                return;
            }
            self.deadlines.pop_first();
            let flow = &self.flows[number];
            // A microflow with a waiting frame stays.
            let idle_from = if flow.n_waiting > 0 {
                now
            } else {
                flow.last_ns
            };
            if idle_from + IDLE_NS > now {
                self.deadlines.insert((idle_from + IDLE_NS, number));
            } else {
                self.forget(number);
            }
        }
    }

    /// Forgets the microflow whose deadline is next, unless a frame of it waits.
    fn make_room(&mut self, now: u64) {
        let Some((_, number)) = self.deadlines.pop_first() else {
            return;
        };
        if self.flows[number].n_waiting > 0 {
            self.deadlines.insert((now + IDLE_NS, number));
        } else {
            self.forget(number);
        }
    }

    /// Forgets a microflow that has no deadline any more.
    fn forget(&mut self, number: FlowNumber) {
        let flow = self.flows.remove(number);
        self.flow_of.remove(&flow.microflow);
        self.guaranteed -= flow.rights.guaranteed;
        self.leave_aggregate(flow.aggregate);
    }

    /// Counts one microflow less in an aggregate, and forgets the aggregate with its last
    /// microflow.
    fn leave_aggregate(&mut self, number: AggregateNumber) {
        let aggregate = &mut self.aggregates[number];
        aggregate.n_flows -= 1;
        if aggregate.n_flows == 0 {
            self.guaranteed -= aggregate.rights.guaranteed;
            self.aggregate_of.remove(&aggregate.key);
            self.aggregates.remove(number);
        }
    }
}
