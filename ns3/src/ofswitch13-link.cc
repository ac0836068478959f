// A full-duplex Ethernet link: a device sends one frame after the other, whatever comes in.
#include "ns3/ofswitch13-link.h"

#include <algorithm>

#include "ns3/drop-tail-queue.h"
#include "ns3/ethernet-header.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13Link");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13LinkChannel);
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13LinkDevice);

namespace
{
// Bytes of the shortest frame without its checksum, and of the checksum.
const uint32_t MIN_BYTES = 60;
const uint32_t CHECKSUM_BYTES = 4;
} // namespace

TypeId
OFSwitch13LinkChannel::GetTypeId()
{
    static TypeId tid = TypeId("ns3::OFSwitch13LinkChannel")
                            .SetParent<Channel>()
                            .SetGroupName("OFSwitch13")
                            .AddConstructor<OFSwitch13LinkChannel>()
                            .AddAttribute("DataRate",
                                          "Bits a second of each direction.",
                                          DataRateValue(DataRate("100Mb/s")),
                                          MakeDataRateAccessor(&OFSwitch13LinkChannel::m_rate),
                                          MakeDataRateChecker())
                            .AddAttribute("Delay",
                                          "The time of a bit from end to end.",
                                          TimeValue(Seconds(0)),
                                          MakeTimeAccessor(&OFSwitch13LinkChannel::m_delay),
                                          MakeTimeChecker(Time(0)));
    return tid;
}

void
OFSwitch13LinkChannel::DoDispose()
{
    m_devices.clear();
    Channel::DoDispose();
}

void
OFSwitch13LinkChannel::Attach(Ptr<OFSwitch13LinkDevice> device)
{
    NS_ABORT_MSG_IF(m_devices.size() == 2, "a link has two ends");
    m_devices.push_back(device);
    if (m_devices.size() == 2)
    {
        m_devices[0]->NotifyLinkUp();
        m_devices[1]->NotifyLinkUp();
    }
}

std::size_t
OFSwitch13LinkChannel::GetNDevices() const
{
    return m_devices.size();
}

Ptr<NetDevice>
OFSwitch13LinkChannel::GetDevice(std::size_t i) const
{
    return m_devices.at(i);
}

DataRate
OFSwitch13LinkChannel::GetDataRate() const
{
    return m_rate;
}

void
OFSwitch13LinkChannel::Carry(Ptr<const OFSwitch13LinkDevice> from, Ptr<Packet> frame)
{
    if (m_devices.size() < 2)
    {
        // It was disposed of.
        return;
    }
    Ptr<OFSwitch13LinkDevice> to = m_devices[m_devices[0] == from ? 1 : 0];
    if (!to->GetNode())
    {
        return;
    }
    Simulator::ScheduleWithContext(to->GetNode()->GetId(),
                                   m_delay,
                                   &OFSwitch13LinkDevice::Receive,
                                   to,
                                   frame);
}

TypeId
OFSwitch13LinkDevice::GetTypeId()
{
    using Self = OFSwitch13LinkDevice;
    static TypeId tid =
        TypeId("ns3::OFSwitch13LinkDevice")
            .SetParent<NetDevice>()
            .SetGroupName("OFSwitch13")
            .AddConstructor<Self>()
            .AddAttribute("Address",
                          "The MAC address.",
                          Mac48AddressValue(Mac48Address("ff:ff:ff:ff:ff:ff")),
                          MakeMac48AddressAccessor(&Self::m_address),
                          MakeMac48AddressChecker())
            .AddAttribute("Mtu",
                          "Bytes of the longest payload.",
                          UintegerValue(1500),
                          MakeUintegerAccessor(&Self::SetMtu, &Self::GetMtu),
                          MakeUintegerChecker<uint16_t>(46))
            .AddAttribute("TxQueue",
                          "Where frames wait.",
                          PointerValue(),
                          MakePointerAccessor(&Self::m_queue),
                          MakePointerChecker<Queue<Packet>>())
            .AddTraceSource("MacTx",
                            "A frame is to be sent.",
                            MakeTraceSourceAccessor(&Self::m_macTx),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("MacTxDrop",
                            "A frame finds no room in the queue.",
                            MakeTraceSourceAccessor(&Self::m_macTxDrop),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("MacRx",
                            "A frame came in.",
                            MakeTraceSourceAccessor(&Self::m_macRx),
                            "ns3::Packet::TracedCallback");
    return tid;
}

void
OFSwitch13LinkDevice::DoDispose()
{
    m_node = nullptr;
    m_channel = nullptr;
    m_queue = nullptr;
    m_receive.Nullify();
    m_promiscReceive.Nullify();
    NetDevice::DoDispose();
}

void
OFSwitch13LinkDevice::Attach(Ptr<OFSwitch13LinkChannel> channel)
{
    m_channel = channel;
    channel->Attach(this);
}

void
OFSwitch13LinkDevice::SetQueue(Ptr<Queue<Packet>> queue)
{
    m_queue = queue;
}

Ptr<Queue<Packet>>
OFSwitch13LinkDevice::GetQueue() const
{
    return m_queue;
}

bool
OFSwitch13LinkDevice::Send(Ptr<Packet> packet, const Address& to, uint16_t type)
{
    return SendFrom(packet, m_address, to, type);
}

bool
OFSwitch13LinkDevice::SendFrom(Ptr<Packet> packet,
                               const Address& from,
                               const Address& to,
                               uint16_t type)
{
    EthernetHeader header(false);
    header.SetSource(Mac48Address::ConvertFrom(from));
    header.SetDestination(Mac48Address::ConvertFrom(to));
    header.SetLengthType(type);
    packet->AddHeader(header);
    if (!IsLinkUp())
    {
        m_macTxDrop(packet);
        return false;
    }
    m_macTx(packet);
    if (!m_queue->Enqueue(packet))
    {
        NS_LOG_DEBUG("the queue of device " << m_index << " is full");
        m_macTxDrop(packet);
        return false;
    }
    if (!m_isBusy)
    {
        Start(m_queue->Dequeue());
    }
    return true;
}

void
OFSwitch13LinkDevice::Start(Ptr<Packet> frame)
{
    m_isBusy = true;
    uint32_t bytes = std::max(frame->GetSize(), MIN_BYTES) + CHECKSUM_BYTES;
    Time time = m_channel->GetDataRate().CalculateBytesTxTime(bytes);
    Simulator::Schedule(time, &OFSwitch13LinkDevice::End, Ptr<OFSwitch13LinkDevice>(this), frame);
}

void
OFSwitch13LinkDevice::End(Ptr<Packet> frame)
{
    m_isBusy = false;
    if (!m_channel)
    {
        return;
    }
    m_channel->Carry(this, frame);
    Ptr<Packet> next = m_queue->Dequeue();
    if (next)
    {
        Start(next);
    }
}

void
OFSwitch13LinkDevice::Receive(Ptr<Packet> frame)
{
    // The other end may have it too.
    Ptr<Packet> packet = frame->Copy();
    EthernetHeader header(false);
    packet->RemoveHeader(header);
    Mac48Address to = header.GetDestination();
    PacketType type = to.IsBroadcast()  ? PACKET_BROADCAST
                      : to.IsGroup()    ? PACKET_MULTICAST
                      : to == m_address ? PACKET_HOST
                                        : PACKET_OTHERHOST;
    NS_LOG_DEBUG("device " << m_index << " gets " << frame->GetSize() << " bytes");
    uint16_t protocol = header.GetLengthType();
    if (!m_promiscReceive.IsNull())
    {
        m_promiscReceive(this, packet->Copy(), protocol, header.GetSource(), to, type);
    }
    if (type != PACKET_OTHERHOST && !m_receive.IsNull())
    {
        m_macRx(frame);
        m_receive(this, packet, protocol, header.GetSource());
    }
}

void
OFSwitch13LinkDevice::NotifyLinkUp()
{
    m_linkChange();
}

void
OFSwitch13LinkDevice::SetIfIndex(const uint32_t index)
{
    m_index = index;
}

uint32_t
OFSwitch13LinkDevice::GetIfIndex() const
{
    return m_index;
}

Ptr<Channel>
OFSwitch13LinkDevice::GetChannel() const
{
    return m_channel;
}

void
OFSwitch13LinkDevice::SetAddress(Address address)
{
    m_address = Mac48Address::ConvertFrom(address);
}

Address
OFSwitch13LinkDevice::GetAddress() const
{
    return m_address;
}

bool
OFSwitch13LinkDevice::SetMtu(const uint16_t mtu)
{
    m_mtu = mtu;
    return true;
}

uint16_t
OFSwitch13LinkDevice::GetMtu() const
{
    return m_mtu;
}

bool
OFSwitch13LinkDevice::IsLinkUp() const
{
    return m_channel && m_channel->GetNDevices() == 2;
}

void
OFSwitch13LinkDevice::AddLinkChangeCallback(Callback<void> callback)
{
    m_linkChange.ConnectWithoutContext(callback);
}

bool
OFSwitch13LinkDevice::IsBroadcast() const
{
    return true;
}

Address
OFSwitch13LinkDevice::GetBroadcast() const
{
    return Mac48Address::GetBroadcast();
}

bool
OFSwitch13LinkDevice::IsMulticast() const
{
    return true;
}

Address
OFSwitch13LinkDevice::GetMulticast(Ipv4Address group) const
{
    return Mac48Address::GetMulticast(group);
}

Address
OFSwitch13LinkDevice::GetMulticast(Ipv6Address group) const
{
    return Mac48Address::GetMulticast(group);
}

bool
OFSwitch13LinkDevice::IsBridge() const
{
    return false;
}

bool
OFSwitch13LinkDevice::IsPointToPoint() const
{
    return false;
}

Ptr<Node>
OFSwitch13LinkDevice::GetNode() const
{
    return m_node;
}

void
OFSwitch13LinkDevice::SetNode(Ptr<Node> node)
{
    m_node = node;
}

bool
OFSwitch13LinkDevice::NeedsArp() const
{
    return true;
}

void
OFSwitch13LinkDevice::SetReceiveCallback(ReceiveCallback receive)
{
    m_receive = receive;
}

void
OFSwitch13LinkDevice::SetPromiscReceiveCallback(PromiscReceiveCallback receive)
{
    m_promiscReceive = receive;
}

bool
OFSwitch13LinkDevice::SupportsSendFrom() const
{
    return true;
}

OFSwitch13LinkHelper::OFSwitch13LinkHelper()
{
    m_channels.SetTypeId(OFSwitch13LinkChannel::GetTypeId());
    m_devices.SetTypeId(OFSwitch13LinkDevice::GetTypeId());
}

void
OFSwitch13LinkHelper::SetChannelAttribute(const std::string& name, const AttributeValue& value)
{
    m_channels.Set(name, value);
}

void
OFSwitch13LinkHelper::SetDeviceAttribute(const std::string& name, const AttributeValue& value)
{
    m_devices.Set(name, value);
}

NetDeviceContainer
OFSwitch13LinkHelper::Install(const NodeContainer& nodes) const
{
    NS_ABORT_MSG_IF(nodes.GetN() != 2, "a link has two ends");
    Ptr<OFSwitch13LinkChannel> channel = m_channels.Create<OFSwitch13LinkChannel>();
    NetDeviceContainer devices;
    for (uint32_t i = 0; i < 2; i++)
    {
        Ptr<OFSwitch13LinkDevice> device = m_devices.Create<OFSwitch13LinkDevice>();
        device->SetAddress(Mac48Address::Allocate());
        if (!device->GetQueue())
        {
            device->SetQueue(CreateObject<DropTailQueue<Packet>>());
        }
        nodes.Get(i)->AddDevice(device);
        device->Attach(channel);
        devices.Add(device);
    }
    return devices;
}

} // namespace ns3
