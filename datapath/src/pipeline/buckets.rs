//! Packets in groups. Spec: OpenFlow 1.3.5 section 5.6.1.

use alloc::rc::Rc;

use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::types::GroupId;
use bofuss_packet::{Packet, offload};

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;
use crate::pipeline::walk::{GroupLimits, HookMarks, PacketInCause, Walk};
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
    /// Gives a copy of the packet to the group. Where each packet may get another bucket, a
    /// super-frame is cut, because the wire would have seen a choice for each of its segments.
    ///
    /// Each segment is then a packet of its own; a segment that is lost does not stop the others,
    /// but of several losses only the first is counted.
    fn copy<S: Sink>(&mut self, cx: &mut Context<'_, S, E>) -> Result<(), DropReason> {
        let group = cx.pipeline.groups.get(&self.id);
        let group = group.ok_or(DropReason::NoGroup)?;
        // Group-mods refuse loops, so this ends only chains that are longer than the stack shall
        // be.
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
    ///
    /// Errors: the group has no live bucket, or the frame may cause no more work. The group counts
    /// the packet in both cases, since it was processed by it.
    fn choose<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S, E>,
        packet: Packet,
    ) -> Result<(), DropReason> {
        let group = cx.pipeline.groups.get_mut(&self.id);
        let group = group.ok_or(DropReason::NoGroup)?;
        if !S::DRY {
            count(&mut group.counter, offload::wire_count(&packet.frame));
        }
        let chosen = group
            .choose(packet.layout(), packet.frame.bytes(), S::DRY)
            .ok_or(DropReason::NoBucket)?;
        // Only a group of type ALL makes copies: for all buckets but the last, which gets the
        // packet itself.
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
    ///
    /// The bucket begins with an empty action set of the packet's: what entries wrote into the
    /// action set before is not executed here, and the packet is unchanged after the group.
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
        // An action of the bucket may need the whole pipeline, so the group cannot stay borrowed.
        let plans = Rc::clone(&group.plans);
        // Packet-ins of the copy name the packet's table, and no entry, because their reason is the
        // group.
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
        // Nested groups draw on the same number, so that few groups cannot multiply a packet
        // without end.
        self.walk.limits.buckets_left = copy.limits.buckets_left;
        cx.end_copy(&mut copy, result);
    }
}
