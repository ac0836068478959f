// Switches in a line, hosts at random ones, and a controller that is a program of this machine, which
// a TAP interface leads to: each host pings another one. The simulation runs in real time.
#include "check.h"

#include <csignal>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ns3/random-variable-stream.h"

using namespace ns3;

// Starts a program; it ends with `End`.
static pid_t
Start(const std::string& command)
{
    pid_t child = fork();
    if (child == 0)
    {
        execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
        _exit(127);
    }
    return child;
}

static void
End(pid_t child)
{
    kill(child, SIGTERM);
    waitpid(child, nullptr, 0);
}

// Whether a program listens at an address, within five seconds.
static bool
IsListening(Ipv4Address address, uint16_t port)
{
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    place.sin_addr.s_addr = htonl(address.Get());
    for (int i = 0; i < 500; i++)
    {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool connected = connect(fd, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0;
        close(fd);
        if (connected)
        {
            return true;
        }
        usleep(10000);
    }
    return false;
}

static uint32_t g_replies = 0;

static void
Reply(Time)
{
    g_replies++;
}

int
main(int argc, char** argv)
{
    uint32_t nSwitches = 3;
    uint32_t nHosts = 4;
    std::string controller = "ovs-testcontroller --unixctl=none ptcp:6653";
    CommandLine cmd;
    cmd.AddValue("switches", "how many switches", nSwitches);
    cmd.AddValue("hosts", "how many hosts", nHosts);
    cmd.AddValue("controller", "the controller's command; it listens at TCP port 6653", controller);
    cmd.Parse(argc, argv);
    GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RealtimeSimulatorImpl"));

    NodeContainer switches(nSwitches);
    NodeContainer hosts(nHosts);
    std::vector<NetDeviceContainer> ports(nSwitches);
    CsmaHelper csma;
    csma.SetChannelAttribute("DataRate", StringValue("100Mbps"));
    csma.SetChannelAttribute("Delay", TimeValue(MicroSeconds(2)));
    for (uint32_t i = 1; i < nSwitches; i++)
    {
        NetDeviceContainer link = csma.Install(NodeContainer(switches.Get(i - 1), switches.Get(i)));
        ports[i - 1].Add(link.Get(0));
        ports[i].Add(link.Get(1));
    }
    Ptr<UniformRandomVariable> random = CreateObject<UniformRandomVariable>();
    NetDeviceContainer devices;
    for (uint32_t i = 0; i < nHosts; i++)
    {
        uint32_t at = random->GetInteger(0, nSwitches - 1);
        NetDeviceContainer link = csma.Install(NodeContainer(hosts.Get(i), switches.Get(at)));
        devices.Add(link.Get(0));
        ports[at].Add(link.Get(1));
    }
    InternetStackHelper internet;
    internet.Install(hosts);
    Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);

    Ptr<OFSwitch13ExternalHelper> of13 = CreateObject<OFSwitch13ExternalHelper>();
    Ptr<NetDevice> end = of13->InstallExternalController(CreateObject<Node>());
    Ptr<Ipv4> stack = end->GetNode()->GetObject<Ipv4>();
    int32_t interface = stack->GetInterfaceForDevice(end);
    Check(stack->GetAddress(interface, 0).GetLocal() == of13->GetControllerAddress(),
          "a TAP bridge finds the controller's address at its device");
    for (uint32_t i = 0; i < nSwitches; i++)
    {
        of13->InstallSwitch(switches.Get(i), ports[i]);
    }
    of13->CreateOpenFlowChannels();
    of13->OpenTap("ctrl");
    Check(stack->GetNAddresses(interface) == 0, "which this machine has then");

    for (uint32_t i = 0; i < nHosts; i++)
    {
        // Any host but itself.
        uint32_t to = (i + random->GetInteger(1, nHosts - 1)) % nHosts;
        ApplicationContainer ping =
            InstallPing(hosts.Get(i), interfaces.GetAddress(to), MakeCallback(&Reply));
        ping.Start(Seconds(2));
        ping.Stop(Seconds(4.5));
    }

    pid_t program = Start(controller);
    bool listens = IsListening(of13->GetControllerAddress(), 6653);
    if (listens)
    {
        Simulator::Stop(Seconds(5));
        Simulator::Run();
    }
    End(program);
    Simulator::Destroy();
    Check(listens, "the controller listens: " + controller);
    Check(g_replies == 3 * nHosts,
          std::to_string(g_replies) + " of " + std::to_string(3 * nHosts) + " pings are answered, " +
              std::to_string(nHosts) + " hosts, " + std::to_string(nSwitches) + " switches");
    return 0;
}
