// OpenFlow 1.3 in names. Printed by `cargo xtask reference` from the rows of oflib.
#ifndef OPENFLOW_OPENFLOW_H
#define OPENFLOW_OPENFLOW_H

#include <cstdint>

enum ofp_type : uint32_t
{
    OFPT_HELLO = 0x0,
    OFPT_ERROR = 0x1,
    OFPT_ECHO_REQUEST = 0x2,
    OFPT_ECHO_REPLY = 0x3,
    OFPT_EXPERIMENTER = 0x4,
    OFPT_FEATURES_REQUEST = 0x5,
    OFPT_FEATURES_REPLY = 0x6,
    OFPT_GET_CONFIG_REQUEST = 0x7,
    OFPT_GET_CONFIG_REPLY = 0x8,
    OFPT_SET_CONFIG = 0x9,
    OFPT_PACKET_IN = 0xa,
    OFPT_FLOW_REMOVED = 0xb,
    OFPT_PORT_STATUS = 0xc,
    OFPT_PACKET_OUT = 0xd,
    OFPT_FLOW_MOD = 0xe,
    OFPT_GROUP_MOD = 0xf,
    OFPT_PORT_MOD = 0x10,
    OFPT_TABLE_MOD = 0x11,
    OFPT_MULTIPART_REQUEST = 0x12,
    OFPT_MULTIPART_REPLY = 0x13,
    OFPT_BARRIER_REQUEST = 0x14,
    OFPT_BARRIER_REPLY = 0x15,
    OFPT_QUEUE_GET_CONFIG_REQUEST = 0x16,
    OFPT_QUEUE_GET_CONFIG_REPLY = 0x17,
    OFPT_ROLE_REQUEST = 0x18,
    OFPT_ROLE_REPLY = 0x19,
    OFPT_GET_ASYNC_REQUEST = 0x1a,
    OFPT_GET_ASYNC_REPLY = 0x1b,
    OFPT_SET_ASYNC = 0x1c,
    OFPT_METER_MOD = 0x1d,
    OFPT_BUNDLE_CONTROL = 0x21,
    OFPT_BUNDLE_ADD_MESSAGE = 0x22,
};

enum ofp_multipart_types : uint32_t
{
    OFPMP_DESC = 0x0,
    OFPMP_FLOW = 0x1,
    OFPMP_AGGREGATE = 0x2,
    OFPMP_TABLE = 0x3,
    OFPMP_PORT_STATS = 0x4,
    OFPMP_QUEUE = 0x5,
    OFPMP_GROUP = 0x6,
    OFPMP_GROUP_DESC = 0x7,
    OFPMP_GROUP_FEATURES = 0x8,
    OFPMP_METER = 0x9,
    OFPMP_METER_CONFIG = 0xa,
    OFPMP_METER_FEATURES = 0xb,
    OFPMP_TABLE_FEATURES = 0xc,
    OFPMP_PORT_DESC = 0xd,
    OFPMP_FLOW_MONITOR = 0x10,
    OFPMP_BUNDLE_FEATURES = 0x13,
    OFPMP_EXPERIMENTER = 0xffff,
};

enum ofp_action_type : uint32_t
{
    OFPAT_OUTPUT = 0x0,
    OFPAT_COPY_TTL_OUT = 0xb,
    OFPAT_TTL_OUT = 0xb,
    OFPAT_COPY_TTL_IN = 0xc,
    OFPAT_TTL_IN = 0xc,
    OFPAT_SET_MPLS_TTL = 0xf,
    OFPAT_MPLS_TTL = 0xf,
    OFPAT_DEC_MPLS_TTL = 0x10,
    OFPAT_MPLS_DEC = 0x10,
    OFPAT_PUSH_VLAN = 0x11,
    OFPAT_POP_VLAN = 0x12,
    OFPAT_STRIP_VLAN = 0x12,
    OFPAT_PUSH_MPLS = 0x13,
    OFPAT_POP_MPLS = 0x14,
    OFPAT_SET_QUEUE = 0x15,
    OFPAT_GROUP = 0x16,
    OFPAT_MOD_NW_TTL = 0x17,
    OFPAT_SET_NW_TTL = 0x17,
    OFPAT_NW_TTL = 0x17,
    OFPAT_DEC_TTL = 0x18,
    OFPAT_DEC_NW_TTL = 0x18,
    OFPAT_NW_DEC = 0x18,
    OFPAT_SET_FIELD = 0x19,
    OFPAT_PUSH_PBB = 0x1a,
    OFPAT_POP_PBB = 0x1b,
    OFPAT_COPY_FIELD = 0x1c,
    OFPAT_MOVE = 0x1c,
    OFPAT_EXPERIMENTER = 0xffff,
};

enum ofp_instruction_type : uint32_t
{
    OFPIT_GOTO_TABLE = 0x1,
    OFPIT_WRITE_METADATA = 0x2,
    OFPIT_WRITE_ACTIONS = 0x3,
    OFPIT_APPLY_ACTIONS = 0x4,
    OFPIT_CLEAR_ACTIONS = 0x5,
    OFPIT_METER = 0x6,
    OFPIT_EXPERIMENTER = 0xffff,
};

enum ofp_error_type : uint32_t
{
    OFPET_HELLO_FAILED = 0x0,
    OFPET_BAD_REQUEST = 0x1,
    OFPET_BAD_ACTION = 0x2,
    OFPET_BAD_INSTRUCTION = 0x3,
    OFPET_BAD_MATCH = 0x4,
    OFPET_FLOW_MOD_FAILED = 0x5,
    OFPET_GROUP_MOD_FAILED = 0x6,
    OFPET_PORT_MOD_FAILED = 0x7,
    OFPET_TABLE_MOD_FAILED = 0x8,
    OFPET_QUEUE_OP_FAILED = 0x9,
    OFPET_SWITCH_CONFIG_FAILED = 0xa,
    OFPET_ROLE_REQUEST_FAILED = 0xb,
    OFPET_METER_MOD_FAILED = 0xc,
    OFPET_TABLE_FEATURES_FAILED = 0xd,
    OFPET_FLOW_MONITOR_FAILED = 0x10,
    OFPET_BUNDLE_FAILED = 0x11,
};

enum ofp_error_code : uint32_t
{
    OFPHFC_INCOMPATIBLE = 0x0,
    OFPHFC_EPERM = 0x1,
    OFPBRC_BAD_VERSION = 0x0,
    OFPBRC_BAD_TYPE = 0x1,
    OFPBRC_BAD_MULTIPART = 0x2,
    OFPBRC_BAD_EXPERIMENTER = 0x3,
    OFPBRC_BAD_EXP_TYPE = 0x4,
    OFPBRC_EPERM = 0x5,
    OFPBRC_BAD_LEN = 0x6,
    OFPBRC_BUFFER_EMPTY = 0x7,
    OFPBRC_BUFFER_UNKNOWN = 0x8,
    OFPBRC_BAD_TABLE_ID = 0x9,
    OFPBRC_IS_SLAVE = 0xa,
    OFPBRC_BAD_PORT = 0xb,
    OFPBRC_BAD_PACKET = 0xc,
    OFPBRC_MULTIPART_BUFFER_OVERFLOW = 0xd,
    OFPBAC_BAD_TYPE = 0x0,
    OFPBAC_BAD_LEN = 0x1,
    OFPBAC_BAD_EXPERIMENTER = 0x2,
    OFPBAC_BAD_EXP_TYPE = 0x3,
    OFPBAC_BAD_OUT_PORT = 0x4,
    OFPBAC_BAD_ARGUMENT = 0x5,
    OFPBAC_EPERM = 0x6,
    OFPBAC_TOO_MANY = 0x7,
    OFPBAC_BAD_QUEUE = 0x8,
    OFPBAC_BAD_OUT_GROUP = 0x9,
    OFPBAC_MATCH_INCONSISTENT = 0xa,
    OFPBAC_UNSUPPORTED_ORDER = 0xb,
    OFPBAC_BAD_TAG = 0xc,
    OFPBAC_BAD_SET_TYPE = 0xd,
    OFPBAC_BAD_SET_LEN = 0xe,
    OFPBAC_BAD_SET_ARGUMENT = 0xf,
    OFPBIC_UNKNOWN_INST = 0x0,
    OFPBIC_UNSUP_INST = 0x1,
    OFPBIC_BAD_TABLE_ID = 0x2,
    OFPBIC_UNSUP_METADATA = 0x3,
    OFPBIC_UNSUP_METADATA_MASK = 0x4,
    OFPBIC_BAD_EXPERIMENTER = 0x5,
    OFPBIC_BAD_EXP_TYPE = 0x6,
    OFPBIC_BAD_LEN = 0x7,
    OFPBIC_EPERM = 0x8,
    OFPBMC_BAD_TYPE = 0x0,
    OFPBMC_BAD_LEN = 0x1,
    OFPBMC_BAD_TAG = 0x2,
    OFPBMC_BAD_DL_ADDR_MASK = 0x3,
    OFPBMC_BAD_NW_ADDR_MASK = 0x4,
    OFPBMC_BAD_WILDCARDS = 0x5,
    OFPBMC_BAD_FIELD = 0x6,
    OFPBMC_BAD_VALUE = 0x7,
    OFPBMC_BAD_MASK = 0x8,
    OFPBMC_BAD_PREREQ = 0x9,
    OFPBMC_DUP_FIELD = 0xa,
    OFPBMC_EPERM = 0xb,
    OFPFMFC_UNKNOWN = 0x0,
    OFPFMFC_TABLE_FULL = 0x1,
    OFPFMFC_BAD_TABLE_ID = 0x2,
    OFPFMFC_OVERLAP = 0x3,
    OFPFMFC_EPERM = 0x4,
    OFPFMFC_BAD_TIMEOUT = 0x5,
    OFPFMFC_BAD_COMMAND = 0x6,
    OFPFMFC_BAD_FLAGS = 0x7,
    OFPGMFC_GROUP_EXISTS = 0x0,
    OFPGMFC_INVALID_GROUP = 0x1,
    OFPGMFC_WEIGHT_UNSUPPORTED = 0x2,
    OFPGMFC_OUT_OF_GROUPS = 0x3,
    OFPGMFC_OUT_OF_BUCKETS = 0x4,
    OFPGMFC_CHAINING_UNSUPPORTED = 0x5,
    OFPGMFC_WATCH_UNSUPPORTED = 0x6,
    OFPGMFC_LOOP = 0x7,
    OFPGMFC_UNKNOWN_GROUP = 0x8,
    OFPGMFC_CHAINED_GROUP = 0x9,
    OFPGMFC_BAD_TYPE = 0xa,
    OFPGMFC_BAD_COMMAND = 0xb,
    OFPGMFC_BAD_BUCKET = 0xc,
    OFPGMFC_BAD_WATCH = 0xd,
    OFPGMFC_EPERM = 0xe,
    OFPPMFC_BAD_PORT = 0x0,
    OFPPMFC_BAD_HW_ADDR = 0x1,
    OFPPMFC_BAD_CONFIG = 0x2,
    OFPPMFC_BAD_ADVERTISE = 0x3,
    OFPPMFC_EPERM = 0x4,
    OFPTMFC_BAD_TABLE = 0x0,
    OFPTMFC_BAD_CONFIG = 0x1,
    OFPTMFC_EPERM = 0x2,
    OFPQOFC_BAD_PORT = 0x0,
    OFPQOFC_BAD_QUEUE = 0x1,
    OFPQOFC_EPERM = 0x2,
    OFPSCFC_BAD_FLAGS = 0x0,
    OFPSCFC_BAD_LEN = 0x1,
    OFPSCFC_EPERM = 0x2,
    OFPRRFC_STALE = 0x0,
    OFPRRFC_UNSUP = 0x1,
    OFPRRFC_BAD_ROLE = 0x2,
    OFPMMFC_UNKNOWN = 0x0,
    OFPMMFC_METER_EXISTS = 0x1,
    OFPMMFC_INVALID_METER = 0x2,
    OFPMMFC_UNKNOWN_METER = 0x3,
    OFPMMFC_BAD_COMMAND = 0x4,
    OFPMMFC_BAD_FLAGS = 0x5,
    OFPMMFC_BAD_RATE = 0x6,
    OFPMMFC_BAD_BURST = 0x7,
    OFPMMFC_BAD_BAND = 0x8,
    OFPMMFC_BAD_BAND_VALUE = 0x9,
    OFPMMFC_OUT_OF_METERS = 0xa,
    OFPMMFC_OUT_OF_BANDS = 0xb,
    OFPTFFC_BAD_TABLE = 0x0,
    OFPTFFC_BAD_METADATA = 0x1,
    OFPTFFC_BAD_TYPE = 0x2,
    OFPTFFC_BAD_LEN = 0x3,
    OFPTFFC_BAD_ARGUMENT = 0x4,
    OFPTFFC_EPERM = 0x5,
};

enum ofp_port_no : uint32_t
{
    OFPP_MAX = 0xffffff00,
    OFPP_UNSET = 0xfffffff7,
    OFPP_IN_PORT = 0xfffffff8,
    OFPP_TABLE = 0xfffffff9,
    OFPP_NORMAL = 0xfffffffa,
    OFPP_FLOOD = 0xfffffffb,
    OFPP_ALL = 0xfffffffc,
    OFPP_CONTROLLER = 0xfffffffd,
    OFPP_LOCAL = 0xfffffffe,
    OFPP_ANY = 0xffffffff,
};

enum ofp_table : uint32_t
{
    OFPTT_MAX = 0xfe,
    OFPTT_ALL = 0xff,
};

enum ofp_group : uint32_t
{
    OFPG_MAX = 0xffffff00,
    OFPG_ALL = 0xfffffffc,
    OFPG_ANY = 0xffffffff,
};

enum ofp_meter : uint32_t
{
    OFPM_MAX = 0xffff0000,
    OFPM_SLOWPATH = 0xfffffffd,
    OFPM_CONTROLLER = 0xfffffffe,
    OFPM_ALL = 0xffffffff,
};

enum ofp_queue : uint32_t
{
    OFPQ_ALL = 0xffffffff,
};

enum ofp_buffer : uint32_t
{
    OFP_NO_BUFFER = 0xffffffff,
};

enum ofp_controller_max_len : uint32_t
{
    OFPCML_NO_BUFFER = 0xffff,
};

enum ofp_config_flags : uint32_t
{
    OFPC_FRAG_DROP = 0x1,
    OFPC_FRAG_REASM = 0x2,
    OFPC_INVALID_TTL_TO_CONTROLLER = 0x10000,
};

enum ofp_capabilities : uint32_t
{
    OFPC_FLOW_STATS = 0x1,
    OFPC_TABLE_STATS = 0x2,
    OFPC_PORT_STATS = 0x4,
    OFPC_GROUP_STATS = 0x8,
    OFPC_IP_REASM = 0x20,
    OFPC_QUEUE_STATS = 0x40,
    OFPC_PORT_BLOCKED = 0x100,
};

enum ofp_controller_role : uint32_t
{
    OFPCR_ROLE_NOCHANGE = 0x0,
    OFPCR_ROLE_EQUAL = 0x1,
    OFPCR_ROLE_MASTER = 0x2,
    OFPCR_ROLE_SLAVE = 0x3,
};

enum ofp_flow_mod_command : uint32_t
{
    OFPFC_ADD = 0x0,
    OFPFC_MODIFY = 0x1,
    OFPFC_MODIFY_STRICT = 0x2,
    OFPFC_DELETE = 0x3,
    OFPFC_DELETE_STRICT = 0x4,
};

enum ofp_flow_mod_flags : uint32_t
{
    OFPFF_SEND_FLOW_REM = 0x1,
    OFPFF_CHECK_OVERLAP = 0x2,
    OFPFF_RESET_COUNTS = 0x4,
    OFPFF_NO_PKT_COUNTS = 0x8,
    OFPFF_NO_BYT_COUNTS = 0x10,
    OFPFF_OR_ADD = 0x10000,
    OFPFF_ANY_HEADER = 0x20000,
    OFPFF_FIRST = 0x40000,
    OFPFF_ONE_TAG = 0x80000,
};

enum ofp_flow_removed_reason : uint32_t
{
    OFPRR_IDLE_TIMEOUT = 0x0,
    OFPRR_HARD_TIMEOUT = 0x1,
    OFPRR_DELETE = 0x2,
    OFPRR_GROUP_DELETE = 0x3,
    OFPRR_METER_DELETE = 0x4,
    OFPRR_EVICTION = 0x5,
};

enum ofp_group_mod_command : uint32_t
{
    OFPGC_ADD = 0x0,
    OFPGC_MODIFY = 0x1,
    OFPGC_DELETE = 0x2,
    OFPGC_INSERT_BUCKET = 0x3,
    OFPGC_REMOVE_BUCKET = 0x5,
    OFPGC_ADD_OR_MOD = 0x8000,
};

enum ofp_group_type : uint32_t
{
    OFPGT_ALL = 0x0,
    OFPGT_SELECT = 0x1,
    OFPGT_INDIRECT = 0x2,
    OFPGT_FF = 0x3,
};

enum ofp_meter_mod_command : uint32_t
{
    OFPMC_ADD = 0x0,
    OFPMC_MODIFY = 0x1,
    OFPMC_DELETE = 0x2,
};

enum ofp_meter_flags : uint32_t
{
    OFPMF_KBPS = 0x1,
    OFPMF_PKTPS = 0x2,
    OFPMF_BURST = 0x4,
    OFPMF_STATS = 0x8,
};

enum ofp_packet_in_reason : uint32_t
{
    OFPR_NO_MATCH = 0x0,
    OFPR_ACTION = 0x1,
    OFPR_INVALID_TTL = 0x2,
    OFPR_ACTION_SET = 0x3,
    OFPR_GROUP = 0x4,
    OFPR_PACKET_OUT = 0x5,
};

enum ofp_port_config : uint32_t
{
    OFPPC_PORT_DOWN = 0x1,
    OFPPC_NO_RECV = 0x4,
    OFPPC_NO_FWD = 0x20,
    OFPPC_NO_PACKET_IN = 0x40,
};

enum ofp_port_state : uint32_t
{
    OFPPS_LINK_DOWN = 0x1,
    OFPPS_BLOCKED = 0x2,
    OFPPS_LIVE = 0x4,
};

enum ofp_port_features : uint32_t
{
    OFPPF_HD_10MB = 0x1,
    OFPPF_FD_10MB = 0x2,
    OFPPF_HD_100MB = 0x4,
    OFPPF_FD_100MB = 0x8,
    OFPPF_HD_1GB = 0x10,
    OFPPF_FD_1GB = 0x20,
    OFPPF_FD_10GB = 0x40,
    OFPPF_FD_40GB = 0x80,
    OFPPF_FD_100GB = 0x100,
    OFPPF_FD_1TB = 0x200,
    OFPPF_OTHER = 0x400,
    OFPPF_COPPER = 0x800,
    OFPPF_FIBER = 0x1000,
    OFPPF_AUTONEG = 0x2000,
    OFPPF_PAUSE = 0x4000,
    OFPPF_PAUSE_ASYM = 0x8000,
};

enum ofp_port_reason : uint32_t
{
    OFPPR_ADD = 0x0,
    OFPPR_DELETE = 0x1,
    OFPPR_MODIFY = 0x2,
};

enum oxm_ofb_match_fields : uint32_t
{
    OFPXMT_OFB_IN_PORT = 0x0,
    OFPXMT_OFB_IN_PHY_PORT = 0x1,
    OFPXMT_OFB_METADATA = 0x2,
    OFPXMT_OFB_ETH_DST = 0x3,
    OFPXMT_OFB_ETH_SRC = 0x4,
    OFPXMT_OFB_ETH_TYPE = 0x5,
    OFPXMT_OFB_VLAN_VID = 0x6,
    OFPXMT_OFB_VLAN_PCP = 0x7,
    OFPXMT_OFB_IP_DSCP = 0x8,
    OFPXMT_OFB_IP_ECN = 0x9,
    OFPXMT_OFB_IP_PROTO = 0xa,
    OFPXMT_OFB_IPV4_SRC = 0xb,
    OFPXMT_OFB_IPV4_DST = 0xc,
    OFPXMT_OFB_TCP_SRC = 0xd,
    OFPXMT_OFB_TCP_DST = 0xe,
    OFPXMT_OFB_UDP_SRC = 0xf,
    OFPXMT_OFB_UDP_DST = 0x10,
    OFPXMT_OFB_SCTP_SRC = 0x11,
    OFPXMT_OFB_SCTP_DST = 0x12,
    OFPXMT_OFB_ICMPV4_TYPE = 0x13,
    OFPXMT_OFB_ICMPV4_CODE = 0x14,
    OFPXMT_OFB_ARP_OP = 0x15,
    OFPXMT_OFB_ARP_SPA = 0x16,
    OFPXMT_OFB_ARP_TPA = 0x17,
    OFPXMT_OFB_ARP_SHA = 0x18,
    OFPXMT_OFB_ARP_THA = 0x19,
    OFPXMT_OFB_IPV6_SRC = 0x1a,
    OFPXMT_OFB_IPV6_DST = 0x1b,
    OFPXMT_OFB_IPV6_FLABEL = 0x1c,
    OFPXMT_OFB_ICMPV6_TYPE = 0x1d,
    OFPXMT_OFB_ICMPV6_CODE = 0x1e,
    OFPXMT_OFB_IPV6_ND_TARGET = 0x1f,
    OFPXMT_OFB_IPV6_ND_SLL = 0x20,
    OFPXMT_OFB_IPV6_ND_TLL = 0x21,
    OFPXMT_OFB_MPLS_LABEL = 0x22,
    OFPXMT_OFB_MPLS_TC = 0x23,
    OFPXMT_OFB_MPLS_BOS = 0x24,
    OFPXMT_OFB_PBB_ISID = 0x25,
    OFPXMT_OFB_TUNNEL_ID = 0x26,
    OFPXMT_OFB_IPV6_EXTHDR = 0x27,
};

// The class, number, mask bit and bytes of each field.
constexpr uint32_t OXM_OF_IN_PORT = 0x80000004;
constexpr uint32_t OXM_OF_IN_PHY_PORT = 0x80000204;
constexpr uint32_t OXM_OF_METADATA = 0x80000408;
constexpr uint32_t OXM_OF_METADATA_W = 0x80000510;
constexpr uint32_t OXM_OF_ETH_DST = 0x80000606;
constexpr uint32_t OXM_OF_ETH_DST_W = 0x8000070c;
constexpr uint32_t OXM_OF_ETH_SRC = 0x80000806;
constexpr uint32_t OXM_OF_ETH_SRC_W = 0x8000090c;
constexpr uint32_t OXM_OF_ETH_TYPE = 0x80000a02;
constexpr uint32_t OXM_OF_VLAN_VID = 0x80000c02;
constexpr uint32_t OXM_OF_VLAN_VID_W = 0x80000d04;
constexpr uint32_t OXM_OF_VLAN_PCP = 0x80000e01;
constexpr uint32_t OXM_OF_IP_DSCP = 0x80001001;
constexpr uint32_t OXM_OF_IP_ECN = 0x80001201;
constexpr uint32_t OXM_OF_IP_PROTO = 0x80001401;
constexpr uint32_t OXM_OF_IPV4_SRC = 0x80001604;
constexpr uint32_t OXM_OF_IPV4_SRC_W = 0x80001708;
constexpr uint32_t OXM_OF_IPV4_DST = 0x80001804;
constexpr uint32_t OXM_OF_IPV4_DST_W = 0x80001908;
constexpr uint32_t OXM_OF_TCP_SRC = 0x80001a02;
constexpr uint32_t OXM_OF_TCP_DST = 0x80001c02;
constexpr uint32_t OXM_OF_UDP_SRC = 0x80001e02;
constexpr uint32_t OXM_OF_UDP_DST = 0x80002002;
constexpr uint32_t OXM_OF_SCTP_SRC = 0x80002202;
constexpr uint32_t OXM_OF_SCTP_DST = 0x80002402;
constexpr uint32_t OXM_OF_ICMPV4_TYPE = 0x80002601;
constexpr uint32_t OXM_OF_ICMPV4_CODE = 0x80002801;
constexpr uint32_t OXM_OF_ARP_OP = 0x80002a02;
constexpr uint32_t OXM_OF_ARP_SPA = 0x80002c04;
constexpr uint32_t OXM_OF_ARP_SPA_W = 0x80002d08;
constexpr uint32_t OXM_OF_ARP_TPA = 0x80002e04;
constexpr uint32_t OXM_OF_ARP_TPA_W = 0x80002f08;
constexpr uint32_t OXM_OF_ARP_SHA = 0x80003006;
constexpr uint32_t OXM_OF_ARP_SHA_W = 0x8000310c;
constexpr uint32_t OXM_OF_ARP_THA = 0x80003206;
constexpr uint32_t OXM_OF_ARP_THA_W = 0x8000330c;
constexpr uint32_t OXM_OF_IPV6_SRC = 0x80003410;
constexpr uint32_t OXM_OF_IPV6_SRC_W = 0x80003520;
constexpr uint32_t OXM_OF_IPV6_DST = 0x80003610;
constexpr uint32_t OXM_OF_IPV6_DST_W = 0x80003720;
constexpr uint32_t OXM_OF_IPV6_FLABEL = 0x80003804;
constexpr uint32_t OXM_OF_IPV6_FLABEL_W = 0x80003908;
constexpr uint32_t OXM_OF_ICMPV6_TYPE = 0x80003a01;
constexpr uint32_t OXM_OF_ICMPV6_CODE = 0x80003c01;
constexpr uint32_t OXM_OF_IPV6_ND_TARGET = 0x80003e10;
constexpr uint32_t OXM_OF_IPV6_ND_SLL = 0x80004006;
constexpr uint32_t OXM_OF_IPV6_ND_TLL = 0x80004206;
constexpr uint32_t OXM_OF_MPLS_LABEL = 0x80004404;
constexpr uint32_t OXM_OF_MPLS_TC = 0x80004601;
constexpr uint32_t OXM_OF_MPLS_BOS = 0x80004801;
constexpr uint32_t OXM_OF_PBB_ISID = 0x80004a03;
constexpr uint32_t OXM_OF_PBB_ISID_W = 0x80004b06;
constexpr uint32_t OXM_OF_TUNNEL_ID = 0x80004c08;
constexpr uint32_t OXM_OF_TUNNEL_ID_W = 0x80004d10;
constexpr uint32_t OXM_OF_IPV6_EXTHDR = 0x80004e02;
constexpr uint32_t OXM_OF_IPV6_EXTHDR_W = 0x80004f04;

// Fields whose values are addresses of IPv4.
constexpr uint32_t OXM_IPV4_ADDRESSES[] = {
    OXM_OF_IPV4_SRC,
    OXM_OF_IPV4_DST,
    OXM_OF_ARP_SPA,
    OXM_OF_ARP_TPA,
};

// Each field's name.
struct oxm_name
{
    uint32_t header;
    const char* name;
};

constexpr oxm_name OXM_NAMES[] = {
    {OXM_OF_IN_PORT, "in_port"},
    {OXM_OF_IN_PHY_PORT, "in_phy_port"},
    {OXM_OF_METADATA, "metadata"},
    {OXM_OF_ETH_DST, "eth_dst"},
    {OXM_OF_ETH_SRC, "eth_src"},
    {OXM_OF_ETH_TYPE, "eth_type"},
    {OXM_OF_VLAN_VID, "vlan_vid"},
    {OXM_OF_VLAN_PCP, "vlan_pcp"},
    {OXM_OF_IP_DSCP, "ip_dscp"},
    {OXM_OF_IP_ECN, "ip_ecn"},
    {OXM_OF_IP_PROTO, "ip_proto"},
    {OXM_OF_IPV4_SRC, "ipv4_src"},
    {OXM_OF_IPV4_DST, "ipv4_dst"},
    {OXM_OF_TCP_SRC, "tcp_src"},
    {OXM_OF_TCP_DST, "tcp_dst"},
    {OXM_OF_UDP_SRC, "udp_src"},
    {OXM_OF_UDP_DST, "udp_dst"},
    {OXM_OF_SCTP_SRC, "sctp_src"},
    {OXM_OF_SCTP_DST, "sctp_dst"},
    {OXM_OF_ICMPV4_TYPE, "icmpv4_type"},
    {OXM_OF_ICMPV4_CODE, "icmpv4_code"},
    {OXM_OF_ARP_OP, "arp_op"},
    {OXM_OF_ARP_SPA, "arp_spa"},
    {OXM_OF_ARP_TPA, "arp_tpa"},
    {OXM_OF_ARP_SHA, "arp_sha"},
    {OXM_OF_ARP_THA, "arp_tha"},
    {OXM_OF_IPV6_SRC, "ipv6_src"},
    {OXM_OF_IPV6_DST, "ipv6_dst"},
    {OXM_OF_IPV6_FLABEL, "ipv6_flabel"},
    {OXM_OF_ICMPV6_TYPE, "icmpv6_type"},
    {OXM_OF_ICMPV6_CODE, "icmpv6_code"},
    {OXM_OF_IPV6_ND_TARGET, "ipv6_nd_target"},
    {OXM_OF_IPV6_ND_SLL, "ipv6_nd_sll"},
    {OXM_OF_IPV6_ND_TLL, "ipv6_nd_tll"},
    {OXM_OF_MPLS_LABEL, "mpls_label"},
    {OXM_OF_MPLS_TC, "mpls_tc"},
    {OXM_OF_MPLS_BOS, "mpls_bos"},
    {OXM_OF_PBB_ISID, "pbb_isid"},
    {OXM_OF_TUNNEL_ID, "tunnel_id"},
    {OXM_OF_IPV6_EXTHDR, "ipv6_exthdr"},
};

#endif
