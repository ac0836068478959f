//! What only some switches do: go on with an earlier state, or be one of several replicas.

use bofuss_datapath::engine::FrameEngine;
#[cfg(feature = "replicas")]
use bofuss_datapath::{Replica, Time};

use super::Switch;
#[cfg(feature = "replicas")]
use crate::io::SwitchIo;

#[cfg(feature = "restore")]
impl<E: FrameEngine> Switch<E> {
    /// What can be given the past of an earlier run.
    pub fn restore(&mut self) -> bofuss_datapath::Restore<'_, E> {
        self.datapath.restore()
    }

    /// The newest generation id of a request for the role of master or slave.
    pub fn generation_id(&self) -> Option<u64> {
        self.connections.generation_id
    }

    /// Refuses requests for these roles that are older than this generation.
    pub fn set_generation_id(&mut self, id: u64) {
        self.connections.generation_id = Some(id);
    }
}

#[cfg(feature = "replicas")]
impl<E: FrameEngine> Switch<E> {
    /// The part by which it works in step with replicas of itself: see
    /// [`Datapath::replica`](bofuss_datapath::Datapath::replica).
    pub fn replica(&mut self) -> Replica<'_, E> {
        self.datapath.replica()
    }

    /// Processes frames that wait, for one turn: see
    /// [`Datapath::catch_up`](bofuss_datapath::Datapath::catch_up). [`Switch::work`] also continues
    /// with changes and replies.
    pub fn catch_up<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        let parts = &mut self.parts(now, io);
        parts.datapath.catch_up(now, &mut parts.sink);
    }
}
