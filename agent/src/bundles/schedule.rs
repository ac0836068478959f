//! Scheduled bundles: commits at a stated time, and how exact they were. Spec: ONF extension 340,
//! as OpenFlow 1.5.1 has it in sections 7.3.5.22 and 7.3.9.

use alloc::vec::Vec;

use bofuss_datapath::Time;
use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::BundleFailed;
use bofuss_oflib::message::BundleControl;
use bofuss_oflib::message::bundle::{BundleFlags, Timestamp};
use bofuss_oflib::message::multipart::bundle_features::{BundleFeatureFlags, TimeCapability};
use bofuss_oflib::message::multipart::{BundleFeatures, BundleFeaturesRequest, ReplyBody};

use crate::request::{ConnId, Origin, refuse_experimenters};

/// The scheduling accuracy that BUNDLE_FEATURES reports as long as none worse has been measured.
const ACCURACY_NS: u64 = 100_000;
/// The default limit of how far in the future or in the past a commit may be scheduled; the
/// prototype of the extension has the same.
const DEFAULT_TOLERANCE_NS: u64 = Time::SEC;
/// The largest such limit that a controller may set: a bundle takes memory while it waits, and the
/// clock has to stay right for as long.
const MAX_TOLERANCE_NS: u64 = 24 * 3600 * Time::SEC;
/// The least time from the beginning of a bundle's preparation to its scheduled time.
const LEAD_NS: u64 = 2_000_000;
/// What each message adds to that: the time to prepare one, with some to spare.
const LEAD_PER_MESSAGE_NS: u64 = 10_000;
/// The upper bound of the first count of [`CommitErrors`]. Each further bound is twice the previous
/// one, so 100 us (this times 2^5) is among them.
pub const FIRST_ERROR_BOUND_NS: u64 = 3_125;
/// The number of counts. The last has no upper bound.
pub const ERROR_COUNTS: usize = 16;

/// A histogram of how far scheduled commits were from their time, early or late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitErrors {
    /// Count `i` has the commits with an error of at most [`FIRST_ERROR_BOUND_NS`] times 2^i, and
    /// more than the bound of count `i - 1`.
    pub counts: [u64; ERROR_COUNTS],
    /// The sum of all errors, in nanoseconds.
    pub sum_ns: u64,
    /// The greatest error, in nanoseconds.
    pub max_ns: u64,
}

impl CommitErrors {
    fn add(&mut self, error_ns: u64) {
        let mut place = 0;
        while place + 1 < ERROR_COUNTS && error_ns > FIRST_ERROR_BOUND_NS << place {
            place += 1;
        }
        self.counts[place] += 1;
        self.sum_ns += error_ns;
        self.max_ns = self.max_ns.max(error_ns);
    }

    /// The 99th percentile of the errors in nanoseconds, rounded up to the bound of its count, and
    /// at least [`ACCURACY_NS`]. In the count without a bound it is the greatest error.
    fn accuracy_ns(&self) -> u64 {
        let all: u64 = self.counts.iter().sum();
        let mut above = all;
        for (place, count) in self.counts.iter().enumerate() {
            above -= count;
            // A hundredth of the commits at most is worse than this bound.
            if above * 100 <= all && place + 1 < ERROR_COUNTS {
                return ACCURACY_NS.max(FIRST_ERROR_BOUND_NS << place);
            }
        }
        self.max_ns
    }
}

/// The clock for scheduled commits, and how exact it was.
#[derive(Default)]
pub struct CommitClock {
    /// What it showed at [`Time`] 0, in nanoseconds since 1970, if there is a clock.
    pub(crate) ns_at_0: Option<u64>,
    /// True if it was set since a waiting commit last compared it with its time.
    pub(crate) was_set: bool,
    /// The errors of the scheduled commits so far.
    pub errors: CommitErrors,
    /// The scheduled time of a commit that took effect and whose error is not recorded yet.
    pub(crate) unmeasured_ns: Option<u64>,
}

impl CommitClock {
    /// Sets what it showed at [`Time`] 0, in nanoseconds since 1970. Call this again whenever the
    /// value changes, because the clock was set or its rate differs from that of [`Time`].
    pub fn set(&mut self, nanos_at_0: u64) {
        self.ns_at_0 = Some(nanos_at_0);
        self.was_set = true;
    }

    /// What it showed at [`Time`] 0, if it was set.
    pub fn nanos_at_0(&self) -> Option<u64> {
        self.ns_at_0
    }

    /// What it shows, in nanoseconds since 1970.
    pub(crate) fn ns(&self, now: Time) -> Option<u64> {
        Some(self.ns_at_0?.saturating_add(now.0))
    }

    /// The time when it shows so many nanoseconds since 1970.
    pub(crate) fn time_of(&self, ns: u64) -> Option<Time> {
        Some(Time(ns.saturating_sub(self.ns_at_0?)))
    }

    /// Records the error of the commit that took effect since the last call, if there was one.
    /// `now` is when the first packet that can see it is handled.
    pub fn measure(&mut self, now: Time) {
        if let Some((at_ns, ns)) = self.unmeasured_ns.take().zip(self.ns(now)) {
            self.errors.add(ns.abs_diff(at_ns));
        }
    }

    /// Handles the multipart BUNDLE_FEATURES: reports what bundles can do, and sets the scheduling
    /// limits that the controller requests.
    ///
    /// Errors: BAD_PROPERTY/BAD_EXPERIMENTER.
    pub(crate) fn bundle_features(
        &self,
        now: Time,
        tolerances: &mut Tolerances,
        request: &BundleFeaturesRequest,
    ) -> Result<ReplyBody, ErrorCode> {
        refuse_experimenters(&request.experimenters)?;
        let clock_ns = self.ns(now);
        let accuracy_ns = self.errors.accuracy_ns();
        let sets = request.flags.has(BundleFeatureFlags::TIME_SET_SCHED);
        if let Some(asked) = request.time_capability.as_ref().filter(|_| sets) {
            tolerances.max_future_ns = asked.sched_max_future.nanos().min(MAX_TOLERANCE_NS);
            tolerances.max_past_ns = asked.sched_max_past.nanos().min(MAX_TOLERANCE_NS);
        }
        let mut capabilities = BundleFlags::ALL;
        if clock_ns.is_none() {
            capabilities = capabilities.without(BundleFlags::TIME);
        }
        let time_capability = clock_ns.map(|clock_ns| TimeCapability {
            sched_accuracy: Timestamp::of_nanos(accuracy_ns),
            sched_max_future: Timestamp::of_nanos(tolerances.max_future_ns),
            sched_max_past: Timestamp::of_nanos(tolerances.max_past_ns),
            timestamp: Timestamp::of_nanos(clock_ns),
        });
        Ok(ReplyBody::BundleFeatures(BundleFeatures {
            capabilities,
            time_capability,
            experimenters: Vec::new(),
        }))
    }

    /// Returns true if the time of a commit has come; such a commit begins at once.
    pub(crate) fn is_due(&self, now: Time, commit: &ScheduledCommit) -> bool {
        self.ns(now).is_some_and(|ns| commit.at_ns <= ns)
    }

    /// Schedules the commit of a bundle.
    ///
    /// Errors: BUNDLE_FAILED with SCHED_NOT_SUPPORTED, SCHED_FUTURE, SCHED_PAST, or BAD_FLAGS if no
    /// time is named.
    pub(crate) fn schedule(
        &self,
        now: Time,
        from: Origin<'_>,
        control: &BundleControl,
        tolerances: Tolerances,
    ) -> Result<ScheduledCommit, ErrorCode> {
        let clock_ns = self.ns(now).ok_or(BundleFailed::SCHED_NOT_SUPPORTED)?;
        let asked = control.scheduled.ok_or(BundleFailed::BAD_FLAGS)?;
        let at_ns = asked.nanos();
        if at_ns > clock_ns.saturating_add(tolerances.max_future_ns) {
            return Err(BundleFailed::SCHED_FUTURE);
        }
        // A time in the past is accepted as far as the connection tolerates it.
        if at_ns.saturating_add(tolerances.max_past_ns) < clock_ns {
            return Err(BundleFailed::SCHED_PAST);
        }
        Ok(ScheduledCommit {
            at_ns,
            max_past_ns: tolerances.max_past_ns,
            xid: from.xid,
            head: from.head.into(),
            control: control.clone(),
        })
    }
}

/// The time from now within which a connection may schedule commits.
#[derive(Clone, Copy)]
pub(crate) struct Tolerances {
    max_future_ns: u64,
    max_past_ns: u64,
}

impl Default for Tolerances {
    fn default() -> Self {
        Self {
            max_future_ns: DEFAULT_TOLERANCE_NS,
            max_past_ns: DEFAULT_TOLERANCE_NS,
        }
    }
}

/// A scheduled commit.
pub(crate) struct ScheduledCommit {
    /// The scheduled time, in nanoseconds since 1970.
    pub(crate) at_ns: u64,
    /// The time by which it may be late, in nanoseconds.
    max_past_ns: u64,
    pub(crate) xid: u32,
    /// The first bytes of the commit request, which errors quote, and the request itself.
    pub(crate) head: Vec<u8>,
    pub(crate) control: BundleControl,
}

impl ScheduledCommit {
    /// The origin of the request for it.
    pub(crate) fn origin(&self, conn: ConnId) -> Origin<'_> {
        Origin {
            conn,
            xid: self.xid,
            head: &self.head,
        }
    }

    /// Returns true if it is too late to carry it out.
    pub(crate) fn is_missed(&self, clock_ns: u64) -> bool {
        clock_ns > self.at_ns.saturating_add(self.max_past_ns)
    }

    /// The time when the preparation of its `n_messages` messages begins, in nanoseconds since
    /// 1970.
    pub(crate) fn begins_ns(&self, n_messages: usize) -> u64 {
        let lead = LEAD_NS + LEAD_PER_MESSAGE_NS * n_messages as u64;
        self.at_ns.saturating_sub(lead)
    }

    /// Returns true if the clock was set back so far that a prepared bundle should be undone: while
    /// it waits, no other changes are made.
    pub(crate) fn is_early(&self, clock_ns: u64, n_messages: usize) -> bool {
        clock_ns.saturating_add(LEAD_NS) < self.begins_ns(n_messages)
    }
}
