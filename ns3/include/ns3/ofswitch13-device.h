// A switch of ns-3 whose datapath is bofuss: its ports, its CPU and TCAM, its controllers.
#ifndef OFSWITCH13_DEVICE_H
#define OFSWITCH13_DEVICE_H

#include <bofuss.h>

#include <list>
#include <map>
#include <vector>

#include "ns3/data-rate.h"
#include "ns3/event-id.h"
#include "ns3/inet-socket-address.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/ofswitch13-interface.h"
#include "ns3/ofswitch13-port.h"
#include "ns3/ofswitch13-socket-handler.h"
#include "ns3/packet.h"
#include "ns3/socket.h"
#include "ns3/string.h"
#include "ns3/tcp-header.h"
#include "ns3/traced-callback.h"
#include "ns3/traced-value.h"
#include "ns3/uinteger.h"

namespace ns3
{

class OFSwitch13Device : public Object
{
  public:
    // What trace sources call.
    typedef void (*MeterDropTracedCallback)(Ptr<const Packet> packet, uint32_t meter);
    typedef void (*TableDropTracedCallback)(Ptr<const Packet> packet, uint8_t table);
    typedef void (*DeviceTracedCallback)(Ptr<const OFSwitch13Device> device);

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
    Time GetPipelineDelay() const;
    // The time between two refills of the CPU.
    Time GetDatapathTimeout() const;
    // What the CPU processed between the last two refills, and its part of the capacity, from 0.
    // The bucket holds what one second brings, so that a burst takes more than 1.
    DataRate GetCpuCapacity() const;
    DataRate GetCpuLoad() const;
    double GetCpuUsage() const;
    // The entries of a table, the most that it has, and their ratio: from 0 to 1. A table that is
    // not there has none and may have none.
    uint32_t GetNPipelineTables() const;
    uint32_t GetFlowTableEntries(uint8_t table) const;
    uint32_t GetFlowTableSize(uint8_t table) const;
    uint32_t GetDftFlowTableSize() const;
    double GetFlowTableUsage(uint8_t table) const;
    uint32_t GetGroupTableEntries() const;
    uint32_t GetGroupTableSize() const;
    double GetGroupTableUsage() const;
    uint32_t GetMeterTableEntries() const;
    uint32_t GetMeterTableSize() const;
    double GetMeterTableUsage() const;
    // Packets that the switch holds for its controllers, and the most that it told them it holds.
    uint32_t GetBufferEntries() const;
    uint32_t GetBufferSize() const;
    double GetBufferUsage() const;
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
    // Sends a packet, with its Ethernet header, through the pipeline, by which tunnel it came.
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
    // A packet that is held, since when. One that a controller sent is not known here.
    struct Held
    {
        Time since;
        Ptr<const Packet> packet;
    };

    // A controller's connection: what it does not take yet waits here.
    struct Channel
    {
        Ptr<OFSwitch13SocketHandler> handler;
        uint64_t connection{0};
        std::vector<uint8_t> unread;
        // Bytes of a message whose beginning the switch took.
        size_t rest{0};
        OFMessageCounter toController;
        OFMessageCounter fromController;
        // The packets that are held for it; the most of them.
        std::map<uint32_t, Held> held;
        uint32_t maxHeld{0};
    };

    static void Transmit(void* user, uint32_t port, uint32_t queue, const bofuss_frame* frame);
    static void SendBytes(void* user, uint64_t connection, const uint8_t* bytes, size_t n);
    static void CloseConnection(void* user, uint64_t connection, const char* why);

    std::string Explain(Ptr<const Packet> packet, uint32_t port, uint64_t tunnelId, bool isJson);
    uint64_t Now() const;
    void Pipeline(Ptr<Packet> packet, uint32_t port, uint64_t tunnelId);
    void Refill();
    // Schedules what the switch waits for, and updates the traced values.
    void Settle();
    void Tick();
    void Connected(Ptr<Socket> socket);
    void Failed(Ptr<Socket> socket);
    void Receive(Ptr<Socket> socket);
    void Sent(Ptr<Socket> socket);
    // Tells the switch how many bytes wait for the socket.
    void TellUnsent(const Channel& channel);
    // Follows the packets that are held, by the messages to and from the controller.
    void SeeToController(Channel& channel, const OFMessage& head) const;
    void SeeFromController(Channel& channel, const OFMessage& head) const;
    // Forgets what is held no longer.
    void Expire(Channel& channel) const;
    void Feed(Channel& channel);
    // Frees the switch, which then calls nothing of this.
    void Release();
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
    // Channels are added while one is served.
    std::list<Channel> m_channels;
    // The packet that is in the pipeline now.
    Ptr<const Packet> m_current;
    EventId m_refillEvent;
    EventId m_tickEvent;
    TracedValue<DataRate> m_cpuLoad;
    TracedValue<uint32_t> m_flowEntries;
    TracedValue<uint32_t> m_groupEntries;
    TracedValue<uint32_t> m_meterEntries;
    TracedValue<Time> m_pipelineDelay;
    TracedCallback<Ptr<const Packet>, uint32_t> m_meterDrop;
    TracedCallback<Ptr<const Packet>, uint8_t> m_tableDrop;
    TracedCallback<Ptr<const Packet>> m_overloadDrop;
    TracedCallback<Ptr<const Packet>> m_bufferSave;
    TracedCallback<Ptr<const Packet>> m_bufferRetrieve;
    TracedCallback<Ptr<const Packet>> m_bufferExpire;
    TracedCallback<Ptr<const Packet>> m_pipelinePacket;
    TracedCallback<Ptr<const OFSwitch13Device>> m_datapathTimeout;
};

} // namespace ns3

#endif
