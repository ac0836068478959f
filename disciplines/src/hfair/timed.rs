//! The timed parts of two-level fair queueing: guaranteed rates and maxima.

use bofuss_datapath::{PRIORITIES, Time};

use super::account::{Account, Contender, Right};
use super::{FairOrder, TurnPlace};
use crate::numbers::{AggregateNumber, FlowNumber};

impl FairOrder {
    pub(super) fn account(&mut self, member: Contender) -> &mut Account {
        match member {
            Contender::Flow(number) => &mut self.flows[number].account,
            Contender::Aggregate(number) => &mut self.aggregates[number].account,
        }
    }

    /// The strict priority of its guarantee; an aggregate has the lowest.
    pub(super) fn priority(&self, member: Contender) -> usize {
        match member {
            Contender::Flow(number) => self.flows[number].priority,
            Contender::Aggregate(_) => 0,
        }
    }

    /// The number of its frames that its maximum does not hold back.
    fn n_ready(&self, member: Contender) -> i64 {
        match member {
            Contender::Flow(number) => {
                let flow = &self.flows[number];
                if flow.account.is_paused {
                    0
                } else {
                    flow.frames.len() as i64
                }
            }
            Contender::Aggregate(number) => {
                let aggregate = &self.aggregates[number];
                if aggregate.account.is_paused {
                    0
                } else {
                    aggregate.n_ready
                }
            }
        }
    }

    /// Changes the number of frames that no maximum holds back; `n_frames` may be negative.
    pub(super) fn change_ready(&mut self, aggregate: AggregateNumber, n_frames: i64) {
        let aggregate = &mut self.aggregates[aggregate];
        aggregate.n_ready += n_frames;
        if !aggregate.account.is_paused {
            self.n_ready += n_frames;
        }
    }

    /// Updates the timers of a microflow and its aggregate, after a frame of theirs arrived or
    /// left.
    pub(super) fn settle(&mut self, now: Time, number: FlowNumber) {
        let flow = &self.flows[number];
        let aggregate = Contender::Aggregate(flow.aggregate);
        for member in [Contender::Flow(number), aggregate] {
            let account = self.account(member);
            if account.size > 0 && !account.is_paused && account.is_capped(now) {
                self.pause(member);
            }
            self.await_guarantee(member);
        }
    }

    /// Keeps a member from sending until its maximum allows it.
    fn pause(&mut self, member: Contender) {
        let n_frames = self.n_ready(member);
        let account = self.account(member);
        let until = account.may_send_from();
        match member {
            Contender::Flow(number) => {
                let aggregate = self.flows[number].aggregate;
                self.change_ready(aggregate, -n_frames);
            }
            Contender::Aggregate(_) => self.n_ready -= n_frames,
        }
        self.account(member).is_paused = true;
        self.paused.insert((until, member));
    }

    /// Resumes all members whose maximum allows them to send.
    pub(super) fn resume(&mut self, now: Time) {
        while let Some((at, member)) = self.paused.first().copied() {
            if at > now {
                return;
            }
            self.resume_one(member);
        }
    }

    /// Resumes one member.
    pub(super) fn resume_one(&mut self, member: Contender) {
        let until = self.account(member).may_send_from();
        self.paused.remove(&(until, member));
        self.account(member).is_paused = false;
        let n_frames = self.n_ready(member);
        match member {
            Contender::Flow(number) => {
                let flow = &self.flows[number];
                let aggregate = flow.aggregate;
                let place = flow.place;
                self.change_ready(aggregate, n_frames);
                if place == TurnPlace::Out {
                    self.put_in_order(number);
                }
            }
            Contender::Aggregate(number) => {
                self.n_ready += n_frames;
                self.put_aggregate_in_order(number);
            }
        }
        self.await_guarantee(member);
    }

    /// Returns when the first member that its maximum holds back may send.
    pub(super) fn first_resumption(&self) -> Option<Time> {
        let mut first = None;
        for (at, member) in &self.paused {
            if first.is_some_and(|first| *at >= first) {
                break;
            }
            let sends = match member {
                Contender::Flow(number) => {
                    let flow = &self.flows[*number];
                    let account = &self.aggregates[flow.aggregate].account;
                    let is_kept = account.is_paused && account.may_send_from() > *at;
                    Some(if is_kept {
                        account.may_send_from()
                    } else {
                        *at
                    })
                }
                Contender::Aggregate(number) => {
                    let aggregate = &self.aggregates[*number];
                    (aggregate.n_ready > 0).then_some(*at)
                }
            };
            first = first.into_iter().chain(sends).min();
        }
        first
    }

    /// Makes a member wait for its guaranteed rate, if it has one and is backlogged.
    fn await_guarantee(&mut self, member: Contender) {
        let is_ready = self.n_ready(member) > 0;
        let account = self.account(member);
        if is_ready && account.guaranteed_kbps() > 0 && account.owed_from.is_none() {
            let from = account.guaranteed_from();
            self.await_until(member, from);
        }
    }

    fn await_until(&mut self, member: Contender, from: Time) {
        self.account(member).owed_from = Some(from);
        let priority = self.priority(member);
        self.owed[priority].insert((from, member));
    }

    /// The next microflow by guaranteed rates: of highest priority, and of these the one that is
    /// due first.
    pub(super) fn next_owed(&mut self, now: Time) -> Option<(FlowNumber, Right)> {
        for priority in (0..PRIORITIES).rev() {
            while let Some((at, member)) = self.owed[priority].first().copied() {
                if at > now {
                    break;
                }
                self.owed[priority].pop_first();
                self.account(member).owed_from = None;
                let turn = self.guaranteed_turn(now, member);
                if turn.is_some() {
                    return turn;
                }
            }
        }
        None
    }

    /// The turn of a member whose guaranteed rate was due, if it is still due.
    fn guaranteed_turn(&mut self, now: Time, member: Contender) -> Option<(FlowNumber, Right)> {
        if self.n_ready(member) == 0 {
            return None;
        }
        if self.account(member).guaranteed_from() > now {
            self.await_guarantee(member);
            return None;
        }
        match member {
            Contender::Flow(number) => {
                let flow = &self.flows[number];
                let account = &self.aggregates[flow.aggregate].account;
                if account.is_paused {
                    let until = account.may_send_from();
                    self.await_until(member, until);
                    return None;
                }
                Some((number, Right::OfFlow))
            }
            Contender::Aggregate(number) => {
                let flow = self.next_of(now, number)?;
                Some((flow, Right::OfAggregate))
            }
        }
    }
}
