//! Frames in, datagrams out: read by a decoder that shares nothing with what writes them.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};

use bofuss_frame::{Frame, Gso, GsoKind, Offload, Pool};

use bofuss_oflib::PortNo;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Waker;

use super::*;
use crate::config::Options;

mod limits;

const PATIENCE: Duration = Duration::from_secs(10);

/// A collector on loopback, and an export to it.
struct Pair {
    collector: UdpSocket,
    started: StartedExport,
    pool: Pool,
}

impl Pair {
    /// With these settings of `sflow` or `ipfix`.
    fn new(format: &str, settings: &str) -> Self {
        Self::at(format, "127.0.0.1:0", settings)
    }

    fn at(format: &str, address: &str, settings: &str) -> Self {
        let collector = UdpSocket::bind(address).unwrap();
        collector.set_read_timeout(Some(PATIENCE)).unwrap();
        let text = format!("{} {settings}", collector.local_addr().unwrap());
        let mut options = Options {
            seed: Some(7),
            ..Options::default()
        };
        match format {
            "sflow" => options.sflows.push(text),
            _ => options.ipfixes.push(text),
        }
        let spec = options.check().unwrap().exports.remove(0);
        Self {
            collector,
            started: StartedExport::start(spec, 42).unwrap(),
            pool: Pool::new(1 << 20),
        }
    }

    fn tap(&self, index: u32) -> PortTap {
        let port = TappedPort {
            number: PortNo(1),
            index,
            without_ethernet: false,
        };
        PortTap::new(Arc::clone(&self.started.export), port)
    }

    fn frame(&self, bytes: &[u8]) -> Frame {
        self.pool.frame(bytes).unwrap()
    }

    fn datagram(&self) -> Vec<u8> {
        let mut bytes = vec![0; 2000];
        let count = self.collector.recv(&mut bytes).unwrap();
        bytes.truncate(count);
        bytes
    }

    /// Waits until the collector's address is known.
    fn begins(&self) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Takes numbers off bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn number(&mut self, bytes: usize) -> u128 {
        let mut all = [0; 16];
        all[16 - bytes..].copy_from_slice(self.take(bytes));
        u128::from_be_bytes(all)
    }

    fn u32(&mut self) -> u32 {
        self.number(4) as u32
    }

    fn words<const N: usize>(&mut self) -> [u32; N] {
        std::array::from_fn(|_| self.u32())
    }

    /// A type and what it says.
    fn block(&mut self) -> (u32, Reader<'a>) {
        let kind = self.u32();
        let bytes = self.u32() as usize;
        (kind, Reader(self.take(bytes)))
    }
}

/// A datagram of sFlow: agent, its numbers, and its samples.
fn sflow(bytes: &[u8]) -> (IpAddr, [u32; 2], Vec<(u32, Reader<'_>)>) {
    let mut reader = Reader(bytes);
    assert_eq!(reader.u32(), 5);
    let agent = match reader.u32() {
        1 => IpAddr::V4((reader.u32()).into()),
        2 => IpAddr::V6(reader.number(16).into()),
        other => panic!("{other}"),
    };
    let [sub_agent, sequence, _uptime, count] = reader.words();
    let samples = (0..count).map(|_| reader.block()).collect();
    assert!(reader.0.is_empty());
    (agent, [sub_agent, sequence], samples)
}

/// A record of IPFIX by the numbers of its elements.
type Record = BTreeMap<u128, u128>;

/// Reads messages of IPFIX. Returns the records, and checks the numbers.
fn ipfix(messages: &[Vec<u8>]) -> Vec<Record> {
    let mut templates: BTreeMap<u128, Vec<(u128, usize)>> = BTreeMap::new();
    let mut records = Vec::new();
    for bytes in messages {
        let mut reader = Reader(bytes);
        assert_eq!(reader.number(2), 10);
        assert_eq!(reader.number(2), bytes.len() as u128);
        assert!(reader.number(4) > 1_700_000_000, "seconds since 1970");
        assert_eq!(reader.number(4), records.len() as u128, "the sequence");
        assert_eq!(reader.number(4), 42, "the domain");
        while !reader.0.is_empty() {
            let set = reader.number(2);
            let length = reader.number(2) as usize;
            let mut body = Reader(reader.take(length - 4));
            while !body.0.is_empty() {
                if set == 2 {
                    let number = body.number(2);
                    let count = body.number(2);
                    let fields = (0..count).map(|_| (body.number(2), body.number(2) as usize));
                    templates.insert(number, fields.collect());
                } else {
                    let fields = templates[&set].iter();
                    let values = fields.map(|(number, bytes)| (*number, body.number(*bytes)));
                    records.push(values.collect());
                }
            }
        }
    }
    records
}

/// An Ethernet frame of IPv4 and UDP, with a VLAN unless it is 0, of so many bytes.
fn udp(vlan: u8, source_port: u8, bytes: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if vlan != 0 {
        frame.extend([0x81, 0, 0x60, vlan]);
    }
    frame.extend([8, 0]);
    let ip_bytes = bytes - frame.len();
    frame.extend([0x45, 0x20, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0]);
    let at = frame.len() - 10;
    frame[at..at + 2].copy_from_slice(&(ip_bytes as u16).to_be_bytes());
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0, source_port, 0, 53, 0, 0, 0, 0]);
    let udp_at = frame.len() - 4;
    frame[udp_at..udp_at + 2].copy_from_slice(&(ip_bytes as u16 - 20).to_be_bytes());
    frame.resize(bytes, 7);
    frame
}

#[test]
fn every_frame_is_sampled_one_in_one_with_its_header_and_vlan() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let pair = Pair::at("sflow", address, "rate=1 poll=0 header=64 sub-agent=9");
        pair.begins();
        let mut tap = pair.tap(77);
        let sent = [udp(0, 1, 60), udp(5, 2, 1000)];
        tap.see(&sent.each_ref().map(|bytes| pair.frame(bytes)));
        let datagram = pair.datagram();
        let (agent, numbers, samples) = sflow(&datagram);
        assert_eq!(agent, pair.collector.local_addr().unwrap().ip());
        assert_eq!((numbers, samples.len()), ([9, 1], 2));
        for (number, (kind, mut sample)) in (1..).zip(samples) {
            let frame = &sent[number as usize - 1];
            assert_eq!(kind, 1);
            let records = if number == 1 { 1 } else { 2 };
            let wanted = [number, 77, 1, number, 0, 77, 0, records];
            assert_eq!(sample.words(), wanted);
            let (kind, mut raw) = sample.block();
            let count = frame.len().min(64);
            assert_eq!(kind, 1);
            let wanted = [1, frame.len() as u32 + 4, 4, count as u32];
            assert_eq!(raw.words(), wanted);
            assert_eq!(raw.take(count), &frame[..count]);
            assert!(raw.0.len() < 4);
            if number == 2 {
                let (kind, mut switch) = sample.block();
                assert_eq!((kind, switch.words()), (1001, [5, 3, 0, 0]));
            }
            assert!(sample.0.is_empty());
        }
    }
}

#[test]
fn samples_of_a_super_frame_are_its_segments() {
    let pair = Pair::new("sflow", "rate=1 poll=0 header=64");
    pair.begins();
    // 4 segments of 1000 bytes of payload, the last of 500.
    let mut frame = pair.frame(&udp(0, 3, 14 + 28 + 3500));
    frame.offload = Offload {
        checksum: Some((34, 6)),
        gso: Some(Gso {
            kind: GsoKind::Udp,
            segment_bytes: 1000,
            ecn: false,
        }),
        fragment_bytes: 0,
    };
    pair.tap(1).see(&[frame]);
    let datagram = pair.datagram();
    let (_, _, samples) = sflow(&datagram);
    let mut lengths = Vec::new();
    for (_, mut sample) in samples {
        let [_, _, _, pool, ..] = sample.words::<8>();
        let mut raw = sample.block().1;
        let [_, length, ..] = raw.words::<4>();
        raw.take(16);
        let ip_bytes = raw.number(2) as u32;
        assert_eq!(ip_bytes, length - 4 - 14);
        lengths.push((pool, length - 4 - 42));
    }
    assert_eq!(lengths, [(1, 1000), (2, 1000), (3, 1000), (4, 500)]);
}

#[test]
fn packets_without_ethernet_are_samples_and_flows_of_ip() {
    // The port leaves room for 14 bytes before the packet.
    let mut bytes = udp(0, 8, 60);
    bytes[..14].fill(0);
    for format in ["sflow", "ipfix"] {
        let pair = Pair::new(format, "rate=1");
        pair.begins();
        let port = TappedPort {
            number: PortNo(1),
            index: 77,
            without_ethernet: true,
        };
        let mut tap = PortTap::new(Arc::clone(&pair.started.export), port);
        tap.see(&[pair.frame(&bytes)]);
        drop(tap);
        let first = pair.datagram();
        if format == "sflow" {
            let (_, mut sample) = sflow(&first).2.remove(0);
            sample.take(32);
            let (_, mut raw) = sample.block();
            assert_eq!(raw.words(), [11, 46, 0, 46]);
            assert_eq!(raw.take(46), &bytes[14..]);
        } else {
            let record = ipfix(&[first, pair.datagram()]).remove(0);
            let of = |number: u128| record[&number];
            assert_eq!((of(256), of(7), of(1), of(352)), (0x0800, 8, 46, 60));
            assert_eq!((of(56), of(80), of(58)), (0, 0, 0));
        }
    }
}

#[test]
fn one_in_n_takes_its_share_and_says_from_how_many() {
    let pair = Pair::new("sflow", "rate=100 poll=0");
    pair.begins();
    let mut tap = pair.tap(1);
    let frame = udp(0, 1, 60);
    let burst: Vec<_> = (0..32).map(|_| pair.frame(&frame)).collect();
    for _ in 0..1000 {
        tap.see(&burst);
        std::thread::sleep(Duration::from_micros(20));
    }
    drop(tap);
    let state = Arc::clone(&pair.started.export.state);
    let collector = pair.collector.try_clone().unwrap();
    StartedExport::end_all([pair.started], PATIENCE);
    collector.set_nonblocking(true).unwrap();
    let (mut count, mut last_pool) = (0, 0);
    let mut bytes = [0; 2000];
    while let Ok(length) = collector.recv(&mut bytes) {
        for (_, mut sample) in sflow(&bytes[..length]).2 {
            let [sequence, _, rate, pool, drops, ..] = sample.words::<8>();
            count += 1;
            assert_eq!((sequence, rate, drops), (count, 100, 0));
            assert!(pool > last_pool && pool < last_pool + 200);
            last_pool = pool;
        }
    }
    // 320 with a standard deviation of 10.3: see the test of the sampler.
    assert!((280..=360).contains(&count), "{count}");
    assert!(last_pool > 31_800 && last_pool <= 32_000, "{last_pool}");
    assert_eq!(state.counts.samples.load(Relaxed), u64::from(count));
    assert_eq!(state.counts.dropped.load(Relaxed), 0);
}

#[test]
fn counters_say_what_is_known() {
    let pair = Pair::new("sflow", "poll=1");
    let waker = Waker::noop().clone();
    let bell = Bell::new(waker);
    pair.started.export.add_bell(&bell);
    let start = Instant::now();
    while !bell.was_rung() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(pair.started.export.state.takes_counters());
    let counted = |from: u64| Counted {
        bytes: from,
        packets: from + 1,
        discarded: from + 2,
        errors: from + 3,
    };
    pair.started.export.send_counters(vec![PortCounters {
        index: 5,
        interface: None,
        speed: 10_000_000_000,
        is_enabled: true,
        is_up: false,
        received: counted(1 << 33),
        sent: counted(50),
    }]);
    let datagram = pair.datagram();
    let (_, _, mut samples) = sflow(&datagram);
    let (kind, mut sample) = samples.remove(0);
    assert_eq!((kind, sample.words()), (2, [1, 5, 1]));
    let (kind, mut counters) = sample.block();
    assert_eq!((kind, counters.words()), (1, [5, 6]));
    assert_eq!(counters.number(8), 10_000_000_000);
    assert_eq!(counters.words(), [1, 1]);
    let unknown = u32::MAX;
    assert_eq!(counters.number(8), 1 << 33);
    assert_eq!(counters.words(), [1, unknown, unknown, 2, 3, unknown]);
    assert_eq!(counters.number(8), 50);
    assert_eq!(counters.words(), [51, unknown, unknown, 52, 53, 1]);
    assert!(counters.0.is_empty());
}

/// The records of what a tap has seen.
fn records_of(settings: &str, frames: &[Vec<Frame>]) -> Vec<Record> {
    let pair = Pair::new("ipfix", settings);
    pair.begins();
    let mut messages = vec![pair.datagram()];
    let mut tap = pair.tap(77);
    frames.iter().for_each(|burst| tap.see(burst));
    drop(tap);
    let collector = pair.collector.try_clone().unwrap();
    StartedExport::end_all([pair.started], PATIENCE);
    collector.set_nonblocking(true).unwrap();
    let mut bytes = [0; 2000];
    while let Ok(length) = collector.recv(&mut bytes) {
        messages.push(bytes[..length].to_vec());
    }
    ipfix(&messages)
}

#[test]
fn packets_that_differ_in_their_vlan_alone_are_two_flows() {
    let pool = Pool::new(1 << 20);
    let frame = |bytes: &[u8]| pool.frame(bytes).unwrap();
    // With 8 bytes of padding.
    let mut padded = udp(0, 1, 52);
    padded.resize(60, 0);
    let bursts = vec![
        vec![
            frame(&udp(5, 1, 100)),
            frame(&udp(6, 1, 100)),
            frame(&padded),
        ],
        vec![frame(&udp(5, 1, 200))],
    ];
    let mut records = records_of("", &bursts);
    records.sort_by_key(|record| record[&58]);
    let wanted = [(0, 1, 60, 38), (5, 2, 300, 264), (6, 1, 100, 82)];
    for (record, (vlan, packets, bytes, ip_bytes)) in records.iter().zip(wanted) {
        let of = |number: u128| record[&number];
        assert_eq!(
            (of(58), of(2), of(352), of(1)),
            (vlan, packets, bytes, ip_bytes)
        );
        assert_eq!((of(10), of(256), of(4), of(5)), (77, 0x0800, 17, 0x20));
        assert_eq!((of(8), of(12)), (0x0a00_0001, 0x0a00_0002));
        assert_eq!((of(7), of(11), of(6), of(32)), (1, 53, 0, 0));
        assert_eq!((of(56), of(80)), (0x0200_0000_0001, 0x0200_0000_0002));
        assert_eq!((of(305), of(306), of(61), of(136)), (1, 0, 0, 4));
        assert!(of(152) <= of(153) && of(152) > 1_700_000_000_000);
    }
    assert_eq!(records.len(), 3);
}

#[test]
fn fragments_icmp_ipv6_and_other_frames_have_flows_of_their_own() {
    let pool = Pool::new(1 << 20);
    let frame = |bytes: &[u8]| pool.frame(bytes).unwrap();
    let mut first = udp(0, 9, 100);
    first[20] = 0x20; // more fragments
    let mut later = udp(0, 9, 100);
    later[21] = 8; // at byte 64
    let mut icmp = udp(0, 0, 60);
    icmp[23] = 1;
    icmp[34..36].copy_from_slice(&[3, 4]);
    let mut arp = udp(0, 0, 60);
    arp[12..14].copy_from_slice(&[8, 6]);
    let mut icmp6 = udp(0, 0, 80);
    icmp6[12..16].copy_from_slice(&[0x86, 0xdd, 0x6a, 0xb0]);
    icmp6[18..22].copy_from_slice(&[0, 26, 58, 255]);
    icmp6[54..56].copy_from_slice(&[128, 0]);
    let frames = [first, later, icmp, arp, icmp6].map(|bytes| frame(&bytes));
    let records = records_of("", &[Vec::from(frames)]);
    assert_eq!(records.len(), 5);
    let of_type = |eth_type| {
        let mut meant = records.iter().filter(move |r| r[&256] == eth_type);
        meant
            .clone()
            .count()
            .checked_sub(1)
            .map(|_| meant.next_back().unwrap())
    };
    let ports: Vec<_> = records
        .iter()
        .filter(|record| record.get(&4) == Some(&17))
        .map(|record| record[&7])
        .collect();
    assert!(ports == [9, 0] || ports == [0, 9], "{ports:?}");
    assert!(records.iter().any(|r| r.get(&32) == Some(&0x0304)));
    let icmp6 = of_type(0x86dd).unwrap();
    assert_eq!((icmp6[&139], icmp6[&5], icmp6[&4]), (0x8000, 0xab, 58));
    let arp = of_type(0x0806).unwrap();
    assert_eq!((arp.get(&1), arp[&352], arp[&2]), (None, 60, 1));
}

#[test]
fn flows_that_do_not_fit_are_counted() {
    let pair = Pair::new("ipfix", "flows=2");
    pair.begins();
    let mut tap = pair.tap(1);
    let other = pair.tap(2);
    for port in [1, 2, 3, 3, 1] {
        tap.see(&[pair.frame(&udp(0, port, 60))]);
    }
    let counts = &pair.started.export.state.counts;
    assert_eq!(counts.flows.load(Relaxed), 2);
    assert_eq!(counts.uncached.load(Relaxed), 2);
    drop((tap, other));
    assert_eq!(counts.flows.load(Relaxed), 0);
}

#[test]
fn a_name_without_an_address_costs_samples_only() {
    let options = Options {
        sflows: vec!["no-such-host.invalid rate=1".into()],
        ..Options::default()
    };
    let spec = options.check().unwrap().exports.remove(0);
    let started = StartedExport::start(spec, 1).unwrap();
    let pool = Pool::new(1 << 20);
    let port = TappedPort {
        number: PortNo(1),
        index: 1,
        without_ethernet: false,
    };
    let mut tap = PortTap::new(Arc::clone(&started.export), port);
    let burst = [pool.frame(&[0; 60]).unwrap()];
    let start = Instant::now();
    // More than wait for a thread that sleeps.
    for _ in 0..3 * MAX_WAITING {
        tap.see(&burst);
    }
    assert!(start.elapsed() < Duration::from_secs(2));
    let state = Arc::clone(&started.export.state);
    while state.trouble().is_none() || state.counts.dropped.load(Relaxed) == 0 {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(state.counts.datagrams.load(Relaxed), 0);
}
