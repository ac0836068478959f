// Forwards frames of known flows: a filter on each port's packet socket decides about a frame, and a tcx
// program, which sees the frame next on the same CPU, obeys. `../../docs/accelerator.md` has a drawing.
//
// The layouts of `struct key`, `struct slot`, `struct cpu` and `struct settings` are also in `layout.rs`, and
// the hash in `table.rs`.

#include <linux/bpf.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

// Of kernel headers since 6.6.
#define TCX_NEXT -1
#define TCX_DROP 2

#define SEC(name) __attribute__((section(name), used))
#define INLINE static __attribute__((always_inline))
#define be16(x) __builtin_bswap16(x)

// Legacy definitions of maps, so that no BTF is needed.
struct map_definition {
	u32 type, key_size, value_size, max_entries, flags;
};
#define MAP(name, type, count)                                                   \
	struct map_definition SEC("maps") name = {                               \
		BPF_MAP_TYPE_ARRAY, sizeof(u32), sizeof(type), count, BPF_F_MMAPABLE \
	}

static void *(*const lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static u64 (*const clock_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static u32 (*const cpu_number)(void) = (void *)BPF_FUNC_get_smp_processor_id;
static long (*const redirect)(u32 ifindex, u64 flags) = (void *)BPF_FUNC_redirect;
static long (*const load_bytes)(const void *skb, u32 at, void *to, u32 len, u32 from) =
	(void *)BPF_FUNC_skb_load_bytes_relative;

#define SLOTS (1 << 17)
#define WAYS 4
#define CPUS 1024
#define PORTS 256

// What tells the frames of one flow from others, before the mask. Numbers of headers are in network order.
struct key {
	u32 ifindex;
	u16 tag; // The TCI with the bit "there is a tag" instead of DEI; 0 without a tag.
	u8 protocol; // With the bit OF_IPV6.
	u8 tos;
	u8 macs[12];
	u32 addresses[8]; // IPv4 has the first of each four.
	u16 ports[2];
};
#define KEY_WORDS 7
#define OF_IPV6 0x80

// A flow. The key, `out` and `longest` do not change while `epoch` is the settings' one.
struct slot {
	u64 key[KEY_WORDS];
	u64 epoch;
	u32 out; // The interface that frames leave by; 0 drops them.
	u32 longest; // The most bytes of a frame, or of a segment, without its tag.
	u64 sent_up; // When its last frame was left to the switch,
	u32 is_below; // and whether frames have stopped going there.
	u32 from; // The place in `drained` of the port that they arrive on.
	u64 packets;
	u64 bytes;
	u64 used;
	u64 padding[2];
};

// What one CPU does now. `section` is odd from when a frame meets the filter until the tcx program has
// handled it: then it is counted and on its way, or it waits in the packet socket.
struct cpu {
	u64 section;
	u32 ifindex; // The port that `verdict` is about.
	u32 verdict;
	u64 padding[6];
};
#define UP 0
#define DROP 0xffffffff

struct settings {
	u64 epoch; // Slots of another epoch are empty.
	u64 mask[KEY_WORDS];
	u64 seed;
	u64 drained[PORTS]; // All frames that arrived on a port before then have left the switch.
	u64 hold[PORTS]; // Until then, frames of known flows are dropped that would go up,
	u64 held[PORTS]; // and are counted here.
};

MAP(slots, struct slot, SLOTS);
// Of each bucket of slots, 16 bits of the hashes of their keys: most unknown frames look no further.
MAP(tags, u64, SLOTS / WAYS);
MAP(cpus, struct cpu, CPUS);
MAP(settings_map, struct settings, 1);

struct transport {
	u16 ports[2];
	u16 udp_len, udp_checksum;
	u32 ack;
	u8 tcp_words, tcp_flags;
};

// The headers of the frames that are read: Ethernet without a tag, IP without options, TCP or UDP.
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
#define TAG_BYTES 4
#define SHORTEST 60
#define TCP 6
#define UDP 17

// Reads TCP or UDP, to which `len` bytes belong. Returns how many bytes its header has, 0 if it is neither.
INLINE u32 read_transport(const struct transport *transport, u8 protocol, u32 len, struct key *key)
{
	u32 bytes = protocol == TCP ? (transport->tcp_words >> 4) * 4 : 8;

	if (protocol == TCP ? bytes < 20 : protocol != UDP || len < bytes)
		return 0;
	key->ports[0] = transport->ports[0];
	key->ports[1] = transport->ports[1];
	return bytes <= len ? bytes : 0;
}

// Reads a frame of `len` bytes, whose tag the kernel keeps apart. Returns how many bytes its headers have,
// with the tag; 0 if it is not of the kind that is read exactly.
INLINE u32 read(struct __sk_buff *skb, u32 len, struct key *key)
{
	const u32 first = ETHERNET_BYTES + IPV4_BYTES + TRANSPORT_BYTES;
	struct headers h;
	u32 ip, rest, transport;

	if (len < SHORTEST || load_bytes(skb, 0, h.macs, first, BPF_HDR_START_MAC) < 0)
		return 0;
	if (h.type == be16(0x0800)) {
		ip = IPV4_BYTES;
		rest = be16(h.v4.total) - IPV4_BYTES;
		if (h.v4.version != 0x45 || h.v4.fragment & be16(0x3fff) || h.v4.ttl <= 1 ||
		    be16(h.v4.total) < IPV4_BYTES)
			return 0;
		key->protocol = h.v4.protocol;
		key->tos = h.v4.tos;
		key->addresses[0] = h.v4.addresses[0];
		key->addresses[4] = h.v4.addresses[1];
		transport = read_transport(&h.v4.transport, h.v4.protocol, rest, key);
	} else if (h.type == be16(0x86dd)) {
		ip = IPV6_BYTES;
		rest = be16(h.v6.payload);
		if (h.v6.version_class >> 4 != 6 || h.v6.hops <= 1 || h.v6.next & OF_IPV6 ||
		    load_bytes(skb, first, h.macs + first, IPV6_BYTES - IPV4_BYTES, BPF_HDR_START_MAC) < 0)
			return 0;
		key->protocol = h.v6.next | OF_IPV6;
		key->tos = h.v6.version_class << 4 | h.v6.class_label >> 4;
		__builtin_memcpy(key->addresses, h.v6.addresses, sizeof(key->addresses));
		transport = read_transport(&h.v6.transport, h.v6.next, rest, key);
	} else {
		return 0;
	}
	u32 end = ETHERNET_BYTES + ip + rest;
	if (!transport || end > len)
		return 0;
	// A super-frame is cut after its headers, and has no padding.
	if (skb->gso_size && ((key->protocol & ~OF_IPV6) != TCP || end != len))
		return 0;
	__builtin_memcpy(key->macs, h.macs, sizeof(h.macs));
	key->ifindex = skb->ifindex;
	u32 tag = 0;
	if (skb->vlan_present) {
		if (skb->vlan_proto != be16(0x8100))
			return 0;
		key->tag = skb->vlan_tci | 0x1000;
		tag = TAG_BYTES;
	}
	return tag + ETHERNET_BYTES + ip + transport;
}

INLINE struct slot *find(const struct settings *settings, const u64 *key)
{
	u64 words[KEY_WORDS];
	u64 hash = settings->seed;

	for (int i = 0; i < KEY_WORDS; i++) {
		words[i] = key[i] & settings->mask[i];
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	u32 bucket = (u32)hash & (SLOTS / WAYS - 1);
	const u64 *of_bucket = lookup(&tags, &bucket);
	if (!of_bucket)
		return 0;
	u64 left = *(volatile const u64 *)of_bucket;
	for (u32 way = 0; way < WAYS; way++, left >>= 16) {
		u32 number = bucket * WAYS + way;
		if ((u16)left != hash >> 48)
			continue;
		struct slot *slot = lookup(&slots, &number);
		if (!slot)
			return 0;
		u64 differs = *(volatile u64 *)&slot->epoch ^ settings->epoch;
		for (int i = 0; i < KEY_WORDS; i++)
			differs |= slot->key[i] ^ words[i];
		if (!differs)
			return slot;
	}
	return 0;
}

// Decides about a frame, and counts it if it does not go up.
INLINE u32 decide(struct __sk_buff *skb, u32 len)
{
	union {
		struct key key;
		u64 words[KEY_WORDS];
	} key = {};
	u32 zero = 0;
	struct settings *settings = lookup(&settings_map, &zero);

	if (!settings)
		return UP;
	u32 headers = read(skb, len, &key.key);
	if (!headers)
		return UP;
	struct slot *slot = find(settings, key.words);
	if (!slot)
		return UP;
	u32 tag = skb->vlan_present ? TAG_BYTES : 0;
	u64 now = clock_ns();
	u64 packets = 1;
	u64 bytes = len + tag;
	u32 longest = len;
	if (skb->gso_size) {
		u32 payload = len + tag - headers;
		packets = (payload + skb->gso_size - 1) / skb->gso_size;
		bytes += (packets - 1) * headers;
		longest = headers - tag + skb->gso_size;
	}
	// The drop of a super-frame is counted once, as that of a frame.
	int goes_up = !packets || longest > slot->longest || (skb->gso_size && !slot->out);
	u32 port = slot->from % PORTS;
	if (goes_up || (!slot->is_below && *(volatile u64 *)&settings->drained[port] <= slot->sent_up)) {
		// What went up is to leave first.
		if (!goes_up && now < *(volatile u64 *)&settings->hold[port]) {
			__sync_fetch_and_add(&settings->held[port], packets);
			return DROP;
		}
		slot->is_below = 0;
		slot->sent_up = now;
		return UP;
	}
	slot->is_below = 1;
	slot->used = now;
	__sync_fetch_and_add(&slot->packets, packets);
	__sync_fetch_and_add(&slot->bytes, bytes);
	return slot->out ? slot->out : DROP;
}

INLINE struct cpu *this_cpu(void)
{
	u32 number = cpu_number();
	return lookup(&cpus, &number);
}

// Begins a section, also if the last one was left without an end.
INLINE void begin(struct cpu *cpu)
{
	__sync_lock_test_and_set(&cpu->section, (cpu->section + 1) | 1);
}

INLINE void end(struct cpu *cpu)
{
	__sync_lock_test_and_set(&cpu->section, (cpu->section | 1) + 1);
}

SEC("socket/decide") int accel_decide(struct __sk_buff *skb)
{
	struct cpu *cpu = this_cpu();

	if (!cpu)
		return -1;
	begin(cpu);
	cpu->ifindex = skb->ifindex;
	cpu->verdict = decide(skb, skb->len);
	return cpu->verdict == UP ? -1 : 0;
}

SEC("classifier/obey") int accel_obey(struct __sk_buff *skb)
{
	struct cpu *cpu = this_cpu();

	if (!cpu)
		return TCX_NEXT;
	u32 verdict = cpu->ifindex == skb->ifindex ? cpu->verdict : UP;
	cpu->verdict = UP;
	end(cpu);
	if (verdict == UP)
		return TCX_NEXT;
	return verdict == DROP ? TCX_DROP : redirect(verdict, 0);
}

// The decision as the result of a test run, for which the kernel has no socket filters with a MAC header.
SEC("classifier/test") int accel_test(struct __sk_buff *skb)
{
	return decide(skb, skb->len);
}

char license_text[] SEC("license") = "Dual MIT/GPL";
