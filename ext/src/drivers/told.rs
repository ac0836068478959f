//! Lines to drivers: what a controller sets, rules, and what is wrong with a line of theirs.

use alloc::{string::String, string::ToString, vec::Vec};

use bofuss_datapath::Entry;
use bofuss_oflib::message::port::{OpticalPortFeatures, OpticalPortMod};
use bofuss_oflib::message::{FlowMod, FlowModCommand, FlowRemoved};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ExtValue, Match, PortNo};
use serde_json::{Map, Value as Json, json};

use super::values::{Value, Values};
use super::wire::{DriverLine, ToldLine};
use super::{DRIVER_TOLD, VALUES};

/// The longest text of a rule, in bytes.
const MAX_RULE_BYTES: usize = 32_768;

/// A line to the driver of a port; ANY if it has none yet.
pub(super) fn told(port: PortNo, line: &Json) -> ExtValue {
    let line = DriverLine(line.to_string());
    ExtValue::typed(&VALUES[DRIVER_TOLD], ToldLine { port, line })
}

/// A line of the driver's is wrong.
pub(super) fn error(sentence: &str) -> Json {
    json!({ "error": sentence })
}

/// It drives a port of this name; `set` are the values that controllers have set, and how they have
/// configured an optical port.
pub(super) fn attached(
    port: PortNo,
    name: &str,
    set: &Values,
    optical: Option<&OpticalPortMod>,
) -> Json {
    let mut line = json!({ "port": port.0, "name": name });
    if !set.is_empty() {
        line["set"] = values(set);
    }
    if let Some(change) = optical {
        line["optical_mod"] = optical_mod(change);
    }
    line
}

/// Values as an object.
pub(super) fn values(values: &Values) -> Json {
    let rows = values.iter().map(|(name, value)| {
        let value = match value {
            Value::Number(number) => Json::from(*number),
            Value::Word(word) => Json::from(word.as_str()),
        };
        (name.to_string(), value)
    });
    Json::Object(rows.collect::<Map<_, _>>())
}

/// How a controller configures an optical port.
pub(super) fn optical_mod(change: &OpticalPortMod) -> Json {
    let flags = OpticalPortFeatures::NAMES.iter();
    let flags = flags.filter(|(flag, _)| change.configure.has(*flag));
    let configure: Vec<_> = flags.map(|(_, name)| *name).collect();
    json!({
        "configure": configure,
        "freq_lmda": change.freq_lmda,
        "fl_offset": change.fl_offset,
        "grid_span": change.grid_span,
        "tx_pwr": change.tx_pwr as i32,
    })
}

/// A flow-mod was carried out.
pub(super) fn rule(flow_mod: &FlowMod) -> Json {
    rule_line(flow_mod.command.to_string(), flow_mod.to_string())
}

/// An entry that is in a table already.
pub(super) fn rule_there(table: u8, fields: Match, entry: &Entry) -> Json {
    rule(&FlowMod {
        table_id: TableId(table),
        priority: entry.key.priority.0,
        cookie: entry.cookie,
        instructions: entry.instructions.clone(),
        ..FlowMod::add(fields)
    })
}

/// An entry has gone.
pub(super) fn rule_removed(removed: &FlowRemoved) -> Json {
    let flow_mod = FlowMod {
        command: FlowModCommand::DELETE_STRICT,
        table_id: removed.table_id,
        priority: removed.priority,
        cookie: removed.cookie,
        cookie_mask: u64::MAX,
        ..FlowMod::add(removed.fields.clone())
    };
    rule_line("delete".into(), flow_mod.to_string())
}

fn rule_line(command: String, flow: String) -> Json {
    if flow.len() > MAX_RULE_BYTES {
        return error("a rule is too long to be told");
    }
    json!({ "rule": command, "flow": flow })
}
