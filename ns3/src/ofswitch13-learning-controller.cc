// Learns where addresses are from packets that come to the controller.
#include "ns3/ofswitch13-learning-controller.h"

#include <sstream>

#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13LearningController");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13LearningController);

TypeId
OFSwitch13LearningController::GetTypeId()
{
    static TypeId tid = TypeId("ns3::OFSwitch13LearningController")
                            .SetParent<OFSwitch13Controller>()
                            .SetGroupName("OFSwitch13")
                            .AddConstructor<OFSwitch13LearningController>();
    return tid;
}

void
OFSwitch13LearningController::HandshakeSuccessful(Ptr<const RemoteSwitch> swtch)
{
    // What no entry knows comes here as a whole.
    DpctlExecute(swtch, "flow-mod cmd=add,table=0,prio=0 apply:output=ctrl:65535");
}

void
OFSwitch13LearningController::HandlePacketIn(const bofuss_packet_in& message,
                                             Ptr<const RemoteSwitch> swtch,
                                             uint32_t)
{
    if (message.data_length < 12)
    {
        return;
    }
    Mac48Address to;
    Mac48Address from;
    to.CopyFrom(message.data);
    from.CopyFrom(message.data + 6);
    std::map<Mac48Address, uint32_t>& learned = m_learned[swtch->GetDpId()];
    learned[from] = message.in_port;
    NS_LOG_DEBUG("switch " << swtch->GetDpId() << ": " << from << " is at port "
                           << message.in_port);
    auto known = learned.find(to);
    std::ostringstream out;
    if (known == learned.end() || to.IsGroup())
    {
        out << "flood";
    }
    else
    {
        out << "output:" << known->second;
        std::ostringstream flow;
        flow << "flow-mod cmd=add,table=0,prio=100,idle=60,flags=0x1 in_port=" << message.in_port
             << ",eth_src=" << from << ",eth_dst=" << to << " apply:output=" << known->second;
        DpctlExecute(swtch, flow.str());
    }
    static const char DIGITS[] = "0123456789abcdef";
    std::string packet;
    for (size_t i = 0; i < message.data_length; i++)
    {
        packet += DIGITS[message.data[i] >> 4];
        packet += DIGITS[message.data[i] & 15];
    }
    std::ostringstream command;
    command << "packet-out " << message.in_port << " " << out.str() << " " << packet;
    DpctlExecute(swtch, command.str());
}

} // namespace ns3
