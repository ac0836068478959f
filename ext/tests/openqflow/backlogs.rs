//! Flows that are moved while their packets wait at a port keep their order.

use bofuss_oflib::PortNo;
use bofuss_oflib::wire::Text;
use bofuss_packet::craft;

use crate::{Bench, MS, ipv4, shares};

/// Packets of each flow in a burst.
const BURST: u32 = 10;

/// Two flows that send bursts, and what has left of them.
struct Bursts {
    switch: Bench,
    n_sent: u32,
    /// Of each flow, the number of its packet that left last, and by which port.
    last: [(u32, u32); 2],
    n_overtaken: usize,
}

impl Bursts {
    /// Sends a burst of both flows, and waits.
    fn burst(&mut self, then_ms: u64) {
        for number in 0..2 * BURST {
            self.n_sent += 1;
            let mut payload = [0; 958];
            payload[..3].copy_from_slice(b"P2P");
            payload[4..8].copy_from_slice(&self.n_sent.to_be_bytes());
            let frame = ipv4(1, craft::udp(1 + number as u16 % 2, 7, &payload));
            let mut frames = vec![self.switch.pool.frame(&frame).expect("there is room")];
            let now = self.switch.now;
            let Bench { switch, io, .. } = &mut self.switch;
            switch.receive(now, PortNo(1), &mut frames, io);
        }
        self.pass(then_ms);
    }

    fn pass(&mut self, ms: u64) {
        self.switch.pass(ms * MS);
        for (port, left) in self.switch.io.frames.drain(..) {
            let last = &mut self.last[usize::from(left[35]) - 1];
            let number = u32::from_be_bytes(left[46..50].try_into().expect("4 bytes"));
            self.n_overtaken += usize::from(number < last.0);
            *last = (number.max(last.0), port);
        }
    }

    /// In each round of 71 ms, the second burst comes 10 ms after the first, of which packets wait
    /// at port 2 for 16 ms.
    fn rounds(&mut self, n_rounds: u32) {
        for _ in 0..n_rounds {
            self.burst(10);
            self.burst(61);
        }
    }

    /// Has an engine move the first flow to port 3.
    fn write(&mut self, gap: &str) {
        let tuple = Text(&self.switch.flows("sport=1")[0].tuple).to_string();
        let write = format!("{tuple}{gap},port=3");
        self.switch.ask("qflow_write", &write).expect("it is there");
    }
}

#[test]
fn t17_t18_t19_a_flow_whose_packets_wait_keeps_its_order_however_it_is_moved() {
    type Act = fn(&mut Bursts);
    let moves: [(&str, Act, Act); 5] = [
        (
            "a signature",
            |_| {},
            |it| {
                let change = "add,id=1,pattern=503250,port=3";
                it.switch
                    .ask("qflow_signature_mod", change)
                    .expect("there is room");
            },
        ),
        // They are balanced 6 ms after the first burst of a round.
        (
            "links",
            |it| {
                let links = "gap_us=500,ports=2+3";
                it.switch
                    .ask("qflow_links_mod", links)
                    .expect("they are ports");
            },
            |_| {},
        ),
        ("a write", |_| {}, |it| it.write("")),
        ("a write with a gap", |_| {}, |it| it.write(",gap_us=500")),
        (
            "a return from failover",
            |it| {
                it.switch.port(3, false);
                let rule = "table=1,priority=9,udp,actions=qflow_forward(port=3,failover=2)";
                it.switch.flow(rule);
            },
            |it| it.switch.port(3, true),
        ),
    ];
    for discipline in ["weighted-priority", "fifo", "drr", "hfair", "ceta2"] {
        for (name, before, change) in moves {
            let mut bursts = Bursts {
                switch: shares::switch(discipline),
                n_sent: 0,
                last: Default::default(),
                n_overtaken: 0,
            };
            before(&mut bursts);
            bursts.rounds(5);
            assert_eq!(bursts.last.map(|(_, port)| port), [2; 2], "{name}");
            bursts.burst(5);
            change(&mut bursts);
            bursts.pass(5);
            bursts.burst(61);
            bursts.rounds(20);
            assert_eq!(bursts.n_overtaken, 0, "{discipline}: {name}");
            let ports = bursts.last.map(|(_, port)| port);
            assert!(ports.contains(&3), "{discipline}: {name}: {ports:?}");
        }
    }
}
