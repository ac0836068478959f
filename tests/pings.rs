//! Pings between the hosts of a laboratory.

use std::process::Command;

use crate::{Lab, address, printed, run};

impl Lab {
    /// Returns true if one host reaches another with one ping.
    pub fn pings(&self, from: u8, to: u8) -> bool {
        let target = address(to).to_string();
        let ping = || run(Command::new("ping").args(["-n", "-c", "1", "-W", "1", &target]));
        self.host(from, ping).status.success()
    }

    /// Sends a row of pings from host 1 to host 2, so many seconds apart. Returns the numbers of
    /// those that were lost, from 1.
    ///
    /// Those after the last reply are not counted. `ping` waits for that only as long as from one
    /// ping to the next, so on a busy machine they may be late, not lost.
    ///
    /// Panics: there was no reply.
    pub fn lost_pings(&self, count: usize, interval: &str) -> Vec<usize> {
        let target = address(2).to_string();
        let row = ["-n", "-c", &count.to_string(), "-i", interval, &target].map(String::from);
        let said = printed(&self.host(1, || run(Command::new("ping").args(&row))));
        let number = |line: &str| {
            let (_, rest) = line.split_once("icmp_seq=")?;
            rest.split_once(' ')?.0.parse::<usize>().ok()
        };
        let came: Vec<_> = said.lines().filter_map(number).collect();
        let last = *came.iter().max().expect(&said);
        (1..last).filter(|number| !came.contains(number)).collect()
    }
}
