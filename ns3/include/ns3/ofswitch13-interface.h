// OpenFlow messages as bytes: their types, and how many of each a stream has.
#ifndef OFSWITCH13_INTERFACE_H
#define OFSWITCH13_INTERFACE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace ns3
{

// A whole message as bytes; bofuss_message_text of libbofuss says what it is.
using OFMessage = std::vector<uint8_t>;

// Types of messages. Spec: OpenFlow 1.3.5 section 7.1.1.
enum OFMessageType : uint8_t
{
    OF_HELLO = 0,
    OF_ERROR = 1,
    OF_ECHO_REQUEST = 2,
    OF_ECHO_REPLY = 3,
    OF_FEATURES_REQUEST = 5,
    OF_FEATURES_REPLY = 6,
    OF_GET_CONFIG_REPLY = 8,
    OF_PACKET_IN = 10,
    OF_FLOW_REMOVED = 11,
    OF_PORT_STATUS = 12,
    OF_PACKET_OUT = 13,
    OF_FLOW_MOD = 14,
    OF_GROUP_MOD = 15,
    OF_MULTIPART_REPLY = 19,
    OF_BARRIER_REQUEST = 20,
    OF_BARRIER_REPLY = 21,
    OF_QUEUE_GET_CONFIG_REPLY = 23,
    OF_ROLE_REPLY = 25,
    OF_GET_ASYNC_REPLY = 27,
    OF_METER_MOD = 29,
};
// Bytes of a message's header, and the most of a message.
constexpr size_t OF_HEADER_BYTES = 8;
constexpr size_t OF_MAX_MESSAGE_BYTES = 65535;

// Counts the messages of a stream by their type, however it is cut, and shows how each begins.
class OFMessageCounter
{
  public:
    // The first bytes of a message, up to the buffer id of a flow-mod.
    using Seen = std::function<void(const OFMessage& head)>;
    void Add(const uint8_t* bytes, size_t n, const Seen& seen);
    uint64_t Get(uint8_t type) const;

  private:
    // Bytes of the message that is read, or 4 until its length is known.
    size_t Length() const;

    OFMessage m_head;
    // Bytes until the next message.
    size_t m_left{0};
    std::map<uint8_t, uint64_t> m_counts;
};

// A number of a message, most significant byte first. The message has these bytes.
uint64_t OFNumber(const OFMessage& message, size_t at, size_t bytes);

} // namespace ns3

#endif
