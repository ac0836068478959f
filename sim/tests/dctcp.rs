//! DCTCP and windows in scenarios, compared to theory.
#![allow(clippy::unwrap_used)]

use bofuss_sim::scenario::{NoOutside, Scenario};
use serde_json::Value;

/// Two senders and a receiver behind a link of 100 Mb/s. A ping each 10 ms sees the queue.
const BOTTLENECK: &str = r#"
end = 12
known_addresses = true
defaults.switch.fail_mode = "standalone"
defaults.link = { mbps = 1000, delay_us = 100, queue = 1000, QUEUE }
switch = [{ name = "s1" }]
host = [{ name = "h1" }, { name = "h2" }, { name = "h3" }]
[[link]]
ends = ["h1", "s1"]
[[link]]
ends = ["h2", "s1"]
[[link]]
ends = ["h3", "s1"]
mbps = 100
[[traffic]]
kind = "tcp"
from = "h1"
to = "h3"
interval = 1
KEYS
[[traffic]]
kind = "tcp"
from = "h2"
to = "h3"
interval = 1
start = 1
KEYS
[[traffic]]
kind = "ping"
from = "h1"
to = "h3"
start = 4
interval = 0.01
"#;
/// Full segments of 1,514 bytes take this long on the link.
const FRAME_MS: f64 = 0.12112;

fn run(queue: &str, keys: &str) -> Value {
    let text = BOTTLENECK.replace("QUEUE", queue).replace("KEYS", keys);
    let mut scenario = Scenario::build(&text, None, &mut NoOutside).unwrap();
    scenario.run_until(scenario.end(), &mut ()).unwrap();
    scenario.statistics()
}

/// The mean rate of a row's connection from 4 s on.
fn rate(statistics: &Value, row: usize) -> f64 {
    let flow = &statistics["traffic"][row]["flows"][0];
    let rates = flow["intervals_mbps"].as_array().unwrap();
    let rates: Vec<f64> = rates.iter().map(|rate| rate.as_f64().unwrap()).collect();
    let rates = &rates[rates.len() - 8..];
    rates.iter().sum::<f64>() / 8.0
}

#[test]
fn dctcp_keeps_the_queue_near_its_threshold_and_shares_the_link() {
    let statistics = run("mark = 20", "congestion = \"dctcp\"");
    let [one, other] = [0, 1].map(|row| rate(&statistics, row));
    // 1,448 bytes of data in frames of 1,514.
    assert!((90.0..=95.7).contains(&(one + other)), "{one} {other}");
    assert!((0.8..1.25).contains(&(one / other)), "{one} {other}");
    let rtt = &statistics["traffic"][2]["rtt"];
    let waiting = |key: &str| (rtt[key].as_f64().unwrap() - 0.42) / FRAME_MS;
    // The queue goes up to K + N and down by sqrt(2 N (C RTT + K)) / 2, here by 5. Source: Alizadeh
    // et al., Data Center TCP, section 3.3. Bursts of delayed acknowledgements add to it.
    let (median, most) = (waiting("median_ms"), waiting("max_ms"));
    assert!((14.0..=23.0).contains(&median), "{median} {most}");
    assert!(most <= 30.0, "{median} {most}");
    let link = &statistics["links"]["h3-s1"]["back"];
    assert!(link["marked"].as_u64().unwrap() > 100, "{link}");
    assert_eq!(link["queue_full"], 0);
    assert_eq!(run("mark = 20", "congestion = \"dctcp\""), statistics);
}

#[test]
fn without_marks_the_queue_grows_far_beyond() {
    let statistics = run("mark = 20", "congestion = \"cubic\"");
    let link = &statistics["links"]["h3-s1"]["back"];
    assert_eq!(link["marked"], 0, "its senders do not understand marks");
    assert!(link["most_waiting"].as_u64().unwrap() > 300, "{link}");
}

#[test]
fn a_window_bounds_the_rate_to_one_window_a_round_trip() {
    // Six segments in the round trip of 400 us, and 6.
    let statistics = run("mark = 20", "window = 8688");
    let link = &statistics["links"]["h3-s1"]["back"];
    let most = link["most_waiting"].as_u64().unwrap();
    assert!(most < 12, "two windows at most: {most}");
    let text = BOTTLENECK.replace("QUEUE", "mark = 1");
    for window in ["1499", "8388481"] {
        let text = text.replace("KEYS", &format!("window = {window}"));
        let error = Scenario::build(&text, None, &mut NoOutside).err().unwrap();
        let wanted = "line 15: traffic: window is 1500 to 8388480 bytes";
        assert_eq!(error.to_string(), wanted);
    }
}

#[test]
fn a_window_on_a_long_path_is_its_rate() {
    let text = BOTTLENECK
        .replace("QUEUE", "jitter_us = 0")
        .replace("delay_us = 100", "delay_us = 25000");
    let text = text.replace("KEYS", "window = 57920");
    let mut scenario = Scenario::build(&text, None, &mut NoOutside).unwrap();
    scenario.run_until(scenario.end(), &mut ()).unwrap();
    // 40 segments in 100 ms and the time of sending one.
    let found = rate(&scenario.statistics(), 0);
    assert!(
        (found / (57_920.0 * 8e-6 / 0.1) - 1.0).abs() < 0.06,
        "{found}"
    );
}
