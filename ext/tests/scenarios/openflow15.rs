//! The effects of scenarios as connections of OpenFlow 1.5 see them.

use super::openflow14::in_1_4;

/// An effect as a connection of 1.5 sees it: as one of 1.4 does.
pub(super) fn in_1_5(effect: &str) -> String {
    in_1_4(effect)
}

/// Returns true if an effect is a message that only 1.5 has: the status of another controller.
pub(super) fn is_told_in_1_5(effect: &str) -> bool {
    effect.split(' ').nth(1) == Some("controller")
}
