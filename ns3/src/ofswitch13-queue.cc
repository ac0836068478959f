// Queues of a port: their packets are in one list, by arrival; each queue has its own limit.
#include "ns3/ofswitch13-queue.h"

#include <algorithm>

#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13Queue");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13Queue);

namespace
{
// Not in the class, whose base has a log of its own.
void
LogEnqueue(uint32_t queue, uint32_t waiting, bool isFull)
{
    NS_LOG_DEBUG("queue " << queue << " has " << waiting << " packets"
                          << (isFull ? ", and drops one" : ""));
}
} // namespace

TypeId
OFSwitch13Queue::GetTypeId()
{
    static TypeId tid = TypeId("ns3::OFSwitch13Queue")
                            .SetParent<Queue<Packet>>()
                            .SetGroupName("OFSwitch13")
                            .AddAttribute("QueueSize",
                                          "The most packets of each queue.",
                                          QueueSizeValue(QueueSize("100p")),
                                          MakeQueueSizeAccessor(&OFSwitch13Queue::SetQueueSize,
                                                                &OFSwitch13Queue::GetQueueSize),
                                          MakeQueueSizeChecker());
    return tid;
}

void
OFSwitch13Queue::SetQueueSize(QueueSize size)
{
    NS_ABORT_MSG_IF(size.GetUnit() != PACKETS, "the size of a queue is in packets");
    m_size = size;
    Resize();
}

QueueSize
OFSwitch13Queue::GetQueueSize() const
{
    return m_size;
}

void
OFSwitch13Queue::SetNQueues(uint32_t number)
{
    m_counts.assign(number, 0);
    for (const Ptr<Packet>& packet : GetContainer())
    {
        m_counts[QueueOf(packet)]++;
    }
    Resize();
}

void
OFSwitch13Queue::Resize()
{
    uint64_t all = uint64_t{m_size.GetValue()} * m_counts.size();
    SetMaxSize(QueueSize(PACKETS, std::min<uint64_t>(all, UINT32_MAX)));
}

uint32_t
OFSwitch13Queue::GetNQueues() const
{
    return m_counts.size();
}

uint32_t
OFSwitch13Queue::GetNPackets(uint32_t queue) const
{
    return m_counts.at(queue);
}

uint32_t
OFSwitch13Queue::QueueOf(Ptr<const Packet> packet) const
{
    QueueTag tag;
    bool isThere = packet->PeekPacketTag(tag) && tag.GetQueueId() < m_counts.size();
    return isThere ? tag.GetQueueId() : 0;
}

OFSwitch13Queue::ConstIterator
OFSwitch13Queue::Next() const
{
    uint32_t queue = NextQueue();
    ConstIterator packet = GetContainer().begin();
    while (QueueOf(*packet) != queue)
    {
        ++packet;
    }
    return packet;
}

bool
OFSwitch13Queue::Enqueue(Ptr<Packet> packet)
{
    uint32_t& count = m_counts[QueueOf(packet)];
    bool isFull = count >= m_size.GetValue();
    LogEnqueue(QueueOf(packet), count, isFull);
    if (isFull)
    {
        DropBeforeEnqueue(packet);
        return false;
    }
    count++;
    if (!DoEnqueue(GetContainer().end(), packet))
    {
        // The queues together may have been given another limit.
        count--;
        return false;
    }
    return true;
}

Ptr<Packet>
OFSwitch13Queue::Dequeue()
{
    if (IsEmpty())
    {
        return nullptr;
    }
    Ptr<Packet> packet = DoDequeue(Next());
    m_counts[QueueOf(packet)]--;
    return packet;
}

Ptr<Packet>
OFSwitch13Queue::Remove()
{
    if (IsEmpty())
    {
        return nullptr;
    }
    Ptr<Packet> packet = DoRemove(Next());
    m_counts[QueueOf(packet)]--;
    return packet;
}

Ptr<const Packet>
OFSwitch13Queue::Peek() const
{
    return IsEmpty() ? nullptr : DoPeek(Next());
}

} // namespace ns3
