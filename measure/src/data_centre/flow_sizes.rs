//! Flows of a data centre: their classes by size, and when they begin.

use bofuss_sim::Random;
pub use bofuss_sim::traffic::sizes::{DATA_MINING, SizeDistribution, WEB_SEARCH};

/// Flows are mice below this many bytes, and elephants above the other number.
const MOUSE_BYTES: u64 = 10_000;
const ELEPHANT_BYTES: u64 = 10_000_000;
/// A number that gives this user of a seed its own random stream.
const STREAM: u64 = 0xf10;

/// A class of flows by their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowClass {
    /// Below 10 KB.
    Mouse,
    /// In between.
    Rabbit,
    /// Above 10 MB.
    Elephant,
}

impl FlowClass {
    /// All classes.
    pub const ALL: [Self; 3] = [Self::Mouse, Self::Rabbit, Self::Elephant];

    /// The class of a size.
    pub fn of(bytes: u64) -> Self {
        match bytes {
            0..MOUSE_BYTES => Self::Mouse,
            MOUSE_BYTES..=ELEPHANT_BYTES => Self::Rabbit,
            _ => Self::Elephant,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mouse => "mice",
            Self::Rabbit => "rabbits",
            Self::Elephant => "elephants",
        }
    }
}

/// A flow that begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowArrival {
    /// The time, in seconds.
    pub start: f64,
    /// The server that sends, and the one that receives.
    pub servers: (usize, usize),
    /// Its size.
    pub bytes: u64,
}

/// The plan by which flows arrive.
pub struct ArrivalPlan<'a> {
    /// The distribution of sizes.
    pub sizes: &'a SizeDistribution,
    /// The size at which flows are cut off.
    pub most_bytes: f64,
    /// Servers of each leaf, and leaves.
    pub servers_per_leaf: usize,
    /// See `servers_per_leaf`.
    pub leaves: usize,
    /// The rate of a server's link in bits per second, and the share of it that is offered.
    pub link_bps: f64,
    /// See `link_bps`.
    pub load: f64,
}

impl ArrivalPlan<'_> {
    /// Flows that begin in a second: a Poisson process of all servers together.
    pub fn flows_per_second(&self) -> f64 {
        let servers = (self.servers_per_leaf * self.leaves) as f64;
        servers * self.load * self.link_bps / (8.0 * self.sizes.mean(self.most_bytes))
    }

    /// The first flows, between servers of different leaves. Equal seeds give equal flows.
    pub fn arrivals(&self, seed: u64, count: usize) -> Vec<FlowArrival> {
        let mut random = Random::new(seed, STREAM);
        let servers = self.servers_per_leaf * self.leaves;
        let rate = self.flows_per_second();
        let mut start = 0.0;
        let mut arrivals = Vec::with_capacity(count);
        for _ in 0..count {
            start -= (1.0 - random.unit()).ln() / rate;
            let from = random.below(servers as u64) as usize;
            let leaf = from / self.servers_per_leaf;
            let other = random.below((servers - self.servers_per_leaf) as u64) as usize;
            // Servers of the sender's leaf are excluded.
            let beyond = other >= leaf * self.servers_per_leaf;
            let to = other + usize::from(beyond) * self.servers_per_leaf;
            let bytes = self.sizes.size_at(random.unit()).min(self.most_bytes);
            arrivals.push(FlowArrival {
                start,
                servers: (from, to),
                bytes: (bytes as u64).max(1),
            });
        }
        arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(sizes: &SizeDistribution) -> ArrivalPlan<'_> {
        ArrivalPlan {
            sizes,
            most_bytes: f64::INFINITY,
            servers_per_leaf: 20,
            leaves: 4,
            link_bps: 100e6,
            load: 0.1,
        }
    }

    #[test]
    fn rates_are_those_that_are_published() {
        assert!((plan(&WEB_SEARCH).flows_per_second() - 58.4).abs() < 0.05);
        assert!((plan(&DATA_MINING).flows_per_second() - 7.90).abs() < 0.005);
    }

    #[test]
    fn flows_are_between_leaves_at_the_rate_and_of_the_mean_that_was_wanted() {
        let plan = plan(&WEB_SEARCH);
        let arrivals = plan.arrivals(1, 20_000);
        assert!(
            arrivals
                .iter()
                .all(|a| a.servers.0 / 20 != a.servers.1 / 20)
        );
        assert!(
            arrivals
                .iter()
                .all(|a| a.servers.0 < 80 && a.servers.1 < 80)
        );
        let rate = 20_000.0 / arrivals.last().unwrap().start;
        assert!(
            (rate / plan.flows_per_second() - 1.0).abs() < 0.03,
            "{rate}"
        );
        let bytes: u64 = arrivals.iter().map(|arrival| arrival.bytes).sum();
        let mean = bytes as f64 / 20_000.0;
        assert!((mean / 1_711_250.0 - 1.0).abs() < 0.05, "{mean}");
        assert_eq!(arrivals, plan.arrivals(1, 20_000));
        assert_ne!(arrivals, plan.arrivals(2, 20_000));
    }
}
