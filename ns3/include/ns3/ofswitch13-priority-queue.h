// Queues of a port that go one after the other.
#ifndef OFSWITCH13_PRIORITY_QUEUE_H
#define OFSWITCH13_PRIORITY_QUEUE_H

#include "ns3/object-factory.h"
#include "ns3/ofswitch13-queue.h"

namespace ns3
{

// Queue 0 first, then queue 1, and so on.
class OFSwitch13PriorityQueue : public OFSwitch13Queue
{
  public:
    static TypeId GetTypeId();
    Ptr<Packet> Dequeue() override;
    Ptr<Packet> Remove() override;
    Ptr<const Packet> Peek() const override;

  protected:
    void DoInitialize() override;

  private:
    // The first queue that has a packet, or a null pointer.
    Ptr<Queue<Packet>> Next() const;

    uint32_t m_nQueues{0};
    ObjectFactory m_factory;
};

} // namespace ns3

#endif
