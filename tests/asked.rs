//! What the runner asks of the switches of laboratories: how many workers they have.

/// Options that say how many workers a switch has, or that are for one worker.
const OF_WORKERS: [&str; 4] = ["--workers", "--record", "--p4", "--accelerate"];

/// The option that gives a switch with these options as many workers as the runner asks for.
pub(crate) fn workers(arguments: &[&str]) -> Option<String> {
    let wanted = std::env::var("BOFUSS_WORKERS").ok();
    let wanted = wanted.filter(|count| !count.is_empty())?;
    let says = arguments.iter().any(|word| OF_WORKERS.contains(word));
    (!says).then(|| format!("--workers={wanted}"))
}
