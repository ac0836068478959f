//! Huge pages for DPDK, as long as they are needed.

use crate::error::Result;
use crate::testbed::net::context;

/// The file that sets the number of 2 MiB huge pages, and how many DPDK needs.
const HUGE_PAGES: &str = "/proc/sys/vm/nr_hugepages";
pub const HUGE_MIB: usize = 512;
const WANTED_PAGES: usize = HUGE_MIB / 2 + 64;
/// The file that compacts memory for them, and the number of attempts.
const COMPACT: &str = "/proc/sys/vm/compact_memory";
const RESERVATIONS: usize = 3;

/// Huge pages for DPDK, released when dropped.
pub struct HugePages(String);

impl HugePages {
    /// Errors: there are not enough, or the system's.
    pub fn reserve() -> Result<Self> {
        let failed = context(HUGE_PAGES);
        let this = Self(std::fs::read_to_string(HUGE_PAGES).map_err(failed)?);
        for _ in 0..RESERVATIONS {
            std::fs::write(HUGE_PAGES, WANTED_PAGES.to_string()).map_err(failed)?;
            let given = std::fs::read_to_string(HUGE_PAGES).map_err(failed)?;
            if given.trim().parse().is_ok_and(|n: usize| n >= WANTED_PAGES) {
                return Ok(this);
            }
            std::fs::write(COMPACT, "1").map_err(|e| format!("{COMPACT}: {e}"))?;
        }
        Err(format!("there are no {WANTED_PAGES} huge pages").into())
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        let _ = std::fs::write(HUGE_PAGES, &self.0);
    }
}
