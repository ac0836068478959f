//! Table features list only experimenters that were switched on by name, and refuse none for that.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Time};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::multipart::table_features::{FieldId, PropertyList};
use bofuss_oflib::message::multipart::{ReplyBody, RequestBody, TableFeatures};
use bofuss_oflib::message::{FlowModCommand, MultipartReply, MultipartRequest};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Codec, ExtValue, Message, PortNo, Version};

const CONN: ConnId = ConnId(1);
/// The offset of the properties of the first table: after the heads of message, multipart and
/// table.
const PROPERTIES_OFFSET: usize = 16 + 64;
/// The properties whose items are tables.
const TABLES: [u16; 4] = [2, 3, 16, 17];

/// The messages that the switch sends.
#[derive(Default)]
struct Sent(Vec<Message>);

impl SwitchIo for Sent {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn send(&mut self, _: ConnId, _: u32, message: Message) {
        self.0.push(message);
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn flush(&mut self) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch with all extensions, of which those named are announced, and a connection.
fn switch(version: Version, announced: &[&str]) -> (Switch, Arc<Catalogue>) {
    let mut catalogue = bofuss_ext::catalogue();
    announced.iter().for_each(|name| catalogue.announce(name));
    let catalogue = Arc::new(catalogue);
    let config = Config {
        n_tables: 2,
        ..Config::default()
    };
    let mut datapath = Datapath::new(config, Arc::clone(&catalogue), Pool::new(1 << 20));
    let hooks = bofuss_ext::hooks(&catalogue);
    hooks.into_iter().for_each(|hook| datapath.add_hook(hook));
    let mut switch = Switch::new(Time(0), datapath, Identity::default(), FailMode::Secure);
    switch.connected(Time(0), CONN, version, true);
    (switch, catalogue)
}

/// Returns what the switch answers.
fn answers(switch: &mut Switch, message: Message) -> Vec<Message> {
    let mut sent = Sent::default();
    let request = Request {
        xid: 1,
        head: &[],
        message: Ok(message),
    };
    switch.message(Time(0), CONN, request, &mut sent);
    while switch.has_work(&sent) {
        switch.work(Time(0), &mut sent);
    }
    sent.0
}

fn features(switch: &mut Switch, wanted: Vec<TableFeatures>) -> Vec<TableFeatures> {
    let request = MultipartRequest {
        more: false,
        body: RequestBody::TableFeatures(wanted),
    };
    let mut tables = Vec::new();
    for message in answers(switch, Message::MultipartRequest(request)) {
        let Message::MultipartReply(reply) = message else {
            panic!("{message:?}");
        };
        let ReplyBody::TableFeatures(part) = reply.body else {
            panic!("another reply");
        };
        tables.extend(part);
    }
    tables
}

/// The experimenters that a table lists, once for each time that it does.
fn experimenters(table: &TableFeatures) -> Vec<(u16, u32)> {
    let mut found = Vec::new();
    for property in &table.0.properties {
        match &property.list {
            PropertyList::Types(list) => {
                let of_list = list.iter().filter(|id| id.experimenter != 0);
                found.extend(of_list.map(|id| (property.ty, id.experimenter)));
            }
            PropertyList::Fields(list) => {
                for id in list {
                    let FieldId::Known(field, _) = id else {
                        panic!("{id:?}");
                    };
                    if ![0, bofuss_oflib::registers::PACKET_REGISTERS].contains(&field.experimenter)
                    {
                        found.push((property.ty, field.experimenter));
                    }
                }
            }
            PropertyList::Tables(_) | PropertyList::Values(_) | PropertyList::Experimenter(..) => {}
        }
    }
    found
}

#[test]
fn a_default_switch_lists_no_experimenter() {
    for version in [Version::V1_3, Version::V1_4] {
        let (mut switch, _) = switch(version, &[]);
        let tables = features(&mut switch, Vec::new());
        assert_eq!(tables.len(), 2);
        for table in &tables {
            assert_eq!(experimenters(table), [], "{version:?}");
        }
    }
}

/// The types of instructions and actions, and the classes of fields, that the properties of a
/// table list on the wire.
fn listed_on_the_wire(version: Version, table: TableFeatures) -> Vec<u16> {
    let codec = Codec::new(version, Arc::new(bofuss_ext::catalogue()));
    let reply = MultipartReply::from(ReplyBody::TableFeatures(vec![table]));
    let mut bytes = Vec::new();
    let message = Message::MultipartReply(reply);
    codec.encode(1, &message, &mut bytes).unwrap();
    let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let mut listed = Vec::new();
    let mut property = PROPERTIES_OFFSET;
    while property < bytes.len() {
        let length = usize::from(word(property + 2));
        let end = property + length;
        let mut item = property + 4;
        while item < end && !TABLES.contains(&word(property)) {
            listed.push(word(item));
            let is_experimenter = word(item) == 0xffff;
            item += if is_experimenter { 8 } else { 4 };
        }
        property += length.next_multiple_of(8);
    }
    listed
}

#[test]
fn what_is_listed_has_no_experimenter_on_the_wire_either() {
    for version in [Version::V1_3, Version::V1_4] {
        let (mut switch, _) = switch(version, &[]);
        for table in features(&mut switch, Vec::new()) {
            let listed = listed_on_the_wire(version, table);
            assert!(
                listed.len() > 100 && !listed.contains(&0xffff),
                "{listed:?}"
            );
        }
    }
}

#[test]
fn an_announced_extension_is_listed_once_in_each_property() {
    let (mut switch, _) = switch(Version::V1_3, &["openstate"]);
    for table in features(&mut switch, Vec::new()) {
        let mut types = experimenters(&table);
        types.retain(|(ty, _)| *ty < 8);
        assert!(!types.is_empty());
        let mut unique = types.clone();
        unique.dedup();
        assert_eq!(types, unique);
    }
}

#[test]
fn features_that_are_written_back_take_nothing_away() {
    let (mut switch, catalogue) = switch(Version::V1_3, &[]);
    let tables = features(&mut switch, Vec::new());
    assert_eq!(features(&mut switch, tables.clone()), tables);
    for text in [
        "priority=1,actions=set_flow_state(state=7,idle_timeout=9),output:2",
        "priority=2,tcp,tcp_flags=+syn,actions=output:2",
        "priority=3,ip,actions=copy_field:nw_src[0..15]->metadata[16..31],output:2",
    ] {
        let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).unwrap();
        assert_eq!(answers(&mut switch, Message::FlowMod(flow)), [], "{text}");
    }
}

/// The spare fields that tables list.
fn spares(tables: &[TableFeatures]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for property in tables.iter().flat_map(|table| &table.0.properties) {
        if let PropertyList::Fields(list) = &property.list {
            names.extend(list.iter().filter_map(|id| match id {
                FieldId::Known(field, _) if field.is_spare() => Some(field.name),
                FieldId::Known(..) | FieldId::Unknown(..) => None,
            }));
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn spare_fields_are_listed_while_they_are_mapped() {
    let (mut switch, catalogue) = switch(Version::V1_3, &[]);
    let mut map = |text: &str| {
        let value = ExtValue::parse(&bofuss_ext::fields::VALUES[0], text, &catalogue).unwrap();
        assert_eq!(answers(&mut switch, Message::Experimenter(value)), []);
        let tables = features(&mut switch, Vec::new());
        // What is written back takes nothing away.
        assert_eq!(features(&mut switch, tables.clone()), tables);
        spares(&tables)
    };
    assert_eq!(map("add,spare3=udp:64:8,set"), ["spare3"]);
    assert_eq!(map("add,spare4=udp:72:8"), ["spare3", "spare4"]);
    assert_eq!(map("delete,spare3"), ["spare4"]);
    assert_eq!(map("add,spare3=udp:80:8,set"), ["spare3", "spare4"]);
    let text = "udp,spare3=7,actions=set_field:8->spare3";
    let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).unwrap();
    assert_eq!(answers(&mut switch, Message::FlowMod(flow)), []);
}
