//! A small host: it answers ARP and echo requests, and sends echo requests to one address.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use bofuss_datapath::Time;
use bofuss_frame::Frame;
use bofuss_oflib::field::{
    ARP_OP, ARP_SHA, ARP_SPA, ARP_TPA, ETH_SRC, ICMPV4_TYPE, IPV4_DST, IPV4_SRC,
};
use bofuss_oflib::{Field, Mac, PortNo};
use bofuss_packet::Packet;
use bofuss_packet::craft::{arp, ethernet, icmp, ipv4, ping};
use bofuss_packet::header::protocol;

use super::{Fact, Host, HostConfig, HostOutput, HostReport};

const BROADCAST: Mac = Mac([0xff; 6]);
const TTL: u8 = 64;
/// Where the ICMP header of a packet without IP options begins.
const ICMP_AT: usize = 14 + 20;
/// Data of an echo request, in bytes; as `ping` sends.
const ECHO_BYTES: usize = 56;

/// A host with one IPv4 address that knows ARP and ICMP echo.
pub struct SimpleHost {
    mac: Mac,
    ip: Ipv4Addr,
    /// Who has which address.
    neighbours: BTreeMap<Ipv4Addr, Mac>,
    pinging: Option<Pinging>,
    sent: u64,
    received: u64,
}

/// Echo requests that a host sends.
#[derive(Clone, Debug)]
pub struct Pinging {
    /// To whom.
    pub to: Ipv4Addr,
    /// When the next one is due.
    pub next: Time,
    /// Nanoseconds between two.
    pub interval_ns: u64,
    /// How many are still to be sent.
    pub left: u16,
    /// When those that were not answered left, by their sequence number.
    pub waiting: BTreeMap<u16, Time>,
}

impl SimpleHost {
    /// Makes a host. Panics: if it has no IPv4 address.
    pub fn new(config: &HostConfig) -> Self {
        let (ip, _) = config
            .addresses
            .ip4
            .expect("a simple host has an IPv4 address");
        let known = config.known.iter();
        Self {
            mac: config.addresses.mac,
            ip,
            neighbours: known
                .filter_map(|host| Some((host.ip4?.0, host.mac)))
                .collect(),
            pinging: None,
            sent: 0,
            received: 0,
        }
    }

    /// Sends `count` echo requests to an address, the first at `start`.
    pub fn ping(&mut self, to: Ipv4Addr, start: Time, interval_ns: u64, count: u16) {
        self.pinging = Some(Pinging {
            to,
            next: start,
            interval_ns,
            left: count,
            waiting: BTreeMap::new(),
        });
    }

    fn arp(&mut self, now: Time, packet: &Packet, out: &mut HostOutput<'_>) {
        let sha = mac(packet, ARP_SHA);
        let spa = ip(packet, ARP_SPA);
        if ip(packet, ARP_TPA) != self.ip {
            return;
        }
        self.neighbours.insert(spa, sha);
        if number(packet, ARP_OP) == Some(1) {
            let reply = arp(2, self.mac, self.ip, sha, spa);
            out.send_bytes(&ethernet(sha, self.mac, reply));
        }
        self.tick(now, out);
    }

    fn echo(&mut self, now: Time, packet: &Packet, out: &mut HostOutput<'_>) {
        let from = ip(packet, IPV4_SRC);
        let Some(body) = packet.frame.bytes().get(ICMP_AT + 4..) else {
            return;
        };
        match number(packet, ICMPV4_TYPE) {
            Some(8) => {
                let to = mac(packet, ETH_SRC);
                let reply = icmp(protocol::ICMPV4, 0, 0, body);
                let packet = ipv4(self.ip, from, TTL, reply);
                out.send_bytes(&ethernet(to, self.mac, packet));
            }
            Some(0) => {
                let Some(sequence) = body.get(2..4) else {
                    return;
                };
                let sequence = u16::from_be_bytes([sequence[0], sequence[1]]);
                let waiting = self.pinging.as_mut().map(|pinging| &mut pinging.waiting);
                let Some(left_at) = waiting.and_then(|waiting| waiting.remove(&sequence)) else {
                    return;
                };
                self.received += 1;
                out.report(HostReport {
                    what: "echo_reply",
                    facts: vec![
                        ("from", Fact::Text(from.to_string())),
                        ("sequence", Fact::Number(sequence.into())),
                        ("rtt_ns", Fact::Number(now.since(left_at))),
                    ],
                });
            }
            _ => {}
        }
    }
}

impl Host for SimpleHost {
    fn receive(&mut self, now: Time, frame: Frame, out: &mut HostOutput<'_>) {
        let packet = Packet::new(frame, PortNo(1));
        if number(&packet, ARP_OP).is_some() {
            self.arp(now, &packet, out);
        } else if ip(&packet, IPV4_DST) == self.ip {
            self.echo(now, &packet, out);
        }
    }

    fn tick(&mut self, now: Time, out: &mut HostOutput<'_>) {
        let Some(pinging) = &mut self.pinging else {
            return;
        };
        while pinging.left > 0 && pinging.next <= now {
            let Some(&to) = self.neighbours.get(&pinging.to) else {
                let request = arp(1, self.mac, self.ip, Mac([0; 6]), pinging.to);
                out.send_bytes(&ethernet(BROADCAST, self.mac, request));
                // Asks again with each request that is due.
                pinging.next = now.after(pinging.interval_ns.max(1));
                return;
            };
            self.sent += 1;
            let sequence = self.sent as u16;
            let request = ping(sequence, &[0; ECHO_BYTES]);
            let packet = ipv4(self.ip, pinging.to, TTL, request);
            out.send_bytes(&ethernet(to, self.mac, packet));
            pinging.waiting.insert(sequence, now);
            pinging.left -= 1;
            pinging.next = pinging.next.after(pinging.interval_ns);
        }
    }

    fn next_tick(&self) -> Option<Time> {
        let pinging = self.pinging.as_ref().filter(|pinging| pinging.left > 0);
        pinging.map(|pinging| pinging.next)
    }

    fn statistics(&self) -> Vec<(String, u64)> {
        vec![
            ("echo_requests".into(), self.sent),
            ("echo_replies".into(), self.received),
        ]
    }
}

/// The value of a field that the packet has.
fn number(packet: &Packet, field: &Field) -> Option<u128> {
    packet.key().get(field, &mut ())
}

fn ip(packet: &Packet, field: &Field) -> Ipv4Addr {
    Ipv4Addr::from_bits(number(packet, field).unwrap_or(0) as u32)
}

fn mac(packet: &Packet, field: &Field) -> Mac {
    let [.., a, b, c, d, e, f] = number(packet, field).unwrap_or(0).to_be_bytes();
    Mac([a, b, c, d, e, f])
}

#[cfg(test)]
mod tests {
    use bofuss_frame::Pool;

    use super::super::HostAddresses;
    use super::*;

    fn host(number: u8) -> SimpleHost {
        SimpleHost::new(&HostConfig {
            addresses: HostAddresses {
                mac: Mac([2, 0, 0, 0, 0, number]),
                ip4: Some(([10, 0, 0, number].into(), 24)),
                ip6: None,
            },
            mtu_bytes: 1500,
            seed: 0,
            known: Vec::new(),
        })
    }

    /// Passes frames between two hosts that have no distance until none is left.
    fn exchange(pool: &Pool, now: Time, hosts: &mut [SimpleHost; 2]) -> Vec<HostReport> {
        let mut reports = Vec::new();
        let mut frames = Vec::new();
        hosts[0].tick(now, &mut HostOutput::new(pool, &mut frames, &mut reports));
        let mut to = 1;
        while !frames.is_empty() {
            let mut answers = Vec::new();
            let mut out = HostOutput::new(pool, &mut answers, &mut reports);
            for frame in frames {
                hosts[to].receive(now, frame, &mut out);
            }
            frames = answers;
            to = 1 - to;
        }
        reports
    }

    #[test]
    fn a_ping_resolves_the_address_first_and_is_answered() {
        let pool = Pool::new(1 << 20);
        let mut hosts = [host(1), host(2)];
        hosts[0].ping([10, 0, 0, 2].into(), Time(5), 10, 2);
        assert_eq!(hosts[0].next_tick(), Some(Time(5)));
        assert_eq!(exchange(&pool, Time(5), &mut hosts), []);
        let reports = exchange(&pool, Time(25), &mut hosts);
        let what: Vec<_> = reports.iter().map(|report| report.what).collect();
        assert_eq!(what, ["echo_reply", "echo_reply"]);
        assert_eq!(hosts[0].next_tick(), None);
        assert_eq!(hosts[0].statistics()[1], ("echo_replies".into(), 2));
    }
}
