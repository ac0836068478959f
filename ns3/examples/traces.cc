// What a switch tells of the packets that it drops, of its ports, and of each packet's path.
#include "check.h"
#include "ns3/object-ptr-container.h"

#include <cstdio>
#include <fstream>
#include <sstream>

using namespace ns3;

static std::map<uint32_t, uint32_t> g_meterDrops;
static std::map<uint32_t, uint32_t> g_tableDrops;

// Gives the switch packets of an Ethernet type, at once.
static void
Send(Ptr<OFSwitch13Device> device, uint8_t type, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
    {
        device->ReceiveFromSwitchPort(PacketOfType(type), 1);
    }
}

int
main(int argc, char** argv)
{
    CommandLine cmd;
    cmd.Parse(argc, argv);
    Line line(1);
    Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
    Ptr<OFSwitch13Controller> controller = CreateObject<OFSwitch13Controller>();
    of13->InstallController(CreateObject<Node>(), controller);
    Ptr<OFSwitch13Device> device = of13->InstallSwitch(line.switches.Get(0), line.ports[0]);
    of13->CreateOpenFlowChannels();
    std::string folder = SystemPath::MakeTemporaryDirectoryName();
    SystemPath::MakeDirectories(folder);
    ofs::EnableLibraryLog(true, folder + "/first");
    OFSwitch13Helper::EnableDatapathLogs(folder + "/paths");
    uint64_t id = device->GetDatapathId();
    controller->DpctlExecute(id, "meter-mod cmd=add,flags=2,meter=7 drop:rate=1");
    controller->DpctlExecute(id, "flow-mod cmd=add,table=0,prio=9 eth_type=0x88b5 goto:2");
    controller->DpctlExecute(id,
                             "flow-mod cmd=add,table=0,prio=9 eth_type=0x88b6 meter:7 "
                             "apply:output=2");
    device->TraceConnectWithoutContext(
        "MeterDrop",
        Callback<void, Ptr<const Packet>, uint32_t>(
            [](Ptr<const Packet>, uint32_t meter) { g_meterDrops[meter]++; }));
    device->TraceConnectWithoutContext(
        "TableDrop",
        Callback<void, Ptr<const Packet>, uint8_t>(
            [](Ptr<const Packet>, uint8_t table) { g_tableDrops[table]++; }));
    Simulator::Schedule(Seconds(1), Send, device, 0xb5, 3);
    Simulator::Schedule(Seconds(2), Send, device, 0xb6, 10);
    Simulator::Schedule(Seconds(3), Send, device, 0xb7, 2);
    Simulator::Stop(Seconds(4));
    Simulator::Run();
    Check(g_tableDrops == std::map<uint32_t, uint32_t>{{0, 2}, {2, 3}}, "each table that missed");
    Check(g_meterDrops == std::map<uint32_t, uint32_t>{{7, 9}}, "the meter lets one through");
    ObjectPtrContainerValue ports;
    device->GetAttribute("PortList", ports);
    Check(ports.GetN() == 2 && ports.Get(1)->GetObject<OFSwitch13Port>()->GetPortNo() == 2,
          "both ports are listed");
    std::string path = folder + "/paths.log";
    std::ostringstream paths;
    paths << std::ifstream(path).rdbuf();
    std::remove(path.c_str());
    Check(std::remove((folder + "/first-ofsoftswitch13.log").c_str()) == 0,
          "the log has the name of OFSwitch13's, until another one is opened");
    std::remove(folder.c_str());
    Check(paths.str().find("+3.00002s switch " + std::to_string(id) + " port 1") != std::string::npos,
          "the log has the time, the switch and the port");
    Check(paths.str().find("no entry of the table matches") != std::string::npos,
          "and why a packet ends");
    Simulator::Destroy();
    return 0;
}
