//! The outputs of a datapath: the sink, the steps of a trace, the reasons of drops.

use alloc::vec::Vec;

use bofuss_frame::Frame;
use bofuss_oflib::message::group_mod::GroupType;
use bofuss_oflib::message::meter_mod::Band;
use bofuss_oflib::message::multipart::FlowCounters;
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::message::{FlowRemoved, PacketInReason, PortDesc, PortStatusReason};
use bofuss_oflib::types::{GroupId, MaxLen, MeterId, QueueId, TableId};
use bofuss_oflib::{Action, ExtValue, FieldMatch, Instruction, Match, PortNo};
use bofuss_packet::Packet;

/// A packet that is sent to the controllers.
pub struct PacketInEvent<'a> {
    /// The packet, with finished checksums; never a super-frame.
    pub packet: &'a Packet,
    /// The reason why it is sent.
    pub reason: PacketInReason,
    /// The table that was looked up last.
    pub table_id: TableId,
    /// The cookie of the entry that sent it; all ones if no single entry did.
    pub cookie: u64,
    /// Bytes that the output action asks for; `None` where the switch configuration decides.
    pub max_len: Option<MaxLen>,
    /// True if no entry matched; then it is only for connections of versions in which a miss goes
    /// to the controller.
    pub unmatched: bool,
    /// True if its ingress port is configured to send no packet-ins for misses; then it is not for
    /// connections to which this is a miss.
    pub silenced: bool,
}

/// The receiver of a datapath's effects.
pub trait Sink {
    /// True if [`Sink::step`] wants the steps of a trace.
    const TRACES: bool = false;
    /// True if packets are trial runs: nothing is counted or learned, and extensions change no
    /// state.
    const DRY: bool = false;
    /// Sends a frame out of a port.
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame);
    /// Returns true if a port accepts frames now. If not, its queues wait for
    /// [`crate::PortControl::has_room`].
    fn has_room(&self, _port: PortNo) -> bool {
        true
    }
    /// Returns true if any controller wants packets that no entry matches.
    fn wants_misses(&self) -> bool {
        false
    }
    /// Sends a packet to the controllers.
    fn packet_in(&mut self, event: &PacketInEvent<'_>);
    /// Reports that an entry with SEND_FLOW_REM was removed.
    fn flow_removed(&mut self, removed: FlowRemoved);
    /// Reports that the statistics of an entry reached a threshold.
    fn flow_stats(&mut self, _stats: FlowCounters) {}
    /// Reports that a port was added, removed or changed.
    fn port_status(&mut self, reason: PortStatusReason, desc: &PortDesc);
    /// Sends an extension's message to the connections that want it.
    fn notify(&mut self, _value: &ExtValue) {}
    /// Sets a port's link administratively up or down.
    fn set_link(&mut self, port: PortNo, up: bool);
    /// Changes the features that a port's interface advertises.
    fn advertise(&mut self, _port: PortNo, _features: PortFeatures) {}
    /// Takes one step of a trace.
    fn step(&mut self, _: Step<'_>) {}
}

/// Collects the frames that are sent and ignores everything else; for tests and examples.
impl Sink for Vec<Frame> {
    fn transmit(&mut self, _: PortNo, _: QueueId, frame: Frame) {
        self.push(frame);
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// An entry that a lookup passed over, and why.
#[derive(Clone, Debug)]
pub struct Lost {
    /// Its priority.
    pub priority: u16,
    /// Its match.
    pub fields: Match,
    /// The fields that differ from the packet's, each with the packet's value if it has the field.
    /// Empty if the entry matches as well and only has lower precedence than the winner.
    pub differs: Vec<(FieldMatch, Option<u128>)>,
}

/// One step of a packet through the pipeline. [`core::fmt::Display`] writes it as lines for
/// programs.
#[derive(Clone, Debug)]
pub enum Step<'a> {
    /// A packet entered: its port, its key, its frame's bytes.
    Received(PortNo, Match, &'a [u8]),
    /// It passes the egress tables for a port.
    Egress(PortNo),
    /// The packet is a fragment, which waits until its packet is complete.
    Fragment,
    /// A table begins; next come hooks that act before its lookup.
    Enter(TableId),
    /// A hook changed the packet's key before or after a lookup; its name, and its effect in this
    /// table.
    Hook(&'a str, crate::HookEffect),
    /// A line from a hook; its name, and the line.
    Reported(&'a str, &'a str),
    /// A table was looked up: its number, the key, the winning entry's priority, match and cookie,
    /// and the entries that came closest to matching.
    Lookup(TableId, Match, Option<(u16, &'a Match, u64)>, Vec<Lost>),
    /// An instruction is executed.
    Instruction(&'a Instruction),
    /// An action is applied.
    Action(&'a Action),
    /// The action set is executed.
    ActionSet,
    /// A bucket of a group gets the packet, or a copy: the group, its type, the bucket's place.
    Bucket(GroupId, GroupType, usize),
    /// A meter saw the packet: its number, and the band that applies.
    Meter(MeterId, Option<Band>),
    /// NORMAL decided: learned or known, in words.
    Normal(&'a str),
    /// A frame is queued at a port.
    Queue(PortNo, QueueId),
    /// A frame is sent out of a port, from one of its queues, by a tunnel or 0.
    Transmit(PortNo, QueueId, u64, &'a [u8]),
    /// The packet is sent to the controllers.
    PacketIn(PacketInReason),
    /// The packet, or this copy of it, ends here.
    Drop(DropReason),
}

macro_rules! drop_reasons {
    ($($V:ident $name:literal $meaning:literal;)*) => {
        /// The reason for which a packet, or a copy of it, was dropped. Each has a counter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum DropReason { $(#[doc = concat!("`", $name, "`: ", $meaning, ".")] $V,)* }
        impl DropReason {
            /// All reasons, in the order of their counters.
            pub const ALL: &'static [Self] = &[$(Self::$V),*];
            /// The counter's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$V => $name,)* }
            }
            /// Returns what happened, in words.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$V => $meaning,)* }
            }
        }
    };
}

drop_reasons! {
    TableMiss "table_miss" "no entry of the table matches";
    NoOutput "no_output" "the entry's actions send the packet nowhere";
    NoSuchPort "no_such_port" "the output port does not exist";
    NoSuchIngress "no_such_ingress" "the ingress port does not exist";
    PortDown "port_down" "the port is administratively down";
    LinkDown "link_down" "the output port has no link";
    NoReceive "no_recv" "the ingress port is set to receive nothing";
    NoForward "no_fwd" "the output port is set to forward nothing";
    OutputIsIngress "output_is_ingress" "an output to the ingress port must name IN_PORT";
    NoPacketIn "no_packet_in" "the ingress port is set to cause no packet-in";
    InvalidTtl "invalid_ttl" "the TTL is too low to be decremented";
    NoHeadroom "no_headroom" "there is no room for another header";
    NoBuffer "no_buffer" "the pool of frame buffers is empty";
    NoGroup "no_group" "the group does not exist";
    NoBucket "no_bucket" "no bucket of the group is live";
    GroupLimit "group_limit" "groups forward the packet to too many buckets, or too deep";
    EgressLimit "egress_limit" "copies began with the egress tables too often in a row";
    NoMeter "no_meter" "the meter does not exist";
    Meter "meter" "the packet exceeds the rate of a meter's drop band";
    Fragment "fragment" "the switch is configured to drop fragments";
    FragmentLost "fragment_lost" "the packet's other fragments did not come in time";
    FragmentRefused "fragment_refused" "the fragment contradicts others, or too many wait";
    Segmentation "segmentation" "the super-frame cannot be segmented";
    Offload "offload" "what the sender left undone contradicts the frame, or no sender leaves it";
    Work "work" "the packet has more copies than one may have";
    PacketType "packet_type" "the port carries no such packets, or their type is not known";
    LinkLocal "link_local" "NORMAL does not forward link-local control frames";
    Vlan "vlan" "the port does not carry the packet's VLAN for NORMAL";
    Storm "storm" "the port floods more than NORMAL allows";
    Hook "hook" "an extension dropped the packet";
    TooEarly "too_early" "the packet came before its flow may send again by its share of the port";
    QueueFull "queue_full" "the queue is full";
    QueuesFull "queues_full" "all queues of the switch together are full";
    QueueGone "queue_gone" "the queue was deleted while the packet waited in it";
    Resubmitted "resubmitted" "a packet-out may go through the tables only once";
}
