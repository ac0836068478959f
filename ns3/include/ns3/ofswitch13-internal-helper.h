// Switches whose controllers are in the simulation.
#ifndef OFSWITCH13_INTERNAL_HELPER_H
#define OFSWITCH13_INTERNAL_HELPER_H

#include <vector>

#include "ns3/ofswitch13-helper.h"
#include "ns3/ofswitch13-learning-controller.h"

namespace ns3
{

// Controllers in the simulation; each switch is connected to all of this helper.
class OFSwitch13InternalHelper : public OFSwitch13Helper
{
  public:
    static TypeId GetTypeId();
    OFSwitch13InternalHelper();
    Ptr<OFSwitch13Controller> InstallController(
        Ptr<Node> node,
        Ptr<OFSwitch13Controller> controller = CreateObject<OFSwitch13LearningController>());
    void CreateOpenFlowChannels() override;

  private:
    NodeContainer m_controllerNodes;
    std::vector<Ptr<OFSwitch13Controller>> m_controllers;
};

} // namespace ns3

#endif
