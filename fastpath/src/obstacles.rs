//! What keeps frames from going below the switch.

use core::fmt;

use bofuss_oflib::types::{GroupId, MeterId};
use bofuss_oflib::{Action, PortNo};

use crate::cache::{MAX_DEPARTURES, Program};
use crate::direct_path::{DirectStep, MAX_STEPS};
use crate::executed::{Executed, each_action};

/// The reason why frames of a flow are not forwarded below the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// An extension sees them.
    Extension,
    /// They are frames of a table miss.
    Miss,
    /// There is something about this meter.
    Meter(MeterId, &'static str),
    /// This action is not done there.
    Action(Action),
    /// There is something about this port.
    Port(PortNo, &'static str),
    /// There is something about this group.
    Group(GroupId, &'static str),
    /// There is something about NORMAL.
    Normal(&'static str),
    /// They leave too often.
    Departures,
    /// They do not leave.
    None,
    /// There is something else about their path.
    Path,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extension => f.write_str("an extension sees its packets"),
            Self::Miss => f.write_str("its packets miss in a table"),
            Self::Meter(id, why) => write!(f, "meter {id} {why}"),
            Self::Action(action) => write!(f, "the kernel does not do {action}"),
            Self::Port(port, why) => write!(f, "port {port} {why}"),
            Self::Group(id, why) => write!(f, "group {id} {why}"),
            Self::Normal(why) => write!(f, "NORMAL {why}"),
            Self::Departures => write!(f, "its packets leave more than {MAX_DEPARTURES} times"),
            Self::None => f.write_str("no port takes its packets"),
            Self::Path => f.write_str("its path depends on more than its key"),
        }
    }
}

/// What keeps any frame with this step from going below.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whoever adds an action need not know of this way"
)]
pub(super) fn obstacle_of(step: &Executed<'_>) -> Option<Obstacle> {
    let action = match step {
        Executed::Meter(_) => return None,
        Executed::Action(action) => *action,
    };
    let is_done = match action {
        Action::Output(output) => {
            let reserved = [PortNo::FLOOD, PortNo::ALL, PortNo::NORMAL];
            output.port <= PortNo::MAX || reserved.contains(&output.port)
        }
        Action::Group(_)
        | Action::SetField(_)
        | Action::PushVlan(_)
        | Action::PopVlan
        | Action::DecNwTtl => true,
        _ => false,
    };
    // What is no step of a direct path may lead to other headers.
    let is_done =
        is_done && (matches!(action, Action::Output(_)) || DirectStep::of(action).is_some());
    (!is_done).then(|| Obstacle::Action(action.clone()))
}

/// What keeps all frames of a flow with this program, which is not simple, from going below.
pub(super) fn obstacle(program: &Program) -> Option<Obstacle> {
    if program.calls || program.asks {
        return Some(Obstacle::Extension);
    }
    if program.missed {
        return Some(Obstacle::Miss);
    }
    if program.next.is_some() {
        return Some(Obstacle::Path);
    }
    let mut obstacle = None;
    let mut departs = false;
    let mut left = MAX_STEPS;
    let visited = each_action(program, |step| {
        obstacle = obstacle_of(&step);
        let departure = |action: &Action| matches!(action, Action::Output(_) | Action::Group(_));
        departs = matches!(step, Executed::Action(action) if departure(action));
        left = left.checked_sub(1)?;
        obstacle.is_none().then_some(())
    });
    let is_done = visited.is_some() && departs;
    obstacle.or_else(|| (!is_done).then_some(Obstacle::Path))
}
