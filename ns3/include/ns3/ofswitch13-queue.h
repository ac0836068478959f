// Queues of a port: the action set-queue says in which one a packet waits for the device.
#ifndef OFSWITCH13_QUEUE_H
#define OFSWITCH13_QUEUE_H

#include <vector>

#include "ns3/packet.h"
#include "ns3/queue-size.h"
#include "ns3/queue-tag.h"
#include "ns3/queue.h"

namespace ns3
{

// The queues of a port, as one queue of its device. A packet for a queue that is not there waits in
// queue 0. Derived classes say whose turn it is.
class OFSwitch13Queue : public Queue<Packet>
{
  public:
    static TypeId GetTypeId();
    bool Enqueue(Ptr<Packet> packet) override;
    Ptr<Packet> Dequeue() override;
    Ptr<Packet> Remove() override;
    Ptr<const Packet> Peek() const override;
    uint32_t GetNQueues() const;
    // How many packets wait in a queue.
    uint32_t GetNPackets(uint32_t queue) const;
    using QueueBase::GetNPackets;

  protected:
    void SetNQueues(uint32_t number);
    // The queue that the next packet is from. It is called only if one waits.
    virtual uint32_t NextQueue() const = 0;

  private:
    void SetQueueSize(QueueSize size);
    QueueSize GetQueueSize() const;
    void Resize();
    // The queue of a packet.
    uint32_t QueueOf(Ptr<const Packet> packet) const;
    // The next packet.
    ConstIterator Next() const;

    QueueSize m_size{"100p"};
    // The packets of each queue.
    std::vector<uint32_t> m_counts{0};
};

} // namespace ns3

#endif
