//! The messages that `monitor` sends first: configuration, messages of extensions, and requests to
//! follow flow entries.

use bofuss_oflib::message::config::SwitchConfig;
use bofuss_oflib::message::multipart::flow_monitor::FlowMonitorFlags;
use bofuss_oflib::message::multipart::{FlowMonitorRequest, RequestBody};
use bofuss_oflib::message::{FlowMod, FlowModCommand};
use bofuss_oflib::text::{items, parse_flow};
use bofuss_oflib::types::MaxLen;
use bofuss_oflib::{Catalogue, Message};

use crate::verb::{Command, Made, Requests, misused};
use crate::words::Argument;
use crate::{Failure, extension};

/// The prefix of an argument that selects the flow entries to follow.
const WATCH: &str = "watch:";
/// ovs-ofctl's words that restrict what a monitor reports, each with the flag that it clears.
/// Without any of them, all flags are set.
const LEFT_OUT: [(&str, FlowMonitorFlags); 6] = [
    ("!initial", FlowMonitorFlags::INITIAL),
    ("!add", FlowMonitorFlags::ADD),
    ("!delete", FlowMonitorFlags::REMOVED),
    ("!modify", FlowMonitorFlags::MODIFY),
    ("!actions", FlowMonitorFlags::INSTRUCTIONS),
    ("!own", FlowMonitorFlags::NO_ABBREV),
];

/// Parses the arguments of `monitor`: a miss length, which becomes the configuration; `watch:`
/// arguments, which become one multipart request; and messages of extensions.
pub(crate) fn monitor(command: &Command, arguments: &[&str]) -> Made {
    let mut first = Vec::new();
    let mut monitors = Vec::new();
    for (place, argument) in arguments.iter().enumerate() {
        if let Some(watched) = argument.strip_prefix(WATCH) {
            let mut monitor = watch(watched, &command.catalogue)?;
            monitor.monitor_id = monitors.len() as u32;
            monitors.push(monitor);
        } else if argument.contains('(') {
            let value = extension::message(command, argument)?;
            first.push(Message::Experimenter(value));
        } else if place == 0 {
            let config = SwitchConfig {
                miss_send_len: MaxLen(Argument(argument).number(argument)?),
                ..SwitchConfig::default()
            };
            first.push(Message::SetConfig(config));
        } else {
            return misused();
        }
    }
    if !monitors.is_empty() {
        let request = RequestBody::FlowMonitor(monitors);
        first.push(Message::MultipartRequest(request.into()));
    }
    Ok(Requests::Monitor(first))
}

/// Reads `!initial,table=1,out_port=2,ip,nw_dst=10.0.0.1`: words of [`LEFT_OUT`], and a filter in
/// the syntax of ovs-ofctl's del-flows.
///
/// Errors: a word that is not understood, or a property that cannot filter.
fn watch(text: &str, catalogue: &Catalogue) -> Result<FlowMonitorRequest, Failure> {
    let mut flags = FlowMonitorFlags(0);
    for (_, flag) in LEFT_OUT {
        flags = flags | flag;
    }
    let mut filter = Vec::new();
    for item in items(text) {
        match LEFT_OUT.iter().find(|row| row.0 == item) {
            Some((_, flag)) => flags = flags.without(*flag),
            None => filter.push(item),
        }
    }
    let filter = filter.join(",");
    let entries = parse_flow(&filter, FlowModCommand::DELETE, catalogue)?;
    let meant = FlowMod {
        table_id: entries.table_id,
        out_port: entries.out_port,
        out_group: entries.out_group,
        command: entries.command,
        ..FlowMod::add(entries.fields.clone())
    };
    if entries != meant {
        let about = "a monitor has table, out_port, out_group, fields and !WORDs";
        return Err(Argument(text).wrong(text, about));
    }
    Ok(FlowMonitorRequest {
        out_port: entries.out_port,
        out_group: entries.out_group,
        flags,
        table_id: entries.table_id,
        fields: entries.fields,
        ..FlowMonitorRequest::default()
    })
}
