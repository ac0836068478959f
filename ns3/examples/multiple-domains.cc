// Two hosts and two switches in a line, each switch with a controller of its own.
#include "check.h"

using namespace ns3;

int
main(int argc, char** argv)
{
    CommandLine cmd;
    cmd.Parse(argc, argv);
    Line line(2);
    OFSwitch13DeviceContainer devices;
    std::vector<Ptr<OFSwitch13InternalHelper>> domains;
    for (uint32_t i = 0; i < 2; i++)
    {
        Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
        of13->InstallController(CreateObject<Node>());
        devices.Add(of13->InstallSwitch(line.switches.Get(i), line.ports[i]));
        of13->CreateOpenFlowChannels();
        domains.push_back(of13);
    }
    line.Ping(5.5);
    Simulator::Stop(Seconds(6));
    Simulator::Run();
    Check(line.replies == 5, "5 of 5 pings are answered");
    for (auto device = devices.Begin(); device != devices.End(); ++device)
    {
        Check((*device)->GetNControllers() == 1 && (*device)->GetPacketInCounter() >= 2,
              "each controller served its switch");
    }
    Simulator::Destroy();
    return 0;
}
