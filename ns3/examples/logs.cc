// What --verbose of a script enables: each part of the module has a log, and says what it does.
#include "check.h"

#include <cstdio>
#include <sstream>

using namespace ns3;

int
main(int argc, char** argv)
{
    bool verbose = true;
    CommandLine cmd;
    cmd.AddValue("verbose", "log what each part does", verbose);
    cmd.Parse(argc, argv);
    // Those of a script whose controllers are in the simulation.
    const std::vector<std::string> components{"OFSwitch13Controller",
                                              "OFSwitch13Device",
                                              "OFSwitch13Helper",
                                              "OFSwitch13Interface",
                                              "OFSwitch13InternalHelper",
                                              "OFSwitch13LearningController",
                                              "OFSwitch13Port",
                                              "OFSwitch13PriorityQueue",
                                              "OFSwitch13Queue",
                                              "OFSwitch13SocketHandler",
                                              "OFSwitch13StatsCalculator"};
    if (verbose)
    {
        for (const std::string& component : components)
        {
            LogComponentEnable(component.c_str(), LogLevel(LOG_LEVEL_ALL | LOG_PREFIX_FUNC));
        }
        LogComponentEnable("OFSwitch13ExternalHelper", LOG_LEVEL_ALL);
    }
    std::ostringstream log;
    std::streambuf* before = std::clog.rdbuf(log.rdbuf());
    Line line(2);
    Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
    of13->InstallController(CreateObject<Node>());
    of13->InstallSwitch(line.switches.Get(0), line.ports[0]);
    of13->InstallSwitch(line.switches.Get(1), line.ports[1]);
    of13->CreateOpenFlowChannels();
    std::string folder = SystemPath::MakeTemporaryDirectoryName();
    SystemPath::MakeDirectories(folder);
    of13->EnableDatapathStats(folder + "/logs");
    line.Ping(3);
    Simulator::Stop(Seconds(4));
    Simulator::Run();
    Simulator::Destroy();
    std::clog.rdbuf(before);
    for (const std::string& file : SystemPath::ReadFiles(folder))
    {
        std::remove((folder + "/" + file).c_str());
    }
    std::remove(folder.c_str());
    Check(line.replies == 2, "2 pings");
    for (const std::string& component : components)
    {
        bool speaks = log.str().find(component + ":") != std::string::npos;
        Check(speaks == verbose, component + (verbose ? " logs" : " is silent"));
    }
    return 0;
}
