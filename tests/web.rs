//! What `bofuss web` shows, and the lists of the control socket that it reads.
#![allow(clippy::unwrap_used)]

mod renewed;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bofuss_tests::{Lab, PATIENCE, Process, have, ok, printed, program, run, until};
use serde_json::Value;

/// Asks the control socket. Panics: if the command is refused.
fn ctl(lab: &Lab, words: &[&str]) -> String {
    ok(Command::new(program("bofuss"))
        .args(["ctl", &lab.name])
        .args(words))
}

/// The same as JSON.
fn listed(lab: &Lab, words: &[&str]) -> Value {
    serde_json::from_str(&ctl(lab, words)).unwrap()
}

/// A switch with this many entries, one for each address from 0.0.0.0 on.
fn filled(entries: u32) -> Lab {
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let path = std::env::temp_dir().join(format!("{}.flows", lab.name));
    let mut flows = String::new();
    for n in 0..entries {
        let address = Ipv4Addr::from(n);
        flows += &format!("table=3,priority=7,ip,nw_dst={address},actions=output:2\n");
    }
    std::fs::write(&path, flows).unwrap();
    let added = lab.dpctl(&["add-flows", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert!(added.status.success(), "{}", printed(&added));
    lab
}

#[test]
fn pages_have_each_entry_once_and_a_search_finds_one_of_20_000() {
    if !have(&["ip"]) {
        return;
    }
    let lab = filled(20_000);
    lab.dpctl(&["add-flow", "priority=1,in_port=1,actions=goto_table:3"]);
    lab.dpctl(&["add-flow", "priority=9,arp,actions=drop"]);
    let tables = listed(&lab, &["tables", "--json"]);
    let counts = |table: usize| tables["tables"][table]["active_count"].as_u64().unwrap();
    assert_eq!((counts(0), counts(3)), (2, 20_000));
    assert!(ctl(&lab, &["tables"]).contains("entries=20000 "));
    let first = listed(&lab, &["flows", "--json"]);
    assert_eq!(first["flows"][0]["match"], "arp", "in the order of a table");
    assert_eq!(first["flows"][1]["instructions"][0], "goto_table:3");
    assert_eq!(first["flows"].as_array().unwrap().len(), 100);
    assert_eq!(first["next"], 100);
    let mut seen = BTreeSet::new();
    let mut from = 19_000_u64;
    loop {
        let words = [
            "flows",
            "--json",
            "--most",
            "500",
            "--from",
            &from.to_string(),
        ];
        let page = listed(&lab, &[&words[..], &["table=3"]].concat());
        for flow in page["flows"].as_array().unwrap() {
            assert!(seen.insert(flow["match"].to_string()), "{flow}");
        }
        match page["next"].as_u64() {
            Some(next) => from = next,
            None => break,
        }
    }
    assert_eq!(seen.len(), 1000);
    let one = listed(&lab, &["flows", "--json", "ip,nw_dst=0.0.78.31"]);
    assert_eq!(one["flows"].as_array().unwrap().len(), 1, "{one}");
    assert_eq!(one["flows"][0]["match"], "ip,nw_dst=0.0.78.31");
    assert_eq!(one["next"], Value::Null);
    let text = ctl(&lab, &["flows", "--most", "1"]);
    assert!(text.ends_with("more with --from 1\n"), "{text}");
}

#[test]
fn lists_name_groups_meters_ports_and_queues_and_refuse_what_they_do_not_know() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &["--queue", "1:1:min=1M"]);
    for n in 1..=70 {
        let group = format!("group_id={n},type=select,bucket=weight=2,output:1");
        lab.dpctl(&["add-group", &group]);
        let meter = format!("meter={n},kbps,band=type=drop,rate=100000");
        lab.dpctl(&["add-meter", &meter]);
    }
    let groups = listed(&lab, &["groups", "--json"]);
    assert_eq!(groups["groups"].as_array().unwrap().len(), 70);
    assert_eq!(groups["groups"][69]["buckets"][0]["weight"], 2);
    assert_eq!(groups["groups"][69]["buckets"][0]["actions"][0], "output:1");
    let meters = listed(&lab, &["meters", "--json", "--from", "3", "--most", "2"]);
    assert_eq!(meters["meters"][0]["meter_id"], 3);
    assert_eq!(meters["next"], 5);
    let ports = listed(&lab, &["ports", "--json"]);
    assert_eq!(ports["ports"][0]["name"], lab.port(1));
    let queues = listed(&lab, &["queues", "--json"]);
    let mut queues = queues["queues"].as_array().unwrap().iter();
    assert!(queues.any(|queue| queue["queue_id"] == 1));
    for (words, why) in [
        (&["ports", "--yaml"][..], "no option '--yaml'"),
        (&["groups", "7"], "groups has no option '7'"),
        (&["flows", "--from", "x"], "--from takes a number, not 'x'"),
        (&["flows", "ip,nw_dst=x"], "no IPv4 address"),
        (&["flows", "--quick"], "flows has no option '--quick'"),
    ] {
        let mut command = Command::new(program("bofuss"));
        let refused = run(command.args(["ctl", &lab.name]).args(words));
        assert!(!refused.status.success());
        assert!(printed(&refused).contains(why), "{}", printed(&refused));
    }
}

/// A port whose name is allowed, and would be more than text in a page.
const HOSTILE: &str = "tap:<u>&\"'";

/// A viewer of a switch.
struct Viewer {
    process: Process,
    /// ADDRESS:PORT.
    address: String,
    token: String,
}

impl Viewer {
    fn of(lab: &Lab) -> Self {
        let mut command = Command::new(program("bofuss"));
        command.args(["web", &lab.name]).stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut line = String::new();
        let mut out = BufReader::new(process.0.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let rest = line.trim().strip_prefix("http://").unwrap();
        let (address, token) = rest.trim_end_matches('/').split_once('/').unwrap();
        Self {
            process,
            address: address.into(),
            token: token.into(),
        }
    }

    /// Sends what is to be a request, and returns the answer.
    fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        // What is left of a request that was refused resets the connection.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    /// The answer to a request for a page.
    fn asked(&self, path: &str) -> String {
        let token = &self.token;
        let address = &self.address;
        self.send(&format!(
            "GET /{token}/{path} HTTP/1.1\r\nHost: {address}\r\n\r\n"
        ))
    }

    /// A page. Panics: if there is none.
    fn page(&self, path: &str) -> String {
        let answer = self.asked(path);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        answer
    }

    fn resident_kib(&self) -> usize {
        let file = format!("/proc/{}/status", self.process.0.id());
        let status = std::fs::read_to_string(file).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS"));
        let kib = line.unwrap().split_whitespace().nth(1);
        kib.unwrap().parse().unwrap()
    }
}

/// A switch with something of everything that is shown, and text that must be escaped.
fn shown(ports: &[&str]) -> Lab {
    let arguments = [
        "--fail-mode",
        "secure",
        "--queue",
        "1:1:min=1M",
        "--listen",
        "ptcp:16690",
    ];
    let lab = Lab::new(2, &[&arguments[..], ports].concat());
    for words in [
        &[
            "add-group",
            "group_id=7,type=select,bucket=weight=2,output:1,bucket=output:2",
        ][..],
        &["add-meter", "meter=3,kbps,band=type=drop,rate=100000"],
        &["add-flow", "priority=9,ip,nw_dst=10.0.0.9,actions=output:2"],
        &[
            "add-flow",
            "priority=8,ip,in_port=2,actions=meter:3,goto_table:1",
        ],
        &["add-flow", "table=1,priority=7,udp,actions=group:7"],
        &["state_mod", "table_config,table=2,stateful=1"],
        &["state_mod", "set_lookup_extractor,table=2,fields=ipv4_src"],
        &["state_mod", "set_update_extractor,table=2,fields=ipv4_src"],
        &[
            "add-flow",
            "table=2,udp,state=0,actions=set_state(table=2,state=1)",
        ],
    ] {
        lab.asks(words);
    }
    lab
}

#[test]
fn pages_show_the_switch_and_change_nothing() {
    if !have(&["ip"]) {
        return;
    }
    let lab = shown(&["--port", HOSTILE]);
    let viewer = Viewer::of(&lab);
    let before = ctl(&lab, &["flows"]);
    for (path, parts) in [
        (
            "",
            &[
                "id=\"table-1\"",
                "goto_table:1",
                "<h3>Queues</h3>",
                "min=1M",
                "data-count=",
                "<td>&lt;u&gt;&amp;&quot;&#39;</td>",
            ][..],
        ),
        (
            "flows?flow=table%3D1",
            &["Entries 1 to 1 of", "<code>group:7</code>"],
        ),
        (
            "flows?flow=%3Cb%3E",
            &["value=\"&lt;b&gt;\"", "class=\"lost\""],
        ),
        ("flows?flow=tcp", &["No entry matches."]),
        (
            "groups",
            &["Group 7, select", "<td>3</td>", "class=\"share\""],
        ),
        (
            "packet?packet=in_port%3D1%2Cip%2Cnw_dst%3D10.0.0.8",
            &[
                "No entry matches.",
                "The nearest that lost",
                "nw_dst",
                "<mark>",
            ],
        ),
        (
            "packet?packet=%27%22%3E%3Cscript%3E",
            &["value=\"&#39;&quot;&gt;&lt;script&gt;\""],
        ),
        ("packet", &["<form>"]),
        (
            "machines",
            &["<h2>Table 2</h2>", "aria-label=\"states and transitions\""],
        ),
        ("messages", &["Messages are kept while this page is open"]),
        ("live.js", &["replaceChildren"]),
        ("web.css", &["prefers-color-scheme: dark", ".ladder"]),
    ] {
        let page = viewer.page(path);
        for part in parts {
            assert!(page.contains(part), "{path}: {part}: {page}");
        }
        let (head, body) = page.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains("content-security-policy: default-src 'none'; "),
            "{head}"
        );
        assert!(head.contains("referrer-policy: no-referrer"), "{head}");
        assert_eq!(
            body.matches("<script").count(),
            usize::from(body.starts_with("<!")),
            "{body}"
        );
        assert!(!body.contains("<u>"), "{body}");
        assert!(!body.contains("http:") && !body.contains("https:") && !body.contains("style="));
    }
    assert_eq!(ctl(&lab, &["flows"]), before);
    ok(Command::new(program("dpctl")).args(["tcp:127.0.0.1:16690", "add-flow", "actions=drop"]));
    let ladder = viewer.page("messages");
    for part in [
        "class=\"received\"",
        "class=\"sent\"",
        "127.0.0.1",
        "actions=drop",
    ] {
        assert!(ladder.contains(part), "{part}: {ladder}");
    }
}

#[test]
fn strangers_get_nothing_from_the_viewer() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(1, &["--fail-mode", "secure"]);
    let viewer = Viewer::of(&lab);
    let address = &viewer.address;
    let token = &viewer.token;
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    assert_eq!(token.len(), 32);
    assert_ne!(*token, Viewer::of(&lab).token);
    let other = token.replace(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'], "0");
    let host = format!("Host: {address}");
    let port = address.rsplit_once(':').unwrap().1;
    for (line, head, status) in [
        (
            format!("GET /{token}/ HTTP/1.1"),
            format!("Host: LocalHost:{port}"),
            200,
        ),
        (format!("GET /{token}/flows HTTP/1.1"), host.clone(), 200),
        ("GET / HTTP/1.1".into(), host.clone(), 403),
        (format!("GET /{token} HTTP/1.1"), host.clone(), 404),
        (format!("GET /{other}/ HTTP/1.1"), host.clone(), 403),
        (format!("GET /{token}0/ HTTP/1.1"), host.clone(), 403),
        (format!("GET /{}/ HTTP/1.1", &token[1..]), host.clone(), 403),
        (
            format!("GET /{token}/ HTTP/1.1"),
            "Host: rebound.example".into(),
            403,
        ),
        (
            format!("GET /{token}/ HTTP/1.1"),
            format!("Host: 127.0.0.1.example:{port}"),
            403,
        ),
        (
            format!("GET /{token}/ HTTP/1.1"),
            format!("{host}\r\nHost: rebound.example"),
            403,
        ),
        (
            format!("GET http://rebound.example/{token}/ HTTP/1.1"),
            host.clone(),
            403,
        ),
        (format!("GET /{token}/ HTTP/1.1"), "Accept: */*".into(), 403),
        (format!("POST /{token}/ HTTP/1.1"), host.clone(), 405),
        (format!("GET /{token}/../ctl HTTP/1.1"), host.clone(), 404),
    ] {
        let answer = viewer.send(&format!("{line}\r\n{head}\r\n\r\n"));
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{line} {head}: {answer}"
        );
        assert!(status == 200 || !answer.contains(&lab.name), "{answer}");
        let allow = answer.to_ascii_lowercase().contains("\r\nallow: get\r\n");
        assert_eq!(allow, status == 405, "{answer}");
    }
    let status = format!("/proc/{}/status", viewer.process.0.id());
    let status = std::fs::read_to_string(status).unwrap();
    for right in [
        "CapPrm:\t0000000000000000",
        "CapEff:\t0000000000000000",
        "NoNewPrivs:\t1",
    ] {
        assert!(status.contains(right), "{status}");
    }
    assert!(status.contains("Seccomp:\t2"), "{status}");
}

#[test]
fn slow_and_greedy_browsers_cost_bounded_memory_and_hold_up_nobody() {
    if !have(&["ip"]) {
        return;
    }
    let lab = filled(1000);
    let viewer = Viewer::of(&lab);
    let page = format!(
        "GET /{}/flows HTTP/1.1\r\nHost: localhost\r\n\r\n",
        viewer.token
    );
    viewer.page("flows");
    let fresh = viewer.resident_kib();
    // A thousand that say nothing, and some that ask and never read.
    let connect = || TcpStream::connect(&viewer.address).unwrap();
    let mut silent: Vec<TcpStream> = (0..1000).map(|_| connect()).collect();
    for stream in silent.iter_mut().rev().take(20) {
        let _ = stream.write_all(page.as_bytes());
    }
    // One writes letter by letter, and one a request of 1 MB without an end.
    let mut slow = connect();
    slow.write_all(&page.as_bytes()[..20]).unwrap();
    let mut endless = connect();
    let _ = endless.write_all(page.trim_end().as_bytes());
    let _ = endless.write_all(format!("\r\nX: {}", "x".repeat(1 << 20)).as_bytes());
    let begun = Instant::now();
    assert!(viewer.page("flows").contains("Entries 1 to 100 of"));
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
    let grown = viewer.resident_kib().saturating_sub(fresh);
    assert!(grown < 20 << 10, "{grown} KiB");
    let mut said = String::new();
    endless.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = endless.read_to_string(&mut said);
    assert!(
        said.is_empty() || said.starts_with("HTTP/1.1 431 "),
        "{said}"
    );
    // Each connection is closed after 10 s, whatever it does.
    slow.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(matches!(slow.read(&mut [0]), Ok(0) | Err(_)));
    drop(silent);
}

#[test]
fn a_viewer_outlives_its_switch_and_shows_the_next_one_of_that_name() {
    if !have(&["ip"]) {
        return;
    }
    let lab = filled(100_000);
    let viewer = Viewer::of(&lab);
    let begun = Instant::now();
    assert!(viewer.page("").contains("100,000"));
    let found = viewer.page("flows?flow=ip%2Cnw_dst%3D0.1.134.159&from=0");
    assert!(found.contains("Entries 1 to 1 of"), "{found}");
    let last = viewer.page("flows?from=99950");
    assert!(last.contains("Entries 99951 to 100000"), "{last}");
    assert!(!last.contains("next page"), "{last}");
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    ctl(&lab, &["shutdown"]);
    until("the switch is gone", || {
        viewer.asked("").starts_with("HTTP/1.1 502 ")
    });
    assert!(viewer.asked("").contains("No such file") || viewer.asked("").contains("refused"));
    let mut next = Command::new(program("bofuss"));
    next.args(["run", "--name", &lab.name, "--port", "tap:web0"])
        .stderr(Stdio::null());
    let _next = Process::start(&mut next);
    until("the next one is shown", || {
        viewer.asked("").starts_with("HTTP/1.1 200 ")
    });
    assert!(viewer.page("").contains("web0"));
}
