//! Reconfiguration of a running switch, which keeps its connections and entries.

use alloc::vec::Vec;

use bofuss_datapath::Time;
use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::reconfigure::Obstacle;

use crate::request::ConnId;
use crate::switch::{Switch, SwitchIo};

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
            self.hurry(now, io);
        }
        self.datapath.check_reconfigure(&mut other.datapath)
    }

    /// Takes over the configuration of `other`: that of the datapath (see
    /// [`bofuss_datapath::Datapath::reconfigure`]), the identity and the fail mode. `other` is new,
    /// and [`Switch::check_reconfigure`] found no obstacle. If the engine changes, long replies are
    /// completed first, because their cursors depend on it.
    pub fn reconfigure<I: SwitchIo>(&mut self, now: Time, other: Self, io: &mut I) {
        if other.datapath.config().engine != self.datapath.config().engine {
            let all: Vec<ConnId> = self.connections.keys().copied().collect();
            for conn in all {
                while self.connections[&conn].dump.is_some() {
                    self.continue_late_dump(now, conn, io);
                }
                if let Some(connection) = self.connections.get_mut(&conn) {
                    connection.monitoring.order_changes();
                }
            }
        }
        let (datapath, mut sink) = self.parts(now, io);
        datapath.reconfigure(now, other.datapath, &mut sink);
        self.identity = other.identity;
        self.set_fail_mode(now, other.fail_mode);
    }
}
