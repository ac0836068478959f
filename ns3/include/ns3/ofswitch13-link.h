// A full-duplex Ethernet link of two devices: each sends at the link's rate while it receives.
#ifndef OFSWITCH13_LINK_H
#define OFSWITCH13_LINK_H

#include <string>
#include <vector>

#include "ns3/channel.h"
#include "ns3/data-rate.h"
#include "ns3/mac48-address.h"
#include "ns3/net-device-container.h"
#include "ns3/net-device.h"
#include "ns3/node-container.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/packet.h"
#include "ns3/queue.h"
#include "ns3/traced-callback.h"

namespace ns3
{

class OFSwitch13LinkDevice;

// The wires between two devices, one for each direction.
class OFSwitch13LinkChannel : public Channel
{
  public:
    static TypeId GetTypeId();
    // At most two devices.
    void Attach(Ptr<OFSwitch13LinkDevice> device);
    std::size_t GetNDevices() const override;
    Ptr<NetDevice> GetDevice(std::size_t i) const override;
    DataRate GetDataRate() const;
    // A frame whose last bit leaves a device now.
    void Carry(Ptr<const OFSwitch13LinkDevice> from, Ptr<Packet> frame);

  protected:
    void DoDispose() override;

  private:
    DataRate m_rate;
    Time m_delay;
    std::vector<Ptr<OFSwitch13LinkDevice>> m_devices;
};

// One end. A frame takes the time of its header, its payload of at least 46 bytes, and its checksum
// of 4.
class OFSwitch13LinkDevice : public NetDevice
{
  public:
    static TypeId GetTypeId();
    void Attach(Ptr<OFSwitch13LinkChannel> channel);
    void SetQueue(Ptr<Queue<Packet>> queue);
    Ptr<Queue<Packet>> GetQueue() const;
    // A frame whose last bit comes in now.
    void Receive(Ptr<Packet> frame);
    // Tells those who asked that the link is up.
    void NotifyLinkUp();

    void SetIfIndex(const uint32_t index) override;
    uint32_t GetIfIndex() const override;
    Ptr<Channel> GetChannel() const override;
    void SetAddress(Address address) override;
    Address GetAddress() const override;
    bool SetMtu(const uint16_t mtu) override;
    uint16_t GetMtu() const override;
    bool IsLinkUp() const override;
    void AddLinkChangeCallback(Callback<void> callback) override;
    bool IsBroadcast() const override;
    Address GetBroadcast() const override;
    bool IsMulticast() const override;
    Address GetMulticast(Ipv4Address group) const override;
    Address GetMulticast(Ipv6Address group) const override;
    bool IsBridge() const override;
    bool IsPointToPoint() const override;
    bool Send(Ptr<Packet> packet, const Address& to, uint16_t type) override;
    bool SendFrom(Ptr<Packet> packet, const Address& from, const Address& to, uint16_t type) override;
    Ptr<Node> GetNode() const override;
    void SetNode(Ptr<Node> node) override;
    bool NeedsArp() const override;
    void SetReceiveCallback(ReceiveCallback receive) override;
    void SetPromiscReceiveCallback(PromiscReceiveCallback receive) override;
    bool SupportsSendFrom() const override;

  protected:
    void DoDispose() override;

  private:
    void Start(Ptr<Packet> frame);
    void End(Ptr<Packet> frame);

    Ptr<Node> m_node;
    Ptr<OFSwitch13LinkChannel> m_channel;
    Ptr<Queue<Packet>> m_queue;
    Mac48Address m_address;
    uint32_t m_index{0};
    uint16_t m_mtu{1500};
    bool m_isBusy{false};
    ReceiveCallback m_receive;
    PromiscReceiveCallback m_promiscReceive;
    TracedCallback<> m_linkChange;
    TracedCallback<Ptr<const Packet>> m_macTx;
    TracedCallback<Ptr<const Packet>> m_macTxDrop;
    TracedCallback<Ptr<const Packet>> m_macRx;
};

// Installs links as CsmaHelper installs its channels.
class OFSwitch13LinkHelper
{
  public:
    OFSwitch13LinkHelper();
    void SetChannelAttribute(const std::string& name, const AttributeValue& value);
    void SetDeviceAttribute(const std::string& name, const AttributeValue& value);
    // A link between two nodes.
    NetDeviceContainer Install(const NodeContainer& nodes) const;

  private:
    ObjectFactory m_channels;
    ObjectFactory m_devices;
};

} // namespace ns3

#endif
