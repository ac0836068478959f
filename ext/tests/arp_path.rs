//! The frames of ARP-Path as the reference page has them.

use bofuss_ext::arppath::frame::{ETHERTYPE, FrameError, PathFrame};
use bofuss_oflib::Mac;

const PAGE: &str = include_str!("../../docs/reference/arp-path.md");

/// The vectors of the page: bytes, and their text.
fn vectors() -> Vec<(Vec<u8>, &'static str)> {
    let blocks = PAGE.split("```hex\n").skip(1);
    let blocks = blocks.map(|block| block.split("\n```").next().expect("it has a beginning"));
    blocks.map(vector).collect()
}

fn vector(block: &'static str) -> (Vec<u8>, &'static str) {
    let (hex, text) = block.rsplit_once('\n').expect("bytes, then text");
    let digits: String = hex.split_whitespace().collect();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("a byte");
    ((0..digits.len()).step_by(2).map(byte).collect(), text)
}

fn text(frame: &PathFrame) -> String {
    let pair = frame.pair;
    format!(
        "type={},hops={},sender={:#x},to={:#x},origin={:#x},sequence={},vlan={:#x},source={},\
         destination={}",
        frame.ty.name(),
        frame.hops,
        frame.sender,
        frame.to,
        frame.origin,
        frame.sequence,
        pair.vlan,
        pair.source,
        pair.destination
    )
}

#[test]
fn the_vectors_of_the_reference_page_are_read_and_written() {
    assert_eq!(vectors().len(), 4);
    for (bytes, expected) in vectors() {
        let frame = PathFrame::decode(&bytes[14..], None).expect(expected);
        assert_eq!(text(&frame), expected);
        let source = Mac(bytes[6..12].try_into().expect("six bytes"));
        assert_eq!(frame.encode(ETHERTYPE, source, None, false), bytes);
    }
}

#[test]
fn a_frame_with_another_key_or_a_changed_byte_is_forged() {
    let (bytes, _) = vectors().remove(2);
    let frame = PathFrame::decode(&bytes[14..], None).expect("it is a vector");
    let key = Some(7);
    let mut signed = frame.encode(ETHERTYPE, Mac([2; 6]), key, false);
    assert_eq!(PathFrame::decode(&signed[14..], key), Ok(frame));
    let forged = Err(FrameError::BadTag);
    assert_eq!(PathFrame::decode(&signed[14..], Some(8)), forged);
    assert_eq!(PathFrame::decode(&signed[14..], None), forged);
    assert_eq!(PathFrame::decode(&bytes[14..], key), forged);
    signed[60] ^= 1;
    assert_eq!(PathFrame::decode(&signed[14..], key), forged);
}

#[test]
fn every_shortened_frame_is_malformed() {
    let (bytes, _) = vectors().remove(0);
    for length in 14..bytes.len() {
        let read = PathFrame::decode(&bytes[14..length], None);
        assert_eq!(read, Err(FrameError::Malformed), "{length}");
    }
}
