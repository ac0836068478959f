//! Frames that the kernel forwards below the switch: the same bytes, counters and timeouts as with
//! the switch alone.
#![allow(clippy::unwrap_used)]

mod changed_below;
mod failing_below;
mod grouped_below;
mod metered_below;
mod ordered_below;
mod seen_below;
mod stations_below;
mod taken_below;

use std::time::{Duration, Instant};

use bofuss_frame::Pool;
use bofuss_ports::{AfPacket, AfPacketOptions, BATCH_FRAMES, PortDriver};
use bofuss_tests::{Lab, PATIENCE, have, ip, program, run, until};

const TOOLS: &[&str] = &["ip", "ping"];
/// Bytes of the headers of a frame of [`datagram`], without a tag.
const HEADERS: usize = 42;

/// A switch with three hosts that accelerates, and one that does not; none if the kernel cannot.
///
/// Panics: in CI, if the kernel cannot.
fn both(arguments: &[&str]) -> Option<[Lab; 2]> {
    if !have(TOOLS) {
        return None;
    }
    let lab = |when: &str| {
        let mut all = vec!["--fail-mode", "secure", "--accelerate", when];
        all.extend(arguments);
        Lab::new(3, &all)
    };
    let with = lab("auto");
    let standing = standing(&with);
    if standing.starts_with("off") {
        assert!(std::env::var_os("CI").is_none(), "{standing}");
        println!("not run: {standing}");
        return None;
    }
    Some([with, lab("off")])
}

/// What a control command says.
fn ctl(lab: &Lab, words: &[&str]) -> String {
    let mut command = std::process::Command::new(program("bofuss"));
    let output = run(command.args(["ctl", &lab.name]).args(words));
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What the switch says of its accelerator.
fn standing(lab: &Lab) -> String {
    ctl(lab, &["accelerator"])
}

/// Where a trace says that frames of a frame's flow are forwarded, which arrives on port 1.
fn place(lab: &Lab, frame: &[u8]) -> String {
    let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut command = std::process::Command::new(program("bofuss"));
    let words = ["trace", "--switch", &lab.name, "--in-port", "1", &hex];
    let output = run(command.args(words));
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let last = text.lines().last().unwrap_or_default();
    let said = last.strip_prefix("frames of this flow are forwarded ");
    let json = ctl(lab, &["trace", "--json", &format!("1 {hex}")]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["forwarded"].as_str(), said, "{text}");
    said.unwrap().into()
}

/// How many packets were forwarded below the switch.
fn below(lab: &Lab) -> u64 {
    let text = standing(lab);
    let line = text.lines().find_map(|line| line.strip_prefix("packets "));
    line.unwrap().parse().unwrap()
}

/// An Ethernet frame with a datagram from h1 to h2, with this number in it and so many more bytes.
fn datagram(number: u32, tag: Option<u16>, more: usize) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if let Some(tci) = tag {
        bytes.extend([0x81, 0]);
        bytes.extend(tci.to_be_bytes());
    }
    let udp_len = (8 + 4 + more) as u16;
    bytes.extend([8, 0, 0x45, 0]);
    bytes.extend((20 + udp_len).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend([0x30, 0x39, 0, 9]);
    bytes.extend(udp_len.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(number.to_be_bytes());
    bytes.resize(bytes.len() + more, 7);
    bytes
}

/// The number in a frame of [`datagram`].
fn number(frame: &[u8]) -> Option<u32> {
    let tag = if frame.get(12..14)? == [0x81, 0] {
        4
    } else {
        0
    };
    let at = HEADERS + tag;
    let is_ours = frame.get(tag + 34..tag + 38)? == [0x30, 0x39, 0, 9];
    is_ours.then(|| u32::from_be_bytes(frame[at..at + 4].try_into().unwrap()))
}

fn options() -> AfPacketOptions {
    AfPacketOptions {
        take_over: true,
        keep_host_out: false,
        // All that a test sends waits in the socket's queue.
        ring_slots: 0,
        ..Default::default()
    }
}

/// A host's interface, with all that has arrived there.
struct Tap {
    port: AfPacket,
    pool: Pool,
    frames: Vec<Vec<u8>>,
}

impl Tap {
    fn of(lab: &Lab, host: u8) -> Self {
        Self {
            port: lab.host(host, || AfPacket::open("eth0", options()).unwrap()),
            pool: Pool::new(64 << 20),
            frames: Vec::new(),
        }
    }

    fn send(&mut self, frames: &[Vec<u8>]) {
        for some in frames.chunks(BATCH_FRAMES) {
            let buffers = some.iter().map(|bytes| self.pool.frame(bytes).unwrap());
            let mut buffers: Vec<_> = buffers.collect();
            while !buffers.is_empty() {
                self.port.send(&mut buffers).unwrap();
            }
        }
    }

    /// Receives what is there; only frames with a number.
    fn receive(&mut self) {
        let mut frames = Vec::new();
        while self
            .port
            .recv(&self.pool, &mut frames, BATCH_FRAMES)
            .unwrap()
            > 0
        {
            let ours = frames.iter().map(|frame| frame.bytes().to_vec());
            self.frames
                .extend(ours.filter(|frame| number(frame).is_some()));
            frames.clear();
        }
    }

    /// Waits until so many have arrived.
    fn waits_for(&mut self, count: usize) {
        let end = Instant::now() + PATIENCE;
        while self.frames.len() < count {
            self.receive();
            assert!(Instant::now() < end, "{} of {count}", self.frames.len());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn numbers(&self) -> Vec<u32> {
        self.frames
            .iter()
            .map(|frame| number(frame).unwrap())
            .collect()
    }
}

/// Sends frames one by one with pauses, so that their flows go below where they can.
fn send_slowly(from: &mut Tap, frames: &[Vec<u8>]) {
    for frame in frames {
        from.send(std::slice::from_ref(frame));
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// The lines of what a tool prints without the times.
fn without_times(text: &str) -> Vec<String> {
    let is_time = |word: &&str| !word.starts_with("duration") && !word.starts_with("idle_age");
    let lines = text.lines().filter(|line| !line.contains("reply"));
    let lines = lines.map(|line| line.split_whitespace().filter(is_time).collect::<Vec<_>>());
    lines.map(|words| words.join(" ")).collect()
}

/// What a switch reports of its counters.
fn counters(lab: &Lab) -> Vec<String> {
    let verbs = [&["dump-flows"][..], &["dump-tables"], &["dump-ports"]];
    let texts = verbs.iter().flat_map(|verb| without_times(&lab.asks(verb)));
    texts.collect()
}

#[test]
fn bytes_and_counters_are_those_of_the_switch_alone() {
    let Some(labs) = both(&[]) else { return };
    let seen = labs.each_ref().map(|lab| {
        for flow in [
            "priority=9,in_port=1,udp,dl_vlan=7,actions=output:3",
            "priority=8,in_port=1,udp,actions=output:2",
            "priority=7,in_port=3,udp,actions=drop",
            "table=1,priority=1,actions=output:1",
            "priority=6,in_port=2,actions=goto_table:1",
        ] {
            lab.asks(&["add-flow", flow]);
        }
        let [mut one, mut two, mut three] = [1, 2, 3].map(|host| Tap::of(lab, host));
        let frames: Vec<Vec<u8>> = (0..600)
            .map(|n| {
                let tag = [None, Some(7), Some(0xa007), Some(8)][n as usize % 4];
                let more = [0, 14, 200, 1458, 1468][n as usize % 5];
                datagram(n, tag, more)
            })
            .collect();
        send_slowly(&mut one, &frames);
        send_slowly(&mut two, &frames[..100]);
        send_slowly(&mut three, &frames[..100]);
        two.waits_for(300);
        three.waits_for(300);
        one.waits_for(100);
        let mut frames = [one, two, three].map(|tap| {
            // Each tag and length is a flow, or in one; flows may overtake each other.
            for kind in 0..20 {
                let mut numbers = tap.numbers();
                numbers.retain(|number| number % 20 == kind);
                assert!(numbers.is_sorted());
            }
            tap.frames
        });
        frames.iter_mut().for_each(|list| list.sort());
        (frames, counters(lab))
    });
    assert!(below(&labs[0]) > 400, "{}", standing(&labs[0]));
    let [with, without] = seen;
    assert_eq!(with.1, without.1);
    assert!(with.0 == without.0, "bytes differ");
}

#[test]
fn super_frames_are_counted_as_segments_and_arrive_whole() {
    let Some(labs) = both(&[]) else { return };
    for lab in &labs {
        lab.asks(&["add-flow", "arp,actions=flood"]);
        lab.asks(&["add-flow", "in_port=1,ip,actions=output:2"]);
        lab.asks(&["add-flow", "in_port=2,ip,actions=output:1"]);
        lab.tcp(1, 2, 32);
        let rows = counters(lab);
        let ports: Vec<_> = rows.iter().filter(|row| row.contains("pkts=")).collect();
        let numbers = |row: &str| -> Vec<u64> {
            let words = row.split(|c: char| !c.is_ascii_digit());
            words.filter_map(|word| word.parse().ok()).collect()
        };
        // What one port receives, the other sends: packets and bytes.
        let [rx1, tx1, rx2, tx2] = [0, 1, 2, 3].map(|n| numbers(ports[n]));
        assert_eq!(rx1[1..3], tx2[0..2], "{ports:?}");
        assert_eq!(rx2[1..3], tx1[0..2], "{ports:?}");
        let (packets, bytes) = (rx1[1], rx1[2]);
        assert!(bytes > 32 << 20 && bytes < 36 << 20, "{bytes}");
        assert!(
            bytes / packets <= 1514,
            "{bytes} bytes in {packets} packets"
        );
    }
    assert!(below(&labs[0]) > 1000, "{}", standing(&labs[0]));
}

#[test]
fn a_flow_goes_below_in_order_whether_or_not_it_has_gaps() {
    let Some([lab, _]) = both(&[]) else { return };
    lab.asks(&["add-flow", "in_port=1,udp,actions=output:2"]);
    let [mut one, mut two] = [1, 2].map(|host| Tap::of(&lab, host));
    let frames: Vec<Vec<u8>> = (0..20_000).map(|n| datagram(n, None, 60)).collect();
    // Steady, then with gaps of all lengths below a millisecond; entries come and go meanwhile.
    for (round, some) in frames.chunks(500).enumerate() {
        for few in some.chunks(1 + round) {
            one.send(few);
            std::thread::sleep(Duration::from_micros(25 * (round as u64 % 20)));
        }
        if round % 4 == 3 {
            lab.asks(&["add-flow", "in_port=1,udp,udp_dst=9,actions=output:2"]);
            lab.asks(&["--strict", "del-flows", "in_port=1,udp,udp_dst=9"]);
        }
        two.receive();
    }
    until("what arrives has arrived", || {
        let before = two.frames.len();
        std::thread::sleep(Duration::from_millis(50));
        two.receive();
        two.frames.len() == before
    });
    let numbers = two.numbers();
    assert!(numbers.is_sorted(), "frames overtook each other");
    assert!(numbers.len() > 10_000, "{}", numbers.len());
    assert!(below(&lab) > 1000, "{}", standing(&lab));
}

#[test]
fn after_a_change_is_confirmed_no_frame_takes_the_old_way() {
    let Some([lab, _]) = both(&[]) else { return };
    let [mut one, mut two, mut three] = [1, 2, 3].map(|host| Tap::of(&lab, host));
    let mut next = 0;
    let mut send = |one: &mut Tap| {
        let frames: Vec<_> = (next..next + 20).map(|n| datagram(n, None, 60)).collect();
        next += 20;
        send_slowly(one, &frames);
    };
    let mut wanted = [0, 0];
    for round in 0..6 {
        let to = 2 + round % 2;
        let flow = format!("in_port=1,udp,actions=output:{to}");
        lab.asks(&["add-flow", &flow]);
        lab.asks(&["mod-flows", &flow]);
        send(&mut one);
        wanted[round % 2] += 20;
        two.waits_for(wanted[0]);
        three.waits_for(wanted[1]);
    }
    let was_below = below(&lab);
    assert!(was_below > 60, "{was_below}");
    for (port, down, up) in [
        ("3", "no-forward", "forward"),
        ("1", "no-receive", "receive"),
    ] {
        lab.asks(&["mod-port", port, down]);
        send(&mut one);
        lab.asks(&["mod-port", port, up]);
        send(&mut one);
        wanted[1] += 20;
        three.waits_for(wanted[1]);
    }
    lab.asks(&["mod-port", "3", "down"]);
    send(&mut one);
    lab.asks(&["del-flows"]);
    send(&mut one);
    std::thread::sleep(Duration::from_millis(100));
    two.receive();
    three.receive();
    assert_eq!([two.frames.len(), three.frames.len()], wanted);
}

#[test]
fn idle_entries_expire_and_used_ones_stay() {
    let Some([lab, _]) = both(&[]) else { return };
    let entries = || lab.asks(&["dump-flows"]).matches("n_packets").count();
    let [mut one, mut two] = [1, 2].map(|host| Tap::of(&lab, host));
    lab.asks(&["add-flow", "in_port=1,udp,idle_timeout=2,actions=output:2"]);
    let start = Instant::now();
    let mut sent = 0;
    while start.elapsed() < Duration::from_secs(5) {
        one.send(&[datagram(sent, None, 60)]);
        sent += 1;
        std::thread::sleep(Duration::from_millis(50));
    }
    two.waits_for(sent as usize);
    assert_eq!(entries(), 1);
    assert!(below(&lab) > u64::from(sent) - 10);
    let last = Instant::now();
    until("it expires", || entries() == 0);
    assert!(
        last.elapsed() > Duration::from_millis(1000),
        "it was used until then"
    );
}

#[test]
fn captures_and_fields_that_are_not_read_bring_flows_up() {
    let Some([lab, _]) = both(&[]) else { return };
    let [mut one, mut two] = [1, 2].map(|host| Tap::of(&lab, host));
    lab.asks(&["add-flow", "in_port=1,udp,actions=output:2"]);
    let frames: Vec<_> = (0..50).map(|n| datagram(n, None, 60)).collect();
    send_slowly(&mut one, &frames);
    two.waits_for(50);
    let seen = below(&lab);
    assert!(seen > 30, "{seen}");
    assert_eq!(place(&lab, &frames[0]), "in the kernel, below the switch");
    ctl(&lab, &["mirror", "1", "3"]);
    let why = "captures or mirrors copy frames";
    assert_eq!(place(&lab, &frames[0]), format!("by the switch: {why}"));
    assert!(
        standing(&lab).starts_with("idle: captures"),
        "{}",
        standing(&lab)
    );
    let mut three = Tap::of(&lab, 3);
    send_slowly(&mut one, &frames);
    two.waits_for(100);
    three.waits_for(50);
    ctl(&lab, &["end-capture", "3"]);
    assert_eq!(below(&lab), seen);
    let unread = "priority=1,actset_output=9,actions=drop";
    lab.asks(&["-O", "OpenFlow15", "add-flow", unread]);
    send_slowly(&mut one, &frames);
    two.waits_for(150);
    assert_eq!(below(&lab), seen);
    assert!(
        standing(&lab).starts_with("idle: entries read actset_output"),
        "{}",
        standing(&lab)
    );
}

#[test]
fn ports_whose_frames_the_host_receives_as_well_are_not_accelerated() {
    if both(&[]).is_none() {
        return;
    }
    ip("link add own1 type veth peer name own2");
    ip("address add 10.77.0.1/24 dev own1");
    ip("link add own4 type veth peer name own5");
    let more = [
        "--take-over",
        "--accelerate",
        "on",
        "--port",
        "own1",
        "--port",
        "tap:own3",
        "--port",
        "own4",
    ];
    let lab = Lab::new(1, &more);
    let text = standing(&lab);
    assert!(
        text.contains("port 1 off: the host's stack receives"),
        "{text}"
    );
    assert!(
        text.contains("port 2 off: it has no packet socket"),
        "{text}"
    );
    assert!(text.contains("port 3 on"), "{text}");
    for (change, wanted) in [
        ("add", "port 3 off: it has got an address"),
        ("delete", "port 3 on"),
    ] {
        ip(&format!("address {change} 10.77.1.1/24 dev own4"));
        until(wanted, || standing(&lab).contains(wanted));
    }
    ip("link delete own1");
    ip("link delete own4");
}

#[test]
fn a_killed_switch_leaves_nothing_behind_and_another_goes_on() {
    let Some([mut first, _]) = both(&[]) else {
        return;
    };
    let second = Lab::new(2, &["--fail-mode", "secure", "--accelerate", "on"]);
    for lab in [&first, &second] {
        lab.asks(&["add-flow", "in_port=1,udp,actions=output:2"]);
    }
    let frames: Vec<_> = (0..50).map(|n| datagram(n, None, 60)).collect();
    let sends = |lab: &Lab, wanted: usize| {
        let [mut one, mut two] = [1, 2].map(|host| Tap::of(lab, host));
        send_slowly(&mut one, &frames);
        two.waits_for(wanted);
        std::thread::sleep(Duration::from_millis(20));
        two.receive();
        assert_eq!(two.frames.len(), wanted);
    };
    sends(&first, 50);
    sends(&second, 50);
    first.switch.0.kill().unwrap();
    first.switch.0.wait().unwrap();
    sends(&first, 0);
    sends(&second, 50);
    assert!(below(&second) > 60, "{}", standing(&second));
}
