// Two hosts send 8 Mb/s each to a third one, whose link has 10 Mb/s. The packets of one wait in queue
// 0 of the port, those of the other in queue 1: the first loses none, the other has what is left.
#include "check.h"
#include "ns3/udp-client-server-helper.h"

using namespace ns3;

// What the limit of both queues refuses does not count, and fewer queues keep what waits.
static void
CheckLimits()
{
    Ptr<OFSwitch13PriorityQueue> queue = CreateObject<OFSwitch13PriorityQueue>();
    auto packet = [](uint32_t number) {
        Ptr<Packet> tagged = Create<Packet>(1);
        tagged->AddPacketTag(QueueTag(number));
        return tagged;
    };
    queue->SetMaxSize(QueueSize("1p"));
    Check(queue->Enqueue(packet(0)) && !queue->Enqueue(packet(0)), "both queues have one packet");
    Check(queue->Dequeue() && queue->GetNPackets(0) == 0, "it leaves, and none is counted");
    Check(queue->Enqueue(packet(1)) && queue->GetNPackets(1) == 1, "another one comes in");
    queue->SetAttribute("NumQueues", UintegerValue(1));
    Check(queue->GetNPackets(0) == 1 && queue->Dequeue(), "and leaves by the queue that is left");
    // Together 2 more than 32 bits can say.
    queue->SetAttribute("QueueSize", QueueSizeValue(QueueSize("1431655766p")));
    queue->SetAttribute("NumQueues", UintegerValue(3));
    Check(queue->Enqueue(packet(0)) && queue->Enqueue(packet(1)) && queue->Enqueue(packet(2)),
          "long queues take packets");
}

int
main(int argc, char** argv)
{
    CommandLine cmd;
    cmd.Parse(argc, argv);
    Config::SetDefault("ns3::OFSwitch13PriorityQueue::NumQueues", UintegerValue(2));
    NodeContainer hosts(3);
    Ptr<Node> node = CreateObject<Node>();
    NetDeviceContainer devices;
    NetDeviceContainer ports;
    for (uint32_t i = 0; i < 3; i++)
    {
        CsmaHelper csma;
        csma.SetChannelAttribute("DataRate", StringValue(i < 2 ? "100Mbps" : "10Mbps"));
        csma.SetChannelAttribute("Delay", TimeValue(MicroSeconds(2)));
        NetDeviceContainer link = csma.Install(NodeContainer(hosts.Get(i), node));
        devices.Add(link.Get(0));
        ports.Add(link.Get(1));
    }
    InternetStackHelper internet;
    internet.Install(hosts);
    Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);

    Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
    Ptr<OFSwitch13Controller> controller = CreateObject<OFSwitch13Controller>();
    of13->InstallController(CreateObject<Node>(), controller);
    Ptr<OFSwitch13Device> device = of13->InstallSwitch(node, ports);
    of13->CreateOpenFlowChannels();
    uint64_t id = device->GetDatapathId();
    controller->DpctlExecute(id, "flow-mod cmd=add,table=0,prio=1 apply:output=flood");
    controller->DpctlExecute(id,
                             "flow-mod cmd=add,table=0,prio=9 in_port=1,eth_type=0x800 "
                             "apply:queue=0,output=3");
    controller->DpctlExecute(id,
                             "flow-mod cmd=add,table=0,prio=9 in_port=2,eth_type=0x800 "
                             "apply:queue=1,output=3");

    std::vector<Ptr<UdpServer>> servers;
    for (uint32_t i = 0; i < 2; i++)
    {
        UdpServerHelper server(9 + i);
        server.Install(hosts.Get(2)).Start(Seconds(0));
        servers.push_back(server.GetServer());
        UdpClientHelper client(interfaces.GetAddress(2), 9 + i);
        // One packet asks for the address: ARP keeps few packets until the answer.
        client.SetAttribute("MaxPackets", UintegerValue(1));
        client.Install(hosts.Get(i)).Start(Seconds(0.5));
        // 1,000 packets of 1,000 bytes on the wire each second.
        client.SetAttribute("MaxPackets", UintegerValue(5000));
        client.SetAttribute("Interval", TimeValue(MilliSeconds(1)));
        client.SetAttribute("PacketSize", UintegerValue(946));
        ApplicationContainer clients = client.Install(hosts.Get(i));
        clients.Start(Seconds(1));
        clients.Stop(Seconds(6.5));
    }
    PointerValue queue;
    device->GetSwitchPort(3)->GetAttribute("PortQueue", queue);
    Simulator::Stop(Seconds(7));
    Simulator::Run();
    uint64_t first = servers[0]->GetReceived();
    uint64_t second = servers[1]->GetReceived();
    uint64_t dropped = queue.Get<OFSwitch13Queue>()->GetTotalDroppedPackets();
    std::cout << first << " and " << second << " received, " << dropped << " dropped" << std::endl;
    Check(first == 5001, "queue 0 goes first");
    Check(second >= 1200 && second <= 1500, "queue 1 has the rest: 2 Mb/s of 5 s, and what waited");
    Check(first + second + dropped == 10002, "every packet is counted");
    Simulator::Destroy();
    CheckLimits();
    return 0;
}
