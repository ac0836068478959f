//! The steps of the direct path: frames are edited, metered, copied or sent to groups without
//! becoming packets.

use alloc::rc::Rc;

use bofuss_datapath::egress::QueueClass;
use bofuss_datapath::engine::{Hooks, Pipeline, Plan, count, remarked};
use bofuss_datapath::{DropReason, Sink};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::field::IP_DSCP;
use bofuss_oflib::types::{EtherType, GroupId, QueueId};
use bofuss_packet::{EditError, Headers, Layout, Packet, TagChange, survey};

use super::direct::Burst;
use super::direct_output::leaves;
use super::engine::{FastContext, FastPath};
use crate::cache::Program;
use crate::direct_path::DirectPath;
use crate::direct_path::DirectStep;
use crate::direct_path::Exit;
use crate::direct_path::HEADROOM_BYTES;

/// The greatest start of an unfinished checksum, so that pushed tags can still move it.
const MAX_CHECKSUM_START: u16 = u16::MAX - HEADROOM_BYTES as u16;

/// A frame on a direct path.
struct DirectFrame<'a> {
    frame: &'a mut Frame,
    layout: &'a mut Layout,
    /// The way in which headers have moved since the layout was found.
    moved: Moved,
}

/// The change that has moved a frame's headers.
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

/// Returns true if a frame can take a direct path, which means that none of its steps will fail.
#[inline]
pub(super) fn can_go(
    path: &DirectPath,
    frame: &Frame,
    layout: &Layout,
    pipeline: &Pipeline<FastPath>,
    hooks: &Hooks,
) -> bool {
    let mut hops = path.hops;
    for id in &path.groups {
        let group = pipeline.groups.get(id);
        match group.and_then(|group| group.notes) {
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

/// Returns true if the TTL of a frame, if it has one, stays above 0 when `hops` are subtracted.
fn has_hops(frame: &Frame, layout: &Layout, hops: u8) -> bool {
    let ttl = layout.nw_ttl(frame.bytes());
    ttl.is_none_or(|ttl| ttl > hops)
}

/// Executes the steps of its flow's program on a frame for which [`can_go`] holds.
/// Returns true if it has to be sent by the burst's output port.
#[inline(never)]
pub(super) fn run_steps<S: Sink>(
    cx: &mut FastContext<'_, S>,
    frame: &mut Frame,
    burst: &mut Burst<'_>,
    layout: &mut Layout,
    program: &Program,
) -> bool {
    cx.lane.work.begin_frame();
    let mut frame = DirectFrame {
        frame,
        layout,
        moved: Moved::Not,
    };
    let path = program.direct.as_ref();
    path.is_some_and(|path| go_direct_path(cx, burst, &mut frame, path))
}

/// Executes the steps of a direct path. Returns as [`run_steps`] does.
#[inline(always)]
fn go_direct_path<S: Sink>(
    cx: &mut FastContext<'_, S>,
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
            DirectStep::Meter(id) => match cx.meter(*id, frame.frame) {
                Ok(None) => Ok(()),
                Ok(Some(levels)) => {
                    frame.remark(levels);
                    Ok(())
                }
                Err(reason) => {
                    cx.drop(reason);
                    return false;
                }
            },
            DirectStep::Copy(exit) => {
                copy_directly(cx, burst, frame, |this, burst, copy| {
                    leave_directly(this, burst, copy, *exit)
                });
                Ok(())
            }
        };
        // An action on a header that the frame does not have does nothing.
        let is_right = matches!(done, Ok(()) | Err(EditError::NoHeader));
        debug_assert!(is_right, "hops and headroom were checked: {done:?}");
    }
    leave_directly(cx, burst, frame, path.exit)
}

/// Sends a copy of a frame to another destination.
#[inline(never)]
fn copy_directly<S: Sink>(
    cx: &mut FastContext<'_, S>,
    burst: &mut Burst<'_>,
    frame: &DirectFrame<'_>,
    go: impl FnOnce(&mut FastContext<'_, S>, &mut Burst<'_>, &mut DirectFrame<'_>) -> bool,
) {
    let Some(mut copy) = frame.frame.try_clone() else {
        return cx.drop(DropReason::NoBuffer);
    };
    let mut other = DirectFrame {
        frame: &mut copy,
        layout: &mut { *frame.layout },
        moved: frame.moved,
    };
    if go(cx, burst, &mut other) {
        cx.sink.transmit(burst.output.port, QueueId(0), copy);
    }
}

/// Sends a frame to the destination at the end of its path. Returns true if it has to be sent
/// by the burst's output port.
#[inline(always)]
fn leave_directly<S: Sink>(
    cx: &mut FastContext<'_, S>,
    burst: &mut Burst<'_>,
    frame: &mut DirectFrame<'_>,
    exit: Exit,
) -> bool {
    let port = match exit {
        Exit::Port(port) => port,
        Exit::Group(id) => return enter_group_directly(cx, burst, frame, id),
    };
    let leaves = leaves(cx, burst, frame.frame, port);
    if leaves {
        let bytes = frame.frame.len() as u64;
        cx.lane.work.count_packets(1, bytes);
    } else {
        output_frame(cx, frame, burst, port);
    }
    leaves
}

/// Sends a frame to a port by the general output, because it cannot be sent there as it is.
#[inline(never)]
fn output_frame<S: Sink>(
    cx: &mut FastContext<'_, S>,
    frame: &mut DirectFrame<'_>,
    burst: &Burst<'_>,
    port: PortNo,
) {
    frame.headers();
    let mut packet = Packet::with_layout(frame.frame.take(), &burst.arrival.key, frame.layout);
    cx.output(&mut packet, port, &QueueClass::arrived(burst.ingress));
}

/// Sends a frame to the buckets that a group selects, all of which have direct paths. Returns
/// true if it has to be sent by the burst's output port.
#[inline(never)]
fn enter_group_directly<S: Sink>(
    cx: &mut FastContext<'_, S>,
    burst: &mut Burst<'_>,
    frame: &mut DirectFrame<'_>,
    id: GroupId,
) -> bool {
    let Some(group) = cx.pipeline.groups.get_mut(&id) else {
        cx.drop(DropReason::NoGroup);
        return false;
    };
    let bytes = frame.frame.len() as u64;
    count(&mut group.counter, (1, bytes));
    let headers = frame.headers();
    let chosen = group.choose(headers.layout, headers.frame.bytes(), false);
    let Some(chosen) = chosen else {
        cx.drop(DropReason::NoBucket);
        return false;
    };
    count(&mut group.bucket_counters[chosen], (1, bytes));
    let plans = Rc::clone(&group.plans);
    for number in 0..group.copies() {
        copy_directly(cx, burst, frame, |this, burst, copy| {
            if let Some(group) = this.pipeline.groups.get_mut(&id) {
                count(&mut group.bucket_counters[number], (1, bytes));
            }
            enter_bucket_directly(this, burst, copy, &plans[number])
        });
    }
    enter_bucket_directly(cx, burst, frame, &plans[chosen])
}

/// Executes the direct path of a bucket, which has already counted the frame. Returns as
/// [`run_steps`] does.
fn enter_bucket_directly<S: Sink>(
    cx: &mut FastContext<'_, S>,
    burst: &mut Burst<'_>,
    frame: &mut DirectFrame<'_>,
    plan: &Plan<Option<DirectPath>>,
) -> bool {
    let bytes = frame.frame.len() as u64;
    cx.lane.work.count_packets(1, bytes);
    let path = plan.notes.as_ref();
    path.is_some_and(|path| go_direct_path(cx, burst, frame, path))
}
