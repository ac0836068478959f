// How full the tables of a switch are, and how busy it is.
#include "ns3/ofswitch13-device.h"

namespace ns3
{

namespace
{
// A part of a size, from 0; 0 of nothing.
double
Part(double part, double size)
{
    return size > 0 ? part / size : 0;
}
} // namespace

uint32_t
OFSwitch13Device::GetSumFlowEntries() const
{
    return m_flowEntries;
}

Time
OFSwitch13Device::GetPipelineDelay() const
{
    return m_pipelineDelay;
}

Time
OFSwitch13Device::GetDatapathTimeout() const
{
    return m_timeout;
}

DataRate
OFSwitch13Device::GetCpuCapacity() const
{
    return m_cpuCapacity;
}

DataRate
OFSwitch13Device::GetCpuLoad() const
{
    return m_cpuLoad;
}

double
OFSwitch13Device::GetCpuUsage() const
{
    return Part(GetCpuLoad().GetBitRate(), m_cpuCapacity.GetBitRate());
}

uint32_t
OFSwitch13Device::GetNPipelineTables() const
{
    return m_pipelineTables;
}

uint32_t
OFSwitch13Device::GetFlowTableEntries(uint8_t table) const
{
    uint32_t entries = 0;
    bofuss_get_table_entries(m_switch, table, &entries);
    return entries;
}

uint32_t
OFSwitch13Device::GetFlowTableSize(uint8_t table) const
{
    return table < m_pipelineTables ? m_flowTableSize : 0;
}

uint32_t
OFSwitch13Device::GetDftFlowTableSize() const
{
    return m_flowTableSize;
}

double
OFSwitch13Device::GetFlowTableUsage(uint8_t table) const
{
    return Part(GetFlowTableEntries(table), GetFlowTableSize(table));
}

uint32_t
OFSwitch13Device::GetGroupTableEntries() const
{
    return GetUsage().groups;
}

uint32_t
OFSwitch13Device::GetGroupTableSize() const
{
    return m_groupTableSize;
}

double
OFSwitch13Device::GetGroupTableUsage() const
{
    return Part(GetGroupTableEntries(), m_groupTableSize);
}

uint32_t
OFSwitch13Device::GetMeterTableEntries() const
{
    return GetUsage().meters;
}

uint32_t
OFSwitch13Device::GetMeterTableSize() const
{
    return m_meterTableSize;
}

double
OFSwitch13Device::GetMeterTableUsage() const
{
    return Part(GetMeterTableEntries(), m_meterTableSize);
}

bofuss_usage
OFSwitch13Device::GetUsage() const
{
    bofuss_usage usage{};
    bofuss_get_usage(m_switch, &usage);
    return usage;
}

uint64_t
OFSwitch13Device::GetDropCounter() const
{
    return GetUsage().drops;
}

uint64_t
OFSwitch13Device::GetMeterDropCounter() const
{
    return GetUsage().meter_drops;
}

uint64_t
OFSwitch13Device::GetTableDropCounter() const
{
    return GetUsage().miss_drops;
}

} // namespace ns3
