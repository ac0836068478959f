//! Controllers of P4Runtime write, read, send and receive at a switch with real ports.
#![allow(clippy::unwrap_used)]

#[path = "../p4runtime/tests/common/controller.rs"]
mod controller;
mod pki;
mod threads;

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use bofuss_p4runtime::wire::entities::{
    Action, ActionProfileAction, ActionProfileActionSet, ActionProfileActionWatchKind, EntityKind,
    TableAction, TableActionType, TableEntry,
};
use bofuss_p4runtime::wire::messages::{
    PacketMetadata, PacketOut, SetForwardingPipelineConfigRequestAction,
    StreamMessageRequestUpdate, StreamMessageResponseUpdate, Update, UpdateType, WriteRequest,
    WriteResponse,
};
use bofuss_tests::folder::Folder;
use bofuss_tests::{Lab, PATIENCE, have, ip, printed, program, run, until};

use pki::Pki;
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

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

/// An address that is free now.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Runs what a controller does.
fn in_time(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE, work).await.expect("in time");
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
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
    controller.send(to_two(frame(0, 0, 5))).await;
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

/// A packet-out through port 2.
fn to_two(payload: Vec<u8>) -> StreamMessageRequestUpdate {
    StreamMessageRequestUpdate::Packet(PacketOut {
        payload,
        metadata: vec![PacketMetadata {
            metadata_id: 1,
            value: vec![2],
        }],
    })
}

#[test]
fn a_controller_has_the_entries_and_packets_of_a_switch_at_ports() {
    if !have(&["ip"]) {
        return;
    }
    let [json, p4info] = files();
    for more in [&[][..], &["--lock-down"]] {
        let address = free_address();
        let mut words = vec!["--p4", &json, "--p4info", &p4info, "--p4runtime", &address];
        words.extend(["--p4-cpu-port", CPU_PORT]);
        words.extend(more);
        let mut lab = Lab::new(2, &words);
        in_time(control(&lab, &address));
        assert_eq!(lab.switch.terminate(), Some(0));
    }
}

/// Lets a controller set the program of a switch that has none.
async fn set_program(lab: &Lab, address: &str) {
    let [mut one, mut two] = [1, 2].map(|host| Tap::of(lab, host, number));
    one.send([frame(1, 5, 1), frame(1, 5, 2)]);
    until("both are dropped", || {
        let (_, said) = ctl(lab, &["counters"]);
        let mut lines = said.lines();
        let count = lines.find_map(|line| line.strip_prefix("no_program "));
        count.is_some_and(|count| count.parse::<u64>().unwrap() >= 2)
    });
    let (done, said) = ctl(lab, &["p4", "trace", "1", "0105"]);
    assert!(done && said.contains("drop: no_program"), "{said}");
    let (done, said) = ctl(lab, &["p4", "tables"]);
    assert!(done, "{said}");
    let (done, said) = ctl(lab, &["p4", "entries", EXACTLY]);
    assert!(!done && said.contains(EXACTLY), "{said}");
    let mut controller = Controller::primary(address, 1).await;
    let entry = || EntityKind::TableEntry(exact(EXACTLY, 5, action("MyIngress.send", &[2])));
    let refused = controller.write(UpdateType::Insert, vec![entry()]).await;
    let refused = refused.expect_err("there is no program");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    controller.set_program().await;
    let written = controller.write(UpdateType::Insert, vec![entry()]).await;
    written.expect("the program has the table");
    one.send([frame(1, 5, 3)]);
    assert_eq!(two.waits_for(1), [3], "those before are not sent later");
}

#[test]
fn a_switch_without_a_program_drops_all_until_a_controller_sets_one() {
    if !have(&["ip"]) {
        return;
    }
    for more in [&[][..], &["--lock-down"]] {
        let address = free_address();
        let mut words = vec!["--p4runtime", &address, "--p4-cpu-port", CPU_PORT];
        words.extend(more);
        let mut lab = Lab::new(2, &words);
        let log = lab.log();
        assert!(
            log.contains("P4 program that a controller sets, 2 ports"),
            "{log}"
        );
        in_time(set_program(&lab, &address));
        assert_eq!(lab.switch.terminate(), Some(0));
    }
}

/// Lets a controller change what packets meet, also what is refused, and the program.
async fn change(lab: &Lab, address: &str) {
    let [mut one, mut two] = [1, 2].map(|host| Tap::of(lab, host, number));
    let mut controller = Controller::primary(address, 2).await;
    let entry = |key, port| {
        let send = action("MyIngress.send", &[port]);
        EntityKind::TableEntry(exact(EXACTLY, key, send))
    };
    let entries = vec![entry(5, 2), entry(6, 1)];
    let written = controller.write(UpdateType::Modify, entries).await;
    written.expect_err("there is no entry for 6");
    let reconcile = SetForwardingPipelineConfigRequestAction::ReconcileAndCommit;
    controller.configure(reconcile).await;
    one.send([frame(1, 5, 4), frame(9, 7, 5)]);
    assert_eq!(two.waits_for(1), [4], "the entry is kept");
    assert_eq!(one.waits_for(1), [5], "the digest was sent");
    controller.send(to_two(frame(0, 0, 6))).await;
    assert_eq!(two.waits_for(1), [6]);
}

#[test]
fn what_controllers_change_is_recorded_and_done_again() {
    if !have(&["ip"]) {
        return;
    }
    let folder = Folder::new("p4-record");
    let record = folder.file("record");
    let address = free_address();
    let mut words = vec!["--p4runtime", &address, "--p4-cpu-port", CPU_PORT];
    words.extend(["--record", &record]);
    let mut lab = Lab::new(2, &words);
    in_time(set_program(&lab, &address));
    in_time(change(&lab, &address));
    assert_eq!(lab.switch.terminate(), Some(0));
    let text = std::fs::read_to_string(&record).unwrap();
    for part in [
        " fresh ",
        " kept ",
        " write ",
        "\n> refused 1 5\n",
        " packet-out 510 ",
        "\n> digest 0 0x7 0x0\n",
    ] {
        assert!(text.contains(part), "{part} is in the record");
    }
    let replay = |more: &[&str]| {
        let output = run(Command::new(program("bofuss"))
            .args(["replay", &record])
            .args(more));
        assert!(output.status.success(), "{}", printed(&output));
        printed(&output)
    };
    assert!(replay(&[]).contains("outputs as recorded"));
    let sent = text.lines().position(|line| line.contains(" packet-out "));
    let line = (sent.unwrap() + 1).to_string();
    assert!(replay(&["--explain", &line]).contains("parser"));
    let copy = folder.file("copy");
    replay(&["--write", &copy]);
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), text);
}

/// What the action of `selected` has written to a frame of the program.
fn written(frame: &[u8]) -> Option<u8> {
    (frame.len() == 60 && frame[0] == 6 && frame[3] > 0).then(|| frame[3])
}

/// An entry of `selected` for 5: an action that watches a port, and one that does not.
fn watching(port: u8) -> EntityKind {
    let row = |value, port: &[u8]| ActionProfileAction {
        action: Some(action("MyIngress.set", &[value])),
        weight: 1,
        watch_kind: Some(ActionProfileActionWatchKind::WatchPort(port.to_vec())),
    };
    let set = ActionProfileActionSet {
        action_profile_actions: vec![row(7, &[port]), row(8, &[])],
        ..ActionProfileActionSet::default()
    };
    let does = TableActionType::ActionProfileActionSet(set);
    EntityKind::TableEntry(TableEntry {
        action: Some(TableAction { r#type: Some(does) }),
        ..exact("MyIngress.selected", 5, Action::default())
    })
}

/// Lets an action of a controller watch a port whose link comes and goes.
async fn watch(lab: &Lab, address: &str) {
    let mut one = Tap::of(lab, 1, written);
    let mut controller = Controller::primary(address, 1).await;
    controller.set_program().await;
    let insert = UpdateType::Insert;
    let refused = controller.write(insert, vec![watching(3)]).await;
    refused.expect_err("there is no port 3");
    let added = controller.write(insert, vec![watching(2)]).await;
    added.expect("there is port 2");
    for (state, value) in [("up", 7), ("down", 8), ("up", 7)] {
        lab.host(2, || ip(&format!("link set eth0 {state}")));
        let shown = format!(" {state} ");
        until("the switch knows the link", || {
            let (_, said) = ctl(lab, &["ports"]);
            let mut lines = said.lines();
            lines.any(|line| line.starts_with("2 ") && line.contains(&shown))
        });
        one.send([frame(6, 5, 1)]);
        assert_eq!(one.waits_for(1), [value], "{state}");
    }
}

#[test]
fn an_action_is_chosen_only_while_the_port_that_it_watches_has_a_link() {
    if !have(&["ip"]) {
        return;
    }
    let folder = Folder::new("p4-watched");
    let record = folder.file("record");
    let address = free_address();
    let mut lab = Lab::new(2, &["--p4runtime", &address, "--record", &record]);
    in_time(watch(&lab, &address));
    assert_eq!(lab.switch.terminate(), Some(0));
    let output = run(Command::new(program("bofuss")).args(["replay", &record]));
    assert!(output.status.success(), "{}", printed(&output));
    assert!(printed(&output).contains("outputs as recorded"));
}

#[test]
fn with_tls_only_controllers_with_a_certificate_set_the_program() {
    if !have(&["ip", "openssl"]) {
        return;
    }
    let pki = Pki::new("p4runtime");
    pki.ca("ca");
    pki.ca("other");
    pki.sign("ca", "switch", "DNS:s1");
    pki.sign("ca", "controller", "DNS:c1");
    pki.sign("other", "stranger", "DNS:c1");
    let address = free_address();
    let options = pki.options("switch", "ca-cert.pem");
    let mut words = vec!["--p4runtime", &address];
    words.extend(options.iter().map(String::as_str));
    let mut lab = Lab::new(1, &words);
    let read = |name: &str| std::fs::read(pki.path(name)).unwrap();
    let plain = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(read("ca-cert.pem")))
        .domain_name("s1");
    let identity = |who: &str| {
        let certificate = read(&format!("{who}-cert.pem"));
        let key = read(&format!("{who}-privkey.pem"));
        plain.clone().identity(Identity::from_pem(certificate, key))
    };
    in_time(async {
        let endpoint = Endpoint::from_shared(format!("https://{address}")).unwrap();
        let connect = async |tls| endpoint.clone().tls_config(tls).unwrap().connect().await;
        for refused in [plain.clone(), identity("stranger")] {
            // The handshake may end for the client before it learns that it is refused.
            if let Ok(channel) = connect(refused).await {
                assert!(!Controller::is_served(channel).await);
            }
        }
        let channel = connect(identity("controller"))
            .await
            .expect("the CA signed it");
        let mut controller = Controller::over(channel).await;
        assert_eq!(controller.arbitrate(1).await, 0);
        controller.set_program().await;
        pki.sign("ca", "switch", "DNS:s1");
        let again = connect(identity("controller")).await;
        assert!(Controller::is_served(again.expect("it is renewed")).await);
    });
    let log = lab.log();
    assert!(
        log.contains("new connections use the changed files"),
        "{log}"
    );
    let (_, said) = ctl(&lab, &["p4", "tables"]);
    assert!(said.contains(EXACTLY), "{said}");
    assert_eq!(lab.switch.terminate(), Some(0));
}

/// Lets controllers that may not write send batches of many updates. Returns once all are
/// refused.
async fn flood(address: String) {
    let mut floods = Vec::new();
    for _ in 0..8 {
        let mut controller = Controller::connect(&address).await;
        floods.push(tokio::spawn(async move {
            let request = WriteRequest {
                device_id: 1,
                updates: vec![Update::default(); 1 << 18],
                ..WriteRequest::default()
            };
            let answer = controller.call::<_, WriteResponse>("Write", request).await;
            assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied);
        }));
    }
    for flood in floods {
        flood.await.unwrap();
    }
}

#[test]
fn commands_do_not_wait_for_what_controllers_send() {
    if !have(&["ip"]) {
        return;
    }
    let [json, p4info] = files();
    let address = free_address();
    let words = ["--p4", &json, "--p4info", &p4info, "--p4runtime", &address];
    let mut lab = Lab::new(1, &words);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let flooding = runtime.spawn(flood(address));
    let (begin, mut longest) = (Instant::now(), Duration::ZERO);
    while !flooding.is_finished() {
        let asked = Instant::now();
        let (done, said) = ctl(&lab, &["counters"]);
        assert!(done, "{said}");
        longest = longest.max(asked.elapsed());
    }
    let flooded = begin.elapsed();
    runtime.block_on(flooding).unwrap();
    // With one thread for both, a command waits for about all of it.
    let is_short = longest < Duration::from_secs(1) || 2 * longest < flooded;
    assert!(is_short, "{longest:?} of {flooded:?}");
    assert_eq!(lab.switch.terminate(), Some(0));
    runtime.shutdown_timeout(Duration::from_secs(1));
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
            &["--p4runtime", "127.0.0.1:1", "--p4info", &p4info],
            "--p4info: it needs --p4",
        ),
        (
            &["--p4runtime", "127.0.0.1:1", "--p4-entries", &json],
            "--p4-entries: it needs --p4",
        ),
        (
            &["--p4runtime", "127.0.0.1:1", "--tables", "3"],
            "--tables: it is for OpenFlow, and with --p4runtime the switch runs a P4 program",
        ),
        (
            &["--p4runtime", "127.0.0.1:1", "--certificate", &json],
            "--certificate: TLS needs all of --private-key, --certificate and --ca-cert",
        ),
        (
            &["--p4-cpu-port", "5"],
            "--p4-cpu-port: it needs --p4runtime",
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
