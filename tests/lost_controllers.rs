//! Three controllers, any of which is lost while packets of a known flow pass.
#![allow(clippy::unwrap_used)]

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use bofuss_oflib::Message;
use bofuss_oflib::message::{ControllerRole, FlowModCommand, Role};
use bofuss_tests::{Lab, have, until};

mod controller;

use controller::{Controller, UDP_PORT, connections, flow, load};

/// Three controllers on TCP, any of which may be lost and come back.
struct Trio([Option<Controller>; 3]);

/// The TCP ports of the three.
const TRIO: [u16; 3] = [16684, 16685, 16686];

impl Trio {
    fn one(&self, at: usize) -> &Controller {
        self.0[at].as_ref().unwrap()
    }

    /// Starts one that is not there, and waits until the switch has connected.
    fn start(&mut self, at: usize) {
        self.0[at] = Some(Controller::new(&format!("ptcp:{}", TRIO[at]), None));
        until("it is connected", || {
            self.one(at).heard(|heard| heard.sender.is_some())
        });
    }

    /// Loses the master, makes the next one master, and lets the lost one come back as a slave.
    fn lose_master(&mut self, master: usize, generation: u64, lab: &Lab) {
        let (next, third) = ((master + 1) % 3, (master + 2) % 3);
        if master == 2 {
            // One that hangs is lost, too, though nothing closes its connection.
            self.one(master).heard(|heard| heard.sleeps = true);
        } else {
            self.0[master] = None;
        }
        self.one(next).role(ControllerRole::MASTER, generation);
        let text = format!("priority=1,cookie={generation},tcp,tp_dst={generation},actions=drop");
        self.one(next)
            .send(Message::FlowMod(flow(&text, FlowModCommand::ADD)));
        self.one(next).barrier();
        assert!(
            lab.asks(&["dump-flows"])
                .contains(&format!("cookie=0x{generation:x}"))
        );
        self.one(third)
            .send(Message::FlowMod(flow("", FlowModCommand::DELETE)));
        self.one(third).barrier();
        let refused = self
            .one(third)
            .heard(|heard| std::mem::take(&mut heard.errors));
        assert_eq!(refused.len(), 1, "a slave changes nothing: {refused:?}");
        assert!(refused[0].contains("IS_SLAVE"), "{refused:?}");
        until("the lost one is not connected", || {
            let lost = format!(":{}", TRIO[master]);
            let listed = connections(lab);
            let mut lines = listed.lines().filter(|line| line.contains(&lost));
            !lines.any(|line| {
                ["master", "slave", "equal"]
                    .iter()
                    .any(|r| line.contains(r))
            })
        });
        let is_master = format!(":{} master", TRIO[next]);
        assert!(
            connections(lab).contains(&is_master),
            "{}",
            connections(lab)
        );

        assert_eq!(
            self.one(next).packets().len(),
            0,
            "a known flow asks nobody"
        );

        self.0[master] = None;
        self.start(master);
        self.one(master).send(Message::RoleRequest(Role {
            role: ControllerRole::MASTER,
            generation_id: generation - 1,
            ..Role::default()
        }));
        self.one(master).barrier();
        let refused = self
            .one(master)
            .heard(|heard| std::mem::take(&mut heard.errors));
        assert!(
            refused[0].contains("STALE"),
            "it missed a generation: {refused:?}"
        );
        self.one(master).role(ControllerRole::SLAVE, generation);
        assert!(
            connections(lab).contains(&is_master),
            "{}",
            connections(lab)
        );
    }
}

/// Sets flags when dropped.
struct Ends<'a>([&'a AtomicBool; 2]);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        for flag in self.0 {
            flag.store(true, SeqCst);
        }
    }
}

/// The numbers of the packets that arrive at a socket, until `end` and those on the way.
fn arrivals(socket: &UdpSocket, end: &AtomicBool) -> Vec<u32> {
    socket
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let mut numbers = Vec::new();
    let mut payload = [0; 4];
    loop {
        match socket.recv(&mut payload) {
            Ok(_) => numbers.push(u32::from_be_bytes(payload)),
            Err(_) if end.load(SeqCst) => return numbers,
            Err(_) => (),
        }
    }
}

/// The datagrams that found the socket of this network full.
fn unread() -> u32 {
    // `/proc/net` would be that of the process, not of this thread.
    let counters = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let lines: Vec<&str> = counters
        .lines()
        .filter(|line| line.starts_with("Udp: "))
        .collect();
    let mut columns = lines[0].split(' ').zip(lines[1].split(' '));
    let full = columns.find(|(name, _)| *name == "RcvbufErrors");
    full.unwrap().1.parse().unwrap()
}

#[test]
fn a_known_flow_loses_no_packet_and_roles_follow_when_any_of_three_controllers_is_lost() {
    if !have(&["ip"]) {
        return;
    }
    let addresses = TRIO.map(|port| format!("tcp:127.0.0.1:{port}"));
    let mut words = vec!["--max-backoff", "1", "--inactivity-probe", "1"];
    for address in &addresses {
        words.extend(["--controller", address]);
    }
    let lab = Lab::new(2, &words);
    let mut trio = Trio([None, None, None]);
    for at in 0..3 {
        trio.start(at);
    }
    trio.one(0).role(ControllerRole::MASTER, 1);
    trio.one(1).role(ControllerRole::SLAVE, 1);
    trio.one(2).role(ControllerRole::SLAVE, 1);
    let known = flow(
        "priority=9,in_port=1,udp,actions=output:2",
        FlowModCommand::ADD,
    );
    trio.one(0).send(Message::FlowMod(known));
    trio.one(0).barrier();
    let socket = lab.host(2, || UdpSocket::bind(("10.0.0.2", UDP_PORT)).unwrap());
    let (stop, end) = (AtomicBool::new(false), AtomicBool::new(false));
    let (sent, arrived) = thread::scope(|scope| {
        let load = scope.spawn(|| load(&lab, 4, &stop));
        let arrive = scope.spawn(|| arrivals(&socket, &end));
        // If a check fails, both have to end, too.
        let _ends = Ends([&stop, &end]);
        for master in 0..3 {
            trio.lose_master(master, master as u64 + 2, &lab);
        }
        // All are lost: the switch goes on with what it has.
        trio.0 = [None, None, None];
        until("none is connected", || {
            let listed = connections(&lab);
            !listed.contains("master") && !listed.contains("slave")
        });
        thread::sleep(Duration::from_millis(300));
        stop.store(true, SeqCst);
        let sent = load.join().unwrap();
        end.store(true, SeqCst);
        (sent, arrive.join().unwrap())
    });
    assert!(sent > 1000, "{sent}");
    // On a busy machine the receiver may read too late, for which the switch cannot be blamed.
    let unread = lab.host(2, unread);
    assert!(arrived.windows(2).all(|pair| pair[0] < pair[1]), "in order");
    let count = arrived.len() as u32;
    assert_eq!(count + unread, sent, "each arrives; {unread} unread");
}
