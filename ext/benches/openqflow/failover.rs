//! Measures how long it takes until flows use their failover port after the loss of their port, by
//! the number of flows.

use std::time::Instant;

use bofuss_oflib::PortNo;

use super::{Case, Order, bar};

/// The most microseconds from the loss of the port to the first packet on the failover port.
const MOST_US: f64 = 1000.0;
/// The number of measurements; the worst counts.
const TRIES: usize = 5;

/// Measures with one flow and with a million.
pub(crate) fn failover() -> bool {
    let mut holds = true;
    for flows in [1, 1_000_000] {
        let mut worst = 0.0_f64;
        let mut case = Case::new("failover", flows, true, true);
        case.run(Order::RoundRobin, flows as usize + super::BATCH);
        for _ in 0..TRIES {
            let before = case.seen.left;
            let started = Instant::now();
            case.datapath
                .port_control(case.now, &mut case.seen)
                .removed(PortNo(2));
            case.send_one(0);
            let us = started.elapsed().as_secs_f64() * 1e6;
            let after = case.seen.left;
            assert_eq!((after[2], after[3]), (before[2], before[3] + 1), "{flows}");
            worst = worst.max(us);
            let last = flows - 1;
            case.send_one(last);
            assert_eq!(
                case.seen.left[3],
                before[3] + 2,
                "the last flow follows, too"
            );
            case.add_port(2);
            case.send_one(last);
            assert_eq!(case.seen.left[2], before[2] + 1, "it returns");
        }
        let what = format!("failover, {flows} flows: {worst:.0} us at most, below {MOST_US} us");
        holds &= bar(&what, worst < MOST_US);
    }
    holds
}
