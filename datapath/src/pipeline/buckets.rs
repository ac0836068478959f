//! What a group does to a packet. Spec: OpenFlow 1.3.5 section 5.6.1.

use alloc::rc::Rc;

use bofuss_oflib::message::group_mod::GroupType;
use bofuss_oflib::types::GroupId;
use bofuss_packet::{Packet, offload};

use crate::pipeline::Walk;
use crate::references::count;
use crate::{Datapath, DropReason, Sink, Step, Time};

/// Buckets that one packet may enter, through all groups that forward to groups.
pub const MAX_BUCKETS_PER_PACKET: u16 = 1024;
/// Groups that may forward to each other in a row.
pub const MAX_CHAIN: u8 = 16;

impl Datapath {
    /// Sends a packet through a group. The packet itself stays as it is.
    pub(crate) fn enter_group<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        id: GroupId,
        sink: &mut S,
    ) {
        walk.sent = true;
        if let Err(reason) = self.copy_to_group(now, walk, id, sink) {
            self.drop(reason, sink);
        }
    }

    /// Errors: why the copy, or the rest of its segments, is lost.
    fn copy_to_group<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        id: GroupId,
        sink: &mut S,
    ) -> Result<(), DropReason> {
        let group = self.groups.get(&id).ok_or(DropReason::NoGroup)?;
        if walk.depth >= MAX_CHAIN {
            return Err(DropReason::GroupLimit);
        }
        let per_packet = group.ty == GroupType::SELECT && group.selector.is_per_packet();
        if !per_packet || walk.packet.frame.offload.gso.is_none() {
            let packet = walk.packet.try_clone().ok_or(DropReason::NoBuffer)?;
            return self.choose_buckets(now, walk, packet, id, sink);
        }
        let whole = walk.packet.try_clone().ok_or(DropReason::NoBuffer)?;
        let mut result = Ok(());
        let segmented = offload::segment(&whole.frame, |segment| {
            let packet = whole.with_frame(segment);
            result = result.and(self.choose_buckets(now, walk, packet, id, sink));
        });
        let cut = segmented.then_some(result);
        cut.unwrap_or(Err(DropReason::Segmentation))
    }

    /// Gives a packet to the buckets that the group's type chooses.
    fn choose_buckets<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        packet: Packet,
        id: GroupId,
        sink: &mut S,
    ) -> Result<(), DropReason> {
        let group = self.groups.get_mut(&id).ok_or(DropReason::NoGroup)?;
        if !S::DRY {
            count(&mut group.counter, offload::wire_count(&packet.frame));
        }
        let plans = Rc::clone(&group.plans);
        let chosen = match group.ty {
            GroupType::SELECT => group.selector.choose(&packet, S::DRY),
            GroupType::FF => group.live.iter().position(|live| *live),
            GroupType::INDIRECT => Some(0),
            _ => {
                let Some(last) = plans.len().checked_sub(1) else {
                    return Err(DropReason::NoBucket);
                };
                for bucket in 0..last {
                    if self.work.is_spent() {
                        return Err(DropReason::Work);
                    }
                    match packet.try_clone() {
                        Some(copy) => self.enter_bucket(now, walk, copy, (id, bucket), sink),
                        None => self.drop(DropReason::NoBuffer, sink),
                    }
                }
                Some(last)
            }
        };
        let bucket = chosen.ok_or(DropReason::NoBucket)?;
        self.enter_bucket(now, walk, packet, (id, bucket), sink);
        Ok(())
    }

    /// Executes a bucket's action set on a packet of its own.
    fn enter_bucket<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        mut packet: Packet,
        (id, number): (GroupId, usize),
        sink: &mut S,
    ) {
        let Some(left) = walk.buckets_left.checked_sub(1) else {
            return self.drop(DropReason::GroupLimit, sink);
        };
        let Some(group) = self.groups.get_mut(&id) else {
            return self.drop(DropReason::NoGroup, sink);
        };
        self.work.count(&packet.frame);
        if !S::DRY {
            let counts = offload::wire_count(&packet.frame);
            count(&mut group.bucket_counters[number], counts);
        }
        if S::TRACES {
            sink.step(Step::Bucket(id, group.ty, number));
        }
        let plans = Rc::clone(&group.plans);
        let mut copy = Walk {
            table: walk.table,
            queue: walk.queue,
            depth: walk.depth + 1,
            buckets_left: left,
            ..Walk::from(&mut packet)
        };
        let mut actions = plans[number].actions.iter();
        let result = actions.try_for_each(|action| self.apply(now, &mut copy, action, sink));
        walk.buckets_left = copy.buckets_left;
        self.end_copy(now, &mut copy, result, sink);
    }
}
