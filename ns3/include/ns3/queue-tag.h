// A tag of packets: the queue of a port in which they wait.
#ifndef QUEUE_TAG_H
#define QUEUE_TAG_H

#include "ns3/tag.h"

namespace ns3
{

// The queue that an action has set for a packet.
class QueueTag : public Tag
{
  public:
    static TypeId GetTypeId();
    explicit QueueTag(uint32_t queue = 0);
    TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(TagBuffer i) const override;
    void Deserialize(TagBuffer i) override;
    void Print(std::ostream& os) const override;
    void SetQueueId(uint32_t queue);
    uint32_t GetQueueId() const;

  private:
    uint32_t m_queue;
};

} // namespace ns3

#endif
