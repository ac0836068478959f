//! Two hosts on one wire: addresses, echoes, datagrams, connections, and hostile frames.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bofuss_datapath::Time;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::Mac;
use bofuss_packet::craft;
use proptest::prelude::*;

use super::*;

mod connections;

use connections::tcp;

const MS: u64 = 1_000_000;

fn addresses(number: u8) -> HostAddresses {
    HostAddresses {
        mac: Mac([2, 0, 0, 0, 0, number]),
        ip4: Some(([10, 0, 0, number].into(), 24)),
        ip6: Some(([0xfd00, 0, 0, 0, 0, 0, 0, number.into()].into(), 64)),
    }
}

fn ip(number: u8, version: u8) -> IpAddr {
    let own = addresses(number);
    let ip4 = own.ip4.map(|(ip, _)| IpAddr::from(ip));
    let ip6 = own.ip6.map(|(ip, _)| IpAddr::from(ip));
    if version == 4 {
        ip4.unwrap()
    } else {
        ip6.unwrap()
    }
}

fn station(number: u8) -> EndHost {
    EndHost::new(HostConfig {
        addresses: addresses(number),
        mtu_bytes: 1_500,
        seed: number.into(),
        known: Default::default(),
    })
}

/// Hosts 1 and 2 on a wire with a delay of 1 ms. `fate` says for each frame how often it arrives,
/// and how much later.
struct Wire {
    now: Time,
    pool: Pool,
    hosts: [EndHost; 2],
    arrivals: BTreeMap<(Time, u64), (usize, Frame)>,
    frames: Vec<Vec<u8>>,
    fate: fn(u64) -> (usize, u64),
}

impl Wire {
    fn new() -> Self {
        Self {
            now: Time(0),
            pool: Pool::new(1 << 30),
            hosts: [station(1), station(2)],
            arrivals: BTreeMap::new(),
            frames: Vec::new(),
            fate: |_| (1, 0),
        }
    }

    fn call(
        &mut self,
        host: usize,
        call: impl FnOnce(&mut EndHost, Time, &mut HostOutput<'_>),
    ) -> usize {
        let mut frames = Vec::new();
        let mut reports = Vec::new();
        let mut out = HostOutput::new(&self.pool, &mut frames, &mut reports);
        call(&mut self.hosts[host], self.now, &mut out);
        let count = frames.len();
        for frame in frames {
            let number = self.frames.len() as u64;
            self.frames.push(frame.bytes().to_vec());
            let (copies, later_ns) = (self.fate)(number);
            for copy in 0..copies as u64 {
                let at = self.now.after(MS + later_ns);
                let copied = frame.try_clone().unwrap();
                self.arrivals
                    .insert((at, 2 * number + copy), (1 - host, copied));
            }
        }
        count
    }

    fn run_until(&mut self, end: Time) {
        loop {
            let arrival = self.arrivals.keys().next().map_or(Time::NEVER, |key| key.0);
            let ticks = self.hosts.iter().filter_map(EndHost::next_tick);
            let tick = ticks.min().unwrap_or(Time::NEVER);
            if arrival.min(tick) > end {
                self.now = end;
                return;
            }
            self.now = arrival.min(tick);
            if arrival <= tick {
                let (_, (host, frame)) = self.arrivals.pop_first().unwrap();
                self.call(host, |host, now, out| host.receive(now, frame, out));
            } else {
                self.call(0, |host, now, out| host.tick(now, out));
                self.call(1, |host, now, out| host.tick(now, out));
            }
        }
    }

    fn statistic(&self, host: usize, name: &str) -> u64 {
        let statistics = self.hosts[host].statistics();
        statistics.into_iter().find(|(n, _)| n == name).unwrap().1
    }
}

fn ping(version: u8, count: u64) -> HostProgram {
    HostProgram::Ping(PingProgram {
        to: ip(2, version),
        start: Time(0),
        stop: Time::NEVER,
        interval_ns: 100 * MS,
        count,
        data_bytes: 56,
    })
}

fn ping_counts(wire: &Wire) -> &PingCounts {
    match wire.hosts[0].outcome(0) {
        Outcome::Ping(counts) => counts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_ping_asks_for_the_address_and_the_others_do_not() {
    for version in [4, 6] {
        let mut wire = Wire::new();
        wire.hosts[0].add(ping(version, 3));
        wire.run_until(Time(Time::SEC));
        let counts = ping_counts(&wire);
        assert_eq!((counts.sent, counts.received, counts.duplicates), (3, 3, 0));
        assert_eq!(counts.rtts_ns, [4 * MS, 2 * MS, 2 * MS]);
        assert_eq!(
            wire.frames.len(),
            8,
            "a question, an answer, and three times two"
        );
        assert_eq!(wire.statistic(1, "echo_requests"), 3);
        let wrong = [
            "malformed",
            "wrong_checksum",
            "unknown",
            "not_for_us",
            "unexpected",
        ];
        for name in wrong {
            assert_eq!(
                wire.statistic(0, name) + wire.statistic(1, name),
                0,
                "{name}"
            );
        }
    }
}

#[test]
fn a_neighbour_that_is_not_there_is_asked_for_three_times() {
    let mut wire = Wire::new();
    wire.fate = |_| (0, 0);
    wire.hosts[0].add(ping(4, 5));
    wire.run_until(Time(10 * Time::SEC));
    assert_eq!(wire.frames.len(), 3);
    assert_eq!(wire.statistic(0, "unresolved"), 5);
    assert_eq!(ping_counts(&wire).received, 0);
}

#[test]
fn an_old_neighbour_is_asked_for_again_while_packets_go_on() {
    let mut wire = Wire::new();
    wire.hosts[0].add(ping(6, 900));
    wire.run_until(Time(90 * Time::SEC));
    assert_eq!(ping_counts(&wire).received, 900);
    // Both asked once at first or were asked, and once more after a minute.
    assert_eq!(wire.frames.len(), 2 * 900 + 2 + 4);
    assert_eq!(ping_counts(&wire).rtts_ns[899], 2 * MS);
}

#[test]
fn a_host_that_moved_or_changed_is_found_where_it_says() {
    let mut wire = Wire::new();
    wire.hosts[0].add(ping(4, 2));
    wire.run_until(Time(50 * MS));
    // Host 2 has another address now, and says so to all: a gratuitous request.
    let mac = Mac([2, 9, 9, 9, 9, 9]);
    let own = [10, 0, 0, 2].into();
    let arp = craft::arp(1, mac, own, Mac::default(), own);
    let frame = wire.pool.frame(&craft::ethernet(Mac([0xff; 6]), mac, arp));
    let frame = frame.unwrap();
    wire.call(0, |host, now, out| host.receive(now, frame, out));
    wire.run_until(Time(150 * MS));
    assert_eq!(wire.frames.last().unwrap()[..6], mac.0);
}

fn udp(flows: u32, burst: u32, arrivals: Arrivals) -> UdpProgram {
    let flow = |number| UdpFlow {
        number,
        to: ip(2, if number % 2 == 0 { 4 } else { 6 }),
        src_port: 1_024 + number as u16,
        dst_port: 9,
    };
    UdpProgram {
        flows: (0..flows).map(flow).collect(),
        start: Time(0),
        stop: Time(Time::SEC),
        interval_ns: MS,
        arrivals,
        burst,
        on_off_ns: None,
        count: u64::MAX,
        data_bytes: 100,
        seed: 1,
    }
}

fn run_udp(program: UdpProgram, fate: fn(u64) -> (usize, u64)) -> (Wire, Vec<UdpCounts>) {
    let mut wire = Wire::new();
    wire.fate = fate;
    let known = addresses(2);
    wire.hosts[0] = EndHost::new(HostConfig {
        addresses: addresses(1),
        mtu_bytes: 1_500,
        seed: 1,
        known: known_addresses([&known]),
    });
    let flows = program.flows.iter().map(|flow| flow.number).collect();
    wire.hosts[1].add(HostProgram::UdpExpectation(UdpExpectation {
        flows,
        start: Time(0),
        interval_ns: 100 * MS,
    }));
    wire.hosts[0].add(HostProgram::Udp(program));
    wire.run_until(Time(2 * Time::SEC));
    let counts = match wire.hosts[1].outcome(0) {
        Outcome::UdpReceived(counts, _, _) => counts.into_iter().map(|(_, c)| c).collect(),
        other => panic!("{other:?}"),
    };
    (wire, counts)
}

#[test]
fn datagrams_are_sent_at_their_rate_and_arrive_flow_by_flow() {
    let (wire, counts) = run_udp(udp(4, 1, Arrivals::Constant), |_| (1, 0));
    let expected = UdpCounts {
        packets: 250,
        bytes: 25_000,
        duplicates: 0,
        reordered: 0,
    };
    assert_eq!(counts, [expected; 4]);
    let Outcome::UdpReceived(_, delays, series) = wire.hosts[1].outcome(0) else {
        panic!("it counts");
    };
    assert_eq!(delays.summary().unwrap().mean_ms, 1.0);
    assert_eq!(
        series.mbps()[..10],
        [0.792, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8]
    );
    assert_eq!(wire.statistic(1, "wrong_checksum"), 0);
}

#[test]
fn bursts_pauses_and_chance_shape_what_is_sent() {
    let sent = |program: UdpProgram| run_udp(program, |_| (1, 0)).1[0].packets;
    assert_eq!(sent(udp(1, 10, Arrivals::Constant)), 1_000);
    let poisson = sent(udp(1, 1, Arrivals::Poisson));
    assert!(
        (900..1_100).contains(&poisson) && poisson != 1_000,
        "{poisson}"
    );
    let mut pausing = udp(1, 1, Arrivals::Constant);
    pausing.on_off_ns = Some((10 * MS, 90 * MS));
    assert_eq!(sent(pausing), 100);
    let mut few = udp(1, 3, Arrivals::Constant);
    few.count = 7;
    assert_eq!(sent(few), 7);
}

#[test]
fn what_is_lost_repeated_or_overtaken_is_counted() {
    // Of ten packets one is lost, one comes twice, and one comes 5 ms late.
    let (_, counts) = run_udp(udp(1, 1, Arrivals::Constant), |number| match number % 10 {
        3 => (0, 0),
        5 => (2, 0),
        7 => (1, 5 * MS),
        _ => (1, 0),
    });
    let expected = UdpCounts {
        packets: 900,
        bytes: 90_000,
        duplicates: 100,
        reordered: 100,
    };
    assert_eq!(counts, [expected]);
}

#[test]
fn made_up_addresses_take_neither_all_buffers_nor_all_room() {
    let mut wire = Wire::new();
    wire.fate = |_| (0, 0);
    let own = addresses(1);
    for number in 0..20_000_u32 {
        let src = (0x0b00_0000 + number).into();
        let to = own.ip4.unwrap().0;
        let mac = Mac([2, 1, 0, 0, 0, 1]);
        let echo = craft::ipv4(src, to, 64, craft::ping(1, &[0; 500]));
        let arp = craft::arp(1, mac, src, Mac::default(), to);
        for layer in [echo, arp].into_iter().take(1 + number as usize / 10_000) {
            let frame = wire.pool.frame(&craft::ethernet(own.mac, mac, layer));
            let frame = frame.unwrap();
            wire.call(0, |host, now, out| host.receive(now, frame, out));
        }
        wire.frames.clear();
    }
    // Each waiting frame has a buffer of 2 KiB.
    assert!(
        wire.pool.stats().bytes_in_use < 4 << 20,
        "{:?}",
        wire.pool.stats()
    );
    // A minute later there is room for others.
    wire.run_until(Time(70 * Time::SEC));
    assert_eq!(wire.pool.stats().bytes_in_use, 0);
    wire.frames.clear();
    wire.fate = |_| (1, 0);
    wire.hosts[1].add(HostProgram::Ping(PingProgram {
        to: ip(1, 4),
        start: Time(71 * Time::SEC),
        stop: Time::NEVER,
        interval_ns: MS,
        count: 1,
        data_bytes: 56,
    }));
    wire.run_until(Time(80 * Time::SEC));
    assert_eq!(
        wire.frames.len(),
        4,
        "a question, an answer, an echo and its reply"
    );
}

/// Frames that hosts accept, for tests that change them.
fn samples() -> Vec<Vec<u8>> {
    let mut wire = Wire::new();
    wire.hosts[0].add(ping(4, 2));
    wire.hosts[0].add(ping(6, 2));
    wire.hosts[0].add(tcp(4, 10_000));
    wire.hosts[0].add(tcp(6, 10_000));
    let mut program = udp(2, 1, Arrivals::Constant);
    program.count = 4;
    wire.hosts[0].add(HostProgram::Udp(program));
    wire.run_until(Time(20 * MS));
    wire.frames
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn hostile_frames_neither_panic_nor_fill_memory(
        frames in proptest::collection::vec(
            (any::<prop::sample::Index>(), proptest::collection::vec(
                (any::<prop::sample::Index>(), any::<u8>()), 0..4),
             any::<prop::sample::Index>(), proptest::collection::vec(any::<u8>(), 0..80)),
            0..60),
    ) {
        let samples = samples();
        let mut wire = Wire::new();
        // What the host sends is lost, so that only these frames arrive.
        wire.fate = |_| (0, 0);
        wire.hosts[0].add(ping(4, 5));
        wire.hosts[0].add(tcp(4, 10_000));
        let mut sent = 0;
        for (chosen, spoilt, cut, other) in &frames {
            let mut bytes = chosen.get(&samples).clone();
            for (at, byte) in spoilt {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            let kept = 1 + cut.index(2 * bytes.len());
            bytes.truncate(kept);
            for bytes in [&bytes, other] {
                let frame = wire.pool.frame(bytes).unwrap();
                sent += wire.call(0, |host, now, out| host.receive(now, frame, out));
            }
            let now = wire.now.after(10 * MS);
            wire.run_until(now);
        }
        prop_assert!(sent <= 20 * frames.len() + 10, "{} for {}", sent, frames.len());
    }
}
