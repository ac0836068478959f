//! A switch whose known flows an accelerator forwards, which knows frames by their bytes, does what
//! the plain engine does: frames, counters of entries, tables and ports, timeouts.

use alloc::{boxed::Box, collections::BTreeMap, format, rc::Rc, string::String, vec, vec::Vec};
use core::cell::RefCell;

use bofuss_datapath::engine::ReviewScope;
use bofuss_datapath::{Engine, Time};
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::{Action, FieldSet, Mac, PortNo};
use bofuss_packet::{Packet, craft};

use super::stage::*;
use crate::{Accelerator, Datapath, Forwarded};

const PORTS: u32 = 3;
const OPERATIONS: usize = 20_000;

/// What the accelerator knows of a frame from a port.
#[derive(Debug, Default)]
struct Memory {
    known: BTreeMap<(PortNo, Vec<u8>), (u32, Vec<Action>)>,
    counted: Vec<Forwarded>,
    last: Vec<Forwarded>,
    forwarded: usize,
    /// How many of them were changed or left by several ports.
    changed: usize,
}

#[derive(Clone, Debug, Default)]
struct InMemory(Rc<RefCell<Memory>>);

impl InMemory {
    /// Forwards a frame if its flow is known. Returns what left, if so.
    fn forwards(&self, now: Time, from: PortNo, bytes: &[u8]) -> Option<Vec<(PortNo, Vec<u8>)>> {
        let memory = &mut *self.0.borrow_mut();
        let (flow, actions) = memory.known.get(&(from, bytes.into()))?;
        memory.forwarded += 1;
        memory.changed += usize::from(actions.len() > 1);
        let left = execute(actions, bytes);
        memory.counted.push(Forwarded {
            flow: *flow,
            from: Some(from),
            departures: left
                .iter()
                .map(|(to, bytes)| (*to, bytes.len() as u64))
                .collect(),
            packets: 1,
            bytes: bytes.len() as u64,
            used: now,
        });
        Some(left)
    }
}

/// What leaves of a frame by these actions.
fn execute(actions: &[Action], bytes: &[u8]) -> Vec<(PortNo, Vec<u8>)> {
    let frame = Pool::new(1 << 20).frame(bytes).expect("within the limit");
    let mut packet = Packet::new(frame, PortNo(0));
    let mut left = Vec::new();
    for action in actions {
        // An action on a header that the frame does not have does nothing.
        let _ = match action {
            Action::SetField(set) => packet.set_field(set.0.field, &set.0.value),
            Action::PushVlan(ty) => packet.push_vlan(ty.0),
            Action::PopVlan => packet.pop_vlan(),
            Action::DecNwTtl => packet.dec_nw_ttl(),
            Action::Output(output) => {
                left.push((output.port, packet.frame.bytes().to_vec()));
                Ok(())
            }
            other => panic!("{other:?} is not offered"),
        };
    }
    left
}

impl InMemory {
    fn flows(&self) -> Vec<u32> {
        let memory = self.0.borrow();
        let mut flows: Vec<u32> = memory.known.values().map(|known| known.0).collect();
        flows.sort_unstable();
        flows.dedup();
        flows
    }
}

impl Accelerator for InMemory {
    fn set_fields(&mut self, _: FieldSet) {
        assert!(self.is_empty(), "flows of another key are forgotten before");
    }

    fn takes_from(&self, _: PortNo) -> bool {
        true
    }

    fn offer(&mut self, flow: u32, frame: &Frame, from: PortNo, actions: &[Action]) -> bool {
        let mut memory = self.0.borrow_mut();
        let key = (from, frame.bytes().into());
        memory.known.insert(key, (flow, actions.into()));
        true
    }

    fn len(&self) -> usize {
        self.flows().len()
    }

    fn forget(&mut self, flows: &[u32]) {
        let memory = &mut *self.0.borrow_mut();
        memory.known.retain(|_, known| !flows.contains(&known.0));
        let is_gone = |one: &mut Forwarded| flows.contains(&one.flow);
        memory.last.extend(memory.counted.extract_if(.., is_gone));
    }

    fn forget_all(&mut self) {
        let flows = self.flows();
        self.forget(&flows);
    }

    fn take_last_counts(&mut self) -> Vec<Forwarded> {
        core::mem::take(&mut self.0.borrow_mut().last)
    }

    fn take_counts(&mut self) -> Vec<Forwarded> {
        let mut counts = self.take_last_counts();
        counts.append(&mut self.0.borrow_mut().counted);
        counts
    }
}

/// A frame of one of few flows.
fn frame(n: usize) -> Vec<u8> {
    let from = [10, 0, 0, (n % 3) as u8].into();
    let packet = craft::ipv4(
        from,
        [10, 9, 9, 9].into(),
        64,
        craft::udp(n as u16 / 3, 2, b"x"),
    );
    craft::ethernet(Mac([2; 6]), Mac([4; 6]), packet)
}

/// Applies an operation to both switches.
fn change(switches: &mut [Datapath; 2], now: Time, choice: usize, n: usize) {
    let (priority, port) = (n % 4, 1 + n % 5);
    let text = match choice {
        0 => format!("priority={priority},ip,actions=output:{port}"),
        1 => format!(
            "priority={priority},in_port={port},udp,nw_src=10.0.0.{}",
            n % 3
        ),
        2 => format!("idle_timeout=1,udp,udp_src={port},actions=output:{port}"),
        3 => format!("priority={priority},in_port=1,actions=write_metadata:{port},goto_table:1"),
        4 => format!("table=1,metadata={port},actions=output:{port}"),
        5 => format!("priority=9,udp,udp_src={port},actions=set_field:7->udp_src,output:2"),
        9 => format!(
            "priority={priority},udp,udp_src={port},actions=output:{port},dec_ttl,push_vlan:0x8100,\
             set_field:{}->vlan_vid,output:2,pop_vlan,set_field:10.1.1.1->ip_dst,output:3",
            n % 9
        ),
        _ => format!("table=1,metadata={port},actions=write_actions(dec_ttl,output:{port})"),
    };
    let sink = &mut Vec::<Frame>::new();
    for datapath in switches {
        match choice {
            0 | 2 | 4 | 5 | 9 | 10 => flow(datapath, &text),
            1 => flow(datapath, &format!("{text},actions=drop")),
            3 => flow(datapath, &text),
            6 => delete(datapath, "table=255,udp"),
            7 => delete(datapath, &format!("udp,udp_src={port}")),
            8 => {
                let bits = [
                    PortConfig::PORT_DOWN.0,
                    PortConfig::NO_FWD.0,
                    PortConfig::NO_RECV.0,
                ];
                let all = PortConfig(bits.iter().sum());
                let number = PortNo(port as u32);
                // Most ports are as usual most of the time.
                let config = bits.get(n / 5).copied().unwrap_or(0);
                let mut control = datapath.port_control(Time(0), sink);
                control.configure(number, PortConfig(config), all);
            }
            _ => datapath.tick(now, sink),
        }
        datapath.review(ReviewScope::All);
    }
}

#[test]
fn what_an_accelerator_forwards_is_what_the_plain_engine_does() {
    let accelerator = InMemory::default();
    let mut switches =
        [Engine::Cache, Engine::Reference].map(|engine| switch_of(with_engine(engine), 0, PORTS));
    let below = Box::new(accelerator.clone());
    switches[0].engine_mut().accelerate(below);
    let mut state = 5u64;
    let mut random = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % n
    };
    for step in 0..OPERATIONS {
        let now = Time(step as u64 * Time::SEC / 50);
        let from = PortNo(1 + random(PORTS as usize) as u32);
        let bytes = frame(random(12));
        let seen = switches.each_mut().map(|datapath| {
            let frame = datapath.pool().frame(&bytes).expect("within the limit");
            let is_plain = datapath.config().engine == Engine::Reference;
            if !is_plain && let Some(left) = accelerator.forwards(now, from, &bytes) {
                return left;
            }
            let mut seen = Seen::default();
            datapath.receive(now, from, &mut vec![frame], &mut seen);
            seen.left
        });
        assert_eq!(seen[0], seen[1], "step {step}");
        if random(40) == 0 {
            let (choice, n) = (random(13), random(60));
            change(&mut switches, now, choice, n);
        }
        if random(50) == 0 {
            let [with, without] = switches.each_mut().map(|datapath| {
                // Entries of the two may be in another order.
                let text = counters(datapath, 2);
                let mut parts: Vec<_> = text.split([',', '}']).map(String::from).collect();
                parts.sort();
                parts
            });
            assert_eq!(with, without, "step {step}");
        }
    }
    let memory = accelerator.0.borrow();
    let seen = [memory.forwarded, memory.changed];
    let enough = [OPERATIONS / 10, OPERATIONS / 40];
    assert!(seen[0] > enough[0] && seen[1] > enough[1], "{seen:?}");
}

#[test]
fn changes_take_back_only_the_flows_that_they_may_concern() {
    const FLOWS: u32 = 3000;
    let accelerator = InMemory::default();
    let mut datapath = switch_of(with_engine(Engine::Cache), 0, PORTS);
    datapath
        .engine_mut()
        .accelerate(Box::new(accelerator.clone()));
    flow(&mut datapath, "priority=1,udp,actions=output:2");
    flow(
        &mut datapath,
        "priority=2,udp,nw_src=10.9.0.1,actions=output:3",
    );
    let from = |n: u32| [10, 0, (n >> 8) as u8, n as u8];
    // The first frame of a flow is cached, and the second offers it.
    for n in (0..FLOWS).chain(0..FLOWS) {
        let packet = craft::ipv4(
            from(n).into(),
            [10, 9, 9, 9].into(),
            64,
            craft::udp(1, 2, b"x"),
        );
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), packet);
        let frame = datapath.pool().frame(&bytes).expect("within the limit");
        datapath.receive(Time(1), PortNo(1), &mut vec![frame], &mut Seen::default());
    }
    let below = || accelerator.len() as u32;
    assert_eq!(below(), FLOWS);
    for n in 2..100 {
        let text = format!("priority={n},udp,nw_src=10.9.0.{n},actions=output:3");
        flow(&mut datapath, &text);
        delete(&mut datapath, &format!("udp,nw_src=10.9.0.{n}"));
    }
    assert_eq!(below(), FLOWS, "these are of others");
    let [_, _, c, d] = from(5);
    let text = format!("priority=9,udp,nw_src=10.0.{c}.{d},actions=output:3");
    flow(&mut datapath, &text);
    assert_eq!(below(), FLOWS - 1, "this is of one");
    flow(
        &mut datapath,
        "priority=9,udp,nw_src=10.0.1.0/24,actions=output:3",
    );
    assert_eq!(below(), FLOWS - 1 - 256, "this is of a network");
    flow(&mut datapath, "priority=9,ip,actions=output:3");
    assert_eq!(below(), 0, "this is of all");
}
