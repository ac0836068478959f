//! The published distributions of the sizes of flows in data centres.

use serde::{Deserialize, Serialize};

/// A distribution of flow sizes: numbers of bytes, each with the share of flows that have at most
/// this many; linear between them.
#[derive(Debug)]
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

/// A distribution by its name in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// [`WEB_SEARCH`].
    WebSearch,
    /// [`DATA_MINING`].
    DataMining,
}

impl Sizes {
    /// The distribution.
    pub fn distribution(self) -> &'static SizeDistribution {
        match self {
            Self::WebSearch => &WEB_SEARCH,
            Self::DataMining => &DATA_MINING,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_those_that_are_published() {
        assert_eq!(WEB_SEARCH.mean(f64::INFINITY).round(), 1_711_250.0);
        assert_eq!(DATA_MINING.mean(f64::INFINITY).round(), 12_658_199.0);
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
}
