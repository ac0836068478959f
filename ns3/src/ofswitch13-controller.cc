// Controllers: connections of switches, and messages as bytes.
#include "ns3/ofswitch13-controller.h"

#include <algorithm>

#include "ns3/inet-socket-address.h"
#include "ns3/log.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13Controller");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13Controller);

namespace
{
// The version on the wire.
const uint8_t OPENFLOW_1_3 = 4;
// Bytes of a packet and of a command of packet-out, at most.
const size_t COMMAND_BYTES = 1 << 18;

OFMessage
Message(uint8_t type, uint32_t xid, const std::vector<uint8_t>& body = {})
{
    size_t length = OF_HEADER_BYTES + body.size();
    NS_ABORT_MSG_IF(length > OF_MAX_MESSAGE_BYTES, "a message has at most 65,535 bytes");
    OFMessage message{OPENFLOW_1_3,
                      type,
                      static_cast<uint8_t>(length >> 8),
                      static_cast<uint8_t>(length),
                      static_cast<uint8_t>(xid >> 24),
                      static_cast<uint8_t>(xid >> 16),
                      static_cast<uint8_t>(xid >> 8),
                      static_cast<uint8_t>(xid)};
    message.insert(message.end(), body.begin(), body.end());
    return message;
}
} // namespace

uint64_t
OFSwitch13Controller::RemoteSwitch::GetDpId() const
{
    return m_dpId;
}

Address
OFSwitch13Controller::RemoteSwitch::GetAddress() const
{
    return m_address;
}

Ipv4Address
OFSwitch13Controller::RemoteSwitch::GetIpv4() const
{
    return InetSocketAddress::ConvertFrom(m_address).GetIpv4();
}

uint16_t
OFSwitch13Controller::RemoteSwitch::GetPort() const
{
    return InetSocketAddress::ConvertFrom(m_address).GetPort();
}

TypeId
OFSwitch13Controller::GetTypeId()
{
    static TypeId tid = TypeId("ns3::OFSwitch13Controller")
                            .SetParent<Application>()
                            .SetGroupName("OFSwitch13")
                            .AddConstructor<OFSwitch13Controller>()
                            .AddAttribute("Port",
                                          "The TCP port on which switches are awaited.",
                                          UintegerValue(6653),
                                          MakeUintegerAccessor(&OFSwitch13Controller::m_port),
                                          MakeUintegerChecker<uint16_t>());
    return tid;
}

OFSwitch13Controller::OFSwitch13Controller()
{
    NS_ABORT_MSG_IF(bofuss_codec_new(&m_codec) != BOFUSS_STATUS_OK, "no codec");
}

OFSwitch13Controller::~OFSwitch13Controller()
{
    bofuss_codec_free(&m_codec);
}

void
OFSwitch13Controller::DoDispose()
{
    StopApplication();
    Application::DoDispose();
}

void
OFSwitch13Controller::StartApplication()
{
    m_server = Socket::CreateSocket(GetNode(), TcpSocketFactory::GetTypeId());
    m_server->SetAttribute("SegmentSize", UintegerValue(8900));
    m_server->SetAcceptCallback(MakeCallback(&OFSwitch13Controller::Accept, this),
                                MakeCallback(&OFSwitch13Controller::Accepted, this));
    m_server->Bind(InetSocketAddress(Ipv4Address::GetAny(), m_port));
    m_server->Listen();
}

void
OFSwitch13Controller::StopApplication()
{
    for (const Ptr<RemoteSwitch>& swtch : m_switches)
    {
        swtch->m_handler->Dispose();
        swtch->m_handler->GetSocket()->Close();
    }
    m_switches.clear();
    if (m_server)
    {
        m_server->Close();
        m_server = nullptr;
    }
}

bool
OFSwitch13Controller::Accept(Ptr<Socket>, const Address&)
{
    return true;
}

void
OFSwitch13Controller::Accepted(Ptr<Socket> socket, const Address& from)
{
    Ptr<RemoteSwitch> swtch = Create<RemoteSwitch>();
    swtch->m_handler = CreateObject<OFSwitch13SocketHandler>(socket);
    swtch->m_handler->SetReceiveCallback(MakeCallback(&OFSwitch13Controller::Receive, this));
    swtch->m_address = from;
    m_switches.push_back(swtch);
    socket->SetCloseCallbacks(MakeCallback(&OFSwitch13Controller::Closed, this),
                              MakeCallback(&OFSwitch13Controller::Closed, this));
    SendToSwitch(swtch, Message(OF_HELLO, GetNextXid()));
    SendToSwitch(swtch, Message(OF_FEATURES_REQUEST, GetNextXid()));
}

Ptr<OFSwitch13Controller::RemoteSwitch>
OFSwitch13Controller::Find(const Address& address) const
{
    for (const Ptr<RemoteSwitch>& swtch : m_switches)
    {
        if (swtch->m_address == address)
        {
            return swtch;
        }
    }
    return nullptr;
}

Ptr<const OFSwitch13Controller::RemoteSwitch>
OFSwitch13Controller::GetRemoteSwitch(uint64_t dpId) const
{
    for (const Ptr<RemoteSwitch>& swtch : m_switches)
    {
        if (swtch->m_ready && swtch->m_dpId == dpId)
        {
            return swtch;
        }
    }
    return nullptr;
}

void
OFSwitch13Controller::Closed(Ptr<Socket> socket)
{
    auto isIt = [&](const Ptr<RemoteSwitch>& swtch) {
        return swtch->m_handler->GetSocket() == socket;
    };
    auto closed = std::find_if(m_switches.begin(), m_switches.end(), isIt);
    if (closed != m_switches.end())
    {
        NS_LOG_INFO("switch " << (*closed)->m_dpId << " is gone");
        (*closed)->m_handler->Dispose();
        m_switches.erase(closed);
    }
}

void
OFSwitch13Controller::Receive(Ptr<Packet> packet, Address from)
{
    Ptr<RemoteSwitch> swtch = Find(from);
    if (swtch)
    {
        OFMessage message(packet->GetSize());
        packet->CopyData(message.data(), message.size());
        Handle(swtch, message);
    }
}

void
OFSwitch13Controller::Handle(Ptr<RemoteSwitch> swtch, const OFMessage& message)
{
    uint32_t xid = OFNumber(message, 4, 4);
    Ptr<const RemoteSwitch> from = swtch;
    NS_LOG_DEBUG(ToText(message));
    switch (message[1])
    {
    case OF_ECHO_REQUEST:
        SendToSwitch(from, Message(OF_ECHO_REPLY, xid, {message.begin() + OF_HEADER_BYTES, message.end()}));
        break;
    case OF_FEATURES_REPLY: {
        if (swtch->m_ready || message.size() < OF_HEADER_BYTES + 8)
        {
            break;
        }
        swtch->m_dpId = OFNumber(message, OF_HEADER_BYTES, 8);
        swtch->m_ready = true;
        NS_LOG_INFO("switch " << swtch->m_dpId << " is here");
        HandshakeSuccessful(from);
        auto [first, last] = m_waiting.equal_range(swtch->m_dpId);
        for (auto waiting = first; waiting != last; ++waiting)
        {
            DpctlExecute(from, waiting->second);
        }
        m_waiting.erase(first, last);
        break;
    }
    case OF_PACKET_IN: {
        bofuss_packet_in packetIn;
        if (bofuss_read_packet_in(m_codec, message.data(), message.size(), &packetIn) ==
            BOFUSS_STATUS_OK)
        {
            HandlePacketIn(packetIn, from, xid);
        }
        break;
    }
    case OF_ERROR:
        HandleError(message, from, xid);
        break;
    case OF_FLOW_REMOVED:
        HandleFlowRemoved(message, from, xid);
        break;
    case OF_PORT_STATUS:
        HandlePortStatus(message, from, xid);
        break;
    case OF_GET_CONFIG_REPLY:
        HandleGetConfigReply(message, from, xid);
        break;
    case OF_MULTIPART_REPLY:
        HandleMultipartReply(message, from, xid);
        break;
    case OF_BARRIER_REPLY:
        HandleBarrierReply(message, from, xid);
        break;
    case OF_QUEUE_GET_CONFIG_REPLY:
        HandleQueueGetConfigReply(message, from, xid);
        break;
    case OF_ROLE_REPLY:
        HandleRoleReply(message, from, xid);
        break;
    case OF_GET_ASYNC_REPLY:
        HandleAsyncReply(message, from, xid);
        break;
    default:
        break;
    }
}

std::string
OFSwitch13Controller::ToText(const OFMessage& message) const
{
    std::vector<char> text(1 << 20);
    size_t length = 0;
    bofuss_status status = bofuss_message_text(
        m_codec, message.data(), message.size(), 0, text.data(), text.size(), &length);
    return status == BOFUSS_STATUS_OK ? std::string(text.data(), length) : std::string();
}

int
OFSwitch13Controller::DpctlExecute(uint64_t dpId, const std::string& text)
{
    Ptr<const RemoteSwitch> swtch = GetRemoteSwitch(dpId);
    if (!swtch)
    {
        m_waiting.emplace(dpId, text);
        return 0;
    }
    return DpctlExecute(swtch, text);
}

int
OFSwitch13Controller::DpctlExecute(Ptr<const RemoteSwitch> swtch, const std::string& text)
{
    NS_LOG_INFO("to switch " << swtch->m_dpId << ": " << text);
    OFMessage bytes(COMMAND_BYTES);
    size_t length = 0;
    bofuss_status status = bofuss_command(
        m_codec, OPENFLOW_1_3, GetNextXid(), text.c_str(), bytes.data(), bytes.size(), &length);
    if (status != BOFUSS_STATUS_OK)
    {
        NS_LOG_ERROR(text << ": " << bofuss_codec_error(m_codec));
        return 1;
    }
    bytes.resize(length);
    SendToSwitch(swtch, bytes);
    return 0;
}

int
OFSwitch13Controller::DpctlSchedule(uint64_t dpId, const std::string& text)
{
    return DpctlExecute(dpId, text);
}

uint32_t
OFSwitch13Controller::GetNextXid()
{
    return m_xid++;
}

void
OFSwitch13Controller::SendEchoRequest(Ptr<const RemoteSwitch> swtch, size_t payloadSize)
{
    std::vector<uint8_t> payload(payloadSize);
    SendToSwitch(swtch, Message(OF_ECHO_REQUEST, GetNextXid(), payload));
}

void
OFSwitch13Controller::SendBarrierRequest(Ptr<const RemoteSwitch> swtch)
{
    SendToSwitch(swtch, Message(OF_BARRIER_REQUEST, GetNextXid()));
}

void
OFSwitch13Controller::SendToSwitch(Ptr<const RemoteSwitch> swtch, const OFMessage& message)
{
    if (Find(swtch->m_address))
    {
        swtch->m_handler->Send(message.data(), message.size());
    }
}

void
OFSwitch13Controller::HandshakeSuccessful(Ptr<const RemoteSwitch>)
{
}

void
OFSwitch13Controller::HandlePacketIn(const bofuss_packet_in&, Ptr<const RemoteSwitch>, uint32_t)
{
}

void
OFSwitch13Controller::HandleError(const OFMessage& message, Ptr<const RemoteSwitch> swtch, uint32_t)
{
    NS_LOG_ERROR("switch " << swtch->GetDpId() << ": " << ToText(message));
}

void
OFSwitch13Controller::HandleFlowRemoved(const OFMessage&, Ptr<const RemoteSwitch>, uint32_t)
{
}

void
OFSwitch13Controller::HandlePortStatus(const OFMessage&, Ptr<const RemoteSwitch>, uint32_t)
{
}

void
OFSwitch13Controller::HandleGetConfigReply(const OFMessage&, Ptr<const RemoteSwitch>, uint32_t)
{
}

void
OFSwitch13Controller::HandleMultipartReply(const OFMessage&, Ptr<const RemoteSwitch>, uint32_t)
{
}

void
OFSwitch13Controller::HandleBarrierReply(const OFMessage&, Ptr<const RemoteSwitch>, uint32_t)
{
}

void
OFSwitch13Controller::HandleQueueGetConfigReply(const OFMessage&, Ptr<const RemoteSwitch>, uint32_t)
{
}

void
OFSwitch13Controller::HandleRoleReply(const OFMessage&, Ptr<const RemoteSwitch>, uint32_t)
{
}

void
OFSwitch13Controller::HandleAsyncReply(const OFMessage&, Ptr<const RemoteSwitch>, uint32_t)
{
}

} // namespace ns3
