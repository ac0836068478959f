// What is written in another way since some version of ns-3: the one that is there is found out.
#ifndef NS3_VERSIONS_H
#define NS3_VERSIONS_H

#include "ns3/enum.h"

namespace ns3
{

// The accessor of an attribute with an enumeration, whose type is to be named since 3.41. The last
// argument is 0.
template <class Enum, class Member>
auto
EnumAccessor(Member member, int) -> decltype(MakeEnumAccessor<Enum>(member))
{
    return MakeEnumAccessor<Enum>(member);
}

// The same before 3.41.
template <class Enum, class Member>
Ptr<const AttributeAccessor>
EnumAccessor(Member member, long)
{
    return MakeEnumAccessor(member);
}

} // namespace ns3

#endif
