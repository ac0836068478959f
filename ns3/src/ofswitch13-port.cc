// A port: packets of a device become frames, and frames packets.
#include "ns3/ofswitch13-port.h"

#include <memory>
#include <vector>

#include "ns3/csma-net-device.h"
#include "ns3/ethernet-header.h"
#include "ns3/ethernet-trailer.h"
#include "ns3/log.h"
#include "ns3/ofswitch13-device.h"
#include "ns3/ofswitch13-link.h"
#include "ns3/ofswitch13-priority-queue.h"
#include "ns3/pointer.h"
#include "ns3/tunnel-id-tag.h"
#include "ns3/virtual-net-device.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13Port");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13Port);

namespace
{
// Bytes of an Ethernet header, and of a trailer.
const uint32_t ETHERNET_BYTES = 14;
const uint32_t TRAILER_BYTES = 4;
// Types below are lengths of 802.3 frames.
const uint16_t MIN_TYPE = 1536;

// What a host would take of a device that is a port only.
bool
TakeNothing(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&)
{
    return true;
}

// Puts the tags of a packet's bytes on all bytes of another one: which of them came from which is
// not known.
void
CopyByteTags(Ptr<const Packet> from, Ptr<const Packet> to)
{
    for (ByteTagIterator tags = from->GetByteTagIterator(); tags.HasNext();)
    {
        ByteTagIterator::Item item = tags.Next();
        TypeId type = item.GetTypeId();
        if (!type.HasConstructor())
        {
            continue;
        }
        Callback<ObjectBase*> make = type.GetConstructor();
        std::unique_ptr<ObjectBase> made(make());
        Tag* tag = dynamic_cast<Tag*>(made.get());
        if (tag)
        {
            item.GetTag(*tag);
            to->AddByteTag(*tag);
        }
    }
}

// A packet of these bytes, with the tags of the one that it was, if that is known.
Ptr<Packet>
Rebuilt(const uint8_t* bytes, size_t length, Ptr<const Packet> origin)
{
    Ptr<Packet> packet = Create<Packet>(bytes, length);
    if (!origin)
    {
        return packet;
    }
    // A packet keeps its own tags when its bytes go.
    Ptr<Packet> tagged = origin->Copy();
    tagged->RemoveAllByteTags();
    tagged->RemoveAtStart(tagged->GetSize());
    tagged->AddAtEnd(packet);
    CopyByteTags(origin, tagged);
    return tagged;
}

ObjectFactory
DefaultQueueFactory()
{
    ObjectFactory factory;
    // By the function and not by the name, which may not be registered yet.
    factory.SetTypeId(OFSwitch13PriorityQueue::GetTypeId());
    return factory;
}

} // namespace

TypeId
OFSwitch13Port::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::OFSwitch13Port")
            .SetParent<Object>()
            .SetGroupName("OFSwitch13")
            .AddConstructor<OFSwitch13Port>()
            .AddAttribute("QueueFactory",
                          "What makes the queues of the port.",
                          ObjectFactoryValue(DefaultQueueFactory()),
                          MakeObjectFactoryAccessor(&OFSwitch13Port::m_queueFactory),
                          MakeObjectFactoryChecker())
            .AddAttribute("PortQueue",
                          "The queues of the port; none on a logical one.",
                          TypeId::ATTR_GET,
                          PointerValue(),
                          MakePointerAccessor(&OFSwitch13Port::m_queue),
                          MakePointerChecker<OFSwitch13Queue>())
            .AddTraceSource("SwitchPortRx",
                            "A frame came in by the port.",
                            MakeTraceSourceAccessor(&OFSwitch13Port::m_rxTrace),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("SwitchPortTx",
                            "A frame left by the port.",
                            MakeTraceSourceAccessor(&OFSwitch13Port::m_txTrace),
                            "ns3::Packet::TracedCallback");
    return tid;
}

OFSwitch13Port::OFSwitch13Port(Ptr<OFSwitch13Device> device, Ptr<NetDevice> port, uint32_t number)
    : m_device(device),
      m_port(port),
      m_number(number),
      m_isLogical(DynamicCast<VirtualNetDevice>(port))
{
    port->SetPromiscReceiveCallback(MakeCallback(&OFSwitch13Port::Receive, this));
    if (m_isLogical)
    {
        // It calls this, too, and may be of no node, which would set it.
        port->SetReceiveCallback(MakeCallback(&TakeNothing));
    }
}

void
OFSwitch13Port::NotifyConstructionCompleted()
{
    Object::NotifyConstructionCompleted();
    Ptr<CsmaNetDevice> csma = DynamicCast<CsmaNetDevice>(m_port);
    Ptr<OFSwitch13LinkDevice> link = DynamicCast<OFSwitch13LinkDevice>(m_port);
    if (csma || link)
    {
        m_queue = m_queueFactory.Create<OFSwitch13Queue>();
        m_queue->SetPort(m_device->GetDpId(), m_number);
        m_queue->Initialize();
    }
    if (csma)
    {
        csma->SetQueue(m_queue);
    }
    if (link)
    {
        link->SetQueue(m_queue);
    }
}

void
OFSwitch13Port::DoDispose()
{
    if (m_port)
    {
        // The device may live longer, and brings packets to whom it was told.
        m_port->SetPromiscReceiveCallback(NetDevice::PromiscReceiveCallback());
    }
    m_queue = nullptr;
    m_device = nullptr;
    m_port = nullptr;
    Object::DoDispose();
}

Ptr<NetDevice>
OFSwitch13Port::GetPortDevice() const
{
    return m_port;
}

uint32_t
OFSwitch13Port::GetPortNo() const
{
    return m_number;
}

Ptr<OFSwitch13Queue>
OFSwitch13Port::GetPortQueue() const
{
    return m_queue;
}

Ptr<OFSwitch13Device>
OFSwitch13Port::GetSwitchDevice() const
{
    return m_device;
}

bool
OFSwitch13Port::Receive(Ptr<NetDevice>,
                        Ptr<const Packet> packet,
                        uint16_t protocol,
                        const Address& from,
                        const Address& to,
                        NetDevice::PacketType)
{
    Ptr<Packet> frame = packet->Copy();
    TunnelIdTag tunnel;
    if (m_isLogical)
    {
        // What decapsulates packets makes frames of them.
        if (frame->GetSize() < ETHERNET_BYTES + TRAILER_BYTES)
        {
            NS_LOG_WARN("port " << m_number << " gets " << frame->GetSize() << " bytes, no frame");
            return false;
        }
        frame->RemovePacketTag(tunnel);
        EthernetTrailer trailer;
        frame->RemoveTrailer(trailer);
    }
    else
    {
        EthernetHeader header(false);
        header.SetSource(Mac48Address::ConvertFrom(from));
        header.SetDestination(Mac48Address::ConvertFrom(to));
        header.SetLengthType(protocol);
        frame->AddHeader(header);
    }
    NS_LOG_DEBUG("port " << m_number << " gets " << frame->GetSize() << " bytes by tunnel "
                         << tunnel.GetTunnelId());
    m_rxTrace(frame);
    m_device->ReceiveFromSwitchPort(frame, m_number, tunnel.GetTunnelId());
    return true;
}

bool
OFSwitch13Port::Send(Ptr<const Packet> packet, uint32_t queue, uint64_t tunnelId)
{
    std::vector<uint8_t> frame(packet->GetSize());
    packet->CopyData(frame.data(), frame.size());
    return Send(frame.data(), frame.size(), queue, tunnelId, packet);
}

bool
OFSwitch13Port::Send(const uint8_t* frame,
                     size_t length,
                     uint32_t queue,
                     uint64_t tunnelId,
                     Ptr<const Packet> origin)
{
    if (length < ETHERNET_BYTES)
    {
        return false;
    }
    Mac48Address to;
    Mac48Address from;
    to.CopyFrom(frame);
    from.CopyFrom(frame + 6);
    uint16_t type = frame[12] << 8 | frame[13];
    if (type < MIN_TYPE)
    {
        NS_LOG_WARN("an 802.3 frame without a type is not sent");
        return false;
    }
    Ptr<Packet> packet = Rebuilt(frame + ETHERNET_BYTES, length - ETHERNET_BYTES, origin);
    // Of the switch before this one.
    QueueTag oldQueue;
    TunnelIdTag oldTunnel;
    packet->RemovePacketTag(oldQueue);
    packet->RemovePacketTag(oldTunnel);
    packet->AddPacketTag(QueueTag(queue));
    if (m_isLogical)
    {
        packet->AddPacketTag(TunnelIdTag(tunnelId));
    }
    NS_LOG_DEBUG("port " << m_number << " sends " << length << " bytes by queue " << queue);
    if (!m_txTrace.IsEmpty())
    {
        m_txTrace(Create<Packet>(frame, length));
    }
    return m_port->SendFrom(packet, from, to, type);
}

} // namespace ns3
