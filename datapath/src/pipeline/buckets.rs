//! Packets in groups. Spec: OpenFlow 1.3.5 section 5.6.1.

use alloc::rc::Rc;

use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::message::group_mod::GroupType;
use bofuss_oflib::types::GroupId;
use bofuss_packet::{Packet, offload};

use crate::frame_engine::FrameEngine;
use crate::pipeline::Walk;
use crate::pipeline::context::Context;
use crate::pipeline::walk::{GroupLimits, HookMarks, NO_COOKIE, PacketInCause};
use crate::pipeline::work::MAX_CHAIN;
use crate::references::count;
use crate::{DropReason, Sink, Step};

impl<S: Sink, E: FrameEngine> Context<'_, S, E> {
    /// Sends a copy of a packet through a group. The packet itself is unchanged.
    pub(crate) fn enter_group(&mut self, walk: &mut Walk<'_, E>, id: GroupId) {
        walk.output.sent = true;
        if let Err(reason) = self.copy_to_group(walk, id) {
            self.drop(reason);
        }
    }

    /// Errors: why the copy, or the rest of its segments, is lost.
    fn copy_to_group(&mut self, walk: &mut Walk<'_, E>, id: GroupId) -> Result<(), DropReason> {
        let group = self.pipeline.groups.get(&id).ok_or(DropReason::NoGroup)?;
        if walk.limits.depth >= MAX_CHAIN {
            return Err(DropReason::GroupLimit);
        }
        let per_packet = group.ty == GroupType::SELECT && group.selector.is_per_packet();
        if !per_packet || walk.packet.frame.offload.gso.is_none() {
            let packet = walk.packet.try_clone().ok_or(DropReason::NoBuffer)?;
            return self.choose_buckets(walk, packet, id);
        }
        let whole = walk.packet.try_clone().ok_or(DropReason::NoBuffer)?;
        let mut result = Ok(());
        let segmented = offload::segment(&whole.frame, |segment| {
            let packet = whole.with_frame(segment);
            result = result.and(self.choose_buckets(walk, packet, id));
        });
        let cut = segmented.then_some(result);
        cut.unwrap_or(Err(DropReason::Segmentation))
    }

    /// Sends a packet to the buckets that the group's type chooses.
    fn choose_buckets(
        &mut self,
        walk: &mut Walk<'_, E>,
        packet: Packet,
        id: GroupId,
    ) -> Result<(), DropReason> {
        let group = self
            .pipeline
            .groups
            .get_mut(&id)
            .ok_or(DropReason::NoGroup)?;
        if !S::DRY {
            count(&mut group.counter, offload::wire_count(&packet.frame));
        }
        let chosen = group
            .choose(packet.layout(), packet.frame.bytes(), S::DRY)
            .ok_or(DropReason::NoBucket)?;
        for bucket in 0..group.copies() {
            if self.lane.work.is_spent() {
                return Err(DropReason::Work);
            }
            match packet.try_clone() {
                Some(copy) => self.enter_bucket(walk, copy, (id, bucket)),
                None => self.drop(DropReason::NoBuffer),
            }
        }
        self.enter_bucket(walk, packet, (id, chosen));
        Ok(())
    }

    /// Executes a bucket's action set on a packet of its own.
    fn enter_bucket(
        &mut self,
        walk: &mut Walk<'_, E>,
        mut packet: Packet,
        (id, number): (GroupId, usize),
    ) {
        let Some(left) = walk.limits.buckets_left.checked_sub(1) else {
            return self.drop(DropReason::GroupLimit);
        };
        let Some(group) = self.pipeline.groups.get_mut(&id) else {
            return self.drop(DropReason::NoGroup);
        };
        self.lane.work.count(&packet.frame);
        if !S::DRY {
            let counts = offload::wire_count(&packet.frame);
            count(&mut group.bucket_counters[number], counts);
        }
        if S::TRACES {
            self.sink.step(Step::Bucket(id, group.ty, number));
        }
        let plans = Rc::clone(&group.plans);
        let mut copy = Walk {
            table: walk.table,
            class: walk.class,
            cause: PacketInCause {
                cookie: NO_COOKIE,
                reason: PacketInReason::GROUP,
            },
            limits: GroupLimits {
                depth: walk.limits.depth + 1,
                buckets_left: left,
            },
            hook: HookMarks {
                goto: None,
                note: walk.hook.note,
            },
            ..Walk::from(&mut packet)
        };
        let mut actions = plans[number].actions.iter();
        let result = actions.try_for_each(|action| self.apply(&mut copy, action));
        walk.limits.buckets_left = copy.limits.buckets_left;
        self.end_copy(&mut copy, result);
    }
}
