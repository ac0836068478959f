//! The metrics of each table.

use bofuss_datapath::{Engine, Time};

use crate::bench::{Bench, udp};
use crate::conformance::{Dialect, enable};

/// OXM header of ipv4_src.
const IPV4_SRC: u32 = 0x8000_1604;

/// The metrics of openstate: `name["TABLE"]` and the value.
fn values(bench: &Bench) -> Vec<(String, u64)> {
    let datapath = bench.switch.datapath();
    for extension in 0.. {
        let mut list = Vec::new();
        let (name, next) = datapath
            .hooks()
            .metrics(bench.now, extension, 0, &mut list)
            .expect("openstate is there");
        if name == "openstate" {
            assert_eq!(next, None);
            let values = list.into_iter().map(|one| {
                let labels: Vec<String> = one.labels.into_iter().map(|(_, table)| table).collect();
                (format!("{}{labels:?}", one.name), one.value)
            });
            return values.collect();
        }
    }
    unreachable!()
}

fn value(bench: &Bench, name: &str) -> u64 {
    let values = values(bench);
    let found = values.iter().find(|(other, _)| other == name);
    found.unwrap_or_else(|| panic!("{name} in {values:?}")).1
}

#[test]
fn transitions_states_and_timeouts_are_counted_by_table() {
    for engine in [Engine::Reference, Engine::Tables, Engine::Cache] {
        let mut bench = Bench::new(engine);
        enable(&mut bench, Dialect::Beba, 0, &[IPV4_SRC]);
        enable(&mut bench, Dialect::Beba, 3, &[IPV4_SRC]);
        bench.flow(
            "state=0,actions=set_state(table=0,state=1,hard_timeout=1000000,hard_rollback=9)",
        );
        bench.flow("priority=1,state=9,actions=inc_state(table=3)");
        for host in 1..=5 {
            bench.send(1, &udp(host, 9, 80));
        }
        assert_eq!(value(&bench, "transitions[\"0\"]"), 5);
        assert_eq!(value(&bench, "states[\"0\"]"), 5);
        assert!(value(&bench, "state_bytes[\"0\"]") >= 5 * 128);
        assert_eq!(value(&bench, "timeouts[\"0\"]"), 0);
        // The packets of two flows notice that the flow's timer ran out, and each is counted once.
        bench.now = bench.now.after(2 * Time::SEC);
        for host in [1, 1, 2] {
            bench.send(1, &udp(host, 9, 80));
        }
        assert_eq!(value(&bench, "timeouts[\"0\"]"), 2);
        assert_eq!(value(&bench, "transitions[\"3\"]"), 3);
        assert_eq!(value(&bench, "states[\"3\"]"), 2);
        // The search for expired flows counts the other three, in every engine.
        bench.advance(130 * Time::SEC);
        assert_eq!(value(&bench, "timeouts[\"0\"]"), 5);
        assert_eq!(value(&bench, "transitions[\"0\"]"), 5);
        assert_eq!(value(&bench, "timeouts[\"3\"]"), 0);
    }
}
