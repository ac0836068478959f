//! The case of idle switches: their memory, wake-ups and processor time.

use std::time::{Duration, Instant};

use crate::bench::case::{CaseContext, Figures};
use crate::error::Result;
use crate::testbed::forwarder::Forwarder;
use crate::testbed::net::{disable_ipv6, run_batch};
use crate::testbed::setup::Setup;

/// Ports of each switch.
const PORTS: usize = 4;
/// The times to wait after the start, and to measure then.
const SETTLING: Duration = Duration::from_secs(2);
const WATCHED: Duration = Duration::from_secs(5);

/// The interfaces of all switches, connected in pairs; removed when dropped.
struct Cables(Vec<[String; PORTS]>);

impl Cables {
    fn new(switches: u32) -> Result<Self> {
        let this = Self(
            (0..switches)
                .map(|switch| std::array::from_fn(|port| format!("i{switch}p{port}")))
                .collect(),
        );
        this.all_pairs(|[a, b]| format!("link add {a} type veth peer name {b}\n"))?;
        this.0.iter().flatten().for_each(|name| disable_ipv6(name));
        this.all_pairs(|[a, b]| format!("link set {a} up\nlink set {b} up\n"))?;
        Ok(this)
    }

    fn all_pairs(&self, line: impl Fn(&[String; 2]) -> String) -> Result<()> {
        let pairs = self.0.iter().flat_map(|ports| ports.as_chunks::<2>().0);
        run_batch(&pairs.map(line).collect::<String>())
    }
}

impl Drop for Cables {
    fn drop(&mut self) {
        let _ = self.all_pairs(|[a, _]| format!("link del {a}\n"));
    }
}

fn sum(all: &[&Forwarder], value: fn(&Forwarder) -> f64) -> f64 {
    all.iter().map(|one| value(one)).sum()
}

/// Switches without frames, controllers and entries: bofuss as one process each, Open vSwitch as
/// bridges of one process.
pub fn run(c: &CaseContext<'_>) -> Figures {
    let cables = Cables::new(c.parameter)?;
    let mut started = Vec::new();
    if c.setup == Setup::Bofuss {
        for (number, ports) in cables.0.iter().enumerate() {
            started.push(Forwarder::idle(c.programs, number, ports)?);
        }
    } else {
        c.forwarder.add_bridges(&cables.0)?;
    }
    let all: Vec<&Forwarder> = match &started[..] {
        [] => vec![c.forwarder],
        all => all.iter().collect(),
    };
    std::thread::sleep(SETTLING);
    let start = Instant::now();
    let slept = sum(&all, Forwarder::wake_ups);
    let nanos = sum(&all, Forwarder::cpu_nanos);
    std::thread::sleep(WATCHED);
    let took = start.elapsed();
    // Shared memory counts once.
    let memory = match all[..] {
        [one] => one.status("VmRSS") * 1024.0,
        _ => sum(&all, Forwarder::share_of_memory),
    };
    let figures = vec![
        (("memory", "MB"), memory / 1e6),
        (
            ("wake-ups", "a second"),
            (sum(&all, Forwarder::wake_ups) - slept) / took.as_secs_f64(),
        ),
        (
            ("processor", "% of a core"),
            (sum(&all, Forwarder::cpu_nanos) - nanos) / took.as_nanos() as f64 * 100.0,
        ),
    ];
    if started.is_empty() {
        c.forwarder.remove_bridges(cables.0.len())?;
    }
    Ok(figures)
}
