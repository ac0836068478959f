// What messages are made of. Spec: OpenFlow 1.3.5 sections 7.2 and 7.3.
#ifndef OFLIB_OFL_STRUCTS_H
#define OFLIB_OFL_STRUCTS_H

#include "oflib/ofl-actions.h"
#include "oflib/ofl.h"

// A list of nodes, the first field of what is in it.
struct hmap_node
{
    struct hmap_node* next;
};

struct hmap
{
    struct hmap_node* first;
    struct hmap_node** end;
    size_t n;
};

// A match, as which it may be cast to ofl_match: other types of matches are refused.
struct ofl_match_header
{
    uint16_t type;
    uint16_t length;
};

struct ofl_match
{
    struct ofl_match_header header;
    // Of ofl_match_tlv.
    struct hmap match_fields;
};

// A field. Its value is a number of this machine if it has 1, 2, 4 or 8 bytes and is no address of
// IPv4, otherwise bytes as on the wire. Its mask, if it has one, stands behind the value.
struct ofl_match_tlv
{
    struct hmap_node hmap_node;
    uint32_t header;
    uint8_t* value;
};

struct ofl_instruction_header
{
    enum ofp_instruction_type type;
};

struct ofl_instruction_goto_table
{
    struct ofl_instruction_header header;
    uint8_t table_id;
};

struct ofl_instruction_write_metadata
{
    struct ofl_instruction_header header;
    uint64_t metadata;
    uint64_t metadata_mask;
};

// Apply, write or clear actions.
struct ofl_instruction_actions
{
    struct ofl_instruction_header header;
    size_t actions_num;
    struct ofl_action_header** actions;
};

struct ofl_instruction_meter
{
    struct ofl_instruction_header header;
    uint32_t meter_id;
};

struct ofl_config
{
    uint16_t flags;
    uint16_t miss_send_len;
};

// The first of each pair is for masters and equals, the second for slaves.
struct ofl_async_config
{
    uint32_t packet_in_mask[2];
    uint32_t port_status_mask[2];
    uint32_t flow_removed_mask[2];
};

struct ofl_bucket
{
    uint16_t weight;
    uint32_t watch_port;
    uint32_t watch_group;
    size_t actions_num;
    struct ofl_action_header** actions;
};

struct ofl_flow_stats
{
    uint8_t table_id;
    uint32_t duration_sec;
    uint32_t duration_nsec;
    uint16_t priority;
    uint16_t idle_timeout;
    uint16_t hard_timeout;
    uint16_t flags;
    uint64_t cookie;
    uint64_t packet_count;
    uint64_t byte_count;
    struct ofl_match_header* match;
    size_t instructions_num;
    struct ofl_instruction_header** instructions;
};

struct ofl_table_stats
{
    uint8_t table_id;
    uint32_t active_count;
    uint64_t lookup_count;
    uint64_t matched_count;
};

// What each property of a table begins with. The length is that of a message that was read; a
// written one gets its own.
struct ofl_table_feature_prop_header
{
    uint16_t type;
    uint16_t length;
};

// Instructions, of which only the types count.
struct ofl_table_feature_prop_instructions
{
    struct ofl_table_feature_prop_header header;
    size_t ids_num;
    struct ofl_instruction_header* instruction_ids;
};

struct ofl_table_feature_prop_next_tables
{
    struct ofl_table_feature_prop_header header;
    size_t table_num;
    uint8_t* next_table_ids;
};

// Actions, of which only the types count.
struct ofl_table_feature_prop_actions
{
    struct ofl_table_feature_prop_header header;
    size_t actions_num;
    struct ofl_action_header* action_ids;
};

// Headers of fields. The experimenter of a field of one is the number behind its header.
struct ofl_table_feature_prop_oxm
{
    struct ofl_table_feature_prop_header header;
    size_t oxm_num;
    uint32_t* oxm_ids;
};

struct ofl_table_features
{
    uint16_t length;
    uint8_t table_id;
    char* name;
    uint64_t metadata_match;
    uint64_t metadata_write;
    uint32_t config;
    uint32_t max_entries;
    size_t properties_num;
    struct ofl_table_feature_prop_header** properties;
};

struct ofl_port
{
    uint32_t port_no;
    uint8_t hw_addr[OFP_ETH_ALEN];
    char* name;
    uint32_t config;
    uint32_t state;
    uint32_t curr;
    uint32_t advertised;
    uint32_t supported;
    uint32_t peer;
    // In kb/s.
    uint32_t curr_speed;
    uint32_t max_speed;
};

struct ofl_port_stats
{
    uint32_t port_no;
    uint64_t rx_packets;
    uint64_t tx_packets;
    uint64_t rx_bytes;
    uint64_t tx_bytes;
    uint64_t rx_dropped;
    uint64_t tx_dropped;
    uint64_t rx_errors;
    uint64_t tx_errors;
    uint64_t rx_frame_err;
    uint64_t rx_over_err;
    uint64_t rx_crc_err;
    uint64_t collisions;
    uint32_t duration_sec;
    uint32_t duration_nsec;
};

struct ofl_queue_stats
{
    uint32_t port_no;
    uint32_t queue_id;
    uint64_t tx_bytes;
    uint64_t tx_packets;
    uint64_t tx_errors;
    uint32_t duration_sec;
    uint32_t duration_nsec;
};

struct ofl_bucket_counter
{
    uint64_t packet_count;
    uint64_t byte_count;
};

struct ofl_group_stats
{
    uint32_t group_id;
    uint32_t ref_count;
    uint64_t packet_count;
    uint64_t byte_count;
    uint32_t duration_sec;
    uint32_t duration_nsec;
    size_t counters_num;
    struct ofl_bucket_counter** counters;
};

struct ofl_group_desc_stats
{
    uint8_t type;
    uint32_t group_id;
    size_t buckets_num;
    struct ofl_bucket** buckets;
};

// What each band begins with.
struct ofl_meter_band_header
{
    uint16_t type;
    uint32_t rate;
    uint32_t burst_size;
};

struct ofl_meter_band_drop
{
    uint16_t type;
    uint32_t rate;
    uint32_t burst_size;
};

struct ofl_meter_band_dscp_remark
{
    uint16_t type;
    uint32_t rate;
    uint32_t burst_size;
    uint8_t prec_level;
};

struct ofl_meter_band_stats
{
    uint64_t packet_band_count;
    uint64_t byte_band_count;
};

struct ofl_meter_stats
{
    uint32_t meter_id;
    uint16_t len;
    uint32_t flow_count;
    uint64_t packet_in_count;
    uint64_t byte_in_count;
    uint32_t duration_sec;
    uint32_t duration_nsec;
    size_t meter_bands_num;
    struct ofl_meter_band_stats** band_stats;
};

struct ofl_meter_config
{
    uint16_t length;
    uint16_t flags;
    uint32_t meter_id;
    size_t meter_bands_num;
    struct ofl_meter_band_header** bands;
};

struct ofl_meter_features
{
    uint32_t max_meter;
    uint32_t band_types;
    uint32_t capabilities;
    uint8_t max_bands;
    uint8_t max_color;
};

extern "C"
{

// Makes an empty match.
void ofl_structs_match_init(struct ofl_match* match);
// Add a field to a match, with a number of this machine, or an address as on the wire; those with
// an m also add its mask.
void ofl_structs_match_put8(struct ofl_match* match, uint32_t header, uint8_t value);
void ofl_structs_match_put16(struct ofl_match* match, uint32_t header, uint16_t value);
void ofl_structs_match_put32(struct ofl_match* match, uint32_t header, uint32_t value);
void ofl_structs_match_put64(struct ofl_match* match, uint32_t header, uint64_t value);
void ofl_structs_match_put_eth(struct ofl_match* match,
                               uint32_t header,
                               uint8_t value[OFP_ETH_ALEN]);
void ofl_structs_match_put_eth_m(struct ofl_match* match,
                                 uint32_t header,
                                 uint8_t value[OFP_ETH_ALEN],
                                 uint8_t mask[OFP_ETH_ALEN]);
void ofl_structs_match_put_ipv6(struct ofl_match* match,
                                uint32_t header,
                                uint8_t value[IPv6_ADDR_LEN]);
void ofl_structs_match_put_ipv6m(struct ofl_match* match,
                                 uint32_t header,
                                 uint8_t value[IPv6_ADDR_LEN],
                                 uint8_t mask[IPv6_ADDR_LEN]);
void ofl_structs_match_put_pbb_isid(struct ofl_match* match,
                                    uint32_t header,
                                    uint8_t value[PBB_ISID_LEN]);
void ofl_structs_match_put_pbb_isidm(struct ofl_match* match,
                                     uint32_t header,
                                     uint8_t value[PBB_ISID_LEN],
                                     uint8_t mask[PBB_ISID_LEN]);
void ofl_structs_match_put8m(struct ofl_match* match, uint32_t header, uint8_t value, uint8_t mask);
void ofl_structs_match_put16m(struct ofl_match* match,
                              uint32_t header,
                              uint16_t value,
                              uint16_t mask);
void ofl_structs_match_put32m(struct ofl_match* match,
                              uint32_t header,
                              uint32_t value,
                              uint32_t mask);
void ofl_structs_match_put64m(struct ofl_match* match,
                              uint32_t header,
                              uint64_t value,
                              uint64_t mask);
// Frees a match, which was allocated, and its fields.
void ofl_structs_free_match(struct ofl_match_header* match, struct ofl_exp* exp);
// A match as text, which free() frees.
char* ofl_structs_match_to_string(struct ofl_match_header* match, struct ofl_exp* exp);
}

#endif
