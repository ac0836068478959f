//! The header with OpenFlow 1.3's names for C: written from the rows of `oflib`.

use std::fmt::{LowerHex, Write as _};

use bofuss_oflib::Version;
use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::error::ERRORS;
use bofuss_oflib::field::{FIELDS, Style};
use bofuss_oflib::instruction::INSTRUCTIONS;
use bofuss_oflib::message::MESSAGES;
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::features::Capabilities;
use bofuss_oflib::message::flow_mod::{FlowModCommand, FlowModFlags};
use bofuss_oflib::message::flow_removed::FlowRemovedReason;
use bofuss_oflib::message::group_mod::{GroupModCommand, GroupType};
use bofuss_oflib::message::meter_mod::{MeterFlags, MeterModCommand};
use bofuss_oflib::message::multipart::MULTIPARTS;
use bofuss_oflib::message::packet_in::PacketInReason;
use bofuss_oflib::message::port::{PortConfig, PortFeatures, PortState, PortStatusReason};
use bofuss_oflib::message::role::ControllerRole;
use bofuss_oflib::types::{BufferId, GroupId, MaxLen, MeterId, PortNo, QueueId, TableId};

/// The file, from the top folder.
pub(crate) const HEADER: &str = "ns3/include/openflow/openflow.h";

/// The class of the specification's own fields. Spec: OpenFlow 1.3.5 section 7.2.3.3.
const BASIC_CLASS: u32 = 0x8000;
/// Bits of 1.3 for what has more of them in other versions.
const BITS: u64 = u32::MAX as u64;

/// The names of errors' codes begin with these. Spec: OpenFlow 1.3.5 section 7.4.4.
const CODES: &[(&str, &str)] = &[
    ("HELLO_FAILED", "OFPHFC"),
    ("BAD_REQUEST", "OFPBRC"),
    ("BAD_ACTION", "OFPBAC"),
    ("BAD_INSTRUCTION", "OFPBIC"),
    ("BAD_MATCH", "OFPBMC"),
    ("FLOW_MOD_FAILED", "OFPFMFC"),
    ("GROUP_MOD_FAILED", "OFPGMFC"),
    ("PORT_MOD_FAILED", "OFPPMFC"),
    ("TABLE_MOD_FAILED", "OFPTMFC"),
    ("QUEUE_OP_FAILED", "OFPQOFC"),
    ("SWITCH_CONFIG_FAILED", "OFPSCFC"),
    ("ROLE_REQUEST_FAILED", "OFPRRFC"),
    ("METER_MOD_FAILED", "OFPMMFC"),
    ("TABLE_FEATURES_FAILED", "OFPTFFC"),
];

/// The enumerations whose rows are the constants of a type.
macro_rules! enumerations {
    ($($name:literal $prefix:literal $Type:ident;)*) => {
        fn enumerations() -> Vec<(&'static str, Vec<(String, u64)>)> {
            vec![$((
                $name,
                $Type::CONSTANTS
                    .iter()
                    .map(|(name, value)| (format!("{}_{name}", $prefix), u64::from(value.0)))
                    .collect(),
            )),*]
        }
    };
}

enumerations! {
    "ofp_port_no" "OFPP" PortNo;
    "ofp_table" "OFPTT" TableId;
    "ofp_group" "OFPG" GroupId;
    "ofp_meter" "OFPM" MeterId;
    "ofp_queue" "OFPQ" QueueId;
    "ofp_buffer" "OFP" BufferId;
    "ofp_controller_max_len" "OFPCML" MaxLen;
    "ofp_config_flags" "OFPC" ConfigFlags;
    "ofp_capabilities" "OFPC" Capabilities;
    "ofp_controller_role" "OFPCR_ROLE" ControllerRole;
    "ofp_flow_mod_command" "OFPFC" FlowModCommand;
    "ofp_flow_mod_flags" "OFPFF" FlowModFlags;
    "ofp_flow_removed_reason" "OFPRR" FlowRemovedReason;
    "ofp_group_mod_command" "OFPGC" GroupModCommand;
    "ofp_group_type" "OFPGT" GroupType;
    "ofp_meter_mod_command" "OFPMC" MeterModCommand;
    "ofp_meter_flags" "OFPMF" MeterFlags;
    "ofp_packet_in_reason" "OFPR" PacketInReason;
    "ofp_port_config" "OFPPC" PortConfig;
    "ofp_port_state" "OFPPS" PortState;
    "ofp_port_features" "OFPPF" PortFeatures;
    "ofp_port_reason" "OFPPR" PortStatusReason;
}

/// The text of the header.
pub(crate) fn header() -> String {
    let mut text = String::from(
        "// OpenFlow 1.3 in names. Printed by `cargo xtask reference` from the rows of oflib.\n\
         #ifndef OPENFLOW_OPENFLOW_H\n#define OPENFLOW_OPENFLOW_H\n\n#include <cstdint>\n",
    );
    let v = Version::V1_3;
    let types = MESSAGES.iter().filter(|(_, _, span)| span.has(v));
    enumeration(
        &mut text,
        "ofp_type",
        types.map(|(number, name, _)| (format!("OFPT_{name}"), u64::from(*number))),
    );
    let multiparts = MULTIPARTS.iter().filter(|(_, _, span)| span.has(v));
    enumeration(
        &mut text,
        "ofp_multipart_types",
        multiparts.map(|(number, name, _)| (format!("OFPMP_{name}"), u64::from(*number))),
    );
    let actions = ACTIONS.iter().filter(|row| row.versions.has(v));
    let actions = actions.flat_map(|row| {
        let names = [row.name].into_iter().chain(row.aliases.iter().copied());
        names.map(|name| (upper("OFPAT", name), u64::from(row.number)))
    });
    let instructions = INSTRUCTIONS.iter().filter(|row| row.versions.has(v));
    let instructions = instructions.map(|row| (row.name, u64::from(row.number)));
    // Actions of experimenters have the same type as their instructions.
    let experimenter = { instructions.clone() }.filter(|(name, _)| *name == "experimenter");
    let experimenter = experimenter.map(|(name, number)| (upper("OFPAT", name), number));
    enumeration(&mut text, "ofp_action_type", actions.chain(experimenter));
    let instructions = instructions.map(|(name, number)| (upper("OFPIT", name), number));
    enumeration(&mut text, "ofp_instruction_type", instructions);
    errors(&mut text);
    for (name, rows) in enumerations() {
        let rows = rows.into_iter().filter(|(_, value)| *value <= BITS);
        enumeration(&mut text, name, rows);
    }
    fields(&mut text);
    text + "\n#endif\n"
}

/// A name in capitals.
fn upper(prefix: &str, name: &str) -> String {
    format!("{prefix}_{}", name.to_uppercase())
}

/// Appends an enumeration.
fn enumeration(text: &mut String, name: &str, rows: impl Iterator<Item = (String, u64)>) {
    writeln!(text, "\nenum {name} : uint32_t\n{{").expect("a string takes everything");
    for (name, value) in rows {
        writeln!(text, "    {name} = {},", hex(value)).expect("a string takes everything");
    }
    *text += "};\n";
}

fn hex(value: impl LowerHex) -> String {
    format!("{value:#x}")
}

fn errors(text: &mut String) {
    let known = || ERRORS.iter().filter(|row| row.versions.has(Version::V1_3));
    let mut types: Vec<_> = known()
        .map(|row| (upper("OFPET", row.type_name), u64::from(row.error.ty)))
        .collect();
    types.dedup();
    enumeration(text, "ofp_error_type", types.into_iter());
    let codes = known().filter_map(|row| {
        let (_, prefix) = CODES.iter().find(|(name, _)| *name == row.type_name)?;
        Some((upper(prefix, row.code_name), u64::from(row.error.code)))
    });
    enumeration(text, "ofp_error_code", codes);
}

/// Appends the headers of the fields of the basic class, without and with a mask.
fn fields(text: &mut String) {
    let known = || {
        let mut rows: Vec<_> = FIELDS
            .iter()
            .filter(|field| field.experimenter == 0 && field.versions.has(Version::V1_3))
            .collect();
        rows.sort_by_key(|field| field.number);
        rows.into_iter()
    };
    enumeration(
        text,
        "oxm_ofb_match_fields",
        known().map(|field| (upper("OFPXMT_OFB", field.name), field.number.into())),
    );
    *text += "\n// The class, number, mask bit and bytes of each field.\n";
    for field in known() {
        let of = |masked: bool| {
            let length = (field.bytes() as u32) << u32::from(masked);
            let number = u32::from(field.number) << 1 | u32::from(masked);
            hex(BASIC_CLASS << 16 | number << 8 | length)
        };
        let name = upper("OXM_OF", field.name);
        writeln!(text, "constexpr uint32_t {name} = {};", of(false))
            .expect("a string takes everything");
        if field.maskable {
            writeln!(text, "constexpr uint32_t {name}_W = {};", of(true))
                .expect("a string takes everything");
        }
    }
    *text += "\n// Fields whose values are addresses of IPv4.\n\
        constexpr uint32_t OXM_IPV4_ADDRESSES[] = {\n";
    for field in known().filter(|field| field.style == Style::Ip4) {
        writeln!(text, "    {},", upper("OXM_OF", field.name)).expect("a string takes everything");
    }
    *text += "};\n\n\
        // Each field's name.\n\
        struct oxm_name\n{\n    uint32_t header;\n    const char* name;\n};\n\n\
        constexpr oxm_name OXM_NAMES[] = {\n";
    for field in known() {
        let header = upper("OXM_OF", field.name);
        writeln!(text, "    {{{header}, \"{}\"}},", field.name).expect("a string takes everything");
    }
    *text += "};\n";
}
