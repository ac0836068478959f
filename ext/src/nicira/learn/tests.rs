//! `learn` as bytes and as text, and what it refuses.

use alloc::{string::ToString, sync::Arc, vec, vec::Vec};

use bofuss_oflib::error::BadAction;
use bofuss_oflib::text::parse_actions;
use bofuss_oflib::wire::{Reader, Writer};
use bofuss_oflib::{Action, Codec, ErrorCode, Match, Version};

/// The fixed part without type, flags, table 1 and timeouts after FIN.
const HEAD: [u8; 32] = {
    let mut head = [0; 32];
    head[0] = 0xff;
    head[1] = 0xff;
    head[6] = 0x23;
    head[7] = 0x20;
    head[9] = 16;
    head[26] = 1;
    head
};

/// A whole action with these parts.
fn action(parts: &[u8]) -> Vec<u8> {
    let mut bytes = [&HEAD[..], parts].concat();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes[3] = bytes.len() as u8;
    bytes
}

fn codec(version: Version) -> Codec {
    Codec::new(version, Arc::new(crate::catalogue()))
}

/// Reads an action by 1.3.
fn decode(bytes: &[u8]) -> Result<Vec<Action>, ErrorCode> {
    let codec = codec(Version::V1_3);
    let actions = Action::decode_list(&mut Reader::new(&codec, bytes), bytes.len());
    actions.map_err(|error| error.error)
}

fn parse(text: &str) -> Result<Vec<Action>, alloc::string::String> {
    let actions = parse_actions(text, &Match::ANY, &crate::catalogue());
    actions.map_err(|error| error.to_string())
}

const TEXTS: [&str; 8] = [
    "learn(table=1)",
    "learn(table=254,idle_timeout=1,hard_timeout=65535,priority=0,send_flow_rem,cookie=0xffff)",
    "learn(table=1,vlan_vid[0..11],dl_dst[]=dl_src[],output:in_port[])",
    "learn(table=1,dl_type=0x0800,nw_proto=17,nw_dst[]=nw_src[],udp_dst[]=udp_src[])",
    "learn(table=1,dl_type=0x86dd,ipv6_dst[0..99]=ipv6_src[28..127],load:0x1->xreg3[0..0])",
    "learn(table=1,in_port=7,dl_vlan_pcp[]=xreg0[5..7],vlan_vid=0x1000)",
    "learn(table=1,dl_dst=02:00:00:00:00:01,load:in_port[]->xreg0[32..47],output:xreg0[32..63])",
    "learn(table=1,metadata[3..9]=0x5,dl_type=0x0800,load:ip_dscp[]->ip_dscp[])",
];

#[test]
fn what_is_written_is_read_as_the_same_in_all_versions() {
    for version in [Version::V1_3, Version::V1_4, Version::V1_5] {
        let codec = codec(version);
        for text in TEXTS {
            let actions = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(actions[0].to_string(), text);
            let mut writer = Writer::new(&codec);
            Action::encode_list(&actions, &mut writer);
            assert_eq!(writer.first_unsupported(), None, "{text}");
            let bytes = writer.bytes;
            let read = Action::decode_list(&mut Reader::new(&codec, &bytes), bytes.len());
            assert_eq!(read.as_ref(), Ok(&actions), "{text} in {version}");
        }
    }
}

#[test]
fn names_of_ovs_ofctl_mean_the_same() {
    let both = |theirs, ours| assert_eq!(parse(theirs), parse(ours), "{theirs}");
    both(
        "learn(NXM_OF_VLAN_TCI[0..11], NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[], output:NXM_OF_IN_PORT[])",
        TEXTS[2],
    );
    both(
        "learn(table=1,eth_type=0x800,nw_proto=17,nw_dst[]=nw_src[],tp_dst[]=tp_src[])",
        TEXTS[3],
    );
    both(
        "learn(NXM_OF_VLAN_TCI[13..15],vlan_tci[12]=1)",
        "learn(vlan_pcp[],vlan_vid[12]=1)",
    );
}

#[test]
fn every_prefix_of_an_action_is_an_error_and_no_panic() {
    let parts = [
        [0, 12, 0, 0, 8, 2, 0, 0, 0, 0, 8, 2, 0, 0],
        [0, 48, 0, 0, 4, 6, 0, 0, 0, 0, 2, 6, 0, 0],
    ];
    let whole = action(&parts.concat());
    assert!(decode(&whole).is_ok());
    for end in 1..whole.len() {
        assert_eq!(
            decode(&whole[..end]),
            Err(BadAction::BAD_LEN),
            "{end} bytes"
        );
    }
    for end in [33, 34, 36, 40, 44, 45, 46 + 8] {
        let mut cut = whole[..end].to_vec();
        cut.truncate(end / 8 * 8);
        cut[3] = cut.len() as u8;
        let is_fixed_part = cut.len() == HEAD.len();
        assert_eq!(decode(&cut).is_ok(), is_fixed_part, "{} bytes", cut.len());
    }
}

#[test]
fn what_is_wrong_has_the_error_that_says_so() {
    let refused = |place: usize, byte: u8| {
        let mut bytes = action(&[]);
        bytes[place] = byte;
        assert_eq!(decode(&bytes), Err(BadAction::BAD_ARGUMENT), "byte {place}");
    };
    // The flag delete_learned, table 255, padding, and timeouts after FIN.
    for (place, byte) in [(25, 2), (26, 255), (27, 1), (29, 1), (31, 1)] {
        refused(place, byte);
    }
    let eth_dst = [0, 0, 2, 6];
    let in_port = [0, 0, 0, 2];
    let part = |head: [u8; 2], rest: &[&[u8]]| {
        let rest = rest.concat();
        decode(&action(&[&head[..], &rest].concat()))
    };
    let at_0 = [0, 0];
    let cases: [(ErrorCode, Result<_, _>); 9] = [
        // A reserved bit, an unknown kind, an output of a value, a value above its bits.
        (BadAction::BAD_ARGUMENT, part([4, 16], &[&in_port, &at_0])),
        (
            BadAction::BAD_ARGUMENT,
            part([0x18, 16], &[&in_port, &at_0]),
        ),
        (BadAction::BAD_ARGUMENT, part([0x30, 16], &[&[0, 1]])),
        (
            BadAction::BAD_ARGUMENT,
            part([0x20, 3], &[&[0, 8], &eth_dst, &at_0]),
        ),
        // Unknown fields; bits outside of a field, none, and those of two fields.
        (
            BadAction::BAD_SET_TYPE,
            part([0x10, 16], &[&[0, 1, 0xfe, 2], &at_0]),
        ),
        (BadAction::BAD_SET_LEN, part([0x10, 17], &[&in_port, &at_0])),
        (BadAction::BAD_SET_LEN, part([0x10, 0], &[&in_port, &at_0])),
        (
            BadAction::BAD_SET_LEN,
            part([0x10, 16], &[&[0, 0, 8, 2], &at_0]),
        ),
        // A field that cannot be set.
        (
            BadAction::BAD_SET_ARGUMENT,
            part([0x28, 16], &[&[0, 1], &in_port, &at_0]),
        ),
    ];
    for (number, (error, found)) in cases.into_iter().enumerate() {
        assert_eq!(found, Err(error), "case {number}");
    }
}

#[test]
fn texts_that_are_wrong_say_why() {
    let cases = vec![
        (
            "learn(delete_learned)",
            "'delete_learned' is one of Nicira's extensions",
        ),
        ("learn(limit=5)", "'limit' is one of Nicira's extensions"),
        ("learn(table=255)", "it learns in one table"),
        ("learn(table=x)", "'x' is no number"),
        ("learn(colour[])", "there is no field 'colour'"),
        ("learn(dl_dst[]=dl_type[])", "has 16 bits for 48"),
        ("learn(vlan_tci[])", "has bits of more than one field"),
        ("learn(in_port[0..3]=0x1)", "BAD_SET_MASK"),
        ("learn(udp_dst=1)", "MATCH_INCONSISTENT"),
        ("learn(load:1->in_port[])", "BAD_SET_ARGUMENT"),
        ("learn(load:1->nw_ttl[])", "nw_ttl"),
        ("learn(load:1)", "is not FROM->TO"),
    ];
    for (text, words) in cases {
        let error = parse(text).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
    }
}
