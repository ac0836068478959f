// Queues of a port: their packets are in one list, by arrival; each queue has its own limit.
#include "ns3/ofswitch13-queue.h"

#include "ns3/uinteger.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(QueueTag);
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13Queue);
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13PriorityQueue);

TypeId
QueueTag::GetTypeId()
{
    static TypeId tid = TypeId("ns3::QueueTag")
                            .SetParent<Tag>()
                            .SetGroupName("OFSwitch13")
                            .AddConstructor<QueueTag>();
    return tid;
}

QueueTag::QueueTag(uint32_t queue)
    : m_queue(queue)
{
}

TypeId
QueueTag::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
QueueTag::GetSerializedSize() const
{
    return 4;
}

void
QueueTag::Serialize(TagBuffer i) const
{
    i.WriteU32(m_queue);
}

void
QueueTag::Deserialize(TagBuffer i)
{
    m_queue = i.ReadU32();
}

void
QueueTag::Print(std::ostream& os) const
{
    os << "queue=" << m_queue;
}

uint32_t
QueueTag::GetQueueId() const
{
    return m_queue;
}

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
    m_counts.resize(number);
    Resize();
}

void
OFSwitch13Queue::Resize()
{
    SetMaxSize(QueueSize(PACKETS, m_size.GetValue() * m_counts.size()));
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
    if (count >= m_size.GetValue())
    {
        DropBeforeEnqueue(packet);
        return false;
    }
    count++;
    return DoEnqueue(GetContainer().end(), packet);
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
    return queue;
}

} // namespace ns3
