// One switch with two controllers: one writes the entries, the other only asks.
#include "check.h"

using namespace ns3;

class Asking : public OFSwitch13Controller
{
  public:
    std::string description;

  protected:
    void HandshakeSuccessful(Ptr<const RemoteSwitch> swtch) override
    {
        DpctlExecute(swtch, "stats-flow");
    }

    ofl_err HandleMultipartReply(struct ofl_msg_multipart_reply_header* msg,
                                 Ptr<const RemoteSwitch>,
                                 uint32_t) override
    {
        char* text = ofl_msg_to_string(&msg->header, nullptr);
        description = text;
        free(text);
        ofl_msg_free(&msg->header, nullptr);
        return 0;
    }
};

int
main(int argc, char** argv)
{
    CommandLine cmd;
    cmd.Parse(argc, argv);
    Line line(1);
    Ptr<OFSwitch13InternalHelper> of13 = CreateObject<OFSwitch13InternalHelper>();
    Ptr<OFSwitch13Controller> writing = CreateObject<OFSwitch13Controller>();
    Ptr<Asking> asking = CreateObject<Asking>();
    of13->InstallController(CreateObject<Node>(), writing);
    of13->InstallController(CreateObject<Node>(), asking);
    Ptr<OFSwitch13Device> device = of13->InstallSwitch(line.switches.Get(0), line.ports[0]);
    of13->CreateOpenFlowChannels();
    uint64_t id = device->GetDatapathId();
    // Before the handshake, a command waits.
    writing->DpctlExecute(id, "flow-mod cmd=add,table=0,prio=10 in_port=1 apply:output=2");
    writing->DpctlExecute(id, "flow-mod cmd=add,table=0,prio=10 in_port=2 apply:output=1");
    line.Ping(5.5);
    Simulator::Schedule(Seconds(4), [&] { asking->DpctlExecute(id, "stats-flow table=0"); });
    Simulator::Stop(Seconds(6));
    Simulator::Run();
    Check(device->GetNControllers() == 2, "two controllers are connected");
    Check(line.replies == 5, "5 of 5 pings pass by the entries of one");
    Check(asking->description.find("in_port=2") != std::string::npos, "the other sees them");
    // Nothing more: a script may end without Simulator::Destroy.
    return 0;
}
