//! A switch goes on with the state of an earlier one: what was saved is there, with its counters
//! and the time that is left; what is no state is refused.
#![allow(clippy::unwrap_used)]

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Time};
use bofuss_embed::saved::{Restored, SAVER, SavedState, Saving, StateError, seal};
use bofuss_ext::{Switch, queues};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::{
    FlowStatsRequest, GroupDescRequest, GroupRequest, MeterRequest, MultipartRequest, ReplyBody,
    RequestBody,
};
use bofuss_oflib::message::{ControllerRole, FlowModCommand, Role};
use bofuss_oflib::text::{parse_flow, parse_group, parse_meter};
use bofuss_oflib::types::{GroupId, MeterId, QueueId};
use bofuss_oflib::{Mac, Message, PortNo, Version};
use bofuss_packet::craft;

#[path = "../../fuzz/checks/saved_state.rs"]
mod saved_state;
#[path = "common/stateful.rs"]
mod stateful;

const CONN: ConnId = ConnId(1);
const SEC: u64 = Time::SEC;
/// Nanoseconds since 1970 when the first switch was at time 0.
const EPOCH: u64 = 1_700_000_000 * SEC;

#[derive(Default)]
struct Io {
    out: Vec<u32>,
    messages: Vec<Message>,
    for_saver: Vec<Message>,
}

impl SwitchIo for Io {
    fn transmit(&mut self, port: PortNo, _: QueueId, _: Frame) {
        self.out.push(port.0);
    }
    fn flush(&mut self) {}
    fn send(&mut self, conn: ConnId, _: u32, message: Message) {
        match conn {
            SAVER => self.for_saver.push(message),
            _ => self.messages.push(message),
        }
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

struct Lab {
    switch: Switch,
    io: Io,
    now: Time,
    pool: Pool,
}

impl Lab {
    fn new(now: Time, config: Config, ports: u32) -> Self {
        let pool = Pool::new(1 << 24);
        let catalogue = std::sync::Arc::new(bofuss_ext::catalogue());
        let hooks = bofuss_ext::hooks(&catalogue);
        let mut datapath = Datapath::new(config, catalogue, pool.clone());
        hooks.into_iter().for_each(|hook| datapath.add_hook(hook));
        let mut lab = Self {
            switch: Switch::new(now, datapath, Identity::default(), FailMode::Standalone),
            io: Io::default(),
            now,
            pool,
        };
        for port in 1..=ports {
            let desc = bofuss_embed::port(port);
            let io = &mut lab.io;
            lab.switch
                .ports(now, io, |ports| ports.changed(desc, Default::default()));
        }
        lab
    }

    fn connect(&mut self) {
        self.switch.connected(self.now, CONN, Version::V1_5, true);
    }

    fn message(&mut self, message: Message) {
        let request = Request {
            xid: 1,
            head: &[],
            message: Ok(message),
        };
        self.switch.message(self.now, CONN, request, &mut self.io);
        while self.switch.has_work(&self.io) {
            self.switch.work(self.now, &mut self.io);
        }
    }

    fn flow(&mut self, text: &str) {
        let flow = parse_flow(
            text,
            FlowModCommand::ADD,
            self.switch.datapath().catalogue(),
        )
        .unwrap();
        self.message(Message::FlowMod(flow));
    }

    fn group(&mut self, text: &str) {
        let group = parse_group(
            text,
            GroupModCommand::ADD,
            self.switch.datapath().catalogue(),
        )
        .unwrap();
        self.message(Message::GroupMod(group));
    }

    fn meter(&mut self, text: &str) {
        let meter = parse_meter(text, MeterModCommand::ADD).unwrap();
        self.message(Message::MeterMod(meter));
    }

    fn send(&mut self, port: u32, from: u8, to: u8) -> Vec<u32> {
        let mac = |n| Mac([2, 0, 0, 0, 0, n]);
        let frame = craft::ethernet(mac(to), mac(from), craft::Layer::new(0x88b5, &[9; 50]));
        let mut frames = vec![self.pool.frame(&frame).unwrap()];
        self.switch
            .receive(self.now, PortNo(port), &mut frames, &mut self.io);
        std::mem::take(&mut self.io.out)
    }

    fn at(&mut self, time: u64) {
        while let Some(at) = self.switch.next_tick().filter(|at| at.0 <= time) {
            self.now = self.now.max(at);
            self.switch.tick(self.now, &mut self.io);
        }
        self.now = Time(time);
    }

    /// All that it answers about itself, without how long ago.
    fn asked(&mut self, body: RequestBody) -> Vec<ReplyBody> {
        self.io.messages.clear();
        let request = MultipartRequest { body, more: false };
        self.message(Message::MultipartRequest(request));
        let replies = self
            .io
            .messages
            .drain(..)
            .filter_map(|message| match message {
                Message::MultipartReply(reply) => Some(reply.body),
                _ => None,
            });
        replies.collect()
    }

    /// All that it says of its entries, groups, meters and tables.
    fn everything(&mut self) -> Vec<String> {
        let (group_id, meter_id) = (GroupId::ALL, MeterId::ALL);
        let mut lines = Vec::new();
        for body in [
            RequestBody::Flow(FlowStatsRequest::all()),
            RequestBody::GroupDesc(GroupDescRequest { group_id }),
            RequestBody::Group(GroupRequest { group_id }),
            RequestBody::MeterConfig(MeterRequest { meter_id }),
            RequestBody::Meter(MeterRequest { meter_id }),
            RequestBody::TableFeatures(Vec::new()),
            RequestBody::TableDesc(bofuss_oflib::message::Empty),
        ] {
            for body in self.asked(body) {
                match body {
                    ReplyBody::Flow(flows) => {
                        lines.extend(flows.iter().map(|flow| format!("{flow:?}")));
                    }
                    other => lines.push(format!("{other:?}")),
                }
            }
        }
        lines.sort();
        lines
    }

    fn saved(&mut self) -> Vec<u8> {
        let configured = self.switch.datapath().shape().features();
        self.saved_with(configured)
    }

    fn saved_with(
        &mut self,
        configured: Vec<bofuss_oflib::message::multipart::TableFeatures>,
    ) -> Vec<u8> {
        let unix_ns = EPOCH + self.now.0;
        let is_configured = |port, _| port == PortNo(3);
        let (now, switch, io) = (self.now, &mut self.switch, &mut self.io);
        let saving = Saving::begin(now, unix_ns, &configured, is_configured, switch, io);
        self.completed(saving)
    }

    /// The states of its extensions.
    fn saved_states(&mut self) -> Vec<u8> {
        let unix_ns = EPOCH + self.now.0;
        let saving = Saving::begin_states(self.now, unix_ns, &mut self.switch, &mut self.io);
        self.completed(saving)
    }

    fn completed(&mut self, mut saving: Saving) -> Vec<u8> {
        while saving.go_on(self.now, &mut self.switch, &mut self.io) {
            self.switch.work(self.now, &mut self.io);
            for message in self.io.for_saver.drain(..) {
                saving.reply(self.now, message);
            }
        }
        let mut state = saving.finish().unwrap();
        seal(&mut state);
        state
    }
}

/// A switch with some of everything, at 100 s.
fn busy() -> Lab {
    let mut lab = Lab::new(Time(0), bofuss_disciplines::config(), 4);
    lab.connect();
    lab.meter("meter=7,pktps,burst,bands=type=drop,rate=1000,burst_size=10");
    lab.group("group_id=1,type=all,bucket=output:2,bucket=output:3");
    lab.group("group_id=9,type=select,bucket=weight:1,output:2");
    // The lower number forwards to the higher one.
    lab.group("group_id=3,type=indirect,bucket=group:9");
    lab.at(20 * SEC);
    lab.flow("priority=7,cookie=0x5,in_port=1,dl_dst=02:00:00:00:00:02,actions=meter:7,group:1");
    lab.flow("table=2,priority=3,idle_timeout=90,send_flow_rem,check_overlap,ip,actions=drop");
    lab.flow("priority=8,in_port=2,idle_timeout=60,hard_timeout=300,actions=group:3");
    lab.flow("priority=1,actions=normal");
    let stateful = "output:45,set_flow_state(state=3,idle_timeout=7)";
    lab.flow(&format!("table=5,priority=9,in_port=44,actions={stateful}"));
    let queue = queues::parse("max=1M,priority=3").unwrap();
    for port in [2, 3] {
        let made = lab
            .switch
            .modify_queue(lab.now, PortNo(port), QueueId(5), queue);
        assert_eq!(made, Ok(()));
    }
    let role = Role {
        role: ControllerRole::MASTER,
        generation_id: 41,
        short_id: 0,
    };
    lab.message(Message::RoleRequest(role));
    lab.at(90 * SEC);
    for _ in 0..5 {
        assert_eq!(lab.send(1, 1, 2), [2, 3]);
    }
    lab.flow("priority=8,in_port=2,idle_timeout=60,hard_timeout=300,actions=group:3");
    lab.send(4, 8, 9);
    lab.at(100 * SEC);
    lab
}

/// A switch that goes on after `pause` seconds, and what it was given.
fn resumed(state: &[u8], pause: u64, config: Config, ports: u32) -> (Lab, Restored) {
    let state = SavedState::read(state).unwrap();
    let now = state.resumed_at(state.unix_ns + pause * SEC);
    let mut lab = Lab::new(now, config, ports);
    let restored = state.restore(now, &mut lab.switch);
    (lab, restored)
}

#[test]
fn what_was_saved_is_there_again_with_counters_and_times() {
    let mut before = busy();
    let state = before.saved();
    let (mut after, restored) = resumed(&state, 0, bofuss_disciplines::config(), 4);
    assert_eq!(restored.left_out, 0, "{restored:?}");
    let counts = (restored.flows, restored.groups, restored.meters);
    assert_eq!(counts, (5, 3, 1), "{restored:?}");
    assert_eq!((restored.queues, restored.addresses), (2, 1));
    after.connect();
    assert_eq!(after.everything(), before.everything());
    // NORMAL knows where station 8 is.
    assert_eq!(after.send(3, 7, 8), [4]);
    // The configured queue is of the configuration; the other one is there.
    let has = |port| after.switch.datapath().queues().of(PortNo(port)).is_some();
    assert!(has(2) && !has(3));
    let stale = Role {
        role: ControllerRole::MASTER,
        generation_id: 40,
        short_id: 0,
    };
    after.io.messages.clear();
    after.message(Message::RoleRequest(stale));
    assert!(matches!(after.io.messages[..], [Message::Error(_)]));
    // It is saved again as it was.
    let again = after.saved();
    let (mut third, restored) = resumed(&again, 0, bofuss_disciplines::config(), 4);
    assert_eq!(restored.left_out, 0, "{restored:?}");
    third.connect();
    assert_eq!(third.everything(), after.everything());
}

#[test]
fn what_packets_did_after_a_state_is_added_where_others_went_on() {
    let mut old = busy();
    let first = old.saved();
    let (mut new, _) = resumed(&first, 0, bofuss_disciplines::config(), 4);
    new.connect();
    let (meanwhile, end) = (old.now.0 + SEC, old.now.0 + 2 * SEC);
    // The old one goes on for a second, and the new one after it.
    old.at(meanwhile);
    for _ in 0..3 {
        assert_eq!(old.send(1, 1, 2), [2, 3]);
    }
    old.send(4, 6, 9);
    let last = old.saved();
    let [earlier, later] = [&first, &last].map(|state| SavedState::read(state).unwrap());
    let mut since = later.since(&earlier);
    for lab in [&mut old, &mut new] {
        lab.at(end);
        assert_eq!(lab.send(1, 1, 2), [2, 3]);
    }
    while !since.is_empty() {
        let given = since.give(new.now, 1, &mut new.switch);
        assert_eq!(given.left_out, 0, "{given:?}");
    }
    assert_eq!(new.everything(), old.everything());
    assert_eq!(new.send(3, 7, 6), [4], "NORMAL knows it");
    assert!(later.since(&later).is_empty());
    // An entry that was replaced by an equal one has counted anew, and one may be new.
    old.flow("priority=8,in_port=2,idle_timeout=60,hard_timeout=300,actions=group:3");
    old.flow("priority=99,in_port=3,actions=drop");
    let next = old.saved();
    let next = SavedState::read(&next).unwrap();
    let given = next
        .since(&later)
        .give(new.now, usize::MAX, &mut new.switch);
    assert_eq!((given.flows, given.left_out), (2, 0), "{given:?}");
}

#[test]
fn timeouts_go_on_while_the_switch_is_away() {
    let state = busy().saved();
    let count =
        |lab: &Lab| -> usize { lab.switch.datapath().tables().iter().map(|t| t.len()).sum() };
    // The first entry with an idle timeout was last used at 20 s, the other one at 90 s.
    let times = [
        (0, 0, 6),
        (9, 900, 6),
        (10, 0, 5),
        (49, 900, 5),
        (50, 0, 4),
        (1000, 0, 4),
    ];
    for (pause, ms, entries) in times {
        let (mut lab, restored) = resumed(&state, pause, bofuss_disciplines::config(), 4);
        assert_eq!(restored.flows, 5, "{restored:?}");
        // The fail mode has one, too.
        let now = lab.now.0 + ms * (SEC / 1000);
        lab.at(now);
        assert_eq!(count(&lab), entries, "after {pause} s");
    }
    // The clock was set back: no time has passed.
    let saved = SavedState::read(&state).unwrap();
    assert_eq!(saved.resumed_at(saved.unix_ns - 3600 * SEC), saved.time);
}

#[test]
fn what_the_new_configuration_cannot_hold_is_left_out_and_named() {
    let state = busy().saved();
    let config = Config {
        n_tables: 3,
        max_groups: 2,
        ..bofuss_disciplines::config()
    };
    let (lab, restored) = resumed(&state, 0, config, 1);
    assert_eq!((restored.flows, restored.groups), (3, 2), "{restored:?}");
    for wanted in [
        "entry of table 5, priority 9: FLOW_MOD_FAILED/BAD_TABLE_ID",
        "entry of table 0, priority 8: BAD_ACTION/BAD_OUT_GROUP",
        "group 3: GROUP_MOD_FAILED/",
        "queue 2:5: ",
        "address 02:00:00:00:00:08: there is no port 4",
    ] {
        let named = restored.why.iter().any(|why| why.starts_with(wanted));
        assert!(named, "{wanted}: {:?}", restored.why);
    }
    assert_eq!(lab.switch.generation_id(), Some(41));
}

#[test]
fn the_entry_of_the_fail_mode_is_not_doubled() {
    let mut lab = Lab::new(Time(0), bofuss_disciplines::config(), 2);
    let state = lab.saved();
    let (after, restored) = resumed(&state, 1, bofuss_disciplines::config(), 2);
    assert_eq!(restored, Restored::default());
    assert_eq!(after.switch.datapath().tables()[0].len(), 1);
}

#[test]
fn what_is_cut_off_damaged_or_foreign_is_refused_with_its_reason() {
    let state = busy().saved();
    assert!(SavedState::read(&state).is_ok());
    let places = || (0..state.len()).step_by(13);
    for at in places() {
        assert!(SavedState::read(&state[..at]).is_err(), "{at} bytes");
        let mut damaged = state.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(SavedState::read(&damaged).is_err(), "byte {at}");
    }
    let refused = |bytes: &[u8]| SavedState::read(bytes).unwrap_err();
    let is = |text: &str| StateError(text.into());
    assert_eq!(refused(b""), is("it is no state of a switch"));
    assert_eq!(
        refused(b"bofuss-record 1"),
        is("it is no state of a switch")
    );
    let other = is("another version of bofuss has written it");
    assert_eq!(refused(b"bofuss-state 3\n"), other);
    assert_eq!(
        refused(&state[..state.len() - 1]),
        is("it is cut off or damaged: its checksum is wrong")
    );
    // A state with a right checksum and other records is taken, and its parts are left out.
    saved_state::run(&state);
    for at in places().take(40) {
        let mut damaged = state[..state.len() - 4].to_vec();
        damaged[at] ^= 0x5a;
        saved_state::run(&damaged);
    }
}

#[test]
fn mappings_are_there_before_the_groups_and_entries_that_use_them() {
    let mut before = Lab::new(Time(0), bofuss_disciplines::config(), 4);
    before.connect();
    before.tell("field_map", "add,spare3=udp:64:8,mask,set,udp_dst=6363");
    before.tell("field_map", "add,spare0=ipv4:32:16,eth_type=0x800");
    before.group("group_id=1,type=all,bucket=set_field:7->spare3,output:2");
    before.flow("priority=5,udp,udp_dst=6363,spare3=5/7,actions=group:1");
    before.flow("priority=6,ip,spare0=0x99,actions=set_field:7->ip_dscp,output:3");
    let state = before.saved();
    let (mut after, restored) = resumed(&state, 0, bofuss_disciplines::config(), 4);
    let counts = (restored.flows, restored.groups, restored.states);
    assert_eq!((restored.left_out, counts), (0, (2, 1, 0)), "{restored:?}");
    after.connect();
    assert_eq!(after.everything(), before.everything());
    assert_eq!(after.known(), before.known());
    let known = after.known();
    let maps = known.iter().filter(|message| message.contains("field_map"));
    assert_eq!(maps.count(), 2, "{known:?}");
    // Another process in its place gets the states of extensions last.
    let read = SavedState::read(&state).unwrap();
    let mut new = Lab::new(before.now, bofuss_disciplines::config(), 4);
    let first = read.restore_but_states(before.now, &mut new.switch);
    let last = read.restore_states(before.now, &mut new.switch);
    assert_eq!(
        (first.left_out, last.left_out),
        (0, 0),
        "{first:?} {last:?}"
    );
    new.connect();
    assert_eq!(new.known(), before.known());
}
