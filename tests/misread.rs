//! The one list of what tshark does not know of OpenFlow.

/// The messages that tshark 4.0 does not know or misreads, as filters of it, and what is wrong. It
/// has no dissector for OpenFlow 1.1 and 1.2 at all, and of 1.3 none for the ONF's extensions,
/// which it leaves alone.
pub const MISREAD: [(&str, &str); 7] = [
    (
        "openflow_1_0.type == 1 || openflow_v4.type == 1 || openflow_v5.type == 1 || \
         openflow_v6.type == 1",
        "it reads the request that an ERROR quotes as if it were whole",
    ),
    (
        "openflow_1_0.type == 14 || openflow_v4.type == 14 || openflow_v5.type == 14 || \
         openflow_v6.type == 14",
        "it misses an action in a FLOW_MOD without any",
    ),
    (
        "openflow_v5.multipart_reply.type in {5, 15}",
        "it misplaces padding in QUEUE and QUEUE_DESC",
    ),
    (
        "openflow_v6.multipart_reply.type in {1, 5, 7, 12, 15}",
        "it loses its place in matches, lists of fields, buckets and properties",
    ),
    (
        "openflow_v6.multipart_reply.type in {16 .. 19}",
        "it does not know FLOW_MONITOR, FLOW_STATS, CONTROLLER_STATUS and BUNDLE_FEATURES",
    ),
    (
        "openflow_v6.multipart_request.type in {1, 2, 12, 16, 17}",
        "it loses its place in matches and lists of fields",
    ),
    (
        "openflow_v6.type in {10, 11, 13, 15, 35}",
        "it loses its place in matches and lists of fields, buckets and URIs: PACKET_IN, \
         FLOW_REMOVED, PACKET_OUT, GROUP_MOD, CONTROLLER_STATUS",
    ),
];
