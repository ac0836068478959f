// What the examples have in common: switches in a line with a host at each end, packets, and checks.
#ifndef CHECK_H
#define CHECK_H

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/csma-helper.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ofswitch13-module.h"

#if __has_include("ns3/ping-helper.h")
#include "ns3/ping-helper.h"
#else
#include "ns3/v4ping-helper.h"
#endif

inline void
Check(bool holds, const std::string& text)
{
    std::cout << (holds ? "ok: " : "FAILED: ") << text << std::endl;
    if (!holds)
    {
        std::exit(1);
    }
}

// A packet of 60 bytes, of an Ethernet type from 0x8800 on.
inline ns3::Ptr<ns3::Packet>
PacketOfType(uint8_t type)
{
    std::vector<uint8_t> frame(60);
    frame[12] = 0x88;
    frame[13] = type;
    return ns3::Create<ns3::Packet>(frame.data(), frame.size());
}

// Since 3.38 ns-3 has another application that pings, which says the number of the request, too.
inline void
PingReply(ns3::Callback<void, ns3::Time> reply, uint16_t, ns3::Time rtt)
{
    reply(rtt);
}

// A node pings an address once a second, and says how long each reply took.
inline ns3::ApplicationContainer
InstallPing(ns3::Ptr<ns3::Node> from, ns3::Ipv4Address to, ns3::Callback<void, ns3::Time> reply)
{
#if __has_include("ns3/ping-helper.h")
    ns3::ApplicationContainer pings = ns3::PingHelper(to).Install(from);
    pings.Get(0)->TraceConnectWithoutContext("Rtt", ns3::MakeBoundCallback(&PingReply, reply));
#else
    ns3::ApplicationContainer pings = ns3::V4PingHelper(to).Install(from);
    pings.Get(0)->TraceConnectWithoutContext("Rtt", reply);
#endif
    return pings;
}

// Switches in a line, of 100 Mb/s links; host 0 before the first, host 1 after the last.
class Line
{
  public:
    explicit Line(uint32_t nSwitches)
        : ports(nSwitches)
    {
        using namespace ns3;
        hosts.Create(2);
        switches.Create(nSwitches);
        CsmaHelper csma;
        csma.SetChannelAttribute("DataRate", StringValue("100Mbps"));
        csma.SetChannelAttribute("Delay", TimeValue(MicroSeconds(2)));
        for (uint32_t i = 0; i <= nSwitches; i++)
        {
            Ptr<Node> left = i == 0 ? hosts.Get(0) : switches.Get(i - 1);
            Ptr<Node> right = i == nSwitches ? hosts.Get(1) : switches.Get(i);
            NetDeviceContainer link = csma.Install(NodeContainer(left, right));
            for (uint32_t end = 0; end < 2; end++)
            {
                // Link i joins switch i - 1 and switch i.
                bool isHost = end == 0 ? i == 0 : i == nSwitches;
                if (isHost)
                {
                    devices.Add(link.Get(end));
                }
                else
                {
                    ports[end == 0 ? i - 1 : i].Add(link.Get(end));
                }
            }
        }
        InternetStackHelper internet;
        internet.Install(hosts);
        Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
        interfaces = addresses.Assign(devices);
    }

    // Host 0 pings host 1, once a second from second 1 on.
    void Ping(double untilSecond)
    {
        using namespace ns3;
        ApplicationContainer pings = InstallPing(hosts.Get(0),
                                                 interfaces.GetAddress(1),
                                                 MakeCallback(&Line::Reply, this));
        pings.Start(Seconds(1));
        pings.Stop(Seconds(untilSecond));
    }

    void Reply(ns3::Time rtt)
    {
        replies++;
        lastRtt = rtt;
    }

    ns3::NodeContainer hosts;
    ns3::NodeContainer switches;
    ns3::NetDeviceContainer devices;
    std::vector<ns3::NetDeviceContainer> ports;
    ns3::Ipv4InterfaceContainer interfaces;
    uint32_t replies{0};
    ns3::Time lastRtt;
};

#endif
