// Names of what headers of packets say, as BOFUSS has them. Numbers: IANA, IEEE 802.
#ifndef LIB_PACKETS_H
#define LIB_PACKETS_H

#include <cstddef>
#include <cstdint>

constexpr size_t ETH_ADDR_LEN = 6;

constexpr uint16_t ETH_TYPE_IP = 0x0800;
constexpr uint16_t ETH_TYPE_ARP = 0x0806;
constexpr uint16_t ETH_TYPE_VLAN = 0x8100;
constexpr uint16_t ETH_TYPE_IPV6 = 0x86dd;
constexpr uint16_t ETH_TYPE_MPLS = 0x8847;

constexpr uint8_t IP_TYPE_ICMP = 1;
constexpr uint8_t IP_TYPE_TCP = 6;
constexpr uint8_t IP_TYPE_UDP = 17;
constexpr uint8_t IP_TYPE_SCTP = 132;

#endif
