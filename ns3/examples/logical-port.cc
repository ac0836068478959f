// Two tenants whose hosts have the same addresses: a logical port carries their packets from switch to switch, each
// tenant's in a tunnel of its own.
#include <cstring>
#include <set>

#include "check.h"
#include "ns3/application.h"
#include "ns3/ethernet-header.h"
#include "ns3/ethernet-trailer.h"
#include "ns3/ipv4-address-generator.h"
#include "ns3/udp-socket-factory.h"
#include "ns3/virtual-net-device.h"

using namespace ns3;

static const uint32_t TENANTS = 2;
// The port of the tunnels; those before it are the tenants'.
static const uint32_t LOGICAL = TENANTS + 1;

static uint64_t
TunnelOf(uint32_t tenant)
{
    return 0xc0a8010000000000 + tenant;
}

// The end of the tunnels: what leaves by the logical port goes to the other end in UDP, behind the id of its tunnel.
class TunnelApp : public Application
{
  public:
    TunnelApp(Ptr<VirtualNetDevice> port, Ipv4Address peer)
        : m_port(port),
          m_peer(peer, 4789)
    {
        port->SetSendCallback(MakeCallback(&TunnelApp::Encapsulate, this));
    }

  private:
    void StartApplication() override
    {
        m_socket = Socket::CreateSocket(GetNode(), UdpSocketFactory::GetTypeId());
        m_socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), m_peer.GetPort()));
        m_socket->SetRecvCallback(MakeCallback(&TunnelApp::Decapsulate, this));
    }

    bool Encapsulate(Ptr<Packet> packet, const Address& from, const Address& to, uint16_t type)
    {
        TunnelIdTag tunnel;
        if (!packet->RemovePacketTag(tunnel))
        {
            return false;
        }
        EthernetHeader header(false);
        header.SetSource(Mac48Address::ConvertFrom(from));
        header.SetDestination(Mac48Address::ConvertFrom(to));
        header.SetLengthType(type);
        packet->AddHeader(header);
        packet->AddTrailer(EthernetTrailer());
        uint64_t id = tunnel.GetTunnelId();
        Ptr<Packet> datagram = Create<Packet>(reinterpret_cast<uint8_t*>(&id), sizeof id);
        datagram->AddAtEnd(packet);
        return m_socket->SendTo(datagram, 0, m_peer) >= 0;
    }

    void Decapsulate(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            uint64_t id;
            packet->CopyData(reinterpret_cast<uint8_t*>(&id), sizeof id);
            packet->RemoveAtStart(sizeof id);
            packet->AddPacketTag(TunnelIdTag(id));
            // The frame says its type and addresses.
            m_port->Receive(packet, 0, Mac48Address(), Mac48Address(), NetDevice::PACKET_HOST);
        }
    }

    Ptr<VirtualNetDevice> m_port;
    InetSocketAddress m_peer;
    Ptr<Socket> m_socket;
};

class TunnelController : public OFSwitch13Controller
{
  public:
    // Of the packets that it was asked about.
    std::set<uint64_t> tunnels;

  protected:
    void HandshakeSuccessful(Ptr<const RemoteSwitch> swtch) override
    {
        for (uint32_t tenant = 1; tenant <= TENANTS; tenant++)
        {
            std::ostringstream cmd;
            cmd << "flow-mod cmd=add,table=0,prio=10 in_port=" << tenant
                << " write:set_field=tunn_id:" << TunnelOf(tenant) << ",output=" << LOGICAL;
            DpctlExecute(swtch, cmd.str());
        }
        DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=0 apply:output=ctrl");
    }

    ofl_err HandlePacketIn(struct ofl_msg_packet_in* msg,
                           Ptr<const RemoteSwitch> swtch,
                           uint32_t) override
    {
        struct ofl_match_tlv* tlv =
            oxm_match_lookup(OXM_OF_TUNNEL_ID, (struct ofl_match*)msg->match);
        uint64_t tunnel = 0;
        if (tlv)
        {
            memcpy(&tunnel, tlv->value, OXM_LENGTH(OXM_OF_TUNNEL_ID));
        }
        tunnels.insert(tunnel);
        for (uint32_t tenant = 1; tenant <= TENANTS; tenant++)
        {
            if (tunnel == TunnelOf(tenant))
            {
                std::ostringstream cmd;
                cmd << "flow-mod cmd=add,table=0,prio=10,buffer=" << msg->buffer_id
                    << " in_port=" << LOGICAL << ",tunn_id=" << tunnel
                    << " write:output=" << tenant;
                DpctlExecute(swtch, cmd.str());
            }
        }
        ofl_msg_free((struct ofl_msg_header*)msg, nullptr);
        return 0;
    }
};

static uint32_t replies[TENANTS];

static void
Reply(uint32_t tenant, Time)
{
    replies[tenant]++;
}

int
main(int argc, char** argv)
{
    CommandLine cmd;
    cmd.Parse(argc, argv);
    NodeContainer hosts;
    hosts.Create(2 * TENANTS);
    NodeContainer switches;
    switches.Create(2);
    InternetStackHelper internet;
    internet.Install(hosts);
    CsmaHelper csma;
    csma.SetChannelAttribute("DataRate", StringValue("100Mbps"));
    Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
    Ptr<TunnelController> controller = CreateObject<TunnelController>();
    of13->InstallController(CreateObject<Node>(), controller);
    OFSwitch13DeviceContainer devices = of13->InstallSwitch(switches);

    // Tenants may have the same addresses.
    Ipv4AddressGenerator::TestMode();
    for (uint32_t tenant = 0; tenant < TENANTS; tenant++)
    {
        NetDeviceContainer ends;
        for (uint32_t i = 0; i < 2; i++)
        {
            Ptr<Node> host = hosts.Get(2 * tenant + i);
            NetDeviceContainer link = csma.Install(NodeContainer(host, switches.Get(i)));
            ends.Add(link.Get(0));
            devices.Get(i)->AddSwitchPort(link.Get(1));
        }
        Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
        Ipv4InterfaceContainer interfaces = addresses.Assign(ends);
        ApplicationContainer pings = InstallPing(hosts.Get(2 * tenant),
                                                 interfaces.GetAddress(1),
                                                 MakeBoundCallback(&Reply, tenant));
        pings.Start(Seconds(1));
        pings.Stop(Seconds(5.5));
    }
    // What carries the tunnels is no port.
    Ipv4AddressHelper addresses("192.168.1.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(csma.Install(switches));
    for (uint32_t i = 0; i < 2; i++)
    {
        Ptr<VirtualNetDevice> device = CreateObject<VirtualNetDevice>();
        device->SetAddress(Mac48Address::Allocate());
        Ptr<OFSwitch13Port> port = devices.Get(i)->AddSwitchPort(device);
        Check(port->GetPortNo() == LOGICAL, "the logical port is behind those of the tenants");
        switches.Get(i)->AddApplication(
            CreateObject<TunnelApp>(device, interfaces.GetAddress(1 - i)));
    }
    of13->CreateOpenFlowChannels();
    Simulator::Stop(Seconds(6));
    Simulator::Run();

    for (uint32_t tenant = 0; tenant < TENANTS; tenant++)
    {
        Check(replies[tenant] == 5, "5 of 5 pings are answered: " + std::to_string(replies[tenant]));
    }
    std::set<uint64_t> tunnels{TunnelOf(1), TunnelOf(2)};
    Check(controller->tunnels == tunnels, "packet-ins have the tunnels of their packets");
    uint32_t entries = devices.Get(1)->GetFlowTableEntries(0);
    Check(entries == 5, "there are entries to and from each tenant, and for misses");
    Simulator::Destroy();
    return 0;
}
