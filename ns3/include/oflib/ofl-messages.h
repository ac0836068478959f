// Messages. Spec: OpenFlow 1.3.5 sections 7.3 to 7.5.
#ifndef OFLIB_OFL_MESSAGES_H
#define OFLIB_OFL_MESSAGES_H

#include "oflib/ofl-structs.h"

// What each message begins with. Messages without a body are only this.
struct ofl_msg_header
{
    enum ofp_type type;
};

struct ofl_msg_error
{
    struct ofl_msg_header header;
    enum ofp_error_type type;
    uint16_t code;
    size_t data_length;
    uint8_t* data;
};

struct ofl_msg_echo
{
    struct ofl_msg_header header;
    size_t data_length;
    uint8_t* data;
};

struct ofl_msg_features_reply
{
    struct ofl_msg_header header;
    uint64_t datapath_id;
    uint32_t n_buffers;
    uint8_t n_tables;
    uint8_t auxiliary_id;
    uint32_t capabilities;
    uint32_t reserved;
};

struct ofl_msg_get_config_reply
{
    struct ofl_msg_header header;
    struct ofl_config* config;
};

struct ofl_msg_set_config
{
    struct ofl_msg_header header;
    struct ofl_config* config;
};

// A request, or a reply.
struct ofl_msg_role_request
{
    struct ofl_msg_header header;
    uint32_t role;
    uint64_t generation_id;
};

struct ofl_msg_packet_in
{
    struct ofl_msg_header header;
    uint32_t buffer_id;
    uint16_t total_len;
    enum ofp_packet_in_reason reason;
    uint8_t table_id;
    uint64_t cookie;
    // The fields of the message, and those of the packet's headers.
    struct ofl_match_header* match;
    size_t data_length;
    uint8_t* data;
};

struct ofl_msg_flow_removed
{
    struct ofl_msg_header header;
    struct ofl_flow_stats* stats;
    enum ofp_flow_removed_reason reason;
};

struct ofl_msg_port_status
{
    struct ofl_msg_header header;
    enum ofp_port_reason reason;
    struct ofl_port* desc;
};

// A reply, or what sets it.
struct ofl_msg_async_config
{
    struct ofl_msg_header header;
    struct ofl_async_config* config;
};

struct ofl_msg_packet_out
{
    struct ofl_msg_header header;
    uint32_t buffer_id;
    uint32_t in_port;
    uint32_t actions_num;
    struct ofl_action_header** actions;
    size_t data_length;
    uint8_t* data;
};

struct ofl_msg_flow_mod
{
    struct ofl_msg_header header;
    uint64_t cookie;
    uint64_t cookie_mask;
    uint8_t table_id;
    enum ofp_flow_mod_command command;
    uint16_t idle_timeout;
    uint16_t hard_timeout;
    uint16_t priority;
    uint32_t buffer_id;
    uint32_t out_port;
    uint32_t out_group;
    uint16_t flags;
    struct ofl_match_header* match;
    size_t instructions_num;
    struct ofl_instruction_header** instructions;
};

struct ofl_msg_group_mod
{
    struct ofl_msg_header header;
    enum ofp_group_mod_command command;
    uint8_t type;
    uint32_t group_id;
    size_t buckets_num;
    struct ofl_bucket** buckets;
};

struct ofl_msg_port_mod
{
    struct ofl_msg_header header;
    uint32_t port_no;
    uint8_t hw_addr[OFP_ETH_ALEN];
    uint32_t config;
    uint32_t mask;
    uint32_t advertise;
};

struct ofl_msg_table_mod
{
    struct ofl_msg_header header;
    uint8_t table_id;
    uint32_t config;
};

struct ofl_msg_meter_mod
{
    struct ofl_msg_header header;
    uint16_t command;
    uint16_t flags;
    uint32_t meter_id;
    size_t meter_bands_num;
    struct ofl_meter_band_header** bands;
};

// What each multipart request begins with. Those without a body are only this.
struct ofl_msg_multipart_request_header
{
    struct ofl_msg_header header;
    enum ofp_multipart_types type;
    uint16_t flags;
};

// For single flow entries, or their sums.
struct ofl_msg_multipart_request_flow
{
    struct ofl_msg_multipart_request_header header;
    uint8_t table_id;
    uint32_t out_port;
    uint32_t out_group;
    uint64_t cookie;
    uint64_t cookie_mask;
    struct ofl_match_header* match;
};

struct ofl_msg_multipart_request_port
{
    struct ofl_msg_multipart_request_header header;
    uint32_t port_no;
};

struct ofl_msg_multipart_request_queue
{
    struct ofl_msg_multipart_request_header header;
    uint32_t port_no;
    uint32_t queue_id;
};

struct ofl_msg_multipart_request_group
{
    struct ofl_msg_multipart_request_header header;
    uint32_t group_id;
};

// Asks for the features of all tables if there are none, otherwise sets them.
struct ofl_msg_multipart_request_table_features
{
    struct ofl_msg_multipart_request_header header;
    size_t tables_num;
    struct ofl_table_features** table_features;
};

// For meters' statistics, or their configurations.
struct ofl_msg_multipart_meter_request
{
    struct ofl_msg_multipart_request_header header;
    uint32_t meter_id;
};

// What each multipart reply begins with.
struct ofl_msg_multipart_reply_header
{
    struct ofl_msg_header header;
    enum ofp_multipart_types type;
    uint16_t flags;
};

struct ofl_msg_reply_desc
{
    struct ofl_msg_multipart_reply_header header;
    char* mfr_desc;
    char* hw_desc;
    char* sw_desc;
    char* serial_num;
    char* dp_desc;
};

struct ofl_msg_multipart_reply_flow
{
    struct ofl_msg_multipart_reply_header header;
    size_t stats_num;
    struct ofl_flow_stats** stats;
};

struct ofl_msg_multipart_reply_aggregate
{
    struct ofl_msg_multipart_reply_header header;
    uint64_t packet_count;
    uint64_t byte_count;
    uint32_t flow_count;
};

struct ofl_msg_multipart_reply_table
{
    struct ofl_msg_multipart_reply_header header;
    size_t stats_num;
    struct ofl_table_stats** stats;
};

struct ofl_msg_multipart_reply_table_features
{
    struct ofl_msg_multipart_reply_header header;
    size_t tables_num;
    struct ofl_table_features** table_features;
};

struct ofl_msg_multipart_reply_port
{
    struct ofl_msg_multipart_reply_header header;
    size_t stats_num;
    struct ofl_port_stats** stats;
};

struct ofl_msg_multipart_reply_queue
{
    struct ofl_msg_multipart_reply_header header;
    size_t stats_num;
    struct ofl_queue_stats** stats;
};

struct ofl_msg_multipart_reply_group
{
    struct ofl_msg_multipart_reply_header header;
    size_t stats_num;
    struct ofl_group_stats** stats;
};

struct ofl_msg_multipart_reply_group_desc
{
    struct ofl_msg_multipart_reply_header header;
    size_t stats_num;
    struct ofl_group_desc_stats** stats;
};

struct ofl_msg_multipart_reply_group_features
{
    struct ofl_msg_multipart_reply_header header;
    uint32_t types;
    uint32_t capabilities;
    uint32_t max_groups[4];
    uint32_t actions[4];
};

struct ofl_msg_multipart_reply_meter
{
    struct ofl_msg_multipart_reply_header header;
    size_t stats_num;
    struct ofl_meter_stats** stats;
};

struct ofl_msg_multipart_reply_meter_conf
{
    struct ofl_msg_multipart_reply_header header;
    size_t stats_num;
    struct ofl_meter_config** stats;
};

struct ofl_msg_multipart_reply_meter_features
{
    struct ofl_msg_multipart_reply_header header;
    struct ofl_meter_features* features;
};

struct ofl_msg_multipart_reply_port_desc
{
    struct ofl_msg_multipart_reply_header header;
    size_t stats_num;
    struct ofl_port** stats;
};

struct ofl_msg_queue_get_config_request
{
    struct ofl_msg_header header;
    uint32_t port;
};

struct ofl_packet_queue
{
    uint32_t queue_id;
    uint32_t port;
    size_t properties_num;
    struct ofl_queue_prop_header** properties;
};

// A property with a rate in tenths of a percent: the least, or the most.
struct ofl_queue_prop_header
{
    uint16_t type;
    uint16_t rate;
};

struct ofl_msg_queue_get_config_reply
{
    struct ofl_msg_header header;
    uint32_t port;
    size_t queues_num;
    struct ofl_packet_queue** queues;
};

extern "C"
{

// Writes a message of OpenFlow 1.3 as bytes, which free() frees. Returns 0, or -1 for one that
// OpenFlow does not have.
int ofl_msg_pack(struct ofl_msg_header* message,
                 uint32_t xid,
                 uint8_t** bytes,
                 size_t* length,
                 struct ofl_exp* exp);
// Reads a message of OpenFlow 1.3; the xid may be a null pointer. A packet-in gets the fields of its
// packet's headers, too. Returns 0, or an error for what is no message, or one without a struct.
ofl_err ofl_msg_unpack(uint8_t* bytes,
                       size_t length,
                       struct ofl_msg_header** message,
                       uint32_t* xid,
                       struct ofl_exp* exp);
// Frees an allocated message with all that it points to. Returns 0.
int ofl_msg_free(struct ofl_msg_header* message, struct ofl_exp* exp);
// The same, but what they are told to leave stays the caller's.
int ofl_msg_free_flow_removed(struct ofl_msg_flow_removed* message,
                              bool with_stats,
                              struct ofl_exp* exp);
int ofl_msg_free_packet_out(struct ofl_msg_packet_out* message,
                            bool with_data,
                            struct ofl_exp* exp);
int ofl_msg_free_flow_mod(struct ofl_msg_flow_mod* message,
                          bool with_match,
                          bool with_instructions,
                          struct ofl_exp* exp);
int ofl_msg_free_group_mod(struct ofl_msg_group_mod* message,
                           bool with_buckets,
                           struct ofl_exp* exp);
int ofl_msg_free_meter_mod(struct ofl_msg_meter_mod* message, bool with_bands);
// A message as text, which free() frees.
char* ofl_msg_to_string(struct ofl_msg_header* message, struct ofl_exp* exp);
}

#endif
