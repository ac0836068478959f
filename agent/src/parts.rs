//! The parts of a switch, as messages reach them.
//!
//! They borrow from one [`Switch`](crate::Switch) for the length of one call, in which the time
//! stands still. Borrowing them one by one lets a method of one part use others.

use bofuss_datapath::Datapath;
use bofuss_datapath::engine::FrameEngine;

use crate::bundles::Bundles;
use crate::change::Change;
use crate::deliver::SwitchSink;
use crate::fail_mode::StandIn;
use crate::features::Identity;

/// Each part owns its state; what it needs of others is passed to its methods. Passing all parts on
/// is left to what has an arm for each message, and to what goes on with a change.
pub(crate) struct Parts<'a, E: FrameEngine, I> {
    /// The tables and all else that packets pass; it knows no connections.
    pub(crate) datapath: &'a mut Datapath<E>,
    pub(crate) identity: &'a mut Identity,
    /// The open and the discarded ones; the one that is being committed is in the change.
    pub(crate) bundles: &'a mut Bundles,
    pub(crate) change: &'a mut Change,
    pub(crate) stand_in: &'a mut StandIn,
    /// The connections, the time, and what the switch sends out.
    pub(crate) sink: SwitchSink<'a, I>,
}
