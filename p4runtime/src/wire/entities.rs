//! The entities of `p4.v1`, by their field numbers.
#![allow(missing_docs, reason = "the names are those of the specification")]

use prost::{Enumeration, Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub struct Entity {
    #[prost(oneof = "EntityKind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    pub entity: Option<EntityKind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum EntityKind {
    #[prost(message, tag = "1")]
    ExternEntry(ExternEntry),
    #[prost(message, tag = "2")]
    TableEntry(TableEntry),
    #[prost(message, tag = "3")]
    ActionProfileMember(ActionProfileMember),
    #[prost(message, tag = "4")]
    ActionProfileGroup(ActionProfileGroup),
    #[prost(message, tag = "5")]
    MeterEntry(MeterEntry),
    #[prost(message, tag = "6")]
    DirectMeterEntry(DirectMeterEntry),
    #[prost(message, tag = "7")]
    CounterEntry(CounterEntry),
    #[prost(message, tag = "8")]
    DirectCounterEntry(DirectCounterEntry),
    #[prost(message, tag = "9")]
    PacketReplicationEngineEntry(PacketReplicationEngineEntry),
    #[prost(message, tag = "10")]
    ValueSetEntry(ValueSetEntry),
    #[prost(message, tag = "11")]
    RegisterEntry(RegisterEntry),
    #[prost(message, tag = "12")]
    DigestEntry(DigestEntry),
}

/// Without the `entry`, whose content no extern here has.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct ExternEntry {
    #[prost(uint32, tag = "1")]
    pub extern_type_id: u32,
    #[prost(uint32, tag = "2")]
    pub extern_id: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct TableEntry {
    #[prost(uint32, tag = "1")]
    pub table_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub r#match: Vec<FieldMatch>,
    #[prost(message, optional, tag = "3")]
    pub action: Option<TableAction>,
    #[prost(int32, tag = "4")]
    pub priority: i32,
    #[prost(uint64, tag = "5")]
    pub controller_metadata: u64,
    #[prost(message, optional, tag = "6")]
    pub meter_config: Option<MeterConfig>,
    #[prost(message, optional, tag = "7")]
    pub counter_data: Option<CounterData>,
    #[prost(message, optional, tag = "12")]
    pub meter_counter_data: Option<MeterCounterData>,
    #[prost(bool, tag = "8")]
    pub is_default_action: bool,
    #[prost(int64, tag = "9")]
    pub idle_timeout_ns: i64,
    #[prost(message, optional, tag = "10")]
    pub time_since_last_hit: Option<TableEntryIdleTimeout>,
    #[prost(bytes = "vec", tag = "11")]
    pub metadata: Vec<u8>,
    #[prost(bool, tag = "13")]
    pub is_const: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct TableEntryIdleTimeout {
    #[prost(int64, tag = "1")]
    pub elapsed_ns: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldMatch {
    #[prost(uint32, tag = "1")]
    pub field_id: u32,
    #[prost(oneof = "FieldMatchFieldMatchType", tags = "2, 3, 4, 6, 7")]
    pub field_match_type: Option<FieldMatchFieldMatchType>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum FieldMatchFieldMatchType {
    #[prost(message, tag = "2")]
    Exact(FieldMatchExact),
    #[prost(message, tag = "3")]
    Ternary(FieldMatchTernary),
    #[prost(message, tag = "4")]
    Lpm(FieldMatchLpm),
    #[prost(message, tag = "6")]
    Range(FieldMatchRange),
    #[prost(message, tag = "7")]
    Optional(FieldMatchOptional),
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldMatchExact {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldMatchTernary {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub mask: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldMatchLpm {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
    #[prost(int32, tag = "2")]
    pub prefix_len: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldMatchRange {
    #[prost(bytes = "vec", tag = "1")]
    pub low: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub high: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldMatchOptional {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TableAction {
    #[prost(oneof = "TableActionType", tags = "1, 2, 3, 4")]
    pub r#type: Option<TableActionType>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum TableActionType {
    #[prost(message, tag = "1")]
    Action(Action),
    #[prost(uint32, tag = "2")]
    ActionProfileMemberId(u32),
    #[prost(uint32, tag = "3")]
    ActionProfileGroupId(u32),
    #[prost(message, tag = "4")]
    ActionProfileActionSet(ActionProfileActionSet),
}

#[derive(Clone, PartialEq, Message)]
pub struct Action {
    #[prost(uint32, tag = "1")]
    pub action_id: u32,
    #[prost(message, repeated, tag = "4")]
    pub params: Vec<ActionParam>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ActionParam {
    #[prost(uint32, tag = "2")]
    pub param_id: u32,
    #[prost(bytes = "vec", tag = "3")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ActionProfileActionSet {
    #[prost(message, optional, tag = "5")]
    pub group_action: Option<Action>,
    #[prost(message, repeated, tag = "1")]
    pub action_profile_actions: Vec<ActionProfileAction>,
    #[prost(enumeration = "ActionProfileActionSetActionSelectionMode", tag = "2")]
    pub action_selection_mode: i32,
    #[prost(enumeration = "ActionProfileActionSetSizeSemantics", tag = "3")]
    pub size_semantics: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum ActionProfileActionSetActionSelectionMode {
    DefaultModeDeterminedByActionSelector = 0,
    Hash = 1,
    Random = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum ActionProfileActionSetSizeSemantics {
    DefaultSizeDeterminedByActionSelector = 0,
    SumOfWeights = 1,
    SumOfMembers = 2,
}

#[derive(Clone, PartialEq, Message)]
pub struct ActionProfileAction {
    #[prost(message, optional, tag = "1")]
    pub action: Option<Action>,
    #[prost(int32, tag = "2")]
    pub weight: i32,
    #[prost(oneof = "ActionProfileActionWatchKind", tags = "3, 4")]
    pub watch_kind: Option<ActionProfileActionWatchKind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum ActionProfileActionWatchKind {
    #[prost(int32, tag = "3")]
    Watch(i32),
    #[prost(bytes = "vec", tag = "4")]
    WatchPort(Vec<u8>),
}

#[derive(Clone, PartialEq, Message)]
pub struct ActionProfileMember {
    #[prost(uint32, tag = "1")]
    pub action_profile_id: u32,
    #[prost(uint32, tag = "2")]
    pub member_id: u32,
    #[prost(message, optional, tag = "3")]
    pub action: Option<Action>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ActionProfileGroup {
    #[prost(uint32, tag = "1")]
    pub action_profile_id: u32,
    #[prost(uint32, tag = "2")]
    pub group_id: u32,
    #[prost(message, repeated, tag = "3")]
    pub members: Vec<ActionProfileGroupMember>,
    #[prost(int32, tag = "4")]
    pub max_size: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct ActionProfileGroupMember {
    #[prost(uint32, tag = "1")]
    pub member_id: u32,
    #[prost(int32, tag = "2")]
    pub weight: i32,
    #[prost(oneof = "ActionProfileGroupMemberWatchKind", tags = "3, 4")]
    pub watch_kind: Option<ActionProfileGroupMemberWatchKind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum ActionProfileGroupMemberWatchKind {
    #[prost(int32, tag = "3")]
    Watch(i32),
    #[prost(bytes = "vec", tag = "4")]
    WatchPort(Vec<u8>),
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Index {
    #[prost(int64, tag = "1")]
    pub index: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct MeterEntry {
    #[prost(uint32, tag = "1")]
    pub meter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub config: Option<MeterConfig>,
    #[prost(message, optional, tag = "4")]
    pub counter_data: Option<MeterCounterData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DirectMeterEntry {
    #[prost(message, optional, tag = "1")]
    pub table_entry: Option<TableEntry>,
    #[prost(message, optional, tag = "2")]
    pub config: Option<MeterConfig>,
    #[prost(message, optional, tag = "3")]
    pub counter_data: Option<MeterCounterData>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct MeterConfig {
    #[prost(int64, tag = "1")]
    pub cir: i64,
    #[prost(int64, tag = "2")]
    pub cburst: i64,
    #[prost(int64, tag = "3")]
    pub pir: i64,
    #[prost(int64, tag = "4")]
    pub pburst: i64,
    #[prost(int64, tag = "5")]
    pub eburst: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct CounterEntry {
    #[prost(uint32, tag = "1")]
    pub counter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub data: Option<CounterData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DirectCounterEntry {
    #[prost(message, optional, tag = "1")]
    pub table_entry: Option<TableEntry>,
    #[prost(message, optional, tag = "2")]
    pub data: Option<CounterData>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct CounterData {
    #[prost(int64, tag = "1")]
    pub byte_count: i64,
    #[prost(int64, tag = "2")]
    pub packet_count: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct MeterCounterData {
    #[prost(message, optional, tag = "1")]
    pub green: Option<CounterData>,
    #[prost(message, optional, tag = "2")]
    pub yellow: Option<CounterData>,
    #[prost(message, optional, tag = "3")]
    pub red: Option<CounterData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PacketReplicationEngineEntry {
    #[prost(oneof = "PacketReplicationEngineEntryType", tags = "1, 2")]
    pub r#type: Option<PacketReplicationEngineEntryType>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum PacketReplicationEngineEntryType {
    #[prost(message, tag = "1")]
    MulticastGroupEntry(MulticastGroupEntry),
    #[prost(message, tag = "2")]
    CloneSessionEntry(CloneSessionEntry),
}

#[derive(Clone, PartialEq, Message)]
pub struct BackupReplica {
    #[prost(bytes = "vec", tag = "1")]
    pub port: Vec<u8>,
    #[prost(uint32, tag = "2")]
    pub instance: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Replica {
    #[prost(oneof = "ReplicaPortKind", tags = "1, 3")]
    pub port_kind: Option<ReplicaPortKind>,
    #[prost(uint32, tag = "2")]
    pub instance: u32,
    #[prost(message, repeated, tag = "4")]
    pub backup_replicas: Vec<BackupReplica>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum ReplicaPortKind {
    #[prost(uint32, tag = "1")]
    EgressPort(u32),
    #[prost(bytes = "vec", tag = "3")]
    Port(Vec<u8>),
}

#[derive(Clone, PartialEq, Message)]
pub struct MulticastGroupEntry {
    #[prost(uint32, tag = "1")]
    pub multicast_group_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub replicas: Vec<Replica>,
    #[prost(bytes = "vec", tag = "3")]
    pub metadata: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CloneSessionEntry {
    #[prost(uint32, tag = "1")]
    pub session_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub replicas: Vec<Replica>,
    #[prost(uint32, tag = "3")]
    pub class_of_service: u32,
    #[prost(int32, tag = "4")]
    pub packet_length_bytes: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct ValueSetMember {
    #[prost(message, repeated, tag = "1")]
    pub r#match: Vec<FieldMatch>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ValueSetEntry {
    #[prost(uint32, tag = "1")]
    pub value_set_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<ValueSetMember>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegisterEntry {
    #[prost(uint32, tag = "1")]
    pub register_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub data: Option<P4Data>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DigestEntry {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(message, optional, tag = "2")]
    pub config: Option<DigestEntryConfig>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct DigestEntryConfig {
    #[prost(int64, tag = "1")]
    pub max_timeout_ns: i64,
    #[prost(int32, tag = "2")]
    pub max_list_size: i32,
    #[prost(int64, tag = "3")]
    pub ack_timeout_ns: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct P4Data {
    #[prost(oneof = "P4DataData", tags = "1, 3, 4, 5, 6")]
    pub data: Option<P4DataData>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum P4DataData {
    #[prost(bytes = "vec", tag = "1")]
    Bitstring(Vec<u8>),
    #[prost(bool, tag = "3")]
    Bool(bool),
    #[prost(message, tag = "4")]
    Tuple(P4StructLike),
    #[prost(message, tag = "5")]
    Struct(P4StructLike),
    #[prost(message, tag = "6")]
    Header(P4Header),
}

#[derive(Clone, PartialEq, Message)]
pub struct P4StructLike {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<P4Data>,
}

#[derive(Clone, PartialEq, Message)]
pub struct P4Header {
    #[prost(bool, tag = "1")]
    pub is_valid: bool,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub bitstrings: Vec<Vec<u8>>,
}
