// A controller of ns-3, an application.
#ifndef OFSWITCH13_CONTROLLER_H
#define OFSWITCH13_CONTROLLER_H

#include <bofuss.h>

#include <map>
#include <string>
#include <vector>

#include "ns3/application.h"
#include "ns3/ipv4-address.h"
#include "ns3/ofswitch13-interface.h"
#include "ns3/ofswitch13-socket-handler.h"
#include "ns3/simple-ref-count.h"
#include "ns3/socket.h"

namespace ns3
{

class OFSwitch13Controller : public Application
{
  public:
    // A switch that is connected.
    class RemoteSwitch : public SimpleRefCount<RemoteSwitch>
    {
      public:
        uint64_t GetDpId() const;
        Address GetAddress() const;
        // Of the switch's end of the connection.
        Ipv4Address GetIpv4() const;
        uint16_t GetPort() const;

      private:
        friend class OFSwitch13Controller;
        uint64_t m_dpId{0};
        Address m_address;
        Ptr<OFSwitch13SocketHandler> m_handler;
        bool m_ready{false};
    };

    static TypeId GetTypeId();
    OFSwitch13Controller();
    ~OFSwitch13Controller() override;

    // Executes a command in the syntax of BOFUSS's dpctl on a switch; it waits for the handshake if
    // that is not done. Returns 0, or 1 for a command that is wrong; the reason is logged.
    int DpctlExecute(uint64_t dpId, const std::string& text);
    int DpctlExecute(Ptr<const RemoteSwitch> swtch, const std::string& text);
    // The same: DpctlExecute waits as well.
    int DpctlSchedule(uint64_t dpId, const std::string& text);

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
    virtual void HandleQueueGetConfigReply(const OFMessage& message,
                                           Ptr<const RemoteSwitch> swtch,
                                           uint32_t xid);
    virtual void HandleRoleReply(const OFMessage& message,
                                 Ptr<const RemoteSwitch> swtch,
                                 uint32_t xid);
    virtual void HandleAsyncReply(const OFMessage& message,
                                  Ptr<const RemoteSwitch> swtch,
                                  uint32_t xid);

    void SendToSwitch(Ptr<const RemoteSwitch> swtch, const OFMessage& message);
    // The payload is zeros.
    void SendEchoRequest(Ptr<const RemoteSwitch> swtch, size_t payloadSize = 0);
    void SendBarrierRequest(Ptr<const RemoteSwitch> swtch);
    Ptr<const RemoteSwitch> GetRemoteSwitch(uint64_t dpId) const;
    uint32_t GetNextXid();
    // A message as a line of text.
    std::string ToText(const OFMessage& message) const;

    bofuss_codec* m_codec{nullptr};

  private:
    bool Accept(Ptr<Socket> socket, const Address& from);
    void Accepted(Ptr<Socket> socket, const Address& from);
    void Receive(Ptr<Packet> packet, Address from);
    void Closed(Ptr<Socket> socket);
    void Handle(Ptr<RemoteSwitch> swtch, const OFMessage& message);
    Ptr<RemoteSwitch> Find(const Address& address) const;

    uint16_t m_port{6653};
    uint32_t m_xid{1};
    Ptr<Socket> m_server;
    std::vector<Ptr<RemoteSwitch>> m_switches;
    std::multimap<uint64_t, std::string> m_waiting;
};

} // namespace ns3

#endif
