//! A packet-in with the fields of its headers.

use std::ptr::null_mut;

use bofuss::codec::{
    bofuss_codec_free, bofuss_codec_new, bofuss_command, bofuss_packet_in_with_headers,
};
use bofuss::Status;
use bofuss_oflib::field::{ARP_OP, ETH_TYPE, IN_PORT, IPV4_SRC, PACKET_TYPE, TCP_DST, TUNNEL_ID};
use bofuss_oflib::matching::{FieldMatch, Match};
use bofuss_oflib::message::packet_in::PacketIn;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Codec, Field, Message, Version};

/// Ethernet, IPv4 and the ports of TCP.
const TCP: &str = "0200000000010200000000020800\
    450000280000000040060000 0a000001 0a000002 c0010009 00000000 00000000 50020000 00000000";
const ARP: &str = "ffffffffffff020000000002080600010800060400010200000000020a000001\
    0000000000000a000002";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            u8::from_str_radix(std::str::from_utf8(pair).expect("it is ASCII"), 16).expect("digits")
        })
        .collect()
}

fn codec(version: Version) -> Codec {
    Codec::new(version, std::sync::Arc::new(bofuss_ext::catalogue()))
}

/// A packet-in with the tunnel id 7 and these bytes of a packet from port 3.
fn packet_in(version: Version, data: &[u8]) -> Vec<u8> {
    let fields = [
        FieldMatch::exact(IN_PORT, 3),
        FieldMatch::exact(TUNNEL_ID, 7),
    ];
    let message = PacketIn {
        fields: Match::new(&fields).expect("no field needs another"),
        data: Bytes(data.into()),
        ..PacketIn::default()
    };
    let mut bytes = Vec::new();
    let wire = codec(version);
    wire.encode(77, &Message::PacketIn(message), &mut bytes)
        .expect("every version has it");
    bytes
}

/// What the library makes of a message.
fn with_headers(message: &[u8]) -> Result<Vec<u8>, Status> {
    let mut codec = null_mut();
    let mut out = vec![0; 1 << 17];
    let mut length = 0;
    // SAFETY: all places are those of the buffers above.
    let status = unsafe {
        assert_eq!(bofuss_codec_new(&mut codec), Status::Ok);
        let status = bofuss_packet_in_with_headers(
            codec,
            message.as_ptr(),
            message.len(),
            out.as_mut_ptr(),
            out.len(),
            &mut length,
        );
        assert_eq!(bofuss_codec_free(&mut codec), Status::Ok);
        status
    };
    out.truncate(length);
    match status {
        Status::Ok => Ok(out),
        other => Err(other),
    }
}

fn fields(version: Version, message: &[u8]) -> impl Fn(&Field) -> Option<u128> {
    let (xid, Message::PacketIn(read)) = codec(version).decode(message).expect("a message") else {
        panic!("another message");
    };
    assert_eq!(xid, 77);
    move |field| read.fields.get(field).map(|one| one.number())
}

#[test]
fn a_packet_in_gets_the_fields_of_its_headers_and_keeps_its_own() {
    for version in [Version::V1_3, Version::V1_4, Version::V1_5] {
        let sent = packet_in(version, &bytes(TCP));
        let read = fields(version, &with_headers(&sent).unwrap());
        assert_eq!(read(IN_PORT), Some(3));
        assert_eq!(read(TUNNEL_ID), Some(7));
        assert_eq!(read(ETH_TYPE), Some(0x800));
        assert_eq!(read(IPV4_SRC), Some(0x0a00_0001));
        assert_eq!(read(TCP_DST), Some(9));
        assert_eq!(read(ARP_OP), None);
        assert_eq!(read(PACKET_TYPE), None);
    }
    let sent = packet_in(Version::V1_3, &bytes(ARP));
    let read = fields(Version::V1_3, &with_headers(&sent).unwrap());
    assert_eq!((read(ARP_OP), read(TCP_DST)), (Some(1), None));
}

#[test]
fn headers_that_are_cut_off_give_no_fields() {
    let data = bytes(TCP);
    for length in 0..data.len() {
        let sent = packet_in(Version::V1_3, &data[..length]);
        let read = fields(Version::V1_3, &with_headers(&sent).unwrap());
        assert_eq!(read(IN_PORT), Some(3));
        assert_eq!(read(TCP_DST), None, "{length} bytes");
        assert_eq!(read(ETH_TYPE).is_some(), length >= 14, "{length} bytes");
    }
}

#[test]
fn other_messages_and_earlier_versions_have_no_such_match() {
    assert_eq!(with_headers(&[4, 0, 0, 8, 0, 0, 0, 0]), Err(Status::None));
    assert_eq!(with_headers(&[4, 10, 0, 8]), Err(Status::BadMessage));
    let mut codec = null_mut();
    let mut out = [0; 64];
    let mut length = 0;
    // SAFETY: all places are those of the buffers above.
    unsafe {
        assert_eq!(bofuss_codec_new(&mut codec), Status::Ok);
        let line = c"packet-out 1 output:2 ffffffffffff0200000000010806";
        let place = out.as_mut_ptr();
        let status = bofuss_command(codec, 1, 7, line.as_ptr(), place, out.len(), &mut length);
        assert_eq!(status, Status::Ok);
        assert_eq!(bofuss_codec_free(&mut codec), Status::Ok);
    }
    assert_eq!(with_headers(&out[..length]), Err(Status::None));
}
