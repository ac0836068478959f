// libbofuss: the OpenFlow switch bofuss as a library. Made from capi/src: see capi/README.md.

#ifndef BOFUSS_H
#define BOFUSS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Ownership and threads
//
// A switch, and a codec, belong to whoever made them, and to one thread at a time; different ones
// may be used by different threads at the same time. There are no globals.
//
// What a function is given is read during the call only, and what a callback is given is valid
// during the callback only. A callback may call any function of the same switch but
// bofuss_switch_free; what that causes is delivered after the callback.
//
// Times are nanoseconds of any clock that does not go back; numbers are in the host's byte order,
// and bytes of frames and messages in the network's. A function that fails changes nothing, unless
// its comment says otherwise.

// What became of a call.
typedef enum bofuss_status {
  // It was done.
  BOFUSS_STATUS_OK = 0,
  // A pointer is NULL that may not be, or the object was freed through this pointer.
  BOFUSS_STATUS_NULL = -1,
  // A number or length that cannot be: the error's text says which.
  BOFUSS_STATUS_BAD_VALUE = -2,
  // The switch has no port of this number.
  BOFUSS_STATUS_NO_PORT = -3,
  // The switch has no connection of this number, or has it no more.
  BOFUSS_STATUS_NO_CONNECTION = -4,
  // A text that cannot be read: the error's text says why.
  BOFUSS_STATUS_BAD_TEXT = -5,
  // Bytes that are no message.
  BOFUSS_STATUS_BAD_MESSAGE = -6,
  // The result is longer than the buffer; its length is stored all the same.
  BOFUSS_STATUS_TOO_SHORT = -7,
  // The switch has no buffer for a frame.
  BOFUSS_STATUS_NO_MEMORY = -8,
  // It cannot be done within a callback of the same switch.
  BOFUSS_STATUS_BUSY = -9,
  // There is nothing.
  BOFUSS_STATUS_NONE = -10,
  // A defect of the library. The switch may not be used any more, but freed.
  BOFUSS_STATUS_INTERNAL = -11,
} bofuss_status;

// Reads and writes messages.
typedef struct bofuss_codec bofuss_codec;

// An OpenFlow switch.
typedef struct bofuss_switch bofuss_switch;

// What a PACKET_IN says. `data` lies within the message that was read.
typedef struct bofuss_packet_in {
  // Where the switch holds the packet, or 0xffffffff.
  uint32_t buffer_id;
  // The port that it came from.
  uint32_t in_port;
  // The entry's cookie.
  uint64_t cookie;
  // Bytes of the whole packet.
  uint16_t total_len;
  // Why it was sent: 0 no match, 1 an action, 2 an invalid TTL.
  uint8_t reason;
  // The table.
  uint8_t table_id;
  // The packet's first bytes.
  const uint8_t *data;
  // How many there are.
  size_t data_length;
} bofuss_packet_in;

// A frame that a caller has: from the address on, without FCS.
typedef struct bofuss_frame {
  // Its first byte.
  const uint8_t *bytes;
  // How many there are.
  size_t length;
} bofuss_frame;

// What a switch is made with. Fill it with bofuss_config_default, then change what is to differ.
typedef struct bofuss_config {
  // The datapath id.
  uint64_t datapath_id;
  // Seed of every random choice.
  uint64_t seed;
  // What tables hash with: a number that nobody who sends packets can foretell.
  uint64_t secret;
  // Nanoseconds from 1970 to the origin of the times that the switch is given.
  uint64_t epoch_ns;
  // Bytes of frames that the switch may hold.
  uint64_t pool_bytes;
  // The most entries of one table.
  uint32_t max_entries;
  // The most entries of all tables together.
  uint32_t max_total_entries;
  // The most groups.
  uint32_t max_groups;
  // The most buckets of all groups together.
  uint32_t max_buckets;
  // The most meters.
  uint32_t max_meters;
  // The most flows that the cache knows.
  uint32_t cache_flows;
  // The most bands of a meter.
  uint8_t max_bands;
  // How select groups choose a bucket: 0 hash, 1 round-robin, 2 random.
  uint8_t select;
  // How many tables there are, 1 to 254.
  uint8_t n_tables;
  // How packets find their entries: 0 reference, 1 tables, 2 cache.
  uint8_t engine;
  // Without a controller: 0 go on with the entries (secure), 1 forward as an Ethernet switch
  // does (standalone), 2 along paths that the network explores (ARP-Path).
  uint8_t fail_mode;
  // 1 if controllers may not set links up and down, else 0.
  uint8_t links_fixed;
} bofuss_config;

// Who hears what a switch causes. Each may be NULL: then it is discarded.
typedef struct bofuss_callbacks {
  // Is handed to each callback.
  void *user;
  // A frame leaves by a port, from the address on and without FCS; the queue that it waited in,
  // or that an action has set, or 0.
  void (*transmit)(void *user, uint32_t port, uint32_t queue, const uint8_t *frame, size_t length);
  // Whole messages leave on a connection.
  void (*send)(void *user, uint64_t connection, const uint8_t *bytes, size_t length);
  // The switch ended a connection: why, as a sentence.
  void (*close)(void *user, uint64_t connection, const char *why);
  // A controller sets a port's link up (1) or down (0). bofuss_port_set_link tells the switch
  // when that is so.
  void (*set_link)(void *user, uint32_t port, uint8_t up);
} bofuss_callbacks;

// How full a switch is.
typedef struct bofuss_usage {
  // Ports.
  uint32_t ports;
  // Entries of all tables.
  uint32_t flow_entries;
  // Groups.
  uint32_t groups;
  // Meters.
  uint32_t meters;
  // Packets that were dropped, for whatever reason.
  uint64_t drops;
  // Of these, those that exceeded the rate of a meter's drop band,
  uint64_t meter_drops;
  // and those that no entry of a table matched.
  uint64_t miss_drops;
} bofuss_usage;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, as `0.1.0`. It is never freed.
const char *bofuss_version(void);

// Makes a codec with all extensions, which its caller owns.
//
// # Safety
//
// `out` is NULL, or may be written.
enum bofuss_status bofuss_codec_new(struct bofuss_codec **out);

// Frees a codec and sets the caller's pointer to NULL, so that to free it again is
// BOFUSS_STATUS_NULL.
//
// # Safety
//
// `codec` is NULL, or points to NULL or a codec of bofuss_codec_new that was not freed and that no
// other thread uses.
enum bofuss_status bofuss_codec_free(struct bofuss_codec **codec);

// Why the last call of the codec that failed did, as a sentence: valid until the next one fails.
// NULL for NULL.
//
// # Safety
//
// `codec` is NULL, or a codec that was not freed and that no other thread uses.
const char *bofuss_codec_error(const struct bofuss_codec *codec);

// The length of the message that a stream begins with, header included. BOFUSS_STATUS_NONE if less
// than a header is here, BOFUSS_STATUS_BAD_MESSAGE if no message can follow.
//
// # Safety
//
// `length` bytes may be read at `bytes`; `message_length` is NULL, or may be written.
enum bofuss_status bofuss_message_length(const uint8_t *bytes,
                                         size_t length,
                                         size_t *message_length);

// A whole message, in the version of its header, as a line of text (0) or JSON (1) as dpctl prints
// it: `length` is that of the result, which ends with a zero byte in `out`.
//
// # Safety
//
// `codec` is NULL, or a codec that was not freed and that no other thread uses; `message_length`
// bytes may be read at `message`; `capacity` bytes may be written at `out` unless it is NULL;
// `length` is NULL, or may be written.
enum bofuss_status bofuss_message_text(const struct bofuss_codec *codec,
                                       const uint8_t *message,
                                       size_t message_length,
                                       uint8_t as_json,
                                       char *out,
                                       size_t capacity,
                                       size_t *length);

// The messages of a command in the syntax of BOFUSS's dpctl, as
// `flow-mod cmd=add,table=0 in_port=1 apply:output=2`, or of ovs-ofctl, as
// `add-flow in_port=1,actions=output:2`: the verb and its arguments. `version` is the number on
// the wire (1, 3 or 4), `xid` the transaction id of the first message; `length` is that of all.
//
// # Safety
//
// `codec` is NULL, or a codec that was not freed and that no other thread uses; `line` is NULL, or
// ends with a zero byte; `capacity` bytes may be written at `out` unless it is NULL; `length` is
// NULL, or may be written.
enum bofuss_status bofuss_command(const struct bofuss_codec *codec,
                                  uint8_t version,
                                  uint32_t xid,
                                  const char *line,
                                  uint8_t *out,
                                  size_t capacity,
                                  size_t *length);

// Reads a PACKET_IN. BOFUSS_STATUS_NONE if the message is another.
//
// # Safety
//
// `codec` is NULL, or a codec that was not freed and that no other thread uses; `length` bytes may
// be read at `message`; `packet_in` is NULL, or may be written.
enum bofuss_status bofuss_read_packet_in(const struct bofuss_codec *codec,
                                         const uint8_t *message,
                                         size_t length,
                                         struct bofuss_packet_in *packet_in);

// A controller's connection is open: the switch's HELLO is sent, and its number stored. A tool's
// (`is_controller` 0) does not end what the switch does without a controller. Numbers are not used
// again.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `connection` is
// NULL, or may be written.
enum bofuss_status bofuss_connect(const struct bofuss_switch *sw,
                                  uint8_t is_controller,
                                  uint64_t *connection);

// Bytes came on a connection, cut anywhere. `taken` is how many the switch took: fewer than came
// if 128 KiB wait until the peer reads; the rest is to be given again after bofuss_work.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `length` bytes
// may be read at `bytes`; `taken` is NULL, or may be written.
enum bofuss_status bofuss_feed(const struct bofuss_switch *sw,
                               uint64_t now,
                               uint64_t connection,
                               const uint8_t *bytes,
                               size_t length,
                               size_t *taken);

// The caller holds this many bytes that the peer of a connection did not take yet; 0 until said.
// Above 256 KiB packet-ins are dropped and long replies wait, above 4 MiB the switch closes the
// connection.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_set_held_bytes(const struct bofuss_switch *sw,
                                         uint64_t connection,
                                         size_t bytes);

// A connection is gone.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_disconnect(const struct bofuss_switch *sw,
                                     uint64_t now,
                                     uint64_t connection);

// Adds a port with its link up, or changes the one with this number. `name` may be NULL; so may
// `hw_addr`, else 6 bytes. `kbps` is the link's rate, or 0. BOFUSS_STATUS_BAD_VALUE for a number
// that no port can have.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `name` is NULL,
// or ends with a zero byte; `hw_addr` is NULL, or 6 bytes may be read there.
enum bofuss_status bofuss_port_add(const struct bofuss_switch *sw,
                                   uint64_t now,
                                   uint32_t number,
                                   const char *name,
                                   const uint8_t *hw_addr,
                                   uint32_t kbps);

// Removes a port.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_port_remove(const struct bofuss_switch *sw,
                                      uint64_t now,
                                      uint32_t number);

// The link of a port came up (1), or went down (0).
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_port_set_link(const struct bofuss_switch *sw,
                                        uint64_t now,
                                        uint32_t number,
                                        uint8_t up);

// The port takes this many more frames until it is told again; below 0: all, as a new port does.
// What is over waits in the port's queues if it has some, and else leaves all the same.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_port_set_room(const struct bofuss_switch *sw,
                                        uint64_t now,
                                        uint32_t number,
                                        int64_t frames);

// Frames arrived on a port. BOFUSS_STATUS_NO_MEMORY if the switch has no buffer for one, or a
// frame is longer than 65,792 bytes: those before it were taken.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `frames` is NULL,
// or `count` of them may be read, and of each `length` bytes at `bytes`.
enum bofuss_status bofuss_receive(const struct bofuss_switch *sw,
                                  uint64_t now,
                                  uint32_t number,
                                  const struct bofuss_frame *frames,
                                  size_t count);

// What would become of a frame on a port, and why, as text (0) or JSON (1): `length` is that of
// the result, which ends with a zero byte in `out`. Nothing changes.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `frame.bytes`
// may be read; `capacity` bytes may be written at `out` unless it is NULL; `length` is NULL, or
// may be written.
enum bofuss_status bofuss_trace(const struct bofuss_switch *sw,
                                uint64_t now,
                                uint32_t number,
                                struct bofuss_frame frame,
                                uint8_t as_json,
                                char *out,
                                size_t capacity,
                                size_t *length);

// Fills a configuration with what a switch has unless said otherwise.
//
// # Safety
//
// `config` is NULL, or may be written.
enum bofuss_status bofuss_config_default(struct bofuss_config *config);

// Why no switch can be made with a configuration, as a sentence that is never freed. NULL if one
// can, and for NULL.
//
// # Safety
//
// `config` is NULL, or may be read.
const char *bofuss_config_error(const struct bofuss_config *config);

// Makes a switch without ports, which its caller owns. BOFUSS_STATUS_BAD_VALUE for a value of the
// configuration that cannot be: bofuss_config_error says which.
//
// # Safety
//
// `config` and `callbacks` are NULL, or may be read; `out` is NULL, or may be written. What the
// callbacks' `user` points to lives as long as the switch.
enum bofuss_status bofuss_switch_new(uint64_t now,
                                     const struct bofuss_config *config,
                                     const struct bofuss_callbacks *callbacks,
                                     struct bofuss_switch **out);

// Frees a switch and sets the caller's pointer to NULL, so that to free it again is
// BOFUSS_STATUS_NULL. BOFUSS_STATUS_BUSY within a callback of the switch: nothing is freed.
//
// # Safety
//
// `sw` is NULL, or points to NULL or a switch of bofuss_switch_new that was not freed and that
// no other thread uses.
enum bofuss_status bofuss_switch_free(struct bofuss_switch **sw);

// Why the last call of the switch that failed did, as a sentence: valid until the next one fails.
// NULL for NULL.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
const char *bofuss_switch_error(const struct bofuss_switch *sw);

// When bofuss_tick is to be called next: at once if that is in the past. BOFUSS_STATUS_NONE if
// nothing waits for time.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `at` is NULL, or
// may be written.
enum bofuss_status bofuss_next_tick(const struct bofuss_switch *sw, uint64_t *at);

// Expires entries and serves timers that are due.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_tick(const struct bofuss_switch *sw, uint64_t now);

// Goes on with what waits for peers that have read meanwhile. BOFUSS_STATUS_NONE if nothing does.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_work(const struct bofuss_switch *sw, uint64_t now);

// How full the switch is.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `usage` is NULL,
// or may be written.
enum bofuss_status bofuss_get_usage(const struct bofuss_switch *sw, struct bofuss_usage *usage);

// How many entries a table has. BOFUSS_STATUS_NONE if there is no such table.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `entries` is NULL,
// or may be written.
enum bofuss_status bofuss_get_table_entries(const struct bofuss_switch *sw,
                                            uint8_t table,
                                            uint32_t *entries);

#ifdef __cplusplus
} // extern "C"
#endif // __cplusplus

#endif /* BOFUSS_H */
