// Controllers: connections of switches, and messages to and from them.
#include "ns3/ofswitch13-controller.h"

#include <algorithm>
#include <regex>

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

// An output with the bytes of the headers of TCP over IPv6 with a VLAN tag, and some more.
const char HEADERS[] = "$1:80";

// A command in which each output to the controller has a length. Choice: as handlers find the
// headers of a packet in its match, some of its bytes come with it. What follows an address of IPv4
// is left out, as BOFUSS's dpctl does not read it: the QoS controller of OFSwitch13 lacks a comma.
std::string
Prepared(const std::string& text)
{
    static const std::regex OUTPUT("(output=(ctrl|controller))(?=[, ]|$)");
    static const std::regex ADDRESS("(=([0-9]+\\.){3}[0-9]+)[a-z_]+=[^, ]*");
    if (std::regex_search(text, ADDRESS))
    {
        NS_LOG_WARN(text << ": a comma is missing behind an address, what follows it is left out");
    }
    return std::regex_replace(std::regex_replace(text, ADDRESS, "$1"), OUTPUT, HEADERS);
}

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
// Frees a message that a handler takes.
template <class T>
ofl_err
Dropped(T* msg)
{
    ofl_msg_free(reinterpret_cast<ofl_msg_header*>(msg), nullptr);
    return 0;
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
    // A node that is disposed of sends nothing more, so sockets are not closed.
    auto nothing = MakeNullCallback<void, Ptr<Socket>>();
    for (const Ptr<RemoteSwitch>& swtch : m_switches)
    {
        swtch->m_handler->GetSocket()->SetCloseCallbacks(nothing, nothing);
        swtch->m_handler->Dispose();
    }
    m_switches.clear();
    if (m_server)
    {
        m_server->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeNullCallback<void, Ptr<Socket>, const Address&>());
    }
    m_server = nullptr;
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
    // A socket that closes at once would remove its switch from the list.
    auto nothing = MakeNullCallback<void, Ptr<Socket>>();
    for (const Ptr<RemoteSwitch>& swtch : m_switches)
    {
        swtch->m_handler->GetSocket()->SetCloseCallbacks(nothing, nothing);
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
    SendToSwitch(swtch, Message(OFPT_HELLO, GetNextXid()));
    SendToSwitch(swtch, Message(OFPT_FEATURES_REQUEST, GetNextXid()));
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
    if (!swtch)
    {
        return;
    }
    OFMessage message(packet->GetSize());
    packet->CopyData(message.data(), message.size());
    ofl_msg_header* msg = nullptr;
    uint32_t xid = 0;
    if (ofl_msg_unpack(message.data(), message.size(), &msg, &xid, nullptr))
    {
        NS_LOG_INFO("a message of type " << +message[1] << " has no handler");
        return;
    }
    if (g_log.IsEnabled(LOG_DEBUG))
    {
        char* text = ofl_msg_to_string(msg, nullptr);
        NS_LOG_DEBUG(text);
        std::free(text);
    }
    Handle(swtch, msg, xid);
}

void
OFSwitch13Controller::Handle(Ptr<RemoteSwitch> swtch, ofl_msg_header* msg, uint32_t xid)
{
    switch (msg->type)
    {
    case OFPT_ECHO_REQUEST:
        msg->type = OFPT_ECHO_REPLY;
        SendToSwitch(swtch, msg, xid);
        ofl_msg_free(msg, nullptr);
        break;
    case OFPT_FEATURES_REPLY: {
        ofl_msg_features_reply reply = *reinterpret_cast<ofl_msg_features_reply*>(msg);
        ofl_msg_free(msg, nullptr);
        HandleFeatures(swtch, reply);
        break;
    }
    default:
        // A handler that succeeds has freed the message.
        if (Dispatch(swtch, msg, xid))
        {
            ofl_msg_free(msg, nullptr);
        }
        break;
    }
}

void
OFSwitch13Controller::HandleFeatures(Ptr<RemoteSwitch> swtch, const ofl_msg_features_reply& reply)
{
    if (swtch->m_ready)
    {
        return;
    }
    swtch->m_dpId = reply.datapath_id;
    swtch->m_ready = true;
    NS_LOG_INFO("switch " << swtch->m_dpId << " is here");
    HandshakeSuccessful(swtch);
    auto [first, last] = m_waiting.equal_range(swtch->m_dpId);
    for (auto waiting = first; waiting != last; ++waiting)
    {
        DpctlExecute(swtch, waiting->second);
    }
    m_waiting.erase(first, last);
}

ofl_err
OFSwitch13Controller::Dispatch(Ptr<const RemoteSwitch> swtch, ofl_msg_header* msg, uint32_t xid)
{
    switch (msg->type)
    {
    case OFPT_PACKET_IN:
        return HandlePacketIn(reinterpret_cast<ofl_msg_packet_in*>(msg), swtch, xid);
    case OFPT_ERROR:
        return HandleError(reinterpret_cast<ofl_msg_error*>(msg), swtch, xid);
    case OFPT_FLOW_REMOVED:
        return HandleFlowRemoved(reinterpret_cast<ofl_msg_flow_removed*>(msg), swtch, xid);
    case OFPT_PORT_STATUS:
        return HandlePortStatus(reinterpret_cast<ofl_msg_port_status*>(msg), swtch, xid);
    case OFPT_GET_CONFIG_REPLY:
        return HandleGetConfigReply(reinterpret_cast<ofl_msg_get_config_reply*>(msg), swtch, xid);
    case OFPT_MULTIPART_REPLY:
        return HandleMultipartReply(reinterpret_cast<ofl_msg_multipart_reply_header*>(msg),
                                    swtch,
                                    xid);
    case OFPT_BARRIER_REPLY:
        return HandleBarrierReply(msg, swtch, xid);
    case OFPT_QUEUE_GET_CONFIG_REPLY:
        return HandleQueueGetConfigReply(reinterpret_cast<ofl_msg_queue_get_config_reply*>(msg),
                                         swtch,
                                         xid);
    case OFPT_ROLE_REPLY:
        return HandleRoleReply(reinterpret_cast<ofl_msg_role_request*>(msg), swtch, xid);
    case OFPT_GET_ASYNC_REPLY:
        return HandleAsyncReply(reinterpret_cast<ofl_msg_async_config*>(msg), swtch, xid);
    case OFPT_ECHO_REPLY:
        return HandleEchoReply(reinterpret_cast<ofl_msg_echo*>(msg), swtch, xid);
    default:
        ofl_msg_free(msg, nullptr);
        return 0;
    }
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
    std::string line = Prepared(text);
    bofuss_status status = bofuss_command(
        m_codec, OPENFLOW_1_3, GetNextXid(), line.c_str(), bytes.data(), bytes.size(), &length);
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

int
OFSwitch13Controller::SendEchoRequest(Ptr<const RemoteSwitch> swtch, size_t payloadSize)
{
    std::vector<uint8_t> payload(payloadSize);
    SendToSwitch(swtch, Message(OFPT_ECHO_REQUEST, GetNextXid(), payload));
    return 0;
}

int
OFSwitch13Controller::SendBarrierRequest(Ptr<const RemoteSwitch> swtch)
{
    SendToSwitch(swtch, Message(OFPT_BARRIER_REQUEST, GetNextXid()));
    return 0;
}

int
OFSwitch13Controller::SendToSwitch(Ptr<const RemoteSwitch> swtch, ofl_msg_header* msg, uint32_t xid)
{
    uint8_t* bytes = nullptr;
    size_t length = 0;
    if (ofl_msg_pack(msg, xid ? xid : GetNextXid(), &bytes, &length, nullptr))
    {
        NS_LOG_ERROR("a message of type " << msg->type << " that OpenFlow does not have");
        return -1;
    }
    SendToSwitch(swtch, OFMessage(bytes, bytes + length));
    std::free(bytes);
    return 0;
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

ofl_err
OFSwitch13Controller::HandlePacketIn(ofl_msg_packet_in* msg, Ptr<const RemoteSwitch>, uint32_t)
{
    return Dropped(msg);
}

ofl_err
OFSwitch13Controller::HandleError(ofl_msg_error* msg, Ptr<const RemoteSwitch> swtch, uint32_t)
{
    char* text = ofl_msg_to_string(reinterpret_cast<ofl_msg_header*>(msg), nullptr);
    NS_LOG_ERROR("switch " << swtch->GetDpId() << ": " << text);
    std::free(text);
    return Dropped(msg);
}

ofl_err
OFSwitch13Controller::HandleFlowRemoved(ofl_msg_flow_removed* msg,
                                        Ptr<const RemoteSwitch>,
                                        uint32_t)
{
    return Dropped(msg);
}

ofl_err
OFSwitch13Controller::HandlePortStatus(ofl_msg_port_status* msg, Ptr<const RemoteSwitch>, uint32_t)
{
    return Dropped(msg);
}

ofl_err
OFSwitch13Controller::HandleGetConfigReply(ofl_msg_get_config_reply* msg,
                                           Ptr<const RemoteSwitch>,
                                           uint32_t)
{
    return Dropped(msg);
}

ofl_err
OFSwitch13Controller::HandleMultipartReply(ofl_msg_multipart_reply_header* msg,
                                           Ptr<const RemoteSwitch>,
                                           uint32_t)
{
    return Dropped(msg);
}

ofl_err
OFSwitch13Controller::HandleBarrierReply(ofl_msg_header* msg, Ptr<const RemoteSwitch>, uint32_t)
{
    return Dropped(msg);
}

ofl_err
OFSwitch13Controller::HandleQueueGetConfigReply(ofl_msg_queue_get_config_reply* msg,
                                                Ptr<const RemoteSwitch>,
                                                uint32_t)
{
    return Dropped(msg);
}

ofl_err
OFSwitch13Controller::HandleRoleReply(ofl_msg_role_request* msg, Ptr<const RemoteSwitch>, uint32_t)
{
    return Dropped(msg);
}

ofl_err
OFSwitch13Controller::HandleAsyncReply(ofl_msg_async_config* msg, Ptr<const RemoteSwitch>, uint32_t)
{
    return Dropped(msg);
}

ofl_err
OFSwitch13Controller::HandleEchoReply(ofl_msg_echo* msg, Ptr<const RemoteSwitch>, uint32_t)
{
    return Dropped(msg);
}

} // namespace ns3
