//! A P4 program at a port with a rate: frames wait, leave by their priority or as a discipline
//! says, and say how they waited.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use bofuss_frame::{Frame, Pool};
use bofuss_ports::{AfPacket, AfPacketOptions, PortDriver};
use bofuss_tests::folder::Folder;
use bofuss_tests::{Lab, have, printed, program, run, until};

/// Frames that come first, without priority.
const PLAIN: u16 = 400;
/// Frames that come behind them, with the highest.
const URGENT: u16 = 20;
/// Bytes of each.
const LENGTH: usize = 1000;
/// Where the program puts how the packet waited, and where its place in its row is.
const LEFT_AT: usize = 4;
const STAYED_AT: usize = 6;
const PLACE_AT: usize = 14;

/// What sends and receives frames in a host.
fn raw(lab: &Lab, host: u8) -> AfPacket {
    let options = AfPacketOptions {
        take_over: true,
        keep_host_out: false,
        ring_slots: 0,
        ..Default::default()
    };
    lab.host(host, || AfPacket::open("eth0", options).unwrap())
}

/// A frame of a priority, and with a place in its row.
fn frame(priority: u8, place: u16) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH];
    bytes[0] = priority;
    bytes[PLACE_AT..PLACE_AT + 2].copy_from_slice(&place.to_be_bytes());
    bytes
}

fn number(frame: &[u8], at: usize, bytes: usize) -> u64 {
    let bytes = frame[at..at + bytes].iter();
    bytes.fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Has a host send frames.
fn send_all(from: &mut AfPacket, all: &[Vec<u8>]) {
    let pool = Pool::new(8 << 20);
    for some in all.chunks(32) {
        let frames = some.iter().map(|bytes| pool.frame(bytes).unwrap());
        let mut frames: Vec<Frame> = frames.collect();
        while !frames.is_empty() {
            from.send(&mut frames).unwrap();
        }
        // The switch has room for some 1,000 frames that it has not received yet.
        sleep(Duration::from_millis(5));
    }
}

/// Receives so many frames, in their order.
fn receive(to: &mut AfPacket, count: usize) -> Vec<Vec<u8>> {
    let pool = Pool::new(8 << 20);
    let mut arrived: Vec<Vec<u8>> = Vec::new();
    let mut frames = Vec::new();
    until("all arrive", || {
        to.recv(&pool, &mut frames, 32).unwrap();
        let ours = frames.drain(..).filter(|frame| frame.len() == LENGTH);
        arrived.extend(ours.map(|frame| frame.bytes().to_vec()));
        sleep(Duration::from_millis(1));
        arrived.len() >= count
    });
    arrived
}

#[test]
fn what_a_program_gives_priority_leaves_first_and_says_how_it_waited() {
    if !have(&["ip"]) {
        return;
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4");
    let json = root.join("queues/queues.json").display().to_string();
    let folder = Folder::new("p4-queues");
    let record = folder.file("record");
    // 1 ms a frame.
    let arguments = ["--p4", &json, "--record", &record, "--port-rate", "1=8M"];
    let mut lab = Lab::new(2, &arguments);
    let (mut to, mut from) = (raw(&lab, 1), raw(&lab, 2));
    let plain = (0..PLAIN).map(|place| frame(0, place));
    let urgent = (0..URGENT).map(|place| frame(7, place));
    let all: Vec<Vec<u8>> = plain.chain(urgent).collect();
    send_all(&mut from, &all);
    let arrived = receive(&mut to, all.len());
    let places = |priority: u8| {
        let those = arrived.iter().filter(move |frame| frame[0] == priority);
        those.map(|frame| number(frame, PLACE_AT, 2) as u16)
    };
    assert!(places(0).eq(0..PLAIN), "{:?}", places(0));
    assert!(places(7).eq(0..URGENT), "{:?}", places(7));
    let last = arrived.iter().rposition(|frame| frame[0] == 7).unwrap();
    assert!(last < 350, "of 420, the urgent end at {last}");
    let found = arrived.iter().map(|frame| number(frame, 2, 2));
    assert!(found.max().unwrap() > 50);
    let end = arrived.last().unwrap();
    assert_eq!(number(end, LEFT_AT, 2), 0, "none waits behind the last");
    assert!(number(end, STAYED_AT, 4) > 100_000, "microseconds");
    // The time in which nothing waited is not made up for.
    sleep(Duration::from_millis(200));
    let plain = (0..40).map(|place| frame(0, place));
    let urgent = (0..5).map(|place| frame(7, place));
    let all: Vec<Vec<u8>> = plain.chain(urgent).collect();
    send_all(&mut from, &all);
    let arrived = receive(&mut to, all.len());
    let first = arrived.iter().position(|frame| frame[0] == 7).unwrap();
    assert!(first < 30, "of 45, the urgent begin at {first}");
    assert_eq!(lab.switch.terminate(), Some(0));
    let text = std::fs::read_to_string(&record).unwrap();
    assert!(text.contains(" hold 1\n") && text.contains(" leave 1 1\n"));
    let output = run(Command::new(program("bofuss")).args(["replay", &record]));
    let said = printed(&output);
    assert!(
        output.status.success() && said.contains("1 run, "),
        "{said}"
    );
}

#[test]
fn a_port_with_queues_shares_its_rate_by_their_weights() {
    if !have(&["ip"]) {
        return;
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4");
    let json = root.join("queues/queues.json").display().to_string();
    let mut arguments = vec!["--p4", &json, "--port-rate", "1=8M"];
    arguments.extend(["--queue", "1:1:weight=3", "--queue", "1:2:weight=1"]);
    let mut lab = Lab::new(2, &arguments);
    let (mut to, mut from) = (raw(&lab, 1), raw(&lab, 2));
    let all: Vec<Vec<u8>> = (0..300)
        .flat_map(|place| [frame(1, place), frame(2, place)])
        .collect();
    send_all(&mut from, &all);
    let arrived = receive(&mut to, all.len());
    for priority in [1, 2] {
        let those = arrived.iter().filter(|frame| frame[0] == priority);
        let places = those.map(|frame| number(frame, PLACE_AT, 2) as u16);
        assert!(places.eq(0..300), "queue {priority}");
    }
    let heavy = arrived[..240].iter().filter(|frame| frame[0] == 1);
    let heavy = heavy.count();
    // By equal shares it would be 120, by weights at most 180.
    assert!((140..=200).contains(&heavy), "{heavy} of 240");
    let stayed = arrived.iter().map(|frame| number(frame, STAYED_AT, 4));
    assert_eq!(stayed.max(), Some(0), "they wait behind the program");
    assert_eq!(lab.switch.terminate(), Some(0));
}

#[test]
fn a_queue_that_its_discipline_cannot_have_is_refused() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4");
    let json = root.join("queues/queues.json").display().to_string();
    let share = ["--queue", "1:1:min=600k", "--queue", "1:2:min=600k"];
    for (options, why) in [
        (
            &["--discipline", "fifo", "--queue", "1:3:max=1M"][..],
            "--queue 1:3: ",
        ),
        (
            &["--queue", "1:1:max=0"],
            "a maximum of 0 would let nothing pass",
        ),
        (
            &share,
            "--queue 1:2: the guaranteed rates exceed the port's rate",
        ),
        (
            &["--queue", "1:8:max=1M"],
            "a program names the queues 0 to 7",
        ),
        (&["--queue", "1:1:max=1M,max=2M"], "'max' is there twice"),
    ] {
        let mut command = Command::new(program("bofuss"));
        command.args(["run", "--name", "p4-queue-refused", "--p4", &json]);
        command.args(["--port", "pcap:/dev/null", "--port-rate", "1=1M"]);
        let output = run(command.args(options));
        let said = printed(&output);
        assert!(!output.status.success() && said.contains(why), "{said}");
    }
}
