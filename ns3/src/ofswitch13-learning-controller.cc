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

ofl_err
OFSwitch13LearningController::HandlePacketIn(ofl_msg_packet_in* msg,
                                             Ptr<const RemoteSwitch> swtch,
                                             uint32_t xid)
{
    auto* match = reinterpret_cast<ofl_match*>(msg->match);
    ofl_match_tlv* inPort = oxm_match_lookup(OXM_OF_IN_PORT, match);
    ofl_match_tlv* source = oxm_match_lookup(OXM_OF_ETH_SRC, match);
    ofl_match_tlv* destination = oxm_match_lookup(OXM_OF_ETH_DST, match);
    if (!inPort || !source || !destination)
    {
        return ofl_error(OFPET_BAD_REQUEST, OFPBRC_BAD_PACKET);
    }
    uint32_t port = 0;
    std::memcpy(&port, inPort->value, sizeof(port));
    Mac48Address to;
    Mac48Address from;
    to.CopyFrom(destination->value);
    from.CopyFrom(source->value);
    std::map<Mac48Address, uint32_t>& learned = m_learned[swtch->GetDpId()];
    learned[from] = port;
    NS_LOG_DEBUG("switch " << swtch->GetDpId() << ": " << from << " is at port " << port);
    auto known = learned.find(to);
    ofl_action_output output{{OFPAT_OUTPUT, 0}, OFPP_FLOOD, 0};
    if (known != learned.end() && !to.IsGroup())
    {
        output.port = known->second;
        std::ostringstream flow;
        flow << "flow-mod cmd=add,table=0,prio=100,idle=60,flags=0x1 in_port=" << port
             << ",eth_src=" << from << ",eth_dst=" << to << " apply:output=" << known->second;
        DpctlExecute(swtch, flow.str());
    }
    ofl_action_header* action = &output.header;
    ofl_msg_packet_out out{};
    out.header.type = OFPT_PACKET_OUT;
    out.buffer_id = msg->buffer_id;
    out.in_port = port;
    out.actions_num = 1;
    out.actions = &action;
    if (msg->buffer_id == NO_BUFFER)
    {
        out.data_length = msg->data_length;
        out.data = msg->data;
    }
    SendToSwitch(swtch, &out.header, xid);
    ofl_msg_free(&msg->header, nullptr);
    return 0;
}

} // namespace ns3
