//! The memory that switches take. The only test of its program, because the allocator counts the
//! memory of all tests.
#![allow(clippy::unwrap_used)]

use std::alloc::System;
use std::sync::Arc;

use bofuss_embed::{EmbeddedConfig, EmbeddedSwitch, FailMode, Time, port};
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Catalogue, Message, PortNo, Version};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A switch with eight ports and a hundred flows, which has learnt a hundred addresses.
fn busy_switch(catalogue: &Arc<Catalogue>) -> EmbeddedSwitch {
    let config = EmbeddedConfig {
        fail_mode: FailMode::Standalone,
        ..EmbeddedConfig::with_catalogue(catalogue.clone())
    };
    let mut switch = EmbeddedSwitch::new(Time(0), config).unwrap();
    for number in 1..=8 {
        switch
            .add_port(Time(0), port(number), Default::default())
            .unwrap();
    }
    let conn = switch.connect_typed(Time(0), Version::V1_3);
    for n in 0..100 {
        let flow = format!("priority=5,udp,tp_dst={n},actions=output:2");
        let flow = parse_flow(&flow, FlowModCommand::ADD, catalogue).unwrap();
        switch
            .message(Time(0), conn, 1, Message::FlowMod(flow))
            .unwrap();
    }
    for n in 0..100 {
        let mut frames = vec![switch.frame(&[2 * n; 60]).unwrap()];
        switch.receive(Time(0), PortNo(1), &mut frames).unwrap();
    }
    switch.drain().for_each(drop);
    switch
}

#[test]
fn a_thousand_switches_with_ports_and_flows_take_less_than_a_gigabyte() {
    const SWITCHES: usize = 100;
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let region = Region::new(ALLOCATOR);
    let switches: Vec<_> = (0..SWITCHES).map(|_| busy_switch(&catalogue)).collect();
    let held = region.change();
    drop(switches);
    let each = (held.bytes_allocated - held.bytes_deallocated) / SWITCHES;
    assert!(each < 1_000_000, "{each} bytes each");
}
