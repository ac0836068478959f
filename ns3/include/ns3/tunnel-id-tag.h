// A tag of packets between a logical port and what is behind it: the id of the tunnel.
#ifndef TUNNEL_ID_TAG_H
#define TUNNEL_ID_TAG_H

#include "ns3/tag.h"

namespace ns3
{

class TunnelIdTag : public Tag
{
  public:
    static TypeId GetTypeId();
    explicit TunnelIdTag(uint64_t tunnel = 0);
    TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(TagBuffer i) const override;
    void Deserialize(TagBuffer i) override;
    void Print(std::ostream& os) const override;
    void SetTunnelId(uint64_t tunnel);
    uint64_t GetTunnelId() const;

  private:
    uint64_t m_tunnel;
};

} // namespace ns3

#endif
