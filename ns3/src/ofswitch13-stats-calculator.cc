// Averages and counts of a switch, a row of a file for each interval.
#include "ns3/ofswitch13-stats-calculator.h"

#include <cmath>
#include <iomanip>

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/ofswitch13-device.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(OFSwitch13StatsCalculator);

namespace
{
const int COLUMN = 8;
// The columns, as OFSwitch13 names them.
const char* const COLUMNS[] = {"Time:s",  "Load:kbps", "Load:%",  "Packets", "Dly:us",  "LdDrops",
                               "MtDrops", "TbDrops",   "FloMods", "MetMods", "GroMods", "PktsIn",
                               "PktsOut", "SFlows",    "FloAU:%", "NMeters", "MetU:%",  "NGroups",
                               "GroU:%"};

// A part of a size, in percent.
uint32_t
Usage(double part, double size)
{
    return size > 0 ? std::round(100 * part / size) : 0;
}
} // namespace

TypeId
OFSwitch13StatsCalculator::GetTypeId()
{
    using Self = OFSwitch13StatsCalculator;
    static TypeId tid = TypeId("ns3::OFSwitch13StatsCalculator")
                            .SetParent<Object>()
                            .SetGroupName("OFSwitch13")
                            .AddConstructor<Self>()
                            .AddAttribute("EwmaAlpha",
                                          "The weight of a new value in an average.",
                                          DoubleValue(0.2),
                                          MakeDoubleAccessor(&Self::m_alpha),
                                          MakeDoubleChecker<double>(0, 1))
                            .AddAttribute("DumpTimeout",
                                          "The time between two rows of the file.",
                                          TimeValue(Seconds(1)),
                                          MakeTimeAccessor(&Self::m_interval),
                                          MakeTimeChecker(MilliSeconds(1)))
                            .AddAttribute("OutputFilename",
                                          "The file.",
                                          StringValue("ofswitch_stats.log"),
                                          MakeStringAccessor(&Self::m_name),
                                          MakeStringChecker())
                            .AddAttribute("FlowTableDetails",
                                          "Whether rows have the entries of each table.",
                                          BooleanValue(false),
                                          MakeBooleanAccessor(&Self::m_details),
                                          MakeBooleanChecker());
    return tid;
}

OFSwitch13StatsCalculator::~OFSwitch13StatsCalculator()
{
    m_rowEvent.Cancel();
}

void
OFSwitch13StatsCalculator::DoDispose()
{
    m_rowEvent.Cancel();
    m_device = nullptr;
    Object::DoDispose();
}

void
OFSwitch13StatsCalculator::HookSinks(Ptr<OFSwitch13Device> device)
{
    NS_ABORT_MSG_IF(m_device, "it follows a device already");
    Ptr<OFSwitch13StatsCalculator> self(this);
    m_device = PeekPointer(device);
    m_flows.resize(device->GetNPipelineTables());
    device->TraceConnectWithoutContext("DatapathTimeout",
                                       MakeCallback(&OFSwitch13StatsCalculator::Timeout, self));
    device->TraceConnectWithoutContext(
        "PipelinePacket",
        MakeCallback(&OFSwitch13StatsCalculator::PipelinePacket, self));
    device->TraceConnectWithoutContext("OverloadDrop",
                                       MakeCallback(&OFSwitch13StatsCalculator::OverloadDrop, self));
    m_file.open(m_name);
    NS_ABORT_MSG_IF(!m_file, m_name << " cannot be written");
    WriteHead();
    m_before = Count();
    m_rowEvent = Simulator::Schedule(m_interval, &OFSwitch13StatsCalculator::WriteRow, this);
}

void
OFSwitch13StatsCalculator::Average(double& average, double value) const
{
    average = m_alpha * value + (1 - m_alpha) * average;
}

void
OFSwitch13StatsCalculator::Timeout(Ptr<const OFSwitch13Device> device)
{
    Average(m_cpuLoad, device->GetCpuLoad());
    Average(m_delay, device->GetPipelineDelay().GetDouble());
    Average(m_sumFlows, device->GetSumFlowEntries());
    for (size_t table = 0; table < m_flows.size(); table++)
    {
        Average(m_flows[table], device->GetFlowTableEntries(table));
    }
    Average(m_groups, device->GetGroupEntries());
    Average(m_meters, device->GetMeterEntries());
}

void
OFSwitch13StatsCalculator::PipelinePacket(Ptr<const Packet>)
{
    m_packets++;
}

void
OFSwitch13StatsCalculator::OverloadDrop(Ptr<const Packet>)
{
    m_overloadDrops++;
}

OFSwitch13StatsCalculator::Counts
OFSwitch13StatsCalculator::Count() const
{
    Counts counts;
    counts.packets = m_packets;
    counts.overloadDrops = m_overloadDrops;
    counts.meterDrops = m_device->GetMeterDropCounter();
    counts.tableDrops = m_device->GetTableDropCounter();
    counts.flowMods = m_device->GetFlowModCounter();
    counts.meterMods = m_device->GetMeterModCounter();
    counts.groupMods = m_device->GetGroupModCounter();
    counts.packetIns = m_device->GetPacketInCounter();
    counts.packetOuts = m_device->GetPacketOutCounter();
    return counts;
}

void
OFSwitch13StatsCalculator::WriteHead()
{
    for (const char* column : COLUMNS)
    {
        m_file << std::setw(COLUMN + 2) << column;
    }
    if (m_details)
    {
        m_file << "  [NFlows:FloU:%|...]";
    }
    m_file << std::endl;
}

void
OFSwitch13StatsCalculator::WriteRow()
{
    Counts now = Count();
    auto put = [this](auto value) { m_file << ' ' << std::setw(COLUMN + 1) << value; };
    m_file << std::fixed << std::setprecision(3);
    put(Simulator::Now().GetSeconds());
    put(GetEwmaCpuLoad().GetBitRate() / 1000.0);
    put(GetAvgCpuUsage());
    put(now.packets - m_before.packets);
    put(m_delay / NanoSeconds(1000).GetDouble());
    put(now.overloadDrops - m_before.overloadDrops);
    put(now.meterDrops - m_before.meterDrops);
    put(now.tableDrops - m_before.tableDrops);
    put(now.flowMods - m_before.flowMods);
    put(now.meterMods - m_before.meterMods);
    put(now.groupMods - m_before.groupMods);
    put(now.packetIns - m_before.packetIns);
    put(now.packetOuts - m_before.packetOuts);
    put(GetEwmaSumFlowEntries());
    put(GetAvgActFlowTableUsage());
    put(GetEwmaMeterTableEntries());
    put(GetAvgMeterTableUsage());
    put(GetEwmaGroupTableEntries());
    put(GetAvgGroupTableUsage());
    if (m_details)
    {
        m_file << "  [";
        for (size_t table = 0; table < m_flows.size(); table++)
        {
            m_file << (table ? "|" : "") << GetEwmaFlowTableEntries(table) << ":"
                   << GetAvgFlowTableUsage(table);
        }
        m_file << "]";
    }
    m_file << std::endl;
    m_before = now;
    m_rowEvent = Simulator::Schedule(m_interval, &OFSwitch13StatsCalculator::WriteRow, this);
}

DataRate
OFSwitch13StatsCalculator::GetEwmaCpuLoad() const
{
    return DataRate(std::round(m_cpuLoad * m_device->GetCpuCapacity().GetBitRate()));
}

Time
OFSwitch13StatsCalculator::GetEwmaPipelineDelay() const
{
    return Time(m_delay);
}

uint32_t
OFSwitch13StatsCalculator::GetEwmaSumFlowEntries() const
{
    return std::round(m_sumFlows);
}

uint32_t
OFSwitch13StatsCalculator::GetEwmaFlowTableEntries(uint8_t table) const
{
    return std::round(m_flows.at(table));
}

uint32_t
OFSwitch13StatsCalculator::GetEwmaGroupTableEntries() const
{
    return std::round(m_groups);
}

uint32_t
OFSwitch13StatsCalculator::GetEwmaMeterTableEntries() const
{
    return std::round(m_meters);
}

uint32_t
OFSwitch13StatsCalculator::GetAvgCpuUsage() const
{
    return Usage(m_cpuLoad, 1);
}

uint32_t
OFSwitch13StatsCalculator::GetAvgFlowTableUsage(uint8_t table) const
{
    return Usage(m_flows.at(table), m_device->GetFlowTableSize());
}

uint32_t
OFSwitch13StatsCalculator::GetAvgActFlowTableUsage() const
{
    uint32_t active = 0;
    for (size_t table = 0; table < m_flows.size(); table++)
    {
        active += m_device->GetFlowTableEntries(table) > 0;
    }
    return Usage(m_sumFlows, static_cast<double>(active) * m_device->GetFlowTableSize());
}

uint32_t
OFSwitch13StatsCalculator::GetAvgGroupTableUsage() const
{
    return Usage(m_groups, m_device->GetGroupTableSize());
}

uint32_t
OFSwitch13StatsCalculator::GetAvgMeterTableUsage() const
{
    return Usage(m_meters, m_device->GetMeterTableSize());
}

} // namespace ns3
