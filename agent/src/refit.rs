//! A switch that runs takes over another configuration, and keeps its connections and entries.

use bofuss_datapath::Time;
use bofuss_datapath::refit::Misfit;

use crate::switch::{Face, Switch};

impl Switch {
    /// Takes over what `other`, which is new, was made with: the datapath's configuration, see
    /// [`refit`](bofuss_datapath::Datapath::refit), who it says it is, and its fail mode.
    ///
    /// Changes that are under way are completed first, and long replies if entries are found in
    /// another way from now on.
    ///
    /// Errors: what is in the way; nothing is changed then.
    pub fn refit<F: Face>(&mut self, now: Time, other: Self, face: &mut F) -> Result<(), Misfit> {
        while self.datapath.has_work() {
            self.go_on(now, face);
        }
        if other.datapath.config().engine != self.datapath.config().engine {
            for (id, conn) in &mut self.connections {
                while conn.dump.is_some() {
                    conn.continue_dump(now, *id, &mut self.datapath, face);
                }
            }
        }
        self.datapath.refit(other.datapath)?;
        self.identity = other.identity;
        self.set_fail_mode(now, other.fail_mode);
        Ok(())
    }
}
