//! The model's groups and meters, and operations on them.

use std::fmt;

use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::{GroupRequest, MeterRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::port::PortState;
use bofuss_oflib::message::{FlowRemovedReason, PortDesc};
use bofuss_oflib::text::{parse_group, parse_meter};
use bofuss_oflib::types::{GroupId, MeterId};
use bofuss_oflib::{Message, PortNo};

use super::{Both, Flow, Oracle};
use crate::common::Random;

/// Tokens that a packet costs: at one packet a second, one token arrives each millisecond.
const PACKET: i64 = 1000;

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    Output(u32),
    Group(u32),
}

impl Act {
    pub fn random(random: &mut Random) -> Self {
        match random.below(3) {
            0 => Self::Group(random.below(4) as u32 + 1),
            _ => Self::Output(random.below(4) as u32 + 1),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(port) => write!(f, "output:{port}"),
            Self::Group(id) => write!(f, "group:{id}"),
        }
    }
}

/// A bucket: the port that it watches, if it watches one; its only action; its packets.
pub struct Bucket(Option<u32>, Act, u64);

/// A group: its type, its buckets, its packets.
pub struct Group(&'static str, Vec<Bucket>, u64);

impl Group {
    fn goes_to(&self, id: u32) -> bool {
        self.1.iter().any(|bucket| bucket.1 == Act::Group(id))
    }
}

/// A meter of packets a second: rate, depth, tokens, last time, packets, dropped packets.
pub struct Meter(i64, i64, i64, u64, u64, u64);

impl Meter {
    pub fn passes(&mut self, now: u64) -> bool {
        let more = self.0 * (now - self.3) as i64;
        (self.2, self.3) = ((self.2 + more).min(self.1), now);
        self.4 += 1;
        if self.2 < 0 {
            self.5 += 1;
            return false;
        }
        self.2 -= PACKET;
        true
    }
}

impl Flow {
    fn goes_to(&self, id: u32) -> bool {
        [Some(self.apply), self.write].contains(&Some(Act::Group(id)))
    }
}

impl Oracle {
    /// The error of an entry with these actions and this meter, if one that they name does not
    /// exist.
    pub fn missing(&self, acts: &[Option<Act>], meter: Option<u32>) -> Option<&'static str> {
        if meter.is_some_and(|id| !self.meters.contains_key(&id)) {
            return Some("UNKNOWN_METER");
        }
        let missing = |act: &Act| matches!(act, Act::Group(id) if !self.groups.contains_key(id));
        let missing = acts.iter().flatten().any(missing);
        missing.then_some("BAD_OUT_GROUP")
    }

    pub fn execute(&mut self, act: Act, out: &mut Vec<u32>) {
        let id = match act {
            Act::Output(port) => return out.push(port),
            Act::Group(id) => id,
        };
        let group = self.groups.get_mut(&id).unwrap();
        group.2 += 1;
        let live = |b: &&mut Bucket| b.0.is_none_or(|port| !self.down.contains(&port));
        let buckets = group.1.iter_mut();
        let chosen: Vec<_> = match group.0 {
            "ff" => buckets.filter(live).take(1).collect(),
            _ => buckets.collect(),
        };
        let mut next = Vec::new();
        for bucket in chosen {
            bucket.2 += 1;
            next.push(bucket.1);
        }
        next.into_iter().for_each(|act| self.execute(act, out));
    }

    fn leads(&self, from: &Group, to: u32) -> bool {
        from.1.iter().any(|bucket| match bucket.1 {
            Act::Group(id) => id == to || self.groups.get(&id).is_some_and(|g| self.leads(g, to)),
            Act::Output(_) => false,
        })
    }

    fn put_group(&mut self, id: u32, mut group: Group) -> Option<&'static str> {
        if group.0 == "indirect" && group.1.len() != 1 {
            return Some("INVALID_GROUP");
        }
        for bucket in &group.1 {
            match bucket.1 {
                Act::Group(other) if other == id => return Some("LOOP"),
                Act::Group(other) if !self.groups.contains_key(&other) => {
                    return Some("BAD_OUT_GROUP");
                }
                _ => {}
            }
        }
        if self.leads(&group, id) {
            return Some("LOOP");
        }
        group.2 = self.groups.get(&id).map_or(0, |old| old.2);
        self.groups.insert(id, group);
        None
    }

    fn delete_group(&mut self, id: u32) -> Option<&'static str> {
        if self.groups.values().any(|group| group.goes_to(id)) {
            return Some("CHAINED_GROUP");
        }
        if self.groups.remove(&id).is_some() {
            let now = self.now;
            self.remove(FlowRemovedReason::GROUP_DELETE, now, |f| f.goes_to(id));
        }
        None
    }
}

impl Both {
    pub fn group_mod(&mut self) {
        let random = &mut self.random;
        let (id, ty) = (
            random.below(4) as u32 + 1,
            random.of(&["all", "indirect", "ff"]),
        );
        let count = if ty == "indirect" { 1 } else { random.below(4) };
        let mut buckets = Vec::new();
        for _ in 0..count {
            let watched = (ty == "ff").then(|| random.below(4) as u32 + 1);
            buckets.push(Bucket(watched, Act::random(random), 0));
        }
        use GroupModCommand as C;
        let command = random.of(&[C::ADD, C::ADD, C::MODIFY, C::MODIFY, C::DELETE]);
        let mut text = format!("group_id={id},type={ty}");
        for bucket in &buckets {
            let watched = bucket.0.map(|port| format!("watch_port:{port},"));
            text += &format!(",bucket={}{}", watched.unwrap_or_default(), bucket.1);
        }
        let group_mod = parse_group(&text, command, &self.lab.catalogue).expect(&text);
        self.lab.message(Message::GroupMod(group_mod));
        self.lab.work();
        let exists = self.oracle.groups.contains_key(&id);
        let error = match command {
            C::ADD if exists => Some("GROUP_EXISTS"),
            C::MODIFY if !exists => Some("UNKNOWN_GROUP"),
            C::DELETE => self.oracle.delete_group(id),
            _ => self.oracle.put_group(id, Group(ty, buckets, 0)),
        };
        self.expect_error(error, &text);
    }

    pub fn meter_mod(&mut self) {
        use MeterModCommand as C;
        let random = &mut self.random;
        let id = random.below(2) as u32 + 1;
        let (rate, burst) = (random.below(3) as i64 + 1, random.below(3) as i64 + 1);
        let command = random.of(&[C::ADD, C::ADD, C::MODIFY, C::DELETE]);
        let text =
            format!("meter={id},pktps,burst,stats,bands=type=drop,rate={rate},burst_size={burst}");
        let meter_mod = parse_meter(&text, command).expect(&text);
        self.lab.message(Message::MeterMod(meter_mod));
        self.lab.work();
        let now = self.oracle.now;
        let exists = self.oracle.meters.contains_key(&id);
        let error = match command {
            C::ADD if exists => Some("METER_EXISTS"),
            C::MODIFY if !exists => Some("UNKNOWN_METER"),
            C::DELETE => {
                self.oracle.meters.remove(&id);
                let uses = |f: &Flow| f.meter == Some(id);
                self.oracle
                    .remove(FlowRemovedReason::METER_DELETE, now, uses);
                None
            }
            _ => {
                let packets = self.oracle.meters.get(&id).map_or(0, |old| old.4);
                let depth = burst * PACKET;
                let meter = Meter(rate, depth, depth, now, packets, 0);
                self.oracle.meters.insert(id, meter);
                None
            }
        };
        self.expect_error(error, &text);
    }

    /// Sets a random port's link down or up.
    pub fn link(&mut self) {
        let port = self.random.below(2) as u32 + 3;
        let was_down = self.oracle.down.remove(&port);
        let state = if was_down {
            PortState(0)
        } else {
            PortState::LINK_DOWN
        };
        if !was_down {
            self.oracle.down.insert(port);
        }
        let desc = PortDesc {
            port_no: PortNo(port),
            state,
            ..PortDesc::default()
        };
        let lab = &mut self.lab;
        lab.switch.ports(lab.now, &mut lab.io, |ports| {
            ports.changed(desc, OffloadCapabilities::default())
        });
        let told = lab.io.messages.pop();
        assert!(matches!(told, Some(Message::PortStatus(_))), "{told:?}");
    }

    fn ask(&mut self, body: RequestBody) -> ReplyBody {
        self.lab.message(Message::MultipartRequest(body.into()));
        self.lab.work();
        match self.lab.io.messages.pop() {
            Some(Message::MultipartReply(reply)) => reply.body,
            other => panic!("{other:?}"),
        }
    }

    /// Checks that counters and references of groups and meters equal the model's.
    pub fn compare_groups(&mut self) {
        let request = GroupRequest {
            group_id: GroupId::ALL,
        };
        let ReplyBody::Group(groups) = self.ask(RequestBody::Group(request)) else {
            panic!("no group statistics")
        };
        let is: Vec<_> = groups
            .into_iter()
            .map(|g| {
                let buckets = g.0.bucket_stats.iter().map(|b| b.packet_count).collect();
                (
                    g.0.group_id.0,
                    g.0.ref_count as usize,
                    g.0.packet_count,
                    buckets,
                )
            })
            .collect();
        let oracle = &self.oracle;
        let should: Vec<(u32, usize, u64, Vec<u64>)> = oracle
            .groups
            .iter()
            .map(|(id, group)| {
                let flows = oracle.flows.iter().filter(|f| f.goes_to(*id)).count();
                let groups = oracle.groups.values().filter(|g| g.goes_to(*id)).count();
                let buckets = group.1.iter().map(|bucket| bucket.2).collect();
                (*id, flows + groups, group.2, buckets)
            })
            .collect();
        assert_eq!(is, should);
        let request = MeterRequest {
            meter_id: MeterId::ALL,
        };
        let ReplyBody::Meter(meters) = self.ask(RequestBody::Meter(request)) else {
            panic!("no meter statistics")
        };
        let is: Vec<_> = meters
            .iter()
            .map(|m| {
                (
                    m.meter_id.0,
                    m.flow_count as usize,
                    m.input.packet_count,
                    m.bands[0].packet_count,
                )
            })
            .collect();
        let oracle = &self.oracle;
        let should: Vec<_> = oracle
            .meters
            .iter()
            .map(|(id, meter)| {
                let flows = oracle.flows.iter().filter(|f| f.meter == Some(*id)).count();
                (*id, flows, meter.4, meter.5)
            })
            .collect();
        assert_eq!(is, should);
    }
}
