//! A switch that runs takes over another configuration, and keeps its connections and entries.

use bofuss_datapath::Time;
use bofuss_datapath::reconfigure::Obstacle;

use crate::switch::{Switch, SwitchIo};

impl Switch {
    /// Whether all that is here fits into `other`, see
    /// [`bofuss_datapath::Datapath::check_reconfigure`]. Changes that are under way are completed
    /// first.
    ///
    /// Errors: what is in the way.
    pub fn fits<I: SwitchIo>(
        &mut self,
        now: Time,
        other: &mut Self,
        io: &mut I,
    ) -> Result<(), Obstacle> {
        while self.datapath.has_work() {
            self.go_on(now, io);
        }
        self.datapath.check_reconfigure(&mut other.datapath)
    }

    /// Takes over what `other`, which is new and into which everything fits, was made with: the
    /// datapath's configuration, see [`bofuss_datapath::Datapath::reconfigure`], who it says it is,
    /// and its fail mode. Long replies are completed if entries are found in another way from now
    /// on.
    pub fn refit<I: SwitchIo>(&mut self, now: Time, other: Self, io: &mut I) {
        if other.datapath.config().engine != self.datapath.config().engine {
            for (id, conn) in &mut self.connections {
                while conn.dump.is_some() {
                    conn.continue_dump(now, *id, &mut self.datapath, io);
                }
            }
        }
        self.datapath.reconfigure(other.datapath);
        self.identity = other.identity;
        self.set_fail_mode(now, other.fail_mode);
    }
}
