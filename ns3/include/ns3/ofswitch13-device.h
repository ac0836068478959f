// A switch of ns-3 whose datapath is bofuss: its ports, its CPU and TCAM, its controllers.
#ifndef OFSWITCH13_DEVICE_H
#define OFSWITCH13_DEVICE_H

#include <bofuss.h>

#include <deque>
#include <map>
#include <vector>

#include "ns3/csma-net-device.h"
#include "ns3/data-rate.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/object.h"
#include "ns3/ofswitch13-queue.h"
#include "ns3/packet.h"
#include "ns3/socket.h"
#include "ns3/traced-callback.h"
#include "ns3/traced-value.h"

namespace ns3
{

class OFSwitch13Device;

// Counts the messages of a stream by their type, however it is cut.
class OFMessageCounter
{
  public:
    void Add(const uint8_t* bytes, size_t n);
    uint64_t Get(uint8_t type) const;

  private:
    // Version, type and length, the first bytes of a message.
    std::vector<uint8_t> m_head;
    // Bytes until the next message.
    size_t m_left{0};
    std::map<uint8_t, uint64_t> m_counts;
};

// A port: a CSMA device (physical), or a virtual one (logical). Frames come through the device's
// promiscuous callback, without the Ethernet header, and leave by SendFrom.
class OFSwitch13Port : public Object
{
  public:
    static TypeId GetTypeId();
    OFSwitch13Port() = default;
    OFSwitch13Port(Ptr<OFSwitch13Device> device, Ptr<NetDevice> port, uint32_t number);
    Ptr<NetDevice> GetPortDevice() const;
    uint32_t GetPortNo() const;
    // Sends a frame, header included, by a queue of the port. False if the device refuses it.
    bool Send(const uint8_t* frame, size_t length, uint32_t queue = 0);

  protected:
    void DoDispose() override;
    void NotifyConstructionCompleted() override;

  private:
    bool Receive(Ptr<NetDevice> device,
                 Ptr<const Packet> packet,
                 uint16_t protocol,
                 const Address& from,
                 const Address& to,
                 NetDevice::PacketType type);

    Ptr<OFSwitch13Device> m_device;
    Ptr<NetDevice> m_port;
    uint32_t m_number{0};
    ObjectFactory m_queueFactory;
    // Of a CSMA device; a virtual one sends at once.
    Ptr<OFSwitch13Queue> m_queue;
    TracedCallback<Ptr<const Packet>> m_rxTrace;
    TracedCallback<Ptr<const Packet>> m_txTrace;
};

class OFSwitch13Device : public Object
{
  public:
    static TypeId GetTypeId();
    OFSwitch13Device();
    ~OFSwitch13Device() override;

    uint64_t GetDatapathId() const;
    uint64_t GetDpId() const;
    Ptr<OFSwitch13Port> AddSwitchPort(Ptr<NetDevice> device);
    Ptr<OFSwitch13Port> GetSwitchPort(uint32_t number) const;
    uint32_t GetNSwitchPorts() const;
    uint32_t GetNControllers() const;
    uint32_t GetSumFlowEntries() const;
    uint32_t GetGroupEntries() const;
    uint32_t GetMeterEntries() const;
    double GetCpuLoad() const;
    Time GetPipelineDelay() const;
    // The entries of a table, and the most that each table has.
    uint32_t GetFlowTableEntries(uint8_t table) const;
    uint32_t GetFlowTableSize() const;
    uint32_t GetGroupTableSize() const;
    uint32_t GetMeterTableSize() const;
    uint32_t GetNPipelineTables() const;
    DataRate GetCpuCapacity() const;
    // Messages to all controllers, and from them.
    uint64_t GetPacketInCounter() const;
    uint64_t GetPacketOutCounter() const;
    uint64_t GetFlowModCounter() const;
    uint64_t GetGroupModCounter() const;
    uint64_t GetMeterModCounter() const;
    // Packets that exceeded a meter's rate, that no entry of a table matched, and all that were
    // dropped.
    uint64_t GetMeterDropCounter() const;
    uint64_t GetTableDropCounter() const;
    uint64_t GetDropCounter() const;
    // Sends a packet, with its Ethernet header, through the pipeline. The tunnel id is not told to
    // the pipeline.
    void ReceiveFromSwitchPort(Ptr<Packet> packet, uint32_t port, uint64_t tunnelId = 0);
    // Connects to a controller (an InetSocketAddress) at once.
    void StartControllerConnection(const Address& controller);
    // What would become of a frame, and why.
    std::string Trace(Ptr<const Packet> packet, uint32_t port);
    // Writes the path of each packet through each switch to a file.
    static void EnableDatapathLogs(std::string file);
    static Ptr<OFSwitch13Device> GetDevice(uint64_t id);

  protected:
    void DoDispose() override;
    void NotifyConstructionCompleted() override;

  private:
    // A controller's connection: what it does not take yet waits here.
    struct Channel
    {
        Ptr<Socket> socket;
        uint64_t connection{0};
        std::deque<uint8_t> unsent;
        std::vector<uint8_t> unread;
        OFMessageCounter toController;
        OFMessageCounter fromController;
    };

    static void Transmit(void* user, uint32_t port, uint32_t queue, const uint8_t* frame, size_t n);
    static void SendBytes(void* user, uint64_t connection, const uint8_t* bytes, size_t n);
    static void CloseConnection(void* user, uint64_t connection, const char* why);

    typedef void (*MeterDropTracedCallback)(Ptr<const Packet> packet, uint32_t meter);
    typedef void (*TableDropTracedCallback)(Ptr<const Packet> packet, uint8_t table);

    std::string Explain(Ptr<const Packet> packet, uint32_t port, bool isJson);
    uint64_t Now() const;
    void Pipeline(Ptr<Packet> packet, uint32_t port);
    void Refill();
    // Schedules what the switch waits for, and updates the traced values.
    void Settle();
    void Tick();
    void Connected(Ptr<Socket> socket);
    void Failed(Ptr<Socket> socket);
    void Receive(Ptr<Socket> socket);
    void Writable(Ptr<Socket> socket, uint32_t space);
    void Flush(Channel& channel);
    void Feed(Channel& channel);
    Channel* Find(Ptr<Socket> socket);
    bofuss_usage GetUsage() const;
    // Messages of a type from all controllers.
    uint64_t CountFromControllers(uint8_t type) const;

    bofuss_switch* m_switch{nullptr};
    uint64_t m_dpId{0};
    uint32_t m_flowTableSize{0};
    uint32_t m_groupTableSize{0};
    uint32_t m_meterTableSize{0};
    uint32_t m_pipelineTables{0};
    DataRate m_cpuCapacity;
    Time m_tcamDelay;
    Time m_timeout;
    uint64_t m_cpuTokens{0};
    uint64_t m_cpuUsed{0};
    std::vector<Ptr<OFSwitch13Port>> m_ports;
    std::vector<Channel> m_channels;
    EventId m_refillEvent;
    EventId m_tickEvent;
    TracedValue<double> m_cpuLoad;
    TracedValue<uint32_t> m_flowEntries;
    TracedValue<uint32_t> m_groupEntries;
    TracedValue<uint32_t> m_meterEntries;
    TracedValue<Time> m_pipelineDelay;
    TracedCallback<Ptr<const Packet>, uint32_t> m_meterDrop;
    TracedCallback<Ptr<const Packet>, uint8_t> m_tableDrop;
    TracedCallback<Ptr<const Packet>> m_overloadDrop;
    TracedCallback<Ptr<const Packet>> m_pipelinePacket;
    TracedCallback<Ptr<const OFSwitch13Device>> m_datapathTimeout;
};

// Sends from the front of `unsent` what the socket takes now, and leaves the rest there.
void SendWaiting(Ptr<Socket> socket, std::deque<uint8_t>& unsent);

} // namespace ns3

#endif
