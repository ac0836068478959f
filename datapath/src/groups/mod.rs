//! Groups: their buckets, and which of them a packet gets. Spec: OpenFlow 1.3.5 sections 5.6, 6.5
//! and 7.3.4.2.

use alloc::{rc::Rc, vec::Vec};

use bofuss_oflib::message::group_mod::{Bucket, GroupType};
use bofuss_oflib::message::multipart::group::BucketCounter;
use bofuss_oflib::types::GroupId;
use bofuss_oflib::{Action, PortNo};
use bofuss_packet::Layout;

pub(crate) mod select;

use crate::Time;
use crate::action_set::ActionSet;
use crate::groups::select::Selector;
use crate::references::groups;
use crate::tables::shared::actions_in;

/// So many actions of one bucket count as one more bucket towards the limit.
const ACTIONS_PER_PLACE: usize = 8;
/// A bucket, with its action set in the order of execution.
#[derive(Debug)]
pub struct Plan<N> {
    pub(crate) bucket: Bucket,
    /// Its action set, in the order of execution.
    pub actions: Vec<Action>,
    /// The notes of the engine.
    pub notes: N,
}

impl<N> Plan<N> {
    /// Makes a plan; `notes` returns what the engine notes of its actions.
    pub(crate) fn new(bucket: &Bucket, notes: impl FnOnce(&[Action]) -> N) -> Self {
        let mut set = ActionSet::default();
        set.write(&bucket.actions);
        let actions: Vec<Action> = set.in_order().cloned().collect();
        Self {
            bucket: bucket.clone(),
            notes: notes(&actions),
            actions,
        }
    }
}

/// One group.
#[derive(Clone, Debug)]
pub struct Group<B, G> {
    pub(crate) ty: GroupType,
    /// Its buckets.
    pub plans: Rc<[Plan<B>]>,
    pub(crate) selector: Selector,
    /// The notes of the engine.
    pub notes: G,
    /// The liveness of each bucket.
    pub(crate) live: Vec<bool>,
    /// What it has counted, and what each bucket has.
    pub counter: BucketCounter,
    /// See `counter`.
    pub bucket_counters: Vec<BucketCounter>,
    pub(crate) created: Time,
    /// The number of entries that forward to it.
    pub(crate) flows: u32,
    /// Groups that forward to it, and groups that watch it.
    pub(crate) forwarders: Vec<GroupId>,
    pub(crate) watchers: Vec<GroupId>,
}

impl<B, G> Group<B, G> {
    /// Returns true if it has a live bucket.
    pub(crate) fn is_live(&self) -> bool {
        self.live.contains(&true)
    }

    /// Chooses the bucket that gets a packet, whose frame has these bytes and this layout; `None`
    /// if there is none. With `keep`, no state changes.
    pub fn choose(&mut self, layout: &Layout, bytes: &[u8], keep: bool) -> Option<usize> {
        if self.is_select() {
            return self.selector.choose(layout, bytes, keep);
        }
        self.choice(layout, bytes)
    }

    /// The bucket that a packet would get.
    #[inline]
    pub fn choice(&self, layout: &Layout, bytes: &[u8]) -> Option<usize> {
        match self.ty {
            GroupType::SELECT => self.selector.choice(layout, bytes).0,
            GroupType::FF => self.live.iter().position(|live| *live),
            GroupType::INDIRECT => Some(0),
            // The packet itself goes to the last bucket, and copies to all others.
            _ => self.plans.len().checked_sub(1),
        }
    }

    /// Returns true if its choice depends on the headers of a packet.
    pub fn is_select(&self) -> bool {
        self.ty == GroupType::SELECT
    }

    /// Returns true if packets of one flow may get different buckets.
    pub fn is_per_packet(&self) -> bool {
        self.is_select() && self.selector.is_per_packet()
    }

    /// Returns how many buckets, from the first on, get copies of the packet.
    pub fn copies(&self) -> usize {
        match self.ty {
            GroupType::SELECT | GroupType::FF | GroupType::INDIRECT => 0,
            _ => self.plans.len().saturating_sub(1),
        }
    }

    /// Returns how many buckets it counts as towards the limit.
    pub(crate) fn places(&self) -> usize {
        places(self.plans.iter().map(|plan| &plan.bucket))
    }

    /// The groups that it forwards to.
    pub(crate) fn targets(&self) -> impl Iterator<Item = GroupId> {
        self.plans
            .iter()
            .flat_map(|plan| groups(plan.bucket.actions.iter()))
    }

    /// The groups that it watches.
    pub(crate) fn watched(&self) -> impl Iterator<Item = GroupId> {
        let watched = self.plans.iter().map(|plan| plan.bucket.watch_group);
        watched.filter(|group| *group != GroupId::ANY)
    }
}

/// Returns how many buckets these count as towards the limit; long ones count as several.
pub(crate) fn places<'a>(buckets: impl Iterator<Item = &'a Bucket>) -> usize {
    let mut places = 0;
    for bucket in buckets {
        let actions: usize = bucket.actions.iter().map(actions_in).sum();
        places += 1 + actions / ACTIONS_PER_PLACE;
    }
    places
}

/// The actions of buckets.
pub(crate) fn actions_of<N>(plans: &[Plan<N>]) -> impl Iterator<Item = &Action> {
    plans.iter().flat_map(|plan| &plan.bucket.actions)
}

/// Returns true if a bucket watches something.
pub(crate) fn watches(bucket: &Bucket) -> bool {
    bucket.watch_port != PortNo::ANY || bucket.watch_group != GroupId::ANY
}
