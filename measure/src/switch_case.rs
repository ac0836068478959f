//! The cases that only switches can do: many rules, tables and masks, changes, packet-ins.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bofuss_oflib::Message;
use bofuss_oflib::message::FlowModCommand;

use crate::case::{BASE, Context, FRAMES, Figures, echoes, frames, spread};
use crate::net::HOST_PORT;
use crate::openflow::{self, adds, codec, encode, exact, mods};
use crate::traffic::{Load, flow_ports, random, send};

/// Echoes, each of a new flow.
const FIRST_ECHOES: usize = 1_000;
/// Changes a second, and how many at once, while traffic goes on.
const CHANGE_RATE: u64 = 10_000;
const CHANGES_AT_ONCE: u64 = 100;

/// Rules for the flows of a load, above the switch's own.
fn exact_rules(count: u32) -> impl Iterator<Item = String> {
    (0..count).map(|flow| {
        let (source, destination) = flow_ports(flow);
        let fields = exact(source, destination);
        format!("priority=20,in_port=1,{fields},actions=output:2")
    })
}

/// A rule for each flow.
pub fn rules(c: &Context<'_>) -> Figures {
    let mut session = c.forwarder.session()?;
    session.change(&adds(&codec(), exact_rules(c.parameter))?)?;
    frames(c, spread(c.parameter))
}

/// One rule a table, from each to the next.
pub fn tables(c: &Context<'_>) -> Figures {
    let last = c.parameter - 1;
    let chain = (0..c.parameter).map(|table| {
        let to = if table == last {
            "output:2".to_string()
        } else {
            format!("goto_table:{}", table + 1)
        };
        let fields = ["in_port=1", "ip", "udp", "nw_dst=10.9.0.0/16,ip"][table as usize % 4];
        format!("table={table},priority=20,{fields},actions={to}")
    });
    let mut session = c.forwarder.session()?;
    session.change(&adds(&codec(), chain)?)?;
    frames(c, Load::of(FRAMES))
}

/// Rules above the traffic's, each with a mask of its own.
pub fn masks(c: &Context<'_>) -> Figures {
    let rules = (0..c.parameter).map(|i| {
        let (source, destination) = (8 + i % 25, 8 + i / 25 % 25);
        format!(
            "priority={},udp,nw_src=203.0.113.0/{source},nw_dst=198.51.100.0/{destination},\
             actions=drop",
            100 + i
        )
    });
    let mut session = c.forwarder.session()?;
    session.change(&adds(&codec(), rules)?)?;
    frames(c, spread(1_000))
}

/// Adding rules, their memory, and their statistics.
pub fn flow_mods(c: &Context<'_>) -> Figures {
    let changes = adds(&codec(), exact_rules(c.parameter))?;
    let mut session = c.forwarder.session()?;
    let before = c.forwarder.status("VmRSS");
    let took = session.change(&changes)?;
    let kib = c.forwarder.status("VmRSS") - before;
    let (count, told) = session.flow_stats()?;
    let wanted = c.parameter as usize + BASE.len();
    if count != wanted {
        return Err(format!("{count} of {wanted} entries are told"));
    }
    let rules = f64::from(c.parameter);
    Ok(vec![
        rules / took.as_secs_f64(),
        kib * 1024.0 / rules,
        told.as_secs_f64() * 1000.0,
    ])
}

/// Adds and deletes rules that no frame of the load matches, at [`CHANGE_RATE`].
fn change_on(c: &Context<'_>, over: &AtomicBool) -> Result<u64, String> {
    let (mut session, codec) = (c.forwarder.session()?, codec());
    let mut next = random(11);
    let (start, mut made) = (Instant::now(), 0);
    while !over.load(Relaxed) {
        let flows: Vec<String> = (0..CHANGES_AT_ONCE / 2)
            .map(|_| format!("priority=20,in_port=3,{}", exact(next() as u16, 1)))
            .collect();
        let added = flows.iter().map(|flow| format!("{flow},actions=output:2"));
        let added: Vec<Message> = mods(&codec.catalogue, FlowModCommand::ADD, added)?;
        let gone = mods(&codec.catalogue, FlowModCommand::DELETE_STRICT, &flows)?;
        session.change(&encode(&codec, added.into_iter().chain(gone)))?;
        made += CHANGES_AT_ONCE;
        let due = start + Duration::from_nanos(made * 1_000_000_000 / CHANGE_RATE);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(made)
}

/// Frames while rules that no frame matches come and go.
pub fn churn(c: &Context<'_>) -> Figures {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| change_on(c, &over));
        let figures = frames(c, Load::of(FRAMES));
        over.store(true, Relaxed);
        let made = changing.join().map_err(|_| "the controller died")??;
        match made {
            0 => Err("no flow-mod was made".into()),
            _ => figures,
        }
    })
}

/// Runs `work` while a controller answers packet-ins; gives how many came, too.
fn with_controller<T>(
    c: &Context<'_>,
    install: bool,
    work: impl FnOnce() -> Result<T, String>,
) -> Result<(T, u64), String> {
    let mut session = c.forwarder.session()?;
    let miss = ["priority=15,in_port=1,actions=CONTROLLER:65535"];
    session.change(&adds(&openflow::codec(), miss)?)?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reacting = scope.spawn(|| session.react(install, &over));
        let done = work();
        over.store(true, Relaxed);
        let count = reacting.join().map_err(|_| "the controller died")??;
        let done = done.map_err(|e| format!("{e}, after {count} packet-ins"))?;
        Ok((done, count))
    })
}

/// Echoes of new flows, each through the controller.
pub fn first_packets(c: &Context<'_>) -> Figures {
    let (figures, count) = with_controller(c, true, || echoes(c, FIRST_ECHOES, true))?;
    // The kernel may give a port twice.
    match count * 10 >= FIRST_ECHOES as u64 * 9 {
        true => Ok(figures),
        false => Err(format!("{count} packet-ins for {FIRST_ECHOES} new flows")),
    }
}

/// Frames that all go to the controller.
pub fn packet_ins(c: &Context<'_>) -> Figures {
    let sending = || c.bed.host(false, || send(HOST_PORT, spread(1_000_000)));
    let (took, count) = with_controller(c, false, sending)?;
    Ok(vec![count as f64 / took.as_secs_f64()])
}
