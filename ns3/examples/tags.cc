// What packets are tagged with stays on them: through a switch, and while it holds them for its
// controller. A connection that ends leaves none that is held.
#include "check.h"

using namespace ns3;

// Lets go what the switch holds.
class LetGo : public OFSwitch13Controller
{
  public:
    uint32_t held{0};

  protected:
    void HandshakeSuccessful(Ptr<const RemoteSwitch> swtch) override
    {
        DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=1 eth_type=0x88b5 apply:output=2");
        DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=1 eth_type=0x88b6 apply:output=ctrl:16");
    }

    ofl_err HandlePacketIn(struct ofl_msg_packet_in* msg,
                           Ptr<const RemoteSwitch> swtch,
                           uint32_t xid) override
    {
        held += msg->buffer_id != NO_BUFFER;
        if (held == 2)
        {
            ofl_msg_free(&msg->header, nullptr);
            // No message has 4 bytes: the switch ends the connection.
            SendToSwitch(swtch, OFMessage{4, OFPT_HELLO, 0, 4, 0, 0, 0, 0});
            return 0;
        }
        ofl_action_output output{{OFPAT_OUTPUT, 0}, 2, 0};
        ofl_action_header* action = &output.header;
        ofl_msg_packet_out out{};
        out.header.type = OFPT_PACKET_OUT;
        out.buffer_id = msg->buffer_id;
        out.in_port = 1;
        out.actions_num = 1;
        out.actions = &action;
        SendToSwitch(swtch, &out.header, xid);
        ofl_msg_free(&msg->header, nullptr);
        return 0;
    }
};

static uint32_t g_seen = 0;
static uint32_t g_tagged = 0;

// A packet of an Ethernet type, with a tag of its own and one of its bytes.
static Ptr<Packet>
Tagged(uint8_t type)
{
    Ptr<Packet> packet = PacketOfType(type);
    SocketPriorityTag ofPacket;
    ofPacket.SetPriority(5);
    packet->AddPacketTag(ofPacket);
    packet->AddByteTag(TunnelIdTag(77));
    return packet;
}

// Gives the switch such a packet.
static void
Send(Ptr<OFSwitch13Device> device, uint8_t type)
{
    device->ReceiveFromSwitchPort(Tagged(type), 1);
}

static void
Seen(Ptr<const Packet> packet)
{
    SocketPriorityTag ofPacket;
    TunnelIdTag ofBytes;
    g_seen++;
    g_tagged += packet->PeekPacketTag(ofPacket) && ofPacket.GetPriority() == 5 &&
                packet->FindFirstMatchingByteTag(ofBytes) && ofBytes.GetTunnelId() == 77;
}

int
main(int argc, char** argv)
{
    CommandLine cmd;
    cmd.Parse(argc, argv);
    Line line(1);
    Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
    Ptr<LetGo> controller = CreateObject<LetGo>();
    of13->InstallController(CreateObject<Node>(), controller);
    Ptr<OFSwitch13Device> device = of13->InstallSwitch(line.switches.Get(0), line.ports[0]);
    of13->CreateOpenFlowChannels();
    line.devices.Get(1)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Seen));
    Simulator::Schedule(Seconds(1), Send, device, 0xb5);
    Simulator::Schedule(Seconds(2), Send, device, 0xb6);
    Simulator::Schedule(Seconds(3), Send, device, 0xb6);
    // A script sends by a port itself.
    Simulator::Schedule(Seconds(3.5), [&] { device->GetSwitchPort(2)->Send(Tagged(0xb5)); });
    Simulator::Stop(Seconds(4));
    Simulator::Run();
    Check(controller->held == 2, "the switch holds two packets, and lets one go");
    Check(device->GetBufferEntries() == 0 && device->GetBufferSize() == 0,
          "it holds none for a connection that has ended");
    Check(g_seen == 3, "a host gets three: " + std::to_string(g_seen));
    Check(g_tagged == 3, "with their tags: " + std::to_string(g_tagged));
    Simulator::Destroy();
    return 0;
}
