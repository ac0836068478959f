//! Tests of lines, of what they change, and of what controllers set, on a whole datapath.

use alloc::{string::String, sync::Arc, vec::Vec};

use bofuss_datapath::{Asker, Config, Engine, HookAnswer, Sink, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::error::PortModFailed;
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::message::port::{OpticalPortFeatures, OpticalPortMod, PortState};
use bofuss_oflib::message::property::ExperimenterProperty;
use bofuss_oflib::message::{
    ControllerRole, FlowModCommand, FlowRemoved, PortDesc, PortMod, PortStatusReason,
};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::wire::{Bytes, FixedStr, Text};
use bofuss_oflib::{ErrorCode, ExtValue, PortNo, Version};

use super::error::{NO_DRIVER, NOT_SETTABLE};
use super::line::{Line, MAX_LINE_BYTES};
use super::*;

/// What the switch told its controllers and drivers.
#[derive(Default)]
struct Told {
    ports: Vec<(PortStatusReason, PortDesc)>,
    values: Vec<String>,
}

impl Sink for Told {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn packet_in(&mut self, _: &bofuss_datapath::PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, reason: PortStatusReason, desc: &PortDesc) {
        self.ports.push((reason, desc.clone()));
    }
    fn notify(&mut self, value: &ExtValue) {
        self.values.push(alloc::format!("{}", Text(value)));
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

struct Switch {
    datapath: Datapath,
    told: Told,
    now: Time,
}

impl Switch {
    /// A switch with ports 1 and 2, of which the first has a driver.
    fn new() -> Self {
        let catalogue = Arc::new(crate::catalogue());
        let config = Config {
            engine: Engine::Cache,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, catalogue.clone(), Pool::new(1 << 20));
        datapath.add_hook(hook(&catalogue));
        let mut this = Self {
            datapath,
            told: Told::default(),
            now: Time(0),
        };
        this.add_port(1, PortState(0));
        this.add_port(2, PortState(0));
        assert_eq!(
            this.line(1, r#"{"port":"p1"}"#),
            r#"{"name":"p1","port":1}"#
        );
        this.told = Told::default();
        this
    }

    fn add_port(&mut self, number: u32, state: PortState) {
        let desc = PortDesc {
            port_no: PortNo(number),
            name: FixedStr(alloc::format!("p{number}")),
            state,
            ..PortDesc::default()
        };
        let mut ports = self.datapath.port_control(self.now, &mut self.told);
        ports.changed(desc, Default::default());
    }

    fn message(&mut self, connection: u64, value: &ExtValue) -> Result<HookAnswer, ErrorCode> {
        let asker = Asker {
            connection,
            role: ControllerRole::EQUAL,
            version: Version::V1_5,
            form: 0,
        };
        let mut calls = self.datapath.hook_calls(self.now, &mut self.told);
        calls.message(asker, value)
    }

    /// Sends a line of a driver; the answer, or nothing.
    fn line(&mut self, connection: u64, line: &str) -> String {
        let value = ExtValue::typed(&VALUES[DRIVER_LINE], DriverLine(line.into()));
        let answer = self.message(connection, &value).unwrap();
        let told = answer.replies.first().map(|value| value.body::<ToldLine>());
        told.flatten()
            .map_or(String::new(), |told| told.line.0.clone())
    }

    fn state(&self) -> PortState {
        self.datapath.ports()[&PortNo(1)].desc.state
    }

    fn port_mod(&mut self, port_mod: &PortMod) -> Result<bool, ErrorCode> {
        let taken = self.datapath.hooks().take_port_mod(port_mod)?;
        if taken {
            let mut calls = self.datapath.hook_calls(self.now, &mut self.told);
            calls.port_mod(port_mod);
        }
        Ok(taken)
    }

    fn flow_mod(&mut self, text: &str, command: FlowModCommand) {
        let flow = parse_flow(text, command, &crate::catalogue()).unwrap();
        let mut control = self.datapath.control(self.now, &mut self.told);
        control.flow_mod(&flow).unwrap();
        let mut calls = self.datapath.hook_calls(self.now, &mut self.told);
        calls.flow_mod_done(|_| None, &flow);
    }

    /// Lets a hundredth of a second pass.
    fn tick(&mut self) {
        self.now = self.now.after(Time::SEC / 100);
        self.datapath.tick(self.now, &mut self.told);
    }

    /// Returns how often a driver was told of a [`rule`].
    fn told_rule(&self, number: u32) -> usize {
        let lines = self.told.values.iter();
        lines.filter(|line| line.contains(&rule(number))).count()
    }

    fn leave(&mut self, connection: u64) {
        let mut calls = self.datapath.hook_calls(self.now, &mut self.told);
        calls.disconnected(connection);
        self.datapath.tick(self.now, &mut self.told);
    }
}

/// A rule for packets of port 2.
fn rule(number: u32) -> String {
    alloc::format!("priority={number},in_port=2,actions=drop")
}

fn set(values: &[(&str, i64)]) -> PortMod {
    let mut all = Values::default();
    for (name, number) in values {
        assert!(all.set(Name::new(name).unwrap(), Value::number(*number)));
    }
    PortMod {
        port_no: PortNo(1),
        experimenters: [ExperimenterProperty {
            experimenter: EXPERIMENTER,
            exp_type: VALUES_PROPERTY,
            data: Bytes(all.to_bytes()),
        }]
        .into(),
        ..PortMod::default()
    }
}

#[test]
fn what_a_driver_says_is_in_description_and_statistics_and_goes_with_it() {
    let mut switch = Switch::new();
    let line = r#"{"values":{"channel":36,"mode":"ap"},"counters":{"retries":7},"link":"down",
        "optical":{"supported":["TX_PWR"],"tx_pwr_min":-30,"tx_pwr_max":30},
        "optical_stats":{"flags":["RX_PWR"],"rx_pwr":-152}}"#;
    assert_eq!(switch.line(1, line), "");
    let port = &switch.datapath.ports()[&PortNo(1)];
    assert_eq!(port.desc.optical.unwrap().tx_pwr_min as i16, -30);
    assert_eq!(port.stats.optical.unwrap().rx_pwr as i16, -152);
    let values = Values::from_bytes(&port.desc.experimenters[0].data.0).unwrap();
    assert_eq!(alloc::format!("{}", Text(&values)), ",channel=36,mode=ap");
    assert_eq!(port.stats.experimenters[0].exp_type, COUNTERS_PROPERTY);
    assert!(switch.state().has(PortState::LINK_DOWN));
    assert_eq!(switch.told.ports.len(), 1);
    // Counters are not told, and neither is what was said before.
    switch.line(1, r#"{"counters":{"retries":8},"values":{"channel":36}}"#);
    assert_eq!(switch.told.ports.len(), 1);
    // The interface reports, comes up, and comes back: what the driver said stays.
    switch.add_port(1, PortState(0));
    assert!(switch.state().has(PortState::LINK_DOWN));
    switch
        .datapath
        .port_control(Time(0), &mut switch.told)
        .removed(PortNo(1));
    switch.add_port(1, PortState(0));
    assert!(switch.state().has(PortState::LINK_DOWN));
    switch.leave(1);
    let port = &switch.datapath.ports()[&PortNo(1)];
    assert_eq!((port.desc.optical, port.stats.optical), (None, None));
    assert!(port.desc.experimenters.is_empty() && switch.state().has(PortState::LIVE));
}

#[test]
fn a_link_is_up_only_if_both_interface_and_driver_say_so() {
    let mut switch = Switch::new();
    switch.add_port(1, PortState::LINK_DOWN);
    switch.line(1, r#"{"link":"up"}"#);
    assert!(switch.state().has(PortState::LINK_DOWN));
    switch.add_port(1, PortState(0));
    assert!(switch.state().has(PortState::LIVE));
    switch.line(1, r#"{"link":"down"}"#);
    assert_eq!(switch.state(), PortState::LINK_DOWN);
    switch.line(1, r#"{"link":"up"}"#);
    assert_eq!(switch.state(), PortState::LIVE);
}

#[test]
fn a_wrong_line_is_answered_by_a_sentence_and_changes_nothing() {
    let mut switch = Switch::new();
    switch.line(1, r#"{"values":{"channel":36}}"#);
    let before = switch.datapath.ports()[&PortNo(1)].clone();
    let many: Vec<_> = (0..33).map(|n| alloc::format!("\"v{n}\":1")).collect();
    let many = alloc::format!("{{\"values\":{{{}}}}}", many.join(","));
    let long = alloc::format!(
        "{{\"values\":{{\"a\":\"{}\"}}}}",
        "x".repeat(MAX_LINE_BYTES)
    );
    let deep = "[".repeat(4000);
    for (line, said) in [
        ("", "no JSON"),
        ("[]", "a line is an object"),
        ("{}", "says nothing"),
        (&deep, "no JSON: recursion limit"),
        (&many, "more than 32 values"),
        (&long, "at most 4096 bytes"),
        (r#"{"port":2}"#, "has port 1 already"),
        (r#"{"values":{"channel":NaN}}"#, "no JSON"),
        (
            r#"{"values":{"channel":1e999}}"#,
            "no JSON: number out of range",
        ),
        (r#"{"values":{"channel":1.5}}"#, "neither an integer"),
        (
            r#"{"values":{"channel":9007199254740992}}"#,
            "neither an integer",
        ),
        (r#"{"values":{"channel":true}}"#, "neither an integer"),
        (r#"{"values":{"channel":40,"b":"two words"}}"#, "nor a word"),
        (r#"{"values":{"port":1}}"#, "'port' is no name"),
        (r#"{"values":{"":1}}"#, "'' is no name"),
        (r#"{"values":[]}"#, "values is an object"),
        (
            r#"{"values":{"channel":40},"colour":1}"#,
            "no member 'colour'",
        ),
        (r#"{"values":{"channel":40},"link":"sideways"}"#, "link is"),
        (r#"{"values":{"channel":40},"settable":[1]}"#, "is no name"),
        (
            r#"{"values":{"channel":40},"optical":{"supported":["X"]}}"#,
            "list of names",
        ),
        (
            r#"{"values":{"channel":40},"optical":{"tx_pwr_max":70000}}"#,
            "of 16 bits",
        ),
        (
            r#"{"values":{"channel":40},"optical_stats":{"tx_freq_lmda":-1e9}}"#,
            "of 32 bits",
        ),
        (r#"{"event":"","values":{"channel":40}}"#, "is no name"),
        (r#"{"details":{}}"#, "no member 'details'"),
    ] {
        let answer = switch.line(1, line);
        assert!(
            answer.contains("error") && answer.contains(said),
            "{line}: {answer}"
        );
        let after = &switch.datapath.ports()[&PortNo(1)];
        assert_eq!(
            (&after.desc, &after.stats),
            (&before.desc, &before.stats),
            "{line}"
        );
    }
    for (line, said) in [
        (r#"{"port":3}"#, "no such port"),
        (r#"{"port":"eth9"}"#, "no such port"),
        (r#"{"port":-1}"#, "the number or the name"),
        (r#"{"port":1}"#, "port 1 has a driver already"),
        (r#"{"link":"up"}"#, "the first line names the port"),
    ] {
        let answer = switch.line(2, line);
        assert!(answer.contains(said), "{line}: {answer}");
    }
}

#[test]
fn controllers_set_what_the_driver_lets_them_and_a_new_driver_is_told_it() {
    let mut switch = Switch::new();
    assert_eq!(switch.port_mod(&set(&[("channel", 40)])), Err(NOT_SETTABLE));
    switch.line(
        1,
        r#"{"values":{"channel":36,"mode":"ap"},"settable":["channel","mode"]}"#,
    );
    switch.told = Told::default();
    assert_eq!(switch.port_mod(&set(&[("channel", 40)])), Ok(true));
    let told = r#"driver_told(port=1,{"set":{"channel":40}})"#;
    assert_eq!(switch.told.values, [told]);
    assert_eq!(switch.port_mod(&set(&[("mode", 1)])), Err(NOT_SETTABLE));
    assert_eq!(switch.port_mod(&set(&[("power", 1)])), Err(NOT_SETTABLE));
    assert_eq!(switch.port_mod(&PortMod::default()), Ok(false));
    let other = PortMod {
        port_no: PortNo(2),
        ..set(&[("channel", 1)])
    };
    assert_eq!(switch.port_mod(&other), Err(NO_DRIVER));
    let mut strange = set(&[("channel", 1)]);
    strange.experimenters[0].exp_type = 99;
    assert_eq!(switch.port_mod(&strange), Ok(false));
    switch.leave(1);
    assert_eq!(switch.port_mod(&set(&[("channel", 44)])), Err(NO_DRIVER));
    let answer = switch.line(7, r#"{"port":1}"#);
    assert_eq!(answer, r#"{"name":"p1","port":1,"set":{"channel":40}}"#);
}

#[test]
fn an_optical_port_is_configured_within_its_features() {
    let mut switch = Switch::new();
    let freq = OpticalPortFeatures::USE_FREQ | OpticalPortFeatures::TX_TUNE;
    let power = OpticalPortFeatures::TX_PWR;
    let config = |configure, freq_lmda, tx_pwr: i32| PortMod {
        port_no: PortNo(1),
        optical: Some(OpticalPortMod {
            configure,
            freq_lmda,
            tx_pwr: tx_pwr as u32,
            ..OpticalPortMod::default()
        }),
        ..PortMod::default()
    };
    let refused = Err(PortModFailed::BAD_CONFIG);
    let undriven = PortMod {
        port_no: PortNo(2),
        ..config(power, 0, 0)
    };
    assert_eq!(
        switch.port_mod(&undriven),
        Ok(false),
        "no hook knows it: BAD_CONFIG"
    );
    assert_eq!(switch.port_mod(&config(power, 0, 0)), refused);
    let optical = r#"{"optical":{"supported":["TX_TUNE","TX_PWR","USE_FREQ"],"tx_pwr_min":-30,
        "tx_pwr_max":30,"tx_min_freq_lmda":191000000,"tx_max_freq_lmda":196000000}}"#;
    assert_eq!(switch.line(1, optical), "");
    for (wanted, is_right) in [
        (config(power, 0, -30), true),
        (config(power, 0, 31), false),
        (config(power, 0, -31), false),
        (config(freq, 193_100_000, 99), true),
        (config(freq, 190_999_999, 0), false),
        (config(OpticalPortFeatures::TX_TUNE, 193_100_000, 0), false),
        (config(OpticalPortFeatures::RX_TUNE, 193_100_000, 0), false),
        (config(OpticalPortFeatures::USE_FREQ, 0, 0), false),
        (config(OpticalPortFeatures(0), 0, 0), false),
    ] {
        let answer = switch.port_mod(&wanted);
        assert_eq!(
            answer,
            if is_right { Ok(true) } else { refused },
            "{wanted:?}"
        );
    }
    assert!(switch.told.values[0].contains(r#""configure":["TX_PWR"]"#));
    // One that counts wavelengths.
    let wavelengths = r#"{"optical":{"supported":["RX_TUNE","TX_PWR"],"tx_pwr_min":-30,
        "tx_pwr_max":30,"rx_min_freq_lmda":153000,"rx_max_freq_lmda":156500}}"#;
    assert_eq!(switch.line(1, wavelengths), "");
    let tune = OpticalPortFeatures::RX_TUNE;
    assert_eq!(switch.port_mod(&config(power, 0, 5)), Ok(true));
    assert_eq!(switch.port_mod(&config(tune | power, 155_000, 5)), Ok(true));
    assert_eq!(switch.port_mod(&config(tune, 156_501, 0)), refused);
    // The same in all versions, as a message.
    for (text, answer) in [
        ("port=1,configure=TX_PWR,tx_pwr=-30", Ok(())),
        (
            "port=1,configure=TX_PWR,tx_pwr=-31",
            Err(PortModFailed::BAD_CONFIG),
        ),
        ("port=2,configure=TX_PWR", Err(NO_DRIVER)),
    ] {
        let body = PortOpticalSet::parse(text, &crate::catalogue()).unwrap();
        let value = ExtValue::typed(&VALUES[5], body);
        assert_eq!(switch.message(9, &value).map(|_| ()), answer, "{text}");
    }
    for wrong in [
        "port=x",
        "port=1,configure=X",
        "port=1,configure=TX_PWR,colour=1",
        "port=1",
    ] {
        assert!(
            PortOpticalSet::parse(wrong, &crate::catalogue()).is_err(),
            "{wrong}"
        );
    }
    assert!(switch.told.values[0].contains(r#""tx_pwr":-30"#));
}

#[test]
fn a_flood_of_events_is_told_at_its_rate_and_other_ports_have_their_own() {
    let mut switch = Switch::new();
    switch.line(2, r#"{"port":2}"#);
    let event = r#"{"event":"signal","details":{"dbm":-70}}"#;
    let told = |switch: &mut Switch, driver| {
        (0..1000)
            .filter(|_| switch.line(driver, event).is_empty())
            .count()
    };
    assert_eq!(told(&mut switch, 1), 200);
    assert_eq!(
        switch.told.values[0],
        "port_event(port=1,event=signal,dbm=-70)"
    );
    assert_eq!(told(&mut switch, 2), 200);
    switch.now = Time(Time::SEC / 10);
    assert_eq!(told(&mut switch, 1), 20);
    let link = switch.line(1, r#"{"link":"down"}"#);
    let limit = "more than 200 changes and events in a second";
    assert!(link.contains(limit), "{link}");
    assert_eq!(switch.line(1, r#"{"counters":{"n":1}}"#), "");
}

#[test]
fn a_driver_that_asks_is_told_the_rules_of_its_port() {
    let mut switch = Switch::new();
    switch.line(2, r#"{"port":2,"rules":true}"#);
    switch.flow_mod("in_port=1,actions=output:2", FlowModCommand::ADD);
    switch.flow_mod("in_port=2,priority=7,actions=output:1", FlowModCommand::ADD);
    switch.flow_mod("in_port=2", FlowModCommand::DELETE);
    let [add, delete] = &switch.told.values[..] else {
        panic!("{:?}", switch.told.values);
    };
    assert!(add.contains(r#""rule":"add""#) && add.contains("in_port=2,actions=output:1"));
    assert!(delete.contains(r#""rule":"delete""#) && delete.contains("priority=7,in_port=2"));
}

#[test]
fn a_driver_that_comes_late_is_told_the_rules_that_there_are() {
    let mut switch = Switch::new();
    for number in 0..100 {
        for port in [1, 2] {
            let text = alloc::format!("in_port={port},priority={number},actions=drop");
            switch.flow_mod(&text, FlowModCommand::ADD);
        }
    }
    switch.line(2, r#"{"port":2,"rules":true}"#);
    for tick in 1..20 {
        switch.tick();
        assert!(switch.told.values.len() <= 32 * tick);
    }
    assert_eq!(switch.told.values.len(), 100);
    assert!((0..100).all(|number| switch.told_rule(number) == 1));
}

#[test]
fn a_driver_that_comes_while_rules_change_is_told_all_of_them() {
    let mut switch = Switch::new();
    (0..100).for_each(|number| switch.flow_mod(&rule(number), FlowModCommand::ADD));
    switch.line(2, r#"{"port":2,"rules":true}"#);
    for _ in 0..10 {
        switch.tick();
        switch.flow_mod(&rule(100), FlowModCommand::ADD);
    }
    assert!((0..100).all(|number| switch.told_rule(number) > 0));
    // After the last change, all are told once more, and then no other.
    (0..20).for_each(|_| switch.tick());
    assert_eq!(switch.datapath.next_tick(), None);
}

#[test]
fn values_are_read_as_they_were_written_and_others_are_refused() {
    let mut values = Values::default();
    for (name, value) in [("a", "-5"), ("b", "qpsk"), ("c", "02:00:00:00:00:01")] {
        assert!(values.set(Name::new(name).unwrap(), Value::parse(value)));
    }
    let bytes = values.to_bytes();
    assert_eq!(Values::from_bytes(&bytes), Ok(values));
    for end in 1..bytes.len() {
        // A cut between two values leaves the first ones.
        let read = Values::from_bytes(&bytes[..end]);
        assert!(read.is_err() || [13, 22].contains(&end), "{end}");
    }
    assert!(Values::from_bytes(&[2, 0, 1, 1, b'a', b'b']).is_err());
    assert!(
        Values::from_bytes(&[1, 0, 1, 1, b'a', b'7']).is_err(),
        "a word that is a number"
    );
    assert!(matches!(
        Line::parse(r#"{"link":"up"}"#),
        Ok(Line::Report(_))
    ));
}
