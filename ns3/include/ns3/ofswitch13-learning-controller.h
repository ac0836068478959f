// The controller that learns addresses, the default.
#ifndef OFSWITCH13_LEARNING_CONTROLLER_H
#define OFSWITCH13_LEARNING_CONTROLLER_H

#include <map>

#include "ns3/mac48-address.h"
#include "ns3/ofswitch13-controller.h"

namespace ns3
{

// Learns where addresses are, and sends what it knows by entries of their own.
class OFSwitch13LearningController : public OFSwitch13Controller
{
  public:
    static TypeId GetTypeId();

  protected:
    void HandshakeSuccessful(Ptr<const RemoteSwitch> swtch) override;
    ofl_err HandlePacketIn(struct ofl_msg_packet_in* msg,
                           Ptr<const RemoteSwitch> swtch,
                           uint32_t xid) override;

  private:
    std::map<uint64_t, std::map<Mac48Address, uint32_t>> m_learned;
};

} // namespace ns3

#endif
