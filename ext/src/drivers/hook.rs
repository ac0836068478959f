//! The behaviour: lines of drivers become properties of ports and events, and what controllers set
//! becomes lines to drivers.

use alloc::{boxed::Box, collections::BTreeMap, format, string::String, vec::Vec};

use bofuss_datapath::{ControlContext, Hook, HookEffect, Metric, MetricKind, ReplyPart, Time};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::field::IN_PORT;
use bofuss_oflib::message::{FlowMod, FlowModCommand, FlowRemoved, PortMod};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::be_number;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Match, PortNo};
use bofuss_packet::KeyMatch;
use serde_json::{Value as Json, json};

use super::error::NO_DRIVER;
use super::line::{Line, PortName, Report};
use super::optical::PortOpticalSet;
use super::port::{DrivenPort, MAX_DRIVERS, values_of};
use super::wire::{DriverLine, PortEvent, PortSet, PortValues};
use super::{DRIVER_TOLD, PORT_EVENT, PORT_OPTICAL, VALUES, told};
use crate::common::list::ValueList;

/// The most entries of a switch whose drivers are told those that there are; how many they are told
/// at a time, and how often.
const MAX_RULES: usize = 4096;
const RULES_PER_TICK: usize = 32;
const RULES_INTERVAL: u64 = Time::SEC / 100;

/// The hook, without drivers.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(Drivers::default())
}

#[derive(Default)]
struct Drivers {
    ports: BTreeMap<PortNo, DrivenPort>,
    /// Ports whose driver has gone, which controllers are not told yet.
    left: Vec<PortNo>,
    /// The time when further rules are told, to drivers that are told those that there are.
    rules_at: Time,
    /// Lines of drivers, and those of them that were refused.
    lines: u64,
    refused: u64,
}

impl Drivers {
    /// The port of a driver's connection.
    fn port_of(&self, connection: u64) -> Option<PortNo> {
        let mut ports = self.ports.iter();
        let found = ports.find(|(_, port)| port.connection == Some(connection));
        found.map(|(number, _)| *number)
    }

    /// Does what a line says. Returns the answer, if there is one.
    ///
    /// Errors: a sentence for the driver's author; then nothing has changed.
    fn obey(
        &mut self,
        cx: &mut ControlContext<'_>,
        connection: u64,
        line: &str,
    ) -> Result<Option<Json>, String> {
        let own = self.port_of(connection);
        match (Line::parse(line)?, own) {
            (Line::Attach { port, rules }, None) => {
                self.attach(cx, connection, &port, rules).map(Some)
            }
            (Line::Attach { .. }, Some(own)) => Err(format!("the driver has port {own} already")),
            (Line::Report(report), Some(own)) => self.report(cx, own, report).map(|()| None),
            (Line::Report(_), None) => Err("the first line names the port: {\"port\": 1}".into()),
        }
    }

    fn attach(
        &mut self,
        cx: &mut ControlContext<'_>,
        connection: u64,
        wanted: &PortName,
        rules: bool,
    ) -> Result<Json, String> {
        let mut ports = cx.ports().values().map(|port| &port.desc);
        let found = ports.find(|desc| match wanted {
            PortName::Number(number) => desc.port_no.0 == *number,
            PortName::Name(name) => desc.name.0 == *name,
        });
        let desc = found.ok_or("there is no such port")?;
        let (number, name) = (desc.port_no, desc.name.0.clone());
        let entries: usize = cx.tables().iter().map(|table| table.len()).sum();
        if rules && entries > MAX_RULES {
            return Err(format!("{entries} entries are too many to be told"));
        }
        let is_known = self.ports.contains_key(&number);
        if !is_known && self.ports.len() >= MAX_DRIVERS {
            return Err(format!("{MAX_DRIVERS} ports have, or had, a driver"));
        }
        let port = self.ports.entry(number).or_default();
        if port.connection.is_some() {
            return Err(format!("port {number} has a driver already"));
        }
        port.connection = Some(connection);
        port.rules = rules;
        port.next_rule = rules.then_some(0);
        cx.subscribe(&VALUES[DRIVER_TOLD], true);
        let set = (&port.wanted, port.wanted_optical.as_ref());
        Ok(told::attached(number, &name, set.0, set.1))
    }

    fn report(
        &mut self,
        cx: &mut ControlContext<'_>,
        own: PortNo,
        report: Report,
    ) -> Result<(), String> {
        let port = self.ports.get_mut(&own).ok_or("the port has gone")?;
        let properties = port.report(cx.now, &report)?;
        cx.set_properties(own, properties.clone());
        if let Some((event, values)) = report.event {
            let body = PortEvent {
                port: own,
                event,
                values,
            };
            cx.notify(ExtValue::typed(&VALUES[PORT_EVENT], body));
        }
        Ok(())
    }

    /// Tells drivers of a rule for packets of their ports. The order of entries may be another now,
    /// so who is being told those that there are is told them all once more when that is done.
    fn tell_rule(&mut self, cx: &mut ControlContext<'_>, fields: &Match, line: &Json) {
        for (number, port) in &mut self.ports {
            port.tells_again |= port.next_rule.is_some_and(|next| next > 0);
            if port.rules && is_for(*number, fields) {
                cx.notify(told::told(*number, line));
            }
        }
    }

    /// Tells a driver some of the rules that there are.
    fn tell_some_rules(cx: &mut ControlContext<'_>, number: PortNo, port: &mut DrivenPort) {
        let Some(next) = port.next_rule else {
            return;
        };
        let all = KeyMatch::new(&Match::default(), None);
        let mut lines = Vec::new();
        let mut visited = 0;
        let tables = (0..).zip(cx.tables());
        let entries = tables.flat_map(|(id, table)| {
            let entries = table.entries_within(&all);
            entries.map(move |entry| (id, table, entry))
        });
        for (id, table, entry) in entries.skip(next).take(RULES_PER_TICK) {
            visited += 1;
            let fields = table.fields_of(entry, cx.catalogue());
            if is_for(number, &fields) {
                lines.push(told::rule_there(id, fields, entry));
            }
        }
        let next = next + visited;
        let has_more = visited == RULES_PER_TICK && next < MAX_RULES;
        port.next_rule = if has_more {
            Some(next)
        } else {
            core::mem::take(&mut port.tells_again).then_some(0)
        };
        for line in lines {
            cx.notify(told::told(number, &line));
        }
    }
}

/// Returns true if a rule may match packets of a port.
fn is_for(port: PortNo, fields: &Match) -> bool {
    let in_port = fields
        .get(IN_PORT)
        .map(|field| be_number(field.value_bytes()));
    in_port.is_none_or(|value| value == u128::from(port.0))
}

impl Hook for Drivers {
    fn name(&self) -> &'static str {
        "drivers"
    }

    /// It does nothing to packets.
    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::None
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        _: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        if let Some(line) = value.body::<DriverLine>() {
            let connection = cx.asker.ok_or(BadRequest::BAD_EXP_TYPE)?.connection;
            self.lines += 1;
            let answer = self.obey(cx, connection, &line.0);
            let port = self.port_of(connection).unwrap_or(PortNo::ANY);
            match answer {
                Ok(Some(line)) => cx.reply(told::told(port, &line)),
                Ok(None) => {}
                Err(sentence) => {
                    self.refused += 1;
                    cx.reply(told::told(port, &told::error(&sentence)));
                }
            }
            return Ok(());
        }
        if let Some(wanted) = value.body::<PortOpticalSet>() {
            let port = self.ports.get_mut(&wanted.port).ok_or(NO_DRIVER)?;
            port.check_optical(&wanted.change)?;
            port.wanted_optical = Some(wanted.change);
            let line = json!({ "optical_mod": told::optical_mod(&wanted.change) });
            cx.notify(told::told(wanted.port, &line));
            return Ok(());
        }
        let wanted = value.body::<PortSet>().ok_or(BadRequest::BAD_EXP_TYPE)?;
        let port = self.ports.get_mut(&wanted.port).ok_or(NO_DRIVER)?;
        port.check_set(&wanted.values)?;
        port.want(&wanted.values);
        let line = json!({ "set": told::values(&wanted.values) });
        cx.notify(told::told(wanted.port, &line));
        Ok(())
    }

    /// A part for each port with a driver.
    fn on_multipart(
        &mut self,
        _: &mut ControlContext<'_>,
        row: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        let ports = self.ports.range(PortNo(from as u32)..);
        let mut ports = ports.filter(|(_, port)| port.connection.is_some());
        let first = ports.next();
        let next = ports.next().map(|(number, _)| number.0.into());
        let value = if row == PORT_OPTICAL {
            let optical = first.filter(|(_, port)| port.is_optical());
            let list = optical.map(|(number, port)| port.optical(*number));
            ExtValue::typed(request.row, ValueList(list.into_iter().collect()))
        } else {
            let list = first.map(|(number, port)| PortValues {
                port: *number,
                values: port.values.clone(),
                counters: port.counters.clone(),
                settable: port.settable.iter().cloned().collect(),
            });
            ExtValue::typed(request.row, ValueList(list.into_iter().collect()))
        };
        let value = Some(value);
        Ok(ReplyPart { value, next })
    }

    /// Errors: NO_DRIVER, BAD_VALUE, NOT_SETTABLE; PORT_MOD_FAILED/BAD_CONFIG for an optical port
    /// that cannot be so.
    fn takes_port_mod(&self, port_mod: &PortMod) -> Result<bool, ErrorCode> {
        let values = values_of(&port_mod.experimenters)?;
        if values.is_none() && !port_mod.experimenters.is_empty() {
            return Ok(false);
        }
        if values.is_none() && port_mod.optical.is_none() {
            return Ok(false);
        }
        let port = self.ports.get(&port_mod.port_no);
        let Some(port) = port.filter(|port| port.connection.is_some()) else {
            // Without a driver, a port is no optical one.
            return values.map_or(Ok(false), |_| Err(NO_DRIVER));
        };
        port.check_set(&values.unwrap_or_default())?;
        let optical = port_mod.optical.as_ref();
        optical.map_or(Ok(()), |change| port.check_optical(change))?;
        Ok(true)
    }

    fn on_port_mod(&mut self, cx: &mut ControlContext<'_>, port_mod: &PortMod) {
        let Some(port) = self.ports.get_mut(&port_mod.port_no) else {
            return;
        };
        let mut line = json!({});
        if let Ok(Some(values)) = values_of(&port_mod.experimenters) {
            port.want(&values);
            line["set"] = told::values(&values);
        }
        if let Some(change) = &port_mod.optical {
            port.wanted_optical = Some(*change);
            line["optical_mod"] = told::optical_mod(change);
        }
        cx.notify(told::told(port_mod.port_no, &line));
    }

    fn on_disconnect(&mut self, connection: u64) {
        if let Some(number) = self.port_of(connection) {
            self.left.push(number);
            self.ports.entry(number).or_default().leave();
        }
    }

    fn next_tick(&self) -> Option<Time> {
        if !self.left.is_empty() {
            return Some(Time(0));
        }
        let mut ports = self.ports.values();
        ports
            .any(|port| port.next_rule.is_some())
            .then_some(self.rules_at)
    }

    fn on_tick(&mut self, cx: &mut ControlContext<'_>) {
        for number in core::mem::take(&mut self.left) {
            let properties = self.ports.get(&number).map(DrivenPort::properties);
            cx.set_properties(number, properties.cloned().unwrap_or_default());
        }
        if self.rules_at <= cx.now {
            self.rules_at = Time(cx.now.0 + RULES_INTERVAL);
            for (number, port) in &mut self.ports {
                Self::tell_some_rules(cx, *number, port);
            }
        }
    }

    /// A port that comes back has the properties that its driver said.
    fn on_port_change(&mut self, cx: &mut ControlContext<'_>, number: PortNo, _: bool) {
        let said = self.ports.get(&number).map(DrivenPort::properties);
        if let Some(properties) = said.filter(|properties| **properties != Default::default()) {
            cx.set_properties(number, properties.clone());
        }
    }

    fn on_flow_mod(&mut self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {
        let deletes = [FlowModCommand::DELETE, FlowModCommand::DELETE_STRICT];
        // Entries that are removed are told one by one.
        if !deletes.contains(&flow_mod.command) && self.ports.values().any(|port| port.rules) {
            self.tell_rule(cx, &flow_mod.fields, &told::rule(flow_mod));
        }
    }

    fn on_flow_removed(&mut self, cx: &mut ControlContext<'_>, removed: &FlowRemoved) {
        if self.ports.values().any(|port| port.rules) {
            self.tell_rule(cx, &removed.fields, &told::rule_removed(removed));
        }
    }

    fn metrics(&self, _: Time, _: u64, list: &mut Vec<Metric>) -> Option<u64> {
        let has_driver = |port: &&DrivenPort| port.connection.is_some();
        let ports = self.ports.values().filter(has_driver).count() as u64;
        let (gauge, counter) = (MetricKind::Gauge, MetricKind::Counter);
        list.extend([
            Metric::only("ports", "Ports that have a driver", gauge, ports),
            Metric::only("lines", "Lines of drivers", counter, self.lines),
            Metric::only("refused", "Lines of drivers refused", counter, self.refused),
        ]);
        None
    }
}
