//! The groups and meters that entries refer to, and the counters that all of them have.

use bofuss_oflib::instruction::{Instruction, Instructions};
use bofuss_oflib::message::multipart::group::BucketCounter;
use bofuss_oflib::types::{GroupId, MeterId};
use bofuss_oflib::{Action, PortNo};

/// The groups that actions forward to.
pub(crate) fn groups<'a>(
    actions: impl Iterator<Item = &'a Action>,
) -> impl Iterator<Item = GroupId> {
    actions.filter_map(|action| {
        if let Action::Group(group) = action {
            Some(*group)
        } else {
            None
        }
    })
}

/// The meters that instructions direct packets to, by themselves and in actions.
pub(crate) fn meters(instructions: &Instructions) -> impl Iterator<Item = MeterId> {
    let first = match instructions.list().first() {
        Some(Instruction::Meter(id)) => Some(*id),
        _ => None,
    };
    let others = instructions.actions().filter_map(meter_of);
    first.into_iter().chain(others)
}

/// The meter that an action directs packets to.
pub(crate) fn meter_of(action: &Action) -> Option<MeterId> {
    if let Action::Meter(id) = action {
        Some(*id)
    } else {
        None
    }
}

/// Whether an output to `port` (or any, for ANY) and `group` stands in instructions.
pub(crate) fn outputs_to(instructions: &Instructions, port: PortNo, group: GroupId) -> bool {
    let to_port = |action: &Action| matches!(action, Action::Output(o) if o.port == port);
    let by_port = port == PortNo::ANY || instructions.actions().any(to_port);
    let mut named = groups(instructions.actions());
    by_port && (group == GroupId::ANY || named.any(|id| id == group))
}

/// The port, if all that actions do is to send the packet to one.
pub(crate) fn sole_output(actions: &[Action]) -> Option<PortNo> {
    let [Action::Output(output)] = actions else {
        return None;
    };
    (output.port <= PortNo::MAX).then_some(output.port)
}

/// Counts packets and bytes.
pub(crate) fn count(counter: &mut BucketCounter, (packets, bytes): (u64, u64)) {
    counter.packet_count += packets;
    counter.byte_count += bytes;
}
