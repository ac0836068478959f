//! What a thread of the daemon may do: of root's rights, those that interfaces need.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// To read and write frames, and to change links.
const NEEDED: CapabilitySet = CapabilitySet::NET_RAW.union(CapabilitySet::NET_ADMIN);

/// Gives up all other capabilities of the calling thread, and of those that it starts later: what
/// belongs to other users cannot be opened any more.
///
/// Errors: the system's, in a sentence.
pub fn give_up() -> Result<(), String> {
    let keep = || {
        let kept = capabilities(None)?.permitted & NEEDED;
        let sets = CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: CapabilitySet::empty(),
        };
        set_capabilities(None, sets)
    };
    keep().map_err(|error| format!("giving up rights: {error}"))
}
