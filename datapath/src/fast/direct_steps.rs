//! The steps of the direct path: frames are edited, metered, copied or sent to groups without
//! becoming packets.

use alloc::rc::Rc;

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::field::IP_DSCP;
use bofuss_oflib::types::{EtherType, GroupId, QueueId};
use bofuss_packet::{EditError, Headers, Layout, Packet, TagChange, survey};

use super::direct::Burst;
use crate::cache::Program;
use crate::direct_path::{DirectPath, DirectStep, Exit, HEADROOM_BYTES};
use crate::groups::Plan;
use crate::hooks::Hooks;
use crate::pipeline::context::{Context, Pipeline};
use crate::pipeline::metering::remarked;
use crate::qos::QueueClass;
use crate::references::count;
use crate::{DropReason, Sink};

/// The greatest start of an unfinished checksum, so that pushed tags can still move it.
const MAX_CHECKSUM_START: u16 = u16::MAX - HEADROOM_BYTES as u16;

/// A frame on a direct path.
struct DirectFrame<'a> {
    frame: &'a mut Frame,
    layout: &'a mut Layout,
    /// How headers have moved since the layout was found.
    moved: Moved,
}

/// What has moved a frame's headers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// Nothing.
    Not,
    /// One VLAN tag that was pushed.
    ByPush,
    /// A tag that was popped.
    ByPop,
}

impl DirectFrame<'_> {
    /// The headers, located anew if they have moved.
    #[inline(always)]
    fn headers(&mut self) -> Headers<'_> {
        if self.moved != Moved::Not {
            self.find_again();
        }
        Headers {
            frame: self.frame,
            layout: self.layout,
        }
    }

    #[inline(never)]
    fn find_again(&mut self) {
        let moved = core::mem::replace(&mut self.moved, Moved::Not);
        if moved == Moved::ByPush {
            self.layout.follow_push(self.frame.bytes());
        } else {
            survey(self.frame.bytes(), self.layout);
        }
    }

    fn push_vlan(&mut self, ty: EtherType, change: TagChange) -> Result<(), EditError> {
        self.headers().push_changed_vlan(ty.0, change)?;
        self.moved = Moved::ByPush;
        Ok(())
    }

    fn pop_vlan(&mut self) -> Result<(), EditError> {
        self.headers().pop_vlan()?;
        self.moved = Moved::ByPop;
        Ok(())
    }

    /// Raises the drop precedence of a packet of an assured forwarding class.
    fn remark(&mut self, levels: u8) {
        let mut headers = self.headers();
        let dscp = headers.layout.value(headers.frame.bytes(), IP_DSCP);
        if let Some(value) = dscp.and_then(|dscp| remarked(dscp, levels)) {
            let done = headers.set_field(IP_DSCP, &value);
            done.expect("its DSCP was read just now");
        }
    }
}

/// Whether a frame can take a direct path, which means that none of its steps will fail.
#[inline]
pub(super) fn can_go(
    path: &DirectPath,
    frame: &Frame,
    layout: &Layout,
    pipeline: &Pipeline,
    hooks: &Hooks,
) -> bool {
    let mut hops = path.hops;
    for id in &path.groups {
        let group = pipeline.groups.get(id);
        match group.and_then(|group| group.direct_hops) {
            Some(own) => hops += own,
            None => return false,
        }
    }
    let checksum = frame.offload.checksum;
    frame.headroom() >= HEADROOM_BYTES
        && checksum.is_none_or(|(start, _)| start <= MAX_CHECKSUM_START)
        && hooks.at_egress.is_empty()
        && (hops == 0 || has_hops(frame, layout, hops))
}

/// Whether the TTL of a frame, if it has one, stays above 0 when `hops` are subtracted.
fn has_hops(frame: &Frame, layout: &Layout, hops: u8) -> bool {
    let ttl = layout.nw_ttl(frame.bytes());
    ttl.is_none_or(|ttl| ttl > hops)
}

impl<S: Sink> Context<'_, S> {
    /// Executes the steps of its flow's program on a frame for which [`can_go`] holds.
    /// Returns true if it has to be sent by the burst's output port.
    #[inline(never)]
    pub(super) fn run_steps(
        &mut self,
        frame: &mut Frame,
        burst: &mut Burst<'_>,
        layout: &mut Layout,
        program: &Program,
    ) -> bool {
        self.lane.work.begin_frame();
        let mut frame = DirectFrame {
            frame,
            layout,
            moved: Moved::Not,
        };
        let path = program.direct.as_ref();
        path.is_some_and(|path| self.go_direct_path(burst, &mut frame, path))
    }

    /// Executes the steps of a direct path. Returns as [`Self::run_steps`] does.
    #[inline(always)]
    fn go_direct_path(
        &mut self,
        burst: &mut Burst<'_>,
        frame: &mut DirectFrame<'_>,
        path: &DirectPath,
    ) -> bool {
        for step in &path.steps {
            let done = match step {
                DirectStep::SetField(rewrite) => frame.headers().rewrite(rewrite),
                DirectStep::CopyField(copy) => frame.headers().copy_field(copy),
                DirectStep::PushVlan(ty, change) => frame.push_vlan(*ty, *change),
                DirectStep::PopVlan => frame.pop_vlan(),
                DirectStep::DecNwTtl => frame.headers().dec_nw_ttl(),
                DirectStep::Meter(id) => match self.meter(*id, frame.frame) {
                    Ok(None) => Ok(()),
                    Ok(Some(levels)) => {
                        frame.remark(levels);
                        Ok(())
                    }
                    Err(reason) => {
                        self.drop(reason);
                        return false;
                    }
                },
                DirectStep::Copy(exit) => {
                    self.copy_directly(burst, frame, |this, burst, copy| {
                        this.leave_directly(burst, copy, *exit)
                    });
                    Ok(())
                }
            };
            // An action on a header that the frame does not have does nothing.
            let is_right = matches!(done, Ok(()) | Err(EditError::NoHeader));
            debug_assert!(is_right, "hops and headroom were checked: {done:?}");
        }
        self.leave_directly(burst, frame, path.exit)
    }

    /// Sends a copy of a frame to another destination.
    #[inline(never)]
    fn copy_directly(
        &mut self,
        burst: &mut Burst<'_>,
        frame: &DirectFrame<'_>,
        go: impl FnOnce(&mut Self, &mut Burst<'_>, &mut DirectFrame<'_>) -> bool,
    ) {
        let Some(mut copy) = frame.frame.try_clone() else {
            return self.drop(DropReason::NoBuffer);
        };
        let mut other = DirectFrame {
            frame: &mut copy,
            layout: &mut { *frame.layout },
            moved: frame.moved,
        };
        if go(self, burst, &mut other) {
            self.sink.transmit(burst.output.port, QueueId(0), copy);
        }
    }

    /// Sends a frame to the destination at the end of its path. Returns true if it has to be sent
    /// by the burst's output port.
    #[inline(always)]
    fn leave_directly(
        &mut self,
        burst: &mut Burst<'_>,
        frame: &mut DirectFrame<'_>,
        exit: Exit,
    ) -> bool {
        let port = match exit {
            Exit::Port(port) => port,
            Exit::Group(id) => return self.enter_group_directly(burst, frame, id),
        };
        let leaves = self.leaves(burst, frame.frame, port);
        if leaves {
            let bytes = frame.frame.len() as u64;
            self.lane.work.count_packets(1, bytes);
        } else {
            self.output_frame(frame, burst, port);
        }
        leaves
    }

    /// Sends a frame to a port by the general output, because it cannot be sent there as it is.
    #[inline(never)]
    fn output_frame(&mut self, frame: &mut DirectFrame<'_>, burst: &Burst<'_>, port: PortNo) {
        frame.headers();
        let mut packet = Packet::surveyed(frame.frame.take(), &burst.arrival.key, frame.layout);
        self.output(&mut packet, port, &QueueClass::arrived(burst.ingress));
    }

    /// Sends a frame to the buckets that a group selects, all of which have direct paths. Returns
    /// true if it has to be sent by the burst's output port.
    #[inline(never)]
    fn enter_group_directly(
        &mut self,
        burst: &mut Burst<'_>,
        frame: &mut DirectFrame<'_>,
        id: GroupId,
    ) -> bool {
        let Some(group) = self.pipeline.groups.get_mut(&id) else {
            self.drop(DropReason::NoGroup);
            return false;
        };
        let bytes = frame.frame.len() as u64;
        count(&mut group.counter, (1, bytes));
        let headers = frame.headers();
        let chosen = group.choose(headers.layout, headers.frame.bytes(), false);
        let Some(chosen) = chosen else {
            self.drop(DropReason::NoBucket);
            return false;
        };
        count(&mut group.bucket_counters[chosen], (1, bytes));
        let plans = Rc::clone(&group.plans);
        for number in 0..group.copies() {
            self.copy_directly(burst, frame, |this, burst, copy| {
                if let Some(group) = this.pipeline.groups.get_mut(&id) {
                    count(&mut group.bucket_counters[number], (1, bytes));
                }
                this.enter_bucket_directly(burst, copy, &plans[number])
            });
        }
        self.enter_bucket_directly(burst, frame, &plans[chosen])
    }

    /// Executes the direct path of a bucket, which has already counted the frame. Returns as
    /// [`Self::run_steps`] does.
    fn enter_bucket_directly(
        &mut self,
        burst: &mut Burst<'_>,
        frame: &mut DirectFrame<'_>,
        plan: &Plan,
    ) -> bool {
        let bytes = frame.frame.len() as u64;
        self.lane.work.count_packets(1, bytes);
        let path = plan.direct.as_ref();
        path.is_some_and(|path| self.go_direct_path(burst, frame, path))
    }
}
