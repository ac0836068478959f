// A controller of ns-3, an application; and the one that learns addresses, the default.
#ifndef OFSWITCH13_CONTROLLER_H
#define OFSWITCH13_CONTROLLER_H

#include <bofuss.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ns3/application.h"
#include "ns3/mac48-address.h"
#include "ns3/simple-ref-count.h"
#include "ns3/socket.h"

namespace ns3
{

// A whole message as bytes; bofuss_message_text of libbofuss says what it is.
using OFMessage = std::vector<uint8_t>;

class OFSwitch13Controller : public Application
{
  public:
    // A switch that is connected.
    class RemoteSwitch : public SimpleRefCount<RemoteSwitch>
    {
      public:
        uint64_t GetDpId() const;
        Address GetAddress() const;

      private:
        friend class OFSwitch13Controller;
        uint64_t m_dpId{0};
        Address m_address;
        Ptr<Socket> m_socket;
        std::vector<uint8_t> m_received;
        std::deque<uint8_t> m_unsent;
        bool m_ready{false};
    };

    static TypeId GetTypeId();
    OFSwitch13Controller();
    ~OFSwitch13Controller() override;

    // Executes a command in the syntax of BOFUSS's dpctl on a switch; it waits for the handshake if
    // that is not done. Returns 0, or 1 for a command that is wrong; the reason is logged.
    int DpctlExecute(uint64_t dpId, const std::string& text);
    int DpctlExecute(Ptr<const RemoteSwitch> swtch, const std::string& text);

  protected:
    void DoDispose() override;
    void StartApplication() override;
    void StopApplication() override;

    virtual void HandshakeSuccessful(Ptr<const RemoteSwitch> swtch);
    virtual void HandlePacketIn(const bofuss_packet_in& message,
                                Ptr<const RemoteSwitch> swtch,
                                uint32_t xid);
    virtual void HandleError(const OFMessage& message, Ptr<const RemoteSwitch> swtch, uint32_t xid);
    virtual void HandleFlowRemoved(const OFMessage& message,
                                   Ptr<const RemoteSwitch> swtch,
                                   uint32_t xid);
    virtual void HandlePortStatus(const OFMessage& message,
                                  Ptr<const RemoteSwitch> swtch,
                                  uint32_t xid);
    virtual void HandleGetConfigReply(const OFMessage& message,
                                      Ptr<const RemoteSwitch> swtch,
                                      uint32_t xid);
    virtual void HandleMultipartReply(const OFMessage& message,
                                      Ptr<const RemoteSwitch> swtch,
                                      uint32_t xid);
    virtual void HandleBarrierReply(const OFMessage& message,
                                    Ptr<const RemoteSwitch> swtch,
                                    uint32_t xid);
    virtual void HandleQueueReply(const OFMessage& message,
                                  Ptr<const RemoteSwitch> swtch,
                                  uint32_t xid);
    virtual void HandleRoleReply(const OFMessage& message,
                                 Ptr<const RemoteSwitch> swtch,
                                 uint32_t xid);
    virtual void HandleAsyncReply(const OFMessage& message,
                                  Ptr<const RemoteSwitch> swtch,
                                  uint32_t xid);

    void SendToSwitch(Ptr<const RemoteSwitch> swtch, const OFMessage& message);
    void SendEchoRequest(Ptr<const RemoteSwitch> swtch, const std::vector<uint8_t>& payload = {});
    void SendBarrierRequest(Ptr<const RemoteSwitch> swtch);
    Ptr<const RemoteSwitch> GetRemoteSwitch(uint64_t dpId) const;
    uint32_t GetNextXid();
    // A message as a line of text.
    std::string ToText(const OFMessage& message) const;

    bofuss_codec* m_codec{nullptr};

  private:
    bool Accept(Ptr<Socket> socket, const Address& from);
    void Accepted(Ptr<Socket> socket, const Address& from);
    void Receive(Ptr<Socket> socket);
    void Closed(Ptr<Socket> socket);
    void Writable(Ptr<Socket> socket, uint32_t space);
    void Handle(Ptr<RemoteSwitch> swtch, const OFMessage& message);
    Ptr<RemoteSwitch> Find(Ptr<Socket> socket) const;

    uint16_t m_port{6653};
    uint32_t m_xid{1};
    Ptr<Socket> m_server;
    std::vector<Ptr<RemoteSwitch>> m_switches;
    std::multimap<uint64_t, std::string> m_waiting;
};

// Learns where addresses are, and sends what it knows by entries of their own.
class OFSwitch13LearningController : public OFSwitch13Controller
{
  public:
    static TypeId GetTypeId();

  protected:
    void HandshakeSuccessful(Ptr<const RemoteSwitch> swtch) override;
    void HandlePacketIn(const bofuss_packet_in& message,
                        Ptr<const RemoteSwitch> swtch,
                        uint32_t xid) override;

  private:
    std::map<uint64_t, std::map<Mac48Address, uint32_t>> m_learned;
};

} // namespace ns3

#endif
