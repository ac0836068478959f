//! Headers that extensions bring: found, read and written as their rows say, and no others'.

use crate::spec::Rng;
use bofuss_frame::{Frame, Gso, GsoKind, Offload, Pool};
use bofuss_oflib::added_header::{AddedHeader, Sum};
use bofuss_oflib::field::{Differs, Header};
use bofuss_oflib::{Catalogue, Field, FieldMatch, Mac, PortNo, extension_fields};
use bofuss_packet::checksum::{fold, sum};
use bofuss_packet::header::{ethertype, protocol};
use bofuss_packet::offload::{Use, agreeing_segments};
use bofuss_packet::reassemble::{Reassembler, fragment};
use bofuss_packet::{EditError, Packet, craft};

const EXPERIMENTER: u32 = 0x0062_6f99;
const TYPE: u16 = 0x88b5;
const PROTOCOL: u8 = 253;
const PORT: u16 = 6363;
const SOURCE: [u8; 4] = [10, 0, 0, 1];
const DESTINATION: [u8; 4] = [10, 0, 0, 2];
const SIX: [u16; 8] = [0xfe80, 0, 0, 0, 0, 0, 0, 1];

static TAG: AddedHeader = AddedHeader::after_eth_type(TYPE, "tag", 6);
static SIGNAL: AddedHeader =
    AddedHeader::after_ip_protocol(PROTOCOL, "signal", 8).with_checksum(2, Sum::Ones);
static NAME: AddedHeader = AddedHeader::after_udp_port(PORT, "name", 5);
static FIELDS: [Field; 5] = extension_fields! { EXPERIMENTER;
    0 "tag_colour" 12 masked set Hex in TAG 4;
    1 "tag_sequence" 32 masked set Dec in TAG 16;
    2 "signal_code" 16 exact set Dec in SIGNAL 32;
    3 "name_type" 8 exact set Dec in NAME 0;
    4 "name_hash" 32 masked set Hex in NAME 8;
};

fn catalogue() -> Catalogue {
    let mut all = Catalogue::default();
    all.add("sample", &FIELDS, &[]).expect("no other has these");
    all
}

fn field(catalogue: &Catalogue, number: u8) -> &'static Field {
    let found = catalogue.field(EXPERIMENTER, number);
    found.expect("it was added")
}

fn packet(pool: &Pool, bytes: &[u8], catalogue: &Catalogue) -> Packet {
    let frame = pool.frame(bytes).expect("the pool has room");
    Packet::with_additions(frame, PortNo(1), catalogue.additions())
}

/// A frame with some layer, and where an added header would begin in it if that is its number.
fn frame(rng: &mut Rng) -> (Vec<u8>, [Option<usize>; 3]) {
    let payload = rng.bytes(40);
    let mut starts = [None; 3];
    let ip = |layer, options: &[u8], six| {
        if six {
            return (craft::ipv6(SIX.into(), SIX.into(), 64, layer), 40);
        }
        let mut ip = craft::ipv4(SOURCE.into(), DESTINATION.into(), 64, layer);
        ip.bytes.splice(20..20, options.iter().copied());
        ip.bytes[0] += (options.len() / 4) as u8;
        ip.bytes[3] += options.len() as u8;
        (ip, 20 + options.len())
    };
    let options = vec![1; 4 * rng.below(3) as usize];
    let six = rng.one_in(2);
    let tag_bytes = if rng.one_in(3) { 4 } else { 0 };
    let in_frame = 14 + tag_bytes;
    let layer = match rng.below(6) {
        0 => {
            starts[0] = Some(in_frame);
            craft::Layer::new(TYPE, &payload)
        }
        1 => craft::Layer::new(TYPE + 1, &payload),
        2 => {
            let (ip, bytes) = ip(craft::Layer::new(PROTOCOL.into(), &payload), &options, six);
            starts[1] = Some(in_frame + bytes);
            ip
        }
        3 => ip(craft::Layer::new(254, &payload), &options, six).0,
        4 => {
            let (ip, bytes) = ip(craft::udp(1, PORT, &payload), &options, six);
            starts[2] = Some(in_frame + bytes + 8);
            ip
        }
        _ => ip(craft::udp(PORT, PORT - 1, &payload), &options, six).0,
    };
    let layer = match tag_bytes {
        0 => layer,
        _ => craft::vlan(ethertype::VLAN, 7, layer),
    };
    (craft::ethernet(Mac([1; 6]), Mac([2; 6]), layer), starts)
}

#[test]
fn fields_have_the_bits_that_their_rows_say_and_are_absent_elsewhere() {
    let (catalogue, pool, mut rng) = (catalogue(), Pool::new(1 << 20), Rng(11));
    let mut seen = [0; 5];
    for _ in 0..4_000 {
        let (mut bytes, starts) = frame(&mut rng);
        if rng.one_in(4) {
            bytes.truncate(bytes.len().saturating_sub(rng.below(20) as usize));
        }
        let packet = packet(&pool, &bytes, &catalogue);
        let end = packet.layout().end;
        // The header, first bit and width of each field, and the header's bytes.
        let rows = [
            (0, 4, 12, 6),
            (0, 16, 32, 6),
            (1, 32, 16, 8),
            (2, 0, 8, 5),
            (2, 8, 32, 5),
        ];
        for (number, (header, bit, bits, header_bytes)) in rows.into_iter().enumerate() {
            let start = starts[header].filter(|start: &usize| start + header_bytes <= end);
            let wanted = start.map(|start| {
                let places = 8 * start + bit..8 * start + bit + bits;
                places.fold(0, |value, i| {
                    value << 1 | u128::from(bytes[i / 8] >> (7 - i % 8) & 1)
                })
            });
            seen[number] += u32::from(wanted.is_some());
            let value = packet.key().get(field(&catalogue, number as u8), &mut ());
            assert_eq!(value, wanted, "{number} of {bytes:02x?}");
        }
    }
    assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
}

#[test]
fn a_field_is_set_with_the_checksums_that_cover_it_and_nothing_else() {
    let (catalogue, pool, mut rng) = (catalogue(), Pool::new(1 << 20), Rng(12));
    for _ in 0..2_000 {
        let (bytes, starts) = frame(&mut rng);
        let mut packet = packet(&pool, &bytes, &catalogue);
        // A whole signal has a right checksum from the start.
        if let Some(start) = starts[1].filter(|start| start + 8 <= packet.layout().end) {
            let signal = &mut packet.frame.bytes_mut()[start..];
            signal[2..4].fill(0);
            let own = !fold(sum(signal));
            signal[2..4].copy_from_slice(&own.to_be_bytes());
            packet.reparse();
        }
        let length = bytes.len();
        for number in 0..5 {
            let field = field(&catalogue, number);
            let value = rng.next().into();
            let had = packet.key().get(field, &mut ()).is_some();
            let result = packet.set_field(field, &FieldMatch::exact(field, value).value);
            let wanted = if had {
                Ok(())
            } else {
                Err(EditError::NoHeader)
            };
            assert_eq!(result, wanted);
        }
        let after = packet.frame.bytes();
        let parsed = packet.key().clone();
        if let Some(start) = starts[1].filter(|start| start + 8 <= packet.layout().end) {
            assert_eq!(fold(sum(&after[start..])), 0xffff);
        }
        if packet.key().get(field(&catalogue, 3), &mut ()).is_some() {
            let udp = &after[starts[2].expect("it is there") - 8..];
            let again = craft::udp(1, PORT, &udp[8..]);
            let whole = if packet.layout().offset(Header::Ipv6).is_some() {
                craft::ipv6(SIX.into(), SIX.into(), 64, again)
            } else {
                craft::ipv4(SOURCE.into(), DESTINATION.into(), 64, again)
            };
            assert!(whole.bytes.ends_with(udp));
        }
        assert_eq!(after.len(), length);
        packet.reparse();
        assert_eq!(*packet.key(), parsed);
    }
}

#[test]
fn no_number_that_the_parser_follows_can_be_that_of_an_added_header() {
    use ethertype::{ARP, IPV4, IPV6, MPLS, MPLS_MULTICAST, NONE, OLD_SERVICE_VLAN};
    let types = [
        ARP,
        IPV4,
        IPV6,
        MPLS,
        MPLS_MULTICAST,
        NONE,
        OLD_SERVICE_VLAN,
        ethertype::VLAN,
        ethertype::SERVICE_VLAN,
        ethertype::PBB,
    ];
    let protocols = [
        protocol::ICMPV4,
        protocol::TCP,
        protocol::UDP,
        protocol::ICMPV6,
        protocol::SCTP,
        0,
        43,
        44,
        50,
        51,
        59,
        60,
    ];
    let types = types.map(|number| AddedHeader::after_eth_type(number, "sample", 4));
    let protocols = protocols.map(|number| AddedHeader::after_ip_protocol(number, "sample", 4));
    for header in types.into_iter().chain(protocols) {
        let header: &'static AddedHeader = Box::leak(Box::new(header));
        let at = bofuss_oflib::field::At {
            header: bofuss_oflib::added_header::AnyHeader::Added(header),
            bit: 0,
            bits: 8,
        };
        let row = Field {
            at: Box::leak(Box::new([at])),
            ..Field::extension(EXPERIMENTER, 9, "sample", 8, false)
        };
        let refused = Catalogue::default().add("sample", &[row], &[]);
        assert!(refused.is_err(), "{header:?}");
    }
}

fn named(payload: &[u8]) -> Vec<u8> {
    let udp = craft::udp(1, PORT, payload);
    let ip = craft::ipv4(SOURCE.into(), DESTINATION.into(), 64, udp);
    craft::ethernet(Mac([1; 6]), Mac([2; 6]), ip)
}

#[test]
fn only_the_first_fragment_has_an_added_header_and_the_whole_has_it_again() {
    let (catalogue, pool) = (catalogue(), Pool::new(1 << 20));
    let hash = field(&catalogue, 4);
    let mut payload = vec![1, 2, 3, 4, 5];
    payload.resize(100, 0);
    // Of the first fragment, 8 bytes are UDP's header: the added one is cut off, or is not.
    for (step, of_first) in [(8, None), (48, Some(0x0203_0405))] {
        let mut whole = pool.frame(&named(&payload)).expect("the pool has room");
        whole.offload.fragment_bytes = step;
        let mut fragments: Vec<Frame> = vec![];
        assert!(fragment(&whole, |one| fragments.push(one)));
        let (mut reassembler, mut done) = (Reassembler::default(), vec![]);
        for (index, one) in fragments.into_iter().enumerate() {
            let part = Packet::with_additions(one, PortNo(1), catalogue.additions());
            let wanted = of_first.filter(|_| index == 0);
            assert_eq!(part.key().get(hash, &mut ()), wanted, "{step} {index}");
            let (whole, lost) = reassembler.add(0, part);
            assert_eq!(lost, 0);
            done.extend(whole);
        }
        assert_eq!(done.len(), 1);
        assert_eq!(done[0].key().get(hash, &mut ()), Some(0x0203_0405));
    }
}

#[test]
fn segments_of_a_super_frame_differ_in_an_added_header() {
    let (catalogue, pool) = (catalogue(), Pool::new(1 << 20));
    let hash = field(&catalogue, 4);
    assert_eq!(
        hash.differs,
        Differs::Nowhere,
        "what is in the payload differs all the same"
    );
    for (port, wanted) in [(PORT, 1), (PORT + 1, 4)] {
        let mut bytes = named(&[7; 400]);
        bytes[36..38].copy_from_slice(&port.to_be_bytes());
        let mut frame = pool.frame(&bytes).expect("the pool has room");
        frame.offload = Offload {
            checksum: Some((34, 6)),
            gso: Some(Gso {
                kind: GsoKind::Udp,
                segment_bytes: 100,
                ecn: false,
            }),
            ..Offload::NONE
        };
        let read = Use {
            field: hash,
            is_set: false,
            bits: 0,
        };
        let count = agreeing_segments(&frame, catalogue.additions(), [read].into_iter());
        assert_eq!(count, wanted, "{port}");
    }
}
