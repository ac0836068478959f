//! Users see which flows are below the switch, and why others are not.
#![allow(clippy::unwrap_used)]

use bofuss_tests::{Lab, get};
use serde_json::Value;

use crate::{Tap, both, ctl, datagram, place, send_slowly};

#[test]
fn flows_below_are_listed_with_their_counters() {
    let Some([lab, _]) = both(&[]) else { return };
    let [mut one, mut two] = [1, 2].map(|host| Tap::of(&lab, host));
    for flow in [
        "in_port=1,udp,dl_vlan=7,udp_dst=9,actions=dec_ttl,output:2,pop_vlan,output:3",
        "in_port=1,udp,dl_vlan=8,actions=drop",
    ] {
        lab.asks(&["add-flow", flow]);
    }
    let frames: Vec<_> = (0..100)
        .map(|n| datagram(n, Some(7 + n as u16 % 2), 60))
        .collect();
    send_slowly(&mut one, &frames);
    two.waits_for(50);
    let text = ctl(&lab, &["accelerator", "--flows"]);
    let flows: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("flow "))
        .collect();
    assert_eq!(flows.len(), 2, "{text}");
    let tagged = flows.iter().find(|line| line.contains("dl_vlan=7"));
    let tagged = tagged.unwrap_or_else(|| panic!("{text}"));
    assert!(tagged.starts_with("flow in_port=1,"), "{tagged}");
    assert!(
        tagged.contains("udp") && tagged.contains("udp_dst=9"),
        "{tagged}"
    );
    assert!(
        tagged.ends_with(" [dec_ttl,output:2] [dec_ttl,pop_vlan,output:3]"),
        "{tagged}"
    );
    let json: Value =
        serde_json::from_str(&ctl(&lab, &["accelerator", "--json", "--flows"])).unwrap();
    assert_eq!(json["state"], "on");
    assert_eq!(json["flows"], 2);
    let first = json["first"].as_array().unwrap();
    let packets = first.iter().map(|flow| flow["packets"].as_u64().unwrap());
    let below = json["packets"].as_u64().unwrap();
    assert_eq!(packets.sum::<u64>(), below, "{json}");
    assert!(below > 60, "{json}");
    let legs = first
        .iter()
        .map(|flow| flow["legs"].as_array().unwrap().len());
    assert_eq!(legs.sum::<usize>(), 2, "{json}");
    lab.asks(&["del-flows"]);
    let text = ctl(&lab, &["accelerator", "--flows"]);
    assert!(!text.contains("flow in_port"), "{text}");
}

#[test]
fn a_trace_names_what_keeps_a_flow_up() {
    let Some([lab, _]) = both(&[]) else { return };
    ctl(&lab, &["add-port", "9=tap:seen9"]);
    let mut one = Tap::of(&lab, 1);
    lab.asks(&["add-meter", "meter=1,kbps,bands=type=drop,rate=1000000"]);
    lab.asks(&[
        "add-group",
        "group_id=3,type=all,bucket=push_mpls:0x8847,output:2",
    ]);
    lab.asks(&["mod-port", "3", "down"]);
    for (actions, why) in [
        ("output:1,output:2", "port 1 is the one that they arrive on"),
        (
            "output:2,controller",
            "the kernel does not do CONTROLLER:65535",
        ),
        ("output:3", "port 3 is down or does not forward"),
        (
            "output:9",
            "port 9 is not accelerated: it has no packet socket",
        ),
        ("output:8", "port 8 does not exist"),
        (
            "group:3",
            "group 3 does more than to change headers and output",
        ),
        (
            "output:2,output:2,output:2,output:2,output:2,output:2,output:2,output:2,output:2",
            "its packets leave more than 8 times",
        ),
        (
            "apply_actions(output:2,meter:1,output:2)",
            "meter 1 is not the first that its packets meet",
        ),
        (
            "push_mpls:0x8847,output:2",
            "the kernel does not do push_mpls:0x8847",
        ),
        (
            "push_vlan:0x88a8,output:2",
            "the kernel does not do push_vlan:0x88a8 here",
        ),
    ] {
        lab.asks(&["add-flow", &format!("in_port=1,udp,actions={actions}")]);
        send_slowly(&mut one, &[(); 5].map(|()| datagram(0, None, 60)));
        let said = place(&lab, &datagram(0, None, 60));
        assert_eq!(said, format!("by the switch: {why}"), "{actions}");
    }
    let fragment = {
        let mut frame = datagram(0, None, 60);
        frame[20] = 0x20;
        frame
    };
    let said = place(&lab, &fragment);
    assert_eq!(
        said,
        "by the switch: the kernel's program does not read such packets"
    );
    lab.asks(&["del-flows"]);
    let said = place(&lab, &datagram(0, None, 60));
    assert_eq!(said, "by the switch: no frame of its flow came lately");
}

#[test]
fn a_trace_names_what_keeps_one_frame_of_a_flow_up() {
    let Some([lab, _]) = both(&[]) else { return };
    let mut one = Tap::of(&lab, 1);
    lab.asks(&["add-flow", "in_port=1,udp,actions=output:2"]);
    let usual = datagram(0, None, 60);
    send_slowly(&mut one, &[(); 20].map(|()| usual.clone()));
    let below = "in the kernel, below the switch";
    assert_eq!(place(&lab, &usual), below);
    let short = datagram(0, None, 0);
    let mut last = usual;
    last[22] = 1;
    for (frame, why) in [
        (short, "it is shorter than 60 bytes"),
        (last, "its TTL ends"),
    ] {
        let wanted = format!("{below}, but not this one: {why}");
        assert_eq!(place(&lab, &frame), wanted);
    }
}

/// The first sample of a lab's metrics that begins with the name and has this label.
fn sample(lab: &Lab, name: &str, label: &str) -> String {
    let log = lab.log();
    let (_, rest) = log.split_once("metrics: http://").unwrap();
    let (_, text) = get(rest.split_once("/metrics").unwrap().0, "/metrics", "");
    let start = format!("bofuss_{name}{{");
    let mut lines = text.lines();
    let found = lines.find(|line| line.starts_with(&start) && line.contains(label));
    found.unwrap_or_else(|| panic!("{text}")).into()
}

#[test]
fn metrics_say_what_is_accelerated_and_why_not() {
    let Some([with, without]) = both(&["--metrics", "0"]) else {
        return;
    };
    ctl(&with, &["add-port", "9=tap:seen8"]);
    let off = "state=\"off\",why=\"--accelerate off\"} 1";
    for (lab, name, label, end) in [
        (&with, "accelerator_state", "", "state=\"on\",why=\"\"} 1"),
        (&with, "port_accelerated", "port=\"1\"", "why=\"\"} 1"),
        (
            &with,
            "port_accelerated",
            "port=\"9\"",
            "why=\"it has no packet socket\"} 0",
        ),
        (&without, "accelerator_state", "", off),
        (
            &without,
            "port_accelerated",
            "port=\"1\"",
            "why=\"--accelerate off\"} 0",
        ),
    ] {
        let line = sample(lab, name, label);
        assert!(line.ends_with(end), "{line}");
    }
}
