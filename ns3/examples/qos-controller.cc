// Two servers behind one address. Their switch (border) sends each new connection to one of them in
// turn, meters it if wanted, and reaches the aggregation switch by two links of 10 Mb/s, which a
// select group joins if wanted. All other links have 100 Mb/s.
#include "check.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"

#include <iomanip>
#include <sstream>

using namespace ns3;

class QosController : public OFSwitch13Controller
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::QosController")
                .SetParent<OFSwitch13Controller>()
                .AddConstructor<QosController>()
                .AddAttribute("EnableMeter",
                              "Whether each connection has a meter.",
                              BooleanValue(false),
                              MakeBooleanAccessor(&QosController::m_meter),
                              MakeBooleanChecker())
                .AddAttribute("MeterRate",
                              "The rate of a meter.",
                              DataRateValue(DataRate("256Kbps")),
                              MakeDataRateAccessor(&QosController::m_rate),
                              MakeDataRateChecker())
                .AddAttribute("LinkAggregation",
                              "Whether both links to the servers are used.",
                              BooleanValue(true),
                              MakeBooleanAccessor(&QosController::m_aggregate),
                              MakeBooleanChecker())
                .AddAttribute("ServerIpAddr",
                              "The servers' common address.",
                              Ipv4AddressValue(Ipv4Address("10.1.1.1")),
                              MakeIpv4AddressAccessor(&QosController::m_ip),
                              MakeIpv4AddressChecker())
                .AddAttribute("ServerTcpPort",
                              "The servers' port.",
                              UintegerValue(9),
                              MakeUintegerAccessor(&QosController::m_tcpPort),
                              MakeUintegerChecker<uint16_t>())
                .AddAttribute("ServerMacAddr",
                              "The servers' common hardware address.",
                              Mac48AddressValue(Mac48Address("00:00:00:00:01:01")),
                              MakeMac48AddressAccessor(&QosController::m_mac),
                              MakeMac48AddressChecker());
        return tid;
    }

    struct Server
    {
        Ipv4Address ip;
        Mac48Address mac;
        uint32_t port;
        uint32_t connections;
    };

    std::vector<Server> servers;
    uint64_t aggregation{0};

  protected:
    void HandshakeSuccessful(Ptr<const RemoteSwitch> swtch) override
    {
        // Links 1 and 2 of both switches join them.
        DpctlExecute(swtch,
                     m_aggregate ? "group-mod cmd=add,type=sel,group=1 weight=1 output=1 weight=1 "
                                   "output=2"
                                 : "group-mod cmd=add,type=sel,group=1 weight=1 output=1");
        if (swtch->GetDpId() == aggregation)
        {
            DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=10 in_port=1 apply:output=3");
            DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=10 in_port=2 apply:output=3");
            DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=10 in_port=3 apply:group=1");
            return;
        }
        std::ostringstream service;
        service << "eth_type=0x806,arp_op=1,arp_tpa=" << m_ip << " apply:output=ctrl:65535";
        DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=100 " + service.str());
        std::ostringstream tcp;
        tcp << "eth_type=0x800,ip_proto=6,ip_dst=" << m_ip << ",tcp_dst=" << m_tcpPort;
        DpctlExecute(swtch,
                     "flow-mod cmd=add,table=0,prio=100 " + tcp.str() + " apply:output=ctrl:65535");
        for (const Server& server : servers)
        {
            // Servers ask clients' addresses by the first link.
            std::ostringstream up;
            up << "eth_type=0x806,in_port=" << server.port << " apply:output=1";
            DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=20 " + up.str());
            std::ostringstream down;
            down << "eth_type=0x806,eth_dst=" << server.mac << " apply:output=" << server.port;
            DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=30 " + down.str());
        }
    }

    ofl_err HandlePacketIn(struct ofl_msg_packet_in* msg,
                           Ptr<const RemoteSwitch> swtch,
                           uint32_t) override
    {
        if (Find(msg, OXM_OF_ARP_OP))
        {
            AnswerArp(msg->data, Get<uint32_t>(msg, OXM_OF_IN_PORT), swtch);
        }
        else if (Find(msg, OXM_OF_TCP_SRC))
        {
            Admit(msg, swtch);
        }
        ofl_msg_free(&msg->header, nullptr);
        return 0;
    }

  private:
    static ofl_match_tlv* Find(struct ofl_msg_packet_in* msg, uint32_t field)
    {
        return oxm_match_lookup(field, reinterpret_cast<ofl_match*>(msg->match));
    }

    // The value of a field that the packet has.
    template <class T>
    static T Get(struct ofl_msg_packet_in* msg, uint32_t field)
    {
        T value;
        memcpy(&value, Find(msg, field)->value, sizeof(value));
        return value;
    }

    static std::string Hex(const std::vector<uint8_t>& bytes)
    {
        std::ostringstream text;
        for (uint8_t byte : bytes)
        {
            text << std::hex << std::setw(2) << std::setfill('0') << unsigned(byte);
        }
        return text.str();
    }

    // Answers who asks for the service's hardware address.
    void AnswerArp(const uint8_t* asked, uint32_t port, Ptr<const RemoteSwitch> swtch)
    {
        uint8_t mac[6];
        m_mac.CopyTo(mac);
        std::vector<uint8_t> reply(asked, asked + 42);
        std::copy(asked + 6, asked + 12, reply.begin());
        std::copy(mac, mac + 6, reply.begin() + 6);
        reply[21] = 2;
        std::copy(mac, mac + 6, reply.begin() + 22);
        std::copy(asked + 38, asked + 42, reply.begin() + 28);
        std::copy(asked + 22, asked + 32, reply.begin() + 32);
        std::ostringstream out;
        out << "packet-out controller output:" << port << " " << Hex(reply);
        DpctlExecute(swtch, out.str());
    }

    // Sends a new connection to the server whose turn it is.
    void Admit(struct ofl_msg_packet_in* msg, Ptr<const RemoteSwitch> swtch)
    {
        Ipv4Address client = Ipv4Address::Deserialize(Find(msg, OXM_OF_IPV4_SRC)->value);
        uint16_t port = Get<uint16_t>(msg, OXM_OF_TCP_SRC);
        std::ostringstream key;
        key << client << ":" << port;
        if (m_connections.emplace(key.str(), m_connections.size()).second)
        {
            uint32_t number = m_connections.size();
            Server& server = servers[number % servers.size()];
            server.connections++;
            std::ostringstream meter;
            if (m_meter)
            {
                std::ostringstream add;
                uint64_t kbps = m_rate.GetBitRate() / 1000;
                add << "meter-mod cmd=add,flags=0x5,meter=" << number << " drop:rate=" << kbps
                    << ",burst=" << kbps / 2;
                DpctlExecute(swtch, add.str());
                meter << " meter:" << number;
            }
            std::ostringstream there;
            there << "flow-mod cmd=add,table=0,prio=200 eth_type=0x800,ip_proto=6,ip_src=" << client
                  << ",ip_dst=" << m_ip << ",tcp_src=" << port << ",tcp_dst=" << m_tcpPort
                  << meter.str() << " apply:set_field=eth_dst:" << server.mac
                  << ",set_field=ip_dst:" << server.ip << ",output=" << server.port;
            DpctlExecute(swtch, there.str());
            std::ostringstream back;
            back << "flow-mod cmd=add,table=0,prio=200 eth_type=0x800,ip_proto=6,ip_src="
                 << server.ip << ",ip_dst=" << client << ",tcp_src=" << m_tcpPort
                 << ",tcp_dst=" << port << " apply:set_field=eth_src:" << m_mac
                 << ",set_field=ip_src:" << m_ip << ",group=1";
            DpctlExecute(swtch, back.str());
        }
        // The packet takes the way of the new entry.
        ofl_action_output table{{OFPAT_OUTPUT, 0}, OFPP_TABLE, 0};
        ofl_action_header* action = &table.header;
        ofl_msg_packet_out out{};
        out.header.type = OFPT_PACKET_OUT;
        out.buffer_id = msg->buffer_id;
        out.in_port = Get<uint32_t>(msg, OXM_OF_IN_PORT);
        out.actions_num = 1;
        out.actions = &action;
        out.data_length = msg->buffer_id == NO_BUFFER ? msg->data_length : 0;
        out.data = msg->data;
        SendToSwitch(swtch, &out.header);
    }

    bool m_meter{false};
    bool m_aggregate{true};
    DataRate m_rate;
    Ipv4Address m_ip;
    uint16_t m_tcpPort{9};
    Mac48Address m_mac;
    std::map<std::string, size_t> m_connections;
};

NS_OBJECT_ENSURE_REGISTERED(QosController);

struct Result
{
    // Bits a second of each connection, and of all.
    std::vector<double> rates;
    double total{0};
    // Connections of each server.
    std::vector<uint32_t> balance;
    uint64_t drops{0};
};

// Clients send for some seconds as fast as they can.
static Result
Play(bool aggregate, bool meter, uint32_t nClients)
{
    const double SECONDS = 12;
    const double BEGIN = 2;
    NodeContainer servers(2);
    NodeContainer switches(3);
    NodeContainer clients(nClients);
    CsmaHelper fast;
    fast.SetChannelAttribute("DataRate", StringValue("100Mbps"));
    CsmaHelper slow;
    slow.SetChannelAttribute("DataRate", StringValue("10Mbps"));
    NetDeviceContainer ports[3];
    NetDeviceContainer serverDevices;
    NetDeviceContainer clientDevices;
    auto join = [](CsmaHelper& csma, Ptr<Node> a, Ptr<Node> b, NetDeviceContainer& to,
                   NetDeviceContainer& other) {
        NetDeviceContainer link = csma.Install(NodeContainer(a, b));
        to.Add(link.Get(0));
        other.Add(link.Get(1));
    };
    Ptr<Node> border = switches.Get(0);
    Ptr<Node> aggregation = switches.Get(1);
    Ptr<Node> access = switches.Get(2);
    join(slow, border, aggregation, ports[0], ports[1]);
    join(slow, border, aggregation, ports[0], ports[1]);
    for (uint32_t i = 0; i < servers.GetN(); i++)
    {
        join(fast, border, servers.Get(i), ports[0], serverDevices);
    }
    join(fast, aggregation, access, ports[1], ports[2]);
    for (uint32_t i = 0; i < nClients; i++)
    {
        join(fast, access, clients.Get(i), ports[2], clientDevices);
    }

    Ptr<OFSwitch13InternalHelper> qos = CreateObject<OFSwitch13InternalHelper>();
    Ptr<QosController> controller = CreateObject<QosController>();
    controller->SetAttribute("LinkAggregation", BooleanValue(aggregate));
    controller->SetAttribute("EnableMeter", BooleanValue(meter));
    qos->InstallController(CreateObject<Node>(), controller);
    Ptr<OFSwitch13Device> borderDevice = qos->InstallSwitch(border, ports[0]);
    controller->aggregation = qos->InstallSwitch(aggregation, ports[1])->GetDatapathId();
    qos->CreateOpenFlowChannels();
    Ptr<OFSwitch13InternalHelper> learning = CreateObject<OFSwitch13InternalHelper>();
    learning->InstallController(CreateObject<Node>());
    learning->InstallSwitch(access, ports[2]);
    learning->CreateOpenFlowChannels();

    InternetStackHelper internet;
    internet.Install(servers);
    internet.Install(clients);
    Ipv4AddressHelper addresses("10.1.0.0", "255.255.0.0", "0.0.1.2");
    Ipv4InterfaceContainer serverAddresses = addresses.Assign(serverDevices);
    addresses.SetBase("10.1.0.0", "255.255.0.0", "0.0.2.1");
    addresses.Assign(clientDevices);
    for (uint32_t i = 0; i < servers.GetN(); i++)
    {
        controller->servers.push_back({serverAddresses.GetAddress(i),
                                       Mac48Address::ConvertFrom(serverDevices.Get(i)->GetAddress()),
                                       3 + i,
                                       0});
    }

    // Each client sends to a port of its own at the service, and each server has sinks for all.
    PacketSinkHelper sinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
    ApplicationContainer sinks = sinkHelper.Install(servers);
    sinks.Start(Seconds(0));
    std::map<Address, uint64_t> received;
    Callback<void, Ptr<const Packet>, const Address&> count(
        [&received](Ptr<const Packet> packet, const Address& from) {
            received[from] += packet->GetSize();
        });
    for (uint32_t i = 0; i < sinks.GetN(); i++)
    {
        sinks.Get(i)->TraceConnectWithoutContext("Rx", count);
    }
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address("10.1.1.1"), 9));
    ApplicationContainer senders = bulk.Install(clients);
    for (uint32_t i = 0; i < senders.GetN(); i++)
    {
        senders.Get(i)->SetStartTime(Seconds(BEGIN) + MilliSeconds(50 * i));
    }
    senders.Stop(Seconds(BEGIN + SECONDS));
    Simulator::Stop(Seconds(BEGIN + SECONDS));
    Simulator::Run();

    Result result;
    for (const auto& [from, bytes] : received)
    {
        result.rates.push_back(8 * bytes / SECONDS);
        result.total += result.rates.back();
    }
    for (const QosController::Server& server : controller->servers)
    {
        result.balance.push_back(server.connections);
    }
    result.drops = borderDevice->GetDropCounter();
    Simulator::Destroy();
    std::cout << (aggregate ? "two links" : "one link") << (meter ? ", meters: " : ": ")
              << result.total / 1e6 << " Mb/s of " << result.rates.size() << " connections"
              << std::endl;
    return result;
}

int
main(int argc, char** argv)
{
    uint32_t nClients = 8;
    CommandLine cmd;
    cmd.AddValue("clients", "how many clients there are", nClients);
    cmd.Parse(argc, argv);
    // A segment of the usual size; ns-3's own default is 536 bytes.
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Result both = Play(true, false, nClients);
    Check(both.rates.size() == nClients, "every client is connected");
    Check(both.balance[0] == nClients / 2 && both.balance[1] == nClients - nClients / 2,
          "the servers have as many connections each");
    Check(both.total > 14e6 && both.total < 20e6, "two links carry about 20 Mb/s");
    Result one = Play(false, false, nClients);
    Check(one.total > 7e6 && one.total < 10e6, "one link carries about 10 Mb/s");
    Result metered = Play(true, true, nClients);
    for (double rate : metered.rates)
    {
        Check(rate <= 256e3 * 1.06 && rate > 64e3, "a meter holds its connection: " +
                                                        std::to_string(int(rate / 1000)) + " kb/s");
    }
    Check(metered.drops > both.drops, "by dropping");
    return 0;
}
