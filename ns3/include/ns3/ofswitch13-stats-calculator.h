// What a switch does and how full it is, over time, in a file.
#ifndef OFSWITCH13_STATS_CALCULATOR_H
#define OFSWITCH13_STATS_CALCULATOR_H

#include <fstream>
#include <string>
#include <vector>

#include "ns3/data-rate.h"
#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/ofswitch13-device.h"
#include "ns3/packet.h"

namespace ns3
{

// Averages are exponentially weighted: each DatapathTimeout of the device brings a new value. Usages
// are in percent of a size. A row of the file has the averages, and counts since the row before.
class OFSwitch13StatsCalculator : public Object
{
  public:
    static TypeId GetTypeId();
    ~OFSwitch13StatsCalculator() override;
    // Follows a device, which keeps this object. To be called once. Without a device, and after its
    // end, usages are 0.
    void HookSinks(Ptr<OFSwitch13Device> device);

    DataRate GetEwmaCpuLoad() const;
    Time GetEwmaPipelineDelay() const;
    uint32_t GetEwmaSumFlowEntries() const;
    uint32_t GetEwmaFlowTableEntries(uint8_t table) const;
    uint32_t GetEwmaGroupTableEntries() const;
    uint32_t GetEwmaMeterTableEntries() const;
    uint32_t GetEwmaBufferEntries() const;
    uint32_t GetAvgBufferUsage() const;
    uint32_t GetAvgCpuUsage() const;
    uint32_t GetAvgFlowTableUsage(uint8_t table) const;
    // Of those tables that have entries.
    uint32_t GetAvgActFlowTableUsage() const;
    uint32_t GetAvgGroupTableUsage() const;
    uint32_t GetAvgMeterTableUsage() const;

  protected:
    void DoDispose() override;

  private:
    // What is counted since the device was made.
    struct Counts
    {
        uint64_t bits{0};
        uint64_t packets{0};
        uint64_t overloadDrops{0};
        uint64_t meterDrops{0};
        uint64_t tableDrops{0};
        uint64_t flowMods{0};
        uint64_t meterMods{0};
        uint64_t groupMods{0};
        uint64_t packetIns{0};
        uint64_t packetOuts{0};
    };

    // Connects to the sources of a device, or no longer.
    void Connect(OFSwitch13Device& device, bool on);
    void Timeout(Ptr<const OFSwitch13Device> device);
    void PipelinePacket(Ptr<const Packet> packet);
    void OverloadDrop(Ptr<const Packet> packet);
    void Average(double& average, double value) const;
    Counts Count(const OFSwitch13Device& device) const;
    // The device, or a null pointer after its end.
    Ptr<OFSwitch13Device> GetDevice() const;
    void WriteHead();
    void WriteRow();
    // The columns of what the device counts and has, of which some are averages.
    void WriteColumns(const OFSwitch13Device& device, const Counts& now);

    double m_alpha{0};
    Time m_interval;
    std::string m_name;
    bool m_details{false};
    // The device's datapath id: it keeps this object, which does not keep it.
    uint64_t m_dpId{0};
    std::ofstream m_file;
    EventId m_rowEvent;
    uint64_t m_bits{0};
    uint64_t m_packets{0};
    uint64_t m_overloadDrops{0};
    Counts m_before;
    double m_cpuLoad{0};
    double m_delay{0};
    double m_sumFlows{0};
    std::vector<double> m_flows;
    double m_groups{0};
    double m_meters{0};
    double m_buffers{0};
};

} // namespace ns3

#endif
