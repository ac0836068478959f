// The switch: frames of devices and bytes of sockets go to libbofuss, and come from it.
#include "ns3/ofswitch13-device.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "ns3/channel.h"
#include "ns3/csma-net-device.h"
#include "ns3/inet-socket-address.h"
#include "ns3/log.h"
#include "ns3/ofswitch13-link.h"
#include "ns3/object-vector.h"
#include "ns3/simulator.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/uinteger.h"
#include "ns3/virtual-net-device.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13Device");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13Device);

namespace
{
// The most bytes that one read of a socket takes.
const uint32_t READ_BYTES = 16384;
// The switch holds a packet for this time.
const Time HOLD = Seconds(5);
// Bytes of a flow-mod up to the end of its buffer id.
const size_t HEAD_BYTES = 36;

// The id of the packet that a message of a controller lets go, or NO_BUFFER.
uint32_t
BufferOf(const OFMessage& head)
{
    // Where it is. Spec: OpenFlow 1.3.5 sections 7.3.4.1 and 7.3.7.
    size_t at = head[1] == OFPT_FLOW_MOD ? 32 : 8;
    bool hasOne = head[1] == OFPT_FLOW_MOD || head[1] == OFPT_PACKET_OUT;
    return hasOne && head.size() >= at + 4 ? OFNumber(head, at, 4) : NO_BUFFER;
}

// Bytes of what the switch gets next: a whole message, or the rest of one; 0 if more have to come.
size_t
NextPart(const std::vector<uint8_t>& unread, size_t rest)
{
    if (rest > 0)
    {
        return std::min(rest, unread.size());
    }
    size_t length = 0;
    bofuss_status status = bofuss_message_length(unread.data(), unread.size(), &length);
    if (status == BOFUSS_STATUS_NONE)
    {
        return 0;
    }
    // What is no message ends the connection; the switch says so.
    bool isMessage = status == BOFUSS_STATUS_OK;
    return !isMessage ? unread.size() : length <= unread.size() ? length : 0;
}

// A part of a size, from 0; 0 of nothing.
double
Part(double part, double size)
{
    return size > 0 ? part / size : 0;
}

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
    static std::map<uint64_t, OFSwitch13Device*> devices;
    return devices;
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

uint32_t
OFSwitch13Device::GetNControllers() const
{
    return m_channels.size();
}

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

uint32_t
OFSwitch13Device::GetBufferEntries() const
{
    uint32_t entries = 0;
    for (const Channel& channel : m_channels)
    {
        for (const auto& [id, held] : channel.held)
        {
            entries += Simulator::Now() - held.since <= HOLD;
        }
    }
    return entries;
}

uint32_t
OFSwitch13Device::GetBufferSize() const
{
    uint32_t size = 0;
    for (const Channel& channel : m_channels)
    {
        size += channel.maxHeld;
    }
    return size;
}

double
OFSwitch13Device::GetBufferUsage() const
{
    return Part(GetBufferEntries(), GetBufferSize());
}

uint64_t
OFSwitch13Device::GetPacketInCounter() const
{
    uint64_t sum = 0;
    for (const Channel& channel : m_channels)
    {
        sum += channel.toController.Get(OFPT_PACKET_IN);
    }
    return sum;
}

uint64_t
OFSwitch13Device::CountFromControllers(uint8_t type) const
{
    uint64_t sum = 0;
    for (const Channel& channel : m_channels)
    {
        sum += channel.fromController.Get(type);
    }
    return sum;
}

uint64_t
OFSwitch13Device::GetPacketOutCounter() const
{
    return CountFromControllers(OFPT_PACKET_OUT);
}

uint64_t
OFSwitch13Device::GetFlowModCounter() const
{
    return CountFromControllers(OFPT_FLOW_MOD);
}

uint64_t
OFSwitch13Device::GetGroupModCounter() const
{
    return CountFromControllers(OFPT_GROUP_MOD);
}

uint64_t
OFSwitch13Device::GetMeterModCounter() const
{
    return CountFromControllers(OFPT_METER_MOD);
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

void
OFSwitch13Device::SendBytes(void* user, uint64_t connection, const uint8_t* bytes, size_t n)
{
    OFSwitch13Device* self = static_cast<OFSwitch13Device*>(user);
    for (Channel& channel : self->m_channels)
    {
        if (channel.connection == connection)
        {
            auto see = [&](const OFMessage& head) { self->SeeToController(channel, head); };
            channel.toController.Add(bytes, n, see);
            channel.handler->Send(bytes, n);
            self->TellUnsent(channel);
        }
    }
}

void
OFSwitch13Device::CloseConnection(void* user, uint64_t connection, const char* why)
{
    NS_LOG_WARN("connection " << connection << " is closed: " << why);
    for (Channel& channel : static_cast<OFSwitch13Device*>(user)->m_channels)
    {
        if (channel.connection == connection)
        {
            channel.connection = 0;
            channel.handler->GetSocket()->Close();
        }
    }
}

void
OFSwitch13Device::StartControllerConnection(const Address& controller)
{
    Ptr<Socket> socket = Socket::CreateSocket(GetObject<Node>(), TcpSocketFactory::GetTypeId());
    socket->SetAttribute("SegmentSize", UintegerValue(8900));
    Channel channel;
    channel.handler = CreateObject<OFSwitch13SocketHandler>(socket);
    channel.handler->SetSentCallback(MakeCallback(&OFSwitch13Device::Sent, this));
    m_channels.push_back(channel);
    socket->SetConnectCallback(MakeCallback(&OFSwitch13Device::Connected, this),
                               MakeCallback(&OFSwitch13Device::Failed, this));
    socket->SetRecvCallback(MakeCallback(&OFSwitch13Device::Receive, this));
    socket->SetCloseCallbacks(MakeCallback(&OFSwitch13Device::Failed, this),
                              MakeCallback(&OFSwitch13Device::Failed, this));
    socket->Bind();
    socket->Connect(controller);
}

OFSwitch13Device::Channel*
OFSwitch13Device::Find(Ptr<Socket> socket)
{
    for (Channel& channel : m_channels)
    {
        if (channel.handler->GetSocket() == socket)
        {
            return &channel;
        }
    }
    return nullptr;
}

void
OFSwitch13Device::Connected(Ptr<Socket> socket)
{
    Channel* channel = Find(socket);
    bofuss_status status =
        channel ? bofuss_connect(m_switch, 1, &channel->connection) : BOFUSS_STATUS_NO_CONNECTION;
    if (status != BOFUSS_STATUS_OK)
    {
        NS_LOG_WARN("switch " << m_dpId << " opens no connection: " << status);
    }
}

void
OFSwitch13Device::Failed(Ptr<Socket> socket)
{
    Channel* channel = Find(socket);
    if (channel && channel->connection && m_switch)
    {
        bofuss_disconnect(m_switch, Now(), channel->connection);
        channel->connection = 0;
        channel->held.clear();
        channel->maxHeld = 0;
        Settle();
    }
}

void
OFSwitch13Device::Receive(Ptr<Socket> socket)
{
    Channel* channel = Find(socket);
    if (!channel)
    {
        return;
    }
    while (Ptr<Packet> packet = socket->Recv(READ_BYTES, 0))
    {
        if (!packet->GetSize())
        {
            break;
        }
        size_t before = channel->unread.size();
        channel->unread.resize(before + packet->GetSize());
        packet->CopyData(channel->unread.data() + before, packet->GetSize());
    }
    Feed(*channel);
}

void
OFSwitch13Device::Feed(Channel& channel)
{
    std::vector<uint8_t>& unread = channel.unread;
    auto see = [&](const OFMessage& head) { SeeFromController(channel, head); };
    size_t taken = 0;
    size_t part = 0;
    // One message after the other, because each may let another packet go.
    for (part = NextPart(unread, channel.rest); part > 0; part = NextPart(unread, channel.rest))
    {
        if (channel.rest == 0 && part >= OF_HEADER_BYTES)
        {
            OFMessage head(unread.begin(), unread.begin() + std::min(part, HEAD_BYTES));
            auto held = channel.held.find(BufferOf(head));
            m_current = held == channel.held.end() ? nullptr : held->second.packet;
        }
        bofuss_status status =
            bofuss_feed(m_switch, Now(), channel.connection, unread.data(), part, &taken);
        m_current = nullptr;
        if (status != BOFUSS_STATUS_OK)
        {
            break;
        }
        channel.fromController.Add(unread.data(), taken, see);
        unread.erase(unread.begin(), unread.begin() + taken);
        channel.rest = (channel.rest > 0 ? channel.rest : part) - taken;
        if (taken < part)
        {
            break;
        }
    }
    if (!channel.connection)
    {
        unread.clear();
        channel.rest = 0;
    }
    Settle();
}

void
OFSwitch13Device::Sent(Ptr<Socket> socket)
{
    Channel* channel = Find(socket);
    if (!channel)
    {
        return;
    }
    TellUnsent(*channel);
    if (channel->connection && bofuss_work(m_switch, Now()) == BOFUSS_STATUS_OK)
    {
        Settle();
    }
    if (!channel->unread.empty())
    {
        Feed(*channel);
    }
}

void
OFSwitch13Device::TellUnsent(const Channel& channel)
{
    if (channel.connection)
    {
        bofuss_set_held_bytes(m_switch, channel.connection, channel.handler->GetUnsentBytes());
    }
}

void
OFSwitch13Device::SeeToController(Channel& channel, const OFMessage& head) const
{
    // Where the fields are. Spec: OpenFlow 1.3.5 sections 7.3.1 and 7.4.1.
    if (head[1] == OFPT_FEATURES_REPLY && head.size() >= 20)
    {
        channel.maxHeld = OFNumber(head, 16, 4);
    }
    if (head[1] == OFPT_PACKET_IN && head.size() >= 12 && OFNumber(head, 8, 4) != NO_BUFFER)
    {
        Expire(channel);
        channel.held[OFNumber(head, 8, 4)] = {Simulator::Now(), m_current};
        if (m_current)
        {
            m_bufferSave(m_current);
        }
    }
}

void
OFSwitch13Device::Expire(Channel& channel) const
{
    for (auto it = channel.held.begin(); it != channel.held.end();)
    {
        if (Simulator::Now() - it->second.since <= HOLD)
        {
            ++it;
            continue;
        }
        Ptr<const Packet> packet = it->second.packet;
        it = channel.held.erase(it);
        if (packet)
        {
            m_bufferExpire(packet);
        }
    }
}

void
OFSwitch13Device::SeeFromController(Channel& channel, const OFMessage& head) const
{
    uint32_t buffer = BufferOf(head);
    if (buffer == NO_BUFFER)
    {
        return;
    }
    Expire(channel);
    auto found = channel.held.find(buffer);
    if (found == channel.held.end())
    {
        return;
    }
    Ptr<const Packet> packet = found->second.packet;
    channel.held.erase(found);
    if (packet)
    {
        m_bufferRetrieve(packet);
    }
}

} // namespace ns3
