//! A new configuration while the switch is changing.

use bofuss_agent::{ConnId, Request};
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags, Timestamp};
use bofuss_oflib::message::{BundleAdd, BundleControl};

use super::super::copiers;
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

/// Takes over a configuration, unless another switch refuses its own.
fn reload(lab: &mut Lab, config: Config, goes: bool) -> Answer {
    let (ready, _is_ready) = oneshot::channel();
    let (go, may_go) = oneshot::channel();
    let go = goes.then_some(go);
    go.map(|go| go.send(()));
    lab.plane.reconfigure(config, ready, may_go)
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
    assert_eq!(reload(&mut lab, config, true), Ok(String::new()));
    assert!(lab.plane.live.now() >= DUE);
    assert_eq!(lab.plane.live.switch().datapath().tables()[0].len(), 1);
}

/// The current configuration with these ports and copies. The ports are those in memory.
fn configured(lab: &Lab, ports: &[&str], captures: &[String], mirrors: &[String]) -> Config {
    let options = Options {
        ports: ports.iter().map(|port| port.to_string()).collect(),
        captures: captures.into(),
        mirrors: mirrors.into(),
        ..Options::default()
    };
    let config = options.check().unwrap();
    Config {
        ports: config.ports,
        copiers: config.copiers,
        ..lab.plane.config.current.clone()
    }
}

#[test]
fn captures_and_mirrors_follow_ports_that_get_another_number() {
    let folder = Folder::new("copied");
    let mut lab = Lab::new(&folder, &folder.0.join("record"), Options::default());
    let capture = folder.0.join("file.pcapng");
    let captures = [format!("a {}", capture.display())];
    let mirrors = ["a b".to_string(), "c d".to_string()];
    let before = configured(&lab, &["a", "b", "c", "d"], &captures, &mirrors);
    lab.plane.config.current = before;
    lab.plane.begin_copiers().unwrap();
    let swapped = ["2=a", "1=b", "3=c", "4=d"];
    let after = configured(&lab, &swapped, &captures, &mirrors);
    reload(&mut lab, after, true).unwrap();
    let list = copiers::list(lab.plane.live.io());
    let lines: Vec<&str> = list.lines().collect();
    let [mirror, capture, other, _record] = lines[..] else {
        panic!("{list}");
    };
    assert!(
        mirror.starts_with("3 d ") && other.starts_with("2 b "),
        "{list}"
    );
    assert!(capture.starts_with("2 /"), "{list}");
}

#[test]
fn a_refused_reload_writes_to_no_file_and_as_many_captures_run_as_may() {
    let folder = Folder::new("refused");
    let mut lab = Lab::new(&folder, &folder.0.join("record"), Options::default());
    let file = folder.0.join("old");
    fs::write(&file, "as it was").unwrap();
    let capture = |name: String| format!("a {}", folder.0.join(name).display());
    let with = |lab: &Lab, captures: &[String]| configured(lab, &["a"], captures, &[]);
    lab.plane.config.current.ports = with(&lab, &[]).ports;
    let config = with(&lab, &[capture("old".into())]);
    assert!(reload(&mut lab, config.clone(), false).is_err());
    assert_eq!(fs::read(&file).unwrap(), b"as it was");
    reload(&mut lab, config, true).unwrap();
    assert_ne!(fs::read(&file).unwrap(), b"as it was");
    let sixteen = |from: u32| Vec::from_iter((from..from + 16).map(|n| capture(n.to_string())));
    let (first, second) = (sixteen(0), sixteen(16));
    for captures in [&first, &second] {
        let config = with(&lab, captures);
        reload(&mut lab, config, true).unwrap();
    }
    let config = with(&lab, &[first, second].concat());
    let refused = reload(&mut lab, config, true).unwrap_err();
    assert!(refused.text.contains("there are 16 captures"), "{refused}");
}
