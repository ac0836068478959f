//! The parts of a switch, as messages reach them.

use bofuss_datapath::Datapath;
use bofuss_datapath::engine::FrameEngine;

use crate::bundles::Bundles;
use crate::change::Change;
use crate::deliver::SwitchSink;
use crate::fail_mode::StandIn;
use crate::features::Identity;
use crate::schedule::CommitClock;

/// Each part owns its state; what it needs of others is passed to its methods.
pub(crate) struct Parts<'a, E: FrameEngine, I> {
    pub(crate) datapath: &'a mut Datapath<E>,
    pub(crate) identity: &'a mut Identity,
    pub(crate) bundles: &'a mut Bundles,
    pub(crate) clock: &'a mut CommitClock,
    pub(crate) change: &'a mut Change,
    pub(crate) stand_in: &'a mut StandIn,
    /// The connections, the time, and what the switch sends out.
    pub(crate) sink: SwitchSink<'a, I>,
}
