// Queues of a port: a packet is in one of them, and in the list of all by arrival.
#include "ns3/ofswitch13-queue.h"

#include <algorithm>

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/object-vector.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13Queue");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13Queue);

namespace
{
// Not in the class, whose base has a log of its own.
void
LogEnqueue(uint64_t dpId, uint32_t port, uint32_t queue, uint32_t waiting, bool isFull)
{
    NS_LOG_DEBUG("switch " << dpId << " port " << port << ": queue " << queue << " has " << waiting
                           << " packets" << (isFull ? ", and drops one" : ""));
}
} // namespace

TypeId
OFSwitch13Queue::GetTypeId()
{
    static TypeId tid = TypeId("ns3::OFSwitch13Queue")
                            .SetParent<Queue<Packet>>()
                            .SetGroupName("OFSwitch13")
                            .AddAttribute("QueueList",
                                          "The queues, the first of which is queue 0.",
                                          TypeId::ATTR_GET,
                                          ObjectVectorValue(),
                                          MakeObjectVectorAccessor(&OFSwitch13Queue::m_queues),
                                          MakeObjectVectorChecker<Queue<Packet>>());
    return tid;
}

void
OFSwitch13Queue::NotifyConstructionCompleted()
{
    // The limits are those of the single queues.
    SetMaxSize(QueueSize(PACKETS, UINT32_MAX));
    Queue<Packet>::NotifyConstructionCompleted();
}

void
OFSwitch13Queue::SetPort(uint64_t dpId, uint32_t number)
{
    m_dpId = dpId;
    m_portNo = number;
}

int
OFSwitch13Queue::GetNQueues() const
{
    return m_queues.size();
}

Ptr<Queue<Packet>>
OFSwitch13Queue::GetQueue(int queue) const
{
    return m_queues.at(queue);
}

uint32_t
OFSwitch13Queue::AddQueue(Ptr<Queue<Packet>> queue)
{
    m_queues.push_back(queue);
    return m_queues.size() - 1;
}

bool
OFSwitch13Queue::Enqueue(Ptr<Packet> packet)
{
    NS_ABORT_MSG_IF(m_queues.empty(), "queues are there after Initialize");
    QueueTag tag;
    packet->PeekPacketTag(tag);
    uint32_t number = tag.GetQueueId() < m_queues.size() ? tag.GetQueueId() : 0;
    Ptr<Queue<Packet>> queue = m_queues[number];
    // The queues together may have been given a limit, too.
    bool isFull = GetCurrentSize() + packet > GetMaxSize() || !queue->Enqueue(packet);
    LogEnqueue(m_dpId, m_portNo, number, queue->GetNPackets(), isFull);
    if (isFull)
    {
        DropBeforeEnqueue(packet);
        return false;
    }
    return DoEnqueue(GetContainer().end(), packet);
}

OFSwitch13Queue::ConstIterator
OFSwitch13Queue::Find(Ptr<Packet> packet) const
{
    ConstIterator found = std::find(GetContainer().begin(), GetContainer().end(), packet);
    NS_ABORT_MSG_IF(found == GetContainer().end(), "a packet leaves that did not wait");
    return found;
}

void
OFSwitch13Queue::NotifyDequeue(Ptr<Packet> packet)
{
    DoDequeue(Find(packet));
}

void
OFSwitch13Queue::NotifyRemove(Ptr<Packet> packet)
{
    DoRemove(Find(packet));
}

} // namespace ns3
