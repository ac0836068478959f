// A switch with attributes of its own: a slow CPU drops, a slow TCAM delays, small tables refuse.
#include "check.h"
#include "ns3/udp-client-server-helper.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace ns3;

static uint32_t g_overload = 0;
static uint32_t g_pipeline = 0;
static uint32_t g_refused = 0;

class Full : public OFSwitch13LearningController
{
    ofl_err HandleError(struct ofl_msg_error* msg, Ptr<const RemoteSwitch>, uint32_t) override
    {
        g_refused += msg->type == OFPET_FLOW_MOD_FAILED;
        ofl_msg_free(&msg->header, nullptr);
        return 0;
    }
};

// The rows of a file with a head, by column.
static std::map<std::string, std::vector<double>>
Columns(const std::string& path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    std::istringstream head(line);
    std::vector<std::string> names{std::istream_iterator<std::string>(head), {}};
    std::map<std::string, std::vector<double>> columns;
    while (std::getline(file, line))
    {
        std::istringstream row(line);
        for (const std::string& name : names)
        {
            double value = std::nan("");
            row >> value;
            columns[name].push_back(value);
        }
    }
    return columns;
}

static double
Sum(const std::vector<double>& values)
{
    double sum = 0;
    for (double value : values)
    {
        sum += value;
    }
    return sum;
}

int
main(int argc, char** argv)
{
    std::string capacity = "2Mb/s";
    uint32_t tables = 3;
    uint32_t entries = 8;
    CommandLine cmd;
    cmd.AddValue("capacity", "bits a second of the CPU", capacity);
    cmd.AddValue("tables", "number of tables", tables);
    cmd.AddValue("entries", "entries of a table", entries);
    cmd.Parse(argc, argv);
    Line line(1);
    Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
    of13->SetDeviceAttribute("CpuCapacity", DataRateValue(DataRate(capacity)));
    of13->SetDeviceAttribute("PipelineTables", UintegerValue(tables));
    of13->SetDeviceAttribute("FlowTableSize", UintegerValue(entries));
    of13->SetDeviceAttribute("TcamDelay", TimeValue(MicroSeconds(100)));
    Ptr<OFSwitch13Controller> controller = CreateObject<Full>();
    of13->InstallController(CreateObject<Node>(), controller);
    Ptr<OFSwitch13Device> device = of13->InstallSwitch(line.switches.Get(0), line.ports[0]);
    of13->CreateOpenFlowChannels();
    device->TraceConnectWithoutContext(
        "OverloadDrop",
        Callback<void, Ptr<const Packet>>([](Ptr<const Packet>) { g_overload++; }));
    device->TraceConnectWithoutContext(
        "PipelinePacket",
        Callback<void, Ptr<const Packet>>([](Ptr<const Packet>) { g_pipeline++; }));
    uint64_t id = device->GetDatapathId();
    std::string prefix = SystemPath::MakeTemporaryDirectoryName();
    SystemPath::MakeDirectories(prefix);
    of13->EnableDatapathStats(prefix + "/custom");
    Ptr<OFSwitch13StatsCalculator> stats = CreateObject<OFSwitch13StatsCalculator>();
    stats->SetAttribute("OutputFilename", StringValue(prefix + "/kept"));
    stats->HookSinks(device);
    for (uint32_t i = 0; i < 20; i++)
    {
        controller->DpctlExecute(id,
                                 "flow-mod cmd=add,table=1,prio=" + std::to_string(i + 1) +
                                     " in_port=1 apply:output=2");
    }
    controller->DpctlExecute(id, "flow-mod cmd=add,table=" + std::to_string(tables) + " goto:4");
    // 4 Mb/s of UDP for 10 s through a CPU of 2 Mb/s: 500 packets of 1,000 bytes each second.
    UdpServerHelper server(9);
    server.Install(line.hosts.Get(1)).Start(Seconds(0));
    UdpClientHelper client(line.interfaces.GetAddress(1), 9);
    client.SetAttribute("MaxPackets", UintegerValue(5000));
    client.SetAttribute("Interval", TimeValue(MilliSeconds(2)));
    client.SetAttribute("PacketSize", UintegerValue(958));
    ApplicationContainer clients = client.Install(line.hosts.Get(0));
    clients.Start(Seconds(1));
    clients.Stop(Seconds(11));
    Simulator::Stop(Seconds(12));
    Simulator::Run();
    uint64_t received = server.GetServer()->GetReceived();
    std::cout << received << " received, " << g_overload << " dropped, " << g_refused
              << " refused" << std::endl;
    Check(g_refused == 13, "12 entries over the size of the table, and a table that is not there");
    Check(device->GetPipelineDelay() == MicroSeconds(400), "4 steps of 100 us for 11 entries");
    // The bucket begins full, with 1 s, and gets 10 s of 2 Mb/s: 22 Mb, 2,750 packets of 8,000 bits.
    Check(received >= 2680 && received <= 2760, "the CPU lets through what it can");
    Check(g_overload + g_pipeline >= 5000 && g_overload >= 2240, "and drops the rest");
    std::string path = prefix + "/custom-" + std::to_string(id) + ".log";
    auto columns = Columns(path);
    std::ifstream file(path);
    std::string head;
    std::getline(file, head);
    Check(head == "  TimeSec      LoaKbps LoaUsag Packets DlyUsec LoaDrop MetDrps TabDrps FloMods"
                  " MetMods GroMods  PktsIn PktsOut FloEntr FloUsag MetEntr MetUsag GroEntr GroUsag"
                  " BufPkts BufUsag",
          "the columns of OFSwitch13");
    std::remove(path.c_str());
    std::remove((prefix + "/kept").c_str());
    Check(stats->GetAvgFlowTableUsage(1) > 0, "a script may ask for statistics");
    std::remove(prefix.c_str());
    Check(columns["TimeSec"].size() == 11 && columns["TimeSec"].front() == 1,
          "a row of statistics for each second");
    Check(Sum(columns["LoaDrop"]) == g_overload && Sum(columns["Packets"]) == g_pipeline,
          "its rows have all packets");
    Check(Sum(columns["FloMods"]) >= 22 && Sum(columns["PktsIn"]) == device->GetPacketInCounter(),
          "and messages");
    Check(columns["LoaUsag"].at(8) >= 99 && columns["LoaUsag"].at(8) <= 101, "the CPU is busy");
    Check(columns["FloUsag"].back() == 69 && columns["DlyUsec"].back() == 400,
          "11 of the 16 entries of tables that are used");
    Ptr<OFSwitch13StatsCalculator> own = device->GetObject<OFSwitch13StatsCalculator>();
    Check(own && own->GetEwmaSumFlowEntries() > 0, "a switch has those of its file");
    device = nullptr;
    Simulator::Destroy();
    Check(own->GetReferenceCount() == 1, "which nothing else keeps then");
    Check(stats->GetAvgFlowTableUsage(1) == 0, "which outlive their switch");
    return 0;
}
