//! The processor time of a thread, for what measures.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns how long the calling thread has run on a processor. Exact at each call, unlike
/// `/proc/thread-self/schedstat`, which the kernel updates once a tick.
pub fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_while_the_thread_runs() {
        let start = thread_time();
        while thread_time() == start {}
        assert!(thread_time() > start);
    }
}
