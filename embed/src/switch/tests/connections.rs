//! Tests of what ends a connection, and of bytes that are answered with an ERROR: the switch and
//! its other connections stay as they are.

use bofuss_oflib::error::{BadMatch, BadRequest};
use bofuss_oflib::handshake::HandshakeError;
use bofuss_oflib::{ErrorCode, Framer};

use super::used::{NOW, UsedSwitch, XID};
use super::*;

variants!(reason_name, REASONS: CloseReason {
    CloseReason::Handshake(_) => "Handshake",
    CloseReason::Malformed(_) => "Malformed",
    CloseReason::Overflow => "Overflow",
    CloseReason::MainGone => "MainGone",
});

variants!(handshake_name, HANDSHAKES: HandshakeError {
    HandshakeError::NotHello(_) => "NotHello",
    HandshakeError::NoCommonVersion { .. } => "NoCommonVersion",
    HandshakeError::Refused(_) => "Refused",
    HandshakeError::Malformed(_) => "Malformed",
});

/// Does to a new connection what ends one.
type End = fn(&mut UsedSwitch, ConnId);

/// The beginning of the reason as text, and what causes it.
const ENDS: &[(&str, End)] = &[
    (
        "the first message is not HELLO but BARRIER_REQUEST",
        |used, conn| feed(used, conn, &[4, 20, 0, 8, 0, 0, 0, 1]),
    ),
    (
        "no common OpenFlow version: this side speaks 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, the other side \
         0x08",
        // A bitmap with version 8.
        |used, conn| {
            feed(
                used,
                conn,
                &[9, 0, 0, 16, 0, 0, 0, 1, 0, 1, 0, 8, 0, 0, 1, 0],
            )
        },
    ),
    (
        "the peer refuses the connection: HELLO_FAILED/INCOMPATIBLE (no common version) ",
        |used, conn| feed(used, conn, &[4, 1, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0]),
    ),
    (
        "malformed message: BAD_REQUEST/BAD_LEN",
        // An ERROR that is cut off.
        |used, conn| feed(used, conn, &[4, 1, 0, 9, 0, 0, 0, 1, 0]),
    ),
    (
        "malformed message: BAD_REQUEST/BAD_LEN (wrong length for the type) at byte 2, in length",
        |used, conn| {
            used.say_hello(conn);
            feed(used, conn, &[4, 2, 0, 7, 0, 0, 0, 1]);
        },
    ),
    (
        "malformed message: BAD_REQUEST/MULTIPART_BUFFER_OVERFLOW",
        |used, conn| {
            used.say_hello(conn);
            // More requests that are begun and not finished than may be.
            for xid in 0..=16 {
                feed(
                    used,
                    conn,
                    &[4, 18, 0, 16, 0, 0, 0, xid, 0, 12, 0, 1, 0, 0, 0, 0],
                );
            }
        },
    ),
    ("the peer does not read what it is sent", |used, conn| {
        used.say_hello(conn);
        let held = used.switch.set_held_bytes(conn, MAX_UNREAD_BYTES + 1);
        held.unwrap();
        used.switch.tick(NOW);
    }),
    ("the peer does not read what it is sent", |used, conn| {
        // Our HELLO waits besides.
        used.switch.set_held_bytes(conn, usize::MAX).unwrap();
        used.switch.tick(NOW);
    }),
    ("its main connection is gone", |used, conn| {
        used.say_hello(conn);
        let auxiliary = used.switch.connect_auxiliary(conn, 1, false).unwrap();
        used.say_hello(auxiliary);
        used.switch.disconnect(NOW, conn).unwrap();
    }),
];

fn feed(used: &mut UsedSwitch, conn: ConnId, bytes: &[u8]) {
    assert_eq!(used.switch.feed(NOW, conn, bytes), Ok(bytes.len()));
}

#[test]
fn a_connection_that_ends_takes_nothing_with_it() {
    let mut used = UsedSwitch::new();
    let before = used.picture();
    let mut reasons = BTreeSet::new();
    let mut handshakes = BTreeSet::new();
    for (text, end) in ENDS {
        let effects = used.effects_of(|used| {
            let conn = used.switch.connect(false);
            end(used, conn);
        });
        let mut ends = effects.iter().filter_map(|effect| match effect {
            Effect::Close { why, .. } => Some(why),
            _ => None,
        });
        let why = ends.next().expect(text);
        assert!(format!("{why}").starts_with(text), "{why}");
        assert_eq!(ends.next(), None, "{text}");
        used.assert_same(&before, text);
        reasons.insert(reason_name(why));
        if let CloseReason::Handshake(error) = why {
            handshakes.insert(handshake_name(error));
        }
    }
    assert_all_seen(&reasons, REASONS);
    assert_all_seen(&handshakes, HANDSHAKES);
    used.conclude();
}

/// Messages of 1.3 that are answered with an error.
const WRONG: &[(ErrorCode, &[u8])] = &[
    (BadRequest::BAD_VERSION, &[6, 2, 0, 8, 0, 0, 0, 7]),
    (BadRequest::BAD_TYPE, &[4, 99, 0, 8, 0, 0, 0, 7]),
    // A message that only a switch sends.
    (BadRequest::BAD_TYPE, &[4, 10, 0, 8, 0, 0, 0, 7]),
    // A flow-mod that is cut off.
    (BadRequest::BAD_LEN, &[4, 14, 0, 9, 0, 0, 0, 7, 0]),
    (
        BadRequest::BAD_MULTIPART,
        &[4, 18, 0, 16, 0, 0, 0, 7, 0, 99, 0, 0, 0, 0, 0, 0],
    ),
    (
        BadRequest::BAD_EXPERIMENTER,
        &[4, 4, 0, 16, 0, 0, 0, 7, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0],
    ),
    // Statistics of entries with a match of type 9.
    (
        BadMatch::BAD_TYPE,
        &[
            4, 18, 0, 56, 0, 0, 0, 7, 0, 1, 0, 0, 0, 0, 0, 0, // multipart FLOW
            0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0,
            0, // what of
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // cookie
            0, 9, 0, 4, 0, 0, 0, 0, // match
        ],
    ),
];

#[test]
fn bytes_that_are_no_message_change_nothing_but_are_answered() {
    let mut used = UsedSwitch::new();
    let before = used.picture();
    let codec = Codec::new(Version::V1_3, Arc::default());
    for (error, bytes) in WRONG {
        let wired = used.wired;
        let effects = used.effects_of(|used| feed(used, wired, bytes));
        let [Effect::Send { conn, bytes: sent }] = &effects[..] else {
            panic!("{bytes:?}: {effects:?}");
        };
        assert_eq!(*conn, wired);
        let mut framer = Framer::new();
        framer.push(sent);
        let answer = codec.decode(framer.next_message().unwrap().unwrap());
        let answer_expected = Message::Error(ErrorMsg::quoting(*error, bytes));
        assert_eq!(answer, Ok((XID, answer_expected)));
        used.assert_same(&before, &format!("{error}"));
    }
    used.conclude();
}
