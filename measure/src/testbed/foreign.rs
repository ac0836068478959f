//! Switches of other projects: Open vSwitch in its datapaths, and the original BOFUSS.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Result;
use crate::testbed::forwarder::{Forwarder, SwitchPlan, ready};
use crate::testbed::held::held;
use crate::testbed::huge_pages::{HUGE_MIB, HugePages};
use crate::testbed::net::run;
use crate::testbed::setup::Setup;

/// Open vSwitch with DPDK, which userspace-tso needs.
pub const OVS_DPDK: &str = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";
/// The path by which the kernel shows that it has Open vSwitch's datapath.
const LOADED: &str = "/sys/module/openvswitch";
/// The original's programs.
const ORIGINAL: [&str; 2] = ["ofdatapath", "ofprotocol"];

/// Returns true if a folder has the original BOFUSS.
pub fn original_is_in(folder: &Path) -> bool {
    ORIGINAL.iter().all(|name| folder.join(name).exists())
}

/// Returns true if this kernel has Open vSwitch's datapath or a module of it, and Open vSwitch is
/// there; nothing is loaded.
///
/// Errors: what is missing.
pub fn kernel_datapath() -> Result<()> {
    run("which ovs-vswitchd").map_err(|_| "ovs-vswitchd is not installed")?;
    if Path::new(LOADED).exists() {
        return Ok(());
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let modules = Path::new("/lib/modules").join(release.trim());
    if lists_datapath(&modules) {
        return Ok(());
    }
    let modules = modules.display();
    Err(format!(
        "this kernel has no module openvswitch, which has the datapath: none is loaded, and \
         {modules} lists none"
    )
    .into())
}

/// Returns true if the datapath is a module of this folder, or of those that the kernel has in
/// itself.
fn lists_datapath(modules: &Path) -> bool {
    ["modules.dep", "modules.builtin"].iter().any(|list| {
        let text = std::fs::read_to_string(modules.join(list)).unwrap_or_default();
        text.lines().any(|line| {
            let module = line.split(':').next().unwrap_or_default();
            module.contains("/openvswitch.ko")
        })
    })
}

/// Loads the datapath into the kernel, unless it is there.
fn load_datapath() -> Result<()> {
    if Path::new(LOADED).exists() {
        return Ok(());
    }
    run("modprobe openvswitch").map(drop)
}

impl Forwarder {
    /// The original BOFUSS: `ofdatapath` and `ofprotocol` of a folder.
    ///
    /// Errors: they are not there or do not start, or nothing listens for OpenFlow.
    pub fn original(folder: &Path, plan: &SwitchPlan) -> Result<Self> {
        if !original_is_in(folder) {
            let names = ORIGINAL.join(" and ");
            let at = folder.display();
            return Err(
                format!("{at} does not have {names}: name their folder by --original").into(),
            );
        }
        let [datapath, protocol] = ORIGINAL.map(|name| folder.join(name));
        let mut this = Self::default();
        let socket = format!("unix:{}/datapath", this.scratch_folder()?);
        let mut datapath = held(datapath);
        let ports = plan.ports.join(",");
        datapath.args(["--no-slicing", "-i", &ports, &format!("p{socket}")]);
        this.spawn_unread(&mut datapath)?;
        let at = socket.trim_start_matches("unix:").to_owned();
        ready("ofdatapath", || Path::new(&at).exists())?;
        let mut protocol = held(protocol);
        let port = plan.openflow_port;
        protocol.args([&socket, &format!("ptcp:{port}")]);
        this.spawn_unread(&mut protocol)?;
        ready("ofprotocol", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        })?;
        Ok(this)
    }

    /// Open vSwitch with these bridges.
    ///
    /// Errors: a program that does not start or become ready.
    pub fn open_vswitch(setup: Setup, plans: &[SwitchPlan]) -> Result<Self> {
        if setup == Setup::OvsKernel {
            load_datapath()?;
        }
        let mut this = Self::default();
        let at = this.scratch_folder()?;
        let schema = "/usr/share/openvswitch/vswitch.ovsschema";
        run(&format!("ovsdb-tool create {at}/conf.db {schema}"))?;
        let mut database = ovs_command("ovsdb-server", &at);
        database.args([
            &format!("{at}/conf.db"),
            &format!("--remote=punix:{at}/db.sock"),
        ]);
        database.args([&format!("--unixctl={at}/db.ctl")]);
        this.spawn_unread(&mut database)?;
        ready("ovsdb-server", || this.vsctl("--no-wait init").is_ok())?;
        let program = if setup == Setup::OvsTso {
            this.huge_pages = Some(HugePages::reserve()?);
            this.vsctl(&format!(
                "--no-wait set Open_vSwitch . other_config:dpdk-init=true \
                 other_config:dpdk-extra=--no-pci other_config:dpdk-socket-mem={HUGE_MIB} \
                 other_config:userspace-tso-enable=true"
            ))?;
            OVS_DPDK
        } else {
            "ovs-vswitchd"
        };
        let mut daemon = ovs_command(program, &at);
        daemon.args([
            &format!("unix:{at}/db.sock"),
            &format!("--unixctl={at}/vs.ctl"),
        ]);
        this.spawn_unread(&mut daemon)?;
        for plan in plans {
            this.add_bridge(setup, plan)?;
        }
        for plan in plans {
            let port = plan.openflow_port;
            ready("Open vSwitch", || {
                std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
            })?;
        }
        Ok(this)
    }

    /// Adds a bridge of which the ports have their place in the list as their number.
    fn add_bridge(&self, setup: Setup, plan: &SwitchPlan) -> Result<()> {
        let name = &plan.name;
        let datapath = if setup == Setup::OvsKernel {
            "system"
        } else {
            "netdev"
        };
        let mut words = format!(
            "add-br {name} -- set bridge {name} datapath_type={datapath} fail-mode=secure \
             -- set-controller {name} ptcp:{}",
            plan.openflow_port
        );
        for (number, port) in (1..).zip(&plan.ports) {
            words += &format!(
                " -- add-port {name} {port} -- set interface {port} ofport_request={number}"
            );
            if setup == Setup::OvsXdp {
                words += " type=afxdp options:n_rxq=1 options:xdp-mode=native";
            }
        }
        self.vsctl(&words)
    }

    /// Adds more bridges with these ports to Open vSwitch.
    ///
    /// Errors: what it complains about.
    pub fn add_bridges(&self, ports: &[[String; 4]]) -> Result<()> {
        let mut words = String::new();
        for (number, ports) in ports.iter().enumerate() {
            let bridge = format!("idle{number}");
            words += &format!(" -- add-br {bridge} -- set bridge {bridge} datapath_type=netdev");
            for port in ports {
                words += &format!(" -- add-port {bridge} {port}");
            }
        }
        self.vsctl(&words)
    }

    /// Removes these bridges.
    ///
    /// Errors: what it complains about.
    pub fn remove_bridges(&self, count: usize) -> Result<()> {
        let words: String = (0..count).map(|n| format!(" -- del-br idle{n}")).collect();
        self.vsctl(&words)
    }

    /// Runs a command on the database of this Open vSwitch.
    fn vsctl(&self, words: &str) -> Result<()> {
        let folder = self.folder.as_ref().ok_or("this is not Open vSwitch")?;
        let at = folder.path().display();
        let command = format!("ovs-vsctl --db=unix:{at}/db.sock --timeout=30 {words}");
        run(&command).map(drop)
    }

    /// Starts a program and discards its output; the last one is the first of the processes.
    fn spawn_unread(&mut self, command: &mut Command) -> Result<()> {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
        self.processes.insert(0, child);
        Ok(())
    }
}

/// A command of Open vSwitch that has its files in a folder.
fn ovs_command(program: &str, folder: &str) -> Command {
    let mut command = held(program);
    for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
        command.env(variable, folder);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::held::ScratchFolder;

    #[test]
    fn a_module_of_the_kernel_is_found_without_loading_it() {
        for (list, text, is_there) in [
            (
                "modules.dep",
                "kernel/net/openvswitch/openvswitch.ko.xz: kernel/net/nsh/nsh.ko.xz\n",
                true,
            ),
            (
                "modules.builtin",
                "kernel/net/openvswitch/openvswitch.ko\n",
                true,
            ),
            (
                "modules.dep",
                "kernel/net/openvswitch/vport-vxlan.ko: kernel/net/openvswitch/openvswitch.ko\n",
                false,
            ),
        ] {
            let folder = ScratchFolder::new().unwrap();
            assert!(!lists_datapath(folder.path()));
            std::fs::write(folder.path().join(list), text).unwrap();
            assert_eq!(lists_datapath(folder.path()), is_there, "{text}");
        }
    }
}
