//! Direct paths: what can be done to a frame that does not become a packet. The steps (edits of
//! headers, meters, ports and groups) are determined when a flow is cached or a group is made.

use alloc::vec::Vec;

use bofuss_oflib::copy_field::CopyField;
use bofuss_oflib::field::{ETH_TYPE, ICMPV6_TYPE, IP_PROTO};
use bofuss_oflib::types::{EtherType, GroupId, MeterId};
use bofuss_oflib::{Action, Field, FieldMatch, PortNo};
use bofuss_packet::{Rewrite, TagChange};

/// The most steps, so that the tags that they push fit into [`HEADROOM_BYTES`] of headroom, and
/// their copies are little work.
pub(crate) const MAX_STEPS: usize = 12;
/// The headroom for the tags of a path and of a bucket at its end.
pub(crate) const HEADROOM_BYTES: usize = 2 * MAX_STEPS * TAG_BYTES;
/// Bytes of a VLAN tag.
const TAG_BYTES: usize = 4;
/// Fields that say which header follows. Parsing after a push or pop depends on them, and may find
/// headers that the frame did not have before.
const SAY_WHAT_FOLLOWS: [&Field; 3] = [ETH_TYPE, IP_PROTO, ICMPV6_TYPE];

/// The destination of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Exit {
    /// A port that is not a reserved one.
    Port(PortNo),
    /// A group.
    Group(GroupId),
}

/// One step of a direct path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DirectStep {
    /// It passes a meter.
    Meter(MeterId),
    /// A field of a header is set.
    SetField(Rewrite),
    /// Bits of one field are copied to another.
    CopyField(CopyField),
    /// A VLAN tag is pushed, and its fields are set.
    PushVlan(EtherType, TagChange),
    /// The outermost VLAN tag is popped.
    PopVlan,
    /// The TTL of IP is decremented.
    DecNwTtl,
    /// A copy is sent to a port or group.
    Copy(Exit),
}

/// The direct path of a flow or a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DirectPath {
    /// The steps, in order.
    pub(crate) steps: Vec<DirectStep>,
    /// The destination of the frame itself after them.
    pub(crate) exit: Exit,
    /// By how much its TTL is decremented, without what groups do.
    pub(crate) hops: u8,
    /// The groups to which it sends frames.
    pub(crate) groups: Vec<GroupId>,
}

impl DirectStep {
    /// The step for an action; `None` if the action needs more than the headers of a frame.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whoever adds an action need not know of this path"
    )]
    pub(crate) fn of(action: &Action) -> Option<Self> {
        match action {
            Action::Output(output) if output.port <= PortNo::MAX => {
                Some(Self::Copy(Exit::Port(output.port)))
            }
            Action::Group(id) => Some(Self::Copy(Exit::Group(*id))),
            Action::SetField(set) if !SAY_WHAT_FOLLOWS.contains(&set.0.field) => {
                Rewrite::of(&set.0).map(Self::SetField)
            }
            Action::CopyField(copy) if is_between_headers(copy) => {
                Some(Self::CopyField(copy.clone()))
            }
            Action::PushVlan(ty) => Some(Self::PushVlan(*ty, TagChange::NONE)),
            Action::PopVlan => Some(Self::PopVlan),
            Action::DecNwTtl => Some(Self::DecNwTtl),
            _ => None,
        }
    }

    /// Merges `next`, which follows it, into this step if one step can do both. Returns false if it
    /// is unchanged.
    fn merge(&mut self, next: &Self) -> bool {
        let Self::SetField(next) = next else {
            return false;
        };
        if let Self::SetField(rewrite) = self {
            return rewrite.merge(next);
        }
        if let (Self::PushVlan(_, change), Some(more)) = (self, next.in_tag()) {
            *change = change.then(more);
            return true;
        }
        false
    }
}

/// Returns true if a copy is between fields of headers only.
fn is_between_headers(copy: &CopyField) -> bool {
    !SAY_WHAT_FOLLOWS.contains(&copy.dst) && is_rewritten(copy.src) && is_rewritten(copy.dst)
}

/// Returns true if a frame of a direct path can have the field set.
fn is_rewritten(field: &'static Field) -> bool {
    Rewrite::of(&FieldMatch::exact(field, 0)).is_some()
}

impl DirectPath {
    /// The path of these steps; `None` if they do not end with an output or a group, or are too
    /// many.
    pub(crate) fn of(mut steps: Vec<DirectStep>) -> Option<Self> {
        let Some(DirectStep::Copy(exit)) = steps.pop() else {
            return None;
        };
        if steps.len() >= MAX_STEPS {
            return None;
        }
        let mut hops = 0;
        let mut groups = Vec::new();
        for step in steps.iter().chain([&DirectStep::Copy(exit)]) {
            match step {
                DirectStep::DecNwTtl => hops += 1,
                DirectStep::Copy(Exit::Group(id)) => groups.push(*id),
                DirectStep::Copy(Exit::Port(_))
                | DirectStep::Meter(_)
                | DirectStep::SetField(_)
                | DirectStep::CopyField(_)
                | DirectStep::PushVlan(..)
                | DirectStep::PopVlan => {}
            }
        }
        steps.dedup_by(|step, before| before.merge(step));
        Some(Self {
            steps,
            exit,
            hops,
            groups,
        })
    }

    /// The path of a bucket with these actions; `None` unless it leads to a port.
    pub(crate) fn of_bucket(actions: &[Action]) -> Option<Self> {
        let steps = actions.iter().map(DirectStep::of).collect::<Option<_>>()?;
        let path = Self::of(steps)?;
        let mut steps = path.steps.iter();
        let copies = steps.any(|step| matches!(step, DirectStep::Copy(_)));
        (path.groups.is_empty() && !copies).then_some(path)
    }
}
