//! Calls that return an error, configurations that are refused, and times that are over.

use alloc::string::ToString;

use bofuss_frame::MAX_FRAME_BYTES;
use bofuss_oflib::error::{BadInstruction, FlowModFailed};
use bofuss_oflib::message::Empty;
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_oflib::message::multipart::table_features::TableFeatureSet;
use bofuss_oflib::types::TableId;

use super::used::{EARLIER, NOW, UsedSwitch};
use super::*;
use crate::config::port;

/// A port and a connection that are not there.
const NO_PORT: PortNo = PortNo(9);
const NO_CONN: ConnId = ConnId(99);

variants!(error_name, ERRORS: EmbedError {
    EmbedError::Config(_) => "Config",
    EmbedError::NoConnection(_) => "NoConnection",
    EmbedError::WrongKind(_) => "WrongKind",
    EmbedError::NoPort(_) => "NoPort",
    EmbedError::BadPortNumber(_) => "BadPortNumber",
    EmbedError::Trace(_) => "Trace",
});

/// A call with the time at which it is made.
type Call = fn(&mut UsedSwitch, Time) -> Result<(), EmbedError>;

/// Each call, and its error as text.
const CALLS: &[(&str, Call)] = &[
    ("there is no port 9", |used, now| {
        used.switch.set_link(now, NO_PORT, true)
    }),
    ("there is no port 9", |used, now| {
        used.switch.remove_port(now, NO_PORT)
    }),
    ("there is no port 9", |used, now| {
        used.switch.set_port_room(now, NO_PORT, Some(0))
    }),
    ("there is no port 9", |used, now| {
        let mut frames = vec![used.switch.frame(&[2; 60]).unwrap()];
        let received = used.switch.receive(now, NO_PORT, &mut frames);
        assert_eq!(frames.len(), 1, "the caller keeps them");
        received
    }),
    ("0 is no port's number", |used, now| {
        used.switch.add_port(now, port(0), Default::default())
    }),
    ("CONTROLLER is no port's number", |used, now| {
        let reserved = port(PortNo::CONTROLLER.0);
        used.switch.add_port(now, reserved, Default::default())
    }),
    ("there is no connection 99", |used, now| {
        used.switch.feed(now, NO_CONN, &[4]).map(drop)
    }),
    ("there is no connection 99", |used, now| {
        let barrier = Message::BarrierRequest(Empty);
        used.switch.message(now, NO_CONN, 1, barrier).map(drop)
    }),
    ("there is no connection 99", |used, _| {
        used.switch.set_held_bytes(NO_CONN, 1)
    }),
    ("there is no connection 99", |used, now| {
        used.switch.disconnect(now, NO_CONN)
    }),
    ("there is no connection 99", |used, _| {
        used.switch.connect_auxiliary(NO_CONN, 1, false).map(drop)
    }),
    (
        "connection 2 is not of the kind for this call",
        |used, now| used.switch.feed(now, used.typed, &[4]).map(drop),
    ),
    (
        "connection 2 is not of the kind for this call",
        |used, _| {
            let main = used.typed;
            used.switch.connect_auxiliary(main, 1, false).map(drop)
        },
    ),
    (
        "connection 1 is not of the kind for this call",
        |used, now| {
            let barrier = Message::BarrierRequest(Empty);
            used.switch.message(now, used.wired, 1, barrier).map(drop)
        },
    ),
    (
        "this packet on port CONTROLLER: BAD_REQUEST/BAD_PORT (no such port)",
        |used, now| traced(used, now, PortNo::CONTROLLER, &[2; 60]),
    ),
    (
        "this packet on port 1: BAD_REQUEST/BAD_PACKET (the packet is invalid)",
        |used, now| traced(used, now, PortNo(1), &[]),
    ),
    (
        "this packet on port 1: BAD_REQUEST/BAD_PACKET (the packet is invalid)",
        |used, now| traced(used, now, PortNo(1), &[2; MAX_FRAME_BYTES + 1]),
    ),
    ("no version is offered", |used, now| {
        let versions = Vec::new();
        made(
            now,
            EmbeddedConfig {
                versions,
                ..used.config()
            },
        )
    }),
    ("0 tables: 1 to 254", |used, now| with_tables(used, now, 0)),
    ("255 tables: 1 to 254", |used, now| {
        with_tables(used, now, 255)
    }),
    (
        "profile: TABLE_FEATURES_FAILED/BAD_TABLE (no such table)",
        |used, now| {
            let profile = vec![TableFeatures(TableFeatureSet {
                table_id: TableId(4),
                ..TableFeatureSet::default()
            })];
            made(
                now,
                EmbeddedConfig {
                    profile,
                    ..used.config()
                },
            )
        },
    ),
];

fn traced(used: &mut UsedSwitch, now: Time, port: PortNo, frame: &[u8]) -> Result<(), EmbedError> {
    used.switch.explain(now, port, 0, frame).map(drop)
}

fn with_tables(used: &UsedSwitch, now: Time, n_tables: u8) -> Result<(), EmbedError> {
    let mut config = used.config();
    config.tables.n_tables = n_tables;
    made(now, config)
}

fn made(now: Time, config: EmbeddedConfig) -> Result<(), EmbedError> {
    EmbeddedSwitch::new(now, config).map(drop)
}

#[test]
fn a_call_that_is_refused_changes_nothing() {
    let mut used = UsedSwitch::new();
    let before = used.picture();
    let mut seen = BTreeSet::new();
    for (text, call) in CALLS {
        for now in [NOW, EARLIER] {
            let mut refused = Ok(());
            let effects = used.effects_of(|used| refused = call(used, now));
            let error = refused.expect_err(text);
            assert_eq!(error.to_string(), *text);
            assert!(effects.is_empty(), "{text}: {effects:?}");
            used.assert_same(&before, text);
            seen.insert(error_name(&error));
        }
    }
    assert_all_seen(&seen, ERRORS);
    used.conclude();
}

#[test]
fn a_configuration_that_does_not_fit_changes_nothing() {
    let mut used = UsedSwitch::new();
    let before = used.picture();
    let mut one_table = used.config();
    one_table.tables.n_tables = 1;
    let mut few_entries = used.config();
    few_entries.tables.max_total_entries = 1;
    for (config, obstacle) in [
        (one_table, (TableId(0), BadInstruction::BAD_TABLE_ID)),
        (few_entries, (TableId::ALL, FlowModFailed::TABLE_FULL)),
    ] {
        let other = EmbeddedSwitch::new(NOW, config).unwrap();
        let refused = used.switch.reconfigure(NOW, other);
        assert_eq!(refused, Err(obstacle));
        used.assert_same(&before, &format!("{obstacle:?}"));
    }
    used.conclude();
}

#[test]
fn a_time_that_is_over_changes_nothing() {
    let mut used = UsedSwitch::new();
    let before = used.picture();
    used.switch.tick(EARLIER);
    used.switch.work(EARLIER);
    used.assert_same(&before, "");
    used.conclude();
}

#[test]
fn a_frame_that_is_too_long_takes_no_buffer() {
    let mut used = UsedSwitch::new();
    let before = used.picture();
    assert!(used.switch.frame(&[0; MAX_FRAME_BYTES + 1]).is_none());
    used.assert_same(&before, "");
}
