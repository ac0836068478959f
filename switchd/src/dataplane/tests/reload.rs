//! A new configuration while the switch is changing.

use bofuss_agent::{ConnId, Request};
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags, Timestamp};
use bofuss_oflib::message::{BundleAdd, BundleControl};

use super::*;

const CONN: ConnId = ConnId(1000);
/// What the clock of scheduled commits says at time 0.
const CLOCK_NS: u64 = 1_800_000_000 * Time::SEC;
const DUE: Time = Time(Time::SEC);

/// Schedules a bundle that adds an entry, at [`DUE`].
fn schedule(lab: &mut Lab, now: Time) {
    let flow = parse_flow("actions=drop", FlowModCommand::ADD, &lab.catalogue()).unwrap();
    let add = BundleAdd {
        bundle_id: 1,
        flags: BundleFlags::ALL.without(BundleFlags::TIME),
        xid: 7,
        message: Box::new(Message::FlowMod(flow)),
        experimenters: Vec::new(),
    };
    let commit = BundleControl {
        bundle_id: 1,
        ty: BundleControlType::COMMIT_REQUEST,
        flags: BundleFlags::ALL,
        scheduled: Some(Timestamp::of_nanos(CLOCK_NS + DUE.0)),
        ..BundleControl::default()
    };
    let (switch, io) = lab.plane.live.unrecorded();
    switch.clock_mut().set(CLOCK_NS);
    switch.connected(now, CONN, Version::V1_4, false);
    for message in [Message::BundleAdd(add), Message::BundleControl(commit)] {
        let request = Request {
            xid: 7,
            head: &[],
            message: Ok(message),
        };
        switch.message(now, CONN, request, io);
    }
}

#[test]
fn a_reload_waits_for_a_commit_that_is_prepared() {
    let folder = Folder::new("reload");
    let record = folder.0.join("record");
    let mut lab = Lab::new(&folder, &record, Options::default());
    let now = Time(DUE.0 - Time::SEC / 1000);
    lab.plane.live.clock_mut().stop_at(Some(now));
    schedule(&mut lab, now);
    lab.until(|lab| lab.plane.live.switch().waits_until() == Some(DUE));
    lab.plane.live.clock_mut().go_on_from(now);
    let config = lab.plane.config.current.clone();
    let (ready, _is_ready) = oneshot::channel();
    let (go, may_go) = oneshot::channel();
    go.send(()).unwrap();
    let answer = lab.plane.reconfigure(config, ready, may_go);
    assert_eq!(answer, Ok(String::new()));
    assert!(lab.plane.live.now() >= DUE);
    assert_eq!(lab.plane.live.switch().datapath().tables()[0].len(), 1);
}
