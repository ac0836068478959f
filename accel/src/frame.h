// Reads frames into keys, and changes frames as a leg says.

#include <linux/bpf.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define INLINE static __attribute__((always_inline))
#define be16(x) __builtin_bswap16(x)

static long (*const push_vlan)(void *skb, u16 protocol, u16 tci) = (void *)BPF_FUNC_skb_vlan_push;
static long (*const pop_vlan)(void *skb) = (void *)BPF_FUNC_skb_vlan_pop;
static long (*const store_bytes)(void *skb, u32 at, const void *from, u32 len, u64 flags) =
	(void *)BPF_FUNC_skb_store_bytes;
static long (*const change_l3_sum)(void *skb, u32 at, u64 from, u64 to, u64 size) =
	(void *)BPF_FUNC_l3_csum_replace;
static long (*const change_l4_sum)(void *skb, u32 at, u64 from, u64 to, u64 flags) =
	(void *)BPF_FUNC_l4_csum_replace;
static long (*const sum_difference)(const void *from, u32 from_len, const void *to, u32 to_len, u32 sum) =
	(void *)BPF_FUNC_csum_diff;
static long (*const load_bytes)(const void *skb, u32 at, void *to, u32 len, u32 from) =
	(void *)BPF_FUNC_skb_load_bytes_relative;

// What tells the frames of one flow from others, before the mask. Numbers of headers are in network order.
struct key {
	u32 ifindex;
	u16 tag; // The TCI with HAS_TAG instead of DEI; 0 without a tag.
	u8 protocol; // With the bit OF_IPV6.
	u8 tos;
	u8 macs[12];
	u32 addresses[8]; // IPv4 has the first of each four.
	u16 ports[2]; // ICMP has its type and code in the first.
	u32 label; // The flow label of IPv6.
	u16 tcp_flags;
	u16 unused;
};
#define KEY_WORDS 8
#define OF_IPV6 0x80
#define HAS_TAG 0x1000

// A part of the way of frames that are changed, or leave by several interfaces: the change, which is one of
// their keys, and then a departure.
struct leg {
	u64 stays[KEY_WORDS]; // The bits of the key that stay.
	u64 set[KEY_WORDS];
	u32 out;
	u32 next; // The next leg; 0 if there is none.
	u32 hops;
	u32 changes;
};
#define CHANGES_MACS 1
#define CHANGES_TAG 2
#define NEW_TAG 4 // Without the bit DEI of an old one.
#define CHANGES_IP 8
#define CHANGES_TRANSPORT 16

struct transport {
	u16 ports[2];
	u16 udp_len, udp_checksum;
	u32 ack;
	u8 tcp_words, tcp_flags;
};

// The headers of the frames that are read: Ethernet without a tag, IP without options, TCP, UDP or ICMP.
struct headers {
	u16 unused; // So that all fields are aligned.
	u8 macs[12];
	u16 type;
	union {
		struct {
			u8 version, tos;
			u16 total, id, fragment;
			u8 ttl, protocol;
			u16 checksum;
			u32 addresses[2];
			struct transport transport;
		} v4;
		struct {
			u8 version_class, class_label;
			u16 label, payload;
			u8 next, hops;
			u32 addresses[8];
			struct transport transport;
		} v6;
	};
};

#define ETHERNET_BYTES 14
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define TRANSPORT_BYTES 14
#define UDP_BYTES 8
#define TAG_BYTES 4
#define ICMP 1
#define TCP 6
#define UDP 17
#define ICMPV6 58
#define ND_FIRST 135
#define ND_LAST 136

// What is found in a frame.
struct found {
	union {
		struct key key;
		u64 words[KEY_WORDS];
	};
	u32 headers; // How many bytes the headers have, with the tag.
	u32 ip; // How many bytes that of IP has.
	u8 ttl;
};

// Reads a transport header, to which `len` bytes belong. Returns how many bytes it has; 0 in IPv4 if the
// protocol is one without fields; -1 if it is none that is read.
INLINE int read_transport(const struct transport *transport, u8 protocol, u32 len, struct key *key)
{
	u32 bytes;

	key->ports[0] = transport->ports[0];
	if ((protocol & ~OF_IPV6) == TCP) {
		bytes = (transport->tcp_words >> 4) * 4;
		key->tcp_flags = (transport->tcp_words & 0xf) | transport->tcp_flags << 8;
		key->ports[1] = transport->ports[1];
		if (bytes < 20)
			return -1;
	} else if ((protocol & ~OF_IPV6) == UDP) {
		bytes = UDP_BYTES;
		key->ports[1] = transport->ports[1];
	} else if (protocol == ICMP) {
		bytes = 8;
	} else if (protocol == (ICMPV6 | OF_IPV6)) {
		u8 type = be16(transport->ports[0]) >> 8;
		bytes = 4;
		if (type >= ND_FIRST && type <= ND_LAST)
			return -1;
	} else {
		key->ports[0] = 0;
		return protocol & OF_IPV6 ? -1 : 0;
	}
	return bytes <= len ? (int)bytes : -1;
}

// Loads a part of a frame that ends with what is read of a header of TCP. If the frame ends before, or its
// linear part, it ends with a header of UDP, and is 0 behind that.
INLINE long load_part(struct __sk_buff *skb, u32 at, void *to, u32 bytes)
{
	long done = load_bytes(skb, at, to, bytes, BPF_HDR_START_MAC);

	if (done < 0)
		done = load_bytes(skb, at, to, bytes - (TRANSPORT_BYTES - UDP_BYTES), BPF_HDR_START_MAC);
	return done;
}

// Reads a frame of `len` bytes, whose tag the kernel keeps apart. Returns 0 if it is not of the kind that is
// read exactly.
INLINE int read(struct __sk_buff *skb, u32 len, struct found *found)
{
	const u32 first = ETHERNET_BYTES + IPV4_BYTES + TRANSPORT_BYTES;
	struct key *key = &found->key;
	struct headers h;
	u32 rest;
	int transport;

	if (load_part(skb, 0, h.macs, first) < 0)
		return 0;
	if (h.type == be16(0x0800)) {
		found->ip = IPV4_BYTES;
		rest = be16(h.v4.total) - IPV4_BYTES;
		if (h.v4.version != 0x45 || h.v4.fragment & be16(0x3fff) || be16(h.v4.total) < IPV4_BYTES ||
		    h.v4.protocol & OF_IPV6)
			return 0;
		found->ttl = h.v4.ttl;
		key->protocol = h.v4.protocol;
		key->tos = h.v4.tos;
		key->addresses[0] = h.v4.addresses[0];
		key->addresses[4] = h.v4.addresses[1];
		transport = read_transport(&h.v4.transport, key->protocol, rest, key);
	} else if (h.type == be16(0x86dd)) {
		found->ip = IPV6_BYTES;
		rest = be16(h.v6.payload);
		if (h.v6.version_class >> 4 != 6 || h.v6.next & OF_IPV6 ||
		    load_part(skb, first, h.macs + first, IPV6_BYTES - IPV4_BYTES) < 0)
			return 0;
		found->ttl = h.v6.hops;
		key->protocol = h.v6.next | OF_IPV6;
		key->tos = h.v6.version_class << 4 | h.v6.class_label >> 4;
		key->label = h.v6.label << 16 | (h.v6.class_label & 0xf) << 8;
		__builtin_memcpy(key->addresses, h.v6.addresses, sizeof(key->addresses));
		transport = read_transport(&h.v6.transport, key->protocol, rest, key);
	} else {
		return 0;
	}
	u32 end = ETHERNET_BYTES + found->ip + rest;
	if (transport < 0 || end > len)
		return 0;
	// A super-frame is cut after its headers, and has no padding.
	if (skb->gso_size && end != len)
		return 0;
	__builtin_memcpy(key->macs, h.macs, sizeof(h.macs));
	key->ifindex = skb->ifindex;
	found->headers = ETHERNET_BYTES + found->ip + transport;
	if (skb->vlan_present) {
		if (skb->vlan_proto != be16(0x8100))
			return 0;
		key->tag = be16(skb->vlan_tci | HAS_TAG);
		found->headers += TAG_BYTES;
	}
	return 1;
}

// Writes the changed header of IP, and what the checksums make of it.
INLINE void write_ip(struct __sk_buff *skb, const struct found *old, const struct key *new, u8 ttl, u32 sum_at,
		     u64 flags)
{
	const struct key *key = &old->key;
	const u32 at = ETHERNET_BYTES;
	long difference;
	u32 differs = 0;

	if (old->ip == IPV4_BYTES) {
		u32 before[3] = { (u32)key->tos << 8 | (u32)old->ttl << 16, key->addresses[0], key->addresses[4] };
		u32 after[3] = { (u32)new->tos << 8 | (u32)ttl << 16, new->addresses[0], new->addresses[4] };
		long all = sum_difference(before, sizeof(before), after, sizeof(after), 0);
		change_l3_sum(skb, at + 10, 0, all, 0);
		store_bytes(skb, at + 1, &new->tos, 1, 0);
		store_bytes(skb, at + 8, &ttl, 1, 0);
		store_bytes(skb, at + 12, after + 1, 8, 0);
		difference = sum_difference(before + 1, 8, after + 1, 8, 0);
	} else {
		u8 first[4] = { 0x60 | new->tos >> 4, new->tos << 4 | (new->label >> 8 & 0xf), new->label >> 16,
				new->label >> 24 };
		store_bytes(skb, at, first, sizeof(first), BPF_F_RECOMPUTE_CSUM);
		store_bytes(skb, at + 7, &ttl, 1, BPF_F_RECOMPUTE_CSUM);
		// A device's sum of the whole loses what the checksum below changes by, and gets that here.
		store_bytes(skb, at + 8, new->addresses, sizeof(new->addresses), BPF_F_RECOMPUTE_CSUM);
		difference = sum_difference(key->addresses, sizeof(key->addresses), new->addresses,
					    sizeof(new->addresses), 0);
	}
	// Equal addresses differ by -0, not by 0, of which 0xffff becomes 0. Other addresses are set only in frames
	// of TCP, UDP and ICMP, of which ICMP of IPv4 has no pseudo-header.
	for (int i = 0; i < 8; i++)
		differs |= key->addresses[i] ^ new->addresses[i];
	if (differs && key->protocol != ICMP)
		change_l4_sum(skb, sum_at, 0, difference, BPF_F_PSEUDO_HDR | flags);
}

// Changes a frame as a leg says.
INLINE void change(struct __sk_buff *skb, const struct leg *leg)
{
	union {
		struct key key;
		u64 words[KEY_WORDS];
	} new;
	struct found old = {};

	if (!read(skb, skb->len, &old))
		return;
	for (int i = 0; i < KEY_WORDS; i++)
		new.words[i] = (old.words[i] & leg->stays[i]) | leg->set[i];
	u8 protocol = old.key.protocol & ~OF_IPV6;
	u32 transport_at = ETHERNET_BYTES + old.ip;
	u32 sum_at = transport_at + (protocol == TCP ? 16 : protocol == UDP ? 6 : 2);
	u64 flags = protocol == UDP ? BPF_F_MARK_MANGLED_0 : 0;
	if (leg->changes & CHANGES_MACS)
		store_bytes(skb, 0, new.key.macs, sizeof(new.key.macs), 0);
	if (leg->changes & CHANGES_IP)
		write_ip(skb, &old, &new.key, old.ttl - leg->hops, sum_at, flags);
	if (leg->changes & CHANGES_TRANSPORT) {
		long difference = sum_difference(old.key.ports, 4, new.key.ports, 4, 0);
		u16 sum = 1;
		if (protocol == UDP)
			load_bytes(skb, sum_at, &sum, sizeof(sum), BPF_HDR_START_MAC);
		change_l4_sum(skb, sum_at, 0, difference, flags);
		// A checksum makes up for the ports in a device's sum of the whole frame; UDP may have none.
		store_bytes(skb, transport_at, new.key.ports, protocol == TCP || protocol == UDP ? 4 : 2,
			    sum ? 0 : BPF_F_RECOMPUTE_CSUM);
	}
	if (leg->changes & CHANGES_TAG) {
		u16 tci = be16(new.key.tag) & ~HAS_TAG;
		if (skb->vlan_present && !(leg->changes & NEW_TAG))
			tci |= skb->vlan_tci & HAS_TAG;
		if (old.key.tag)
			pop_vlan(skb);
		if (new.key.tag)
			push_vlan(skb, be16(0x8100), tci);
	}
}
