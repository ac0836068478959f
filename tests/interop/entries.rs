//! Groups, meters and flow entries: one at least for each field, action and instruction of a
//! version.

use bofuss_oflib::action::{ACTIONS, SetField};
use bofuss_oflib::field::{FIELDS, Field, IN_PORT, ONF, Style};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::{FlowMod, FlowModCommand};
use bofuss_oflib::text::{parse_flow, parse_group, parse_meter};
use bofuss_oflib::{Action, Catalogue, FieldMatch, Match, Message, PortNo, Version};

pub const GROUPS: [&str; 4] = [
    "group_id=7,type=all,bucket=output:1,bucket=set_queue:1,output:2",
    "group_id=2,type=select,bucket=weight:3,output:2,bucket=weight:1,output:3",
    "group_id=3,type=ff,bucket=watch_port:2,output:2,bucket=watch_group:2,group:2",
    "group_id=4,type=indirect,bucket=set_field:10.0.0.9->ip_dst,group:7",
];

pub const METERS: [&str; 3] = [
    "meter=7,pktps,burst,stats,bands=type=drop,rate=1000,burst_size=10",
    "meter=2,kbps,bands=type=dscp_remark,rate=5000,prec_level=1,type=drop,rate=9000",
    "meter=3,kbps,stats,bands=",
];

/// Entries as they are written by hand.
const FLOWS: [&str; 13] = [
    "priority=10,in_port=1,tcp,nw_src=10.0.0.0/8,tp_dst=80,actions=output:2",
    "priority=11,in_port=2,udp,nw_dst=10.0.0.1,tp_src=53,actions=output:1,output:3",
    "priority=12,dl_vlan=5,dl_vlan_pcp=3,dl_src=02:00:00:00:00:01,actions=strip_vlan,normal",
    "priority=13,icmp,icmp_type=8,icmp_code=0,nw_tos=32,actions=flood",
    "priority=14,arp,arp_tpa=10.0.0.2,actions=all",
    "priority=15,dl_type=0x88cc,idle_timeout=60,hard_timeout=600,send_flow_rem,\
     actions=controller:65535",
    "priority=16,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,actions=in_port,local",
    "priority=17,ip,nw_proto=47,actions=",
    "priority=18,ip,actions=group:7",
    "priority=19,ip,in_port=3,actions=set_queue:1,output:2",
    "priority=20,in_port=3,actions=write_actions(output:2,group:4),write_metadata:0x7/0xf,\
     goto_table:1",
    "priority=21,in_port=3,tcp,actions=meter:7,clear_actions,goto_table:2",
    "priority=22,dl_type=0x88ce,actions=stat_trigger(packet_count=5),output:2",
];

/// An action that is an extension before 1.5.
const COPY_FIELD: u16 = 28;
/// A value that fields of any width may have, and a mask that is no prefix.
const EVERY_OTHER_BIT: u128 = u128::MAX / 3;
const SOME_BITS: u128 = !4;

/// The matches of packets of which an action changes a header.
const HEADERS: [(&str, &str); 3] = [("mpls", "mpls"), ("nw", "ip"), ("ttl", "ip")];

/// An entry for each thing that a version has, each with a cookie of its own.
pub fn flows(version: Version) -> Vec<FlowMod> {
    let mut flows: Vec<FlowMod> = FLOWS.iter().map(|text| flow(text)).collect();
    let fields = FIELDS.iter().filter(|field| is_standard(field, version));
    fields.for_each(|field| flows.extend(of_field(field)));
    let actions = ACTIONS.iter().filter(|row| row.versions.has(version));
    for row in actions.filter(|row| row.number != COPY_FIELD || version >= Version::V1_5) {
        let (priority, text) = (200 + row.number, row.example.0);
        let header = HEADERS.iter().find(|(part, _)| text.contains(part));
        let header = header.map_or("", |(_, header)| header);
        flows.push(flow(&format!(
            "table=9,priority={priority},{header},actions={text}"
        )));
    }
    for (cookie, flow) in (1..).zip(&mut flows) {
        flow.cookie = cookie;
    }
    flows
}

pub fn flow(text: &str) -> FlowMod {
    parse_flow(text, FlowModCommand::ADD, &Catalogue::default()).expect(text)
}

/// A request to delete entries.
pub fn delete(text: &str) -> Message {
    let delete = parse_flow(text, FlowModCommand::DELETE, &Catalogue::default());
    Message::FlowMod(delete.expect(text))
}

pub fn group(text: &str) -> Message {
    let group = parse_group(text, GroupModCommand::ADD, &Catalogue::default());
    Message::GroupMod(group.expect(text))
}

pub fn meter(text: &str) -> Message {
    Message::MeterMod(parse_meter(text, MeterModCommand::ADD).expect(text))
}

/// Returns true if a version has a field by itself, and not as an extension.
fn is_standard(field: &Field, version: Version) -> bool {
    let is_extension = field.experimenter == ONF && version < Version::V1_5;
    field.versions.has(version) && !is_extension
}

/// Entries that match a field, match some of its bits, and set it, in a table that no packet comes
/// to.
fn of_field(field: &'static Field) -> Vec<FlowMod> {
    let output = Action::output(PortNo(2));
    let entry = |mask, actions| FlowMod {
        priority: 100,
        fields: matching(field, mask),
        instructions: Instructions::apply(actions),
        ..flow("table=9,actions=")
    };
    let mut entries = vec![entry(u128::MAX, vec![output.clone()])];
    if field.maskable {
        entries.push(entry(SOME_BITS, vec![output.clone()]));
    }
    if field.settable {
        let set = Action::SetField(SetField(FieldMatch::exact(field, value(field))));
        let mut set = entry(u128::MAX, vec![set, output]);
        set.priority += 1;
        entries.push(set);
    }
    entries
}

/// A match on these bits of a field, and on what it needs.
fn matching(field: &'static Field, mask: u128) -> Match {
    let mut fields = vec![FieldMatch::masked(field, value(field), mask)];
    let mut next = field.need;
    while let Some(need) = next {
        let needed = &FIELDS[usize::from(need.id)];
        let number = need.any_of[0].max(u64::from(needed == IN_PORT));
        fields.push(FieldMatch::exact(needed, number.into()));
        next = needed.need;
    }
    Match::new(&fields).unwrap()
}

/// A value of a field.
fn value(field: &Field) -> u128 {
    match field.style {
        Style::Port => 1,
        // An Ethernet type.
        Style::PacketType => 0x1_0800,
        Style::Dec | Style::Hex | Style::Bits(_) | Style::Mac | Style::Ip4 | Style::Ip6 => {
            field.ones_number() & EVERY_OTHER_BIT
        }
    }
}
