// A list of switches.
#ifndef OFSWITCH13_DEVICE_CONTAINER_H
#define OFSWITCH13_DEVICE_CONTAINER_H

#include <string>
#include <vector>

#include "ns3/ofswitch13-device.h"

namespace ns3
{

class OFSwitch13DeviceContainer
{
  public:
    using Iterator = std::vector<Ptr<OFSwitch13Device>>::const_iterator;
    OFSwitch13DeviceContainer() = default;
    // Of one switch, or of one by its name.
    OFSwitch13DeviceContainer(Ptr<OFSwitch13Device> device);
    OFSwitch13DeviceContainer(const std::string& name);
    // Of both.
    OFSwitch13DeviceContainer(const OFSwitch13DeviceContainer& first,
                              const OFSwitch13DeviceContainer& second);
    Iterator Begin() const;
    Iterator End() const;
    uint32_t GetN() const;
    Ptr<OFSwitch13Device> Get(uint32_t i) const;
    void Add(Ptr<OFSwitch13Device> device);
    // The switch that Names knows by a name.
    void Add(const std::string& name);
    void Add(const OFSwitch13DeviceContainer& other);

  private:
    std::vector<Ptr<OFSwitch13Device>> m_devices;
};

} // namespace ns3

#endif
