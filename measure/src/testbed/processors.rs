//! The time that the processors of the machine have been busy.

/// The processors' time so far: busy, and all. Units: clock ticks.
pub fn processor_ticks() -> (f64, f64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first
        .split_whitespace()
        .skip(1)
        .take(8) // without guests, which are counted as users already
        .filter_map(|word| word.parse().ok())
        .collect();
    let all: f64 = ticks.iter().sum();
    let idle: f64 = ticks.iter().skip(3).take(2).sum();
    (all - idle, all)
}

/// The time that all processors together have been busy so far, for whatever program or interrupt,
/// in nanoseconds. The kernel counts it in clock ticks, of 10 ms as a rule.
pub fn busy_nanos() -> f64 {
    processor_ticks().0 * 1e9 / rustix::param::clock_ticks_per_second() as f64
}
