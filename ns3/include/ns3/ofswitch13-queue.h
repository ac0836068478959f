// Queues of a port: the action set-queue says in which one a packet waits for the device.
#ifndef OFSWITCH13_QUEUE_H
#define OFSWITCH13_QUEUE_H

#include <cstdint>
#include <vector>

#include "ns3/packet.h"
#include "ns3/queue-tag.h"
#include "ns3/queue.h"

// The most queues of a port in OFSwitch13, which derived classes name. Here a port may have more.
constexpr uint32_t NETDEV_MAX_QUEUES = 32;
constexpr uint32_t PORT_MAX_QUEUES = NETDEV_MAX_QUEUES;

namespace ns3
{

// The queues of a port, as one queue of its device, which has the packets of all by arrival. A packet
// for a queue that is not there waits in queue 0. A derived class adds its queues in DoInitialize. It
// says whose turn it is in Dequeue, Remove and Peek, which take a packet of one of the queues; the
// first two report it by NotifyDequeue and NotifyRemove.
class OFSwitch13Queue : public Queue<Packet>
{
  public:
    static TypeId GetTypeId();
    bool Enqueue(Ptr<Packet> packet) override;
    int GetNQueues() const;
    // One of the queues; the number is less than GetNQueues.
    Ptr<Queue<Packet>> GetQueue(int queue) const;
    // Of which port the queues are: logs say it.
    void SetPort(uint64_t dpId, uint32_t number);

  protected:
    void NotifyConstructionCompleted() override;
    // Returns the number of the queue.
    uint32_t AddQueue(Ptr<Queue<Packet>> queue);
    // A packet has left one of the queues.
    void NotifyDequeue(Ptr<Packet> packet);
    // The same, and it is dropped.
    void NotifyRemove(Ptr<Packet> packet);

    uint64_t m_dpId{0};
    uint32_t m_portNo{0};

  private:
    // Where a packet is that left one of the queues.
    ConstIterator Find(Ptr<Packet> packet) const;

    std::vector<Ptr<Queue<Packet>>> m_queues;
};

} // namespace ns3

#endif
