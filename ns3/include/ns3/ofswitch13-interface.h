// OpenFlow messages: their structs, and how many of each a stream of bytes has.
#ifndef OFSWITCH13_INTERFACE_H
#define OFSWITCH13_INTERFACE_H

#include <arpa/inet.h>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

#include "ns3/csma-module.h"
#include "ns3/log.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/socket.h"
#include "lib/packets.h"
#include "oflib/ofl-messages.h"
#include "oflib/oxm-match.h"
#include "openflow/openflow.h"

// The id of a packet that the switch does not hold.
constexpr uint32_t NO_BUFFER = OFP_NO_BUFFER;

namespace ns3
{

// A whole message as bytes.
using OFMessage = std::vector<uint8_t>;

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

namespace ofs
{

// A message as a packet, which stays the caller's; a null pointer for one that OpenFlow does not have.
Ptr<Packet> PacketFromMsg(struct ofl_msg_header* msg, uint32_t xid = 0);
// Writes the path of each packet through each switch to PREFIX-ofsoftswitch13.log, or to PREFIX
// itself; otherwise to the standard error. There are no levels.
void EnableLibraryLog(bool printToFile = false,
                      std::string prefix = "",
                      bool explicitFilename = false,
                      std::string customLevels = "");

} // namespace ofs

} // namespace ns3

#endif
