// Two hosts send 8 Mb/s each to a third one, whose link has 10 Mb/s. The packets of one wait in queue
// 0 of the port, those of the other in queue 1: the first loses none, the other has what is left.
// Queues of a script's own take turns.
#include "check.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/udp-client-server-helper.h"

using namespace ns3;

// Two queues that take turns.
class Turns : public OFSwitch13Queue
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("Turns").SetParent<OFSwitch13Queue>().AddConstructor<Turns>();
        return tid;
    }

    Ptr<Packet> Dequeue() override
    {
        int next = Next();
        Ptr<Packet> packet = GetQueue(next)->Dequeue();
        if (packet)
        {
            m_last = next;
            NotifyDequeue(packet);
        }
        return packet;
    }

    Ptr<Packet> Remove() override
    {
        Ptr<Packet> packet = GetQueue(Next())->Remove();
        if (packet)
        {
            NotifyRemove(packet);
        }
        return packet;
    }

    Ptr<const Packet> Peek() const override
    {
        return GetQueue(Next())->Peek();
    }

  protected:
    void DoInitialize() override
    {
        for (int i = 0; i < 2; i++)
        {
            Ptr<Queue<Packet>> queue = CreateObject<DropTailQueue<Packet>>();
            queue->SetMaxSize(QueueSize("4p"));
            AddQueue(queue);
        }
        OFSwitch13Queue::DoInitialize();
    }

  private:
    // The other queue, unless it is empty.
    int Next() const
    {
        return GetQueue(1 - m_last)->IsEmpty() ? m_last : 1 - m_last;
    }

    int m_last{1};
};

// A packet for a queue.
static Ptr<Packet>
PacketFor(uint32_t number)
{
    Ptr<Packet> packet = Create<Packet>(1);
    packet->AddPacketTag(QueueTag(number));
    return packet;
}

// What the limit of both queues refuses does not count.
static void
CheckLimits()
{
    Ptr<OFSwitch13PriorityQueue> queue = CreateObject<OFSwitch13PriorityQueue>();
    queue->Initialize();
    queue->SetMaxSize(QueueSize("1p"));
    Check(queue->Enqueue(PacketFor(0)) && !queue->Enqueue(PacketFor(0)),
          "both queues have one packet");
    Check(queue->Dequeue() && queue->GetQueue(0)->IsEmpty(), "it leaves, and none is counted");
    Check(queue->Enqueue(PacketFor(1)) && queue->GetQueue(1)->GetNPackets() == 1,
          "another one comes in");
    Check(queue->Peek() && queue->Remove() && queue->IsEmpty() && queue->GetQueue(1)->IsEmpty(),
          "and is removed");
    Check(queue->Enqueue(PacketFor(7)) && queue->GetQueue(0)->GetNPackets() == 1,
          "one for a queue that is not there is in queue 0");
}

// A queue of the script's own says whose turn it is.
static void
CheckTurns()
{
    Ptr<Turns> queue = CreateObject<Turns>();
    queue->Initialize();
    for (uint32_t i = 0; i < 10; i++)
    {
        queue->Enqueue(PacketFor(i / 5));
    }
    Check(queue->GetNPackets() == 8 && queue->GetTotalDroppedPackets() == 2,
          "two queues with a limit of 4 each");
    std::string order;
    while (Ptr<Packet> packet = queue->Dequeue())
    {
        QueueTag tag;
        packet->PeekPacketTag(tag);
        order += std::to_string(tag.GetQueueId());
    }
    Check(order == "01010101" && queue->GetNPackets() == 0, "take turns: " + order);
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
    CheckTurns();
    return 0;
}
