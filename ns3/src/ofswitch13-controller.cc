// Controllers: connections of switches, and messages as bytes.
#include "ns3/ofswitch13-controller.h"
#include "ns3/ofswitch13-device.h"

#include <algorithm>
#include <sstream>

#include "ns3/inet-socket-address.h"
#include "ns3/log.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13Controller");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13Controller);
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13LearningController);

namespace
{
// OpenFlow 1.3, and message types of it. Spec: OpenFlow 1.3.5 section 7.1.1.
const uint8_t OPENFLOW_1_3 = 4;
enum : uint8_t
{
    HELLO = 0,
    ERROR = 1,
    ECHO_REQUEST = 2,
    ECHO_REPLY = 3,
    FEATURES_REQUEST = 5,
    FEATURES_REPLY = 6,
    GET_CONFIG_REPLY = 8,
    PACKET_IN = 10,
    FLOW_REMOVED = 11,
    PORT_STATUS = 12,
    MULTIPART_REPLY = 19,
    BARRIER_REQUEST = 20,
    BARRIER_REPLY = 21,
    QUEUE_GET_CONFIG_REPLY = 23,
    ROLE_REPLY = 25,
    GET_ASYNC_REPLY = 27,
};
// Bytes of a header, and the most of a message.
const size_t HEADER_BYTES = 8;
const size_t MAX_MESSAGE_BYTES = 65535;
// Bytes of a packet and of a command of packet-out, at most.
const size_t COMMAND_BYTES = 1 << 18;

OFMessage
Message(uint8_t type, uint32_t xid, const std::vector<uint8_t>& body = {})
{
    size_t length = HEADER_BYTES + body.size();
    NS_ABORT_MSG_IF(length > MAX_MESSAGE_BYTES, "a message has at most 65,535 bytes");
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

uint64_t
Number(const OFMessage& message, size_t at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = at; i < at + bytes; i++)
    {
        number = number << 8 | message[i];
    }
    return number;
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
        swtch->m_socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
        swtch->m_socket->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
        swtch->m_socket->Close();
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
    swtch->m_socket = socket;
    swtch->m_address = from;
    m_switches.push_back(swtch);
    socket->SetRecvCallback(MakeCallback(&OFSwitch13Controller::Receive, this));
    socket->SetSendCallback(MakeCallback(&OFSwitch13Controller::Writable, this));
    socket->SetCloseCallbacks(MakeCallback(&OFSwitch13Controller::Closed, this),
                              MakeCallback(&OFSwitch13Controller::Closed, this));
    SendToSwitch(swtch, Message(HELLO, GetNextXid()));
    SendToSwitch(swtch, Message(FEATURES_REQUEST, GetNextXid()));
}

Ptr<OFSwitch13Controller::RemoteSwitch>
OFSwitch13Controller::Find(Ptr<Socket> socket) const
{
    for (const Ptr<RemoteSwitch>& swtch : m_switches)
    {
        if (swtch->m_socket == socket)
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
    Ptr<RemoteSwitch> swtch = Find(socket);
    m_switches.erase(std::remove(m_switches.begin(), m_switches.end(), swtch), m_switches.end());
}

void
OFSwitch13Controller::Receive(Ptr<Socket> socket)
{
    Ptr<RemoteSwitch> swtch = Find(socket);
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (!packet->GetSize() || !swtch)
        {
            break;
        }
        std::vector<uint8_t>& received = swtch->m_received;
        size_t before = received.size();
        received.resize(before + packet->GetSize());
        packet->CopyData(received.data() + before, packet->GetSize());
        size_t at = 0;
        size_t length = 0;
        while (bofuss_message_length(received.data() + at, received.size() - at, &length) ==
                   BOFUSS_STATUS_OK &&
               length <= received.size() - at)
        {
            OFMessage message(received.begin() + at, received.begin() + at + length);
            at += length;
            Handle(swtch, message);
        }
        received.erase(received.begin(), received.begin() + at);
    }
}

void
OFSwitch13Controller::Handle(Ptr<RemoteSwitch> swtch, const OFMessage& message)
{
    uint32_t xid = Number(message, 4, 4);
    Ptr<const RemoteSwitch> from = swtch;
    NS_LOG_DEBUG(ToText(message));
    switch (message[1])
    {
    case ECHO_REQUEST:
        SendToSwitch(from, Message(ECHO_REPLY, xid, {message.begin() + HEADER_BYTES, message.end()}));
        break;
    case FEATURES_REPLY: {
        if (swtch->m_ready || message.size() < HEADER_BYTES + 8)
        {
            break;
        }
        swtch->m_dpId = Number(message, HEADER_BYTES, 8);
        swtch->m_ready = true;
        HandshakeSuccessful(from);
        auto [first, last] = m_waiting.equal_range(swtch->m_dpId);
        for (auto waiting = first; waiting != last; ++waiting)
        {
            DpctlExecute(from, waiting->second);
        }
        m_waiting.erase(first, last);
        break;
    }
    case PACKET_IN: {
        bofuss_packet_in packetIn;
        if (bofuss_read_packet_in(m_codec, message.data(), message.size(), &packetIn) ==
            BOFUSS_STATUS_OK)
        {
            HandlePacketIn(packetIn, from, xid);
        }
        break;
    }
    case ERROR:
        HandleError(message, from, xid);
        break;
    case FLOW_REMOVED:
        HandleFlowRemoved(message, from, xid);
        break;
    case PORT_STATUS:
        HandlePortStatus(message, from, xid);
        break;
    case GET_CONFIG_REPLY:
        HandleGetConfigReply(message, from, xid);
        break;
    case MULTIPART_REPLY:
        HandleMultipartReply(message, from, xid);
        break;
    case BARRIER_REPLY:
        HandleBarrierReply(message, from, xid);
        break;
    case QUEUE_GET_CONFIG_REPLY:
        HandleQueueReply(message, from, xid);
        break;
    case ROLE_REPLY:
        HandleRoleReply(message, from, xid);
        break;
    case GET_ASYNC_REPLY:
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

uint32_t
OFSwitch13Controller::GetNextXid()
{
    return m_xid++;
}

void
OFSwitch13Controller::SendEchoRequest(Ptr<const RemoteSwitch> swtch,
                                      const std::vector<uint8_t>& payload)
{
    SendToSwitch(swtch, Message(ECHO_REQUEST, GetNextXid(), payload));
}

void
OFSwitch13Controller::SendBarrierRequest(Ptr<const RemoteSwitch> swtch)
{
    SendToSwitch(swtch, Message(BARRIER_REQUEST, GetNextXid()));
}

void
OFSwitch13Controller::SendToSwitch(Ptr<const RemoteSwitch> swtch, const OFMessage& message)
{
    Ptr<RemoteSwitch> known = Find(swtch->m_socket);
    if (known)
    {
        known->m_unsent.insert(known->m_unsent.end(), message.begin(), message.end());
        SendWaiting(known->m_socket, known->m_unsent);
    }
}

void
OFSwitch13Controller::Writable(Ptr<Socket> socket, uint32_t)
{
    Ptr<RemoteSwitch> swtch = Find(socket);
    if (swtch)
    {
        SendWaiting(socket, swtch->m_unsent);
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
OFSwitch13Controller::HandleQueueReply(const OFMessage&, Ptr<const RemoteSwitch>, uint32_t)
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

TypeId
OFSwitch13LearningController::GetTypeId()
{
    static TypeId tid = TypeId("ns3::OFSwitch13LearningController")
                            .SetParent<OFSwitch13Controller>()
                            .SetGroupName("OFSwitch13")
                            .AddConstructor<OFSwitch13LearningController>();
    return tid;
}

void
OFSwitch13LearningController::HandshakeSuccessful(Ptr<const RemoteSwitch> swtch)
{
    // What no entry knows comes here as a whole.
    DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=0 apply:output=ctrl:65535");
}

void
OFSwitch13LearningController::HandlePacketIn(const bofuss_packet_in& message,
                                             Ptr<const RemoteSwitch> swtch,
                                             uint32_t)
{
    if (message.data_length < 12)
    {
        return;
    }
    Mac48Address to;
    Mac48Address from;
    to.CopyFrom(message.data);
    from.CopyFrom(message.data + 6);
    std::map<Mac48Address, uint32_t>& learned = m_learned[swtch->GetDpId()];
    learned[from] = message.in_port;
    auto known = learned.find(to);
    std::ostringstream out;
    if (known == learned.end() || to.IsGroup())
    {
        out << "flood";
    }
    else
    {
        out << "output:" << known->second;
        std::ostringstream flow;
        flow << "flow-mod cmd=add,table=0,prio=100,idle=60,flags=0x1 in_port=" << message.in_port
             << ",eth_src=" << from << ",eth_dst=" << to << " apply:output=" << known->second;
        DpctlExecute(swtch, flow.str());
    }
    static const char DIGITS[] = "0123456789abcdef";
    std::string packet;
    for (size_t i = 0; i < message.data_length; i++)
    {
        packet += DIGITS[message.data[i] >> 4];
        packet += DIGITS[message.data[i] & 15];
    }
    std::ostringstream command;
    command << "packet-out " << message.in_port << " " << out.str() << " " << packet;
    DpctlExecute(swtch, command.str());
}

} // namespace ns3
