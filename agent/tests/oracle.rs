//! Random operations agree with a small model of flow tables, groups and meters: outputs, counters,
//! timeouts, references, errors.
#![allow(clippy::unwrap_used)]

mod groups;
mod random;

use std::collections::{BTreeMap, BTreeSet};

use bofuss_agent::FailMode;
use bofuss_datapath::Engine;
use bofuss_oflib::message::multipart::{FlowStatsRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::{FlowModCommand, FlowRemovedReason};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::{GroupId, TableId};
use bofuss_oflib::{Match, Message, PortNo};
use groups::{Act, Group, Meter};
use random::{random_frame, random_match};

use crate::common::{Lab, MS, Random};

const MAX_ENTRIES: usize = 12;
const OPERATIONS: usize = 8_000;

/// Ingress port, Ethernet type, protocol, IPv4 destination, port, TCP flags: value and mask of
/// each.
type Slots = [(u32, u32); 6];
/// The place of the TCP flags among them.
const FLAGS: usize = 5;

fn covers(a: &Slots, b: &Slots) -> bool {
    a.iter()
        .zip(b)
        .all(|(a, b)| a.1 & !b.1 == 0 && (a.0 ^ b.0) & a.1 == 0)
}

fn overlaps(a: &Slots, b: &Slots) -> bool {
    a.iter().zip(b).all(|(a, b)| (a.0 ^ b.0) & a.1 & b.1 == 0)
}

#[derive(Clone)]
struct Flow {
    table: u8,
    priority: u16,
    slots: Slots,
    fields: Match,
    cookie: u64,
    idle: u64,
    hard: u64,
    notify: bool,
    created: u64,
    used: u64,
    packets: u64,
    bytes: u64,
    meter: Option<u32>,
    apply: Act,
    write: Option<Act>,
    goto: bool,
}

impl Flow {
    /// When it expires, in milliseconds, and why. If both timeouts end at once, the hard timeout
    /// counts.
    fn deadline(&self) -> Option<(u64, FlowRemovedReason)> {
        let idle = (self.idle > 0).then(|| {
            (
                self.used + self.idle * 1000,
                FlowRemovedReason::IDLE_TIMEOUT,
            )
        });
        let hard = (self.hard > 0).then(|| {
            (
                self.created + self.hard * 1000,
                FlowRemovedReason::HARD_TIMEOUT,
            )
        });
        match (idle, hard) {
            (Some(idle), Some(hard)) => Some(if idle.0 < hard.0 { idle } else { hard }),
            (idle, hard) => idle.or(hard),
        }
    }
}

/// The contents of a flow-removed: reason, table, priority, packets, age in milliseconds.
type Gone = (u8, u8, u16, u64, u64);

/// All entries in the order in which they were added, groups, meters, and the ports that are down.
#[derive(Default)]
struct Oracle {
    flows: Vec<Flow>,
    groups: BTreeMap<u32, Group>,
    meters: BTreeMap<u32, Meter>,
    down: BTreeSet<u32>,
    now: u64,
    gone: Vec<Gone>,
}

impl Oracle {
    fn remove(&mut self, reason: FlowRemovedReason, at: u64, mut which: impl FnMut(&Flow) -> bool) {
        let (out, stay): (Vec<_>, Vec<_>) = self.flows.drain(..).partition(|flow| which(flow));
        self.flows = stay;
        for f in out.iter().filter(|f| f.notify) {
            let age = at - f.created;
            self.gone
                .push((reason.0, f.table, f.priority, f.packets, age));
        }
    }

    fn add(&mut self, mut flow: Flow, check: bool, reset: bool) -> Option<&'static str> {
        let table = flow.table;
        let mut peers = self.flows.iter().filter(|f| f.table == table);
        let rival = |f: &&Flow| f.priority == flow.priority && overlaps(&f.slots, &flow.slots);
        if check && peers.clone().any(|f| rival(&f)) {
            return Some("OVERLAP");
        }
        let same =
            |f: &Flow| f.table == table && f.priority == flow.priority && f.slots == flow.slots;
        match self.flows.iter().position(same) {
            Some(at) => {
                let old = self.flows.remove(at);
                if !reset {
                    (flow.packets, flow.bytes) = (old.packets, old.bytes);
                }
            }
            None if peers.by_ref().count() >= MAX_ENTRIES => return Some("TABLE_FULL"),
            None => {}
        }
        self.flows.push(flow);
        None
    }

    fn send(&mut self, packet: &Slots, bytes: u64) -> Vec<u32> {
        let mut out = Vec::new();
        // Of an action set with a group and an output, the group alone is executed.
        let (mut output, mut group) = (None, None);
        for table in 0..2 {
            let hits = self
                .flows
                .iter_mut()
                .filter(|f| f.table == table && covers(&f.slots, packet));
            // Of equal priorities the oldest wins.
            let Some(hit) = hits.rev().max_by_key(|f| f.priority) else {
                return out;
            };
            hit.packets += 1;
            hit.bytes += bytes;
            hit.used = self.now;
            let (apply, goto) = (hit.apply, hit.goto);
            match hit.write {
                Some(Act::Output(port)) => output = Some(Act::Output(port)),
                Some(Act::Group(id)) => group = Some(Act::Group(id)),
                None => {}
            }
            let now = self.now;
            let meter = hit.meter.and_then(|id| self.meters.get_mut(&id));
            if meter.is_some_and(|meter| !meter.passes(now)) {
                return out;
            }
            self.execute(apply, &mut out);
            if !goto {
                break;
            }
        }
        if let Some(act) = group.or(output) {
            self.execute(act, &mut out);
        }
        out
    }

    fn advance(&mut self, ms: u64) {
        self.now += ms;
        let now = self.now;
        while let Some((at, reason)) = self
            .flows
            .iter()
            .filter_map(Flow::deadline)
            .filter(|(at, _)| *at <= now)
            .min_by_key(|d| d.0)
        {
            self.remove(reason, at, |f| f.deadline() == Some((at, reason)));
        }
    }
}

struct Both {
    lab: Lab,
    oracle: Oracle,
    random: Random,
    /// How often each outcome occurred.
    errors: usize,
    removed: usize,
    sent: usize,
    super_frames: usize,
}

impl Both {
    fn flow_mod(&mut self) {
        use FlowModCommand as C;
        let random = &mut self.random;
        let command = random.of(&[
            C::ADD,
            C::ADD,
            C::ADD,
            C::MODIFY,
            C::MODIFY_STRICT,
            C::DELETE,
            C::DELETE_STRICT,
        ]);
        let delete = command == C::DELETE || command == C::DELETE_STRICT;
        let strict = command == C::MODIFY_STRICT || command == C::DELETE_STRICT;
        let (slots, matched) = random_match(random);
        let (table, priority) = (random.below(2) as u8, random.below(3) as u16 + 1);
        let cookie = random.below(4);
        let mask = if command == C::ADD {
            0
        } else {
            random.of(&[0, 1, 3])
        };
        let (check, reset, notify) = (
            random.below(4) == 0,
            random.below(4) == 0,
            random.below(2) == 0,
        );
        let (idle, hard) = (random.of(&[0, 0, 1, 2]), random.of(&[0, 0, 1, 3]));
        let goto = table == 0 && random.below(2) == 0;
        let apply = Act::random(random);
        let write = (random.below(3) == 0).then(|| Act::random(random));
        // Each table has its own meter: a super-frame enters both tables as a whole.
        let meter = (random.below(4) == 0).then(|| u32::from(table) + 1);
        let filter = (delete && random.below(2) == 0).then_some(apply);
        let mut text = format!("table={table},priority={priority}{matched}");
        match command {
            C::ADD => text += &format!(",cookie={cookie},idle_timeout={idle},hard_timeout={hard}"),
            _ if mask > 0 => text += &format!(",cookie={cookie}/{mask}"),
            _ => {}
        }
        for (set, name) in [
            (check && command == C::ADD, "check_overlap"),
            (reset && !delete, "reset_counts"),
            (notify, "send_flow_rem"),
        ] {
            text += &if set {
                format!(",{name}")
            } else {
                String::new()
            };
        }
        match filter {
            Some(Act::Output(port)) => text += &format!(",out_port={port}"),
            Some(Act::Group(id)) => text += &format!(",out_group={id}"),
            None => {}
        }
        if !delete {
            text += ",actions=";
            text += &meter.map_or(String::new(), |id| format!("meter:{id},"));
            text += &apply.to_string();
            text += &write.map_or(String::new(), |act| format!(",write_actions({act})"));
            text += if goto { ",goto_table:1" } else { "" };
        }
        let fields = parse_flow(&text, command, &self.lab.catalogue)
            .expect(&text)
            .fields;
        self.lab.flow(command, &text);
        self.lab.work();
        let oracle = &mut self.oracle;
        let now = oracle.now;
        let chosen = |f: &Flow| {
            let by_match = if strict {
                f.slots == slots && f.priority == priority
            } else {
                covers(&slots, &f.slots)
            };
            let by_port = filter.is_none_or(|act| f.apply == act || f.write == Some(act));
            f.table == table && by_match && by_port && f.cookie & mask == cookie & mask
        };
        let mut error = oracle.missing(&[Some(apply), write], meter);
        if delete {
            error = None;
            oracle.remove(FlowRemovedReason::DELETE, now, chosen);
        } else if error.is_some() {
        } else if command == C::ADD {
            let flow = Flow {
                table,
                priority,
                slots,
                fields,
                cookie,
                idle,
                hard,
                notify,
                meter,
                apply,
                write,
                goto,
                created: now,
                used: now,
                packets: 0,
                bytes: 0,
            };
            error = oracle.add(flow, check, reset);
        } else {
            for f in oracle.flows.iter_mut().filter(|f| chosen(f)) {
                (f.meter, f.apply, f.write, f.goto) = (meter, apply, write, goto);
                if reset {
                    (f.packets, f.bytes) = (0, 0);
                }
            }
        }
        self.expect_error(error, &text);
    }

    /// Checks that the switch just sent this error, or none.
    fn expect_error(&mut self, error: Option<&str>, text: &str) {
        let is_error = |m: &Message| matches!(m, Message::Error(_));
        let said = self.lab.io.messages.iter().position(is_error);
        let said = said.map(|at| self.lab.io.messages.remove(at));
        let name = said.map(|m| match m {
            Message::Error(e) => e.error.row().unwrap().code_name,
            _ => unreachable!(),
        });
        assert_eq!(name, error, "{text}");
        self.errors += usize::from(error.is_some());
    }

    fn send(&mut self) {
        let (mut packet, bytes, offload, parts) = random_frame(&mut self.random);
        self.lab.send_with(packet[0].0, &bytes, offload);
        self.super_frames += usize::from(parts.len() > 1);
        let mut wanted = Vec::new();
        for (bytes, flags) in parts {
            packet[FLAGS].0 = flags;
            wanted.extend(self.oracle.send(&packet, bytes));
        }
        let down = &self.oracle.down;
        wanted.retain(|port| *port != packet[0].0 && !down.contains(port));
        // An output at the end of a list of actions may be sent after what a group sends.
        wanted.sort_unstable();
        self.lab.io.out.sort_unstable();
        assert_eq!(std::mem::take(&mut self.lab.io.out), wanted);
        self.sent += wanted.len();
    }

    fn advance(&mut self) {
        let ms = self.random.of(&[1, 10, 499, 500, 1000]);
        self.lab.advance(ms);
        self.oracle.advance(ms);
    }

    fn compare(&mut self) {
        let heard = self.lab.io.messages.drain(..).map(|message| match message {
            Message::FlowRemoved(r) => {
                let ms = u64::from(r.duration_sec) * 1000 + u64::from(r.duration_nsec) / MS;
                (r.reason.0, r.table_id.0, r.priority, r.packet_count, ms)
            }
            other => panic!("{other:?}"),
        });
        let mut heard: Vec<Gone> = heard.collect();
        let mut gone = std::mem::take(&mut self.oracle.gone);
        heard.sort_unstable();
        gone.sort_unstable();
        assert_eq!(heard, gone);
        self.removed += gone.len();
        let all = FlowStatsRequest {
            table_id: TableId::ALL,
            out_port: PortNo::ANY,
            out_group: GroupId::ANY,
            ..FlowStatsRequest::default()
        };
        self.lab
            .message(Message::MultipartRequest(RequestBody::Flow(all).into()));
        self.lab.work();
        let mut is = Vec::new();
        for message in self.lab.io.messages.drain(..) {
            let Message::MultipartReply(reply) = message else {
                panic!()
            };
            let ReplyBody::Flow(flows) = reply.body else {
                panic!()
            };
            is.extend(flows.into_iter().map(|f| f.0).map(|f| {
                let label = format!("{} {} {} {}", f.table_id, f.priority, f.fields, f.cookie);
                (label, f.packet_count, f.byte_count)
            }));
        }
        let label = |f: &Flow| format!("{} {} {} {}", f.table, f.priority, f.fields, f.cookie);
        let flows = self.oracle.flows.iter();
        let mut should: Vec<_> = flows.map(|f| (label(f), f.packets, f.bytes)).collect();
        is.sort();
        should.sort();
        assert_eq!(is, should);
        self.compare_groups();
    }
}

#[test]
fn random_operations_agree_with_the_model() {
    for (name, engine) in Engine::ALL {
        agree(
            Lab::with_engine(MAX_ENTRIES as u32, FailMode::Secure, engine),
            name,
        );
    }
}

fn agree(lab: Lab, name: &str) {
    let mut both = Both {
        lab,
        oracle: Oracle::default(),
        random: Random(1),
        errors: 0,
        removed: 0,
        sent: 0,
        super_frames: 0,
    };
    for _ in 0..OPERATIONS {
        match both.random.below(20) {
            0..7 => both.flow_mod(),
            7..15 => both.send(),
            15 | 16 => both.group_mod(),
            17 => both.meter_mod(),
            18 => both.link(),
            _ => both.advance(),
        }
        both.compare();
    }
    let taken = (both.errors, both.removed, both.sent, both.super_frames);
    assert!(
        taken.0 > 100 && taken.1 > 300 && taken.2 > 2000 && taken.3 > 300,
        "{name} rarely: {taken:?}"
    );
}
