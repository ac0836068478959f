//! A trace reports the state that a packet reads, the timers, and what the packet changes.

use std::collections::BTreeMap;

use bofuss_datapath::{Engine, Time};
use bofuss_ext::trace::{Trace, TraceEvent};
use bofuss_oflib::PortNo;

use crate::bench::{Bench, udp};
use crate::conformance::{Dialect, enable};

/// OXM headers of ipv4_src and udp_dst.
const IPV4_SRC: u32 = 0x8000_1604;
const UDP_DST: u32 = 0x8000_2002;

fn trace(bench: &mut Bench, frame: &[u8]) -> Trace {
    Trace::of(&mut bench.switch, bench.now, PortNo(1), 0, frame).expect("it is a packet")
}

/// A fact in a step of an extension.
fn fact(event: &TraceEvent, name: &str) -> String {
    let TraceEvent::Reported { facts, .. } = event else {
        panic!("an extension says it: {event:?}");
    };
    facts[name].clone()
}

#[test]
fn a_trace_reports_the_state_the_transition_and_the_timers() {
    for engine in [Engine::Reference, Engine::Tables, Engine::Cache] {
        let mut bench = Bench::new(engine);
        enable(&mut bench, Dialect::Beba, 0, &[IPV4_SRC]);
        bench.flow(
            "priority=2,state=0,actions=\
             set_state(table=0,state=1,idle_timeout=3000000,idle_rollback=7)",
        );
        bench.flow("priority=1,actions=inc_state(table=0),goto_table:1");
        bench.flow("table=1,actions=set_state(table=1,state=5)");
        let frame = udp(1, 2, 80);
        let first = trace(&mut bench, &frame).to_string();
        for line in [
            "  openstate: reads table=0,key=(ipv4_src=10.0.0.1),state=0\n",
            "openstate: changes table=0,key=(ipv4_src=10.0.0.1),old=0,new=1,\
             idle_timeout=3000000,idle_rollback=7\n",
        ] {
            assert!(first.contains(line), "{line}{first}");
        }
        // The trace changed nothing.
        assert_eq!(trace(&mut bench, &frame).to_string(), first);
        bench.send(1, &frame);
        bench.now = bench.now.after(Time::SEC);
        let second = trace(&mut bench, &frame);
        let read = &second.stages[0].before[0];
        assert_eq!(fact(read, "state"), "1");
        assert_eq!(fact(read, "idle_left"), "2000000");
        let changed = second.stages[0]
            .events
            .iter()
            .rfind(|event| matches!(event, TraceEvent::Reported { .. }));
        let changed = changed.expect("the state is counted up");
        assert_eq!(
            (fact(changed, "old"), fact(changed, "new")),
            ("1".into(), "2".into())
        );
        let text = second.to_string();
        assert!(
            text.contains("changes nothing: table 1 has no states"),
            "{text}"
        );
        let page = second.html("knocking", &BTreeMap::new());
        assert!(page.contains("openstate: reads table=0"), "{page}");
        bench.now = bench.now.after(3 * Time::SEC);
        assert_eq!(
            fact(&trace(&mut bench, &frame).stages[0].before[0], "state"),
            "7"
        );
    }
}

#[test]
fn a_trace_reports_missing_fields_template_packets_and_notifications() {
    let mut bench = Bench::new(Engine::default());
    enable(&mut bench, Dialect::Beba, 0, &[UDP_DST]);
    let subscribe = [0, 0x62, 0x6f, 0x66, 0, 0, 0, 16, 1];
    bench.say(4, &subscribe);
    bench.experimenter(
        1,
        &[&[0, 0, 0, 0, 0, 7, 0, 0, 0, 0][..], &udp(3, 4, 80)].concat(),
    );
    bench.flow("udp,actions=set_state(table=0,state=3),set_global_state(global_state=6)");
    bench.flow("arp,actions=packet_gen(template=7,actions=(output:2)),goto_table:1");
    bench.flow(
        "priority=40000,arp,arp_op=2,actions=packet_gen_copy(template=7,copies=(eth_src->eth_dst),\
         actions=(output:2))",
    );
    bench.flow("table=1,actions=packet_gen(template=8,actions=(output:3))");
    let mut arp = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 6];
    arp.extend([0, 1, 8, 0, 6, 4, 0, 1]);
    arp.resize(42, 0);
    let text = trace(&mut bench, &arp).to_string();
    for line in [
        "openstate: reads nothing: the packet lacks a field of the lookup scope\n",
        "insp: makes template=7,bytes=46,packet=020000000004020000000003",
        "insp: makes nothing: there is no template 8, or it is empty\n",
        "=> 46 bytes leave by port 2\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    arp[21] = 2;
    let text = trace(&mut bench, &arp).to_string();
    let line = "insp: makes template=7,bytes=46,packet=020000000001020000000003";
    assert!(text.contains(line), "{line}\n{text}");
    let text = trace(&mut bench, &udp(1, 2, 80)).to_string();
    for line in [
        "openstate: notifies state_changed(table=0,key=5000",
        "openstate: changes_global old=0,new=6\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(bench.io.messages, []);
}

#[test]
fn a_trace_changes_neither_reports_nor_predictions() {
    let mut bench = Bench::new(Engine::Cache);
    enable(&mut bench, Dialect::Opp, 0, &[IPV4_SRC]);
    bench.flow(
        "udp,udp_dst=80,actions=set_data_var(table=0,output=gd0,function=sum,operands=gd0+9)",
    );
    let frame = udp(1, 2, 80);
    let text = trace(&mut bench, &frame).to_string();
    assert!(text.contains("computes table=0,gd0=9"), "{text}");
    assert_eq!(bench.multipart(3, &[0; 8]), [[0; 32]]);

    let mut bench = Bench::new(Engine::Cache);
    enable(&mut bench, Dialect::Beba, 0, &[IPV4_SRC]);
    bench.flow("priority=2,udp,udp_dst=80,actions=set_global_state(global_state=6)");
    bench.flow("priority=1,global_state=6,actions=output:2");
    bench.flow("priority=1,global_state=0,actions=output:3");
    let text = trace(&mut bench, &frame).to_string();
    assert!(text.contains("changes_global old=0,new=6"), "{text}");
    bench.send_burst(1, &[udp(1, 2, 81), udp(1, 2, 81), udp(1, 2, 81)]);
    let ports: Vec<u32> = bench.io.out.iter().map(|(port, _)| *port).collect();
    assert_eq!(ports, [3, 3, 3]);
    trace(&mut bench, &frame);
    assert_eq!(bench.multipart(1, &[]), [[0; 8]]);
}
