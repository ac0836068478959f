//! While a long state is saved, frames are forwarded in each turn, and commands that change the
//! switch wait for its end.

use std::time::Instant;

use bofuss_agent::{ConnId, Request};
use bofuss_oflib::message::bundle::BundleControlType;
use bofuss_oflib::message::{BundleAdd, BundleControl};

use super::super::command::{Operation, OperatorCommand};
use super::*;
use crate::state_dir::StateFolder;

/// Entries of the state, which take many slices.
const ENTRIES: u32 = 3000;
/// The least number of turns that the state then takes.
const LEAST_TURNS: usize = 10;

/// Asks the data plane for an operation.
fn ask(lab: &Lab, operation: Operation) -> oneshot::Receiver<Answer> {
    let (reply, answer) = oneshot::channel();
    give(lab, Input::Command(OperatorCommand { operation, reply }));
    answer
}

fn give(lab: &Lab, input: Input) {
    assert!(lab._inputs.try_send(input).is_ok());
}

#[test]
fn frames_and_reads_do_not_wait_for_a_long_state_and_changes_do() {
    let folder = Folder::new("saving");
    let record = folder.0.join("record");
    let mut lab = Lab::new(&folder, &record, Options::default());
    let flow = |text: &str, lab: &mut Lab| {
        let flow = parse_flow(text, FlowModCommand::ADD, &lab.catalogue()).unwrap();
        lab.tell(1, &Message::FlowMod(flow));
    };
    flow("priority=9000,in_port=1,actions=output:2", &mut lab);
    for n in 0..ENTRIES {
        flow(&format!("priority={n},tcp,actions=output:3"), &mut lab);
    }
    let count = |lab: &Lab| lab.plane.live.switch().datapath().tables()[0].len();
    lab.until(|lab| count(lab) == 1 + ENTRIES as usize);
    let states = StateFolder::open(&folder.0, Instant::now(), None).unwrap();
    lab.plane.begin_saving(states).unwrap();
    let interval = Some(Duration::from_nanos(1));
    let now = lab.plane.live.now();
    lab.plane.saver.set_interval(now, interval);
    lab.until(|lab| lab.plane.saver.is_saving());
    let now = lab.plane.live.now();
    lab.plane.saver.set_interval(now, None);
    // A read is answered in the next turn, and the state goes on.
    let mut read = ask(&lab, Operation::Counters);
    lab.turn(&[]);
    assert!(read.try_recv().is_ok() && lab.plane.saver.is_saving());
    let mut change = ask(&lab, Operation::ForgetAddresses);
    let mut turns = 0;
    while lab.plane.saver.is_saving() {
        assert!(change.try_recv().is_err(), "it waits for the state");
        lab.frames.clear();
        let frame = lab.plane.live.pool().frame(&[2; 60]).unwrap();
        lab.wires[0].send(&mut vec![frame]).unwrap();
        lab.turn(&[1]);
        let out: Vec<u32> = lab.frames.iter().map(|frame| frame.0).collect();
        assert_eq!(out, [2], "a frame leaves in the turn in which it came");
        turns += 1;
    }
    assert!(turns >= LEAST_TURNS, "{turns} turns");
    lab.turn(&[]);
    assert!(change.try_recv().is_ok());
}

#[test]
fn commands_that_change_the_switch_are_refused_while_a_successor_prepares() {
    let folder = Folder::new("successor");
    let record = folder.0.join("record");
    let mut lab = Lab::new(&folder, &record, Options::default());
    let refused = |lab: &mut Lab| {
        let mut change = ask(lab, Operation::ForgetAddresses);
        lab.turn(&[]);
        let answer = change.try_recv().expect("it is answered at once");
        answer.is_err_and(|error| error.text.contains("try again"))
    };
    assert!(!refused(&mut lab));
    let (reply, mut state) = oneshot::channel();
    give(&lab, Input::Successor(SuccessorInput::Save(reply)));
    assert!(refused(&mut lab), "while the state is collected");
    lab.until(|lab| !lab.plane.saver.is_saving());
    assert!(state.try_recv().is_ok_and(|state| state.is_ok()));
    assert!(refused(&mut lab), "until the successor begins or gives up");
    give(&lab, Input::Successor(SuccessorInput::GaveUp));
    assert!(!refused(&mut lab));
}

/// Begins to commit a bundle of more entries than one slice prepares.
fn begin_change(live: &mut LiveSwitch) {
    const CONN: ConnId = ConnId(1000);
    let now = live.now();
    let (switch, io) = live.unrecorded();
    let catalogue = switch.datapath().catalogue().clone();
    switch.connected(now, CONN, Version::V1_4, false);
    let added = (1..100).map(|priority| {
        let text = format!("priority={priority},actions=drop");
        let flow = parse_flow(&text, FlowModCommand::ADD, &catalogue).unwrap();
        Message::BundleAdd(BundleAdd {
            bundle_id: 1,
            flags: Default::default(),
            xid: 7,
            message: Box::new(Message::FlowMod(flow)),
            experimenters: Vec::new(),
        })
    });
    let commit = Message::BundleControl(BundleControl {
        bundle_id: 1,
        ty: BundleControlType::COMMIT_REQUEST,
        ..BundleControl::default()
    });
    for message in added.chain([commit]) {
        let request = Request {
            xid: 7,
            head: &[],
            message: Ok(message),
        };
        switch.message(now, CONN, request, io);
    }
    assert!(switch.is_changing());
}

#[test]
fn a_last_state_is_begun_anew_if_a_change_comes_between() {
    let folder = Folder::new("saving-anew");
    let record = folder.0.join("record");
    let mut lab = Lab::new(&folder, &record, Options::default());
    let DataPlane { saver, live, .. } = &mut lab.plane;
    let mut begun = 0;
    let state = saver.collect(live, |saver, live| {
        saver.begin(live.now(), &[], live);
        if begun == 0 {
            begin_change(live);
        }
        begun += 1;
    });
    assert_eq!((state.is_ok(), begun), (true, 2));
}
