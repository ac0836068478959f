// What a script may ask a switch, its ports and its controller: how full each part is.
#include "check.h"

using namespace ns3;

// Holds the packets of hosts, and lets the second one go.
class Holder : public OFSwitch13Controller
{
  public:
    uint32_t packetIns{0};
    uint32_t held{0};
    Ipv4Address address;
    uint16_t port{0};

  protected:
    void HandshakeSuccessful(Ptr<const RemoteSwitch> swtch) override
    {
        address = swtch->GetIpv4();
        port = swtch->GetPort();
        // 16 bytes come to the controller, the packet stays in the switch.
        DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=0 apply:output=ctrl:16");
        SendEchoRequest(swtch, 64);
    }

    ofl_err HandlePacketIn(struct ofl_msg_packet_in* msg,
                           Ptr<const RemoteSwitch> swtch,
                           uint32_t) override
    {
        packetIns++;
        held += msg->buffer_id != NO_BUFFER;
        if (packetIns == 2)
        {
            DpctlExecute(swtch,
                         "flow-mod cmd=add,table=1,prio=9,buffer=" +
                             std::to_string(msg->buffer_id) + " in_port=1 apply:output=2");
        }
        ofl_msg_free(&msg->header, nullptr);
        return 0;
    }
};

static Ptr<OFSwitch13Device> g_device;
static uint32_t g_mostHeld = 0;

// Packets that the switch begins to hold, lets go, and gives up.
static uint32_t g_saved = 0;
static uint32_t g_retrieved = 0;
static uint32_t g_expired = 0;

static void
Save(Ptr<const Packet> packet)
{
    Check(packet->GetSize() > 16, "a whole packet is held");
    g_saved++;
}

static void
Retrieve(Ptr<const Packet>)
{
    g_retrieved++;
}

static void
Expire(Ptr<const Packet>)
{
    g_expired++;
}

static void
Watch()
{
    g_mostHeld = std::max(g_mostHeld, g_device->GetBufferEntries());
    Simulator::Schedule(MilliSeconds(10), &Watch);
}

int
main()
{
    Line line(1);
    Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
    of13->SetDeviceAttribute("PipelineTables", UintegerValue(2));
    of13->SetDeviceAttribute("FlowTableSize", UintegerValue(10));
    of13->SetDeviceAttribute("GroupTableSize", UintegerValue(4));
    of13->SetDeviceAttribute("MeterTableSize", UintegerValue(8));
    of13->SetDeviceAttribute("CpuCapacity", DataRateValue(DataRate("1Mb/s")));
    Ptr<Holder> controller = CreateObject<Holder>();
    of13->InstallController(CreateObject<Node>(), controller);
    g_device = of13->InstallSwitch(line.switches.Get(0), line.ports[0]);
    g_device->TraceConnectWithoutContext("BufferSave", MakeCallback(&Save));
    g_device->TraceConnectWithoutContext("BufferRetrieve", MakeCallback(&Retrieve));
    g_device->TraceConnectWithoutContext("BufferExpire", MakeCallback(&Expire));
    of13->CreateOpenFlowChannels();
    uint64_t id = g_device->GetDpId();
    controller->DpctlSchedule(id, "group-mod cmd=add,type=all,group=1 weight=0 output=1");
    controller->DpctlExecute(id, "meter-mod cmd=add,flags=0x1,meter=1 drop:rate=1000");
    controller->DpctlExecute(id, "meter-mod cmd=add,flags=0x1,meter=2 drop:rate=1000");
    for (uint32_t i = 1; i <= 5; i++)
    {
        controller->DpctlExecute(
            id,
            "flow-mod cmd=add,table=1,prio=" + std::to_string(i) + " in_port=1 apply:output=2");
    }
    line.Ping(2.5);
    Simulator::Schedule(MilliSeconds(1), &Watch);
    Simulator::Stop(Seconds(20));
    Simulator::Run();
    Check(g_device->GetNPipelineTables() == 2 && g_device->GetDftFlowTableSize() == 10,
          "2 tables of 10 entries");
    Check(g_device->GetFlowTableSize(1) == 10 && g_device->GetFlowTableSize(2) == 0,
          "there is no third table");
    Check(g_device->GetFlowTableEntries(0) == 1 && g_device->GetFlowTableUsage(0) == 0.1 &&
              g_device->GetFlowTableUsage(1) == 0.6 && g_device->GetFlowTableUsage(2) == 0,
          "the usage of tables");
    Check(g_device->GetGroupTableEntries() == 1 && g_device->GetGroupTableSize() == 4 &&
              g_device->GetGroupTableUsage() == 0.25,
          "1 group of 4");
    Check(g_device->GetMeterTableEntries() == 2 && g_device->GetMeterTableSize() == 8 &&
              g_device->GetMeterTableUsage() == 0.25,
          "2 meters of 8");
    Check(g_device->GetDatapathTimeout() == MilliSeconds(100), "the time of a timeout");
    Check(g_device->GetCpuCapacity() == DataRate("1Mb/s") &&
              g_device->GetCpuLoad() == DataRate(0) && g_device->GetCpuUsage() == 0,
          "the CPU has nothing to do now");
    std::cout << controller->packetIns << " packet-ins, at most " << g_mostHeld << " held"
              << std::endl;
    Check(controller->held == controller->packetIns && controller->held >= 3,
          "packets are held for the controller");
    Check(g_mostHeld + 1 == controller->held, "all but the one that was let go");
    // The one that was let go came to the controller again, and is held once more.
    Check(g_saved == controller->held && g_retrieved == 1 && g_expired == g_saved - 1,
          "traces say that one was let go, and when the others were given up");
    Check(g_device->GetBufferSize() == 256 && g_device->GetBufferEntries() == 0 &&
              g_device->GetBufferUsage() == 0,
          "5 s later there is none of at most 256");
    Ptr<OFSwitch13Port> port = g_device->GetSwitchPort(2);
    Check(port->GetSwitchDevice() == g_device && port->GetPortQueue()->GetNQueues() == 1,
          "a port knows its switch and its queues");
    Check(controller->address == Ipv4Address("10.100.0.2") && controller->port >= 49152,
          "the controller knows the switch's address");
    OFSwitch13DeviceContainer one(g_device);
    Check(OFSwitch13DeviceContainer(one, one).GetN() == 2, "containers are joined");
    Ptr<Packet> packet = Create<Packet>(10);
    packet->AddPacketTag(TunnelIdTag(1ULL << 40));
    TunnelIdTag tunnel;
    Check(packet->RemovePacketTag(tunnel) && tunnel.GetTunnelId() == 1ULL << 40,
          "a tag keeps a tunnel's id");
    g_device = nullptr;
    Simulator::Destroy();
    return 0;
}
