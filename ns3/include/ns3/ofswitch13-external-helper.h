// Switches whose controller is a program outside of the simulation.
#ifndef OFSWITCH13_EXTERNAL_HELPER_H
#define OFSWITCH13_EXTERNAL_HELPER_H

#include <string>

#include "ns3/csma-channel.h"
#include "ns3/ipv4-address.h"
#include "ns3/ofswitch13-helper.h"

namespace ns3
{

// All switches are on one CSMA channel, whose last end is a TAP interface of this machine. The
// simulation has to run in real time (RealtimeSimulatorImpl).
class OFSwitch13ExternalHelper : public OFSwitch13Helper
{
  public:
    static TypeId GetTypeId();
    OFSwitch13ExternalHelper();
    // Puts the controller's end of the channel on a node, with the controller's address: for a
    // TapBridge on the device that it returns, in the mode ConfigureLocal, or for OpenTap.
    Ptr<NetDevice> InstallExternalController(Ptr<Node> node);
    void CreateOpenFlowChannels() override;
    // Opens a TAP interface that is up and gets the controller's address from the node, and leads
    // the channel to it. That takes the right CAP_NET_ADMIN. The controller listens at that address.
    void OpenTap(const std::string& name);
    // The controller's address.
    Ipv4Address GetControllerAddress() const;

  private:
    uint16_t m_port{6653};
    Ptr<Node> m_node;
    Ptr<NetDevice> m_device;
    Ptr<CsmaChannel> m_channel;
    Ipv4Address m_address;
};

} // namespace ns3

#endif
