//! The groups and meters that entries refer to, and the counters that all of them have.

use bofuss_oflib::instruction::{Instruction, Instructions};
use bofuss_oflib::message::multipart::group::BucketCounter;
use bofuss_oflib::types::{GroupId, MeterId};
use bofuss_oflib::{Action, PortNo};

/// The groups that actions forward to.
///
/// A group occurs as often as the actions name it.
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

/// The meters of instructions: METER instructions and METER actions.
pub(crate) fn meters(instructions: &Instructions) -> impl Iterator<Item = MeterId> {
    let own = instructions.list().iter().filter_map(|one| {
        if let Instruction::Meter(id) = one {
            Some(*id)
        } else {
            None
        }
    });
    own.chain(instructions.actions().filter_map(meter_of))
}

/// The meter of a METER action.
pub(crate) fn meter_of(action: &Action) -> Option<MeterId> {
    if let Action::Meter(id) = action {
        Some(*id)
    } else {
        None
    }
}

/// Returns true if instructions contain an output to `port` (any, for ANY) and one to `group`.
///
/// As the filters `out_port` and `out_group` of deletes and flow statistics: both have to hold.
/// Spec: OpenFlow 1.3.5 section 6.4.
pub(crate) fn outputs_to(instructions: &Instructions, port: PortNo, group: GroupId) -> bool {
    let mut actions = instructions.actions();
    let by_port = port == PortNo::ANY
        || actions.any(|action| matches!(action, Action::Output(o) if o.port == port));
    let mut named = groups(instructions.actions());
    by_port && (group == GroupId::ANY || named.any(|id| id == group))
}

/// The port, if the actions do nothing but output the packet to one.
///
/// Not for reserved ports, of which each does something else.
pub fn sole_output(actions: &[Action]) -> Option<PortNo> {
    let [Action::Output(output)] = actions else {
        return None;
    };
    (output.port <= PortNo::MAX).then_some(output.port)
}

/// Counts packets and bytes. Bytes may be below 0, modulo 2^64, if what they correct follows.
pub fn count(counter: &mut BucketCounter, (packets, bytes): (u64, u64)) {
    counter.packet_count += packets;
    counter.byte_count = counter.byte_count.wrapping_add(bytes);
}

/// Counts a use that begins or ends.
pub(crate) fn count_use(uses: &mut u32, begins: bool) {
    if begins {
        *uses += 1;
    } else {
        *uses -= 1;
    }
}

/// Adds to a counter what another one has counted.
#[cfg(any(feature = "bundles", feature = "replicas", feature = "restore"))]
pub(crate) fn add(counter: &mut BucketCounter, more: BucketCounter) {
    count(counter, (more.packet_count, more.byte_count));
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use bofuss_oflib::ext::{ExtKind, ExtRow, ExtValue};

    use super::*;

    static FIRST: ExtRow = ExtRow::new(ExtKind::Instruction, 1, 1, "first").that_runs_first();

    #[test]
    fn a_meter_is_found_after_an_instruction_that_runs_before_it() {
        let first = ExtValue::new(&FIRST, Vec::new(), Default::default());
        let list = vec![
            Instruction::Meter(MeterId(7)),
            Instruction::Experimenter(first),
        ];
        let instructions = Instructions::new(list).expect("one of each");
        assert!(matches!(
            instructions.list()[0],
            Instruction::Experimenter(_)
        ));
        assert_eq!(meters(&instructions).collect::<Vec<_>>(), [MeterId(7)]);
    }
}
