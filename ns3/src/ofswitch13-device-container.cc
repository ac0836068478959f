// A list of switches.
#include "ns3/ofswitch13-device-container.h"

#include "ns3/names.h"

namespace ns3
{

OFSwitch13DeviceContainer::OFSwitch13DeviceContainer(Ptr<OFSwitch13Device> device)
{
    Add(device);
}

OFSwitch13DeviceContainer::OFSwitch13DeviceContainer(const std::string& name)
{
    Add(name);
}

OFSwitch13DeviceContainer::OFSwitch13DeviceContainer(const OFSwitch13DeviceContainer& first,
                                                     const OFSwitch13DeviceContainer& second)
{
    Add(first);
    Add(second);
}

void
OFSwitch13DeviceContainer::Add(const std::string& name)
{
    Ptr<OFSwitch13Device> device = Names::Find<OFSwitch13Device>(name);
    NS_ABORT_MSG_IF(!device, "no switch has the name " << name);
    m_devices.push_back(device);
}

OFSwitch13DeviceContainer::Iterator
OFSwitch13DeviceContainer::Begin() const
{
    return m_devices.begin();
}

OFSwitch13DeviceContainer::Iterator
OFSwitch13DeviceContainer::End() const
{
    return m_devices.end();
}

uint32_t
OFSwitch13DeviceContainer::GetN() const
{
    return m_devices.size();
}

Ptr<OFSwitch13Device>
OFSwitch13DeviceContainer::Get(uint32_t i) const
{
    return m_devices.at(i);
}

void
OFSwitch13DeviceContainer::Add(Ptr<OFSwitch13Device> device)
{
    m_devices.push_back(device);
}

void
OFSwitch13DeviceContainer::Add(const OFSwitch13DeviceContainer& other)
{
    m_devices.insert(m_devices.end(), other.Begin(), other.End());
}

} // namespace ns3
