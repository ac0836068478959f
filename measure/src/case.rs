//! The cases: what is done between two hosts, in groups that have their turns together.

use std::path::Path;

use bofuss_oflib::message::FlowModCommand;

use crate::net::Bed;
use crate::openflow::{adds, codec, encode, mods};
use crate::setup::{Forwarder, Setup};
use crate::traffic::Load;
use crate::{host_case, idle, switch_case};

/// Where a case runs.
pub struct Context<'a> {
    /// The hosts.
    pub bed: &'a Bed,
    /// What joins them.
    pub forwarder: &'a Forwarder,
    /// What that is.
    pub setup: Setup,
    /// Where our programs are.
    pub programs: &'a Path,
    /// The case's parameter.
    pub parameter: u32,
    /// Frames a second that the yardstick carries.
    pub capacity: f64,
}

/// What is measured, and its unit.
pub type Metric = (&'static str, &'static str);
/// Processor time of what forwards, for each frame that arrives.
pub const PROCESSOR: Metric = ("processor", "ns/frame");
/// Frames that arrive.
pub const RATE: Metric = ("rate", "frames/s");

/// What a case found out.
pub type Figures = Result<Vec<(Metric, f64)>, String>;

/// One case.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// What it is, for a title.
    pub title: &'static str,
    /// What its parameter counts, and the values that it takes; one row without name for none.
    pub parameters: (&'static str, &'static [u32]),
    run: fn(&Context<'_>) -> Figures,
}

/// Cases that a set-up does one after the other before the next one has its turn.
pub struct Group {
    /// Who does them.
    pub setups: &'static [Setup],
    /// How often each has its turn, if not less is asked for.
    pub rounds: usize,
    /// Whether the hosts use their offloads.
    pub offloads: bool,
    /// Whether a switch's entries are put back after each.
    pub resets: bool,
    /// What they do.
    pub cases: &'static [Case],
}

// Open vSwitch loses what comes with an unfinished checksum, unless userspace-tso is on.
const PLAIN: &[Setup] = &[
    Setup::Direct,
    Setup::Bridge,
    Setup::Yardstick,
    Setup::Bofuss,
    Setup::Ovs,
    Setup::OvsXdp,
];
const OFFLOADING: &[Setup] = &[
    Setup::Direct,
    Setup::Bridge,
    Setup::Yardstick,
    Setup::Bofuss,
    Setup::OvsTso,
];
const SWITCHES: &[Setup] = &[Setup::Bofuss, Setup::Ovs, Setup::OvsXdp];
/// Where it does not matter what polls the ports.
const TWO: &[Setup] = &[Setup::Bofuss, Setup::Ovs];
const NONE: (&str, &[u32]) = ("", &[0]);

/// All cases. The longer one takes, the fewer its rounds.
pub const GROUPS: &[Group] = &[
    Group {
        setups: PLAIN,
        rounds: 5,
        offloads: false,
        resets: false,
        cases: FRAMES,
    },
    Group {
        setups: PLAIN,
        rounds: 3,
        offloads: false,
        resets: false,
        cases: HOSTS,
    },
    Group {
        setups: OFFLOADING,
        rounds: 5,
        offloads: true,
        resets: false,
        cases: &[Case {
            name: "tcp",
            title: "TCP with offloads",
            parameters: ("streams", &[1, 4]),
            run: host_case::tcp,
        }],
    },
    Group {
        setups: SWITCHES,
        rounds: 3,
        offloads: false,
        resets: true,
        cases: PIPELINES,
    },
    Group {
        setups: TWO,
        rounds: 3,
        offloads: false,
        resets: true,
        cases: CONTROLLERS,
    },
    Group {
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
    // In a process that has had no others, whose memory it would have again.
    Group {
        setups: TWO,
        rounds: 2,
        offloads: false,
        resets: false,
        cases: &[rules(&[1_000_000])],
    },
    Group {
        setups: TWO,
        rounds: 1,
        offloads: false,
        resets: false,
        cases: &[Case {
            name: "idle",
            title: "switches of four ports without anything to do",
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
        title: "64-byte frames at a share of what the yardstick carries",
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
        title: "64-byte frames that rules of so many masks do not match",
        parameters: ("masks", &[1, 16, 128, 512]),
        run: switch_case::masks,
    },
    Case {
        name: "attack",
        title: "64-byte frames of random addresses and ports that no rule is for",
        parameters: ("masks", &[128]),
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
        title: "64-byte frames while 10,000 flow-mods a second are made",
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
        title: "packet-ins that a controller gets when every frame misses",
        parameters: NONE,
        run: switch_case::packet_ins,
    },
];

impl Case {
    /// Runs it, and leaves a switch with its two rules if `reset` is wanted.
    ///
    /// Errors: a wrong result, or what failed.
    pub fn run(&self, context: &Context<'_>, reset: bool) -> Figures {
        let figures = (self.run)(context);
        if reset {
            let mut session = context.forwarder.session()?;
            let codec = codec();
            let mut rules = encode(
                &codec,
                mods(&codec.catalogue, FlowModCommand::DELETE, [""])?,
            );
            rules.extend(adds(&codec, BASE)?);
            session.change(&rules)?;
        }
        figures
    }
}

/// The rules of a switch between two hosts.
pub const BASE: [&str; 2] = [
    "priority=10,in_port=1,actions=output:2",
    "priority=10,in_port=2,actions=output:1",
];
