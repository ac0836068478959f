// Errors of oflib's functions, and its memory.
#ifndef OFLIB_OFL_H
#define OFLIB_OFL_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "openflow/openflow.h"

// 0, or an OpenFlow error with its type in the upper half and its code in the lower one.
typedef uint32_t ofl_err;

// Experimenters' callbacks. There are none: where one is asked for, pass a null pointer.
struct ofl_exp;

// Bytes of addresses, and of a service's id.
constexpr size_t OFP_ETH_ALEN = 6;
constexpr size_t IPv6_ADDR_LEN = 16;
constexpr size_t PBB_ISID_LEN = 3;

// What a flow-mod says if nothing else is meant. Spec: OpenFlow 1.3.5 section 7.3.4.1.
constexpr uint16_t OFP_DEFAULT_PRIORITY = 0x8000;
constexpr uint16_t OFP_FLOW_PERMANENT = 0;
// The type of a match that is a list of fields. Spec: OpenFlow 1.3.5 section 7.2.3.
constexpr uint16_t OFPMT_OXM = 1;
// Types of bands. Spec: OpenFlow 1.3.5 section 7.3.4.5.
constexpr uint16_t OFPMBT_DROP = 1;
constexpr uint16_t OFPMBT_DSCP_REMARK = 2;
// Properties of queues. Spec: OpenFlow 1.3.5 section 7.2.2.
constexpr uint16_t OFPQT_MIN_RATE = 1;
constexpr uint16_t OFPQT_MAX_RATE = 2;

// Properties of tables. Spec: OpenFlow 1.3.5 section 7.3.5.5.2.
enum ofp_table_feature_prop_type : uint16_t
{
    OFPTFPT_INSTRUCTIONS = 0,
    OFPTFPT_INSTRUCTIONS_MISS = 1,
    OFPTFPT_NEXT_TABLES = 2,
    OFPTFPT_NEXT_TABLES_MISS = 3,
    OFPTFPT_WRITE_ACTIONS = 4,
    OFPTFPT_WRITE_ACTIONS_MISS = 5,
    OFPTFPT_APPLY_ACTIONS = 6,
    OFPTFPT_APPLY_ACTIONS_MISS = 7,
    OFPTFPT_MATCH = 8,
    OFPTFPT_WILDCARDS = 10,
    OFPTFPT_WRITE_SETFIELD = 12,
    OFPTFPT_WRITE_SETFIELD_MISS = 13,
    OFPTFPT_APPLY_SETFIELD = 14,
    OFPTFPT_APPLY_SETFIELD_MISS = 15,
    OFPTFPT_EXPERIMENTER = 0xfffe,
    OFPTFPT_EXPERIMENTER_MISS = 0xffff,
};

// As in BOFUSS, whose headers C++ includes as those of C.
extern "C"
{

ofl_err ofl_error(uint16_t type, uint16_t code);
uint16_t ofl_error_type(ofl_err error);
uint16_t ofl_error_code(ofl_err error);

// As malloc, calloc and realloc, but they abort when memory is exhausted. free() frees it.
void* xmalloc(size_t bytes);
void* xcalloc(size_t count, size_t bytes);
void* xrealloc(void* memory, size_t bytes);
}

#endif
