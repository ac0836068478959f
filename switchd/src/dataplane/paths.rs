//! What ARP-Path knows of hosts, for operators: parts of the list, and changes.

use bofuss_embed::record::RecordedInput;
use bofuss_ext::ValueList;
use bofuss_ext::arppath::{self, PathMod, PathRecord};
use bofuss_oflib::{ExtValue, Message, Version};
use serde_json::{Value, json};

use super::io::OPERATOR;
use super::lists::vlan;
use super::live_switch::LiveSwitch;
use crate::config::{PortSpec, address, station};
use crate::error::Result;

/// Hosts, and where the next part of the list begins.
type Part = (Vec<PathRecord>, Option<u64>);

/// The part of the list that begins at a place. Errors: why the extension does not tell.
pub(super) fn part(live: &mut LiveSwitch, from: u64) -> Result<Part> {
    let part = live.extension_part(&arppath::entries_request(), from)?;
    let value = part.value.as_ref();
    let records: Option<&ValueList<PathRecord>> = value.and_then(ExtValue::body);
    let records = records.map_or(Vec::new(), |list| list.0.clone());
    Ok((records, part.next))
}

/// A host as a row.
pub(super) fn row(record: &PathRecord) -> Value {
    json!({
        "mac": record.mac.to_string(), "vlan": vlan(record.vlan),
        "port_no": record.port.to_string(), "state": record.state_name(),
        "left_ms": record.left_ms, "via": format!("{:#x}", record.via),
    })
}

/// Carries out `flush-paths`, `add-path` or `del-path`. Errors: what is wrong with the argument, or
/// why ARP-Path refuses it.
pub(super) fn change(
    live: &mut LiveSwitch,
    ports: &[PortSpec],
    command: &str,
    argument: &str,
) -> Result<String> {
    let option = format!("{command} {argument}");
    let change = match command {
        "add-path" => {
            let ((vlan, mac), port) = station(&option, argument, ports)?;
            PathMod::Pin { vlan, mac, port }
        }
        "del-path" => {
            let (vlan, mac) = address(&option, argument)?;
            let known = part(live, arppath::place((vlan, mac)))?.0;
            let mut known = known.iter().take(1);
            if !known.any(|record| (record.vlan, record.mac) == (vlan, mac)) {
                return Err(format!("{option}: ARP-Path does not know this host").into());
            }
            PathMod::Delete {
                vlan: Some(vlan),
                mac: Some(mac),
                port: None,
            }
        }
        _ => PathMod::Flush,
    };
    tell_extension(live, arppath::change(change))
        .map_err(|error| format!("{}: {error}", option.trim_end()))?;
    Ok(String::new())
}

/// Gives an extension a message of an operator, on a connection of its own, so that it is
/// recorded and given to other workers as a controller's is.
///
/// Errors: why it is refused.
fn tell_extension(live: &mut LiveSwitch, value: ExtValue) -> Result<()> {
    let now = live.now();
    let version = Version::V1_5;
    live.give(
        now,
        |_| Some(RecordedInput::Connect(OPERATOR, version, false)),
        |switch, _| switch.connected(now, OPERATOR, version, false),
    );
    let message = Message::Experimenter(value);
    live.message(now, OPERATOR, 0, &[], message);
    live.give(
        now,
        |_| Some(RecordedInput::Disconnect(OPERATOR)),
        |switch, _| switch.disconnected(now, OPERATOR),
    );
    let replies = std::mem::take(&mut live.io_mut().for_operator);
    for reply in replies {
        if let Message::Error(error) = reply {
            let catalogue = live.switch().datapath().catalogue();
            return Err(catalogue.error_text(error.error).into());
        }
    }
    Ok(())
}
