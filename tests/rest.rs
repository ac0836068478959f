//! ryu 4.34's ofctl_rest reads and writes every kind of entry, as its users do: with HTTP and JSON.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use bofuss_tests::{Capture, Lab, PATIENCE, Process, have, ryu_python, until};
use serde_json::{Value, json};

const OPENFLOW: u16 = 16655;
const REST: u16 = 16680;

/// One HTTP request; its JSON, or `None` if the answer is not OK.
fn http(method: &str, path: &str, body: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", REST)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let ok = head.lines().next()?.contains(" 200 ");
    ok.then(|| serde_json::from_str(body).unwrap_or(Value::Null))
}

/// The statistics of switch 1 at a path.
fn get(what: &str) -> Value {
    let path = format!("/stats/{what}");
    let answer = http("GET", &path, "").unwrap_or_else(|| panic!("{path} is answered"));
    answer.get("1").cloned().unwrap_or(answer)
}

/// Sends a change to switch 1.
fn post(what: &str, mut body: Value) {
    body["dpid"] = json!(1);
    let path = format!("/stats/{what}");
    assert!(
        http("POST", &path, &body.to_string()).is_some(),
        "{path} is accepted"
    );
}

/// Waits until `holds` for the statistics at a path: changes have no answer.
fn until_told(what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let mut told = Value::Null;
    until(what, || {
        told = get(what);
        holds(&told)
    });
    told
}

fn start() -> (Capture, Process, Lab) {
    let capture = Capture::start(OPENFLOW);
    let mut ryu = Command::new(ryu_python());
    ryu.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("controllers"));
    ryu.args(["ryu_app.py", &OPENFLOW.to_string(), "ryu.app.ofctl_rest"]);
    ryu.args([
        "--wsapi-host",
        "127.0.0.1",
        "--wsapi-port",
        &REST.to_string(),
    ]);
    let ryu = Process::start(ryu.stdout(Stdio::null()).stderr(Stdio::null()));
    let controller = format!("tcp:127.0.0.1:{OPENFLOW}");
    let options = ["--dpid", "0x1", "--controller", &controller];
    let lab = Lab::new(3, &[&options[..], &["--versions", "OpenFlow13"]].concat());
    until("ryu knows the switch", || {
        http("GET", "/stats/switches", "") == Some(json!([1]))
    });
    (capture, ryu, lab)
}

#[test]
fn ofctl_rest_reads_and_writes_every_kind_of_entry() {
    if !have(&["ip", "ping", "dumpcap", "tshark", "python3"]) {
        return;
    }
    let (capture, ryu, lab) = start();
    assert_eq!(get("desc/1")["mfr_desc"], "bofuss");
    assert_eq!(get("table/1").as_array().unwrap().len(), 64);
    assert_eq!(get("tablefeatures/1").as_array().unwrap().len(), 64);
    assert_eq!(get("portdesc/1").as_array().unwrap().len(), 3);
    flows(&lab);
    groups(&lab);
    meters(&lab);
    port_and_role(&lab);
    assert!(
        !lab.log().contains("BAD_"),
        "ryu and the switch understand each other: {}",
        lab.log()
    );
    drop((lab, ryu));
    capture.is_well_formed(OPENFLOW);
}

fn flows(lab: &Lab) {
    let to = |host: u8| {
        json!({
            "cookie": host, "table_id": 0, "priority": 100 + u16::from(host), "flags": 1,
            "match": {"eth_type": 0x800, "ipv4_dst": format!("10.0.0.{host}")},
            "actions": [{"type": "OUTPUT", "port": host}],
        })
    };
    let arp = json!({
        "priority": 5,
        "match": {"eth_type": 0x806},
        "actions": [{"type": "OUTPUT", "port": "FLOOD"}],
    });
    for flow in [to(1), to(2), to(3), arp] {
        post("flowentry/add", flow);
    }
    lab.all_ping();
    let told = until_told("flow/1", |told| told.as_array().unwrap().len() == 4);
    let of = |host: u64| {
        let mut flows = told.as_array().unwrap().iter();
        flows.find(|flow| flow["cookie"] == host).unwrap().clone()
    };
    assert!(of(1)["packet_count"].as_u64().unwrap() > 0);
    assert_eq!(of(2)["actions"], json!(["OUTPUT:2"]));
    assert_eq!(of(3)["match"]["nw_dst"], "10.0.0.3");
    let aggregate = get("aggregateflow/1");
    assert_eq!(aggregate[0]["flow_count"], 4);
    let mut changed = to(3);
    changed["actions"] = json!([]);
    post("flowentry/modify_strict", changed.clone());
    until("what was modified drops", || !lab.pings(1, 3));
    post("flowentry/delete_strict", changed);
    until_told("flow/1", |told| told.as_array().unwrap().len() == 3);
    assert!(http("DELETE", "/stats/flowentry/clear/1", "").is_some());
    until_told("flow/1", |told| told.as_array().unwrap().is_empty());
}

fn groups(lab: &Lab) {
    let bucket = |port: u8| {
        json!({
            "weight": 1, "watch_port": 0xffff_ffffu32, "watch_group": 0xffff_ffffu32,
            "actions": [{"type": "OUTPUT", "port": port}],
        })
    };
    let group = json!({"group_id": 7, "type": "ALL", "buckets": [bucket(1), bucket(2), bucket(3)]});
    let mut plain = group.clone();
    for bucket in plain["buckets"].as_array_mut().unwrap() {
        bucket["weight"] = json!(0);
    }
    post("groupentry/add", plain.clone());
    let to_group = json!({"match": {}, "actions": [{"type": "GROUP", "group_id": 7}]});
    post("flowentry/add", to_group);
    lab.all_ping();
    let told = until_told("group/1", |told| told[0]["packet_count"].as_u64() > Some(0));
    assert_eq!(told[0]["ref_count"], 1);
    assert_eq!(told[0]["bucket_stats"].as_array().unwrap().len(), 3);
    assert_eq!(get("groupdesc/1")[0]["type"], "ALL");
    assert!(get("groupfeatures/1")[0]["max_groups"].is_array());
    let mut select = group;
    select["type"] = json!("SELECT");
    post("groupentry/modify", select);
    let told = until_told("groupdesc/1", |told| told[0]["type"] == "SELECT");
    assert_eq!(told[0]["buckets"][0]["weight"], 1);
    post("groupentry/delete", json!({"group_id": 7}));
    until_told("group/1", |told| told.as_array().unwrap().is_empty());
    let flows = get("flow/1");
    assert_eq!(flows, json!([]), "the flow went with its group");
}

fn port_and_role(lab: &Lab) {
    let told = get("port/1/2");
    assert!(told[0]["rx_packets"].as_u64() > Some(0));
    assert!(get("queue/1").is_array());
    assert!(get("queueconfig/1").is_array());
    post(
        "portdesc/modify",
        json!({"port_no": 2, "config": 1, "mask": 1}),
    );
    until_told("portdesc/1", |told| {
        let mut ports = told.as_array().unwrap().iter();
        let down = |port: &&Value| port["port_no"] == 2 && port["config"] == 1;
        ports.any(|port| down(&port))
    });
    let link = bofuss_tests::ip(&format!("link show {}", lab.port(2)));
    assert!(!link.contains("UP"), "the interface is down: {link}");
    post("role", json!({"role": "MASTER"}));
    until_told("role/1", |told| told[0]["role"] == "MASTER");
}

fn meters(lab: &Lab) {
    let meter = json!({
        "meter_id": 3, "flags": ["PKTPS", "STATS"], "bands": [{"type": "DROP", "rate": 1000}],
    });
    post("meterentry/add", meter.clone());
    let told = until_told("meterconfig/1", |told| !told.as_array().unwrap().is_empty());
    assert_eq!(told[0]["bands"][0]["rate"], 1000);
    let flood = json!({"match": {}, "actions": [
        {"type": "METER", "meter_id": 3}, {"type": "OUTPUT", "port": "FLOOD"},
    ]});
    post("flowentry/add", flood);
    lab.all_ping();
    let told = until_told("meter/1", |told| {
        told[0]["packet_in_count"].as_u64() > Some(0)
    });
    assert_eq!(told[0]["flow_count"], 1);
    assert!(get("meterfeatures/1")[0]["max_meter"].as_u64() > Some(0));
    let mut faster = meter;
    faster["bands"][0]["rate"] = json!(2000);
    post("meterentry/modify", faster);
    until_told("meterconfig/1", |told| told[0]["bands"][0]["rate"] == 2000);
    post("meterentry/delete", json!({"meter_id": 3}));
    until_told("meter/1", |told| told.as_array().unwrap().is_empty());
}
