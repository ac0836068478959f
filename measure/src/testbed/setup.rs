//! The set-ups that are measured: the switch, the yardsticks and Open vSwitch, each between the
//! same two hosts.

use std::path::{Path, PathBuf};

use crate::testbed::router;

/// The rules of a switch between two hosts.
pub const BASE: [&str; 2] = [
    "priority=10,in_port=1,actions=output:2",
    "priority=10,in_port=2,actions=output:1",
];

/// The connection between the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setup {
    /// A veth pair.
    Direct,
    /// The kernel's bridge.
    Bridge,
    /// The bare forwarder: the switch's own drivers and nothing else.
    Yardstick,
    /// A bare forwarder on plain system calls.
    Recvmmsg,
    /// bofuss.
    Bofuss,
    /// The same, where the kernel forwards the frames of known flows.
    BofussAccelerated,
    /// bofuss as the packages have it: static, with musl's C library.
    BofussStatic,
    /// Open vSwitch's userspace datapath on ordinary ports.
    Ovs,
    /// The same on AF_XDP ports, polling.
    OvsXdp,
    /// The same on ordinary ports with userspace-tso.
    OvsTso,
    /// Open vSwitch's datapath in the kernel.
    OvsKernel,
    /// bofuss as a learning switch: one entry, with NORMAL.
    BofussNormal,
    /// bofuss with ARP-Path: one entry, with its action.
    BofussArpPath,
    /// bofuss as a router with three OpenFlow tables.
    BofussRouter,
    /// The same as a P4 program.
    BofussP4,
    /// bofuss with OpenQFlow: a state for each flow, and one rule for each direction.
    BofussOpenQflow,
}

impl Setup {
    /// All set-ups, in the order of a round.
    pub const ALL: [Self; 16] = [
        Self::Direct,
        Self::Bridge,
        Self::Yardstick,
        Self::Recvmmsg,
        Self::Bofuss,
        Self::BofussAccelerated,
        Self::BofussStatic,
        Self::Ovs,
        Self::OvsXdp,
        Self::OvsTso,
        Self::BofussNormal,
        Self::BofussArpPath,
        Self::BofussOpenQflow,
        Self::BofussRouter,
        Self::BofussP4,
        Self::OvsKernel,
    ];

    /// Its name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Bridge => "bridge",
            Self::Yardstick => "yardstick",
            Self::Recvmmsg => "recvmmsg",
            Self::Bofuss => "bofuss",
            Self::BofussAccelerated => "bofuss-accelerated",
            Self::BofussStatic => "bofuss-static",
            Self::Ovs => "ovs",
            Self::OvsXdp => "ovs-afxdp",
            Self::OvsTso => "ovs-tso",
            Self::OvsKernel => "ovs-kernel",
            Self::BofussNormal => "bofuss-normal",
            Self::BofussArpPath => "bofuss-arp-path",
            Self::BofussOpenQflow => "bofuss-openqflow",
            Self::BofussRouter => "bofuss-router",
            Self::BofussP4 => "bofuss-p4",
        }
    }

    /// Its name in plots.
    pub fn title(self) -> &'static str {
        match self {
            Self::Direct => "one cable",
            Self::Bridge => "Linux bridge",
            Self::Yardstick => "bare forwarder (yardstick)",
            Self::Recvmmsg => "bare forwarder on recvmmsg",
            Self::Bofuss => "bofuss",
            Self::BofussAccelerated => "bofuss, accelerated",
            Self::BofussStatic => "bofuss, static (packages)",
            Self::Ovs => "Open vSwitch",
            Self::OvsXdp => "Open vSwitch with AF_XDP",
            Self::OvsTso => "Open vSwitch with TSO",
            Self::OvsKernel => "Open vSwitch in the kernel",
            Self::BofussNormal => "bofuss, NORMAL",
            Self::BofussArpPath => "bofuss, ARP-Path",
            Self::BofussOpenQflow => "bofuss, OpenQFlow",
            Self::BofussRouter => "bofuss, a router",
            Self::BofussP4 => "bofuss, the router in P4",
        }
    }

    /// Returns true if it speaks OpenFlow.
    pub fn is_switch(self) -> bool {
        !matches!(
            self,
            Self::Direct | Self::Bridge | Self::Yardstick | Self::Recvmmsg | Self::BofussP4
        )
    }

    /// Returns true if it belongs to another project.
    pub fn is_foreign(self) -> bool {
        matches!(
            self,
            Self::Ovs | Self::OvsXdp | Self::OvsTso | Self::OvsKernel
        )
    }

    /// Our program of this set-up.
    pub fn program(self, programs: &Path) -> PathBuf {
        if self == Self::BofussStatic {
            return static_program(programs);
        }
        programs.join("bofuss")
    }

    /// The entries that a switch begins with.
    pub fn entries(self) -> &'static [&'static str] {
        match self {
            Self::BofussOpenQflow => &[
                "table=1,priority=10,in_port=1,actions=qflow_forward(port=2)",
                "table=1,priority=10,in_port=2,actions=qflow_forward(port=1)",
            ],
            Self::BofussNormal => &["priority=10,actions=NORMAL"],
            Self::BofussArpPath => &["priority=10,actions=arp_path"],
            Self::BofussRouter => &router::OPENFLOW,
            Self::Bofuss
            | Self::BofussAccelerated
            | Self::BofussStatic
            | Self::Ovs
            | Self::OvsXdp
            | Self::OvsTso
            | Self::OvsKernel => &BASE,
            Self::Direct | Self::Bridge | Self::Yardstick | Self::Recvmmsg | Self::BofussP4 => &[],
        }
    }

    /// The address from which frames to host B come if it is a router.
    pub fn router(self) -> Option<[u8; 6]> {
        matches!(self, Self::BofussRouter | Self::BofussP4).then_some(router::MAC)
    }

    /// The options of extensions with which bofuss starts.
    pub fn options(self) -> &'static [&'static str] {
        if self == Self::BofussOpenQflow {
            return &[
                "openqflow.table=0",
                "openqflow.forwarding=1",
                "openqflow.flows=2000000",
            ];
        }
        &[]
    }
}

/// The static program that cargo built for this machine, next to our other programs' folder.
pub(super) fn static_program(programs: &Path) -> PathBuf {
    let target = format!(
        "../{}-unknown-linux-musl/release/bofuss",
        std::env::consts::ARCH
    );
    programs.join(target)
}
