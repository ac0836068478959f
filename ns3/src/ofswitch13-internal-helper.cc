// Channels from each switch to each controller of a simulation.
#include "ns3/ofswitch13-internal-helper.h"

#include "ns3/log.h"
#include "ns3/simulator.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13InternalHelper");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13InternalHelper);

TypeId
OFSwitch13InternalHelper::GetTypeId()
{
    static TypeId tid = TypeId("ns3::OFSwitch13InternalHelper")
                            .SetParent<OFSwitch13Helper>()
                            .SetGroupName("OFSwitch13")
                            .AddConstructor<OFSwitch13InternalHelper>();
    return tid;
}

OFSwitch13InternalHelper::OFSwitch13InternalHelper()
{
    UseChecksums();
}

Ptr<OFSwitch13Controller>
OFSwitch13InternalHelper::InstallController(Ptr<Node> node, Ptr<OFSwitch13Controller> controller)
{
    NS_ABORT_MSG_IF(m_created, "the channels are there already");
    InstallStack(NodeContainer(node));
    controller->SetStartTime(Seconds(0));
    node->AddApplication(controller);
    m_controllerNodes.Add(node);
    m_controllers.push_back(controller);
    return controller;
}

void
OFSwitch13InternalHelper::CreateOpenFlowChannels()
{
    NS_ABORT_MSG_IF(m_created, "the channels are there already");
    NS_ABORT_MSG_IF(m_controllers.empty(), "there is no controller");
    m_created = true;
    // Controllers have the first addresses.
    NodeContainer all(m_controllerNodes, m_switchNodes);
    std::vector<std::vector<Address>> addresses(m_switchNodes.GetN());
    auto address = [this](Ipv4Address host, size_t controller) {
        UintegerValue port;
        m_controllers[controller]->GetAttribute("Port", port);
        return InetSocketAddress(host, port.Get());
    };
    if (m_type == SINGLE_CSMA)
    {
        Ipv4InterfaceContainer interfaces = Connect(all, true);
        for (std::vector<Address>& of : addresses)
        {
            for (size_t c = 0; c < m_controllers.size(); c++)
            {
                of.push_back(address(interfaces.GetAddress(c), c));
            }
        }
    }
    else
    {
        for (uint32_t s = 0; s < m_switchNodes.GetN(); s++)
        {
            for (size_t c = 0; c < m_controllers.size(); c++)
            {
                NodeContainer pair(m_controllerNodes.Get(c), m_switchNodes.Get(s));
                Ipv4InterfaceContainer interfaces = Connect(pair, m_type == DEDICATED_CSMA);
                addresses[s].push_back(address(interfaces.GetAddress(0), c));
            }
        }
    }
    for (uint32_t s = 0; s < m_devices.GetN(); s++)
    {
        for (const Address& controller : addresses[s])
        {
            InetSocketAddress to = InetSocketAddress::ConvertFrom(controller);
            NS_LOG_INFO("switch " << m_devices.Get(s)->GetDpId() << " connects to "
                                  << to.GetIpv4() << ":" << to.GetPort());
            Simulator::ScheduleNow(&OFSwitch13Device::StartControllerConnection,
                                   m_devices.Get(s),
                                   controller);
        }
    }
}

} // namespace ns3
