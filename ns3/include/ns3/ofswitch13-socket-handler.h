// Messages over a socket: what it does not take yet waits, what it brings is cut into messages.
#ifndef OFSWITCH13_SOCKET_HANDLER_H
#define OFSWITCH13_SOCKET_HANDLER_H

#include <deque>

#include "ns3/callback.h"
#include "ns3/object.h"
#include "ns3/ofswitch13-interface.h"
#include "ns3/packet.h"
#include "ns3/socket.h"

namespace ns3
{

class OFSwitch13SocketHandler : public Object
{
  public:
    // A whole message, and the address that it is from.
    using MessageCallback = Callback<void, Ptr<Packet>, Address>;
    // The socket took more bytes.
    using SentCallback = Callback<void, Ptr<Socket>>;

    static TypeId GetTypeId();
    explicit OFSwitch13SocketHandler(Ptr<Socket> socket);
    // From now on the socket is read here.
    void SetReceiveCallback(MessageCallback receive);
    void SetSentCallback(SentCallback sent);
    // Returns 0. A message is sent after all that wait.
    int SendMessage(Ptr<Packet> message);
    void Send(const uint8_t* bytes, size_t n);
    // Bytes that wait.
    size_t GetUnsentBytes() const;
    Ptr<Socket> GetSocket() const;

  protected:
    void DoDispose() override;

  private:
    void Receive(Ptr<Socket> socket);
    void Writable(Ptr<Socket> socket, uint32_t space);
    void Flush();

    Ptr<Socket> m_socket;
    std::deque<uint8_t> m_unsent;
    OFMessage m_received;
    MessageCallback m_receive;
    SentCallback m_sent;
};

} // namespace ns3

#endif
