// Two hosts through a switch: each direction of its links has their rate, for UDP and TCP.
#include "check.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/udp-client-server-helper.h"

using namespace ns3;

// The megabits a second of both directions: 94.2 of UDP, or all that TCP takes in one of them.
template <typename Links>
static std::pair<double, double>
Run(bool isTcp)
{
    const double seconds = 5;
    NodeContainer hosts;
    hosts.Create(2);
    Ptr<Node> middle = CreateObject<Node>();
    Links links;
    links.SetChannelAttribute("DataRate", DataRateValue(DataRate("100Mb/s")));
    links.SetChannelAttribute("Delay", TimeValue(MicroSeconds(2)));
    NetDeviceContainer ends;
    NetDeviceContainer ports;
    for (uint32_t i = 0; i < 2; i++)
    {
        NetDeviceContainer link = links.Install(NodeContainer(hosts.Get(i), middle));
        ends.Add(link.Get(0));
        ports.Add(link.Get(1));
    }
    Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
    of13->InstallController(CreateObject<Node>());
    Ptr<OFSwitch13Device> device = of13->InstallSwitch(middle, ports);
    of13->CreateOpenFlowChannels();
    InternetStackHelper internet;
    internet.Install(hosts);
    Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(ends);
    ApplicationContainer sinks;
    for (uint32_t i = 0; i < 2; i++)
    {
        InetSocketAddress at(interfaces.GetAddress(i), 9);
        std::string type = isTcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
        sinks.Add(PacketSinkHelper(type, at).Install(hosts.Get(i)));
        UdpClientHelper udp(interfaces.GetAddress(i), 9);
        udp.SetAttribute("MaxPackets", UintegerValue(UINT32_MAX));
        udp.SetAttribute("Interval", TimeValue(MicroSeconds(125)));
        udp.SetAttribute("PacketSize", UintegerValue(1472));
        BulkSendHelper tcp(type, at);
        Ptr<Node> from = hosts.Get(1 - i);
        if (!isTcp || i == 0)
        {
            (isTcp ? tcp.Install(from) : udp.Install(from)).Start(Seconds(1));
        }
    }
    Simulator::Stop(Seconds(1 + seconds));
    Simulator::Run();
    auto rate = [&](uint32_t i) {
        return 8e-6 * DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx() / seconds;
    };
    std::pair<double, double> rates{rate(0), rate(1)};
    Check(device->GetSwitchPort(1)->GetPortQueue() != nullptr, "the port has its queues");
    Simulator::Destroy();
    return rates;
}

int
main()
{
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    auto [there, back] = Run<OFSwitch13LinkHelper>(false);
    std::cout << "UDP over links: " << there << " and " << back << " Mb/s" << std::endl;
    Check(there > 93 && back > 93, "a link has its rate in each direction");
    auto [csmaThere, csmaBack] = Run<CsmaHelper>(false);
    std::cout << "UDP over CSMA: " << csmaThere << " and " << csmaBack << " Mb/s" << std::endl;
    Check(csmaThere + csmaBack < 100, "the directions of CSMA share it");
    double tcp = Run<OFSwitch13LinkHelper>(true).first;
    double csma = Run<CsmaHelper>(true).first;
    std::cout << "TCP: " << tcp << " Mb/s over links, " << csma << " over CSMA" << std::endl;
    Check(tcp > 94 && tcp > csma, "acknowledgements do not slow a link");
    return 0;
}
