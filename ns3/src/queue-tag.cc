// The tag that says in which queue a packet waits.
#include "ns3/queue-tag.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(QueueTag);

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

void
QueueTag::SetQueueId(uint32_t queue)
{
    m_queue = queue;
}

uint32_t
QueueTag::GetQueueId() const
{
    return m_queue;
}

} // namespace ns3
