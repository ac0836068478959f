//! Real-time priority, for cases in which what else runs on the machine must not count.

use crate::case::CaseContext;
use crate::net::run;

/// The priority under SCHED_FIFO: above all that is not real-time.
const PRIORITY: u8 = 10;

/// Real-time priority for the switch and this program, so that what else runs on the machine does
/// not count as waiting; the usual priority when dropped.
pub struct RealTime([u32; 2]);

impl RealTime {
    /// Errors: those of `chrt`.
    pub fn begin(c: &CaseContext<'_>) -> Result<Self, String> {
        let this = Self([c.forwarder.process_id(), std::process::id()]);
        this.set("-f", PRIORITY)?;
        Ok(this)
    }

    fn set(&self, policy: &str, priority: u8) -> Result<(), String> {
        for process in self.0 {
            run(&format!("chrt -a {policy} -p {priority} {process}"))?;
        }
        Ok(())
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        let _ = self.set("-o", 0);
    }
}
