// Switches and controllers on nodes, and the channels between them.
#include "ns3/ofswitch13-helper.h"

#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/global-value.h"
#include "ns3/log.h"
#include "ns3/ofswitch13-stats-calculator.h"
#include "ns3-versions.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13Helper");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13Helper);

Ipv4AddressHelper OFSwitch13Helper::m_addresses("10.100.0.0", "255.255.255.0", "0.0.0.1");
Ipv4Mask OFSwitch13Helper::m_mask("255.255.255.0");

TypeId
OFSwitch13Helper::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::OFSwitch13Helper")
            .SetParent<Object>()
            .SetGroupName("OFSwitch13")
            .AddAttribute("ChannelDataRate",
                          "The rate of the channels between switches and controllers.",
                          DataRateValue(DataRate("10Gb/s")),
                          MakeDataRateAccessor(&OFSwitch13Helper::m_rate),
                          MakeDataRateChecker())
            .AddAttribute("ChannelType",
                          "One CSMA channel for all, or one for each pair.",
                          EnumValue(SINGLE_CSMA),
                          EnumAccessor<ChannelType>(&OFSwitch13Helper::m_type, 0),
                          MakeEnumChecker(SINGLE_CSMA,
                                          "SingleCsma",
                                          DEDICATED_CSMA,
                                          "DedicatedCsma",
                                          DEDICATED_P2P,
                                          "DedicatedP2p"));
    return tid;
}

OFSwitch13Helper::OFSwitch13Helper()
{
    m_devFactory.SetTypeId("ns3::OFSwitch13Device");
}

void
OFSwitch13Helper::SetDeviceAttribute(std::string name, const AttributeValue& value)
{
    m_devFactory.Set(name, value);
}

void
OFSwitch13Helper::SetChannelType(ChannelType type)
{
    m_type = type;
}

void
OFSwitch13Helper::SetChannelDataRate(DataRate rate)
{
    m_rate = rate;
}

void
OFSwitch13Helper::SetAddressBase(Ipv4Address network, Ipv4Mask mask, Ipv4Address base)
{
    m_addresses.SetBase(network, mask, base);
    m_mask = mask;
}

void
OFSwitch13Helper::UseChecksums()
{
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
}

void
OFSwitch13Helper::InstallStack(const NodeContainer& nodes)
{
    InternetStackHelper internet;
    for (uint32_t i = 0; i < nodes.GetN(); i++)
    {
        if (!nodes.Get(i)->GetObject<Ipv4>())
        {
            internet.Install(nodes.Get(i));
        }
    }
}

Ptr<OFSwitch13Device>
OFSwitch13Helper::InstallSwitch(Ptr<Node> node)
{
    NS_ABORT_MSG_IF(m_created, "the channels are there already");
    // Now, because what carries tunnels to logical ports may get addresses before there are channels.
    InstallStack(NodeContainer(node));
    Ptr<OFSwitch13Device> device = m_devFactory.Create<OFSwitch13Device>();
    node->AggregateObject(device);
    m_switchNodes.Add(node);
    m_devices.Add(device);
    return device;
}

Ptr<OFSwitch13Device>
OFSwitch13Helper::InstallSwitch(Ptr<Node> node, NetDeviceContainer& ports)
{
    Ptr<OFSwitch13Device> device = InstallSwitch(node);
    for (uint32_t i = 0; i < ports.GetN(); i++)
    {
        device->AddSwitchPort(ports.Get(i));
    }
    return device;
}

OFSwitch13DeviceContainer
OFSwitch13Helper::InstallSwitch(NodeContainer& nodes)
{
    OFSwitch13DeviceContainer devices;
    for (uint32_t i = 0; i < nodes.GetN(); i++)
    {
        devices.Add(InstallSwitch(nodes.Get(i)));
    }
    return devices;
}

Ipv4InterfaceContainer
OFSwitch13Helper::Connect(const NodeContainer& nodes, bool isCsma)
{
    NetDeviceContainer devices;
    if (isCsma)
    {
        m_csma.SetChannelAttribute("DataRate", DataRateValue(m_rate));
        m_csma.SetDeviceAttribute("Mtu", UintegerValue(CHANNEL_MTU));
        devices = m_csma.Install(nodes);
    }
    else
    {
        m_p2p.SetDeviceAttribute("DataRate", DataRateValue(m_rate));
        m_p2p.SetDeviceAttribute("Mtu", UintegerValue(CHANNEL_MTU));
        devices = m_p2p.Install(nodes);
    }
    m_channelDevices.Add(devices);
    Ipv4InterfaceContainer interfaces = m_addresses.Assign(devices);
    m_addresses.NewNetwork();
    NS_LOG_INFO("a channel of " << nodes.GetN() << " nodes from address "
                                << interfaces.GetAddress(0));
    return interfaces;
}

void
OFSwitch13Helper::EnableOpenFlowPcap(std::string prefix, bool promiscuous)
{
    NS_ABORT_MSG_IF(!m_created, "the channels are not there yet");
    if (m_type == DEDICATED_P2P)
    {
        m_p2p.EnablePcap(prefix, m_channelDevices, promiscuous);
    }
    else
    {
        m_csma.EnablePcap(prefix, m_channelDevices, promiscuous);
    }
}

void
OFSwitch13Helper::EnableOpenFlowAscii(std::string prefix)
{
    NS_ABORT_MSG_IF(!m_created, "the channels are not there yet");
    if (m_type == DEDICATED_P2P)
    {
        m_p2p.EnableAscii(prefix, m_channelDevices);
    }
    else
    {
        m_csma.EnableAscii(prefix, m_channelDevices);
    }
}

void
OFSwitch13Helper::EnableDatapathLogs(std::string prefix, bool isFileName)
{
    OFSwitch13Device::EnableDatapathLogs(isFileName ? prefix : prefix + ".log");
}

void
OFSwitch13Helper::EnableDatapathStats(std::string prefix, bool useNodeNames)
{
    if (prefix.empty() || prefix.back() != '-')
    {
        prefix += '-';
    }
    for (uint32_t i = 0; i < m_devices.GetN(); i++)
    {
        Ptr<OFSwitch13Device> device = m_devices.Get(i);
        std::string name = useNodeNames ? Names::FindName(m_switchNodes.Get(i)) : std::string();
        if (name.empty())
        {
            name = std::to_string(device->GetDatapathId());
        }
        Ptr<OFSwitch13StatsCalculator> stats = CreateObject<OFSwitch13StatsCalculator>();
        stats->SetAttribute("OutputFilename", StringValue(prefix + name + ".log"));
        stats->HookSinks(device);
        device->AggregateObject(stats);
    }
}

} // namespace ns3
