// Queues of a port that go one after the other.
#ifndef OFSWITCH13_PRIORITY_QUEUE_H
#define OFSWITCH13_PRIORITY_QUEUE_H

#include "ns3/ofswitch13-queue.h"

namespace ns3
{

// Queue 0 first, then queue 1, and so on.
class OFSwitch13PriorityQueue : public OFSwitch13Queue
{
  public:
    static TypeId GetTypeId();

  protected:
    uint32_t NextQueue() const override;
};

} // namespace ns3

#endif
