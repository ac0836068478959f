//! Small values that many messages share: addresses, port, table, group, meter, queue and buffer
//! numbers.

use crate::error::DecodeError;
use crate::model::named;
use crate::wire::{Reader, Wire, Writer};

/// An Ethernet address, first byte first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Reads the address from a field's value, whose first bytes it is.
    pub fn of_value(value: &[u8; 16]) -> Self {
        Self([value[0], value[1], value[2], value[3], value[4], value[5]])
    }

    /// Returns true if the address names a group of stations (broadcast included).
    pub fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl Wire for Mac {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(r.array()?))
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.raw(&self.0);
    }
}

named! {
    /// A port number; the names are the reserved ports. Spec: OpenFlow 1.3.5 section 7.2.1.
    pub struct PortNo(u32) {
        /// The highest number of a physical or logical port.
        MAX = 0xffff_ff00 "MAX",
        /// None: what ACTSET_OUTPUT has of packets that are to go nowhere (since OpenFlow 1.5).
        UNSET = 0xffff_fff7 "UNSET",
        /// Back to the port that the packet came from.
        IN_PORT = 0xffff_fff8 "IN_PORT",
        /// To the first table (packet-out only).
        TABLE = 0xffff_fff9 "TABLE",
        /// To the switch's own forwarding.
        NORMAL = 0xffff_fffa "NORMAL",
        /// To all ports but the ingress and those with NO_FLOOD. As with each output, a port with
        /// NO_FWD sends nothing.
        FLOOD = 0xffff_fffb "FLOOD",
        /// To all ports but the ingress.
        ALL = 0xffff_fffc "ALL",
        /// To the controllers.
        CONTROLLER = 0xffff_fffd "CONTROLLER",
        /// The switch's own port.
        LOCAL = 0xffff_fffe "LOCAL",
        /// No port, or any.
        ANY = 0xffff_ffff "ANY",
    }
}

impl PortNo {
    /// Returns true if this number may name a port of the switch: 1 to MAX, or LOCAL.
    pub fn is_port(self) -> bool {
        (1..=Self::MAX.0).contains(&self.0) || self == Self::LOCAL
    }
}

named! {
    /// A table number.
    pub struct TableId(u8) {
        /// The highest table number.
        MAX = 0xfe "MAX",
        /// All tables.
        ALL = 0xff "ALL",
    }
}

named! {
    /// A group number.
    pub struct GroupId(u32) {
        /// The highest group number.
        MAX = 0xffff_ff00 "MAX",
        /// All groups, in a delete.
        ALL = 0xffff_fffc "ALL",
        /// No group, or any.
        ANY = 0xffff_ffff "ANY",
    }
}

named! {
    /// The number of a bucket in its group (since OpenFlow 1.5).
    pub struct BucketId(u32), default ALL {
        /// The highest number of a bucket.
        MAX = 0xffff_ff00 "max",
        /// The first bucket of the group.
        FIRST = 0xffff_fffd "first",
        /// The last bucket of the group.
        LAST = 0xffff_fffe "last",
        /// All buckets of the group.
        ALL = 0xffff_ffff "all",
    }
}

named! {
    /// A meter number; 0 is none.
    pub struct MeterId(u32) {
        /// The highest meter number.
        MAX = 0xffff_0000 "MAX",
        /// The virtual meter of the slow path.
        SLOWPATH = 0xffff_fffd "SLOWPATH",
        /// The virtual meter of the controller connections.
        CONTROLLER = 0xffff_fffe "CONTROLLER",
        /// All meters.
        ALL = 0xffff_ffff "ALL",
    }
}

named! {
    /// A queue number.
    pub struct QueueId(u32) {
        /// All queues.
        ALL = 0xffff_ffff "ALL",
    }
}

named! {
    /// The number of a buffered packet.
    pub struct BufferId(u32) {
        /// The packet is in the message.
        NO_BUFFER = 0xffff_ffff "NO_BUFFER",
    }
}

named! {
    /// The number of a packet's bytes that go to the controller.
    pub struct MaxLen(u16) {
        /// The whole packet, not buffered.
        NO_BUFFER = 0xffff "NO_BUFFER",
    }
}

/// An Ethernet type, as an argument of push and pop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EtherType(pub u16);

impl Wire for EtherType {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.get().map(Self)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.0);
    }
}
