//! Measures what a packet costs with ARP-Path, compared with NORMAL, in memory and without any I/O.
//!
//! `cargo bench -p bofuss-ext --bench arp_path`. The cases take turns in each round; each checks
//! that every packet left by the port of its destination, and that none was flooded. Reported is
//! the median of its rounds: nanoseconds of this thread's processor time for each packet, and the
//! ratio to NORMAL, which must not exceed 1.15.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use bofuss_datapath::{Config, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use bofuss_ports::thread_time;
use common::Seen;

/// Frames that are given to the switch at a time.
const BATCH: usize = 32;
/// Rounds of each case; the median counts.
const ROUNDS: usize = 15;
/// Batches of a round.
const BATCHES: usize = 1 << 12;
/// The most that ARP-Path may cost, as a multiple of NORMAL.
const BOUND: f64 = 1.15;

/// The address of a host behind port 1 or 2.
fn mac(port: u8, host: usize) -> Mac {
    let [high, low] = (host as u16).to_be_bytes();
    Mac([2, 0, 0, port, high, low])
}

/// A switch through which hosts behind port 1 send to hosts behind port 2.
struct Case {
    name: &'static str,
    datapath: Datapath,
    frames: Vec<Frame>,
    seen: Seen,
    hosts: usize,
    now: Time,
    costs: Vec<f64>,
}

impl Case {
    fn new(name: &'static str, flow: Option<&str>, hosts: usize) -> Self {
        let pool = Pool::new(1 << 24);
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let config = Config {
            secret: 0x1234_5678,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, Arc::clone(&catalogue), pool.clone());
        for mut hook in bofuss_ext::hooks(&catalogue) {
            if hook.name() == "arppath" && flow.is_none() {
                hook.set_option("tables", "0").unwrap();
            }
            datapath.add_hook(hook);
        }
        let seen = &mut Seen::default();
        for port_no in (1..=3).map(PortNo) {
            let desc = PortDesc {
                port_no,
                ..PortDesc::default()
            };
            datapath
                .port_control(Time(0), seen)
                .changed(desc, OffloadCapabilities::default());
        }
        if let Some(flow) = flow {
            let flow = parse_flow(flow, FlowModCommand::ADD, &catalogue).unwrap();
            datapath.control(Time(0), seen).flow_mod(&flow).unwrap();
        }
        let mut this = Self {
            name,
            datapath,
            frames: Vec::new(),
            seen: Seen::default(),
            hosts,
            now: Time(1),
            costs: Vec::new(),
        };
        for host in 0..hosts {
            for port in [1, 2] {
                let arp = craft::arp(
                    1,
                    mac(port, host),
                    [0; 4].into(),
                    Mac([0; 6]),
                    [0; 4].into(),
                );
                let request = craft::ethernet(Mac([0xff; 6]), mac(port, host), arp);
                let mut frames = vec![pool.frame(&request).unwrap()];
                let port = PortNo(port.into());
                let now = this.now;
                this.datapath
                    .receive(now, port, &mut frames, &mut this.seen);
            }
        }
        let datagram = craft::udp(1000, 7, b"0123456789abcdef");
        let ip = craft::ipv4([10, 0, 0, 1].into(), [11, 0, 0, 1].into(), 64, datagram);
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        this.seen.frames.clear();
        this.seen.left = [0; 4];
        this.seen
            .frames
            .resize_with(BATCH, || pool.frame(&bytes).unwrap());
        this
    }

    /// Sends the packets of one round, and notes their cost without that of making the frames.
    fn round(&mut self) {
        let mut spent = 0;
        let before = self.seen.left;
        for batch in 0..BATCHES {
            self.frames.append(&mut self.seen.frames);
            for (number, frame) in self.frames.iter_mut().enumerate() {
                let host = (batch * BATCH + number) % self.hosts;
                let bytes = frame.bytes_mut();
                bytes[..6].copy_from_slice(&mac(2, host).0);
                bytes[6..12].copy_from_slice(&mac(1, host).0);
            }
            self.now = self.now.after(1000);
            let start = thread_time();
            self.datapath
                .receive(self.now, PortNo(1), &mut self.frames, &mut self.seen);
            spent += (thread_time() - start).as_nanos() as u64;
        }
        let packets = (BATCHES * BATCH) as u64;
        assert_eq!(self.seen.left[2] - before[2], packets, "{}", self.name);
        assert_eq!(self.seen.left[3], before[3], "{}: flooded", self.name);
        self.costs.push(spent as f64 / packets as f64);
    }

    fn median(&mut self) -> f64 {
        self.costs.sort_by(f64::total_cmp);
        self.costs[self.costs.len() / 2]
    }
}

fn main() {
    for hosts in [1, 1000] {
        let mut cases = [
            Case::new("NORMAL", Some("priority=0,actions=NORMAL"), hosts),
            Case::new("arp_path", Some("priority=0,actions=arp_path"), hosts),
            Case::new("arp_path, on a miss", None, hosts),
        ];
        for _ in 0..ROUNDS {
            cases.iter_mut().for_each(Case::round);
        }
        let normal = cases[0].median();
        for case in &mut cases {
            let cost = case.median();
            let share = cost / normal;
            println!(
                "{hosts} hosts, {}: {cost:.1} ns, {share:.2} of NORMAL",
                case.name
            );
            assert!(share <= BOUND, "{}: more than {BOUND}", case.name);
        }
    }
}
