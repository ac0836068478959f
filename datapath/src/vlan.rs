//! The VLANs of ports for NORMAL, with the words and rules of Open vSwitch's `vlan_mode`, `tag` and
//! `trunks`: ovs-vswitchd.conf.db(5), table Port.

use alloc::collections::BTreeSet;

#[cfg(feature = "normal")]
pub(crate) mod rules;

/// How a port's VLANs are seen outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VlanMode {
    /// One VLAN, without its tag.
    Access,
    /// Tagged frames of some VLANs; those without a tag are in VLAN 0.
    #[default]
    Trunk,
    /// As a trunk, but frames that arrive without a tag are in the native VLAN.
    NativeTagged,
    /// The same, and frames of the native VLAN leave without a tag.
    NativeUntagged,
}

/// The VLANs that a port carries for NORMAL; by default all, and frames keep their tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortVlans {
    /// How they are seen outside.
    pub mode: VlanMode,
    /// The VLAN of an access port, or the native VLAN; 0 for a trunk.
    pub tag: u16,
    /// The VLANs that a port carries besides its native one, or none for all; unused by an access
    /// port.
    pub trunks: BTreeSet<u16>,
}
