// Two hosts and one switch, whose controller learns addresses.
#include "check.h"

using namespace ns3;

int
main(int argc, char** argv)
{
    CommandLine cmd;
    cmd.Parse(argc, argv);
    Line line(1);
    Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
    Ptr<Node> controllerNode = CreateObject<Node>();
    of13->InstallController(controllerNode);
    Ptr<OFSwitch13Device> device = of13->InstallSwitch(line.switches.Get(0), line.ports[0]);
    of13->CreateOpenFlowChannels();
    line.Ping(5.5);
    Simulator::Stop(Seconds(6));
    Simulator::Run();
    Check(line.replies == 5, "5 of 5 pings are answered: " + std::to_string(line.replies));
    Check(device->GetSumFlowEntries() == 3, "the miss entry, and one for each direction");
    Check(device->GetPacketInCounter() >= 2, "the controller was asked");
    // 4 times 20 us in switches, as there are 3 entries, and what links take.
    Check(line.lastRtt > MicroSeconds(80) && line.lastRtt < MilliSeconds(1), "the delay is the TCAM's");
    Simulator::Destroy();
    return 0;
}
