//! OpenQFlow: state for each microflow, separate from the rules; fair shares of links by aggregate;
//! and engines that change a flow without the controller.
//!
//! A packet that misses in the chosen table is handled by its flow. If the flow is new, or older
//! than the last change of rules, forwarding and QoS rules are looked up in their tables. Later
//! packets follow the flow without any lookup. See README.md.

mod admission;
mod aggregate;
mod aggregates;
mod balance;
mod dpi;
mod egress;
mod ended;
mod engine;
pub mod error;
mod flow;
mod forwarding;
mod hook;
mod message;
mod options;
mod paths;
mod pending;
mod ports;
mod records;
mod report;
mod standard;
mod table;
mod tuple;
mod write;

pub use aggregate::{AggregateCounts, AggregateId, AggregateKey, KeyMod};
pub use aggregates::AggregateTable;
pub use dpi::{Signature, SignatureMod};
pub use engine::ExpirySlice;
pub use flow::{
    CountedPacket, DropCause, EngineState, FlowLimits, FlowLookup, FlowPhase, FlowRecord,
    ReportReason, Resolved, SoughtTuple, Touched, TrackedFlow,
};
pub use hook::hook;
pub use message::{AggregateRecord, FlowCopy, FlowFilter, FlowQuery, LinkSet};
pub use records::{ForwardRecord, QosRecord, QosScope, ServiceType};
pub use table::{FlowCounts, FlowTable};
pub use tuple::{FlowTuple, TupleMatch};
pub use write::FlowWrite;

use bofuss_oflib::Field;
use bofuss_oflib::error::BadInstruction;
use bofuss_oflib::ext::{Arg, BOFUSS, ExtKind, ExtRow, TypedBody};

use crate::common::list::ValueList;

/// The name of this extension.
const NAME: &str = "openqflow";

/// This extension adds no fields.
pub static FIELDS: [Field; 0] = [];

/// The row of an instruction.
const fn instruction<T: TypedBody>(ty: u32, name: &'static str) -> ExtRow {
    ExtRow::typed::<T>(ExtKind::Instruction, BOFUSS, ty, name)
        .with_errors(BadInstruction::BAD_EXP_TYPE, BadInstruction::BAD_LEN)
}

/// The row of a message.
const fn message<T: TypedBody>(ty: u32, name: &'static str) -> ExtRow {
    ExtRow::typed::<T>(ExtKind::Message, BOFUSS, ty, name)
}

/// The row of a list that `dpctl` prints.
const fn list<T: TypedBody>(ty: u32, name: &'static str) -> ExtRow {
    ExtRow::typed::<T>(ExtKind::Multipart, BOFUSS, ty, name)
}

/// Instructions of rules; messages that change keys and flows and that subscribe to reports;
/// reports and copies of packets; and lists of flows, aggregates and keys.
pub static VALUES: [ExtRow; 15] = [
    instruction::<ForwardRecord>(32, "qflow_forward"),
    instruction::<QosRecord>(33, "qflow_qos"),
    message::<KeyMod>(34, "qflow_key_mod")
        .that_changes()
        .with_error_names(error::ERRORS)
        .with_usage(
            "set,key=N,MASKS...|delete,key=N|port=N,key=N",
            "changes by which keys flows are aggregates",
        ),
    message::<FlowWrite>(35, "qflow_write")
        .that_changes()
        .with_usage(
            "TUPLE...[,give-back][,gap_us=N][,port=N][,QOS...][,registers=A+B+C+D]",
            "changes a flow as an engine does",
        ),
    ExtRow::new(ExtKind::Message, BOFUSS, 36, "qflow_notify").with_args(&[Arg::new("wanted", 1)]),
    ExtRow::new(ExtKind::Message, BOFUSS, 37, "qflow_limits")
        .with_args(&[
            Arg::new("push_ms", 4),
            Arg::new("report_bytes", 8),
            Arg::new("report_kbps", 4),
            Arg::new("report_share", 4),
        ])
        .that_changes()
        .with_usage(
            "push_ms=N,report_bytes=N,report_kbps=N,report_share=N",
            "sets when flows are reported",
        ),
    message::<ValueList<FlowRecord>>(38, "qflow_report").for_subscribers(),
    message::<FlowCopy>(39, "qflow_copy").for_subscribers(),
    message::<SignatureMod>(40, "qflow_signature_mod")
        .that_changes()
        .with_usage(
            "add,id=N,pattern=HEX[,offset=N][,after_bytes=N][,port=N][,QOS...]|delete,id=N",
            "changes by which payloads flows get a class",
        ),
    message::<LinkSet>(41, "qflow_links_mod")
        .that_changes()
        .with_usage(
            "gap_us=N,ports=N+N...",
            "sets between which links large flows are moved",
        ),
    list::<FlowQuery>(32, "qflow_flows").with_usage(
        "[in_port=N][,vlan=N][,src=A[/P]][,dst=A[/P]][,sport=N][,dport=N][,key=N]",
        "prints flows of OpenQFlow",
    ),
    list::<ValueList<AggregateRecord>>(33, "qflow_aggregates")
        .with_usage("", "prints the aggregates of flows"),
    list::<ValueList<KeyMod>>(34, "qflow_keys")
        .with_usage("", "prints aggregate keys as qflow_key_mod takes them"),
    list::<ValueList<SignatureMod>>(35, "qflow_signatures")
        .with_usage("", "prints signatures as qflow_signature_mod takes them"),
    list::<ValueList<LinkSet>>(36, "qflow_links")
        .with_usage("", "prints links as qflow_links_mod takes them"),
];
/// The places of the rows.
const FORWARD: usize = 0;
const QOS: usize = 1;
const NOTIFY: usize = 4;
const LIMITS: usize = 5;
/// The rows of notifications to subscribers.
const REPORT: &ExtRow = &VALUES[6];
const COPY: &ExtRow = &VALUES[7];
