//! Starts a set-up, if this machine has what it needs.

use std::path::Path;
use std::time::Duration;

use bofuss_oflib::{Codec, Message};

use crate::error::Result;
use crate::testbed::foreign;
use crate::testbed::forwarder::{Forwarder, SwitchPlan};
use crate::testbed::held::held;
use crate::testbed::net::{SWITCH_PORTS, mac_text, run};
use crate::testbed::openflow::{adds, codec, encode, extension};
use crate::testbed::setup::{Setup, static_program};
use crate::testbed::traffic::ABSENT_HOSTS;

impl Setup {
    /// Returns true if this machine has what it needs; our programs are in the folder `programs`.
    pub fn is_here(self, programs: &Path) -> bool {
        let program = match self {
            Self::BofussStatic => return static_program(programs).exists(),
            Self::OvsKernel => return foreign::kernel_datapath().is_ok(),
            Self::Ovs | Self::OvsXdp => "ovs-vswitchd",
            Self::OvsTso => foreign::OVS_DPDK,
            // What is built here has an accelerator only then.
            Self::BofussAccelerated => "clang",
            Self::Direct
            | Self::Bridge
            | Self::Yardstick
            | Self::Recvmmsg
            | Self::Bofuss
            | Self::BofussNormal
            | Self::BofussArpPath
            | Self::BofussRouter
            | Self::BofussP4
            | Self::BofussOpenQflow => return true,
        };
        run(&format!("which {program}")).is_ok()
    }

    /// The further options with which bofuss starts.
    fn more(self) -> Vec<String> {
        let options = if self == Self::BofussAccelerated {
            &["--accelerate", "on", "--accelerated-flows", "131072"][..]
        } else {
            &["--accelerate", "off"]
        };
        options.iter().copied().map(String::from).collect()
    }

    /// Starts it on the two ports; a switch has its entries.
    ///
    /// Errors: a program that does not start or become ready.
    pub fn start(self, programs: &Path) -> Result<Forwarder> {
        let mut forwarder = Forwarder::default();
        match self {
            Self::Direct => {}
            Self::Bridge => {
                run("ip link add bridge0 type bridge")?;
                forwarder.bridge = true;
                run("ip link set bridge0 up")?;
                for port in SWITCH_PORTS {
                    run(&format!("ip link set {port} master bridge0"))?;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            Self::Yardstick | Self::Recvmmsg => {
                let program = programs.join("examples").join(self.name());
                forwarder.start(held(program).args(SWITCH_PORTS), "ready")?;
            }
            Self::Bofuss
            | Self::BofussAccelerated
            | Self::BofussStatic
            | Self::BofussNormal
            | Self::BofussArpPath
            | Self::BofussRouter
            | Self::BofussOpenQflow => {
                let plan = SwitchPlan {
                    options: self.options(),
                    more: self.more(),
                    ..SwitchPlan::usual()
                };
                forwarder = Forwarder::bofuss(&self.program(programs), &plan)?;
            }
            Self::BofussP4 => forwarder = Forwarder::p4_router(&self.program(programs))?,
            Self::Ovs | Self::OvsXdp | Self::OvsTso | Self::OvsKernel => {
                forwarder = Forwarder::open_vswitch(self, &[SwitchPlan::usual()])?;
            }
        }
        if self.is_switch() {
            let mut session = forwarder.session()?;
            let codec = codec();
            session.change(&adds(&codec, self.entries())?)?;
            if self == Self::BofussArpPath {
                session.change(&encode(&codec, pins(&codec)?))?;
            }
        }
        Ok(forwarder)
    }
}

/// The messages that pin the destinations of a load in ARP-Path, because nothing is sent from these
/// addresses.
///
/// Errors: bofuss does not know the message.
fn pins(codec: &Codec) -> Result<Vec<Message>> {
    let mut messages = Vec::new();
    for (mac, port) in ABSENT_HOSTS.into_iter().zip([2, 1]) {
        let text = format!("pin,mac={},port={port}", mac_text(mac));
        messages.push(extension(&codec.catalogue, "arp_path_mod", &text)?);
    }
    Ok(messages)
}
