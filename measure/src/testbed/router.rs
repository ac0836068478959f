//! A router of three tables, as OpenFlow entries and as a P4 program, between the hosts.

use std::path::Path;

use crate::error::Result;
use crate::testbed::forwarder::{Forwarder, SwitchPlan};
use crate::testbed::held::held;
use crate::testbed::net::{SWITCH_PORTS, context};

/// The entries: a route by the longest prefix, the neighbour of the next hop, and the address of
/// the port that packets leave by.
pub const OPENFLOW: [&str; 6] = [
    "priority=24,ip,nw_dst=10.9.0.0/24,actions=goto_table:1",
    "priority=16,ip,nw_dst=10.9.0.0/16,actions=drop",
    "table=1,ip,nw_dst=10.9.0.1,actions=dec_ttl,set_field:02:00:00:00:00:1a->eth_dst,\
     write_metadata:1,goto_table:2",
    "table=1,ip,nw_dst=10.9.0.2,actions=dec_ttl,set_field:02:00:00:00:00:1b->eth_dst,\
     write_metadata:2,goto_table:2",
    "table=2,metadata=1,actions=set_field:02:00:00:00:01:00->eth_src,output:1",
    "table=2,metadata=2,actions=set_field:02:00:00:00:02:00->eth_src,output:2",
];
/// The address of port 2, which the entries write.
pub const MAC: [u8; 6] = [2, 0, 0, 0, 2, 0];
/// The program, and the same entries for it.
const P4: &str = include_str!("../../../examples/p4/router/router.json");
const P4_ENTRIES: &str = r#"{"table_entries": [
    {"table": "RouterIngress.routes", "match": {"hdr.ipv4.dst": ["10.9.0.0", 24]},
     "action_name": "RouterIngress.on_link", "action_params": {}},
    {"table": "RouterIngress.routes", "match": {"hdr.ipv4.dst": ["10.9.0.0", 16]},
     "action_name": "RouterIngress.drop", "action_params": {}},
    {"table": "RouterIngress.neighbours", "match": {"meta.hop": "10.9.0.1"},
     "action_name": "RouterIngress.send", "action_params": {"port": 1, "mac": "02:00:00:00:00:1a"}},
    {"table": "RouterIngress.neighbours", "match": {"meta.hop": "10.9.0.2"},
     "action_name": "RouterIngress.send", "action_params": {"port": 2, "mac": "02:00:00:00:00:1b"}},
    {"table": "RouterEgress.ports", "match": {"std.egress_port": 1},
     "action_name": "RouterEgress.from", "action_params": {"mac": "02:00:00:00:01:00"}},
    {"table": "RouterEgress.ports", "match": {"std.egress_port": 2},
     "action_name": "RouterEgress.from", "action_params": {"mac": "02:00:00:00:02:00"}}
]}"#;

impl Forwarder {
    /// Starts bofuss with the P4 program and its entries.
    ///
    /// Errors: it does not start, or the system's.
    pub(super) fn p4_router(program: &Path) -> Result<Self> {
        let mut this = Self::default();
        let folder = this.scratch_folder()?;
        let mut bofuss = held(program);
        bofuss.args(["run", "--name", &SwitchPlan::usual().name]);
        for (option, name, text) in [("--p4", "p4", P4), ("--p4-entries", "entries", P4_ENTRIES)] {
            let path = Path::new(&folder).join(name).with_extension("json");
            let named = path.display().to_string();
            std::fs::write(&path, text).map_err(context(named.as_str()))?;
            bofuss.arg(option).arg(path);
        }
        for port in SWITCH_PORTS {
            bofuss.args(["--port", port]);
        }
        this.start(&mut bofuss, "P4 program")?;
        Ok(this)
    }
}
