//! The VLANs of ports for NORMAL, from the options that are named as in Open vSwitch.

use std::collections::BTreeMap;

use bofuss_datapath::{PortVlans, VlanMode};
use bofuss_oflib::PortNo;

use super::Options;
use super::ports::{PortSpec, existing, number_of};
use crate::error::Result;

/// The modes of a port, by name.
const MODES: [(&str, VlanMode); 4] = [
    ("access", VlanMode::Access),
    ("trunk", VlanMode::Trunk),
    ("native-tagged", VlanMode::NativeTagged),
    ("native-untagged", VlanMode::NativeUntagged),
];

/// The highest VLAN that frames have: IEEE 802.1Q reserves 4095. Lists of trunks may name it, as in
/// Open vSwitch.
const MAX_TAG: u16 = 0xffe;

/// Reads these options of all ports. Errors: what is wrong with one.
pub(super) fn port_vlans(
    options: &Options,
    ports: &[PortSpec],
) -> Result<BTreeMap<PortNo, PortVlans>> {
    let mut all: BTreeMap<PortNo, PortVlans> = BTreeMap::new();
    let mut tagged = Vec::new();
    for text in &options.tags {
        let option = format!("--tag {text}");
        let (port, tag) = setting(&option, text, "VLAN, as 2=10", ports)?;
        let vlans = all.entry(port).or_default();
        vlans.tag = vlan(&option, tag, MAX_TAG)?;
        vlans.mode = VlanMode::Access;
        tagged.push(port);
    }
    for text in &options.vlan_modes {
        let option = format!("--vlan-mode {text}");
        let (port, name) = setting(&option, text, "MODE, as 2=native-untagged", ports)?;
        let row = MODES.iter().find(|row| row.0 == name);
        let names = MODES.map(|row| row.0).join(", ");
        let row = row.ok_or_else(|| format!("{option}: '{name}' is none of {names}"))?;
        if (row.1 == VlanMode::Trunk) == tagged.contains(&port) {
            let with = if row.1 == VlanMode::Trunk { "no" } else { "a" };
            return Err(format!("{option}: such a port has {with} tag").into());
        }
        all.entry(port).or_default().mode = row.1;
    }
    for text in &options.trunks {
        let option = format!("--trunks {text}");
        let (port, numbers) = setting(&option, text, "VLAN,..., as 2=10,20", ports)?;
        let vlans = all.entry(port).or_default();
        if vlans.mode == VlanMode::Access {
            let modes = "vlan-mode native-tagged or native-untagged";
            return Err(
                format!("{option}: a port with a tag is an access port without {modes}").into(),
            );
        }
        for number in numbers.split(',') {
            vlans.trunks.insert(vlan(&option, number, 0xfff)?);
        }
    }
    Ok(all)
}

/// Separates a port from its setting. Errors: there is no such port, or none is named.
fn setting<'a>(
    option: &str,
    text: &'a str,
    example: &str,
    ports: &[PortSpec],
) -> Result<(PortNo, &'a str)> {
    let parts = text.split_once('=');
    let (port, value) = parts.ok_or_else(|| format!("{option}: it is PORT={example}"))?;
    let number = number_of(option, port, ports)?;
    Ok((existing(option, number, ports)?, value))
}

/// Reads a VLAN of at most `most`. Errors: it is none.
fn vlan(option: &str, text: &str, most: u16) -> Result<u16> {
    let number = text.parse().ok().filter(|vlan| *vlan <= most);
    number.ok_or_else(|| format!("{option}: '{text}' is none: a VLAN is 0 to {most}").into())
}
