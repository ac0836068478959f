// A controller outside of the simulation: a TAP interface, bridged to the channel of the switches.
#include "ns3/ofswitch13-external-helper.h"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ns3/bridge-helper.h"
#include "ns3/fd-net-device.h"
#include "ns3/inet-socket-address.h"
#include "ns3/ipv4.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("OFSwitch13ExternalHelper");
NS_OBJECT_ENSURE_REGISTERED(OFSwitch13ExternalHelper);

namespace
{
void
SetAddress(sockaddr& place, uint32_t address)
{
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(address);
    std::memcpy(&place, &in, sizeof in);
}

// One ioctl of those that configure the interface.
void
Configure(int fd, unsigned long request, ifreq& about, const char* what)
{
    NS_ABORT_MSG_IF(ioctl(fd, request, &about) != 0,
                    about.ifr_name << ", " << what << ": " << std::strerror(errno));
}

// Opens a TAP interface, without packet information.
int
MakeTap(const std::string& name)
{
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    NS_ABORT_MSG_IF(fd < 0, "/dev/net/tun: " << std::strerror(errno));
    ifreq about{};
    NS_ABORT_MSG_IF(name.size() >= sizeof about.ifr_name, name << " is too long for an interface");
    name.copy(about.ifr_name, name.size());
    about.ifr_flags = IFF_TAP | IFF_NO_PI;
    Configure(fd, TUNSETIFF, about, "TAP");
    return fd;
}

// Gives an interface address, mask and MTU, and takes it up.
void
TakeUp(const std::string& name, Ipv4Address address, Ipv4Mask mask, uint32_t mtu)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    NS_ABORT_MSG_IF(fd < 0, "a socket: " << std::strerror(errno));
    ifreq about{};
    name.copy(about.ifr_name, name.size());
    SetAddress(about.ifr_addr, address.Get());
    Configure(fd, SIOCSIFADDR, about, "address");
    SetAddress(about.ifr_netmask, mask.Get());
    Configure(fd, SIOCSIFNETMASK, about, "mask");
    about.ifr_mtu = mtu;
    Configure(fd, SIOCSIFMTU, about, "MTU");
    Configure(fd, SIOCGIFFLAGS, about, "flags");
    about.ifr_flags |= IFF_UP;
    Configure(fd, SIOCSIFFLAGS, about, "up");
    close(fd);
}
} // namespace

TypeId
OFSwitch13ExternalHelper::GetTypeId()
{
    static TypeId tid = TypeId("ns3::OFSwitch13ExternalHelper")
                            .SetParent<OFSwitch13Helper>()
                            .SetGroupName("OFSwitch13")
                            .AddConstructor<OFSwitch13ExternalHelper>()
                            .AddAttribute("Port",
                                          "The TCP port at which the controller listens.",
                                          UintegerValue(6653),
                                          MakeUintegerAccessor(&OFSwitch13ExternalHelper::m_port),
                                          MakeUintegerChecker<uint16_t>());
    return tid;
}

OFSwitch13ExternalHelper::OFSwitch13ExternalHelper()
{
    UseChecksums();
}

Ptr<NetDevice>
OFSwitch13ExternalHelper::InstallExternalController(Ptr<Node> node)
{
    NS_ABORT_MSG_IF(m_created, "the channels are there already");
    NS_ABORT_MSG_IF(m_node, "there is a controller already");
    NS_ABORT_MSG_IF(m_type != SINGLE_CSMA,
                    "an external controller is on a channel of type SingleCsma");
    m_node = node;
    // A TAP bridge takes the address of its interface from the node.
    InstallStack(NodeContainer(node));
    m_channel = CreateObject<CsmaChannel>();
    m_channel->SetAttribute("DataRate", DataRateValue(m_rate));
    m_csma.SetDeviceAttribute("Mtu", UintegerValue(CHANNEL_MTU));
    m_device = m_csma.Install(node, m_channel).Get(0);
    m_channelDevices.Add(m_device);
    m_address = m_addresses.Assign(NetDeviceContainer(m_device)).GetAddress(0);
    return m_device;
}

void
OFSwitch13ExternalHelper::CreateOpenFlowChannels()
{
    NS_ABORT_MSG_IF(m_created, "the channels are there already");
    NS_ABORT_MSG_IF(!m_node, "there is no controller");
    m_created = true;
    NetDeviceContainer devices = m_csma.Install(m_switchNodes, m_channel);
    m_channelDevices.Add(devices);
    m_addresses.Assign(devices);
    m_addresses.NewNetwork();
    for (auto device = m_devices.Begin(); device != m_devices.End(); ++device)
    {
        Simulator::ScheduleNow(&OFSwitch13Device::StartControllerConnection,
                               *device,
                               InetSocketAddress(m_address, m_port));
    }
}

void
OFSwitch13ExternalHelper::OpenTap(const std::string& name)
{
    NS_ABORT_MSG_IF(!m_node, "there is no controller");
    // From now on this machine answers at the address, and not the node.
    Ptr<Ipv4> ipv4 = m_node->GetObject<Ipv4>();
    int32_t interface = ipv4->GetInterfaceForDevice(m_device);
    ipv4->RemoveAddress(interface, 0);
    ipv4->SetDown(interface);
    Ptr<FdNetDevice> tap = CreateObject<FdNetDevice>();
    tap->SetAddress(Mac48Address::Allocate());
    tap->SetMtu(CHANNEL_MTU);
    tap->SetFileDescriptor(MakeTap(name));
    TakeUp(name, m_address, m_mask, CHANNEL_MTU);
    NS_LOG_INFO("the controller is awaited at " << m_address << ":" << m_port << " of " << name);
    m_node->AddDevice(tap);
    NetDeviceContainer ports(m_device);
    ports.Add(tap);
    BridgeHelper bridge;
    bridge.Install(m_node, ports);
}

Ipv4Address
OFSwitch13ExternalHelper::GetControllerAddress() const
{
    return m_address;
}

} // namespace ns3
