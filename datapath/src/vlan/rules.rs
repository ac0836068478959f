//! Which VLAN a frame is in at a port, and how it leaves there.

use bofuss_oflib::field::VID_PRESENT;

use super::{PortVlans, VlanMode};

/// The bits of the VLAN_VID value that are the VLAN's number.
const VID: u16 = 0xfff;

impl PortVlans {
    /// The VLAN of a frame that arrives with this VLAN_VID value, unless it may not enter here. A
    /// tag with VLAN 0 has only a priority.
    pub(crate) fn at_ingress(&self, vid: u16) -> Option<u16> {
        let vlan = vid & VID;
        if self.mode == VlanMode::Access {
            return (vlan == 0).then_some(self.tag);
        }
        let inside = if vlan == 0 { self.tag } else { vlan };
        self.carries(inside).then_some(inside)
    }

    /// Returns true if frames of this VLAN may leave here.
    pub(crate) fn carries(&self, vlan: u16) -> bool {
        let is_native = self.mode != VlanMode::Trunk && vlan == self.tag;
        let trunks = self.trunks.is_empty() || self.trunks.contains(&vlan);
        // Frames of VLAN 0 would join the native VLAN outside.
        let may_trunk = self.mode == VlanMode::Trunk || vlan != 0;
        is_native || self.mode != VlanMode::Access && trunks && may_trunk
    }

    /// Returns true if frames of this VLAN leave here without a tag.
    pub(crate) fn removes_tag(&self, vlan: u16) -> bool {
        self.mode == VlanMode::Access || self.mode == VlanMode::NativeUntagged && vlan == self.tag
    }
}

/// The VLAN_VID value of a VLAN: no tag, for VLAN 0.
pub(crate) fn vid_of(vlan: u16) -> u16 {
    if vlan == 0 { 0 } else { VID_PRESENT | vlan }
}

#[cfg(test)]
mod tests {
    use super::*;
    use VlanMode::{Access, NativeTagged, NativeUntagged, Trunk};

    /// The rows of ovs-vswitchd.conf.db(5), for a tag of 10 and trunks 20 and 30.
    #[test]
    fn each_mode_lets_in_and_out_what_its_row_says() {
        let tagged = |vlan| VID_PRESENT | vlan;
        for (mode, trunks, vid, inside) in [
            (Access, &[][..], 0, Some(10)),
            (Access, &[], tagged(0), Some(10)),
            (Access, &[], tagged(10), None),
            (Access, &[], tagged(20), None),
            (Trunk, &[], 0, Some(0)),
            (Trunk, &[], tagged(7), Some(7)),
            (Trunk, &[20, 30], 0, None),
            (Trunk, &[0, 20], tagged(0), Some(0)),
            (Trunk, &[20, 30], tagged(20), Some(20)),
            (Trunk, &[20, 30], tagged(10), None),
            (NativeTagged, &[20, 30], 0, Some(10)),
            (NativeTagged, &[20, 30], tagged(10), Some(10)),
            (NativeUntagged, &[20, 30], tagged(0), Some(10)),
            (NativeUntagged, &[20, 30], tagged(30), Some(30)),
            (NativeUntagged, &[20, 30], tagged(7), None),
            (NativeUntagged, &[], tagged(7), Some(7)),
        ] {
            let trunks = trunks.iter().copied().collect();
            let tag = if mode == Trunk { 0 } else { 10 };
            let vlans = PortVlans { mode, tag, trunks };
            assert_eq!(vlans.at_ingress(vid), inside, "{vlans:?} {vid:#x}");
        }
        for (mode, vlan, carries, removes) in [
            (Access, 10, true, true),
            (Access, 20, false, true),
            (Trunk, 10, false, false),
            (Trunk, 20, true, false),
            (NativeTagged, 10, true, false),
            (NativeUntagged, 10, true, true),
            (NativeUntagged, 20, true, false),
            (NativeUntagged, 7, false, false),
            (Trunk, 0, true, false),
            (NativeTagged, 0, false, false),
            (NativeUntagged, 0, false, false),
        ] {
            let trunks = [0, 20, 30].into();
            let tag = if mode == Trunk { 0 } else { 10 };
            let vlans = PortVlans { mode, tag, trunks };
            let found = (vlans.carries(vlan), vlans.removes_tag(vlan));
            assert_eq!(found, (carries, removes), "{vlans:?} {vlan}");
        }
    }
}
