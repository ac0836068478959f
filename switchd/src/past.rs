//! A past moment, of a record or of a simulation, at which a switch stands still.

use std::fmt::Debug;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bofuss_datapath::Time;
use bofuss_ext::Switch;

use crate::error::Result;

/// The moment, which is reached in the data-plane thread, because a switch stays in its thread.
pub trait PastMoment: Debug + Send + Sync {
    /// Makes the switch of this moment; it has its ports and connections. Returns its time, too;
    /// `keep` gets the messages of its controllers.
    ///
    /// Errors: a sentence for the user.
    fn reached(&self, keep: KeepMessage<'_>) -> Result<(Time, Switch)>;
}

/// Takes a message.
pub type KeepMessage<'a> = &'a mut dyn FnMut(PastMessage<'_>);

/// A message, or several one after the other, between a switch and one of its controllers.
pub struct PastMessage<'a> {
    /// When.
    pub at: SystemTime,
    /// The controller.
    pub peer: &'a str,
    /// True if the switch received it.
    pub is_received: bool,
    /// As OpenFlow has it.
    pub bytes: &'a [u8],
}

/// The time of the system at a time of a switch whose time 0 was `epoch_ns` after 1970 began.
pub fn system_time(epoch_ns: u64, at: Time) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(epoch_ns.saturating_add(at.0))
}
