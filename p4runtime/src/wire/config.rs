//! What is used of `p4.config.v1.P4Info`, by its field numbers.
#![allow(missing_docs, reason = "the names are those of the specification")]

use prost::{Enumeration, Message};

#[derive(Clone, PartialEq, Message)]
pub struct P4Info {
    #[prost(message, repeated, tag = "2")]
    pub tables: Vec<Table>,
    #[prost(message, repeated, tag = "3")]
    pub actions: Vec<Action>,
    #[prost(message, repeated, tag = "4")]
    pub action_profiles: Vec<ActionProfile>,
    #[prost(message, repeated, tag = "5")]
    pub counters: Vec<Counter>,
    #[prost(message, repeated, tag = "6")]
    pub direct_counters: Vec<DirectCounter>,
    #[prost(message, repeated, tag = "7")]
    pub meters: Vec<Meter>,
    #[prost(message, repeated, tag = "8")]
    pub direct_meters: Vec<DirectMeter>,
    #[prost(message, repeated, tag = "9")]
    pub controller_packet_metadata: Vec<ControllerPacketMetadata>,
    #[prost(message, repeated, tag = "10")]
    pub value_sets: Vec<ValueSet>,
    #[prost(message, repeated, tag = "11")]
    pub registers: Vec<Register>,
    #[prost(message, repeated, tag = "12")]
    pub digests: Vec<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Preamble {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub alias: String,
    #[prost(string, repeated, tag = "4")]
    pub annotations: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Table {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub match_fields: Vec<MatchField>,
    #[prost(message, repeated, tag = "3")]
    pub action_refs: Vec<ActionRef>,
    #[prost(uint32, tag = "4")]
    pub const_default_action_id: u32,
    #[prost(uint32, tag = "6")]
    pub implementation_id: u32,
    #[prost(uint32, repeated, tag = "7")]
    pub direct_resource_ids: Vec<u32>,
    #[prost(int64, tag = "8")]
    pub size: i64,
    #[prost(enumeration = "TableIdleTimeoutBehavior", tag = "9")]
    pub idle_timeout_behavior: i32,
    #[prost(bool, tag = "10")]
    pub is_const_table: bool,
    #[prost(bool, tag = "11")]
    pub has_initial_entries: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum TableIdleTimeoutBehavior {
    NoTimeout = 0,
    NotifyControl = 1,
}

#[derive(Clone, PartialEq, Message)]
pub struct MatchField {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
    #[prost(enumeration = "MatchFieldMatchType", tag = "5")]
    pub match_type: i32,
    /// A `P4NamedType` as it came, encoded.
    #[prost(bytes = "vec", tag = "8")]
    pub type_name: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum MatchFieldMatchType {
    Unspecified = 0,
    Exact = 2,
    Lpm = 3,
    Ternary = 4,
    Range = 5,
    Optional = 6,
}

#[derive(Clone, PartialEq, Message)]
pub struct ActionRef {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(enumeration = "ActionRefScope", tag = "3")]
    pub scope: i32,
    #[prost(string, repeated, tag = "2")]
    pub annotations: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum ActionRefScope {
    TableAndDefault = 0,
    TableOnly = 1,
    DefaultOnly = 2,
    GroupAction = 3,
}

#[derive(Clone, PartialEq, Message)]
pub struct Action {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub params: Vec<ActionParam>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ActionParam {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
    /// A `P4NamedType` as it came, encoded.
    #[prost(bytes = "vec", tag = "6")]
    pub type_name: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ActionProfile {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(uint32, repeated, tag = "2")]
    pub table_ids: Vec<u32>,
    #[prost(int64, tag = "4")]
    pub size: i64,
    #[prost(int32, tag = "5")]
    pub max_group_size: i32,
    #[prost(message, optional, tag = "7")]
    pub sum_of_members: Option<SumOfMembers>,
    #[prost(bool, tag = "8")]
    pub weights_disallowed: bool,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct SumOfMembers {
    #[prost(int32, optional, tag = "1")]
    pub max_member_weight: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CounterSpec {
    #[prost(enumeration = "CounterSpecUnit", tag = "1")]
    pub unit: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum CounterSpecUnit {
    Unspecified = 0,
    Bytes = 1,
    Packets = 2,
    Both = 3,
}

#[derive(Clone, PartialEq, Message)]
pub struct Counter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<CounterSpec>,
    #[prost(int64, tag = "3")]
    pub size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct DirectCounter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<CounterSpec>,
    #[prost(uint32, tag = "3")]
    pub direct_table_id: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct MeterSpec {
    #[prost(enumeration = "MeterSpecUnit", tag = "1")]
    pub unit: i32,
    #[prost(enumeration = "MeterSpecType", tag = "2")]
    pub r#type: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum MeterSpecUnit {
    Unspecified = 0,
    Bytes = 1,
    Packets = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum MeterSpecType {
    TwoRateThreeColor = 0,
    SingleRateThreeColor = 1,
    SingleRateTwoColor = 2,
}

#[derive(Clone, PartialEq, Message)]
pub struct Meter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<MeterSpec>,
    #[prost(int64, tag = "3")]
    pub size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct DirectMeter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<MeterSpec>,
    #[prost(uint32, tag = "3")]
    pub direct_table_id: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct ControllerPacketMetadata {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<ControllerPacketMetadataMetadata>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ControllerPacketMetadataMetadata {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct ValueSet {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub r#match: Vec<MatchField>,
    #[prost(int32, tag = "3")]
    pub size: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Register {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub type_spec: Option<P4DataTypeSpec>,
    #[prost(int32, tag = "3")]
    pub size: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct P4DataTypeSpec {
    #[prost(message, optional, tag = "1")]
    pub bitstring: Option<P4BitstringLikeTypeSpec>,
}

#[derive(Clone, PartialEq, Message)]
pub struct P4BitstringLikeTypeSpec {
    /// A `P4IntTypeSpec` as it came, encoded: whether it is there says enough.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub int: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Digest {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    /// A `P4DataTypeSpec` as it came, encoded: which of its fields is there says enough.
    #[prost(bytes = "vec", tag = "2")]
    pub type_spec: Vec<u8>,
}
