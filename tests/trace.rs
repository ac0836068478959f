//! Traces of packets: on a switch that files describe, of a capture, and of the next packet.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bofuss_tests::{Lab, have, printed, program, run, until};
use serde_json::Value;

/// A file of testdata/trace.
fn file(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/trace");
    PathBuf::from(folder).join(name).display().to_string()
}

fn trace(words: &[&str]) -> (String, bool) {
    let mut command = Command::new(program("bofuss"));
    let output = run(command.arg("trace").args(words));
    (printed(&output), output.status.success())
}

#[test]
fn ports_have_the_names_of_the_file_that_describes_them() {
    let folder = std::env::temp_dir();
    let path = |kind: &str| {
        let name = format!("bofuss-names-{}.{kind}", std::process::id());
        folder.join(name).to_str().unwrap().to_string()
    };
    let (config, flows) = (path("toml"), path("flows"));
    fs::write(
        &config,
        "port = ['s1-eth1', 'a, b#c']\nfail-mode = 'secure'\n",
    )
    .unwrap();
    let lines = "in_port=s1-eth1,actions=\"a, b#c\" # there\n\
        in_port=\"a, b#c\" actions=output:\"s1-eth1\"\n";
    fs::write(&flows, lines).unwrap();
    let files = ["--config", &config, "--flows", &flows];
    let frame = "ffffffffffff0200000000010806";
    for (packet, way) in [
        (&["in_port=s1-eth1,arp"][..], "leave by port 2"),
        (&["in_port=\"a, b#c\",arp"][..], "leave by port 1"),
        (
            &["\"a, b#c\" ffffffffffff0200000000010806"][..],
            "leave by port 1",
        ),
        (&["--in-port", "\"a, b#c\"", frame][..], "leave by port 1"),
    ] {
        let (story, done) = trace(&[&files, packet].concat());
        assert!(done && story.contains(way), "{packet:?}: {story}");
    }
    let names = ["--names", "in_port=s1-eth1,arp"];
    let (text, done) = trace(&[&files[..], &names].concat());
    for part in [
        "in_port=\"s1-eth1\",",
        "output:\"a, b#c\"",
        "leave by port \"a, b#c\"",
    ] {
        assert!(done && text.contains(part), "{part}: {text}");
    }
    let (said, done) = trace(&[&files[..], &["in_port=s1-eht1,arp"]].concat());
    assert!(!done && said.contains("did you mean 's1-eth1'?"), "{said}");
    for name in [config, flows] {
        fs::remove_file(name).unwrap();
    }
}

/// A capture of one Ethernet frame, in the classic format.
fn capture_of(frame: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1, 0, 0] {
        bytes.extend(word.to_le_bytes());
    }
    for length in [frame.len() as u32; 2] {
        bytes.extend(length.to_le_bytes());
    }
    bytes.extend(frame);
    bytes
}

#[test]
fn states_are_those_that_the_file_sets() {
    let flows = file("knocking.txt");
    let (text, done) = trace(&["--flows", &flows, "udp,nw_src=10.0.0.1,udp_dst=5003"]);
    assert!(done, "{text}");
    for part in [
        "openstate: reads table=0,key=(ipv4_src=10.0.0.1),state=2,idle_timeout=9000000,\
         idle_left=9000000\n",
        "openstate: changes table=0,key=(ipv4_src=10.0.0.1),old=2,new=3,idle_timeout=5000000\n",
        "priority 10, udp,udp_dst=5002,state=1: it wants udp_dst=5002",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let page = std::env::temp_dir().join(format!("bofuss-states-{}.html", std::process::id()));
    let name = page.display().to_string();
    let packet = "udp,nw_src=10.0.0.1,udp_dst=5003";
    let told = trace(&["--flows", &flows, "--html", &name, packet]);
    assert_eq!(told, (String::new(), true));
    let text = fs::read_to_string(&page).unwrap();
    for part in [
        "<h3>States of this table</h3>",
        "after 5 s without a packet",
        "1 flow<",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    fs::remove_file(page).unwrap();
    let wrong = std::env::temp_dir().join(format!("bofuss-states-{}.txt", std::process::id()));
    fs::write(&wrong, "state_mod set_flow_state,table=3,key=00,state=1\n").unwrap();
    let name = wrong.display().to_string();
    let (said, done) = trace(&["--flows", &name, "arp"]);
    let why = "line 1: OPENSTATE/SET_FLOW_STATE (the state's table has not both extractors)";
    assert!(!done && said.contains(why), "{said}");
    fs::remove_file(wrong).unwrap();
}

#[test]
fn a_configured_field_is_known_in_traces_of_files_and_captures() {
    let folder = std::env::temp_dir();
    let path = |kind: &str| {
        let name = format!("bofuss-field-{}.{kind}", std::process::id());
        folder.join(name).to_str().unwrap().to_string()
    };
    let (config, flows, pcap) = (path("toml"), path("flows"), path("pcap"));
    let field = "icn_type=udp:64:8,number=1,mask,set,hex,udp_dst=6363";
    fs::write(
        &config,
        format!("fail-mode = 'secure'\nfield = ['{field}']\n"),
    )
    .unwrap();
    let entry = "udp,udp_dst=6363,icn_type=5,actions=set_field:7->icn_type,output:2\n";
    fs::write(&flows, entry).unwrap();
    // UDP to port 6363, with two bytes.
    let digits = "0202020202020404040404040800\
        4500001e00000000401166cd0a0000010a000002\
        000918db000a00000501";
    let bytes = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    let frame: Vec<u8> = bytes.map(byte).collect();
    fs::write(&pcap, capture_of(&frame)).unwrap();
    let files = ["--config", &config, "--flows", &flows];
    let flow = "udp,udp_dst=6363,icn_type=5";
    for packet in [&[digits][..], &[flow], &["--pcap", &pcap, "--next", flow]] {
        let (text, done) = trace(&[&files[..], packet].concat());
        for part in ["icn_type=0x5", "bytes leave by port 2"] {
            assert!(done && text.contains(part), "{packet:?} {part}: {text}");
        }
    }
    let other = "udp,udp_dst=6363,icn_type=6";
    let (text, done) = trace(&[&files[..], &["--pcap", &pcap, "--next", other]].concat());
    assert!(!done && text.contains("only 0 packets match"), "{text}");
    for name in [config, flows, pcap] {
        fs::remove_file(name).unwrap();
    }
}

const WEB: &str = "in_port=1,tcp,nw_dst=10.0.0.2,tcp_dst=80";

#[test]
fn a_switch_that_files_describe_explains_a_packet() {
    let (config, flows) = (file("switch.toml"), file("flows.txt"));
    for files in [
        &["--config", &config, "--flows", &flows][..],
        &["--flows", &flows][..],
    ] {
        let (text, done) = trace(&[files, &[WEB]].concat());
        assert!(done, "{text}");
        for part in [
            "won: priority 100, tcp,tcp_dst=80",
            "priority 200, tcp,tcp_dst=81: it wants tcp_dst=81, but tcp_dst=80: 1 bit differs",
            "nw_dst=10.0.0.128/25, but nw_dst=10.0.0.2: 1 bit differs (0x80)",
            "meter 1: no rate is exceeded",
            "metadata=0x7,ip, cookie 0x9",
            "group 2 (all): bucket 1",
            "result\n  => 54 bytes leave by port 4\n  => 54 bytes leave by port 2",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
    let several = std::env::temp_dir().join(format!("bofuss-trace-{}.toml", std::process::id()));
    let names = "[[switch]]\nname = 's1'\nport = ['x']\n[[switch]]\nname = 's2'\nport = ['y']\n\
                 fail-mode = 'secure'\n";
    fs::write(&several, names).unwrap();
    let paper = ["--config", several.to_str().unwrap(), WEB];
    let (said, done) = trace(&paper);
    assert!(
        !done && said.contains("it has the switches s1, s2: choose one by --switch NAME"),
        "{said}"
    );
    let (said, done) = trace(&["--switch", "s1", "--flows", &flows, WEB]);
    assert!(
        !done && said.contains("--switch s1: --config FILE is required"),
        "{said}"
    );
    for (name, way) in [("s1", "NORMAL"), ("s2", "no entry matches")] {
        let (text, done) = trace(&[&["--switch", name], &paper[..]].concat());
        assert!(done && text.contains(way), "{text}");
    }
    fs::remove_file(several).unwrap();
    let (text, done) = trace(&["--flows", &flows, "--json", "arp"]);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert!(done && json["version"] == 1);
    assert_eq!(json["stages"][0]["won"]["priority"], 0);
    assert_eq!(json["result"][0]["what"], "packet_in");
    let page = std::env::temp_dir().join(format!("bofuss-trace-{}.html", std::process::id()));
    let name = page.display().to_string();
    assert_eq!(
        trace(&["--flows", &flows, "--html", &name, WEB]),
        (String::new(), true)
    );
    assert!(
        fs::read_to_string(&page)
            .unwrap()
            .starts_with("<!DOCTYPE html>")
    );
    fs::remove_file(page).unwrap();
}

#[test]
fn a_packet_of_a_capture_is_found_by_number_or_by_what_matches() {
    // A capture of two frames: ARP, and UDP to port 53.
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0]);
    let addresses = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    let udp = [
        0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 4, 0, 0, 53, 0, 8, 0, 0,
    ];
    // As many packets without a byte as are read at once, and more.
    bytes.extend([0; 40 * 16]);
    for (ethertype, payload) in [([8, 6], &[0; 28]), ([8, 0], &udp)] {
        bytes.extend([0; 8]);
        bytes.extend([42, 0, 0, 0, 42, 0, 0, 0]);
        bytes.extend(addresses);
        bytes.extend(ethertype);
        bytes.extend(payload);
    }
    let path = std::env::temp_dir().join(format!("bofuss-trace-{}.pcap", std::process::id()));
    fs::write(&path, bytes).unwrap();
    let (name, flows) = (path.display().to_string(), file("flows.txt"));
    let of = |words: &[&str]| trace(&[&["--flows", &flows, "--pcap", &name][..], words].concat());
    assert!(of(&[]).0.contains("arp"));
    assert!(
        of(&["--number", "2", "--in-port", "3"])
            .0
            .contains("in_port=3,")
    );
    assert!(of(&["--next", "udp"]).0.contains("udp_dst=53"));
    let (error, done) = of(&["--number", "3"]);
    assert!(
        !done && error.contains("only 2 packets match, not 3"),
        "{error}"
    );
    fs::remove_file(path).unwrap();
}

#[test]
fn errors_name_file_and_line() {
    let flows = file("flows.txt");
    let bad = std::env::temp_dir().join(format!("bofuss-trace-{}.txt", std::process::id()));
    let name = bad.display().to_string();
    for (line, wanted) in [
        ("tcp_dts=80,actions=drop", "tcp_dst"),
        ("actions=group:9", "BAD_OUT_GROUP"),
        ("table=99,actions=drop", "BAD_TABLE_ID"),
    ] {
        fs::write(&bad, format!("# first\n{line}\n")).unwrap();
        let (error, done) = trace(&["--flows", &name, WEB]);
        assert!(
            !done && error.contains("line 2: ") && error.contains(wanted),
            "{error}"
        );
    }
    fs::remove_file(bad).unwrap();
    for (words, wanted) in [
        (
            &["--flows", &flows, "--next", "udp"][..],
            "running switch, or --pcap",
        ),
        (&["--flows", &flows, "metadata=1"][..], "metadata"),
        (&["--flows", "/nonexistent", WEB][..], "/nonexistent"),
        (&["--flows", &flows][..], "required"),
    ] {
        let (error, done) = trace(words);
        assert!(!done && error.contains(wanted), "{error}");
    }
}

#[test]
fn the_page_of_a_running_switch_has_the_machine_of_its_states() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    for words in [
        ["state_mod", "table_config,table=0,stateful=1"],
        ["state_mod", "set_lookup_extractor,table=0,fields=eth_src"],
        ["state_mod", "set_update_extractor,table=0,fields=eth_src"],
        ["add-flow", "state=0,actions=set_state(state=1),output:2"],
    ] {
        assert!(lab.dpctl(&words).status.success(), "{words:?}");
    }
    let page = std::env::temp_dir().join(format!("bofuss-machine-{}.html", std::process::id()));
    let name = page.display().to_string();
    let (text, done) = trace(&["--switch", &lab.name, "--html", &name, WEB]);
    assert!(done, "{text}");
    let text = fs::read_to_string(&page).unwrap();
    fs::remove_file(page).unwrap();
    assert!(text.contains("<svg"), "{text}");
    let port = format!("is received on port <b>&quot;{}&quot;</b>", lab.port(1));
    assert!(text.contains(&port), "{text}");
}

#[test]
fn a_running_switch_explains_a_packet_and_the_next_that_matches() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    let (text, done) = trace(&["--switch", &lab.name, WEB]);
    assert!(
        done && text.contains("NORMAL does not know the destination"),
        "{text}"
    );
    let mut command = Command::new(program("bofuss"));
    let words = [
        "trace",
        "--switch",
        &lab.name,
        "--next",
        "in_port=1,icmp",
        "--json",
    ];
    let (text, done) = trace(&["--switch", &lab.name, "--names", WEB]);
    let port = format!("in_port=\"{}\"", lab.port(1));
    assert!(done && text.contains(&port), "{text}");
    lab.all_ping();
    let mut waiting = command.args(words).stdout(Stdio::piped()).spawn().unwrap();
    until("one comes after the trace has begun", || {
        lab.pings(1, 2) && waiting.try_wait().unwrap().is_some()
    });
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        json["fields"].as_str().unwrap().starts_with("in_port=1,"),
        "{json}"
    );
    assert_eq!(json["result"][0]["port"], "2", "{json}");
}
