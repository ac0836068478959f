// The switch: its life, and frames of its ports, which go to libbofuss and come from it.
#include "ns3/ofswitch13-device.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "ns3/channel.h"
#include "ns3/csma-net-device.h"
#include "ns3/log.h"
#include "ns3/ofswitch13-link.h"
#include "ns3/object-vector.h"
#include "ns3/simulator.h"
#include "ns3/virtual-net-device.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13Device");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13Device);

namespace
{
// Where the paths of packets are written, if they are.
std::ofstream& DatapathLog()
{
    static std::ofstream log;
    return log;
}

// The last number after a key of a text in JSON, or 0.
uint32_t
LastNumber(const std::string& json, const std::string& key)
{
    size_t at = json.rfind(key);
    at = at == std::string::npos ? at : json.find_first_of("0123456789", at + key.size());
    return at == std::string::npos ? 0 : std::stoul(json.substr(at));
}

std::map<uint64_t, OFSwitch13Device*>& Devices()
{
    // Never freed: without Simulator::Destroy, ns-3 frees switches after what is static here.
    static auto* devices = new std::map<uint64_t, OFSwitch13Device*>;
    return *devices;
}
} // namespace

TypeId
OFSwitch13Device::GetTypeId()
{
    using Self = OFSwitch13Device;
    const auto construct = TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT;
    static TypeId tid =
        TypeId("ns3::OFSwitch13Device")
            .SetParent<Object>()
            .SetGroupName("OFSwitch13")
            .AddConstructor<Self>()
            .AddAttribute("CpuCapacity",
                          "Bits a second that the CPU processes.",
                          DataRateValue(DataRate("100Gb/s")),
                          MakeDataRateAccessor(&Self::m_cpuCapacity),
                          MakeDataRateChecker())
            .AddAttribute("DatapathId",
                          "The datapath id.",
                          TypeId::ATTR_GET,
                          UintegerValue(0),
                          MakeUintegerAccessor(&Self::m_dpId),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("FlowTableSize",
                          "The most entries of a table.",
                          construct,
                          UintegerValue(4096),
                          MakeUintegerAccessor(&Self::m_flowTableSize),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("GroupTableSize",
                          "The most groups.",
                          construct,
                          UintegerValue(4096),
                          MakeUintegerAccessor(&Self::m_groupTableSize),
                          MakeUintegerChecker<uint32_t>(0))
            .AddAttribute("MeterTableSize",
                          "The most meters.",
                          construct,
                          UintegerValue(4096),
                          MakeUintegerAccessor(&Self::m_meterTableSize),
                          MakeUintegerChecker<uint32_t>(0))
            .AddAttribute("PipelineTables",
                          "The number of tables.",
                          construct,
                          UintegerValue(64),
                          MakeUintegerAccessor(&Self::m_pipelineTables),
                          MakeUintegerChecker<uint32_t>(1, 254))
            .AddAttribute("PortList",
                          "The ports, the first of which is port 1.",
                          TypeId::ATTR_GET,
                          ObjectVectorValue(),
                          MakeObjectVectorAccessor(&Self::m_ports),
                          MakeObjectVectorChecker<OFSwitch13Port>())
            .AddAttribute("TcamDelay",
                          "The time of one step of a search in the tables.",
                          TimeValue(MicroSeconds(20)),
                          MakeTimeAccessor(&Self::m_tcamDelay),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("TimeoutInterval",
                          "The time between two refills of the CPU.",
                          TimeValue(MilliSeconds(100)),
                          MakeTimeAccessor(&Self::m_timeout),
                          MakeTimeChecker(MilliSeconds(1), Seconds(1)))
            .AddTraceSource("CpuLoad",
                            "Bits a second that the CPU processed before the last refill.",
                            MakeTraceSourceAccessor(&Self::m_cpuLoad),
                            "ns3::TracedValueCallback::DataRate")
            .AddTraceSource("SumFlowEntries",
                            "Entries of all tables.",
                            MakeTraceSourceAccessor(&Self::m_flowEntries),
                            "ns3::TracedValueCallback::Uint32")
            .AddTraceSource("GroupEntries",
                            "Groups.",
                            MakeTraceSourceAccessor(&Self::m_groupEntries),
                            "ns3::TracedValueCallback::Uint32")
            .AddTraceSource("MeterEntries",
                            "Meters.",
                            MakeTraceSourceAccessor(&Self::m_meterEntries),
                            "ns3::TracedValueCallback::Uint32")
            .AddTraceSource("PipelineDelay",
                            "How long a packet waits for the search.",
                            MakeTraceSourceAccessor(&Self::m_pipelineDelay),
                            "ns3::TracedValueCallback::Time")
            .AddTraceSource("MeterDrop",
                            "A packet exceeds the rate of a meter's drop band; the meter's id.",
                            MakeTraceSourceAccessor(&Self::m_meterDrop),
                            "ns3::OFSwitch13Device::MeterDropTracedCallback")
            .AddTraceSource("TableDrop",
                            "A packet matches no entry of a table; the table's id.",
                            MakeTraceSourceAccessor(&Self::m_tableDrop),
                            "ns3::OFSwitch13Device::TableDropTracedCallback")
            .AddTraceSource("OverloadDrop",
                            "A packet is dropped because the CPU is overloaded.",
                            MakeTraceSourceAccessor(&Self::m_overloadDrop),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("BufferSave",
                            "The switch holds a packet for a controller.",
                            MakeTraceSourceAccessor(&Self::m_bufferSave),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("BufferRetrieve",
                            "A controller lets a packet go that is held.",
                            MakeTraceSourceAccessor(&Self::m_bufferRetrieve),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("BufferExpire",
                            "A packet was held for the longest time, and is no longer.",
                            MakeTraceSourceAccessor(&Self::m_bufferExpire),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("PipelinePacket",
                            "A packet enters the pipeline.",
                            MakeTraceSourceAccessor(&Self::m_pipelinePacket),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("DatapathTimeout",
                            "The CPU is refilled.",
                            MakeTraceSourceAccessor(&Self::m_datapathTimeout),
                            "ns3::OFSwitch13Device::DeviceTracedCallback");
    return tid;
}

OFSwitch13Device::OFSwitch13Device()
{
    static uint64_t next = 1;
    m_dpId = next++;
    Devices()[m_dpId] = this;
}

OFSwitch13Device::~OFSwitch13Device()
{
    // One that was on no node was not disposed of.
    Release();
}

void
OFSwitch13Device::Release()
{
    m_refillEvent.Cancel();
    m_tickEvent.Cancel();
    if (m_switch)
    {
        bofuss_status freed = bofuss_switch_free(&m_switch);
        NS_ABORT_MSG_IF(freed != BOFUSS_STATUS_OK, "a switch is freed while it works");
        Devices().erase(m_dpId);
    }
}

void
OFSwitch13Device::NotifyConstructionCompleted()
{
    bofuss_config config;
    bofuss_config_default(&config);
    config.datapath_id = m_dpId;
    config.n_tables = m_pipelineTables;
    config.max_entries = m_flowTableSize;
    config.max_total_entries =
        std::min<uint64_t>(uint64_t{m_flowTableSize} * m_pipelineTables, UINT32_MAX);
    config.max_groups = m_groupTableSize;
    config.max_meters = m_meterTableSize;
    bofuss_callbacks callbacks{};
    callbacks.user = this;
    callbacks.transmit = Transmit;
    callbacks.send = SendBytes;
    callbacks.close = CloseConnection;
    bofuss_status made = bofuss_switch_new(Now(), &config, &callbacks, &m_switch);
    NS_ABORT_MSG_IF(made != BOFUSS_STATUS_OK, "the attributes make no switch: " << made);
    // A new bucket is full: it holds what one second brings.
    m_cpuTokens = m_cpuCapacity.GetBitRate();
    m_refillEvent = Simulator::Schedule(m_timeout, &OFSwitch13Device::Refill, this);
    Settle();
    Object::NotifyConstructionCompleted();
}

void
OFSwitch13Device::DoDispose()
{
    Release();
    auto nothing = MakeNullCallback<void, Ptr<Socket>>();
    for (Channel& channel : m_channels)
    {
        channel.handler->GetSocket()->SetConnectCallback(nothing, nothing);
        channel.handler->GetSocket()->SetCloseCallbacks(nothing, nothing);
        channel.handler->Dispose();
    }
    m_channels.clear();
    for (Ptr<OFSwitch13Port>& port : m_ports)
    {
        port->Dispose();
    }
    m_ports.clear();
    Object::DoDispose();
}

uint64_t
OFSwitch13Device::Now() const
{
    return Simulator::Now().GetNanoSeconds();
}

uint64_t
OFSwitch13Device::GetDatapathId() const
{
    return m_dpId;
}

uint64_t
OFSwitch13Device::GetDpId() const
{
    return m_dpId;
}

uint32_t
OFSwitch13Device::GetNSwitchPorts() const
{
    return m_ports.size();
}

Ptr<OFSwitch13Device>
OFSwitch13Device::GetDevice(uint64_t id)
{
    auto found = Devices().find(id);
    return found == Devices().end() ? nullptr : Ptr<OFSwitch13Device>(found->second);
}

Ptr<OFSwitch13Port>
OFSwitch13Device::AddSwitchPort(Ptr<NetDevice> device)
{
    bool isPhysical =
        DynamicCast<CsmaNetDevice>(device) || DynamicCast<OFSwitch13LinkDevice>(device);
    NS_ABORT_MSG_IF(!isPhysical && !DynamicCast<VirtualNetDevice>(device),
                    "a port is a CsmaNetDevice, an OFSwitch13LinkDevice or a VirtualNetDevice");
    uint32_t number = m_ports.size() + 1;
    uint32_t kbps = 0;
    if (isPhysical && device->GetChannel())
    {
        DataRateValue rate;
        device->GetChannel()->GetAttribute("DataRate", rate);
        kbps = std::min<uint64_t>(rate.Get().GetBitRate() / 1000, UINT32_MAX);
    }
    uint8_t address[6];
    Mac48Address::ConvertFrom(device->GetAddress()).CopyTo(address);
    std::string name = "port" + std::to_string(number);
    bofuss_status added =
        bofuss_port_add(m_switch, Now(), number, name.c_str(), address, kbps);
    NS_ABORT_MSG_IF(added != BOFUSS_STATUS_OK, "port " << number << " is not added: " << added);
    NS_LOG_INFO("switch " << m_dpId << " has port " << number);
    Ptr<OFSwitch13Port> port = CreateObject<OFSwitch13Port>(Ptr<OFSwitch13Device>(this), device, number);
    m_ports.push_back(port);
    return port;
}

Ptr<OFSwitch13Port>
OFSwitch13Device::GetSwitchPort(uint32_t number) const
{
    return number >= 1 && number <= m_ports.size() ? m_ports[number - 1] : nullptr;
}

void
OFSwitch13Device::ReceiveFromSwitchPort(Ptr<Packet> packet, uint32_t port, uint64_t tunnelId)
{
    uint64_t bits = 8 * static_cast<uint64_t>(packet->GetSize());
    if (bits > m_cpuTokens)
    {
        NS_LOG_DEBUG("switch " << m_dpId << ": the CPU has no time for a packet of port " << port);
        m_overloadDrop(packet);
        return;
    }
    m_cpuTokens -= bits;
    m_cpuUsed += bits;
    NS_LOG_DEBUG("switch " << m_dpId << ": " << packet->GetSize() << " bytes from port " << port);
    m_pipelinePacket(packet);
    // The event keeps the switch.
    Simulator::Schedule(m_pipelineDelay,
                        &OFSwitch13Device::Pipeline,
                        Ptr<OFSwitch13Device>(this),
                        packet,
                        port,
                        tunnelId);
}

void
OFSwitch13Device::Pipeline(Ptr<Packet> packet, uint32_t port, uint64_t tunnelId)
{
    if (!m_switch)
    {
        return;
    }
    std::vector<uint8_t> bytes(packet->GetSize());
    packet->CopyData(bytes.data(), bytes.size());
    bofuss_frame frame{bytes.data(), bytes.size(), tunnelId};
    if (DatapathLog().is_open())
    {
        DatapathLog() << Simulator::Now().As(Time::S) << " switch " << m_dpId << " port " << port
                      << "\n"
                      << Explain(packet, port, tunnelId, false) << std::endl;
    }
    bool isTraced = !m_meterDrop.IsEmpty() || !m_tableDrop.IsEmpty();
    std::string path = isTraced ? Explain(packet, port, tunnelId, true) : std::string();
    bofuss_usage before = GetUsage();
    m_current = packet;
    bofuss_status status = bofuss_receive(m_switch, Now(), port, &frame, 1);
    m_current = nullptr;
    if (status != BOFUSS_STATUS_OK)
    {
        NS_LOG_WARN("port " << port << ": " << bofuss_switch_error(m_switch));
    }
    bofuss_usage after = GetUsage();
    if (isTraced && after.meter_drops > before.meter_drops)
    {
        m_meterDrop(packet, LastNumber(path, "\"meter\":"));
    }
    if (isTraced && after.miss_drops > before.miss_drops)
    {
        m_tableDrop(packet, LastNumber(path, "\"table\":"));
    }
    Settle();
}

void
OFSwitch13Device::EnableDatapathLogs(std::string file)
{
    std::ofstream& log = DatapathLog();
    if (log.is_open())
    {
        // Packets go to one file at a time.
        log.close();
    }
    log.clear();
    log.open(file);
    NS_ABORT_MSG_IF(!log.is_open(), file << " cannot be written");
}

std::string
OFSwitch13Device::Trace(Ptr<const Packet> packet, uint32_t port)
{
    return Explain(packet, port, 0, false);
}

std::string
OFSwitch13Device::Explain(Ptr<const Packet> packet, uint32_t port, uint64_t tunnelId, bool isJson)
{
    std::vector<uint8_t> bytes(packet->GetSize());
    packet->CopyData(bytes.data(), bytes.size());
    std::vector<char> text(1 << 17);
    size_t length = 0;
    bofuss_frame frame{bytes.data(), bytes.size(), tunnelId};
    bofuss_status status =
        bofuss_trace(m_switch, Now(), port, frame, isJson, text.data(), text.size(), &length);
    return status == BOFUSS_STATUS_OK ? std::string(text.data(), length) : std::string();
}

void
OFSwitch13Device::Refill()
{
    double seconds = m_timeout.GetSeconds();
    uint64_t full = m_cpuCapacity.GetBitRate();
    m_cpuLoad = DataRate(std::round(m_cpuUsed / seconds));
    m_cpuUsed = 0;
    // The sum may be more than the integer takes.
    double tokens = m_cpuTokens + full * seconds;
    m_cpuTokens = tokens < static_cast<double>(full) ? static_cast<uint64_t>(tokens) : full;
    for (Channel& channel : m_channels)
    {
        Expire(channel);
    }
    m_datapathTimeout(this);
    Settle();
    m_refillEvent = Simulator::Schedule(m_timeout, &OFSwitch13Device::Refill, this);
}

void
OFSwitch13Device::Settle()
{
    bofuss_usage usage = GetUsage();
    m_flowEntries = usage.flow_entries;
    m_groupEntries = usage.groups;
    m_meterEntries = usage.meters;
    double steps = usage.flow_entries < 2 ? 1 : std::ceil(std::log2(usage.flow_entries));
    m_pipelineDelay = NanoSeconds(static_cast<uint64_t>(m_tcamDelay.GetNanoSeconds() * steps));
    uint64_t at = 0;
    if (bofuss_next_tick(m_switch, &at) != BOFUSS_STATUS_OK)
    {
        m_tickEvent.Cancel();
        return;
    }
    Time wait = NanoSeconds(at > Now() ? at - Now() : 0);
    if (m_tickEvent.IsExpired() || Simulator::GetDelayLeft(m_tickEvent) != wait)
    {
        m_tickEvent.Cancel();
        m_tickEvent = Simulator::Schedule(wait, &OFSwitch13Device::Tick, this);
    }
}

void
OFSwitch13Device::Tick()
{
    bofuss_status status = bofuss_tick(m_switch, Now());
    NS_ABORT_MSG_IF(status != BOFUSS_STATUS_OK, bofuss_switch_error(m_switch));
    Settle();
}

void
OFSwitch13Device::Transmit(void* user,
                           uint32_t port,
                           uint32_t queue,
                           const bofuss_frame* frame)
{
    OFSwitch13Device* self = static_cast<OFSwitch13Device*>(user);
    Ptr<OFSwitch13Port> out = self->GetSwitchPort(port);
    if (out)
    {
        out->Send(frame->bytes, frame->length, queue, frame->tunnel_id, self->m_current);
    }
}

} // namespace ns3
