//! Adding and forgetting microflows and aggregates in two-level fair queueing.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use bofuss_datapath::egress::QueueClass;
use bofuss_datapath::{Aggregate, Entitlement, Microflow, PRIORITIES, Time};

use super::account::{Account, Contender, WaitingSiblings, resized};
use super::{AggregateQueue, FairOrder, FlowQueue, TurnPlace, WaitingFrame};
use crate::numbers::{AggregateNumber, FlowNumber};

impl FairOrder {
    /// Finds or adds the microflow of this class. Returns its number; a new microflow is a
    /// newcomer.
    pub(super) fn flow(
        &mut self,
        now: Time,
        microflow: Microflow,
        class: &QueueClass,
        kbps: u32,
    ) -> FlowNumber {
        let key = microflow.aggregate(class);
        let qos = class.qos();
        let priority = usize::from(qos.priority).min(PRIORITIES - 1);
        let mut frames = VecDeque::new();
        let mut known = None;
        if let Some(&number) = self.flow_of.get(&microflow) {
            let flow = &self.flows[number];
            let aggregate = &self.aggregates[flow.aggregate];
            if aggregate.key == key && flow.priority == priority {
                self.awake(number);
                known = Some(number);
            } else {
                frames = self.take_out(now, number);
            }
        }
        let number = match known {
            Some(number) => number,
            None => self.add_flow(microflow, key, priority, frames),
        };
        self.entitle(now, Contender::Flow(number), &qos.flow, kbps);
        if let Some(rights) = &qos.aggregate {
            let aggregate = self.flows[number].aggregate;
            self.entitle(now, Contender::Aggregate(aggregate), rights, kbps);
        }
        number
    }

    /// Puts a microflow that was idle back into the order.
    fn awake(&mut self, number: FlowNumber) {
        let flow = &self.flows[number];
        if flow.place == TurnPlace::Out && flow.frames.is_empty() {
            let until = flow.account.matters_until();
            self.idle.remove(&(until, Contender::Flow(number)));
            self.put_in_order(number);
        }
    }

    /// Removes the frames of a microflow whose identity changes.
    fn take_out(&mut self, now: Time, number: FlowNumber) -> VecDeque<WaitingFrame> {
        let flow = &mut self.flows[number];
        let frames = core::mem::take(&mut flow.frames);
        let size = flow.account.size;
        let aggregate = flow.aggregate;
        let place = flow.place;
        let n_ready = if flow.account.is_paused {
            0
        } else {
            frames.len() as i64
        };
        self.flow_of.remove(&flow.microflow);
        let until = flow.account.matters_until();
        self.idle.remove(&(until, Contender::Flow(number)));
        self.change_ready(aggregate, -n_ready);
        self.change_size(number, -(size as i64));
        self.release(Contender::Flow(number));
        if place == TurnPlace::Out {
            self.retire_flow(now, number);
        }
        frames
    }

    /// Adds a newcomer with the frames that it had under its former identity.
    fn add_flow(
        &mut self,
        microflow: Microflow,
        key: Aggregate,
        priority: usize,
        frames: VecDeque<WaitingFrame>,
    ) -> FlowNumber {
        let aggregate = self.aggregate(key);
        let size: u64 = frames.iter().map(|waiting| waiting.size).sum();
        let n_frames = frames.len() as i64;
        let queue = &mut self.aggregates[aggregate];
        queue.n_flows += 1;
        let account = Account::beginning_at(queue.level(priority).reached);
        let number = self.flows.insert(FlowQueue {
            microflow,
            aggregate,
            priority,
            frames,
            account,
            place: TurnPlace::New,
        });
        self.change_size(number, size as i64);
        self.change_ready(aggregate, n_frames);
        self.flow_of.insert(microflow, number);
        self.newcomers.push_back(number);
        number
    }

    /// Finds or adds an aggregate. Returns its number.
    fn aggregate(&mut self, key: Aggregate) -> AggregateNumber {
        if let Some(number) = self.aggregate_of.get(&key) {
            let account = &self.aggregates[*number].account;
            let until = account.matters_until();
            self.idle.remove(&(until, Contender::Aggregate(*number)));
            return *number;
        }
        let account = Account::beginning_at(self.reached);
        let number = self.aggregates.insert(AggregateQueue {
            key,
            n_flows: 0,
            levels: Vec::new(),
            account,
            backlog: WaitingSiblings::default(),
            is_in_order: false,
            n_ready: 0,
        });
        self.aggregate_of.insert(key, number);
        number
    }

    /// Sets a member's rights to those of its record, if they differ.
    pub(super) fn entitle(
        &mut self,
        now: Time,
        member: Contender,
        rights: &Entitlement,
        kbps: u32,
    ) {
        if self.account(member).has(rights) {
            return;
        }
        if self.account(member).is_paused {
            self.resume_one(member);
        }
        let others = self.promised.kbps - self.account(member).guaranteed_kbps();
        let free = u64::from(kbps).saturating_sub(others);
        self.change_backlog(member, WaitingSiblings::remove);
        let account = self.account(member);
        let is_new = account.entitle(now, rights, free);
        let granted = account.guaranteed_kbps();
        self.change_backlog(member, WaitingSiblings::add);
        let is_refused = granted < u64::from(rights.guaranteed_kbps);
        self.promised.kbps = others + granted;
        self.promised.refused += u64::from(is_new && is_refused);
    }

    /// Adds a member to the backlogged siblings, or removes it.
    fn change_backlog(&mut self, member: Contender, change: fn(&mut WaitingSiblings, &Account)) {
        match member {
            Contender::Flow(number) => {
                let flow = &self.flows[number];
                let aggregate = &mut self.aggregates[flow.aggregate];
                change(&mut aggregate.backlog, &flow.account);
            }
            Contender::Aggregate(number) => {
                let aggregate = &self.aggregates[number];
                change(&mut self.backlog, &aggregate.account);
            }
        }
    }

    /// Changes the size of a microflow's waiting frames, and so that of its aggregate and of all.
    pub(super) fn change_size(&mut self, number: FlowNumber, by: i64) {
        let flow = &mut self.flows[number];
        let aggregate = &mut self.aggregates[flow.aggregate];
        aggregate.backlog.resize(&mut flow.account, by);
        self.backlog.resize(&mut aggregate.account, by);
        self.size = resized(self.size, by);
    }

    /// Forgets a microflow that has nothing to send and no turn to wait for, once its past service
    /// does not matter.
    pub(super) fn retire_flow(&mut self, now: Time, number: FlowNumber) {
        let flow = &mut self.flows[number];
        flow.place = TurnPlace::Out;
        let until = flow.account.matters_until();
        if until > now {
            self.idle.insert((until, Contender::Flow(number)));
        } else {
            self.forget_flow(now, number);
        }
    }

    /// As [`Self::retire_flow`], for an aggregate without microflows.
    pub(super) fn retire_aggregate(&mut self, now: Time, number: AggregateNumber) {
        let aggregate = &self.aggregates[number];
        if aggregate.n_flows > 0 || aggregate.is_in_order {
            return;
        }
        let until = aggregate.account.matters_until();
        if until > now {
            self.idle.insert((until, Contender::Aggregate(number)));
        } else {
            self.forget_aggregate(number);
        }
    }

    fn forget_flow(&mut self, now: Time, number: FlowNumber) {
        self.release(Contender::Flow(number));
        let flow = self.flows.remove(number);
        if self.flow_of.get(&flow.microflow) == Some(&number) {
            self.flow_of.remove(&flow.microflow);
        }
        let aggregate = &mut self.aggregates[flow.aggregate];
        aggregate.n_flows -= 1;
        self.retire_aggregate(now, flow.aggregate);
    }

    fn forget_aggregate(&mut self, number: AggregateNumber) {
        self.release(Contender::Aggregate(number));
        let aggregate = self.aggregates.remove(number);
        self.aggregate_of.remove(&aggregate.key);
    }

    /// Removes a member with nothing to send from all timers, and releases its guarantee.
    pub(super) fn release(&mut self, member: Contender) {
        let priority = self.priority(member);
        let account = self.account(member);
        let kbps = account.guaranteed_kbps();
        let owed_from = account.owed_from.take();
        let until = account.may_send_from();
        let was_paused = core::mem::take(&mut account.is_paused);
        account.entitle(Time(0), &Entitlement::DEFAULT, 0);
        self.promised.kbps -= kbps;
        if let Some(from) = owed_from {
            self.owed[priority].remove(&(from, member));
        }
        if was_paused {
            self.paused.remove(&(until, member));
        }
    }

    /// Forgets members that have been idle for long enough; if there are too many, the next member.
    pub(super) fn forget_idle(&mut self, now: Time, is_full: bool) {
        let mut must = is_full;
        while let Some((at, member)) = self.idle.first().copied() {
            if at > now && !must {
                return;
            }
            self.idle.pop_first();
            match member {
                Contender::Flow(number) => self.forget_flow(now, number),
                Contender::Aggregate(number) => self.forget_aggregate(number),
            }
            must = false;
        }
    }
}
