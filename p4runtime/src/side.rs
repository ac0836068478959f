//! What controllers write that the switch itself does not keep.

use std::collections::{BTreeMap, HashMap, HashSet};

use bofuss_p4::Handle;

use crate::digests::DigestQueue;
use crate::wire::entities::ValueSetMember;

/// The first number of members and groups that are made for action sets. Controllers have those
/// below.
pub const FIRST_OWN: u32 = 1 << 31;

/// The members and the group that were made for the action set of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneShot {
    /// The index of the action profile in the program.
    pub profile: usize,
    pub group: u32,
    /// With their weights, in the order of the controller.
    pub members: Vec<(u32, u32)>,
}

/// What is kept of an entry.
#[derive(Default)]
pub struct EntrySide {
    pub controller_metadata: u64,
    pub metadata: Vec<u8>,
    /// As it was written; the switch has whole microseconds.
    pub idle_timeout_ns: i64,
    pub one_shot: Option<OneShot>,
    /// The time of use in µs for which the controller was last told that the entry is idle, and
    /// when it was.
    pub idle_told: Option<(u64, u64)>,
}

/// All that is kept.
#[derive(Default)]
pub struct Side {
    /// By the index of the table in the program, and the entry.
    pub entries: HashMap<(usize, Handle), EntrySide>,
    /// That of default entries which have metadata, by the index of the table in the program.
    pub defaults: HashMap<usize, EntrySide>,
    /// `max_size`, by the index of the action profile and the group.
    pub max_sizes: HashMap<(usize, u32), i32>,
    /// The metadata of multicast groups.
    pub multicast: HashMap<u32, Vec<u8>>,
    /// The multicast groups and the clone sessions whose ports were written as bytes.
    pub groups_in_bytes: HashSet<u32>,
    pub sessions_in_bytes: HashSet<u32>,
    /// The members of value sets, by id.
    pub value_sets: BTreeMap<u32, Vec<ValueSetMember>>,
    /// The digests that a controller wants, by id.
    pub digests: BTreeMap<u32, DigestQueue>,
    /// Whether an entry may have a timeout: one has or had one.
    pub timeouts: bool,
    pub next_own: u32,
}
