// libbofuss: the OpenFlow switch bofuss as a library. Written from capi/src: see capi/README.md.

#ifndef BOFUSS_H
#define BOFUSS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Ownership and threads
//
// A switch or a codec belongs to the caller that made it. Only one thread at a time may use it;
// different threads may use different ones at the same time. There are no globals.
//
// A function reads its arguments during the call only, and the arguments of a callback are valid
// during the callback only. A callback may call any function of the same switch except
// bofuss_switch_free; what that call causes is delivered after the callback.
//
// Times are nanoseconds of any clock that does not go back. Numbers are in host byte order, frames
// and messages in network byte order. A function that fails changes nothing, unless its comment
// says otherwise.

// The result of a call.
typedef enum bofuss_status {
  // The call succeeded.
  BOFUSS_STATUS_OK = 0,
  // A pointer is NULL that must not be, or the object was freed through this pointer.
  BOFUSS_STATUS_NULL = -1,
  // A number or length is not allowed.
  BOFUSS_STATUS_BAD_VALUE = -2,
  // The switch has no port with this number.
  BOFUSS_STATUS_NO_PORT = -3,
  // The switch has no connection with this number, or it was closed.
  BOFUSS_STATUS_NO_CONNECTION = -4,
  // A text is not UTF-8, or is not understood: then the error's text says why.
  BOFUSS_STATUS_BAD_TEXT = -5,
  // The bytes are no message: the codec's error says why.
  BOFUSS_STATUS_BAD_MESSAGE = -6,
  // The result is longer than the buffer. Its length is stored nevertheless.
  BOFUSS_STATUS_TOO_SHORT = -7,
  // The switch has no buffer for the frame.
  BOFUSS_STATUS_NO_MEMORY = -8,
  // The call is not allowed within a callback of the same switch.
  BOFUSS_STATUS_BUSY = -9,
  // There is nothing to return or to do.
  BOFUSS_STATUS_NONE = -10,
  // A defect of the library. The switch can only be freed.
  BOFUSS_STATUS_INTERNAL = -11,
} bofuss_status;

// Reads and writes messages.
typedef struct bofuss_codec bofuss_codec;

// A switch with a P4 program.
typedef struct bofuss_p4 bofuss_p4;

// An OpenFlow switch.
typedef struct bofuss_switch bofuss_switch;

// The fields of a PACKET_IN. `data` points into the message that was read.
typedef struct bofuss_packet_in {
  // The buffer in which the switch holds the packet; 0xffffffff if it does not.
  uint32_t buffer_id;
  // The ingress port.
  uint32_t in_port;
  // The cookie of the entry that was looked up; all ones if there is none.
  uint64_t cookie;
  // The length of the whole packet in bytes.
  uint16_t total_len;
  // The reason for which it was sent: 0 table miss, 1 output action, 2 invalid TTL; since
  // OpenFlow 1.4 also 3 output in an action set, 4 output in a group bucket, 5 packet-out.
  uint8_t reason;
  // The table that was looked up.
  uint8_t table_id;
  // The packet, or its beginning.
  const uint8_t *data;
  // Their number.
  size_t data_length;
} bofuss_packet_in;

// A frame: from the destination address on, without FCS.
typedef struct bofuss_frame {
  // Its first byte.
  const uint8_t *bytes;
  // Their number.
  size_t length;
  // The tunnel by which it comes or leaves, the field TUNNEL_ID: of a logical port, which
  // encapsulates frames. 0 otherwise.
  uint64_t tunnel_id;
} bofuss_frame;

// The configuration of a switch. Fill it with bofuss_config_default, then change some values.
typedef struct bofuss_config {
  // The datapath id.
  uint64_t datapath_id;
  // The seed of every random choice.
  uint64_t seed;
  // The secret of the hash tables, against packets that are chosen to collide: a random number.
  uint64_t secret;
  // Nanoseconds from 1970 to time 0 of the times that the switch is given.
  uint64_t epoch_ns;
  // The number of bytes of frames that the switch may hold.
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
  // The most flows in the flow cache.
  uint32_t cache_flows;
  // The most bands of a meter.
  uint8_t max_bands;
  // The algorithm by which select groups choose a bucket: 0 hash, 1 round-robin, 2 random.
  uint8_t select;
  // The number of tables, 1 to 254.
  uint8_t n_tables;
  // The engine by which packets find their entries: 0 reference (a scan of all), 1 tables (hash
  // tables), 2 cache (hash tables and the flow cache).
  uint8_t engine;
  // The behaviour without a controller: 0 go on with its entries (secure), 1 forward as an
  // Ethernet switch (standalone), 2 forward along paths that the network explores (ARP-Path).
  uint8_t fail_mode;
  // 1 if controllers may not set links up and down, otherwise 0.
  uint8_t links_fixed;
} bofuss_config;

// The callbacks for what a switch causes. What has no callback (NULL) is discarded.
typedef struct bofuss_callbacks {
  // Is passed to each callback.
  void *user;
  // A frame leaves by a port. `queue` is the one that it waited in, or that an action has set,
  // or 0.
  void (*transmit)(void *user, uint32_t port, uint32_t queue, const struct bofuss_frame *frame);
  // The switch sends whole messages on a connection.
  void (*send)(void *user, uint64_t connection, const uint8_t *bytes, size_t length);
  // The switch closed a connection; `why` is a sentence.
  void (*close)(void *user, uint64_t connection, const char *why);
  // A controller wants a port's link up (1) or down (0). Call bofuss_port_set_link when it is.
  void (*set_link)(void *user, uint32_t port, uint8_t up);
} bofuss_callbacks;

// The fill of a switch, and what it has dropped.
typedef struct bofuss_usage {
  // The number of ports.
  uint32_t ports;
  // The number of entries in all tables.
  uint32_t flow_entries;
  // The number of groups.
  uint32_t groups;
  // The number of meters.
  uint32_t meters;
  // Packets that were dropped, for any reason.
  uint64_t drops;
  // Of these, packets that exceeded the rate of a meter's drop band.
  uint64_t meter_drops;
  // Of these, packets that no entry of a table matched.
  uint64_t miss_drops;
} bofuss_usage;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, such as `0.1.0`. The string is never freed.
const char *bofuss_version(void);

// Makes a codec that knows all extensions. The caller owns it.
//
// # Safety
//
// `out` is NULL, or may be written.
enum bofuss_status bofuss_codec_new(struct bofuss_codec **out);

// Frees a codec and sets the caller's pointer to NULL. A second call gives BOFUSS_STATUS_NULL.
//
// # Safety
//
// `codec` is NULL, or points to NULL or a codec of bofuss_codec_new that was not freed and that no
// other thread uses.
enum bofuss_status bofuss_codec_free(struct bofuss_codec **codec);

// Returns why a message or command was last refused (BOFUSS_STATUS_BAD_MESSAGE,
// BOFUSS_STATUS_BAD_TEXT), as a sentence; empty if none was. It is valid until the next one is
// refused. NULL for NULL.
//
// # Safety
//
// `codec` is NULL, or a codec that was not freed and that no other thread uses.
const char *bofuss_codec_error(const struct bofuss_codec *codec);

// The length of the first message in a stream, header included, by its header alone.
// BOFUSS_STATUS_NONE if the header is not complete yet, BOFUSS_STATUS_BAD_MESSAGE if its length is
// shorter than a header: then the stream cannot be read on.
//
// # Safety
//
// `length` bytes may be read at `bytes`; `message_length` is NULL, or may be written.
enum bofuss_status bofuss_message_length(const uint8_t *bytes,
                                         size_t length,
                                         size_t *message_length);

// Converts a whole message, in the version of its header, to a line of text (`as_json` 0) or to
// the JSON of dpctl (1). `length` is that of the result, without the zero byte that ends it in
// `out`.
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

// Encodes the messages of a command line, which has a verb and its arguments: in the syntax of
// BOFUSS's dpctl, such as `flow-mod cmd=add,table=0 in_port=1 apply:output=2`, or of ovs-ofctl,
// such as `add-flow in_port=1,actions=output:2`. `version` is the number on the wire, from 1 for
// OpenFlow 1.0 to 6 for 1.5; `xid` is the transaction id of the first message; `length` is that of
// all messages together.
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

// Reads a PACKET_IN. BOFUSS_STATUS_NONE for another message.
//
// # Safety
//
// `codec` is NULL, or a codec that was not freed and that no other thread uses; `length` bytes may
// be read at `message`; `packet_in` is NULL, or may be written.
enum bofuss_status bofuss_read_packet_in(const struct bofuss_codec *codec,
                                         const uint8_t *message,
                                         size_t length,
                                         struct bofuss_packet_in *packet_in);

// Writes a PACKET_IN of OpenFlow 1.2 or later again, with a match that also has the fields of the
// headers in its data, as far as its version has them: a controller's program then finds them as
// those of an entry. BOFUSS_STATUS_NONE for another message, or an earlier version.
//
// # Safety
//
// `codec` is NULL, or a codec that was not freed and that no other thread uses; `message_length`
// bytes may be read at `message`; `capacity` bytes may be written at `out` unless it is NULL;
// `length` is NULL, or may be written.
enum bofuss_status bofuss_packet_in_with_headers(const struct bofuss_codec *codec,
                                                 const uint8_t *message,
                                                 size_t message_length,
                                                 uint8_t *out,
                                                 size_t capacity,
                                                 size_t *length);

// Opens a connection of a controller, or of a tool (`is_controller` 0), and stores its number. The
// switch sends its HELLO. With tools alone, the switch goes on as without a controller. Numbers
// are never used again.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `connection` is
// NULL, or may be written.
enum bofuss_status bofuss_connect(const struct bofuss_switch *sw,
                                  uint8_t is_controller,
                                  uint64_t *connection);

// Passes bytes that arrived on a connection, cut anywhere. `taken` is how many the switch took:
// fewer than `length` if about 128 KiB wait already because the peer does not read. Pass the rest
// again after bofuss_work.
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

// Says how many bytes the caller holds that the peer of a connection has not taken yet; initially
// 0. Above 256 KiB, packet-ins are dropped and long replies wait. Above 4 MiB, the switch closes
// the connection.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_set_held_bytes(const struct bofuss_switch *sw,
                                         uint64_t connection,
                                         size_t bytes);

// Removes a connection that was closed.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_disconnect(const struct bofuss_switch *sw,
                                     uint64_t now,
                                     uint64_t connection);

// Makes a switch without ports and program, which drops all frames. The caller owns it. `seed` is
// that of the random numbers of programs.
//
// # Safety
//
// `out` is NULL, or may be written.
enum bofuss_status bofuss_p4_new(uint64_t seed, struct bofuss_p4 **out);

// Frees a switch and sets the caller's pointer to NULL. A second call gives BOFUSS_STATUS_NULL.
//
// # Safety
//
// `sw` is NULL, or points to NULL or a switch of bofuss_p4_new that was not freed and that no
// other thread uses.
enum bofuss_status bofuss_p4_free(struct bofuss_p4 **sw);

// Returns why a call was last refused, as a sentence; empty if none was. It is valid until the
// next one is refused. NULL for NULL.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
const char *bofuss_p4_error(const struct bofuss_p4 *sw);

// Sets the program: the JSON that p4c-bm2-ss writes. Entries, counters and registers of the old
// one are gone; the ports stay. BOFUSS_STATUS_BAD_TEXT if it is no program: bofuss_p4_error has
// the place.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `length` bytes may
// be read at `json`.
enum bofuss_status bofuss_p4_load(const struct bofuss_p4 *sw, const uint8_t *json, size_t length);

// Adds table entries, multicast groups and clone sessions: JSON in the form of the P4 tutorials'
// runtime files. BOFUSS_STATUS_BAD_TEXT if one is wrong: bofuss_p4_error has the place.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `length` bytes may
// be read at `json`.
enum bofuss_status bofuss_p4_write(const struct bofuss_p4 *sw, const uint8_t *json, size_t length);

// Adds a port, 0 to 510; one that is there stays as it is.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_p4_add_port(const struct bofuss_p4 *sw, uint32_t port);

// Passes a frame that arrived on a port, and calls `transmit` (if it is not NULL) for each frame
// that leaves, with `user`. It may call any function of the same switch except bofuss_p4_free.
// `now` is nanoseconds since the switch began.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `frame.bytes` may be
// read.
enum bofuss_status bofuss_p4_receive(const struct bofuss_p4 *sw,
                                     uint64_t now,
                                     uint32_t port,
                                     struct bofuss_frame frame,
                                     void (*transmit)(void *user, uint32_t port, const uint8_t *frame, size_t length),
                                     void *user);

// Lets packets for a port wait before egress, by their priority, because it has no room. Until
// bofuss_p4_leave is called, none leaves.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_p4_hold(const struct bofuss_p4 *sw, uint32_t port);

// Lets at most `most` of the packets leave that wait for a port, those of the highest priority
// first, and calls `transmit` as bofuss_p4_receive does. When none is left, the port has room
// again.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_p4_leave(const struct bofuss_p4 *sw,
                                   uint64_t now,
                                   uint32_t port,
                                   size_t most,
                                   void (*transmit)(void *user, uint32_t port, const uint8_t *frame, size_t length),
                                   void *user);

// Stores the packets and bytes of a counter. BOFUSS_STATUS_BAD_VALUE if there is none of this name
// and index.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `name` is NULL, or
// ends with a zero byte; `packets` and `bytes` are NULL, or may be written.
enum bofuss_status bofuss_p4_counter(const struct bofuss_p4 *sw,
                                     const char *name,
                                     size_t index,
                                     uint64_t *packets,
                                     uint64_t *bytes);

// Explains what would become of a frame on a port, as text, and changes nothing. `length` is that
// of the text, without the zero byte that ends it in `out`.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `frame.bytes` may be
// read; `capacity` bytes may be written at `out` unless it is NULL; `length` is NULL, or may be
// written.
enum bofuss_status bofuss_p4_trace(const struct bofuss_p4 *sw,
                                   uint64_t now,
                                   uint32_t port,
                                   struct bofuss_frame frame,
                                   char *out,
                                   size_t capacity,
                                   size_t *length);

// Adds a port with its link up, or changes the one with this number. `name` may be NULL, and so
// may `hw_addr`, which otherwise has 6 bytes. `kbps` is the rate of the link in kbit/s, or 0.
// BOFUSS_STATUS_BAD_VALUE for a number that no port can have.
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

// Says that the link of a port came up (`up` 1) or went down (0).
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_port_set_link(const struct bofuss_switch *sw,
                                        uint64_t now,
                                        uint32_t number,
                                        uint8_t up);

// Says that a port accepts at most `frames` more frames until the next call. Below 0 it accepts
// all, as a new port does. Further frames wait in the port's queues if it has some; otherwise they
// leave nevertheless.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_port_set_room(const struct bofuss_switch *sw,
                                        uint64_t now,
                                        uint32_t number,
                                        int64_t frames);

// Passes frames that arrived on a port. BOFUSS_STATUS_NO_MEMORY if the switch has no buffer for a
// frame, or a frame is longer than 65,792 bytes: the frames before it were taken.
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

// Explains what would happen to a frame on a port, as text (`as_json` 0) or JSON (1), and changes
// nothing. The result says the tunnels by which frames leave. `length` is its length, without the
// zero byte that ends it in `out`.
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

// Fills a configuration with the defaults.
//
// # Safety
//
// `config` is NULL, or may be written.
enum bofuss_status bofuss_config_default(struct bofuss_config *config);

// Returns why no switch can be made with a configuration, as a sentence that is never freed. NULL
// if a switch can be made, and for NULL.
//
// # Safety
//
// `config` is NULL, or may be read.
const char *bofuss_config_error(const struct bofuss_config *config);

// Makes a switch without ports. The caller owns it. BOFUSS_STATUS_BAD_VALUE for a value of the
// configuration that is not allowed: bofuss_config_error says which.
//
// # Safety
//
// `config` and `callbacks` are NULL, or may be read; `out` is NULL, or may be written. What the
// callbacks' `user` points to lives as long as the switch.
enum bofuss_status bofuss_switch_new(uint64_t now,
                                     const struct bofuss_config *config,
                                     const struct bofuss_callbacks *callbacks,
                                     struct bofuss_switch **out);

// Frees a switch and sets the caller's pointer to NULL. A second call gives BOFUSS_STATUS_NULL.
// BOFUSS_STATUS_BUSY within a callback of the switch: then nothing is freed.
//
// # Safety
//
// `sw` is NULL, or points to NULL or a switch of bofuss_switch_new that was not freed and that
// no other thread uses.
enum bofuss_status bofuss_switch_free(struct bofuss_switch **sw);

// Returns why the last call of the switch that failed did so: a sentence, or only the name of the
// status. It is valid until the next call fails. NULL for NULL.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
const char *bofuss_switch_error(const struct bofuss_switch *sw);

// Returns when to call bofuss_tick next; at once if that is in the past. BOFUSS_STATUS_NONE if
// nothing waits for a time.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `at` is NULL, or
// may be written.
enum bofuss_status bofuss_next_tick(const struct bofuss_switch *sw, uint64_t *at);

// Expires entries, and serves other timers that are due.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_tick(const struct bofuss_switch *sw, uint64_t now);

// Continues what waited until peers read, such as long replies. BOFUSS_STATUS_NONE if nothing
// does.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses.
enum bofuss_status bofuss_work(const struct bofuss_switch *sw, uint64_t now);

// Stores how full the switch is.
//
// # Safety
//
// `sw` is NULL, or a switch that was not freed and that no other thread uses; `usage` is NULL,
// or may be written.
enum bofuss_status bofuss_get_usage(const struct bofuss_switch *sw, struct bofuss_usage *usage);

// Stores how many entries a table has. BOFUSS_STATUS_NONE if there is no such table.
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
