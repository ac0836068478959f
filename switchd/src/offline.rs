//! A switch for traces, built from a configuration and a file of flows; it opens no ports.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Request, SwitchIo};
use bofuss_channel::{read_input, read_text};
use bofuss_datapath::Time;
use bofuss_ext::Switch;
use bofuss_ext::openstate::AskedStates;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::wire::FixedStr;
use bofuss_oflib::{Action, Catalogue, Message, PortNo, Version};
use bofuss_sim::scenario::parse_rule;

use crate::config::{self, Config, DEFAULT_NAME, Options};
use crate::error::{Result, context};
use crate::run::make_switch;
use crate::runtime::POOL_BYTES;

/// The connection on which the lines of the file arrive.
const FILE: ConnId = ConnId(0);

/// Keeps the switch's messages; nothing else leaves it.
#[derive(Default)]
pub(crate) struct Replies(pub(crate) Vec<Message>);

impl SwitchIo for Replies {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn flush(&mut self) {}
    fn send(&mut self, _: ConnId, _: u32, message: Message) {
        self.0.push(message);
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// The configuration in a file, with the names of its ports in the catalogue. Without a file, that
/// of a switch without ports.
///
/// Errors: the file, the key, and what is wrong.
pub fn described(config: Option<&Path>, name: Option<&str>) -> Result<Config> {
    let mut read = match (config, name) {
        (Some(path), name) => read_file(path, name)?,
        (None, None) => Config {
            fail_mode: FailMode::Secure,
            ..Options::default().check()?
        },
        (None, Some(name)) => {
            return Err(format!("--switch {name}: --config FILE is required here").into());
        }
    };
    let names = read
        .ports
        .iter()
        .map(|port| (port.kind.name(), port.number));
    let catalogue = Catalogue::clone(&read.catalogue).with_ports(names.collect());
    read.catalogue = Arc::new(catalogue);
    Ok(read)
}

/// Builds the switch of a configuration and a file of flows; only the file is opened. If no ports
/// are configured, it has `in_port` and those that the flows name.
///
/// Errors: the file, the line, and what is wrong.
pub fn switch(config: &Config, flows: Option<&Path>, in_port: PortNo) -> Result<Switch> {
    let messages = match flows {
        Some(path) => mods(path, &config.catalogue)?,
        None => Vec::new(),
    };
    let mut ports: BTreeSet<PortNo> = config.ports.iter().map(|port| port.number).collect();
    if ports.is_empty() {
        let named = [in_port].into_iter().chain(outputs(&messages));
        ports.extend(named.filter(|port| port.is_port()));
    }
    let mut switch = make_switch(
        config,
        &Pool::new(POOL_BYTES),
        config.datapath_id.unwrap_or(1),
    )?;
    let mut io = Replies::default();
    for port_no in ports {
        let desc = desc(config, port_no);
        let can = OffloadCapabilities::default();
        switch.ports(Time(0), &mut io, |ports| ports.changed(desc, can));
    }
    for queue in &config.queues {
        let made = switch.modify_queue(Time(0), queue.port, queue.id, queue.spec);
        made.map_err(|error| format!("--queue {}:{}: {}", queue.port, queue.id, error.1))?;
    }
    switch.connected(Time(0), FILE, Version::V1_3, false);
    for (at, message) in messages {
        take(&mut switch, message, &mut io).map_err(context(at))?;
    }
    Ok(switch)
}

/// Asks the switch for its entries and states.
pub fn states(switch: &mut Switch) -> AskedStates {
    let mut asked = AskedStates::default();
    for question in AskedStates::questions() {
        let mut io = Replies::default();
        // A question that it refuses leaves nothing to draw.
        let _ = take(switch, question, &mut io);
        io.0.into_iter().for_each(|reply| asked.add(reply));
    }
    asked
}

/// Reads the configuration of the switch `name` from a file, or of the only one there. Options of
/// connections are left out, so that no TLS file is read.
fn read_file(path: &Path, name: Option<&str>) -> Result<Config> {
    let text = read_text(path).map_err(context(path.display()))?;
    let all = config::parsed(&text).map_err(context(path.display()))?;
    let mut switches = config::each(all);
    let names: Vec<String> = switches
        .iter()
        .map(|switch| switch.name.clone().unwrap_or(DEFAULT_NAME.into()))
        .collect();
    let at = match name {
        Some(name) => names.iter().position(|named| named == name),
        None => (names.len() == 1).then_some(0),
    };
    let Some(at) = at else {
        let path = path.display();
        let names = names.join(", ");
        return Err(
            format!("{path}: it has the switches {names}: choose one by --switch NAME").into(),
        );
    };
    let options = switches.swap_remove(at);
    let has_controller = !options.controllers.is_empty();
    let secure = has_controller.then(|| "secure".to_string());
    let options = Options {
        fail_mode: options.fail_mode.or(secure),
        controllers: Vec::new(),
        auxiliaries: Vec::new(),
        listen: Vec::new(),
        private_key: None,
        certificate: None,
        ca_cert: None,
        ..options
    };
    let checked = options.check();
    checked.map_err(|error| error.map(|wrong| config::in_file(path, &text, at, &wrong)))
}

/// A port with its link up, at the configured rate.
fn desc(config: &Config, port_no: PortNo) -> PortDesc {
    let spec = config.ports.iter().find(|port| port.number == port_no);
    PortDesc {
        port_no,
        name: FixedStr(spec.map_or_else(String::new, |port| port.kind.name())),
        curr_speed: spec.and_then(|port| port.rate_kbps).unwrap_or(0),
        ..PortDesc::default()
    }
}

/// Sends a message to the switch. Errors: the switch's.
fn take(switch: &mut Switch, message: Message, io: &mut Replies) -> Result<()> {
    io.0.clear();
    let request = Request {
        xid: 0,
        head: &[],
        message: Ok(message),
    };
    switch.message(Time(0), FILE, request, io);
    while switch.has_work(io) {
        switch.work(Time(0), io);
    }
    let catalogue = switch.datapath().catalogue();
    for message in &io.0 {
        if let Message::Error(error) = message {
            return Err(catalogue.error_text(error.error).into());
        }
    }
    Ok(())
}

/// A message, and the file and line that it comes from.
type SourcedMessage = (String, Message);

/// Reads a file of flows, groups (`group_id=`) and meters (`meter=`), one a line, as `ovs-ofctl`
/// reads or prints them, and of messages of extensions, as dpctl reads them:
/// `state_mod table_config,table=0,stateful=1`. Returns meters first, then groups, flows and the
/// messages of extensions.
fn mods(path: &Path, catalogue: &Catalogue) -> Result<Vec<SourcedMessage>> {
    let text = read_input(path).map_err(context(path.display()))?;
    let mut all = [const { Vec::new() }; 4];
    for (line, number) in text.lines().zip(1..) {
        let at = format!("{}, line {number}", path.display());
        let rule = parse_rule(line, catalogue).map_err(context(&at))?;
        if let Some((rank, message)) = rule {
            all[rank].push((at, message));
        }
    }
    Ok(all.into_iter().flatten().collect())
}

fn output_port(action: &Action) -> Option<PortNo> {
    if let Action::Output(output) = action {
        Some(output.port)
    } else {
        None
    }
}

/// The ports that the messages' output actions name.
fn outputs(messages: &[SourcedMessage]) -> impl Iterator<Item = PortNo> {
    let mut actions: Vec<&Action> = Vec::new();
    for (_, message) in messages {
        if let Message::FlowMod(flow) = message {
            actions.extend(flow.instructions.actions());
        } else if let Message::GroupMod(group) = message {
            actions.extend(group.buckets.iter().flat_map(|bucket| &bucket.actions));
        }
    }
    actions.into_iter().filter_map(output_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_its_line_and_key() {
        let path = std::env::temp_dir().join(format!("bofuss-offline-{}.toml", std::process::id()));
        std::fs::write(
            &path,
            "port = [\"1=mem\"]\n\nfield = [\"x=gre:0:8,number=1\"]\n",
        )
        .unwrap();
        let told = described(Some(&path), None).map(|_| ());
        std::fs::remove_file(&path).unwrap();
        let start = format!("{}, line 3: field x=gre:0:8,number=1: ", path.display());
        let told = told.unwrap_err();
        assert!(told.text.starts_with(&start), "{told}");
    }
}
