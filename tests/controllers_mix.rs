//! Three controllers, by TCP, TLS and a unix socket, whose roles change while packets come.
#![allow(clippy::unwrap_used)]

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use bofuss_channel::{Tls, TlsFiles};
use bofuss_oflib::message::flow_mod::FlowModFlags;
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::message::{AsyncConfig, ControllerRole, Empty, FlowModCommand, PortMod};
use bofuss_oflib::{Mac, Message, PortNo};
use bofuss_tests::{Lab, have, ok, until};

mod controller;
mod pki;

use controller::{Controller, connections, flow, load};
use pki::Pki;

/// The addresses on which two of the three listen, and those to which the switch connects.
const TCP: (&str, &str) = ("ptcp:16681", "tcp:127.0.0.1:16681");
const SSL: (&str, &str) = ("pssl:16682", "ssl:127.0.0.1:16682");

/// Makes the switch send every packet to the controllers.
fn ask_for_packets(controller: &Controller) {
    let miss = "priority=0,actions=controller:65535";
    controller.send(Message::FlowMod(flow(miss, FlowModCommand::ADD)));
    controller.barrier();
}

/// Waits until the switch has passed on all packets that were sent.
fn no_more_packets_come(controllers: &[Controller]) {
    let counts = || -> Vec<usize> {
        let packets = controllers.iter().map(Controller::packets);
        packets.map(|packets| packets.len()).collect()
    };
    let mut came = counts();
    until("no more packets come", || {
        thread::sleep(Duration::from_millis(150));
        controllers.iter().for_each(Controller::barrier);
        std::mem::replace(&mut came, counts()) == came
    });
}

fn is_rising(numbers: &[u32]) -> bool {
    numbers.windows(2).all(|pair| pair[0] < pair[1])
}

/// The three, and a switch with `more` arguments that is connected to them, with certificates from
/// `pki`.
fn three(pki: &Pki, more: &[&str]) -> ([Controller; 3], Lab) {
    pki.ca("ca");
    pki.sign("ca", "controller", "IP:127.0.0.1");
    pki.sign("ca", "switch", "DNS:switch");
    let tls = Tls::load(TlsFiles {
        private_key: pki.path("controller-privkey.pem").into(),
        certificate: pki.path("controller-cert.pem").into(),
        ca_cert: pki.path("ca-cert.pem").into(),
        any_peer_name: false,
    });
    let socket = pki.path("controller.sock");
    let controllers = [
        Controller::new(TCP.0, None),
        Controller::new(SSL.0, Some(tls.unwrap())),
        Controller::new(&format!("punix:{socket}"), None),
    ];
    let unix = format!("unix:{socket}");
    let mut words = vec![
        "--controller",
        TCP.1,
        "--controller",
        SSL.1,
        "--controller",
        &unix,
    ];
    let tls = pki.options("switch", "ca-cert.pem");
    words.extend(tls.iter().map(String::as_str).chain(more.iter().copied()));
    let lab = Lab::new(2, &words);
    for controller in &controllers {
        until("each is connected", || {
            controller.heard(|heard| heard.sender.is_some())
        });
    }
    (controllers, lab)
}

#[test]
fn roles_change_under_load_and_each_message_reaches_whom_it_should() {
    if !have(&["ip", "openssl"]) {
        return;
    }
    let pki = Pki::new("mix");
    let (controllers, lab) = three(&pki, &[]);
    let [one, two, equal] = &controllers;
    ask_for_packets(equal);
    one.role(ControllerRole::MASTER, 1);
    two.role(ControllerRole::SLAVE, 1);
    let end = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let load = scope.spawn(|| load(&lab, 4, &end));
        // One of the two is master, the other slave; the third is equal and changes entries, ports.
        for generation in 2..42u64 {
            let (next, config) = if generation % 2 == 0 {
                (two, PortConfig::NO_FWD)
            } else {
                (one, PortConfig(0))
            };
            next.role(ControllerRole::MASTER, generation);
            let text = format!("priority=9,cookie={generation},udp,tp_src=1,actions=drop");
            let mut entry = flow(&text, FlowModCommand::ADD);
            entry.flags = FlowModFlags::SEND_FLOW_REM;
            equal.send(Message::FlowMod(entry));
            equal.send(Message::FlowMod(flow(
                "udp,tp_src=1",
                FlowModCommand::DELETE,
            )));
            equal.send(Message::PortMod(PortMod {
                port_no: PortNo(2),
                hw_addr: hw_addr(&lab),
                config,
                mask: PortConfig::NO_FWD,
                ..PortMod::default()
            }));
            equal.barrier();
            thread::sleep(Duration::from_millis(60));
        }
        end.store(true, SeqCst);
        load.join().unwrap()
    });
    no_more_packets_come(&controllers);

    let [first, second, all] = [one, two, equal].map(Controller::packets);
    assert!(
        all.len() as u32 > sent / 2,
        "{} of {sent} packets",
        all.len()
    );
    assert!(
        [&first, &second, &all]
            .iter()
            .all(|numbers| is_rising(numbers))
    );
    // Each packet reached the equal one, and exactly one of the two: whichever was master.
    let mut either = [&first[..], &second[..]].concat();
    either.sort_unstable();
    assert_eq!(either, all);
    assert!(!first.is_empty() && !second.is_empty());
    let removed = |controller: &Controller| controller.heard(|heard| heard.removed.clone());
    let cookies: Vec<u64> = (2..42).collect();
    assert_eq!(removed(equal), cookies);
    assert_eq!(
        removed(two),
        cookies
            .iter()
            .copied()
            .filter(|c| c % 2 == 0)
            .collect::<Vec<_>>()
    );
    assert_eq!(
        removed(one),
        cookies
            .iter()
            .copied()
            .filter(|c| c % 2 == 1)
            .collect::<Vec<_>>()
    );
    for controller in &controllers {
        let (ports, errors, ended) =
            controller.heard(|heard| (heard.ports.clone(), heard.errors.clone(), heard.ended));
        let changes: Vec<_> = ports.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(
            ports.len() >= 40 && changes.is_empty(),
            "each change once: {ports:?}"
        );
        assert!(errors.is_empty() && !ended, "{errors:?}");
    }
    assert!(!connections(&lab).contains("lost"), "{}", connections(&lab));
}

#[test]
fn a_slave_may_ask_for_packets_and_those_that_a_slow_controller_loses_are_counted() {
    if !have(&["ip", "openssl"]) {
        return;
    }
    let pki = Pki::new("slow");
    let (controllers, lab) = three(&pki, &[]);
    let [master, slave, slow] = &controllers;
    ask_for_packets(master);
    master.role(ControllerRole::MASTER, 1);
    slave.role(ControllerRole::SLAVE, 1);
    slave.send(Message::SetAsync(AsyncConfig {
        packet_in_slave: 0b11,
        ..AsyncConfig::INITIAL
    }));
    slave.barrier();
    slow.barrier();
    slow.heard(|heard| heard.sleeps = true);
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let load = scope.spawn(|| load(&lab, 1400, &end));
        until("the one that sleeps loses packets", || {
            connections(&lab).contains("packet-ins lost")
        });
        end.store(true, SeqCst);
        load.join().unwrap()
    });
    slow.heard(|heard| heard.sleeps = false);
    no_more_packets_come(&controllers);
    let told = connections(&lab);
    let [all, also, some] = [master, slave, slow].map(Controller::packets);
    assert_eq!(all, also);
    assert!(is_rising(&all) && is_rising(&some));
    let line = told.lines().find(|line| line.starts_with("unix:")).unwrap();
    let count = line
        .split('(')
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let lost: usize = count.unwrap().parse().unwrap();
    assert_eq!(some.len() + lost, all.len(), "{told}");
    assert!(!slow.heard(|heard| heard.ended));
    assert_eq!(told.matches("lost").count(), 1, "{told}");
    for role in [
        "tcp:127.0.0.1:16681 master",
        "ssl:127.0.0.1:16682 slave",
        " equal OpenFlow 1.5 (",
    ] {
        assert!(told.contains(role), "{told}");
    }
}

#[test]
#[ignore = "it makes 100,000 entries"]
fn a_connection_that_would_lose_a_flow_removed_is_closed_and_the_others_get_each() {
    if !have(&["ip", "openssl"]) {
        return;
    }
    let pki = Pki::new("closed");
    let (controllers, lab) = three(&pki, &["--inactivity-probe", "0"]);
    let [master, other, slow] = &controllers;
    slow.barrier();
    slow.heard(|heard| heard.sleeps = true);
    let closed = "controller.sock: disconnected: the peer does not read what it is sent";
    let mut made = 0;
    while !lab.log().contains(closed) {
        assert!(made < 500_000, "{}", connections(&lab));
        for _ in 0..1000 {
            let mut entry = flow("in_port=1,actions=drop", FlowModCommand::ADD);
            entry.flags = FlowModFlags::SEND_FLOW_REM;
            entry.cookie = made;
            master.send(Message::FlowMod(entry));
            master.send(Message::FlowMod(flow("", FlowModCommand::DELETE)));
            made += 1;
        }
        master.barrier();
    }
    other.barrier();
    for controller in [master, other] {
        let removed = controller.heard(|heard| heard.removed.clone());
        assert!(removed.into_iter().eq(0..made), "each has come, in order");
    }
    // It can ask for what it missed: the switch connects again at once.
    slow.heard(|heard| heard.sleeps = false);
    until("it is connected again", || {
        slow.heard(|heard| heard.ended && heard.more.len() == 1)
    });
}

#[test]
fn packets_come_by_the_auxiliary_connection_and_it_ends_with_the_main_one() {
    if !have(&["ip"]) {
        return;
    }
    let controller = Controller::new("ptcp:16683", None);
    let lab = Lab::new(
        2,
        &[
            "--controller",
            "tcp:127.0.0.1:16683",
            "--aux",
            "tcp",
            "--aux",
            "tcp",
        ],
    );
    until("both auxiliary connections are there", || {
        controller.heard(|heard| heard.more.len() == 2)
    });
    controller.heard(|heard| {
        for sender in heard.sender.iter().chain(&heard.more) {
            sender.send(1, Message::FeaturesRequest(Empty));
        }
    });
    until("each says its number", || {
        controller.heard(|heard| heard.auxiliary_ids.len() == 3)
    });
    controller.heard(|heard| heard.auxiliary_ids.sort_unstable());
    assert_eq!(
        controller.heard(|heard| heard.auxiliary_ids.clone()),
        [0, 1, 2]
    );
    ask_for_packets(&controller);
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let load = scope.spawn(|| load(&lab, 4, &end));
        until("packets come", || controller.packets().len() > 100);
        end.store(true, SeqCst);
        load.join().unwrap()
    });
    let by_main = controller.heard(|heard| heard.packets.iter().any(|(_, is_first)| *is_first));
    assert!(!by_main && is_rising(&controller.packets()));
    controller.heard(|heard| heard.sender = None);
    until("the main one ends", || {
        controller.heard(|heard| heard.ended)
    });
    let start = Instant::now();
    until("the auxiliary ones are closed", || {
        controller.heard(|heard| heard.more_ended == 2)
    });
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// The MAC address of port 2.
fn hw_addr(lab: &Lab) -> Mac {
    let text = ok(Command::new("ip").args(["-o", "link", "show", &lab.port(2)]));
    let address = text.split("link/ether ").nth(1).unwrap();
    let mut bytes = [0; 6];
    for (byte, digits) in bytes.iter_mut().zip(address[..17].split(':')) {
        *byte = u8::from_str_radix(digits, 16).unwrap();
    }
    Mac(bytes)
}
