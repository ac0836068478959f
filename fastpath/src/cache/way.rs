//! The way of a flow's frames below the switch.

use alloc::vec::Vec;

use bofuss_datapath::Station;
use bofuss_datapath::engine::{EngineNotes, Pipeline};
use bofuss_oflib::field::{
    ETH_DST, ETH_SRC, ETH_TYPE, IP_PROTO, IPV4_DST, IPV4_SRC, IPV6_DST, IPV6_SRC, TCP_DST,
    TCP_FLAGS, TCP_SRC, UDP_DST, UDP_SRC, VLAN_VID,
};
use bofuss_oflib::types::{GroupId, MeterId};
use bofuss_oflib::{Action, Field, FieldSet, PortNo};

/// The most departures of a frame.
pub const MAX_DEPARTURES: usize = 8;

/// The fields on which a select group's choice depends.
const CHOICE: [&Field; 13] = [
    ETH_DST, ETH_SRC, ETH_TYPE, VLAN_VID, IP_PROTO, IPV4_SRC, IPV4_DST, IPV6_SRC, IPV6_DST,
    TCP_SRC, TCP_DST, UDP_SRC, UDP_DST,
];

/// The fields that stations are known by.
const STATIONS: [&Field; 3] = [ETH_DST, ETH_SRC, VLAN_VID];

/// The way of a flow's frames: their departures in order; if there is none, they are dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Each is that of a copy of the frame as it arrived.
    pub departures: Vec<Departure>,
    /// What counts frames on the way, besides ports.
    pub passes: Vec<GroupPass>,
    /// The meter that judges frames as they arrive. Those that it drops do not depart, and are
    /// counted neither by ports nor by groups.
    pub meter: Option<MeterId>,
    /// The TCP flags that entries read and that only one segment of a super-frame has: a
    /// super-frame with one of them takes another way, of which the switch decides.
    pub parting: u16,
    /// What NORMAL knows of the frames, if they pass it.
    pub(crate) stations: Option<KnownStations>,
    /// True if it is that of frames with a certain hash of their headers.
    pub(crate) is_chosen: bool,
}

impl Way {
    /// The fields in which all frames are equal that take it, besides those of the flow's key.
    pub(crate) fn fields(&self) -> FieldSet {
        let mut all = FieldSet::default();
        let chosen: &[&Field] = if self.is_chosen { &CHOICE } else { &[] };
        let stations: &[&Field] = if self.stations.is_some() {
            &STATIONS
        } else {
            &[]
        };
        for field in chosen.iter().chain(stations) {
            all.insert(FieldSet::of(field));
        }
        all
    }
}

/// See [`Way::parting`].
pub(crate) fn parting_flags<E: EngineNotes>(pipeline: &Pipeline<E>) -> u16 {
    let mut uses = pipeline.field_uses.of(&pipeline.catalogue);
    let flags = uses.find(|one| one.field == TCP_FLAGS);
    flags.map_or(0, |one| one.bits as u16)
}

/// The stations of frames that NORMAL sends to one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownStations {
    /// At the port that they arrive on.
    pub(crate) source: Station,
    /// At the port that they leave by.
    pub(crate) destination: Station,
    pub(crate) port: PortNo,
}

/// A departure of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// What is done to a frame before: it is changed by these actions.
    pub changes: Vec<Action>,
    /// The port that it leaves by.
    pub port: PortNo,
    /// The number of bytes that it has then more than it had when it arrived.
    pub more_bytes: i64,
}

/// A group, or a bucket, that counts frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPass {
    /// The group.
    pub group: GroupId,
    /// Its bucket; `None` for the group itself.
    pub bucket: Option<usize>,
    /// The number of bytes that a frame has there more than it had when it arrived.
    pub more_bytes: i64,
}
