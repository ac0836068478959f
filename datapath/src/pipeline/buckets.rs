//! Packets in groups. Spec: OpenFlow 1.3.5 section 5.6.1.

use alloc::rc::Rc;

use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::types::GroupId;
use bofuss_packet::{Packet, offload};

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;
use crate::pipeline::walk::Walk;
use crate::pipeline::walk::{GroupLimits, HookMarks, PacketInCause};
use crate::pipeline::work::MAX_CHAIN;
use crate::references::count;
use crate::{DropReason, HitEntry, Sink, Step};

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// Sends a copy of a packet through a group. The packet itself is unchanged.
    pub(crate) fn enter_group(&mut self, walk: &mut Walk<'_, E>, id: GroupId) {
        walk.output.sent = true;
        if let Err(reason) = (GroupPass { walk, id }).copy(self) {
            self.drop(reason);
        }
    }
}

/// A packet's copy on its way through one group.
struct GroupPass<'w, 'p, E: EngineNotes> {
    /// The packet that is copied; it counts the buckets that its copies enter.
    walk: &'w mut Walk<'p, E>,
    id: GroupId,
}

impl<E: EngineNotes> GroupPass<'_, '_, E> {
    /// Errors: why the copy, or the rest of its segments, is lost.
    fn copy<S: Sink>(&mut self, cx: &mut Context<'_, S, E>) -> Result<(), DropReason> {
        let group = cx
            .pipeline
            .groups
            .get(&self.id)
            .ok_or(DropReason::NoGroup)?;
        if self.walk.limits.depth >= MAX_CHAIN {
            return Err(DropReason::GroupLimit);
        }
        if !group.is_per_packet() || self.walk.packet.frame.offload.gso.is_none() {
            let packet = self.walk.packet.try_clone().ok_or(DropReason::NoBuffer)?;
            return self.choose(cx, packet);
        }
        let whole = self.walk.packet.try_clone().ok_or(DropReason::NoBuffer)?;
        let mut result = Ok(());
        let segmented = offload::segment(&whole.frame, |segment| {
            let packet = whole.with_frame(segment);
            result = result.and(self.choose(cx, packet));
        });
        let cut = segmented.then_some(result);
        cut.unwrap_or(Err(DropReason::Segmentation))
    }

    /// Sends a packet to the buckets that the group's type chooses.
    fn choose<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S, E>,
        packet: Packet,
    ) -> Result<(), DropReason> {
        let group = cx
            .pipeline
            .groups
            .get_mut(&self.id)
            .ok_or(DropReason::NoGroup)?;
        if !S::DRY {
            count(&mut group.counter, offload::wire_count(&packet.frame));
        }
        let chosen = group
            .choose(packet.layout(), packet.frame.bytes(), S::DRY)
            .ok_or(DropReason::NoBucket)?;
        for bucket in 0..group.copies() {
            if cx.lane.work.is_spent() {
                return Err(DropReason::Work);
            }
            match packet.try_clone() {
                Some(copy) => self.enter(cx, copy, bucket),
                None => cx.drop(DropReason::NoBuffer),
            }
        }
        self.enter(cx, packet, chosen);
        Ok(())
    }

    /// Executes a bucket's action set on a packet of its own.
    fn enter<S: Sink>(&mut self, cx: &mut Context<'_, S, E>, mut packet: Packet, number: usize) {
        let Some(left) = self.walk.limits.buckets_left.checked_sub(1) else {
            return cx.drop(DropReason::GroupLimit);
        };
        let Some(group) = cx.pipeline.groups.get_mut(&self.id) else {
            return cx.drop(DropReason::NoGroup);
        };
        cx.lane.work.count(&packet.frame);
        if !S::DRY {
            let counts = offload::wire_count(&packet.frame);
            count(&mut group.bucket_counters[number], counts);
        }
        if S::TRACES {
            cx.sink.step(Step::Bucket(self.id, group.ty, number));
        }
        let plans = Rc::clone(&group.plans);
        let mut copy = Walk {
            table: self.walk.table,
            class: self.walk.class,
            cause: PacketInCause {
                entry: HitEntry::NONE,
                reason: PacketInReason::GROUP,
            },
            limits: GroupLimits {
                depth: self.walk.limits.depth + 1,
                buckets_left: left,
            },
            hook: HookMarks {
                goto: None,
                note: self.walk.hook.note,
            },
            ..Walk::from(&mut packet)
        };
        let mut actions = plans[number].actions.iter();
        let result = actions.try_for_each(|action| cx.apply(&mut copy, action));
        self.walk.limits.buckets_left = copy.limits.buckets_left;
        cx.end_copy(&mut copy, result);
    }
}
