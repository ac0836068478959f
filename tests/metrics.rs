//! Metrics as a collector sees them: both formats, every family, and a real Prometheus.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

use bofuss_tests::{Lab, Process, address as host_address, get, have, ok, printed, run, until};
use serde_json::{Value, json};

const OPEN_METRICS: &str = "Accept: application/openmetrics-text; version=1.0.0";

/// A switch that has something of everything, and the address of its metrics.
fn busy_switch() -> (Lab, String) {
    let arguments = ["--metrics", "0", "--queue", "1:1:min=1M", "--tables", "3"];
    let lab = Lab::new(2, &arguments);
    let (said, fine) = lab.ofctl("add-group", &["group_id=7,type=all,bucket=output:2"]);
    assert!(fine, "{said}");
    lab.dpctl(&["add-meter", "meter=3,kbps,band=type=drop,rate=100000"]);
    lab.dpctl(&[
        "add-flow",
        "table=0,priority=9,cookie=0x2a,arp,actions=normal",
    ]);
    lab.dpctl(&[
        "add-flow",
        "table=0,priority=8,icmp,in_port=2,actions=meter:3,normal",
    ]);
    lab.dpctl(&["add-flow", "table=0,priority=7,udp,actions=drop"]);
    lab.all_ping();
    lab.host(1, || {
        let sender = UdpSocket::bind((host_address(1), 0)).unwrap();
        sender.send_to(b"in vain", (host_address(2), 7)).unwrap();
    });
    let address = metrics_address(&lab);
    (lab, address)
}

/// Returns where the switch serves its metrics, according to its log: ADDRESS:PORT.
fn metrics_address(lab: &Lab) -> String {
    let log = lab.log();
    let (_, rest) = log.split_once("metrics: http://").unwrap();
    rest.split_once("/metrics").unwrap().0.to_string()
}

/// The value of the sample that begins with `start`. Panics: if there is none.
fn value(text: &str, start: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(start));
    let line = line.unwrap_or_else(|| panic!("{start} is in {text}"));
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

#[test]
fn metrics_are_what_the_switch_counts() {
    if !have(&["ip", "ovs-ofctl"]) {
        return;
    }
    let (lab, address) = busy_switch();
    // No bridge forwards frames to the address of the nearest bridge.
    lab.asks(&[
        "packet-out",
        "1",
        "arp_path",
        "0180c20000010200000000010806",
    ]);
    for dropped in [
        "reason=\"no_output\"",
        "extension=\"arppath\",reason=\"link_local\"",
    ] {
        until("the drop is counted", || {
            get(&address, "/metrics", "").1.contains(dropped)
        });
    }
    let (head, text) = get(&address, "/metrics?flows", OPEN_METRICS);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("application/openmetrics-text; version=1.0.0"));
    assert!(text.ends_with("# EOF\n"));
    let own = format!("switch=\"{}\"", lab.name);
    let text = text
        .replace(&format!("{own},"), "")
        .replace(&format!("{{{own}}}"), "");
    let port = format!(
        "bofuss_port_receive_packets_total{{port=\"1\",name=\"{}\"}}",
        lab.port(1)
    );
    for counted in [
        port.as_str(),
        "bofuss_table_lookups_total{table=\"0\",name=",
        "bofuss_flow_packets_total{table=\"0\",priority=\"9\",match=\"arp\",cookie=\"0x2a\"}",
        "bofuss_meter_packets_total{meter=\"3\"}",
        "bofuss_openflow_messages_total{direction=\"received\",type=\"FLOW_MOD\"}",
        "bofuss_batch_frames_count",
        "bofuss_batch_seconds_bucket{le=\"+Inf\"}",
        "bofuss_message_seconds_sum",
        "bofuss_resident_memory_bytes",
        "bofuss_build_info",
    ] {
        assert!(value(&text, counted) > 0.0, "{counted}: {text}");
    }
    for there in [
        "bofuss_group_packets_total{group=\"7\"}",
        "bofuss_queue_packets_total{port=\"1\",",
        "bofuss_cache_hits_total",
        "bofuss_connections ",
        "bofuss_flows_left_out ",
    ] {
        value(&text, there);
    }
    let (_, without) = get(&address, "/metrics", OPEN_METRICS);
    assert!(!without.contains("bofuss_flow_packets"), "only on request");
    assert!(get(&address, "/", "").0.starts_with("HTTP/1.1 404"));
}

/// Returns how many samples begin with `start`.
fn count(text: &str, start: &str) -> usize {
    text.lines().filter(|line| line.starts_with(start)).count()
}

#[test]
fn a_scrape_has_each_thing_once_and_as_many_flows_as_its_limit() {
    if !have(&["ip"]) {
        return;
    }
    let arguments = ["--metrics", "0", "--fail-mode", "secure"];
    let lab = Lab::new(1, &arguments);
    let path = std::env::temp_dir().join(format!("{}.flows", lab.name));
    let mut flows = String::new();
    for n in 0..100_100 {
        let address = Ipv4Addr::from(n);
        flows += &format!("ip,nw_dst={address},actions=drop\n");
    }
    std::fs::write(&path, flows).unwrap();
    let added = lab.dpctl(&["add-flows", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert!(added.status.success(), "{}", printed(&added));
    // A slice has 32 groups or meters.
    for n in 1..=70 {
        let group = format!("group_id={n},type=all,bucket=output:1");
        lab.dpctl(&["add-group", &group]);
        let meter = format!("meter={n},kbps,band=type=drop,rate=100000");
        lab.dpctl(&["add-meter", &meter]);
    }
    let (_, text) = get(&metrics_address(&lab), "/metrics?flows", OPEN_METRICS);
    assert_eq!(count(&text, "bofuss_group_packets_total{"), 70);
    assert_eq!(count(&text, "bofuss_meter_packets_total{"), 70);
    assert_eq!(count(&text, "bofuss_flow_packets_total{"), 100_000);
    assert_eq!(value(&text, "bofuss_flows_left_out{"), 100.0);
}

#[test]
fn a_prometheus_scrapes_without_a_warning() {
    if !have(&["ip", "ovs-ofctl", "prometheus", "promtool"]) {
        return;
    }
    let (lab, address) = busy_switch();
    let (_, plain) = get(&address, "/metrics?flows", "Accept: text/plain");
    let mut check = Command::new("promtool");
    check.args(["check", "metrics"]).stdin(Stdio::piped());
    let mut check = check
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check
        .stdin
        .take()
        .unwrap()
        .write_all(plain.as_bytes())
        .unwrap();
    let checked = check.wait_with_output().unwrap();
    assert_eq!(
        (checked.status.success(), printed(&checked)),
        (true, String::new())
    );

    let dir = std::env::temp_dir().join(format!("bofuss-prometheus-{}", lab.name));
    std::fs::create_dir_all(&dir).unwrap();
    let config = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: bofuss\n  \
         params: {{flows: ['']}}\n  static_configs: [{{targets: ['{address}']}}]\n"
    );
    scraped(&dir, &config);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Every query of the dashboard is made an alert, so that promtool reads it.
#[test]
fn promtool_reads_the_alerts_and_the_queries_of_the_dashboard() {
    if !have(&["promtool"]) {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contrib/prometheus");
    let check = |file: &Path| ok(Command::new("promtool").args(["check", "rules"]).arg(file));
    assert!(check(&folder.join("bofuss.rules.yml")).contains("8 rules found"));
    let text = std::fs::read_to_string(folder.join("dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let mut rules = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let query = target["expr"].as_str().unwrap();
            let query = query.replace("$__rate_interval", "1m");
            rules.push(json!({"record": format!("query:{}", rules.len()), "expr": query}));
        }
    }
    assert!(rules.len() > 12);
    let count = rules.len();
    // YAML contains JSON.
    let queries = json!({"groups": [{"name": "queries", "rules": rules}]});
    let name = format!("bofuss-queries-{}.yml", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, queries.to_string()).unwrap();
    let said = check(&file);
    std::fs::remove_file(&file).unwrap();
    assert!(said.contains(&format!("{count} rules found")), "{said}");
}

/// Runs a Prometheus in `dir` until it has the metrics of the switch.
fn scraped(dir: &Path, config: &str) {
    std::fs::write(dir.join("prometheus.yml"), config).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let web = free.local_addr().unwrap().to_string();
    drop(free);
    let log = dir.join("log");
    let file = |name: &str| dir.join(name).display().to_string();
    let mut command = Command::new("prometheus");
    command
        .arg(format!("--config.file={}", file("prometheus.yml")))
        .arg(format!("--storage.tsdb.path={}", file("data")))
        .arg(format!("--web.listen-address={web}"))
        .args(["--log.level=warn", "--log.format=json"])
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap());
    let mut prometheus = Process::start(&mut command);
    until("prometheus is up", || TcpStream::connect(&web).is_ok());
    let query = |text: &str| {
        let mut tool = Command::new("promtool");
        printed(&run(tool.args([
            "query",
            "instant",
            &format!("http://{web}"),
            text,
        ])))
    };
    until("the switch is scraped", || query("up").contains("=> 1 @"));
    until("a histogram is kept", || {
        query("histogram_quantile(0.99, bofuss_batch_seconds_bucket)").contains("=> ")
    });
    until("rates can be computed", || {
        query("rate(bofuss_port_receive_packets_total[10s])").contains("=> ")
    });
    assert!(query("bofuss_flow_packets_total").contains("match=\"arp\""));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "", "no warning");
    prometheus.terminate();
}
