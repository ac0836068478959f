//! The messages of the service `p4.v1.P4Runtime`, by their field numbers.
#![allow(missing_docs, reason = "the names are those of the specification")]

use prost::{Enumeration, Message, Oneof};

use super::entities::{Entity, P4Data, TableEntry};

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub struct Status {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
pub struct WriteRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(uint64, tag = "2")]
    pub role_id: u64,
    #[prost(string, tag = "6")]
    pub role: String,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(message, repeated, tag = "4")]
    pub updates: Vec<Update>,
    #[prost(enumeration = "WriteRequestAtomicity", tag = "5")]
    pub atomicity: i32,
}

/// Who sends a [`WriteRequest`]. Decoding passes over its updates.
#[derive(Clone, PartialEq, Message)]
pub struct WriteRequestSender {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(uint64, tag = "2")]
    pub role_id: u64,
    #[prost(string, tag = "6")]
    pub role: String,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum WriteRequestAtomicity {
    ContinueOnError = 0,
    RollbackOnError = 1,
    DataplaneAtomic = 2,
}

#[derive(Clone, PartialEq, Message)]
pub struct WriteResponse {}

#[derive(Clone, PartialEq, Message)]
pub struct ReadRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(string, tag = "3")]
    pub role: String,
    #[prost(message, repeated, tag = "2")]
    pub entities: Vec<Entity>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadResponse {
    #[prost(message, repeated, tag = "1")]
    pub entities: Vec<Entity>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Update {
    #[prost(enumeration = "UpdateType", tag = "1")]
    pub r#type: i32,
    /// In a box, as a message may have a million updates without one.
    #[prost(message, optional, boxed, tag = "2")]
    pub entity: Option<Box<Entity>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum UpdateType {
    Unspecified = 0,
    Insert = 1,
    Modify = 2,
    Delete = 3,
}

#[derive(Clone, PartialEq, Message)]
pub struct StreamMessageRequest {
    #[prost(oneof = "StreamMessageRequestUpdate", tags = "1, 2, 3, 4")]
    pub update: Option<StreamMessageRequestUpdate>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum StreamMessageRequestUpdate {
    #[prost(message, tag = "1")]
    Arbitration(MasterArbitrationUpdate),
    #[prost(message, tag = "2")]
    Packet(PacketOut),
    #[prost(message, tag = "3")]
    DigestAck(DigestListAck),
    #[prost(message, tag = "4")]
    Other(Any),
}

#[derive(Clone, PartialEq, Message)]
pub struct PacketOut {
    #[prost(bytes = "vec", tag = "1")]
    pub payload: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<PacketMetadata>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct DigestListAck {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint64, tag = "2")]
    pub list_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct StreamMessageResponse {
    #[prost(oneof = "StreamMessageResponseUpdate", tags = "1, 2, 3, 4, 5, 6")]
    pub update: Option<StreamMessageResponseUpdate>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum StreamMessageResponseUpdate {
    #[prost(message, tag = "1")]
    Arbitration(MasterArbitrationUpdate),
    #[prost(message, tag = "2")]
    Packet(PacketIn),
    #[prost(message, tag = "3")]
    Digest(DigestList),
    #[prost(message, tag = "4")]
    IdleTimeoutNotification(IdleTimeoutNotification),
    #[prost(message, tag = "5")]
    Other(Any),
    #[prost(message, tag = "6")]
    Error(StreamError),
}

#[derive(Clone, PartialEq, Message)]
pub struct PacketIn {
    #[prost(bytes = "vec", tag = "1")]
    pub payload: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<PacketMetadata>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DigestList {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint64, tag = "2")]
    pub list_id: u64,
    #[prost(message, repeated, tag = "3")]
    pub data: Vec<P4Data>,
    #[prost(int64, tag = "4")]
    pub timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct PacketMetadata {
    #[prost(uint32, tag = "1")]
    pub metadata_id: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MasterArbitrationUpdate {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(message, optional, tag = "2")]
    pub role: Option<Role>,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(message, optional, tag = "4")]
    pub status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Role {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub config: Option<Any>,
}

#[derive(Clone, PartialEq, Message)]
pub struct IdleTimeoutNotification {
    #[prost(message, repeated, tag = "1")]
    pub table_entry: Vec<TableEntry>,
    #[prost(int64, tag = "2")]
    pub timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct StreamError {
    #[prost(int32, tag = "1")]
    pub canonical_code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(string, tag = "3")]
    pub space: String,
    #[prost(int32, tag = "4")]
    pub code: i32,
    #[prost(oneof = "StreamErrorDetails", tags = "5, 6, 7")]
    pub details: Option<StreamErrorDetails>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum StreamErrorDetails {
    #[prost(message, tag = "5")]
    PacketOut(PacketOutError),
    #[prost(message, tag = "6")]
    DigestListAck(DigestListAckError),
    #[prost(message, tag = "7")]
    Other(StreamOtherError),
}

#[derive(Clone, PartialEq, Message)]
pub struct PacketOutError {
    #[prost(message, optional, tag = "1")]
    pub packet_out: Option<PacketOut>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DigestListAckError {
    #[prost(message, optional, tag = "1")]
    pub digest_list_ack: Option<DigestListAck>,
}

#[derive(Clone, PartialEq, Message)]
pub struct StreamOtherError {
    #[prost(message, optional, tag = "1")]
    pub other: Option<Any>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Uint128 {
    #[prost(uint64, tag = "1")]
    pub high: u64,
    #[prost(uint64, tag = "2")]
    pub low: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct SetForwardingPipelineConfigRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(uint64, tag = "2")]
    pub role_id: u64,
    #[prost(string, tag = "6")]
    pub role: String,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(enumeration = "SetForwardingPipelineConfigRequestAction", tag = "4")]
    pub action: i32,
    #[prost(message, optional, tag = "5")]
    pub config: Option<ForwardingPipelineConfig>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum SetForwardingPipelineConfigRequestAction {
    Unspecified = 0,
    Verify = 1,
    VerifyAndSave = 2,
    VerifyAndCommit = 3,
    Commit = 4,
    ReconcileAndCommit = 5,
}

#[derive(Clone, PartialEq, Message)]
pub struct SetForwardingPipelineConfigResponse {}

#[derive(Clone, PartialEq, Message)]
pub struct ForwardingPipelineConfig {
    /// The P4Info as it came, encoded.
    #[prost(bytes = "vec", tag = "1")]
    pub p4info: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub p4_device_config: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    pub cookie: Option<ForwardingPipelineConfigCookie>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct ForwardingPipelineConfigCookie {
    #[prost(uint64, tag = "1")]
    pub cookie: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetForwardingPipelineConfigRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(
        enumeration = "GetForwardingPipelineConfigRequestResponseType",
        tag = "2"
    )]
    pub response_type: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum GetForwardingPipelineConfigRequestResponseType {
    All = 0,
    CookieOnly = 1,
    P4infoAndCookie = 2,
    DeviceConfigAndCookie = 3,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetForwardingPipelineConfigResponse {
    #[prost(message, optional, tag = "1")]
    pub config: Option<ForwardingPipelineConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Error {
    #[prost(int32, tag = "1")]
    pub canonical_code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(string, tag = "3")]
    pub space: String,
    #[prost(int32, tag = "4")]
    pub code: i32,
    #[prost(message, optional, tag = "5")]
    pub details: Option<Any>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct CapabilitiesRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct CapabilitiesResponse {
    #[prost(string, tag = "1")]
    pub p4runtime_api_version: String,
}
