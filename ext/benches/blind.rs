//! Measures what the first packet of a flow costs with blind packet forwarding, and what the others
//! do, in memory and without any I/O.
//!
//! `cargo bench -p bofuss-ext --bench blind`. Tags are of the last of 1 to 4,096 keywords, so that
//! all trapdoors are tried. The cases take turns in each round; each checks that every packet left
//! by the port of its keyword. Reported is the median of its rounds: nanoseconds of this thread's
//! processor time for each packet. A packet of a known flow must not cost more than 1.5 times what
//! it costs where entries match both addresses, however many keywords there are.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use bofuss_datapath::{Asker, Config, Time};
use bofuss_ext::blind::{
    Keyword, MAX_TRAPDOORS, PredicateFields, PredicateMod, Trapdoor, TrapdoorMod,
};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::field::{IPV6_DST, IPV6_SRC};
use bofuss_oflib::message::{ControllerRole, FlowModCommand, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{ExtValue, Mac, PortNo, Version};
use bofuss_packet::craft;

use bofuss_ports::thread_time;
use common::Seen;

/// Frames that are given to the switch at a time.
const BATCH: usize = 32;
/// Rounds of each case; the median counts.
const ROUNDS: usize = 15;
/// Batches of a round.
const BATCHES: usize = 64;
/// Known flows.
const FLOWS: u128 = 1_000;
/// The most that a packet of a known flow may cost, as a multiple of one told apart by its
/// addresses.
const BOUND: f64 = 1.5;
/// The most nanoseconds that any packet may take: what others may have to wait for.
const MOST_NS: f64 = 500_000.0;
/// Where source and destination address begin in a frame with IPv6.
const SOURCE: usize = 14 + 8;
const DESTINATION: usize = SOURCE + 16;

/// A switch that knows some keywords, or matches addresses.
struct Case {
    keywords: u32,
    is_first: bool,
    datapath: Datapath,
    frames: Vec<Frame>,
    seen: Seen,
    nonce: u128,
    now: Time,
    costs: Vec<f64>,
}

fn trapdoor(keyword: u32) -> Trapdoor {
    Trapdoor(u128::from(keyword).to_be_bytes())
}

impl Case {
    /// Without keywords, entries match addresses. Flows are new ones if `is_first`.
    fn new(keywords: u32, is_first: bool) -> Self {
        let pool = Pool::new(1 << 24);
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let config = Config {
            secret: 0x1234_5678,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, Arc::clone(&catalogue), pool.clone());
        for hook in bofuss_ext::hooks(&catalogue) {
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
        // Without keywords, the first entry has every flow told apart by both addresses.
        let last = keywords.saturating_sub(1);
        let entries = if keywords == 0 {
            [
                "priority=1,ipv6,ipv6_src=ff::1,ipv6_dst=ff::2,actions=output:3".into(),
                "priority=0,actions=output:2".into(),
            ]
        } else {
            [
                format!("priority=1,blind_keyword={last},actions=output:2"),
                "priority=0,actions=output:3".into(),
            ]
        };
        for text in &entries {
            let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).unwrap();
            datapath.control(Time(0), seen).flow_mod(&flow).unwrap();
        }
        let rows = catalogue.values_of("blind");
        let mut changes = Vec::new();
        if keywords > 0 {
            let fields = PredicateFields::new(IPV6_SRC, IPV6_DST).unwrap();
            changes.push(ExtValue::typed(&rows[0], PredicateMod { table: 0, fields }));
        }
        for number in 0..keywords {
            let keyword = Keyword { table: 0, number };
            let trapdoor = trapdoor(number);
            changes.push(ExtValue::typed(&rows[1], TrapdoorMod { keyword, trapdoor }));
        }
        let asker = Asker {
            connection: 1,
            role: ControllerRole::EQUAL,
            version: Version::V1_3,
            form: 0,
        };
        for change in &changes {
            let mut calls = datapath.hook_calls(Time(0), seen);
            calls.message(asker, change).unwrap();
        }
        let datagram = craft::udp(1000, 7, b"0123456789abcdef");
        let ip = craft::ipv6(1.into(), 2.into(), 64, datagram);
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        let mut seen = Seen::default();
        seen.frames
            .resize_with(BATCH, || pool.frame(&bytes).unwrap());
        Self {
            keywords,
            is_first,
            datapath,
            frames: Vec::new(),
            seen,
            nonce: 0,
            now: Time(1),
            costs: Vec::new(),
        }
    }

    /// Gives a frame the next nonce, and the tag of the last keyword or an address.
    fn address(&mut self, frame: &mut Frame) {
        self.nonce += 1;
        if !self.is_first {
            self.nonce %= FLOWS;
        }
        let destination = match self.keywords.checked_sub(1) {
            Some(last) => trapdoor(last).tag(self.nonce),
            None => self.nonce,
        };
        let bytes = frame.bytes_mut();
        bytes[SOURCE..DESTINATION].copy_from_slice(&self.nonce.to_be_bytes());
        bytes[DESTINATION..][..16].copy_from_slice(&destination.to_be_bytes());
    }

    /// Sends the packets of one round, and notes their cost without that of making the frames.
    fn round(&mut self) {
        let mut spent = 0;
        let before = self.seen.left;
        for _ in 0..BATCHES {
            let mut frames = core::mem::take(&mut self.frames);
            frames.append(&mut self.seen.frames);
            for frame in &mut frames {
                self.address(frame);
            }
            self.now = self.now.after(1000);
            let start = thread_time();
            self.datapath
                .receive(self.now, PortNo(1), &mut frames, &mut self.seen);
            spent += (thread_time() - start).as_nanos() as u64;
            self.frames = frames;
        }
        let packets = (BATCHES * BATCH) as u64;
        assert_eq!(self.seen.left[2] - before[2], packets, "{}", self.name());
        assert_eq!(self.seen.left[3], before[3], "{}: no keyword", self.name());
        self.costs.push(spent as f64 / packets as f64);
    }

    fn name(&self) -> String {
        let packets = if self.is_first {
            "first packets"
        } else {
            "packets of known flows"
        };
        match self.keywords {
            0 => format!("{packets}, told apart by their addresses"),
            keywords => format!("{packets}, {keywords} keywords"),
        }
    }

    fn median(&mut self) -> f64 {
        self.costs.sort_by(f64::total_cmp);
        self.costs[self.costs.len() / 2]
    }
}

fn main() {
    let mut cases: Vec<Case> = [false, true]
        .into_iter()
        .flat_map(|is_first| {
            [0, 1, 10, 100, 1_000, MAX_TRAPDOORS as u32]
                .map(|keywords| Case::new(keywords, is_first))
        })
        .collect();
    for _ in 0..ROUNDS {
        cases.iter_mut().for_each(Case::round);
    }
    let address = cases[0].median();
    for case in &mut cases {
        let cost = case.median();
        println!("{}: {cost:.0} ns", case.name());
        assert!(cost <= MOST_NS, "{}: too much for one packet", case.name());
        assert!(
            case.is_first || cost <= address * BOUND,
            "{}: more than {BOUND} of {address:.0} ns",
            case.name()
        );
    }
}
