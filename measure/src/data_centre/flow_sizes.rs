//! Flows of a data centre: the published distributions of their sizes, and when they begin.

use bofuss_sim::Random;

/// A distribution of flow sizes: numbers of bytes, each with the share of flows that have at most
/// this many; linear between them.
pub struct SizeDistribution {
    /// Its name.
    pub name: &'static str,
    /// Its points.
    pub points: &'static [(f64, f64)],
}

/// Web search. Source: Alizadeh et al., Data Center TCP, as in `DCTCP_CDF.txt` of
/// HKUST-SING/TrafficGenerator.
pub const WEB_SEARCH: SizeDistribution = SizeDistribution {
    name: "web search",
    points: &[
        (0.0, 0.0),
        (10e3, 0.15),
        (20e3, 0.20),
        (30e3, 0.30),
        (50e3, 0.40),
        (80e3, 0.53),
        (200e3, 0.60),
        (1e6, 0.70),
        (2e6, 0.80),
        (5e6, 0.90),
        (10e6, 0.97),
        (30e6, 1.0),
    ],
};

/// Data mining. Source: Greenberg et al., VL2, as in `VL2_CDF.txt` of the same.
pub const DATA_MINING: SizeDistribution = SizeDistribution {
    name: "data mining",
    points: &[
        (0.0, 0.0),
        (180.0, 0.1),
        (216.0, 0.2),
        (560.0, 0.3),
        (900.0, 0.4),
        (1_100.0, 0.5),
        (1_870.0, 0.6),
        (3_160.0, 0.7),
        (10e3, 0.8),
        (400e3, 0.9),
        (3.16e6, 0.95),
        (100e6, 0.98),
        (1e9, 1.0),
    ],
};

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

impl SizeDistribution {
    /// The mean size in bytes of flows that are cut off at `most` bytes.
    pub fn mean(&self, most: f64) -> f64 {
        let mut sum = 0.0;
        for pair in self.points.windows(2) {
            let [(low, below), (high, above)] = [pair[0], pair[1]];
            let share = above - below;
            sum += if high <= most {
                share * (low + high) / 2.0
            } else if low >= most {
                share * most
            } else {
                let within = (most - low) / (high - low);
                share * (within * (low + most) / 2.0 + (1.0 - within) * most)
            };
        }
        sum
    }

    /// The size at a share from 0 to 1.
    pub fn size_at(&self, share: f64) -> f64 {
        let pairs = self.points.windows(2);
        for pair in pairs {
            let [(low, below), (high, above)] = [pair[0], pair[1]];
            if share <= above {
                return low + (high - low) * (share - below) / (above - below);
            }
        }
        self.points.last().map_or(0.0, |last| last.0)
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
            start -= (1.0 - unit(&mut random)).ln() / rate;
            let from = random.below(servers as u64) as usize;
            let leaf = from / self.servers_per_leaf;
            let other = random.below((servers - self.servers_per_leaf) as u64) as usize;
            // Servers of the sender's leaf are excluded.
            let beyond = other >= leaf * self.servers_per_leaf;
            let to = other + usize::from(beyond) * self.servers_per_leaf;
            let bytes = self.sizes.size_at(unit(&mut random)).min(self.most_bytes);
            arrivals.push(FlowArrival {
                start,
                servers: (from, to),
                bytes: (bytes as u64).max(1),
            });
        }
        arrivals
    }
}

/// A random number from 0 to below 1.
fn unit(random: &mut Random) -> f64 {
    (random.next() >> 11) as f64 / (1u64 << 53) as f64
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
    fn means_and_rates_are_those_that_are_published() {
        assert_eq!(WEB_SEARCH.mean(f64::INFINITY).round(), 1_711_250.0);
        assert_eq!(DATA_MINING.mean(f64::INFINITY).round(), 12_658_199.0);
        assert!((plan(&WEB_SEARCH).flows_per_second() - 58.4).abs() < 0.05);
        assert!((plan(&DATA_MINING).flows_per_second() - 7.90).abs() < 0.005);
    }

    #[test]
    fn a_cut_off_mean_counts_what_is_above_as_the_bound() {
        let two = SizeDistribution {
            name: "",
            points: &[(0.0, 0.0), (100.0, 0.5), (300.0, 1.0)],
        };
        // Half of the flows have 50 on average, a quarter 150, and a quarter is cut off at 200.
        assert_eq!(two.mean(200.0), 25.0 + 37.5 + 50.0);
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
