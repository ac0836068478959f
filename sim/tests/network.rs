//! Tests of what happens in small networks: frames, links, switches, controllers.

#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::rc::Rc;

use bofuss_agent::FailMode;
use bofuss_datapath::Time;
use bofuss_ext::queues;
use bofuss_frame::Frame;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Message, PortNo};
use bofuss_sim::controller::RulesController;
use bofuss_sim::host::{EndHost, Host, HostOutput, Outcome};
use bofuss_sim::{LinkConfig, Network, NetworkConfig, NodeId};

use crate::common::{Log, add_switch, connect_all, line_of_two, link};

#[test]
fn hosts_ping_through_two_switches_and_a_learning_controller() {
    let mut log = Log::default();
    let mut network = line_of_two(NetworkConfig::default());
    network.run_until(Time(10 * Time::SEC), &mut log).unwrap();
    let host: &EndHost = network.host_as(NodeId(2)).unwrap();
    let Outcome::Ping(pings) = host.outcome(0) else {
        panic!("its program pings");
    };
    assert_eq!((pings.sent, pings.received), (3, 3), "{log:?}");
    // Forth and back: 3 links of 10 us, and 98 bytes at 1 Gb/s on each. Only the first packets
    // go through the controller.
    let rtt = 2 * 3 * (10_000 + 98 * 8);
    assert_eq!(pings.rtts_ns[2], rtt);
    let first = log.lines_with("to_controller");
    assert_eq!(
        first.len(),
        6,
        "one ARP request and two first packets at each switch: {log:?}"
    );
}

#[test]
fn two_runs_are_byte_identical() {
    let mut logs = Vec::new();
    for _ in 0..2 {
        let mut log = Log::default();
        let mut network = line_of_two(NetworkConfig::default());
        network.run_until(Time(10 * Time::SEC), &mut log).unwrap();
        logs.push(log.0);
    }
    assert_eq!(logs[0], logs[1]);
}

/// Sends frames at once when the time comes, and keeps what arrives.
struct BurstHost {
    frames: Vec<Vec<u8>>,
    seen: Rc<RefCell<Vec<u8>>>,
}

impl Host for BurstHost {
    fn receive(&mut self, _: Time, frame: Frame, _: &mut HostOutput<'_>) {
        self.seen.borrow_mut().push(frame.bytes()[5]);
    }

    fn tick(&mut self, _: Time, out: &mut HostOutput<'_>) {
        for frame in self.frames.drain(..) {
            assert!(out.send_bytes(&frame));
        }
    }

    fn next_tick(&self) -> Option<Time> {
        (!self.frames.is_empty()).then_some(Time(Time::SEC))
    }
}

#[test]
fn a_port_with_queues_lets_them_decide_and_the_link_drops_nothing() {
    let mut network = Network::new(NetworkConfig::default());
    let s1 = add_switch(&mut network, "s1", FailMode::Secure);
    let seen = Rc::default();
    let mut burst = Vec::new();
    for last in [vec![1; 50], vec![2; 5]].concat() {
        let mut frame = vec![0; 500];
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, last]);
        burst.push(frame);
    }
    for (port, frames) in [(1, burst), (2, Vec::new())] {
        let seen = Rc::clone(&seen);
        let host = network.add_host(&format!("h{port}"), Box::new(BurstHost { frames, seen }));
        let config = LinkConfig {
            rate_bps: if port == 1 { 0 } else { 1_000_000 },
            queue_frames: if port == 1 { 100 } else { 3 },
            ..LinkConfig::default()
        };
        link(&mut network, (s1, port), (host, 1), config);
    }
    let catalogue = bofuss_ext::catalogue();
    let mut rules = RulesController::default();
    let mut messages = Vec::new();
    for (queue, priority) in [(1, 0), (2, 5)] {
        let spec = queues::parse(&format!("priority={priority}")).unwrap();
        let queue_mod = queues::modify(PortNo(2), QueueId(queue), &spec);
        messages.push(Message::Experimenter(queue_mod));
        let text = format!("dl_dst=02:00:00:00:00:0{queue},actions=set_queue:{queue},output:2");
        let flow = parse_flow(&text, FlowModCommand::ADD, &catalogue).unwrap();
        messages.push(Message::FlowMod(flow));
    }
    rules.add(s1, messages);
    connect_all(&mut network, Box::new(rules), &[s1], 1000);
    let mut log = Log::default();
    network.run_until(Time(2 * Time::SEC), &mut log).unwrap();
    assert_eq!(log.lines_with("refused"), Vec::<&str>::new());
    let seen: Vec<u8> = seen.borrow().clone();
    assert_eq!(log.lines_with("dropped"), Vec::<&str>::new());
    assert_eq!(seen.len(), 55);
    // The first frames of the lower queue were with the link before the higher ones came.
    assert_eq!(
        seen[..8].iter().filter(|&&last| last == 2).count(),
        5,
        "{seen:?}"
    );
}
