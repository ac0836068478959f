// The first queue that has a packet is next.
#include "ns3/ofswitch13-priority-queue.h"

#include "ns3/log.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13PriorityQueue");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13PriorityQueue);

namespace
{
// Not in the class, whose base has a log of its own.
void
LogNext(uint32_t queue)
{
    NS_LOG_DEBUG("queue " << queue << " is next");
}
} // namespace

TypeId
OFSwitch13PriorityQueue::GetTypeId()
{
    using Self = OFSwitch13PriorityQueue;
    static TypeId tid =
        TypeId("ns3::OFSwitch13PriorityQueue")
            .SetParent<OFSwitch13Queue>()
            .SetGroupName("OFSwitch13")
            .AddConstructor<Self>()
            .AddAttribute("NumQueues",
                          "How many queues there are.",
                          UintegerValue(1),
                          MakeUintegerAccessor(&Self::SetNQueues, &Self::GetNQueues),
                          MakeUintegerChecker<uint32_t>(1, 1024));
    return tid;
}

uint32_t
OFSwitch13PriorityQueue::NextQueue() const
{
    uint32_t queue = 0;
    while (GetNPackets(queue) == 0)
    {
        queue++;
    }
    LogNext(queue);
    return queue;
}

} // namespace ns3
