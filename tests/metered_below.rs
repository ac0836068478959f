//! Frames that pass a meter, below the switch.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use bofuss_tests::Lab;

use crate::{Tap, below, both, datagram, place, send_slowly, standing};

/// The number that follows this text in the answer to a verb.
fn number(lab: &Lab, verb: &[&str], name: &str) -> u64 {
    let text = lab.asks(verb);
    let (_, rest) = text.split_once(name).expect(&text);
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().expect(&text)
}

/// Packets that came into the meter 1, and those that its band dropped.
fn metered(lab: &Lab) -> [u64; 2] {
    let number = |name: &str| number(lab, &["meter-stats", "meter=1"], name);
    [number("packet_in_count:"), number("0: packet_count:")]
}

/// Packets that the entries of a table count.
fn counted_in(lab: &Lab, table: u8) -> u64 {
    let which = format!("table={table},udp");
    number(lab, &["dump-aggregate", &which], "packet_count=")
}

/// Packets that the entries of table 0 count, and that port 2 has sent.
fn counted(lab: &Lab) -> [u64; 2] {
    let sent = number(lab, &["dump-ports", "2"], "tx pkts=");
    [counted_in(lab, 0), sent]
}

fn meter(lab: &Lab, verb: &str, band: &str) {
    lab.asks(&[
        verb,
        &format!("meter=1,pktps,burst,stats,bands=type=drop,{band}"),
    ]);
}

#[test]
fn a_meter_below_passes_what_it_passes_in_the_switch_and_counts_all() {
    let Some(labs) = both(&[]) else { return };
    let passed = labs.each_ref().map(|lab| {
        meter(lab, "add-meter", "rate=1,burst_size=150");
        lab.asks(&["add-flow", "in_port=1,udp,actions=meter:1,dec_ttl,output:2"]);
        let [mut one, mut two] = [1, 2].map(|host| Tap::of(lab, host));
        let frames: Vec<_> = (0..300).map(|n| datagram(n, None, 60)).collect();
        let start = Instant::now();
        send_slowly(&mut one, &frames);
        std::thread::sleep(Duration::from_millis(100));
        two.receive();
        let passed = two.frames.len() as u64;
        let more = start.elapsed().as_secs() + 1;
        // One packet takes the last token, and another one what is not there.
        let wanted = 150..=151 + more;
        assert!(wanted.contains(&passed), "{passed} after {more} s");
        assert_eq!(metered(lab), [300, 300 - passed]);
        let sent = counted(lab)[1];
        assert_eq!(counted(lab)[0], 300);
        // A wider meter lets the next ones pass, and its band begins anew.
        meter(lab, "mod-meter", "rate=1,burst_size=1000");
        send_slowly(&mut one, &frames);
        std::thread::sleep(Duration::from_millis(100));
        two.receive();
        assert_eq!(two.frames.len() as u64 - passed, 300);
        assert_eq!(metered(lab), [600, 0]);
        assert_eq!(counted(lab), [600, sent + 300]);
        // Without the meter, its flow is gone as well.
        lab.asks(&["del-meters", "meter=1"]);
        send_slowly(&mut one, &frames[..20]);
        std::thread::sleep(Duration::from_millis(100));
        two.receive();
        assert_eq!(two.frames.len() as u64 - passed, 300);
        two.frames
    });
    let [with, without] = passed;
    assert_eq!(with[..150], without[..150], "bytes and order are the same");
    assert!(below(&labs[0]) > 400, "{}", standing(&labs[0]));
}

#[test]
fn entries_behind_a_meter_count_what_it_lets_pass() {
    let Some(labs) = both(&[]) else { return };
    for lab in &labs {
        meter(lab, "add-meter", "rate=1,burst_size=100");
        lab.asks(&["add-flow", "in_port=1,udp,actions=meter:1,goto_table:1"]);
        lab.asks(&["add-flow", "table=1,udp,actions=goto_table:2"]);
        lab.asks(&["add-flow", "table=2,udp,actions=dec_ttl,output:2"]);
        let [mut one, mut two] = [1, 2].map(|host| Tap::of(lab, host));
        let frames: Vec<_> = (0..300).map(|n| datagram(n, None, 60)).collect();
        send_slowly(&mut one, &frames);
        std::thread::sleep(Duration::from_millis(100));
        two.receive();
        let passed = two.frames.len() as u64;
        assert!((100..120).contains(&passed), "{passed}");
        assert_eq!(metered(lab), [300, 300 - passed]);
        let counts = [0, 1, 2].map(|table| counted_in(lab, table));
        assert_eq!(counts, [300, passed, passed]);
    }
    assert!(below(&labs[0]) > 200, "{}", standing(&labs[0]));
}

#[test]
fn flows_below_and_in_the_switch_share_the_rate_of_their_meter() {
    let Some([lab, _]) = both(&[]) else { return };
    meter(&lab, "add-meter", "rate=1,burst_size=200");
    for flow in [
        "in_port=1,udp,actions=meter:1,output:2",
        // To the port that it came from: not below.
        "in_port=3,udp,actions=meter:1,in_port,output:2",
    ] {
        lab.asks(&["add-flow", flow]);
    }
    let [mut one, mut two, mut three] = [1, 2, 3].map(|host| Tap::of(&lab, host));
    let start = Instant::now();
    for n in 0..300 {
        one.send(&[datagram(n, None, 60)]);
        three.send(&[datagram(1000 + n, None, 60)]);
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(100));
    two.receive();
    let passed = two.frames.len() as u64;
    let wanted = 200..=202 + start.elapsed().as_secs();
    assert!(wanted.contains(&passed), "{passed}");
    assert_eq!(metered(&lab), [600, 600 - passed]);
    assert!(below(&lab) > 200, "{}", standing(&lab));
}

#[test]
fn a_trace_says_which_meters_stay_above() {
    let Some([lab, _]) = both(&[]) else { return };
    meter(&lab, "add-meter", "rate=1000,burst_size=200");
    lab.asks(&[
        "add-meter",
        "meter=2,kbps,bands=type=dscp_remark,prec_level=1,rate=1000",
    ]);
    let mut one = Tap::of(&lab, 1);
    for (actions, wanted) in [
        ("meter:1,output:2", "in the kernel, below the switch"),
        (
            "meter:2,output:2",
            "by the switch: meter 2 is none that drops packets above one rate",
        ),
        (
            "apply_actions(output:3,meter:1,output:2)",
            "by the switch: meter 1 is not the first that its packets meet",
        ),
    ] {
        let flow = format!("in_port=1,udp,actions={actions}");
        lab.asks(&["add-flow", &flow]);
        let frames: Vec<_> = (0..20).map(|n| datagram(n, None, 60)).collect();
        send_slowly(&mut one, &frames);
        let said = place(&lab, &frames[0]);
        assert!(said.starts_with(wanted), "{actions}: {said}");
    }
}
