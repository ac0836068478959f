//! The fields of `p4.config.v1.P4Info` and of all messages in it, for its text form.

use super::kind::Kind::{Enum, Message, Number, Text, Truth};
use super::kind::{EnumRow, MessageRow};

/// The name, number and kind of each field of each message.
#[rustfmt::skip]
pub const MESSAGES: &[MessageRow] = &[
    ("Action", &[
        ("preamble", 1, Message("Preamble")), ("params", 2, Message("Action.Param")),
    ]),
    ("Action.Param", &[
        ("id", 1, Number), ("name", 2, Text), ("annotations", 3, Text),
        ("annotation_locations", 8, Message("SourceLocation")), ("bitwidth", 4, Number),
        ("doc", 5, Message("Documentation")), ("type_name", 6, Message("P4NamedType")),
        ("structured_annotations", 7, Message("StructuredAnnotation")),
    ]),
    ("ActionProfile", &[
        ("preamble", 1, Message("Preamble")), ("table_ids", 2, Number),
        ("with_selector", 3, Truth), ("size", 4, Number), ("max_group_size", 5, Number),
        ("sum_of_weights", 6, Message("ActionProfile.SumOfWeights")),
        ("sum_of_members", 7, Message("ActionProfile.SumOfMembers")),
        ("weights_disallowed", 8, Truth),
    ]),
    ("ActionProfile.SumOfMembers", &[
        ("max_member_weight", 1, Number),
    ]),
    ("ActionProfile.SumOfWeights", &[
    ]),
    ("ActionRef", &[
        ("id", 1, Number), ("scope", 3, Enum("ActionRef.Scope")), ("annotations", 2, Text),
        ("annotation_locations", 5, Message("SourceLocation")),
        ("structured_annotations", 4, Message("StructuredAnnotation")),
    ]),
    ("ControllerPacketMetadata", &[
        ("preamble", 1, Message("Preamble")),
        ("metadata", 2, Message("ControllerPacketMetadata.Metadata")),
    ]),
    ("ControllerPacketMetadata.Metadata", &[
        ("id", 1, Number), ("name", 2, Text), ("annotations", 3, Text),
        ("annotation_locations", 7, Message("SourceLocation")), ("bitwidth", 4, Number),
        ("type_name", 5, Message("P4NamedType")),
        ("structured_annotations", 6, Message("StructuredAnnotation")),
    ]),
    ("Counter", &[
        ("preamble", 1, Message("Preamble")), ("spec", 2, Message("CounterSpec")),
        ("size", 3, Number), ("index_type_name", 4, Message("P4NamedType")),
    ]),
    ("CounterSpec", &[
        ("unit", 1, Enum("CounterSpec.Unit")),
    ]),
    ("Digest", &[
        ("preamble", 1, Message("Preamble")), ("type_spec", 2, Message("P4DataTypeSpec")),
    ]),
    ("DirectCounter", &[
        ("preamble", 1, Message("Preamble")), ("spec", 2, Message("CounterSpec")),
        ("direct_table_id", 3, Number),
    ]),
    ("DirectMeter", &[
        ("preamble", 1, Message("Preamble")), ("spec", 2, Message("MeterSpec")),
        ("direct_table_id", 3, Number),
    ]),
    ("Documentation", &[
        ("brief", 1, Text), ("description", 2, Text),
    ]),
    ("Expression", &[
        ("string_value", 1, Text), ("int64_value", 2, Number), ("bool_value", 3, Truth),
    ]),
    ("ExpressionList", &[
        ("expressions", 1, Message("Expression")),
    ]),
    ("Extern", &[
        ("extern_type_id", 1, Number), ("extern_type_name", 2, Text),
        ("instances", 3, Message("ExternInstance")),
    ]),
    ("ExternInstance", &[
        ("preamble", 1, Message("Preamble")),
    ]),
    ("KeyValuePair", &[
        ("key", 1, Text), ("value", 2, Message("Expression")),
    ]),
    ("KeyValuePairList", &[
        ("kv_pairs", 1, Message("KeyValuePair")),
    ]),
    ("MatchField", &[
        ("id", 1, Number), ("name", 2, Text), ("annotations", 3, Text),
        ("annotation_locations", 10, Message("SourceLocation")), ("bitwidth", 4, Number),
        ("match_type", 5, Enum("MatchField.MatchType")), ("other_match_type", 7, Text),
        ("doc", 6, Message("Documentation")), ("type_name", 8, Message("P4NamedType")),
        ("structured_annotations", 9, Message("StructuredAnnotation")),
    ]),
    ("Meter", &[
        ("preamble", 1, Message("Preamble")), ("spec", 2, Message("MeterSpec")),
        ("size", 3, Number), ("index_type_name", 4, Message("P4NamedType")),
    ]),
    ("MeterSpec", &[
        ("unit", 1, Enum("MeterSpec.Unit")), ("type", 2, Enum("MeterSpec.Type")),
    ]),
    ("P4BitTypeSpec", &[
        ("bitwidth", 1, Number),
    ]),
    ("P4BitstringLikeTypeSpec", &[
        ("bit", 1, Message("P4BitTypeSpec")), ("int", 2, Message("P4IntTypeSpec")),
        ("varbit", 3, Message("P4VarbitTypeSpec")), ("annotations", 4, Text),
        ("annotation_locations", 5, Message("SourceLocation")),
        ("structured_annotations", 6, Message("StructuredAnnotation")),
    ]),
    ("P4BoolType", &[
    ]),
    ("P4DataTypeSpec", &[
        ("bitstring", 1, Message("P4BitstringLikeTypeSpec")), ("bool", 2, Message("P4BoolType")),
        ("tuple", 3, Message("P4TupleTypeSpec")), ("struct", 4, Message("P4NamedType")),
        ("header", 5, Message("P4NamedType")), ("header_union", 6, Message("P4NamedType")),
        ("header_stack", 7, Message("P4HeaderStackTypeSpec")),
        ("header_union_stack", 8, Message("P4HeaderUnionStackTypeSpec")),
        ("enum", 9, Message("P4NamedType")), ("error", 10, Message("P4ErrorType")),
        ("serializable_enum", 11, Message("P4NamedType")),
        ("new_type", 12, Message("P4NamedType")),
    ]),
    ("P4EnumTypeSpec", &[
        ("members", 1, Message("P4EnumTypeSpec.Member")), ("annotations", 2, Text),
        ("annotation_locations", 4, Message("SourceLocation")),
        ("structured_annotations", 3, Message("StructuredAnnotation")),
    ]),
    ("P4EnumTypeSpec.Member", &[
        ("name", 1, Text), ("annotations", 2, Text),
        ("annotation_locations", 4, Message("SourceLocation")),
        ("structured_annotations", 3, Message("StructuredAnnotation")),
    ]),
    ("P4ErrorType", &[
    ]),
    ("P4ErrorTypeSpec", &[
        ("members", 1, Text),
    ]),
    ("P4HeaderStackTypeSpec", &[
        ("header", 1, Message("P4NamedType")), ("size", 2, Number),
    ]),
    ("P4HeaderTypeSpec", &[
        ("members", 1, Message("P4HeaderTypeSpec.Member")), ("annotations", 2, Text),
        ("annotation_locations", 3, Message("SourceLocation")),
        ("structured_annotations", 4, Message("StructuredAnnotation")),
    ]),
    ("P4HeaderTypeSpec.Member", &[
        ("name", 1, Text), ("type_spec", 2, Message("P4BitstringLikeTypeSpec")),
    ]),
    ("P4HeaderUnionStackTypeSpec", &[
        ("header_union", 1, Message("P4NamedType")), ("size", 2, Number),
    ]),
    ("P4HeaderUnionTypeSpec", &[
        ("members", 1, Message("P4HeaderUnionTypeSpec.Member")), ("annotations", 2, Text),
        ("annotation_locations", 3, Message("SourceLocation")),
        ("structured_annotations", 4, Message("StructuredAnnotation")),
    ]),
    ("P4HeaderUnionTypeSpec.Member", &[
        ("name", 1, Text), ("header", 2, Message("P4NamedType")),
    ]),
    ("P4Info", &[
        ("pkg_info", 1, Message("PkgInfo")), ("tables", 2, Message("Table")),
        ("actions", 3, Message("Action")), ("action_profiles", 4, Message("ActionProfile")),
        ("counters", 5, Message("Counter")), ("direct_counters", 6, Message("DirectCounter")),
        ("meters", 7, Message("Meter")), ("direct_meters", 8, Message("DirectMeter")),
        ("controller_packet_metadata", 9, Message("ControllerPacketMetadata")),
        ("value_sets", 10, Message("ValueSet")), ("registers", 11, Message("Register")),
        ("digests", 12, Message("Digest")), ("externs", 100, Message("Extern")),
        ("type_info", 200, Message("P4TypeInfo")),
    ]),
    ("P4IntTypeSpec", &[
        ("bitwidth", 1, Number),
    ]),
    ("P4NamedType", &[
        ("name", 1, Text),
    ]),
    ("P4NewTypeSpec", &[
        ("original_type", 1, Message("P4DataTypeSpec")),
        ("translated_type", 2, Message("P4NewTypeTranslation")), ("annotations", 3, Text),
        ("annotation_locations", 5, Message("SourceLocation")),
        ("structured_annotations", 4, Message("StructuredAnnotation")),
    ]),
    ("P4NewTypeTranslation", &[
        ("uri", 1, Text), ("sdn_bitwidth", 2, Number),
        ("sdn_string", 3, Message("P4NewTypeTranslation.SdnString")),
    ]),
    ("P4NewTypeTranslation.SdnString", &[
    ]),
    ("P4SerializableEnumTypeSpec", &[
        ("underlying_type", 1, Message("P4BitTypeSpec")),
        ("members", 2, Message("P4SerializableEnumTypeSpec.Member")), ("annotations", 3, Text),
        ("annotation_locations", 5, Message("SourceLocation")),
        ("structured_annotations", 4, Message("StructuredAnnotation")),
    ]),
    ("P4SerializableEnumTypeSpec.Member", &[
        ("name", 1, Text), ("value", 2, Text), ("annotations", 3, Text),
        ("annotation_locations", 5, Message("SourceLocation")),
        ("structured_annotations", 4, Message("StructuredAnnotation")),
    ]),
    ("P4StructTypeSpec", &[
        ("members", 1, Message("P4StructTypeSpec.Member")), ("annotations", 2, Text),
        ("annotation_locations", 3, Message("SourceLocation")),
        ("structured_annotations", 4, Message("StructuredAnnotation")),
    ]),
    ("P4StructTypeSpec.Member", &[
        ("name", 1, Text), ("type_spec", 2, Message("P4DataTypeSpec")),
    ]),
    ("P4TupleTypeSpec", &[
        ("members", 1, Message("P4DataTypeSpec")),
    ]),
    ("P4TypeInfo", &[
        ("structs", 1, Message("P4TypeInfo.StructsEntry")),
        ("headers", 2, Message("P4TypeInfo.HeadersEntry")),
        ("header_unions", 3, Message("P4TypeInfo.HeaderUnionsEntry")),
        ("enums", 4, Message("P4TypeInfo.EnumsEntry")), ("error", 5, Message("P4ErrorTypeSpec")),
        ("serializable_enums", 6, Message("P4TypeInfo.SerializableEnumsEntry")),
        ("new_types", 7, Message("P4TypeInfo.NewTypesEntry")),
    ]),
    ("P4TypeInfo.EnumsEntry", &[
        ("key", 1, Text), ("value", 2, Message("P4EnumTypeSpec")),
    ]),
    ("P4TypeInfo.HeaderUnionsEntry", &[
        ("key", 1, Text), ("value", 2, Message("P4HeaderUnionTypeSpec")),
    ]),
    ("P4TypeInfo.HeadersEntry", &[
        ("key", 1, Text), ("value", 2, Message("P4HeaderTypeSpec")),
    ]),
    ("P4TypeInfo.NewTypesEntry", &[
        ("key", 1, Text), ("value", 2, Message("P4NewTypeSpec")),
    ]),
    ("P4TypeInfo.SerializableEnumsEntry", &[
        ("key", 1, Text), ("value", 2, Message("P4SerializableEnumTypeSpec")),
    ]),
    ("P4TypeInfo.StructsEntry", &[
        ("key", 1, Text), ("value", 2, Message("P4StructTypeSpec")),
    ]),
    ("P4VarbitTypeSpec", &[
        ("max_bitwidth", 1, Number),
    ]),
    ("PkgInfo", &[
        ("name", 1, Text), ("version", 2, Text), ("doc", 3, Message("Documentation")),
        ("annotations", 4, Text), ("annotation_locations", 10, Message("SourceLocation")),
        ("arch", 5, Text), ("organization", 6, Text), ("contact", 7, Text), ("url", 8, Text),
        ("structured_annotations", 9, Message("StructuredAnnotation")),
        ("platform_properties", 11, Message("PlatformProperties")),
    ]),
    ("PlatformProperties", &[
        ("multicast_group_table_size", 1, Number),
        ("multicast_group_table_total_replicas", 2, Number),
        ("multicast_group_table_max_replicas_per_entry", 3, Number),
    ]),
    ("Preamble", &[
        ("id", 1, Number), ("name", 2, Text), ("alias", 3, Text), ("annotations", 4, Text),
        ("annotation_locations", 7, Message("SourceLocation")),
        ("doc", 5, Message("Documentation")),
        ("structured_annotations", 6, Message("StructuredAnnotation")),
    ]),
    ("Register", &[
        ("preamble", 1, Message("Preamble")), ("type_spec", 2, Message("P4DataTypeSpec")),
        ("size", 3, Number), ("index_type_name", 4, Message("P4NamedType")),
    ]),
    ("SourceLocation", &[
        ("file", 1, Text), ("line", 2, Number), ("column", 3, Number),
    ]),
    ("StructuredAnnotation", &[
        ("name", 1, Text), ("expression_list", 2, Message("ExpressionList")),
        ("kv_pair_list", 3, Message("KeyValuePairList")),
        ("source_location", 4, Message("SourceLocation")),
    ]),
    ("Table", &[
        ("preamble", 1, Message("Preamble")), ("match_fields", 2, Message("MatchField")),
        ("action_refs", 3, Message("ActionRef")), ("const_default_action_id", 4, Number),
        ("initial_default_action", 5, Message("TableActionCall")),
        ("implementation_id", 6, Number), ("direct_resource_ids", 7, Number),
        ("size", 8, Number), ("idle_timeout_behavior", 9, Enum("Table.IdleTimeoutBehavior")),
        ("is_const_table", 10, Truth), ("has_initial_entries", 11, Truth),
    ]),
    ("TableActionCall", &[
        ("action_id", 1, Number), ("arguments", 4, Message("TableActionCall.Argument")),
    ]),
    ("TableActionCall.Argument", &[
        ("param_id", 2, Number), ("value", 3, Text),
    ]),
    ("ValueSet", &[
        ("preamble", 1, Message("Preamble")), ("match", 2, Message("MatchField")),
        ("size", 3, Number),
    ]),
];

/// The names and numbers of the values of each enumeration.
#[rustfmt::skip]
pub const ENUMS: &[EnumRow] = &[
    ("ActionRef.Scope", &[
        ("TABLE_AND_DEFAULT", 0), ("TABLE_ONLY", 1), ("DEFAULT_ONLY", 2), ("GROUP_ACTION", 3),
    ]),
    ("CounterSpec.Unit", &[
        ("UNSPECIFIED", 0), ("BYTES", 1), ("PACKETS", 2), ("BOTH", 3),
    ]),
    ("MatchField.MatchType", &[
        ("UNSPECIFIED", 0), ("EXACT", 2), ("LPM", 3), ("TERNARY", 4), ("RANGE", 5),
        ("OPTIONAL", 6),
    ]),
    ("MeterSpec.Type", &[
        ("TWO_RATE_THREE_COLOR", 0), ("SINGLE_RATE_THREE_COLOR", 1),
        ("SINGLE_RATE_TWO_COLOR", 2),
    ]),
    ("MeterSpec.Unit", &[
        ("UNSPECIFIED", 0), ("BYTES", 1), ("PACKETS", 2),
    ]),
    ("Table.IdleTimeoutBehavior", &[
        ("NO_TIMEOUT", 0), ("NOTIFY_CONTROL", 1),
    ]),
];
