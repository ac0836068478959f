// The first queue that has a packet is next.
#include "ns3/ofswitch13-priority-queue.h"

#include "ns3/drop-tail-queue.h"
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
LogNext(int queue)
{
    NS_LOG_DEBUG("queue " << queue << " is next");
}

ObjectFactory
DefaultFactory()
{
    ObjectFactory factory;
    factory.SetTypeId(DropTailQueue<Packet>::GetTypeId());
    factory.Set("MaxSize", QueueSizeValue(QueueSize("100p")));
    return factory;
}
} // namespace

TypeId
OFSwitch13PriorityQueue::GetTypeId()
{
    using Self = OFSwitch13PriorityQueue;
    const auto construct = TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT;
    static TypeId tid = TypeId("ns3::OFSwitch13PriorityQueue")
                            .SetParent<OFSwitch13Queue>()
                            .SetGroupName("OFSwitch13")
                            .AddConstructor<Self>()
                            .AddAttribute("NumQueues",
                                          "How many queues there are.",
                                          construct,
                                          UintegerValue(1),
                                          MakeUintegerAccessor(&Self::m_nQueues),
                                          MakeUintegerChecker<uint32_t>(1, 1024))
                            .AddAttribute("QueueFactory",
                                          "What makes each queue.",
                                          construct,
                                          ObjectFactoryValue(DefaultFactory()),
                                          MakeObjectFactoryAccessor(&Self::m_factory),
                                          MakeObjectFactoryChecker());
    return tid;
}

void
OFSwitch13PriorityQueue::DoInitialize()
{
    for (uint32_t i = 0; i < m_nQueues; i++)
    {
        AddQueue(m_factory.Create<Queue<Packet>>());
    }
    OFSwitch13Queue::DoInitialize();
}

Ptr<Queue<Packet>>
OFSwitch13PriorityQueue::Next() const
{
    for (int number = 0; number < GetNQueues(); number++)
    {
        if (!GetQueue(number)->IsEmpty())
        {
            LogNext(number);
            return GetQueue(number);
        }
    }
    return nullptr;
}

Ptr<Packet>
OFSwitch13PriorityQueue::Dequeue()
{
    Ptr<Queue<Packet>> queue = Next();
    if (!queue)
    {
        return nullptr;
    }
    Ptr<Packet> packet = queue->Dequeue();
    NotifyDequeue(packet);
    return packet;
}

Ptr<Packet>
OFSwitch13PriorityQueue::Remove()
{
    Ptr<Queue<Packet>> queue = Next();
    if (!queue)
    {
        return nullptr;
    }
    Ptr<Packet> packet = queue->Remove();
    NotifyRemove(packet);
    return packet;
}

Ptr<const Packet>
OFSwitch13PriorityQueue::Peek() const
{
    Ptr<Queue<Packet>> queue = Next();
    return queue ? queue->Peek() : nullptr;
}

} // namespace ns3
