//! Hosts that send what is planned, and keep what they receive.

use std::collections::BTreeMap;

use bofuss_datapath::Time;
use bofuss_frame::Frame;
use bofuss_oflib::Mac;
use bofuss_packet::craft::{Layer, arp, ethernet, ipv4, udp};
use bofuss_sim::host::{Host, HostOutput};

pub const MS: u64 = Time::SEC / 1000;
pub const BROADCAST: Mac = Mac([0xff; 6]);
/// The EtherType of ARP-Path.
pub const PATH_TYPE: [u8; 2] = [0x88, 0xb5];
/// The last bytes of a frame, which are its number.
const NUMBER_BYTES: usize = 8;
/// The Ethernet address of host `number`.
pub fn mac(number: u16) -> Mac {
    let [high, low] = number.to_be_bytes();
    Mac([2, 0, 0, 0, high, low])
}

pub fn ip(number: u16) -> [u8; 4] {
    let [high, low] = number.to_be_bytes();
    [10, 0, high, low]
}

/// The plan of what a host sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// An ARP request for a host.
    Ask(u16),
    /// An IPv6 neighbour solicitation, which nobody answers.
    Solicit,
    /// A datagram to a host, whose address is known.
    Data(u16),
    /// The same in a VLAN.
    Tagged(u16, u16),
}

/// A host that sends what is planned, answers ARP requests, and keeps what it received.
pub struct Station {
    number: u16,
    plan: BTreeMap<(Time, usize), Plan>,
    /// The number of the next frame; the upper half is the number of the host.
    next: u64,
    /// The numbers of frames that came in, how often, and when first.
    pub received: BTreeMap<u64, (u32, Time)>,
    /// Frames for other hosts.
    pub foreign: u32,
}

impl Station {
    pub fn new(number: u16, first: u64) -> Self {
        Self {
            number,
            plan: BTreeMap::new(),
            next: u64::from(number) << 32 | first,
            received: BTreeMap::new(),
            foreign: 0,
        }
    }

    pub fn plan(&mut self, at: Time, what: Plan) {
        let count = self.plan.len();
        self.plan.insert((at, count), what);
    }

    fn send(&mut self, to: Mac, payload: Layer, out: &mut HostOutput<'_>) {
        let mut bytes = ethernet(to, mac(self.number), payload);
        bytes.resize(bytes.len().max(60), 0);
        bytes.extend(self.next.to_be_bytes());
        self.next += 1;
        assert!(out.send_bytes(&bytes), "the pool is large enough");
    }

    fn carry_out(&mut self, what: Plan, out: &mut HostOutput<'_>) {
        let (own, own_ip) = (mac(self.number), ip(self.number).into());
        let datagram = |to: u16| ipv4(own_ip, ip(to).into(), 64, udp(7, 7, b"numbered"));
        match what {
            Plan::Ask(to) => {
                let request = arp(1, own, own_ip, Mac([0; 6]), ip(to).into());
                self.send(BROADCAST, request, out);
            }
            Plan::Solicit => {
                let group = Mac([0x33, 0x33, 0xff, 0, 0, 1]);
                self.send(group, Layer::new(0x86dd, &[0x60; 48]), out);
            }
            Plan::Data(to) => self.send(mac(to), datagram(to), out),
            Plan::Tagged(vlan, to) => {
                let tagged = bofuss_packet::craft::vlan(0x8100, vlan, datagram(to));
                self.send(mac(to), tagged, out);
            }
        }
    }
}

impl Host for Station {
    fn receive(&mut self, now: Time, frame: Frame, out: &mut HostOutput<'_>) {
        let bytes = frame.bytes();
        if bytes[12..14] == PATH_TYPE {
            return;
        }
        let to = Mac(bytes[..6].try_into().expect("six bytes"));
        if to != mac(self.number) && !to.is_multicast() {
            self.foreign += 1;
            return;
        }
        let entry = self.received.entry(number_of(bytes)).or_insert((0, now));
        entry.0 += 1;
        let is_request = bytes[12..14] == [8, 6] && bytes[20..22] == [0, 1];
        if is_request && bytes[38..42] == ip(self.number) {
            let asker = u16::from_be_bytes([bytes[30], bytes[31]]);
            let (own, own_ip) = (mac(self.number), ip(self.number).into());
            let reply = arp(2, own, own_ip, mac(asker), ip(asker).into());
            self.send(mac(asker), reply, out);
        }
    }

    fn tick(&mut self, now: Time, out: &mut HostOutput<'_>) {
        while let Some((&(at, count), &what)) = self.plan.first_key_value() {
            if at > now {
                break;
            }
            self.plan.remove(&(at, count));
            self.carry_out(what, out);
        }
    }

    fn next_tick(&self) -> Option<Time> {
        self.plan.keys().next().map(|(at, _)| *at)
    }
}

/// The number of a frame of a [`Station`].
pub fn number_of(bytes: &[u8]) -> u64 {
    let (_, number) = bytes.split_at(bytes.len() - NUMBER_BYTES);
    u64::from_be_bytes(number.try_into().expect("eight bytes"))
}
