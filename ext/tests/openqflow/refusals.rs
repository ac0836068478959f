//! Options, messages and rules that are unknown or wrong are refused with an explanation.

use bofuss_datapath::Engine;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{ExtValue, Mac};
use bofuss_packet::craft;

use crate::{Bench, udp};

#[test]
fn options_that_are_unknown_or_wrong_are_refused_with_what_would_be_right() {
    let wrong = [
        (
            "unknown",
            "bridge",
            "'bridge' is not controller, drop, flood or normal",
        ),
        ("unknown", "", "'' is not controller, drop, flood or normal"),
        ("failover", "back", "'back' is not revert or stay"),
        (
            "tables",
            "0",
            "'tables' is not table, forwarding, qos, unknown, flows,",
        ),
        (
            "forwarding",
            "0",
            "table, forwarding and qos have to be tables in ascending order",
        ),
        (
            "qos",
            "1,2",
            "table, forwarding and qos have to be tables in ascending order",
        ),
        ("flows", "16777217", "16777216"),
        ("idle-ms", "0", "1"),
        ("push-ms", "5s", "5s"),
    ];
    for (name, value, expected) in wrong {
        let catalogue = bofuss_ext::catalogue();
        let mut hooks = bofuss_ext::hooks(&catalogue).into_iter();
        let hook = hooks.find(|hook| hook.name() == "openqflow");
        let mut hook = hook.expect("it is there");
        for (name, value) in [("table", "0"), ("forwarding", "1,2")] {
            hook.set_option(name, value).expect("they are tables");
        }
        let error = hook.set_option(name, value).expect_err(value);
        assert!(
            error.to_string().contains(expected),
            "{name}={value}: {error}"
        );
    }
}

#[test]
fn keys_and_values_that_are_unknown_are_refused_in_messages_and_rules() {
    let catalogue = bofuss_ext::catalogue();
    let wrong = [
        ("qflow_key_mod", "set,key=1,ipv4_dts=/24", "ipv4_dts"),
        ("qflow_key_mod", "change,key=1", "change"),
        ("qflow_key_mod", "set,key=256", "256"),
        ("qflow_write", "in_port=1,eth_type=0x800,wieght=2", "wieght"),
        ("qflow_write", "in_port=1,src=10.0.0", "10.0.0"),
        (
            "qflow_signature_mod",
            "add,id=1,pattern=50,ofset=2",
            "ofset",
        ),
        ("qflow_links_mod", "gap=500,ports=2+3", "gap"),
        ("qflow_limits", "push_s=5", "push_s"),
    ];
    for (name, text, expected) in wrong {
        let mut rows = catalogue.values(ExtKind::Message);
        let row = rows.find(|row| row.name == name).expect(name);
        let error = ExtValue::parse(row, text, &catalogue).expect_err(text);
        assert!(
            error.to_string().contains(expected),
            "{name}, {text}: {error}"
        );
    }
    let rules = [
        ("table=1,actions=qflow_forward(prot=2)", "prot"),
        ("table=1,actions=qflow_forward(port=x)", "x"),
        ("table=3,actions=qflow_qos(type=best)", "best"),
        ("table=3,actions=qflow_qos(wieght=2)", "wieght"),
    ];
    for (rule, expected) in rules {
        let error = parse_flow(rule, FlowModCommand::ADD, &catalogue).expect_err(rule);
        assert!(error.to_string().contains(expected), "{rule}: {error}");
    }
}

#[test]
fn t22_a_packet_without_a_rule_is_forwarded_by_normal_if_so_configured() {
    let options = [("unknown", "normal")];
    let mut switch = Bench::with_options(Engine::default(), &options);
    assert_eq!(switch.send(1, &udp(1, 1)), [2, 3, 4]);
    // The answer comes from port 3, so that NORMAL learns where the destination is.
    let [one, other] = [[10, 0, 1, 1].into(), [10, 0, 0, 1].into()];
    let ip = craft::ipv4(one, other, 64, craft::udp(7, 1, b"0123456789"));
    let answer = craft::ethernet(Mac([4; 6]), Mac([2; 6]), ip);
    assert_eq!(switch.send(3, &answer), [1]);
    assert_eq!(switch.send(1, &udp(1, 1)), [3]);
    assert_eq!(switch.io.packet_ins, 0);
}
