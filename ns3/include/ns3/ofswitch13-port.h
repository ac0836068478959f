// A port of a switch, on a device of ns-3.
#ifndef OFSWITCH13_PORT_H
#define OFSWITCH13_PORT_H

#include "ns3/net-device.h"
#include "ns3/object-factory.h"
#include "ns3/object.h"
#include "ns3/ofswitch13-queue.h"
#include "ns3/packet.h"
#include "ns3/traced-callback.h"

namespace ns3
{

class OFSwitch13Device;

// A port: a CSMA device or the end of a link (physical), or a virtual device (logical). Packets come through the
// device's promiscuous callback, and leave by SendFrom. Those that come from a logical port have an Ethernet header and
// trailer, and are tagged with the id of their tunnel, or it is 0; those that leave by one are tagged with theirs.
class OFSwitch13Port : public Object
{
  public:
    static TypeId GetTypeId();
    OFSwitch13Port() = default;
    OFSwitch13Port(Ptr<OFSwitch13Device> device, Ptr<NetDevice> port, uint32_t number);
    Ptr<NetDevice> GetPortDevice() const;
    uint32_t GetPortNo() const;
    // None on a logical port.
    Ptr<OFSwitch13Queue> GetPortQueue() const;
    Ptr<OFSwitch13Device> GetSwitchDevice() const;
    // Sends a frame, header included, by a queue of the port, or by a tunnel. It gets the tags of the packet that it was,
    // if that is known. False if the device refuses it.
    bool Send(const uint8_t* frame,
              size_t length,
              uint32_t queue = 0,
              uint64_t tunnelId = 0,
              Ptr<const Packet> origin = nullptr);
    // The same, of a packet that is a frame.
    bool Send(Ptr<const Packet> packet, uint32_t queue = 0, uint64_t tunnelId = 0);

  protected:
    void DoDispose() override;
    void NotifyConstructionCompleted() override;

  private:
    bool Receive(Ptr<NetDevice> device,
                 Ptr<const Packet> packet,
                 uint16_t protocol,
                 const Address& from,
                 const Address& to,
                 NetDevice::PacketType type);

    Ptr<OFSwitch13Device> m_device;
    Ptr<NetDevice> m_port;
    uint32_t m_number{0};
    bool m_isLogical{false};
    ObjectFactory m_queueFactory;
    // Of a physical port; a logical one sends at once.
    Ptr<OFSwitch13Queue> m_queue;
    TracedCallback<Ptr<const Packet>> m_rxTrace;
    TracedCallback<Ptr<const Packet>> m_txTrace;
};

} // namespace ns3

#endif
