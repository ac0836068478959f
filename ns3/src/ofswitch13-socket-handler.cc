// Messages over a socket.
#include "ns3/ofswitch13-socket-handler.h"

#include <bofuss.h>

#include <algorithm>

#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13SocketHandler");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13SocketHandler);

TypeId
OFSwitch13SocketHandler::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::OFSwitch13SocketHandler").SetParent<Object>().SetGroupName("OFSwitch13");
    return tid;
}

OFSwitch13SocketHandler::OFSwitch13SocketHandler(Ptr<Socket> socket)
    : m_socket(socket)
{
    socket->SetSendCallback(MakeCallback(&OFSwitch13SocketHandler::Writable, this));
}

void
OFSwitch13SocketHandler::DoDispose()
{
    m_socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
    m_socket->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
    m_receive.Nullify();
    m_sent.Nullify();
    Object::DoDispose();
}

void
OFSwitch13SocketHandler::SetReceiveCallback(MessageCallback receive)
{
    m_receive = receive;
    m_socket->SetRecvCallback(MakeCallback(&OFSwitch13SocketHandler::Receive, this));
}

void
OFSwitch13SocketHandler::SetSentCallback(SentCallback sent)
{
    m_sent = sent;
}

int
OFSwitch13SocketHandler::SendMessage(Ptr<Packet> message)
{
    std::vector<uint8_t> bytes(message->GetSize());
    message->CopyData(bytes.data(), bytes.size());
    Send(bytes.data(), bytes.size());
    return 0;
}

void
OFSwitch13SocketHandler::Send(const uint8_t* bytes, size_t n)
{
    m_unsent.insert(m_unsent.end(), bytes, bytes + n);
    Flush();
}

size_t
OFSwitch13SocketHandler::GetUnsentBytes() const
{
    return m_unsent.size();
}

Ptr<Socket>
OFSwitch13SocketHandler::GetSocket() const
{
    return m_socket;
}

void
OFSwitch13SocketHandler::Writable(Ptr<Socket> socket, uint32_t)
{
    Flush();
    // What it calls may end this object, which must not end the callback.
    SentCallback sent = m_sent;
    if (!sent.IsNull())
    {
        sent(socket);
    }
}

void
OFSwitch13SocketHandler::Flush()
{
    while (!m_unsent.empty())
    {
        size_t room = std::min<size_t>(m_socket->GetTxAvailable(), m_unsent.size());
        std::vector<uint8_t> bytes(m_unsent.begin(), m_unsent.begin() + room);
        int sent = room ? m_socket->Send(Create<Packet>(bytes.data(), bytes.size())) : 0;
        if (sent <= 0)
        {
            NS_LOG_DEBUG(m_unsent.size() << " bytes wait");
            return;
        }
        NS_LOG_DEBUG(sent << " bytes are sent");
        m_unsent.erase(m_unsent.begin(), m_unsent.begin() + sent);
    }
}

void
OFSwitch13SocketHandler::Receive(Ptr<Socket> socket)
{
    // A message may lead to the end of this object, which must not end the callback.
    Ptr<OFSwitch13SocketHandler> self(this);
    MessageCallback receive = m_receive;
    Address from;
    while (Ptr<Packet> packet = socket->RecvFrom(from))
    {
        if (!packet->GetSize())
        {
            break;
        }
        size_t before = m_received.size();
        m_received.resize(before + packet->GetSize());
        packet->CopyData(m_received.data() + before, packet->GetSize());
        size_t at = 0;
        size_t length = 0;
        while (bofuss_message_length(m_received.data() + at, m_received.size() - at, &length) ==
                   BOFUSS_STATUS_OK &&
               length <= m_received.size() - at && !m_receive.IsNull())
        {
            NS_LOG_DEBUG("a message of " << length << " bytes came in");
            Ptr<Packet> message = Create<Packet>(m_received.data() + at, length);
            at += length;
            receive(message, from);
        }
        m_received.erase(m_received.begin(), m_received.begin() + at);
    }
}

} // namespace ns3
