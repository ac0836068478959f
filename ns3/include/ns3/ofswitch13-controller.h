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
    // that is not done. Returns 0, or 1 for a command that is wrong; the reason is logged. An output
    // to the controller that says no length sends 80 bytes, which have the headers.
    int DpctlExecute(uint64_t dpId, const std::string& text);
    int DpctlExecute(Ptr<const RemoteSwitch> swtch, const std::string& text);
    // The same: DpctlExecute waits as well.
    int DpctlSchedule(uint64_t dpId, const std::string& text);

  protected:
    void DoDispose() override;
    void StartApplication() override;
    void StopApplication() override;

    virtual void HandshakeSuccessful(Ptr<const RemoteSwitch> swtch);
    // A handler frees its message with ofl_msg_free and returns 0; otherwise the message is freed
    // for it. These do nothing else, but that an error is logged. A multipart reply has the struct
    // of its type.
    virtual ofl_err HandlePacketIn(struct ofl_msg_packet_in* msg,
                                   Ptr<const RemoteSwitch> swtch,
                                   uint32_t xid);
    virtual ofl_err HandleError(struct ofl_msg_error* msg,
                                Ptr<const RemoteSwitch> swtch,
                                uint32_t xid);
    virtual ofl_err HandleFlowRemoved(struct ofl_msg_flow_removed* msg,
                                      Ptr<const RemoteSwitch> swtch,
                                      uint32_t xid);
    virtual ofl_err HandlePortStatus(struct ofl_msg_port_status* msg,
                                     Ptr<const RemoteSwitch> swtch,
                                     uint32_t xid);
    virtual ofl_err HandleGetConfigReply(struct ofl_msg_get_config_reply* msg,
                                         Ptr<const RemoteSwitch> swtch,
                                         uint32_t xid);
    virtual ofl_err HandleMultipartReply(struct ofl_msg_multipart_reply_header* msg,
                                         Ptr<const RemoteSwitch> swtch,
                                         uint32_t xid);
    virtual ofl_err HandleBarrierReply(struct ofl_msg_header* msg,
                                       Ptr<const RemoteSwitch> swtch,
                                       uint32_t xid);
    virtual ofl_err HandleQueueGetConfigReply(struct ofl_msg_queue_get_config_reply* msg,
                                              Ptr<const RemoteSwitch> swtch,
                                              uint32_t xid);
    virtual ofl_err HandleRoleReply(struct ofl_msg_role_request* msg,
                                    Ptr<const RemoteSwitch> swtch,
                                    uint32_t xid);
    virtual ofl_err HandleAsyncReply(struct ofl_msg_async_config* msg,
                                     Ptr<const RemoteSwitch> swtch,
                                     uint32_t xid);
    virtual ofl_err HandleEchoReply(struct ofl_msg_echo* msg,
                                    Ptr<const RemoteSwitch> swtch,
                                    uint32_t xid);

    // Sends a message, which stays the caller's; without a transaction id it gets the next one.
    // Returns 0, or -1 for a message that OpenFlow does not have.
    int SendToSwitch(Ptr<const RemoteSwitch> swtch, struct ofl_msg_header* msg, uint32_t xid = 0);
    void SendToSwitch(Ptr<const RemoteSwitch> swtch, const OFMessage& message);
    // The payload is zeros. They return 0.
    int SendEchoRequest(Ptr<const RemoteSwitch> swtch, size_t payloadSize = 0);
    int SendBarrierRequest(Ptr<const RemoteSwitch> swtch);
    Ptr<const RemoteSwitch> GetRemoteSwitch(uint64_t dpId) const;
    uint32_t GetNextXid();
  private:
    bool Accept(Ptr<Socket> socket, const Address& from);
    void Accepted(Ptr<Socket> socket, const Address& from);
    void Receive(Ptr<Packet> packet, Address from);
    void Closed(Ptr<Socket> socket);
    void Handle(Ptr<RemoteSwitch> swtch, struct ofl_msg_header* msg, uint32_t xid);
    // The handler of a message that is not of the handshake or an echo request.
    ofl_err Dispatch(Ptr<const RemoteSwitch> swtch, struct ofl_msg_header* msg, uint32_t xid);
    void HandleFeatures(Ptr<RemoteSwitch> swtch, const struct ofl_msg_features_reply& reply);
    Ptr<RemoteSwitch> Find(const Address& address) const;

    bofuss_codec* m_codec{nullptr};
    uint16_t m_port{6653};
    uint32_t m_xid{1};
    Ptr<Socket> m_server;
    std::vector<Ptr<RemoteSwitch>> m_switches;
    std::multimap<uint64_t, std::string> m_waiting;
};

} // namespace ns3

#endif
