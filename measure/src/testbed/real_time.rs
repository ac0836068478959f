//! Real-time priority, for cases in which what else runs on the machine must not count.

use crate::error::Result;
use crate::testbed::forwarder::Forwarder;
use crate::testbed::net::run;

/// The priority under SCHED_FIFO: above all that is not real-time.
const PRIORITY: u8 = 10;

/// Real-time priority for the switch and this program, so that what else runs on the machine does
/// not count as waiting; the usual priority when dropped.
pub struct RealTime(Vec<u32>);

impl RealTime {
    /// Errors: those of `chrt`.
    pub fn begin(forwarder: &Forwarder) -> Result<Self> {
        let mut processes = vec![forwarder.process_id(), std::process::id()];
        // The kernel forwards without a process.
        processes.retain(|process| *process != 0);
        let this = Self(processes);
        this.set("-f", PRIORITY)?;
        Ok(this)
    }

    fn set(&self, policy: &str, priority: u8) -> Result<()> {
        for process in &self.0 {
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
