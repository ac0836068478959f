//! The structures of messages: a row for each names its members. If the specification calls one
//! differently than oflib, Python has the specification's name.

use bofuss_oflib::message::bundle::Timestamp;
use bofuss_oflib::message::config::SwitchConfig;
use bofuss_oflib::message::features::Features;
use bofuss_oflib::message::group_mod::Bucket;
use bofuss_oflib::message::meter_mod::{Band, BandKind};
use bofuss_oflib::message::multipart::bundle_features::{
    BundleFeatures, BundleFeaturesRequest, TimeCapability,
};
use bofuss_oflib::message::multipart::flow::{
    AggregateStats, FlowCounters, FlowEntry, FlowStats, FlowStatsRequest,
};
use bofuss_oflib::message::multipart::flow_monitor::{
    FlowMonitorRequest, FlowUpdate, FlowUpdateEvent, MonitoredFlow,
};
use bofuss_oflib::message::multipart::group::{
    BucketCounter, GroupCounters, GroupDesc, GroupDescRequest, GroupFeatures, GroupRequest,
    GroupStats,
};
use bofuss_oflib::message::multipart::meter::{
    MeterConfig, MeterFeatures, MeterRequest, MeterStats,
};
use bofuss_oflib::message::multipart::port::{
    OpticalStats, PortDescRequest, PortRequest, PortStats, QueueDesc, QueueStats, QueueStatsRequest,
};
use bofuss_oflib::message::multipart::switch::{Desc, TableStats};
use bofuss_oflib::message::multipart::table_desc::{TableDesc, TableStatus};
use bofuss_oflib::message::multipart::table_features::{
    FieldId, PROPERTIES, PropertyList, TableFeatureSet, TableFeatures, TableProperty, TypeId,
};
use bofuss_oflib::message::port::{OpticalPort, OpticalPortMod};
use bofuss_oflib::message::property::ExperimenterProperty;
use bofuss_oflib::message::queue::{PacketQueue, QueueProperty};
use bofuss_oflib::message::stats::{StatTime, Stats};
use bofuss_oflib::message::table_mod::Vacancy;
use bofuss_oflib::message::{
    AsyncConfig, BundleControl, ControllerStatus, Empty, ErrorMsg, FlowMod, FlowRemoved, GroupMod,
    Hello, MeterMod, PacketIn, PacketOut, PortDesc, PortMod, PortStatus, QueueConfig,
    QueueConfigRequest, Role, RoleStatus, TableMod,
};
use bofuss_oflib::text::number;
use bofuss_oflib::types::{BufferId, GroupId, MeterId, PortNo, QueueId, TableId};
use bofuss_oflib::wire::{Bytes, Text, TextForm};
use bofuss_oflib::{ExtValue, FieldMatch, Match};
use pyo3::intern;
use pyo3::prelude::*;

use crate::class::Class;
use crate::codecs::catalogue;
use crate::form::{Fault, PyForm, To};
use crate::members::{Member, MembersIn, MembersOut};
use crate::record::{Members, Record, members_of, records, variants};

members_of! {
    Hello => { bitmap }
    Features => {
        datapath_id, n_buffers, n_tables, auxiliary_id, capabilities, reserved, actions, ports
    }
    SwitchConfig => { flags, miss_send_len }
    PacketIn = PacketIn { buffer_id: BufferId::NO_BUFFER, ..PacketIn::default() } => {
        buffer_id, total_len, reason, table_id, cookie, fields "match", data
    }
    FlowRemoved => {
        cookie, priority, reason, table_id, duration_sec, duration_nsec, idle_timeout,
        hard_timeout, packet_count, byte_count, fields "match", idle_time
    }
    PortStatus => { reason, desc }
    PacketOut = PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNo::CONTROLLER,
        ..PacketOut::default()
    } => { buffer_id, in_port, actions, data, fields "match" }
    FlowMod = FlowMod::add(Match::ANY) => {
        cookie, cookie_mask, table_id, command, idle_timeout, hard_timeout, priority, buffer_id,
        out_port, out_group, flags, fields "match", instructions, importance
    }
    GroupMod => { command, ty "type", group_id, buckets, command_bucket_id, experimenters }
    PortMod => { port_no, hw_addr, config, mask, advertise, optical, experimenters }
    TableMod => { table_id, config, miss, eviction, vacancy, experimenters }
    QueueConfigRequest = QueueConfigRequest { port: PortNo::ANY } => { port }
    QueueConfig => { port, queues }
    Role => { role, generation_id, short_id }
    AsyncConfig => {
        packet_in, packet_in_slave, port_status, port_status_slave, flow_removed,
        flow_removed_slave, role_status, role_status_slave, table_status, table_status_slave,
        request_forward, request_forward_slave, flow_stats, flow_stats_slave, controller_status,
        controller_status_slave, omitted, experimenters, experimenters_slave
    }
    RoleStatus => { role, reason, generation_id, experimenters }
    TableStatus => { reason, table }
    BundleControl => { bundle_id, ty "type", flags, scheduled, experimenters }
    MeterMod => { command, flags, meter_id, bands }
}

records! {
    "PortDesc" PortDesc => {
        port_no, hw_addr, name, config, state, curr, advertised, supported, peer, curr_speed,
        max_speed, optical, pipeline_input, pipeline_output, recirculate, experimenters
    }
    "ExperimenterProperty" ExperimenterProperty => { experimenter, exp_type, data }
    "OpticalPort" OpticalPort => {
        supported, tx_min_freq_lmda, tx_max_freq_lmda, tx_grid_freq_lmda, rx_min_freq_lmda,
        rx_max_freq_lmda, rx_grid_freq_lmda, tx_pwr_min, tx_pwr_max
    }
    "OpticalPortMod" OpticalPortMod => { configure, freq_lmda, fl_offset, grid_span, tx_pwr }
    "OpticalStats" OpticalStats => {
        flags, tx_freq_lmda, tx_offset, tx_grid_span, rx_freq_lmda, rx_offset, rx_grid_span, tx_pwr,
        rx_pwr, bias_current, temperature
    }
    "Timestamp" Timestamp => { seconds, nanoseconds }
    "TimeCapability" TimeCapability => {
        sched_accuracy, sched_max_future, sched_max_past, timestamp
    }
    "BundleFeaturesRequest" BundleFeaturesRequest => { flags, time_capability, experimenters }
    "BundleFeatures" BundleFeatures => { capabilities, time_capability, experimenters }
    "Vacancy" Vacancy => { vacancy_down, vacancy_up, vacancy }
    "TableDesc" TableDesc => { table_id, config, eviction, vacancy, experimenters }
    "QueueDesc" QueueDesc => { port_no, queue_id, properties }
    "FlowMonitorRequest" FlowMonitorRequest = FlowMonitorRequest {
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        table_id: TableId::ALL,
        ..FlowMonitorRequest::default()
    } => { monitor_id, out_port, out_group, flags, table_id, command, fields "match" }
    "MonitoredFlow" MonitoredFlow => {
        table_id, reason, idle_timeout, hard_timeout, priority, cookie, fields "match", instructions
    }
    "Bucket" Bucket = Bucket::at(0, Vec::new()) => {
        actions, weight, watch_port, watch_group, bucket_id, experimenters
    }
    "PacketQueue" PacketQueue => { queue_id, port, properties }
    "TypeId" TypeId = TypeId { ty: 0, experimenter: 0 } => { ty "type", experimenter }
    "Desc" Desc => { mfr_desc, hw_desc, sw_desc, serial_num, dp_desc }
    "FlowStatsRequest" FlowStatsRequest = FlowStatsRequest::all() => {
        table_id, out_port, out_group, cookie, cookie_mask, fields "match"
    }
    "FlowStats" FlowEntry => {
        table_id, duration_sec, duration_nsec, priority, idle_timeout, hard_timeout, flags, cookie,
        packet_count, byte_count, fields "match", instructions, importance, idle_time
    }
    "StatTime" StatTime => { sec, nsec }
    "Stats" Stats => { duration, idle_time, flow_count, packet_count, byte_count }
    "FlowCounters" FlowCounters => { table_id, reason, priority, fields "match", stats }
    "ControllerStatusStats" ControllerStatus => {
        short_id, role, reason, channel_status, uri, experimenters
    }
    "GroupDescRequest" GroupDescRequest = GroupDescRequest::ALL => { group_id }
    "PortDescRequest" PortDescRequest = PortDescRequest::ALL => { port_no }
    "AggregateStats" AggregateStats => { packet_count, byte_count, flow_count }
    "TableStats" TableStats => { table_id, active_count, lookup_count, matched_count, features }
    "PortStatsRequest" PortRequest = PortRequest { port_no: PortNo::ANY } => { port_no }
    "PortStats" PortStats => {
        port_no, rx_packets, tx_packets, rx_bytes, tx_bytes, rx_dropped, tx_dropped, rx_errors,
        tx_errors, rx_frame_err, rx_over_err, rx_crc_err, collisions, duration_sec, duration_nsec,
        optical, experimenters
    }
    "QueueStatsRequest" QueueStatsRequest = QueueStatsRequest {
        port_no: PortNo::ANY,
        queue_id: QueueId::ALL,
    } => { port_no, queue_id }
    "QueueStats" QueueStats => {
        port_no, queue_id, tx_bytes, tx_packets, tx_errors, duration_sec, duration_nsec,
        experimenters
    }
    "GroupStatsRequest" GroupRequest = GroupRequest { group_id: GroupId::ALL } => { group_id }
    "BucketCounter" BucketCounter => { packet_count, byte_count }
    "GroupStats" GroupCounters => {
        group_id, ref_count, packet_count, byte_count, duration_sec, duration_nsec, bucket_stats
    }
    "GroupDesc" GroupDesc => { ty "type", group_id, buckets, experimenters }
    "GroupFeatures" GroupFeatures => { types, capabilities, max_groups, actions }
    "MeterMultipartRequest" MeterRequest = MeterRequest { meter_id: MeterId::ALL } => { meter_id }
    "MeterStats" MeterStats => {
        meter_id, flow_count, input, duration_sec, duration_nsec, bands "band_stats"
    }
    "MeterConfig" MeterConfig => { flags, meter_id, bands }
    "MeterFeatures" MeterFeatures => {
        max_meter, band_types, capabilities, max_bands, max_color, features
    }
    "TableFeatures" TableFeatureSet => {
        table_id, name, metadata_match, metadata_write, config, max_entries, properties, command,
        features
    }
}

variants! {
    "MeterBand" Band {
        MeterBandDrop [Band { kind: BandKind::Drop, rate, burst_size }] {
            rate: u32, burst_size: u32 = 0
        }
        MeterBandDscpRemark [Band { kind: BandKind::DscpRemark(prec_level), rate, burst_size }] {
            rate: u32, burst_size: u32 = 0, prec_level: u8 = 1
        }
        MeterBandExperimenter [Band {
            kind: BandKind::Experimenter(experimenter),
            rate,
            burst_size,
        }] {
            rate: u32, burst_size: u32 = 0, experimenter: u32
        }
    }
    check Ok, text Band::to_string
}

variants! {
    "FlowUpdate" FlowUpdate {
        FlowUpdateFull [FlowUpdate::Full(event, flow)] {
            event: FlowUpdateEvent, flow: MonitoredFlow
        }
        FlowUpdateAbbrev [FlowUpdate::Abbrev(xid)] { xid: u32 }
        FlowUpdateStream [FlowUpdate::Stream(event)] { event: FlowUpdateEvent }
    }
    check Ok, text shown
}

variants! {
    "QueueProp" QueueProperty {
        QueuePropMinRate [QueueProperty::MinRate(rate)] { rate: u16 }
        QueuePropMaxRate [QueueProperty::MaxRate(rate)] { rate: u16 }
        QueuePropExperimenter [QueueProperty::Experimenter(experimenter, exp_type, data)] {
            experimenter: u32, data: Bytes, exp_type: u32 = 0
        }
    }
    check Ok, text shown
}

variants! {
    "TableFeatureProp" TableProperty {
        TableFeaturePropTypes [TableProperty { ty, list: PropertyList::Types(ids) }] {
            ty "type": u16, ids: Vec<TypeId>
        }
        TableFeaturePropNextTables [TableProperty {
            ty,
            list: PropertyList::Tables(next_table_ids),
        }] {
            ty "type": u16, next_table_ids: Vec<TableId>
        }
        TableFeaturePropOxm [TableProperty { ty, list: PropertyList::Fields(oxm_ids) }] {
            ty "type": u16, oxm_ids: Vec<FieldId>
        }
        TableFeaturePropOxmValues [TableProperty { ty, list: PropertyList::Values(oxm_values) }] {
            ty "type": u16, oxm_values: Vec<FieldMatch>
        }
        TableFeaturePropExperimenter [TableProperty {
            ty,
            list: PropertyList::Experimenter(experimenter, exp_type, data),
        }] { ty "type": u16, experimenter: u32, exp_type: u32, data: Bytes }
    }
    check check_property, text shown
}

/// Checks a property. Errors: properties of its type have another kind of list.
fn check_property(property: TableProperty) -> Result<TableProperty, Fault> {
    let kinds = match property.list {
        PropertyList::Types(_) => "ia",
        PropertyList::Tables(_) => "t",
        PropertyList::Fields(_) => "f",
        PropertyList::Values(_) => "v",
        PropertyList::Experimenter(..) => "e",
    };
    let row = PROPERTIES.iter().find(|row| row.0 == property.ty);
    if row.is_some_and(|row| kinds.contains(row.2)) {
        return Ok(property);
    }
    Err(Fault::new(format!("type {} has no such list", property.ty)))
}

fn shown<T: TextForm>(value: &T) -> String {
    Text(value).to_string()
}

/// A field's name, followed by `/mask` if a mask is allowed. An unknown field is its header, such
/// as `oxm:0x80000e01`, followed by a colon and the experimenter.
impl PyForm for FieldId {
    fn annotation() -> String {
        "str".into()
    }
    fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
        shown(self).to_python(to)
    }
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let text = String::from_python(value)?;
        let found = match text.strip_prefix("oxm:") {
            Some(numbers) => unknown_field(numbers),
            None => {
                let name = text.strip_suffix("/mask").unwrap_or(&text);
                let field = catalogue().field_named(name);
                field.map(|field| Self::Known(field, name.len() < text.len()))
            }
        };
        found.ok_or_else(|| Fault::other(value, "field"))
    }
}

/// Reads the header of an unknown field, and its experimenter if there is one.
fn unknown_field(numbers: &str) -> Option<FieldId> {
    let (header, experimenter) = numbers.split_once(':').unwrap_or((numbers, "0"));
    let header = u32::try_from(number(header)?).ok()?;
    let experimenter = u32::try_from(number(experimenter)?).ok()?;
    Some(FieldId::Unknown(header, experimenter))
}

macro_rules! wrappers {
    ($($T:ident($Inner:ident))*) => { $(
        impl PyForm for $T {
            fn annotation() -> String {
                $Inner::annotation()
            }
            fn accepted() -> String {
                $Inner::accepted()
            }
            fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.0.to_python(to)
            }
            fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
                PyForm::from_python(value).map(Self)
            }
        }
    )* };
}
wrappers! { FlowStats(FlowEntry) GroupStats(GroupCounters) TableFeatures(TableFeatureSet) }

/// Bodies with one member, which is the value itself under a name.
macro_rules! one_value {
    ($($T:ident $name:literal $(= $initial:expr)?;)*) => { $(
        impl Members for $T {
            fn members() -> Vec<Member> {
                vec![Member::with::<$T>($name, variants!(@initial $($initial)?))]
            }
            fn write(&self, out: &MembersOut<'_>) -> PyResult<()> {
                out.put(intern!(out.py(), $name), self)
            }
            fn read(from: &MembersIn<'_>) -> Result<Self, Fault> {
                from.need(intern!(from.py(), $name), variants!(@initial $($initial)?))
            }
        }
    )* };
}
one_value! {
    Bytes "data" = Bytes::default();
    ExtValue "value";
}

impl Members for Empty {
    fn members() -> Vec<Member> {
        Vec::new()
    }
    fn write(&self, _: &MembersOut<'_>) -> PyResult<()> {
        Ok(())
    }
    fn read(_: &MembersIn<'_>) -> Result<Self, Fault> {
        Ok(Self)
    }
}

impl Members for ErrorMsg {
    fn members() -> Vec<Member> {
        let mut members = vec![Member::of::<u16>("type"), Member::of::<u16>("code")];
        members.push(Member::of::<Bytes>("data"));
        members.push(Member::of::<u32>("experimenter"));
        members
    }
    fn write(&self, out: &MembersOut<'_>) -> PyResult<()> {
        out.put(intern!(out.py(), "type"), &self.error.ty)?;
        out.put(intern!(out.py(), "code"), &self.error.code)?;
        out.put(intern!(out.py(), "data"), &self.data)?;
        out.put(intern!(out.py(), "experimenter"), &self.error.experimenter)
    }
    fn read(from: &MembersIn<'_>) -> Result<Self, Fault> {
        let mut this = Self::default();
        from.read(intern!(from.py(), "type"), &mut this.error.ty)?;
        from.read(intern!(from.py(), "code"), &mut this.error.code)?;
        from.read(intern!(from.py(), "data"), &mut this.data)?;
        from.read(
            intern!(from.py(), "experimenter"),
            &mut this.error.experimenter,
        )?;
        Ok(this)
    }
}

/// The classes of all structures.
pub(crate) fn classes() -> impl Iterator<Item = &'static Class> {
    [
        PortDesc::classes(),
        ExperimenterProperty::classes(),
        OpticalPort::classes(),
        OpticalPortMod::classes(),
        OpticalStats::classes(),
        Timestamp::classes(),
        TimeCapability::classes(),
        BundleFeaturesRequest::classes(),
        BundleFeatures::classes(),
        Vacancy::classes(),
        TableDesc::classes(),
        QueueDesc::classes(),
        FlowMonitorRequest::classes(),
        MonitoredFlow::classes(),
        FlowUpdate::classes(),
        Bucket::classes(),
        PacketQueue::classes(),
        TypeId::classes(),
        Desc::classes(),
        FlowStatsRequest::classes(),
        FlowEntry::classes(),
        StatTime::classes(),
        Stats::classes(),
        FlowCounters::classes(),
        ControllerStatus::classes(),
        GroupDescRequest::classes(),
        PortDescRequest::classes(),
        AggregateStats::classes(),
        TableStats::classes(),
        PortRequest::classes(),
        PortStats::classes(),
        QueueStatsRequest::classes(),
        QueueStats::classes(),
        GroupRequest::classes(),
        BucketCounter::classes(),
        GroupCounters::classes(),
        GroupDesc::classes(),
        GroupFeatures::classes(),
        MeterRequest::classes(),
        MeterStats::classes(),
        MeterConfig::classes(),
        MeterFeatures::classes(),
        TableFeatureSet::classes(),
        Band::classes(),
        QueueProperty::classes(),
        TableProperty::classes(),
    ]
    .into_iter()
    .flatten()
}
