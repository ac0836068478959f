// Averages and counts of a switch, a row of a file for each interval.
#include "ns3/ofswitch13-stats-calculator.h"

#include <cmath>
#include <iomanip>
#include <iterator>

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/ofswitch13-device.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13StatsCalculator");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13StatsCalculator);

namespace
{
const int COLUMN = 7;
// The time and the load have more digits.
const int TIME_COLUMN = 8;
const int LOAD_COLUMN = 12;
// The columns, as OFSwitch13 names them.
const char* const COLUMNS[] = {"TimeSec", "LoaKbps", "LoaUsag", "Packets", "DlyUsec",
                               "LoaDrop", "MetDrps", "TabDrps", "FloMods", "MetMods",
                               "GroMods", "PktsIn",  "PktsOut", "FloEntr", "FloUsag",
                               "MetEntr", "MetUsag", "GroEntr", "GroUsag", "BufPkts",
                               "BufUsag"};

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
    m_dpId = 0;
    // A switch and its part would keep each other for ever.
    if (Ptr<OFSwitch13Device> device = GetObject<OFSwitch13Device>())
    {
        Connect(*device, false);
    }
    m_file.close();
    Object::DoDispose();
}

Ptr<OFSwitch13Device>
OFSwitch13StatsCalculator::GetDevice() const
{
    return OFSwitch13Device::GetDevice(m_dpId);
}

void
OFSwitch13StatsCalculator::Connect(OFSwitch13Device& device, bool on)
{
    using Self = OFSwitch13StatsCalculator;
    Ptr<Self> self(this);
    auto sink = [&device, on](const char* source, const CallbackBase& callback) {
        on ? device.TraceConnectWithoutContext(source, callback)
           : device.TraceDisconnectWithoutContext(source, callback);
    };
    sink("DatapathTimeout", MakeCallback(&Self::Timeout, self));
    sink("PipelinePacket", MakeCallback(&Self::PipelinePacket, self));
    sink("OverloadDrop", MakeCallback(&Self::OverloadDrop, self));
}

void
OFSwitch13StatsCalculator::HookSinks(Ptr<OFSwitch13Device> device)
{
    NS_ABORT_MSG_IF(m_dpId, "it follows a device already");
    m_dpId = device->GetDatapathId();
    m_flows.resize(device->GetNPipelineTables());
    Connect(*device, true);
    m_file.open(m_name);
    NS_ABORT_MSG_IF(!m_file, m_name << " cannot be written");
    WriteHead();
    m_before = Count(*device);
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
    Average(m_cpuLoad, device->GetCpuLoad().GetBitRate());
    Average(m_delay, device->GetPipelineDelay().GetDouble());
    Average(m_sumFlows, device->GetSumFlowEntries());
    for (size_t table = 0; table < m_flows.size(); table++)
    {
        Average(m_flows[table], device->GetFlowTableEntries(table));
    }
    Average(m_groups, device->GetGroupTableEntries());
    Average(m_meters, device->GetMeterTableEntries());
    Average(m_buffers, device->GetBufferEntries());
}

void
OFSwitch13StatsCalculator::PipelinePacket(Ptr<const Packet> packet)
{
    m_bits += 8 * static_cast<uint64_t>(packet->GetSize());
    m_packets++;
}

void
OFSwitch13StatsCalculator::OverloadDrop(Ptr<const Packet>)
{
    m_overloadDrops++;
}

OFSwitch13StatsCalculator::Counts
OFSwitch13StatsCalculator::Count(const OFSwitch13Device& device) const
{
    Counts counts;
    counts.bits = m_bits;
    counts.packets = m_packets;
    counts.overloadDrops = m_overloadDrops;
    counts.meterDrops = device.GetMeterDropCounter();
    counts.tableDrops = device.GetTableDropCounter();
    counts.flowMods = device.GetFlowModCounter();
    counts.meterMods = device.GetMeterModCounter();
    counts.groupMods = device.GetGroupModCounter();
    counts.packetIns = device.GetPacketInCounter();
    counts.packetOuts = device.GetPacketOutCounter();
    return counts;
}

void
OFSwitch13StatsCalculator::WriteHead()
{
    for (size_t i = 0; i < std::size(COLUMNS); i++)
    {
        int width = i == 0 ? TIME_COLUMN : i == 1 ? LOAD_COLUMN : COLUMN;
        m_file << ' ' << std::setw(width) << COLUMNS[i];
    }
    for (size_t table = 0; m_details && table < m_flows.size(); table++)
    {
        std::string name = "T" + std::to_string(table);
        m_file << ' ' << std::setw(COLUMN) << name + "Entr" << ' ' << std::setw(COLUMN)
               << name + "Usag";
    }
    m_file << std::endl;
}

void
OFSwitch13StatsCalculator::WriteRow()
{
    Ptr<OFSwitch13Device> device = GetDevice();
    if (!device)
    {
        return;
    }
    Counts now = Count(*device);
    WriteColumns(*device, now);
    NS_LOG_DEBUG("a row of " << m_name);
    m_before = now;
    m_rowEvent = Simulator::Schedule(m_interval, &OFSwitch13StatsCalculator::WriteRow, this);
}

void
OFSwitch13StatsCalculator::WriteColumns(const OFSwitch13Device& device, const Counts& now)
{
    auto put = [this](auto value) { m_file << ' ' << std::setw(COLUMN) << value; };
    double load = (now.bits - m_before.bits) / m_interval.GetSeconds();
    m_file << std::fixed << std::setprecision(3);
    m_file << ' ' << std::setw(TIME_COLUMN) << Simulator::Now().GetSeconds() << ' '
           << std::setw(LOAD_COLUMN) << load / 1000;
    put(Usage(load, device.GetCpuCapacity().GetBitRate()));
    put(now.packets - m_before.packets);
    put(GetEwmaPipelineDelay().GetMicroSeconds());
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
    put(GetEwmaBufferEntries());
    put(GetAvgBufferUsage());
    for (size_t table = 0; m_details && table < m_flows.size(); table++)
    {
        put(GetEwmaFlowTableEntries(table));
        put(GetAvgFlowTableUsage(table));
    }
    m_file << std::endl;
}

DataRate
OFSwitch13StatsCalculator::GetEwmaCpuLoad() const
{
    return DataRate(std::round(m_cpuLoad));
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
OFSwitch13StatsCalculator::GetEwmaBufferEntries() const
{
    return std::round(m_buffers);
}

uint32_t
OFSwitch13StatsCalculator::GetAvgBufferUsage() const
{
    Ptr<OFSwitch13Device> device = GetDevice();
    return device ? Usage(m_buffers, device->GetBufferSize()) : 0;
}

uint32_t
OFSwitch13StatsCalculator::GetAvgCpuUsage() const
{
    Ptr<OFSwitch13Device> device = GetDevice();
    return device ? Usage(m_cpuLoad, device->GetCpuCapacity().GetBitRate()) : 0;
}

uint32_t
OFSwitch13StatsCalculator::GetAvgFlowTableUsage(uint8_t table) const
{
    Ptr<OFSwitch13Device> device = GetDevice();
    return device ? Usage(m_flows.at(table), device->GetFlowTableSize(table)) : 0;
}

uint32_t
OFSwitch13StatsCalculator::GetAvgActFlowTableUsage() const
{
    double size = 0;
    Ptr<OFSwitch13Device> device = GetDevice();
    for (size_t table = 0; device && table < m_flows.size(); table++)
    {
        size += device->GetFlowTableEntries(table) ? device->GetFlowTableSize(table) : 0;
    }
    return Usage(m_sumFlows, size);
}

uint32_t
OFSwitch13StatsCalculator::GetAvgGroupTableUsage() const
{
    Ptr<OFSwitch13Device> device = GetDevice();
    return device ? Usage(m_groups, device->GetGroupTableSize()) : 0;
}

uint32_t
OFSwitch13StatsCalculator::GetAvgMeterTableUsage() const
{
    Ptr<OFSwitch13Device> device = GetDevice();
    return device ? Usage(m_meters, device->GetMeterTableSize()) : 0;
}

} // namespace ns3
