// Actions. Spec: OpenFlow 1.3.5 section 7.2.4.
#ifndef OFLIB_OFL_ACTIONS_H
#define OFLIB_OFL_ACTIONS_H

#include "oflib/ofl.h"

struct ofl_match_tlv;

// What each action begins with. The length is that of a message that was read; a written one
// gets its own.
struct ofl_action_header
{
    enum ofp_action_type type;
    uint16_t len;
};

struct ofl_action_output
{
    struct ofl_action_header header;
    uint32_t port;
    uint16_t max_len;
};

struct ofl_action_mpls_ttl
{
    struct ofl_action_header header;
    uint8_t mpls_ttl;
};

// A push of VLAN, MPLS or PBB.
struct ofl_action_push
{
    struct ofl_action_header header;
    uint16_t ethertype;
};

struct ofl_action_pop_mpls
{
    struct ofl_action_header header;
    uint16_t ethertype;
};

struct ofl_action_set_queue
{
    struct ofl_action_header header;
    uint32_t queue_id;
};

struct ofl_action_group
{
    struct ofl_action_header header;
    uint32_t group_id;
};

struct ofl_action_set_nw_ttl
{
    struct ofl_action_header header;
    uint8_t nw_ttl;
};

struct ofl_action_set_field
{
    struct ofl_action_header header;
    struct ofl_match_tlv* field;
};

#endif
