//! Tests of shifted numbers: through each engine, with options, with unfinished checksums.

use alloc::{sync::Arc, vec, vec::Vec};

use bofuss_datapath::{Config, Engine, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Gso, GsoKind, Pool};
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::{Mac, PortNo, text::parse_flow};
use bofuss_packet::checksum::fold;
use bofuss_packet::craft::{Layer, ethernet, ipv4};

use super::*;

const ACK_ONLY: u8 = 0x10;
const SYN: u8 = 0x02;
/// Where the TCP header begins, and the payload of a segment.
const TCP_AT: usize = 34;
const SEGMENT_BYTES: u16 = 500;

/// A TCP packet, its checksums made from scratch. `options` are whole words.
fn frame(seq: u32, ack: u32, flags: u8, options: &[u8]) -> Vec<u8> {
    let mut tcp = vec![0, 7, 0, 80];
    tcp.extend(seq.to_be_bytes());
    tcp.extend(ack.to_be_bytes());
    let words = (MIN_HEADER_BYTES + options.len()) / 4;
    tcp.extend([(words as u8) << 4, flags, 9, 9, 0, 0, 0, 0]);
    tcp.extend(options);
    tcp.extend([1, 2, 3]);
    let ip = ipv4(
        [10, 0, 0, 1].into(),
        [10, 0, 0, 2].into(),
        64,
        Layer::new(6, &tcp),
    );
    ethernet(Mac([2; 6]), Mac([4; 6]), ip)
}

/// A time stamp, and a SACK option with two blocks at an odd place.
fn options(edges: [u32; 4]) -> Vec<u8> {
    let mut all = vec![1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 5, 18];
    edges.iter().for_each(|edge| all.extend(edge.to_be_bytes()));
    all.resize(32, 0);
    all
}

/// What leaves of frames when an entry has these actions, and how many lookups the cache had.
fn sent(engine: Engine, actions: &str, frames: Vec<Frame>, pool: &Pool) -> (Vec<Frame>, u64) {
    let catalogue = Arc::new(crate::catalogue());
    let config = Config {
        engine,
        ..Config::default()
    };
    let mut datapath = Datapath::new(config, catalogue.clone(), pool.clone());
    for hook in crate::hooks(&catalogue) {
        datapath.add_hook(hook);
    }
    let mut out = Vec::new();
    for number in [1, 2] {
        let port = PortDesc {
            port_no: PortNo(number),
            ..PortDesc::default()
        };
        datapath
            .port_control(Time(0), &mut out)
            .changed(port, Default::default());
    }
    let text = format!("priority=1,actions={actions}output:2");
    let flow = parse_flow(&text, FlowModCommand::ADD, &catalogue).unwrap();
    datapath.control(Time(0), &mut out).flow_mod(&flow).unwrap();
    for frame in frames {
        datapath.receive(Time(0), PortNo(1), &mut vec![frame], &mut out);
    }
    (out, datapath.lane().engine.stats().hits)
}

/// Compares what becomes of frames with what is wanted, in each engine.
fn check(actions: &str, frames: &[Vec<u8>], wanted: &[Vec<u8>]) {
    let pool = Pool::new(1 << 20);
    for (name, engine) in Engine::ALL {
        let arrive = frames.iter().map(|one| pool.frame(one).unwrap()).collect();
        let (out, _) = sent(engine, &format!("{actions},"), arrive, &pool);
        let out: Vec<_> = out.iter().map(|frame| frame.bytes().to_vec()).collect();
        assert_eq!(out, wanted, "{name}: {actions}");
    }
}

#[test]
fn sequence_numbers_are_shifted_and_wrap() {
    let seqs = [5, u32::MAX - 9, 5];
    let before = seqs.map(|seq| frame(seq, 3, ACK_ONLY, &[]));
    let after = [1005, 990, 1005].map(|seq| frame(seq, 3, ACK_ONLY, &[]));
    check("add_tcp_seq(bytes=1000)", &before, &after);
    check(
        "add_tcp_seq(bytes=4294966296),add_tcp_seq(bytes=2000)",
        &before,
        &after,
    );
}

#[test]
fn acknowledgements_are_shifted_with_the_sack_blocks() {
    let before = [frame(5, 70, ACK_ONLY, &options([100, 200, 300, u32::MAX]))];
    let after = [frame(5, 75, ACK_ONLY, &options([105, 205, 305, 4]))];
    check("add_tcp_ack(bytes=5)", &before, &after);
}

#[test]
fn a_number_that_acknowledges_nothing_stays() {
    let before = [frame(5, 0, SYN, &[2, 4, 5, 180])];
    check("add_tcp_ack(bytes=5)", &before, &before);
}

#[test]
fn what_is_malformed_or_not_tcp_stays() {
    let mut udp = frame(5, 70, ACK_ONLY, &[]);
    udp[23] = 17;
    check("add_tcp_seq(bytes=5)", &[udp.clone()], &[udp]);
    for bad in [[5, 0, 1, 1], [5, 200, 0, 0], [7, 1, 5, 2], [1, 1, 1, 5]] {
        let before = [frame(5, 70, ACK_ONLY, &bad)];
        let after = [frame(5, 75, ACK_ONLY, &bad)];
        check("add_tcp_ack(bytes=5)", &before, &after);
    }
    for offset in [0x40, 0xf0] {
        let mut header = frame(5, 70, ACK_ONLY, &[]);
        header[TCP_AT + DATA_OFFSET] = offset;
        check("add_tcp_ack(bytes=5)", &[header.clone()], &[header]);
    }
}

/// A frame as a host leaves it to others: the checksum holds the sum of the pseudo-header, and the
/// payload is that of `segments` packets.
fn left_to_others(pool: &Pool, seq: u32, segments: u16) -> Frame {
    let mut bytes = frame(seq, 3, ACK_ONLY, &options([1, 2, 3, 4]));
    let header = TCP_AT + MIN_HEADER_BYTES + 32;
    bytes.truncate(header);
    let payload = SEGMENT_BYTES * segments;
    bytes.extend((0..payload).map(|at| (at % 251) as u8));
    let tcp_bytes = (bytes.len() - TCP_AT) as u16;
    bytes[16..18].copy_from_slice(&(tcp_bytes + 20).to_be_bytes());
    bytes[24..26].fill(0);
    let of_ip = !fold(sum(&bytes[14..TCP_AT]));
    bytes[24..26].copy_from_slice(&of_ip.to_be_bytes());
    let pseudo = fold(sum(&bytes[26..TCP_AT]) + 6 + u64::from(tcp_bytes));
    bytes[TCP_AT..][CHECKSUM].copy_from_slice(&pseudo.to_be_bytes());
    let mut frame = pool.frame(&bytes).unwrap();
    frame.offload.checksum = Some((TCP_AT as u16, CHECKSUM.start as u16));
    frame.offload.gso = (segments > 1).then_some(Gso {
        kind: GsoKind::Tcp4,
        segment_bytes: SEGMENT_BYTES,
        ecn: false,
    });
    frame
}

#[test]
fn unfinished_checksums_and_super_frames_leave_as_if_they_had_been_sent_so() {
    let pool = Pool::new(1 << 20);
    for (name, engine) in Engine::ALL {
        for segments in [1, 3] {
            let shifted = vec![left_to_others(&pool, u32::MAX - 999, segments)];
            let (shifted, _) = sent(engine, "add_tcp_seq(bytes=1005),", shifted, &pool);
            let plain = vec![left_to_others(&pool, 5, segments)];
            let (plain, _) = sent(engine, "", plain, &pool);
            assert_eq!(shifted.len(), usize::from(segments), "{name}");
            for (one, other) in shifted.iter().zip(&plain) {
                assert_eq!(one.bytes(), other.bytes(), "{name}");
                assert_eq!(one.offload, other.offload, "{name}");
            }
        }
    }
}

#[test]
fn the_path_of_a_connection_is_remembered() {
    let pool = Pool::new(1 << 20);
    let frames = (0..9).map(|seq| pool.frame(&frame(seq, 3, ACK_ONLY, &[])).unwrap());
    let (out, hits) = sent(
        Engine::Cache,
        "add_tcp_seq(bytes=1),",
        frames.collect(),
        &pool,
    );
    assert_eq!((out.len(), hits), (9, 8));
}
