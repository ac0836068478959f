//! The list of all cases, in groups. Cases of a group share a turn.

use crate::bench::case::Case;
use crate::bench::host_case;
use crate::bench::hostile;
use crate::bench::idle;
use crate::bench::known_flows;
use crate::bench::switch_case;
use crate::testbed::setup::Setup;
use crate::testbed::traffic::Load;

/// The case that compares the modes of a switch.
pub const MODE_SPEEDUP: &str = "mode-speedup";

/// Cases that a set-up runs one after the other in its turn.
pub struct CaseGroup {
    /// The set-ups that run them.
    pub setups: &'static [Setup],
    /// The number of rounds, unless another one is requested.
    pub rounds: usize,
    /// True if the hosts use their offloads.
    pub offloads: bool,
    /// True if a switch's entries are restored after each case.
    pub resets: bool,
    /// The cases.
    pub cases: &'static [Case],
}

// Open vSwitch drops frames with an unfinished checksum, unless userspace-tso is on.
const PLAIN: &[Setup] = &[
    Setup::Direct,
    Setup::Bridge,
    Setup::Yardstick,
    Setup::Recvmmsg,
    Setup::Bofuss,
    Setup::BofussAccelerated,
    Setup::Ovs,
    Setup::OvsXdp,
];
const OFFLOADING: &[Setup] = &[
    Setup::Direct,
    Setup::Bridge,
    Setup::Yardstick,
    Setup::Recvmmsg,
    Setup::Bofuss,
    Setup::BofussAccelerated,
    Setup::OvsTso,
];
const SWITCHES: &[Setup] = &[Setup::Bofuss, Setup::Ovs, Setup::OvsXdp];
/// The modes of a switch: entries from port to port, learning, ARP-Path; and the kernel's bridge.
const MODES: &[Setup] = &[
    Setup::Bridge,
    Setup::Bofuss,
    Setup::BofussNormal,
    Setup::BofussArpPath,
];
/// A switch that keeps a state for each flow, and one that does not.
const FLOW_STATES: &[Setup] = &[Setup::Bofuss, Setup::BofussOpenQflow];
/// A router of three tables in OpenFlow and in P4.
const ROUTERS: &[Setup] = &[Setup::BofussRouter, Setup::BofussP4];
/// The switch alone and with known flows in the kernel, and the kernel's bridge.
const BELOW: &[Setup] = &[Setup::Bridge, Setup::Bofuss, Setup::BofussAccelerated];
/// Set-ups for cases in which the kind of polling does not matter.
const TWO: &[Setup] = &[Setup::Bofuss, Setup::Ovs];
/// The same, and bofuss with another C library.
const THREE: &[Setup] = &[Setup::Bofuss, Setup::BofussStatic, Setup::Ovs];
const NONE: (&str, &[u32]) = ("", &[0]);

/// All cases. Longer cases have fewer rounds.
pub const GROUPS: &[CaseGroup] = &[
    CaseGroup {
        setups: PLAIN,
        rounds: 5,
        offloads: false,
        resets: false,
        cases: FRAMES,
    },
    CaseGroup {
        setups: PLAIN,
        rounds: 3,
        offloads: false,
        resets: false,
        cases: HOSTS,
    },
    CaseGroup {
        setups: MODES,
        rounds: 7,
        offloads: false,
        resets: false,
        cases: &[Case {
            name: MODE_SPEEDUP,
            title: "UDP echoes by legacy modes and by OpenFlow entries",
            parameters: ("bytes", &[64, 128, 256]),
            run: host_case::echoes_of_mode,
        }],
    },
    CaseGroup {
        setups: OFFLOADING,
        rounds: 7,
        offloads: true,
        resets: false,
        cases: &[Case {
            name: "tcp",
            title: "TCP with offloads",
            parameters: ("streams", &[1, 4]),
            run: host_case::tcp,
        }],
    },
    CaseGroup {
        setups: &[Setup::Bofuss, Setup::BofussAccelerated],
        rounds: 3,
        offloads: true,
        resets: true,
        cases: &[Case {
            name: "tcp-meter",
            title: "TCP with offloads through a meter, which stands before the table that forwards",
            parameters: ("Mb/s of the meter", &[200, 100_000]),
            run: switch_case::tcp_meter,
        }],
    },
    CaseGroup {
        setups: BELOW,
        rounds: 3,
        offloads: false,
        resets: false,
        cases: &[Case {
            name: "known-flows",
            title: "64-byte frames of flows in random order that have passed before",
            parameters: ("flows", &[1, 1_000, 100_000]),
            run: known_flows::known_flows,
        }],
    },
    CaseGroup {
        setups: &[Setup::Bofuss, Setup::BofussAccelerated],
        rounds: 5,
        offloads: false,
        resets: true,
        cases: ATTEMPTS,
    },
    CaseGroup {
        setups: &[Setup::Bofuss],
        rounds: 3,
        offloads: true,
        resets: true,
        cases: SUPER_FRAMES,
    },
    CaseGroup {
        setups: SWITCHES,
        rounds: 3,
        offloads: false,
        resets: true,
        cases: PIPELINES,
    },
    CaseGroup {
        setups: FLOW_STATES,
        rounds: 5,
        offloads: false,
        resets: true,
        cases: &[Case {
            name: "flow-states",
            title: "64-byte frames of known flows in random order, with a state for each or none",
            parameters: ("flows", &[1_000, 1_000_000]),
            run: switch_case::flow_states,
        }],
    },
    CaseGroup {
        setups: ROUTERS,
        rounds: 5,
        offloads: false,
        resets: false,
        cases: &[Case {
            name: "router",
            title: "64-byte frames of flows in random order through a router of three tables",
            parameters: ("flows", &[1, 1_000, 100_000]),
            run: |c| host_case::frames(c, host_case::spread(c.parameter)),
        }],
    },
    CaseGroup {
        setups: THREE,
        rounds: 3,
        offloads: false,
        resets: true,
        cases: CONTROLLERS,
    },
    CaseGroup {
        setups: TWO,
        rounds: 2,
        offloads: false,
        resets: true,
        cases: &[
            rules(&[1, 1_000, 100_000]),
            Case {
                name: "stats",
                title: "statistics of all flows over one TCP connection",
                parameters: ("flows", &[1, 10_000, 1_000_000]),
                run: switch_case::stats,
            },
        ],
    },
    // In a fresh process, which cannot reuse memory of earlier cases.
    CaseGroup {
        setups: TWO,
        rounds: 2,
        offloads: false,
        resets: false,
        cases: &[rules(&[1_000_000])],
    },
    CaseGroup {
        setups: TWO,
        rounds: 1,
        offloads: false,
        resets: false,
        cases: &[Case {
            name: "idle",
            title: "idle switches with four ports",
            parameters: ("switches", &[1, 100]),
            run: idle::run,
        }],
    },
];

const fn rules(counts: &'static [u32]) -> Case {
    Case {
        name: "rules",
        title: "64-byte frames of many flows in random order, a rule for each",
        parameters: ("rules", counts),
        run: switch_case::rules,
    }
}

const FRAMES: &[Case] = &[
    Case {
        name: "frames",
        title: "64-byte frames one way, at saturation",
        parameters: NONE,
        run: |c| host_case::frames(c, Load::of(host_case::FRAMES)),
    },
    Case {
        name: "both-ways",
        title: "64-byte frames both ways, at saturation",
        parameters: NONE,
        run: host_case::both_ways,
    },
    Case {
        name: "share",
        title: "64-byte frames at a share of the yardstick's maximum",
        parameters: ("percent", &[10, 50]),
        run: host_case::share,
    },
];

const HOSTS: &[Case] = &[
    Case {
        name: "rtt",
        title: "UDP echoes, one at a time",
        parameters: ("bytes", &[64, 128, 256]),
        run: host_case::round_trips,
    },
    Case {
        name: "tcp-plain",
        title: "TCP without offloads",
        parameters: ("streams", &[1, 4]),
        run: host_case::tcp,
    },
];

/// What the accelerator may cost where it cannot help, or is disturbed.
const ATTEMPTS: &[Case] = &[
    Case {
        name: "known-churn",
        title: "64-byte frames of a known flow during 10,000 flow-mods per second",
        parameters: NONE,
        run: switch_case::churn,
    },
    Case {
        name: "unknown",
        title: "64-byte frames, each of another flow",
        parameters: ("masks", &[128]),
        run: switch_case::attack,
    },
];

const SUPER_FRAMES: &[Case] = &[
    Case {
        name: "tcp-flags",
        title: "TCP with offloads through entries that match tcp_flags",
        parameters: ("streams", &[1]),
        run: switch_case::tcp_flags,
    },
    Case {
        name: "hostile",
        title: "UDP echoes while another port sends super-frames of 1,250 segments",
        parameters: NONE,
        run: hostile::super_frames,
    },
];

const PIPELINES: &[Case] = &[
    Case {
        name: "flows",
        title: "64-byte frames of many flows in random order, one rule",
        parameters: ("flows", &[1, 10, 1_000, 10_000, 100_000, 1_000_000]),
        run: |c| host_case::frames(c, host_case::spread(c.parameter)),
    },
    Case {
        name: "tables",
        title: "64-byte frames through many tables",
        parameters: ("tables", &[1, 5, 20]),
        run: switch_case::tables,
    },
    Case {
        name: "masks",
        title: "64-byte frames that match none of the rules, by number of masks",
        parameters: ("masks", &[1, 16, 128, 512]),
        run: switch_case::masks,
    },
    Case {
        name: "attack",
        title: "64-byte frames with random addresses and ports that match no rule",
        parameters: ("masks", &[128, 8_000]),
        run: switch_case::attack,
    },
];

const CONTROLLERS: &[Case] = &[
    Case {
        name: "flow-mods",
        title: "adding rules over one TCP connection",
        parameters: ("rules", &[100_000]),
        run: switch_case::flow_mods,
    },
    Case {
        name: "churn",
        title: "64-byte frames during 10,000 flow-mods per second",
        parameters: NONE,
        run: switch_case::churn,
    },
    Case {
        name: "first-packet",
        title: "first packets: packet-in, flow-mod, packet-out",
        parameters: ("percent of load beside", &[0, 10]),
        run: switch_case::first_packets,
    },
    Case {
        name: "packet-ins",
        title: "packet-ins to a controller when every frame misses",
        parameters: NONE,
        run: switch_case::packet_ins,
    },
];
