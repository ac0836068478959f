//! Tests of the messages that verbs send, BOFUSS's and ovs-ofctl's.

use std::sync::Arc;

use bofuss_oflib::Match;
use bofuss_oflib::message::{FlowMod, MeterMod};
use bofuss_oflib::types::{MaxLen, TableId};

use super::*;
use crate::verbs::{all, requests};

fn made(strict: bool, verb: &str, arguments: &[&str]) -> Made {
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let row = all().find(|row| row.name == verb);
    requests(
        row.expect("it is one"),
        &Command {
            strict,
            html: None,
            reads_files: true,
            catalogue,
        },
        arguments,
    )
}

fn changes(strict: bool, verb: &str, arguments: &[&str]) -> Vec<Message> {
    let Ok(Requests::Change(messages)) = made(strict, verb, arguments) else {
        panic!("{verb} {arguments:?}")
    };
    messages
}

fn flow_mod(strict: bool, verb: &str, arguments: &[&str]) -> FlowMod {
    let messages = changes(strict, verb, arguments);
    let [Message::FlowMod(flow_mod)] = messages.as_slice() else {
        panic!("{verb} {arguments:?}")
    };
    flow_mod.clone()
}

fn meter_mod(verb: &str, arguments: &[&str]) -> MeterMod {
    let messages = changes(false, verb, arguments);
    let [Message::MeterMod(meter_mod)] = messages.as_slice() else {
        panic!("{verb} {arguments:?}")
    };
    meter_mod.clone()
}

#[test]
fn deletes_and_dumps_are_about_all_tables_unless_they_say() {
    let table = |flow| flow_mod(false, "del-flows", &[flow]).table_id;
    assert_eq!(table("in_port=1"), TableId::ALL);
    assert_eq!(table("table=3"), TableId(3));
}

#[test]
fn wrong_arguments_are_named() {
    for (verb, arguments) in [
        ("add-flow", &["in_port=x,actions=output:1"][..]),
        ("packet-out", &["1", "output:2", "xyz"][..]),
        ("packet-out", &["1", "output:2"][..]),
        ("mod-port", &["1", "dwon"][..]),
        ("set-frags", &["reassembled"][..]),
        ("show", &["me"][..]),
        ("add-meter", &["meter=1,band=type=fall"][..]),
        ("meter-stats", &["many"][..]),
        ("add-flows", &["/nonexistent"][..]),
        ("role", &["king"][..]),
        ("watch", &["often"][..]),
        ("trace", &["tcp,tcp_dts=1"][..]),
    ] {
        let refused = made(false, verb, arguments);
        assert!(matches!(refused, Err(Failure::Usage(_))), "{verb}");
    }
}

#[test]
fn set_frags_changes_nothing_else() {
    let Ok(Requests::First(_, then)) = made(false, "set-frags", &["drop"]) else {
        panic!("the configuration is asked for first")
    };
    let config = |flags| SwitchConfig {
        flags,
        miss_send_len: MaxLen(77),
    };
    let other = ConfigFlags::INVALID_TTL_TO_CONTROLLER;
    let before = config(other | ConfigFlags::FRAG_REASM);
    let Ok(Requests::Change(changes)) = then(Message::GetConfigReply(before)) else {
        panic!("it is changed then")
    };
    let after = config(other | ConfigFlags::FRAG_DROP);
    assert_eq!(changes, [Message::SetConfig(after)]);
}

#[test]
fn d18_strict_makes_the_commands_strict() {
    let command = |strict, verb, flow| flow_mod(strict, verb, flow).command;
    let flow = &["in_port=1"];
    assert_eq!(
        command(true, "del-flows", flow),
        FlowModCommand::DELETE_STRICT
    );
    assert_eq!(command(false, "del-flows", flow), FlowModCommand::DELETE);
    let flow = &["in_port=1,actions=drop"];
    assert_eq!(
        command(true, "mod-flows", flow),
        FlowModCommand::MODIFY_STRICT
    );
    let theirs = &["cmd=del,table=0", "in_port=1"];
    assert_eq!(
        command(true, "flow-mod", theirs),
        FlowModCommand::DELETE_STRICT
    );
}

#[test]
fn d19_out_group_is_no_out_port() {
    for (verb, arguments) in [
        ("del-flows", &["out_group=5"]),
        ("flow-mod", &["cmd=del,out_group=5"]),
    ] {
        let flow_mod = flow_mod(false, verb, arguments);
        assert_eq!(flow_mod.out_group.0, 5);
        assert_eq!(flow_mod.out_port, PortNo::ANY);
    }
}

#[test]
fn d20_a_meter_needs_no_match() {
    for (verb, arguments) in [
        ("add-flow", &["table=0,actions=meter:1"][..]),
        ("flow-mod", &["cmd=add,table=0", "meter:1"][..]),
    ] {
        let flow_mod = flow_mod(false, verb, arguments);
        assert_eq!(flow_mod.fields, Match::ANY);
        assert_eq!(flow_mod.instructions.list().len(), 1);
    }
}

#[test]
fn a_meter_may_be_written_as_for_ovs_ofctl_and_as_for_bofuss() {
    let ours = "meter=1,kbps,burst,bands=type=drop,rate=50,burst_size=7,\
                type=dscp_remark,rate=20,prec_level=1";
    let bands = ["drop:rate=50,burst=7", "dscp_remark:rate=20,prec_level=1"];
    let theirs = [&["cmd=add,flags=5,meter=1"][..], &bands].concat();
    assert_eq!(
        meter_mod("meter-mod", &theirs),
        meter_mod("add-meter", &[ours])
    );
    let deleted = meter_mod("del-meters", &["meter=1"]);
    assert_eq!(
        meter_mod("meter-mod", &["cmd=del,flags=0,meter=1"]),
        deleted
    );
    assert_eq!(meter_mod("del-meters", &["7"]).meter_id, MeterId(7));
    assert_eq!(meter_mod("del-meters", &[]).meter_id, MeterId::ALL);
}
