// Two hosts and two switches in a line, with one controller for both.
#include "check.h"

using namespace ns3;

int
main(int argc, char** argv)
{
    CommandLine cmd;
    cmd.Parse(argc, argv);
    for (auto type : {OFSwitch13Helper::SINGLECSMA,
                      OFSwitch13Helper::DEDICATEDCSMA,
                      OFSwitch13Helper::DEDICATEDP2P})
    {
        Line line(2);
        Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
        of13->SetChannelType(type);
        of13->InstallController(CreateObject<Node>());
        Ptr<OFSwitch13Device> first = of13->InstallSwitch(line.switches.Get(0), line.ports[0]);
        Ptr<OFSwitch13Device> second = of13->InstallSwitch(line.switches.Get(1), line.ports[1]);
        of13->CreateOpenFlowChannels();
        line.Ping(5.5);
        Simulator::Stop(Seconds(6));
        Simulator::Run();
        Check(line.replies == 5, "5 of 5 pings are answered, channel type " + std::to_string(type));
        Check(first->GetSumFlowEntries() == 3 && second->GetSumFlowEntries() == 3,
              "both switches learned");
        Simulator::Destroy();
    }
    return 0;
}
