// The controllers of a switch: their connections, and the packets that it holds for them.
#include "ns3/ofswitch13-device.h"

#include <algorithm>

#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/uinteger.h"

namespace ns3
{

namespace
{
// The most bytes that one read of a socket takes.
const uint32_t READ_BYTES = 16384;
// The switch holds a packet for this time.
const Time HOLD = Seconds(5);
// Bytes of a flow-mod up to the end of its buffer id.
const size_t HEAD_BYTES = 36;

// The id of the packet that a message of a controller lets go, or NO_BUFFER.
uint32_t
BufferOf(const OFMessage& head)
{
    // Where it is. Spec: OpenFlow 1.3.5 sections 7.3.4.1 and 7.3.7.
    size_t at = head[1] == OFPT_FLOW_MOD ? 32 : 8;
    bool hasOne = head[1] == OFPT_FLOW_MOD || head[1] == OFPT_PACKET_OUT;
    return hasOne && head.size() >= at + 4 ? OFNumber(head, at, 4) : NO_BUFFER;
}

// Bytes of what the switch gets next: a whole message, or the rest of one; 0 if more have to come.
size_t
NextPart(const std::vector<uint8_t>& unread, size_t rest)
{
    if (rest > 0)
    {
        return std::min(rest, unread.size());
    }
    size_t length = 0;
    bofuss_status status = bofuss_message_length(unread.data(), unread.size(), &length);
    if (status == BOFUSS_STATUS_NONE)
    {
        return 0;
    }
    // What is no message ends the connection; the switch says so.
    bool isMessage = status == BOFUSS_STATUS_OK;
    return !isMessage ? unread.size() : length <= unread.size() ? length : 0;
}
} // namespace

uint32_t
OFSwitch13Device::GetNControllers() const
{
    return m_channels.size();
}

uint32_t
OFSwitch13Device::GetBufferEntries() const
{
    uint32_t entries = 0;
    for (const Channel& channel : m_channels)
    {
        for (const auto& [id, held] : channel.held)
        {
            entries += Simulator::Now() - held.since <= HOLD;
        }
    }
    return entries;
}

uint32_t
OFSwitch13Device::GetBufferSize() const
{
    uint32_t size = 0;
    for (const Channel& channel : m_channels)
    {
        size += channel.maxHeld;
    }
    return size;
}

double
OFSwitch13Device::GetBufferUsage() const
{
    uint32_t size = GetBufferSize();
    return size > 0 ? static_cast<double>(GetBufferEntries()) / size : 0;
}

uint64_t
OFSwitch13Device::GetPacketInCounter() const
{
    uint64_t sum = 0;
    for (const Channel& channel : m_channels)
    {
        sum += channel.toController.Get(OFPT_PACKET_IN);
    }
    return sum;
}

uint64_t
OFSwitch13Device::CountFromControllers(uint8_t type) const
{
    uint64_t sum = 0;
    for (const Channel& channel : m_channels)
    {
        sum += channel.fromController.Get(type);
    }
    return sum;
}

uint64_t
OFSwitch13Device::GetPacketOutCounter() const
{
    return CountFromControllers(OFPT_PACKET_OUT);
}

uint64_t
OFSwitch13Device::GetFlowModCounter() const
{
    return CountFromControllers(OFPT_FLOW_MOD);
}

uint64_t
OFSwitch13Device::GetGroupModCounter() const
{
    return CountFromControllers(OFPT_GROUP_MOD);
}

uint64_t
OFSwitch13Device::GetMeterModCounter() const
{
    return CountFromControllers(OFPT_METER_MOD);
}

void
OFSwitch13Device::SendBytes(void* user, uint64_t connection, const uint8_t* bytes, size_t n)
{
    OFSwitch13Device* self = static_cast<OFSwitch13Device*>(user);
    for (Channel& channel : self->m_channels)
    {
        if (channel.connection == connection)
        {
            auto see = [&](const OFMessage& head) { self->SeeToController(channel, head); };
            channel.toController.Add(bytes, n, see);
            channel.handler->Send(bytes, n);
            self->TellUnsent(channel);
        }
    }
}

void
OFSwitch13Device::CloseConnection(void* user, uint64_t connection, const char* why)
{
    NS_LOG_STATIC_TEMPLATE_DEFINE("OFSwitch13Device");
    NS_LOG_WARN("connection " << connection << " is closed: " << why);
    for (Channel& channel : static_cast<OFSwitch13Device*>(user)->m_channels)
    {
        if (channel.connection == connection)
        {
            channel.connection = 0;
            // Nobody lets go what was held.
            channel.held.clear();
            channel.maxHeld = 0;
            channel.handler->GetSocket()->Close();
        }
    }
}

void
OFSwitch13Device::StartControllerConnection(const Address& controller)
{
    Ptr<Socket> socket = Socket::CreateSocket(GetObject<Node>(), TcpSocketFactory::GetTypeId());
    socket->SetAttribute("SegmentSize", UintegerValue(8900));
    Channel channel;
    channel.handler = CreateObject<OFSwitch13SocketHandler>(socket);
    channel.handler->SetSentCallback(MakeCallback(&OFSwitch13Device::Sent, this));
    m_channels.push_back(channel);
    socket->SetConnectCallback(MakeCallback(&OFSwitch13Device::Connected, this),
                               MakeCallback(&OFSwitch13Device::Failed, this));
    socket->SetRecvCallback(MakeCallback(&OFSwitch13Device::Receive, this));
    socket->SetCloseCallbacks(MakeCallback(&OFSwitch13Device::Failed, this),
                              MakeCallback(&OFSwitch13Device::Failed, this));
    socket->Bind();
    socket->Connect(controller);
}

OFSwitch13Device::Channel*
OFSwitch13Device::Find(Ptr<Socket> socket)
{
    for (Channel& channel : m_channels)
    {
        if (channel.handler->GetSocket() == socket)
        {
            return &channel;
        }
    }
    return nullptr;
}

void
OFSwitch13Device::Connected(Ptr<Socket> socket)
{
    NS_LOG_STATIC_TEMPLATE_DEFINE("OFSwitch13Device");
    Channel* channel = Find(socket);
    bofuss_status status =
        channel ? bofuss_connect(m_switch, 1, &channel->connection) : BOFUSS_STATUS_NO_CONNECTION;
    if (status != BOFUSS_STATUS_OK)
    {
        NS_LOG_WARN("switch " << m_dpId << " opens no connection: " << status);
    }
}

void
OFSwitch13Device::Failed(Ptr<Socket> socket)
{
    Channel* channel = Find(socket);
    if (channel && channel->connection && m_switch)
    {
        bofuss_disconnect(m_switch, Now(), channel->connection);
        channel->connection = 0;
        channel->held.clear();
        channel->maxHeld = 0;
        Settle();
    }
}

void
OFSwitch13Device::Receive(Ptr<Socket> socket)
{
    Channel* channel = Find(socket);
    if (!channel)
    {
        return;
    }
    while (Ptr<Packet> packet = socket->Recv(READ_BYTES, 0))
    {
        if (!packet->GetSize())
        {
            break;
        }
        size_t before = channel->unread.size();
        channel->unread.resize(before + packet->GetSize());
        packet->CopyData(channel->unread.data() + before, packet->GetSize());
    }
    Feed(*channel);
}

void
OFSwitch13Device::Feed(Channel& channel)
{
    std::vector<uint8_t>& unread = channel.unread;
    auto see = [&](const OFMessage& head) { SeeFromController(channel, head); };
    size_t taken = 0;
    size_t part = 0;
    // One message after the other, because each may let another packet go.
    for (part = NextPart(unread, channel.rest); part > 0; part = NextPart(unread, channel.rest))
    {
        if (channel.rest == 0 && part >= OF_HEADER_BYTES)
        {
            OFMessage head(unread.begin(), unread.begin() + std::min(part, HEAD_BYTES));
            auto held = channel.held.find(BufferOf(head));
            m_current = held == channel.held.end() ? nullptr : held->second.packet;
        }
        bofuss_status status =
            bofuss_feed(m_switch, Now(), channel.connection, unread.data(), part, &taken);
        m_current = nullptr;
        if (status != BOFUSS_STATUS_OK)
        {
            break;
        }
        channel.fromController.Add(unread.data(), taken, see);
        unread.erase(unread.begin(), unread.begin() + taken);
        if (taken > 0)
        {
            // Otherwise the message still begins there, also for the packet that it lets go.
            channel.rest = (channel.rest > 0 ? channel.rest : part) - taken;
        }
        if (taken < part)
        {
            break;
        }
    }
    if (!channel.connection)
    {
        unread.clear();
        channel.rest = 0;
    }
    Settle();
}

void
OFSwitch13Device::Sent(Ptr<Socket> socket)
{
    Channel* channel = Find(socket);
    if (!channel)
    {
        return;
    }
    TellUnsent(*channel);
    if (channel->connection && bofuss_work(m_switch, Now()) == BOFUSS_STATUS_OK)
    {
        Settle();
    }
    if (!channel->unread.empty())
    {
        Feed(*channel);
    }
}

void
OFSwitch13Device::TellUnsent(const Channel& channel)
{
    if (channel.connection)
    {
        bofuss_set_held_bytes(m_switch, channel.connection, channel.handler->GetUnsentBytes());
    }
}

void
OFSwitch13Device::SeeToController(Channel& channel, const OFMessage& head) const
{
    // Where the fields are. Spec: OpenFlow 1.3.5 sections 7.3.1 and 7.4.1.
    if (head[1] == OFPT_FEATURES_REPLY && head.size() >= 20)
    {
        channel.maxHeld = OFNumber(head, 16, 4);
    }
    if (head[1] == OFPT_PACKET_IN && head.size() >= 12 && OFNumber(head, 8, 4) != NO_BUFFER)
    {
        Expire(channel);
        channel.held[OFNumber(head, 8, 4)] = {Simulator::Now(), m_current};
        if (m_current)
        {
            m_bufferSave(m_current);
        }
    }
}

void
OFSwitch13Device::Expire(Channel& channel) const
{
    for (auto it = channel.held.begin(); it != channel.held.end();)
    {
        if (Simulator::Now() - it->second.since <= HOLD)
        {
            ++it;
            continue;
        }
        Ptr<const Packet> packet = it->second.packet;
        it = channel.held.erase(it);
        if (packet)
        {
            m_bufferExpire(packet);
        }
    }
}

void
OFSwitch13Device::SeeFromController(Channel& channel, const OFMessage& head) const
{
    uint32_t buffer = BufferOf(head);
    if (buffer == NO_BUFFER)
    {
        return;
    }
    Expire(channel);
    auto found = channel.held.find(buffer);
    if (found == channel.held.end())
    {
        return;
    }
    Ptr<const Packet> packet = found->second.packet;
    channel.held.erase(found);
    if (packet)
    {
        m_bufferRetrieve(packet);
    }
}

} // namespace ns3
