//! Converts the link modes of interfaces to OpenFlow's port features, and back.

use bofuss_oflib::message::port::PortFeatures as Features;
use bofuss_ports::LinkModes;

/// Speeds in Mb/s, with OpenFlow's features for full and half duplex; the slowest first.
const SPEEDS: &[(u32, Features, Features)] = &[
    (10, Features::FD_10MB, Features::HD_10MB),
    (100, Features::FD_100MB, Features::HD_100MB),
    (1_000, Features::FD_1GB, Features::HD_1GB),
    (10_000, Features::FD_10GB, Features::OTHER),
    (40_000, Features::FD_40GB, Features::OTHER),
    (100_000, Features::FD_100GB, Features::OTHER),
    (1_000_000, Features::FD_1TB, Features::OTHER),
];

/// The system's link modes (bits of `ADVERTISED_*`), with OpenFlow's features. There are only 32
/// bits: faster modes show as current speed only.
const MODES: &[(u32, Features)] = &[
    (1 << 0, Features::HD_10MB),
    (1 << 1, Features::FD_10MB),
    (1 << 2, Features::HD_100MB),
    (1 << 3, Features::FD_100MB),
    (1 << 4, Features::HD_1GB),
    (1 << 5 | 1 << 17, Features::FD_1GB),
    (1 << 6, Features::AUTONEG),
    (1 << 7, Features::COPPER),
    (1 << 10, Features::FIBER),
    (1 << 12 | 1 << 18 | 1 << 19 | 1 << 20, Features::FD_10GB),
    (1 << 13, Features::PAUSE),
    (1 << 14, Features::PAUSE_ASYM),
    (1 << 15 | 1 << 21 | 1 << 22 | 0xf << 27, Features::OTHER),
    (0xf << 23, Features::FD_40GB),
];

/// The features of link modes.
pub fn of_modes(modes: u32) -> Features {
    let mut features = Features(0);
    for (bits, feature) in MODES {
        if modes & bits != 0 {
            features = features | *feature;
        }
    }
    features
}

/// The link modes among `supported` that have these features.
pub fn to_modes(features: Features, supported: u32) -> u32 {
    let mut modes = 0;
    for (bits, feature) in MODES {
        if features.has(*feature) {
            modes |= bits & supported;
        }
    }
    modes
}

/// The current features of an interface.
pub fn current(modes: &LinkModes) -> Features {
    let Some(mbps) = modes.speed_mbps else {
        return Features(0);
    };
    let row = SPEEDS.iter().rfind(|(at_least, ..)| mbps >= *at_least);
    let speed = row.map_or(
        Features::OTHER,
        |&(_, full, half)| {
            if modes.half_duplex { half } else { full }
        },
    );
    let medium = if modes.fibre {
        Features::FIBER
    } else {
        Features::COPPER
    };
    let autoneg = if modes.autoneg {
        Features::AUTONEG
    } else {
        Features(0)
    };
    speed | medium | autoneg
}

/// The features that an interface supports; the current ones if it does not say.
pub fn supported(modes: &LinkModes) -> Features {
    match of_modes(modes.supported) {
        Features(0) => current(modes),
        said => said,
    }
}

/// The fastest of these, in Mb/s; 0 if none is a speed.
pub fn fastest_mbps(features: Features) -> u32 {
    SPEEDS
        .iter()
        .rfind(|(_, full, half)| {
            features.has(*full) || *half != Features::OTHER && features.has(*half)
        })
        .map_or(0, |row| row.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_features_say_the_same() {
        // A gigabit adapter: all speeds, negotiated over copper, with pause.
        let modes = 0x20ff;
        let features = of_modes(modes);
        assert!(features.has(Features::FD_1GB | Features::AUTONEG | Features::PAUSE));
        assert!(!features.has(Features::FIBER) && !features.has(Features::FD_10GB));
        assert_eq!(to_modes(features, modes), modes);
        assert_eq!(
            to_modes(Features::FD_10MB | Features::FD_10GB, modes),
            1 << 1
        );
        assert_eq!(fastest_mbps(features), 1_000);
        assert_eq!(of_modes(u32::MAX).0 & Features::FD_100GB.0, 0);
    }

    #[test]
    fn an_interface_is_what_it_says_or_at_least_what_it_is() {
        let veth = LinkModes {
            speed_mbps: Some(10_000),
            ..LinkModes::default()
        };
        let now = Features::FD_10GB | Features::COPPER;
        assert_eq!((current(&veth), supported(&veth)), (now, now));
        let slow = LinkModes {
            speed_mbps: Some(100),
            half_duplex: true,
            fibre: true,
            autoneg: true,
            supported: 0xff,
            ..LinkModes::default()
        };
        let now = Features::HD_100MB | Features::FIBER | Features::AUTONEG;
        assert_eq!(current(&slow), now);
        assert_eq!(fastest_mbps(supported(&slow)), 1_000);
        let unknown = LinkModes::default();
        assert_eq!(
            (current(&unknown), supported(&unknown)),
            (Features(0), Features(0))
        );
        assert_eq!(fastest_mbps(Features(0)), 0);
    }
}
