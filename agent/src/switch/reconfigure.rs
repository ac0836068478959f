//! A switch takes over another configuration while it runs.

use alloc::vec::Vec;

use bofuss_datapath::Time;
use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::reconfigure::Obstacle;

use super::Switch;
use crate::handle::hurry;
use crate::io::SwitchIo;
use crate::parts::Parts;
use crate::replies::continue_late_dump;
use crate::request::ConnId;

impl<E: FrameEngine> Switch<E> {
    /// Checks that everything in this switch fits into `other`, see
    /// [`bofuss_datapath::Datapath::check_reconfigure`]. Changes in progress are completed first.
    ///
    /// Errors: the first thing that does not fit.
    pub fn check_reconfigure<I: SwitchIo>(
        &mut self,
        now: Time,
        other: &mut Self,
        io: &mut I,
    ) -> Result<(), Obstacle> {
        while self.is_changing() {
            hurry(&mut self.parts(now, io));
        }
        self.datapath.check_reconfigure(&mut other.datapath)
    }

    /// Takes over the configuration of `other`: that of the datapath (see
    /// [`bofuss_datapath::Datapath::reconfigure`]), the identity and the fail mode. `other` is new,
    /// and [`Switch::check_reconfigure`] found no obstacle. If the engine changes, long replies are
    /// completed first, because their cursors depend on it.
    pub fn reconfigure<I: SwitchIo>(&mut self, now: Time, other: Self, io: &mut I) {
        let Parts { datapath, sink, .. } = &mut self.parts(now, io);
        if other.datapath.config().engine != datapath.config().engine {
            let all: Vec<ConnId> = sink.connections.by_id.keys().copied().collect();
            for conn in all {
                while sink.connections.is_busy(conn) {
                    continue_late_dump(datapath, sink, conn);
                }
                if let Some(connection) = sink.connections.by_id.get_mut(&conn) {
                    connection.monitoring.order_changes();
                }
            }
        }
        datapath.reconfigure(now, other.datapath, sink);
        self.identity = other.identity;
        self.set_fail_mode(now, other.stand_in.mode);
    }
}
