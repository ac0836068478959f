//! TCP connections: how many bytes arrive, and how they end.

use super::*;
use crate::tcp::congestion::CongestionControl;
use crate::tcp::segment::Segment;

pub(super) fn tcp(version: u8, size_bytes: u64) -> HostProgram {
    HostProgram::Tcp(TcpProgram {
        to: ip(2, version),
        dst_port: 9,
        start: Time(5 * MS),
        stop: Time(60 * Time::SEC),
        size_bytes,
        algorithm: CongestionControl::Cubic,
        window_bytes: u64::MAX,
        min_timeout_ns: 200 * MS,
        ecn: false,
        interval_ns: 100 * MS,
    })
}

fn tcp_counts(wire: &Wire, number: usize) -> TcpCounts {
    match wire.hosts[0].outcome(number) {
        Outcome::Tcp(_, counts, _) => counts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn connections_bring_their_bytes_and_are_forgotten() {
    for version in [4, 6] {
        let mut wire = Wire::new();
        wire.fate = |number| (usize::from(number % 50 != 20), 0);
        for _ in 0..10 {
            wire.hosts[0].add(tcp(version, 200_000));
        }
        wire.run_until(Time(100 * Time::SEC));
        for number in 0..10 {
            let counts = tcp_counts(&wire, number);
            assert_eq!(counts.acknowledged_bytes, 200_000);
            assert!(counts.completed_ns.is_some() && !counts.failed);
        }
        assert_eq!(wire.hosts[0].next_tick(), None);
        assert_eq!(wire.hosts[1].next_tick(), None);
        assert_eq!(wire.statistic(0, "wrong_checksum"), 0);
        assert_eq!(wire.statistic(1, "wrong_checksum"), 0);
    }
}

#[test]
fn segments_are_as_long_as_the_mtu_allows_and_what_others_read() {
    let mut wire = Wire::new();
    wire.hosts[0].add(tcp(4, 100_000));
    wire.run_until(Time(Time::SEC));
    let longest = wire.frames.iter().max_by_key(|frame| frame.len()).unwrap();
    assert_eq!(longest.len(), 1_514);
    let packet = etherparse::SlicedPacket::from_ethernet(longest).unwrap();
    let Some(etherparse::TransportSlice::Tcp(tcp)) = packet.transport else {
        panic!("{packet:?}");
    };
    assert_eq!((tcp.payload().len(), tcp.destination_port()), (1_448, 9));
    let Some(etherparse::NetSlice::Ipv4(ip)) = packet.net else {
        panic!("no IPv4");
    };
    let expected = tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination());
    assert_eq!(tcp.checksum(), expected.unwrap());
    assert_eq!(
        ip.header().header_checksum(),
        ip.header().to_header().calc_header_checksum()
    );
}

#[test]
fn a_stopped_connection_closes_and_one_to_nobody_fails() {
    let mut wire = Wire::new();
    let HostProgram::Tcp(mut program) = tcp(4, u64::MAX) else {
        unreachable!();
    };
    program.stop = Time(25 * MS);
    wire.hosts[0].add(HostProgram::Tcp(program));
    wire.run_until(Time(Time::SEC));
    let counts = tcp_counts(&wire, 0);
    assert!(counts.acknowledged_bytes > 100_000 && counts.completed_ns.is_some());
    assert_eq!(wire.hosts[0].next_tick(), None);
    // Of data that has an end, this is a part, and not all.
    let mut cut = Wire::new();
    program.size_bytes = counts.acknowledged_bytes + 1;
    cut.hosts[0].add(HostProgram::Tcp(program));
    cut.run_until(Time(Time::SEC));
    let sent = counts.acknowledged_bytes;
    let counts = tcp_counts(&cut, 0);
    assert_eq!(
        (counts.acknowledged_bytes, counts.completed_ns),
        (sent, None)
    );
    assert_eq!(cut.hosts[0].next_tick(), None);
    let mut silent = Wire::new();
    silent.fate = |_| (0, 0);
    silent.hosts[0].add(tcp(4, 1));
    silent.run_until(Time(500 * Time::SEC));
    assert!(tcp_counts(&silent, 0).failed);
}

#[test]
fn a_connection_that_would_begin_at_its_stop_or_later_is_not_opened() {
    for stop in [4 * MS, 5 * MS] {
        let mut wire = Wire::new();
        let HostProgram::Tcp(mut program) = tcp(4, 1_000) else {
            unreachable!();
        };
        program.stop = Time(stop);
        wire.hosts[0].add(HostProgram::Tcp(program));
        wire.run_until(Time(Time::SEC));
        assert_eq!(tcp_counts(&wire, 0), TcpCounts::default());
        assert_eq!(wire.frames.len(), 0);
    }
}

#[test]
fn a_segment_of_no_connection_is_reset() {
    let mut wire = Wire::new();
    let mut segment = Vec::new();
    Segment {
        src_port: 5,
        dst_port: 6,
        ack: 77,
        flags: crate::tcp::segment::ACK,
        ..Segment::default()
    }
    .write_header(&mut segment);
    let tcp = craft::Layer::new(6, &segment);
    let packet = craft::ipv4([10, 0, 0, 2].into(), [10, 0, 0, 1].into(), 64, tcp);
    let bytes = craft::ethernet(addresses(1).mac, addresses(2).mac, packet);
    let frame = wire.pool.frame(&bytes).unwrap();
    wire.call(0, |host, now, out| host.receive(now, frame, out));
    wire.run_until(Time(Time::SEC));
    let packets = wire
        .frames
        .iter()
        .map(|frame| crate::host::wire::read(frame));
    let is_reset = |packet: &crate::host::wire::Received<'_>| match packet.content {
        crate::host::wire::Content::Tcp(bytes) => {
            let answer = Segment::read(bytes).unwrap();
            answer.flags == crate::tcp::segment::RST && answer.seq == 77
        }
        _ => false,
    };
    assert!(packets.flatten().any(|packet| is_reset(&packet)));
}
