//! What a flow loses while its switch is replaced: numbered datagrams tell.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bofuss_tests::folder::Folder;
use bofuss_tests::{Lab, address, have, until};

use crate::{ctl, number, packets, replace};

/// Bytes of a numbered datagram: the kernel forwards no frame of less than 60 bytes.
const NUMBERED_BYTES: usize = 32;
/// How long before a datagram is due its sender does not sleep any more, so that it is not late.
const AWAKE: Duration = Duration::from_micros(200);

/// What came: the times between two datagrams, each with how many had come, and their numbers.
type Received = (Vec<(Duration, usize)>, Vec<u32>);

/// A row of numbered datagrams from host 1 to host 2.
struct NumberedRow {
    is_done: Arc<AtomicBool>,
    sender: JoinHandle<u32>,
    receiver: JoinHandle<Received>,
}

impl NumberedRow {
    /// Begins to send one in each of these times.
    fn start(lab: &Lab, every: Duration) -> Self {
        let to = SocketAddr::from((address(2), 7000));
        let sink = lab.host(2, || UdpSocket::bind(to).unwrap());
        let source = lab.host(1, || UdpSocket::bind((address(1), 0)).unwrap());
        sink.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let is_done = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_done);
        let sender = std::thread::spawn(move || {
            let (mut next, mut sent) = (Instant::now(), 0u32);
            let mut bytes = [0; NUMBERED_BYTES];
            while !ends.load(Relaxed) {
                let now = Instant::now();
                if now < next {
                    match (next - now).checked_sub(AWAKE) {
                        Some(rest) => std::thread::sleep(rest),
                        None => std::thread::yield_now(),
                    }
                    continue;
                }
                bytes[..4].copy_from_slice(&sent.to_be_bytes());
                source.send_to(&bytes, to).unwrap();
                sent += 1;
                // What is late is not made up for: it would come in a burst.
                next = now.max(next + every);
            }
            sent
        });
        let receiver = std::thread::spawn(move || {
            let mut bytes = [0; NUMBERED_BYTES];
            let (mut gaps, mut came, mut last) = (Vec::new(), Vec::new(), Instant::now());
            while sink.recv(&mut bytes).is_ok() {
                gaps.push((last.elapsed(), came.len()));
                last = Instant::now();
                let [a, b, c, d, ..] = bytes;
                came.push(u32::from_be_bytes([a, b, c, d]));
            }
            (gaps, came)
        });
        Self {
            is_done,
            sender,
            receiver,
        }
    }

    /// Ends it. Returns how many were sent, the numbers in the order in which they came, and the
    /// times between two, the longest first, each with how many had come.
    fn end(self) -> (u32, Vec<u32>, Vec<(Duration, usize)>) {
        self.is_done.store(true, Relaxed);
        let sent = self.sender.join().unwrap();
        let (mut gaps, came) = self.receiver.join().unwrap();
        gaps.sort();
        gaps.reverse();
        (sent, came, gaps)
    }
}

#[test]
fn flows_that_the_kernel_forwards_lose_nothing_and_are_counted_once() {
    if !have(&["ip", "ping"]) {
        return;
    }
    forward_on(&[]);
    forward_on(&["--lock-down"]);
}

/// Replaces a switch with these options again and again, while frames of a flow are below.
fn forward_on(options: &[&str]) {
    let folder = Folder::new("below");
    let usual = ["--fail-mode", "secure", "--accelerate", "auto"];
    let mut lab = Lab::new(2, &[&usual, options].concat());
    let accelerator = |lab: &Lab| ctl(&lab.name, "accelerator");
    let standing = accelerator(&lab);
    if standing.starts_with("off") {
        assert!(std::env::var_os("CI").is_none(), "{standing}");
        println!("not run: {standing}");
        return;
    }
    lab.asks(&["add-flow", "priority=1,actions=normal"]);
    lab.all_ping();
    lab.asks(&[
        "add-flow",
        "cookie=5,priority=9,in_port=1,udp,actions=output:2",
    ]);
    let row = NumberedRow::start(&lab, Duration::from_millis(1));
    for _ in 0..5 {
        until("the flow is below", || {
            lab.asks(&["dump-flows"]);
            let text = accelerator(&lab);
            let below = text.lines().find_map(|line| line.strip_prefix("packets "));
            number(below.into_iter()) > 20
        });
        replace(&mut lab, &folder);
    }
    std::thread::sleep(Duration::from_millis(300));
    let (sent, came, _) = row.end();
    let all: Vec<u32> = (0..sent).collect();
    let lost = sent as usize - came.len().min(sent as usize);
    let jumps = came.windows(2).filter(|pair| pair[1] != pair[0] + 1);
    let jumps: Vec<_> = jumps.collect();
    assert!(
        came == all,
        "{lost} of {sent} lost, or not in order: {jumps:?}"
    );
    until("all is counted", || {
        packets(&lab, "cookie=0x5") == [u64::from(sent)]
    });
}

/// Frames are numbered and come every 50 us; the longest time without one tells how long the switch
/// did not forward, beside the longest before.
#[test]
#[ignore = "it measures: run it alone, with a released switch"]
fn how_long_a_switch_with_100_000_entries_does_not_forward() {
    const ENTRIES: u32 = 100_000;
    for (accelerate, has_states) in [("off", false), ("auto", false), ("off", true)] {
        let folder = Folder::new("pause");
        let mut lab = Lab::new(2, &["--accelerate", accelerate]);
        lab.all_ping();
        let address = |n: u32| std::net::Ipv4Addr::from(0x0b00_0000 + n);
        let line = |n: u32| format!("table=1,ip,nw_src={},actions=output:2\n", address(n));
        let flows: String = (0..ENTRIES).map(line).collect();
        fs::write(folder.file("flows"), flows).unwrap();
        lab.asks(&["add-flows", &folder.file("flows")]);
        lab.asks(&["add-flow", "priority=9,in_port=1,udp,actions=output:2"]);
        if has_states {
            lab.asks(&["state_mod", "table_config,table=5,stateful=1"]);
        }
        let row = NumberedRow::start(&lab, Duration::from_micros(50));
        std::thread::sleep(Duration::from_secs(2));
        let log = folder.file(&format!("log-{}", lab.switch.0.id()));
        replace(&mut lab, &folder);
        std::thread::sleep(Duration::from_secs(2));
        let (sent, came, gaps) = row.end();
        assert!(came.is_sorted() && came.len() > 10_000);
        let jumps = came.windows(2).filter(|pair| pair[1] != pair[0] + 1);
        let jumps: Vec<_> = jumps.map(|pair| pair[1] - pair[0] - 1).collect();
        let lost = sent as usize - came.len();
        println!(
            "--accelerate {accelerate}, states {has_states}: {lost} of {sent} lost: {jumps:?}"
        );
        println!("longest times without a frame: {:?}", &gaps[..5]);
        let log = fs::read_to_string(log).unwrap();
        println!(
            "{}",
            log.lines()
                .find(|line| line.contains("taken over"))
                .unwrap()
        );
    }
}
