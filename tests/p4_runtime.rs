//! Controllers of P4Runtime write, read, send and receive at a switch with real ports.
#![allow(clippy::unwrap_used)]

#[path = "../p4runtime/tests/common/controller.rs"]
mod controller;
mod threads;

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use bofuss_p4runtime::wire::entities::{EntityKind, TableEntry};
use bofuss_p4runtime::wire::messages::{
    PacketMetadata, PacketOut, StreamMessageRequestUpdate, StreamMessageResponseUpdate, UpdateType,
};
use bofuss_tests::{Lab, PATIENCE, have, printed, program, run};

use controller::{Controller, action, exact, id};
use threads::{Tap, ctl};

/// The port of packet-ins and packet-outs.
const CPU_PORT: &str = "510";
const EXACTLY: &str = "MyIngress.exactly";

/// The compiled program `controlled`, and its P4Info.
fn files() -> [String; 2] {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4/controlled");
    ["json", "p4info.txt"].map(|end| {
        let file = root.join(format!("controlled.{end}"));
        file.display().to_string()
    })
}

/// A frame of the program: what it is about, a key, and its number, in 60 bytes.
fn frame(op: u8, key: u8, number: u8) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..2].copy_from_slice(&[op, key]);
    frame[8] = number;
    frame
}

/// The number of a frame of the program.
fn number(frame: &[u8]) -> Option<u8> {
    let rest = frame.get(9..)?;
    (frame.len() == 60 && rest.iter().all(|byte| *byte == 0)).then_some(frame[8])
}

/// Lets one controller at a switch have frames forwarded, and get and send some.
async fn control(lab: &Lab, address: &str) {
    let [mut one, mut two] = [1, 2].map(|host| Tap::of(lab, host, number));
    let mut controller = Controller::primary(address, 1).await;
    let entry = |key, action| EntityKind::TableEntry(exact(EXACTLY, key, action));
    let entries = vec![
        entry(5, action("MyIngress.send", &[2])),
        entry(6, action("MyIngress.to_cpu", &[3])),
    ];
    controller.write(UpdateType::Insert, entries).await.unwrap();
    one.send([frame(1, 5, 1), frame(1, 7, 2), frame(1, 5, 3)]);
    assert_eq!(two.waits_for(2), [1, 3]);
    one.send([frame(1, 6, 4)]);
    let StreamMessageResponseUpdate::Packet(packet) = controller.next().await else {
        panic!("the packet is to the CPU port");
    };
    assert_eq!(packet.payload, frame(1, 6, 4));
    let metadata: Vec<_> = packet.metadata.iter().map(|one| &one.value[..]).collect();
    assert_eq!(metadata, [[1], [3]], "its port and why it comes");
    let out = PacketOut {
        payload: frame(0, 0, 5),
        metadata: vec![PacketMetadata {
            metadata_id: 1,
            value: vec![2],
        }],
    };
    let out = StreamMessageRequestUpdate::Packet(out);
    controller.send(out).await;
    assert_eq!(two.waits_for(1), [5]);
    let all = EntityKind::TableEntry(TableEntry {
        table_id: id(EXACTLY),
        ..TableEntry::default()
    });
    assert_eq!(controller.read(all).await.unwrap().len(), 2);
    let (_, listed) = ctl(lab, &["p4", "entries", EXACTLY]);
    assert!(listed.contains("MyIngress.send(port=0x2)"), "{listed}");
    // What other controllers do hinders no frame.
    let mut others = Vec::new();
    for _ in 0..100 {
        others.push(tokio::net::TcpStream::connect(address).await);
    }
    one.send([frame(1, 5, 6)]);
    assert_eq!(two.waits_for(1), [6]);
    let (done, said) = ctl(lab, &["reload"]);
    assert!(
        !done && said.contains("controllers set the program"),
        "{said}"
    );
}

#[test]
fn a_controller_has_the_entries_and_packets_of_a_switch_at_ports() {
    if !have(&["ip"]) {
        return;
    }
    let [json, p4info] = files();
    for more in [&[][..], &["--lock-down"]] {
        // A port that is free now.
        let address = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let address = address.to_string();
        let mut words = vec!["--p4", &json, "--p4info", &p4info, "--p4runtime", &address];
        words.extend(["--p4-cpu-port", CPU_PORT]);
        words.extend(more);
        let mut lab = Lab::new(2, &words);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let controlled = tokio::time::timeout(PATIENCE, control(&lab, &address));
            controlled.await.expect("in time");
        });
        assert_eq!(lab.switch.terminate(), Some(0));
        runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

#[test]
fn options_of_p4runtime_are_refused_with_their_place() {
    let [json, p4info] = files();
    let too_large = u64::MAX.to_string();
    for (words, why) in [
        (
            &["--p4", &json, "--p4-device-id", &too_large][..],
            "is not in 0..=9223372036854775807",
        ),
        (
            &["--p4runtime", "127.0.0.1:1"][..],
            "--p4runtime: it needs --p4",
        ),
        (
            &["--p4", &json, "--p4info", &p4info],
            "--p4info: it needs --p4runtime",
        ),
        (
            &["--p4", &json, "--p4runtime", "here"],
            "write ADDRESS:PORT",
        ),
        (
            &[
                "--p4",
                &json,
                "--p4runtime",
                "127.0.0.1:1",
                "--p4-cpu-port",
                "511",
            ],
            "write 0 to 510",
        ),
        (
            &[
                "--p4",
                &json,
                "--p4runtime",
                "127.0.0.1:1",
                "--p4info",
                &json,
            ],
            "--p4info ",
        ),
    ] {
        let output = run(Command::new(program("bofuss")).arg("run").args(words));
        let said = printed(&output);
        assert!(
            !output.status.success() && said.contains(why),
            "{words:?}: {said}"
        );
    }
}
