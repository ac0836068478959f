//! What one replica has to do alone is done by worker 0, and it is said why.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_agent::{FailMode, Identity};
use bofuss_datapath::{Config, OneWorker, Time};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Offload, Pool};
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::{Catalogue, Version};
use bofuss_workers::Dispatch;

use crate::common::{CONN, PORTS, Several, Subject, flow_mod, frame};

const FLOWS: u16 = 20;

/// A switch with flows of OpenQFlow in table 0, and their rules in the others.
fn switch_with_flows(catalogue: &Arc<Catalogue>) -> Switch {
    let config = Config {
        n_tables: 3,
        ..Config::default()
    };
    let mut datapath = Datapath::new(config, Arc::clone(catalogue), Pool::new(1 << 24));
    for mut hook in bofuss_ext::hooks(catalogue) {
        if hook.name() == "openqflow" {
            for (option, value) in [("table", "0"), ("forwarding", "1"), ("qos", "2")] {
                hook.set_option(option, value).unwrap();
            }
        }
        datapath.add_hook(hook);
    }
    Switch::new(Time(0), datapath, Identity::default(), FailMode::Secure)
}

#[test]
fn openqflow_is_in_one_worker_and_named() {
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let mut several = Several::made(3, move || switch_with_flows(&catalogue));
    let connected = several.workers.connected(Time(0), CONN, Version::V1_3);
    connected.unwrap();
    for number in 1..=PORTS {
        several.port(Time(0), number, true);
    }
    let dispatch = several.dispatch();
    let why = OneWorker::Extension("openqflow");
    assert_eq!(dispatch, Dispatch::One(why));
    assert_eq!(
        dispatch.to_string(),
        "all flows in worker 0, because openqflow acts, which may have a state"
    );
    let rule = "table=1,priority=5,ip,actions=qflow_forward(port=2)";
    several.message(Time(1), flow_mod(FlowModCommand::ADD, rule));
    drop(several.effects());
    for number in 0..3 {
        let now = Time(2 + u64::from(number));
        let frames: Vec<_> = (0..FLOWS)
            .map(|flow| (frame(flow, number), Offload::NONE))
            .collect();
        several.burst(now, 1, &frames);
        several.tick(now);
        let (left, _) = several.effects();
        assert_eq!(left.len(), frames.len());
        for ((port, bytes), (sent, _)) in left.iter().zip(&frames) {
            assert_eq!((*port, bytes), (2, sent));
        }
    }
}
