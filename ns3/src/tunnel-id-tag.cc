// The tag that says by which tunnel a packet comes or goes.
#include "ns3/tunnel-id-tag.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TunnelIdTag);

TypeId
TunnelIdTag::GetTypeId()
{
    static TypeId tid = TypeId("ns3::TunnelIdTag")
                            .SetParent<Tag>()
                            .SetGroupName("OFSwitch13")
                            .AddConstructor<TunnelIdTag>();
    return tid;
}

TunnelIdTag::TunnelIdTag(uint64_t tunnel)
    : m_tunnel(tunnel)
{
}

TypeId
TunnelIdTag::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
TunnelIdTag::GetSerializedSize() const
{
    return 8;
}

void
TunnelIdTag::Serialize(TagBuffer i) const
{
    i.WriteU64(m_tunnel);
}

void
TunnelIdTag::Deserialize(TagBuffer i)
{
    m_tunnel = i.ReadU64();
}

void
TunnelIdTag::Print(std::ostream& os) const
{
    os << "tunnel=" << m_tunnel;
}

void
TunnelIdTag::SetTunnelId(uint64_t tunnel)
{
    m_tunnel = tunnel;
}

uint64_t
TunnelIdTag::GetTunnelId() const
{
    return m_tunnel;
}

} // namespace ns3
