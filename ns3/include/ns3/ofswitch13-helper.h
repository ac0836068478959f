// Installs switches and controllers on nodes, and the channels between them.
#ifndef OFSWITCH13_HELPER_H
#define OFSWITCH13_HELPER_H

#include <string>
#include <vector>

#include "ns3/application-container.h"
#include "ns3/csma-helper.h"
#include "ns3/data-rate.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-interface-container.h"
#include "ns3/names.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/object-factory.h"
#include "ns3/ofswitch13-controller.h"
#include "ns3/ofswitch13-device-container.h"
#include "ns3/ofswitch13-device.h"
#include "ns3/point-to-point-helper.h"

namespace ns3
{

class OFSwitch13Helper : public Object
{
  public:
    enum ChannelType
    {
        SINGLE_CSMA,
        DEDICATED_CSMA,
        DEDICATED_P2P,
        // Their names before OFSwitch13 5.2.3.
        SINGLECSMA = SINGLE_CSMA,
        DEDICATEDCSMA = DEDICATED_CSMA,
        DEDICATEDP2P = DEDICATED_P2P
    };

    static TypeId GetTypeId();
    OFSwitch13Helper();
    void SetDeviceAttribute(std::string name, const AttributeValue& value);
    virtual void SetChannelType(ChannelType type);
    virtual void SetChannelDataRate(DataRate rate);
    // The first address is that of the network and the base.
    static void SetAddressBase(Ipv4Address network, Ipv4Mask mask, Ipv4Address base = "0.0.0.1");
    Ptr<OFSwitch13Device> InstallSwitch(Ptr<Node> node);
    Ptr<OFSwitch13Device> InstallSwitch(Ptr<Node> node, NetDeviceContainer& ports);
    OFSwitch13DeviceContainer InstallSwitch(NodeContainer& nodes);
    virtual void CreateOpenFlowChannels() = 0;
    void EnableOpenFlowPcap(std::string prefix = "ofchannel", bool promiscuous = true);
    void EnableOpenFlowAscii(std::string prefix = "ofchannel");
    // Writes the path of each packet through each switch to PREFIX.log, or to PREFIX itself.
    static void EnableDatapathLogs(std::string prefix = "datapath", bool isFileName = false);
    // Writes what each switch does and how full it is to PREFIX-ID.log, with the datapath id or the
    // name of the node. A prefix may end with the hyphen. To be called once: what writes it becomes
    // part of the device.
    void EnableDatapathStats(std::string prefix = "datapath", bool useNodeNames = false);

  protected:
    // Bytes of the largest packet on a channel, so that messages are not cut small.
    static constexpr uint32_t CHANNEL_MTU = 9000;

    // Puts checksums on the wire, so that a switch that changes a field can change them.
    static void UseChecksums();
    // Installs Internet protocols on nodes that have none.
    static void InstallStack(const NodeContainer& nodes);
    // A channel between nodes, with addresses on it.
    Ipv4InterfaceContainer Connect(const NodeContainer& nodes, bool isCsma);

    ObjectFactory m_devFactory;
    DataRate m_rate;
    ChannelType m_type{SINGLE_CSMA};
    NodeContainer m_switchNodes;
    OFSwitch13DeviceContainer m_devices;
    CsmaHelper m_csma;
    PointToPointHelper m_p2p;
    NetDeviceContainer m_channelDevices;
    bool m_created{false};
    static Ipv4AddressHelper m_addresses;
    static Ipv4Mask m_mask;
};

} // namespace ns3

#endif
