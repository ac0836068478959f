// Counts messages in a stream.
#include "ns3/ofswitch13-interface.h"

#include <algorithm>

#include "ns3/log.h"
#include "ns3/ofswitch13-device.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13Interface");

namespace
{
// Bytes of a header up to the length.
const size_t LENGTH_BYTES = 4;
// Bytes of a flow-mod up to the end of its buffer id.
const size_t HEAD_BYTES = 36;
} // namespace

uint64_t
OFNumber(const OFMessage& message, size_t at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = at; i < at + bytes; i++)
    {
        number = number << 8 | message[i];
    }
    return number;
}

size_t
OFMessageCounter::Length() const
{
    return m_head.size() < LENGTH_BYTES
               ? LENGTH_BYTES
               : std::max<size_t>(OFNumber(m_head, 2, 2), OF_HEADER_BYTES);
}

void
OFMessageCounter::Add(const uint8_t* bytes, size_t n, const Seen& seen)
{
    const uint8_t* end = bytes + n;
    while (bytes < end)
    {
        size_t skipped = std::min<size_t>(m_left, end - bytes);
        m_left -= skipped;
        bytes += skipped;
        if (bytes == end)
        {
            return;
        }
        m_head.push_back(*bytes);
        bytes++;
        size_t length = Length();
        if (m_head.size() >= OF_HEADER_BYTES && m_head.size() == std::min(length, HEAD_BYTES))
        {
            NS_LOG_DEBUG("a message of type " << +m_head[1] << " with " << length << " bytes");
            m_counts[m_head[1]]++;
            seen(m_head);
            m_left = length - m_head.size();
            m_head.clear();
        }
    }
}

uint64_t
OFMessageCounter::Get(uint8_t type) const
{
    auto found = m_counts.find(type);
    return found == m_counts.end() ? 0 : found->second;
}

namespace ofs
{

Ptr<Packet>
PacketFromMsg(ofl_msg_header* msg, uint32_t xid)
{
    uint8_t* bytes = nullptr;
    size_t length = 0;
    if (ofl_msg_pack(msg, xid, &bytes, &length, nullptr))
    {
        return nullptr;
    }
    Ptr<Packet> packet = Create<Packet>(bytes, length);
    std::free(bytes);
    return packet;
}

void
EnableLibraryLog(bool printToFile, std::string prefix, bool explicitFilename, std::string)
{
    std::string separator = prefix.empty() || prefix.back() == '-' ? "" : "-";
    std::string name = explicitFilename ? prefix : prefix + separator + "ofsoftswitch13.log";
    OFSwitch13Device::EnableDatapathLogs(printToFile ? name : "/dev/stderr");
}

} // namespace ofs

} // namespace ns3
