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
	u8 protocol;
	u8 tos;
	u8 macs[12];
	u32 addresses[2];
	u16 ports[2];
};

// A flow. The key, `out` and `longest` do not change while `epoch` is the settings' one.
struct slot {
	u64 key[4];
	u64 epoch;
	u32 out; // The interface that frames leave by; 0 drops them.
	u32 longest; // The most bytes of a frame, or of a segment, without its tag.
	u64 sent_up; // When its last frame was left to the switch,
	u32 is_below; // and whether frames have stopped going there.
	u32 from; // The place in `drained` of the port that they arrive on.
	u64 packets;
	u64 bytes;
	u64 used;
	u64 padding[5];
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
	u64 mask[4];
	u64 seed;
	u64 drained[PORTS]; // All frames that arrived on a port before then have left the switch.
};

MAP(slots, struct slot, SLOTS);
MAP(cpus, struct cpu, CPUS);
MAP(settings_map, struct settings, 1);

// The headers of the frames that are read: Ethernet without a tag, IPv4 without options, TCP or UDP.
struct headers {
	u8 macs[12];
	u16 type;
	u8 version, tos;
	u16 total;
	u16 id, fragment;
	u8 ttl, protocol;
	u16 checksum;
	u32 addresses[2];
	u16 ports[2];
	u16 udp_len, udp_checksum;
	u32 ack;
	u8 tcp_words, tcp_flags;
} __attribute__((packed));

#define ETHERNET_BYTES 14
#define IP_BYTES 20
#define TAG_BYTES 4
#define SHORTEST 60
#define TCP 6
#define UDP 17

// Reads a frame of `len` bytes, whose tag the kernel keeps apart. Returns how many bytes its headers have,
// with the tag; 0 if it is not of the kind that is read exactly.
INLINE u32 read(struct __sk_buff *skb, u32 len, struct key *key)
{
	struct headers h;

	if (len < SHORTEST || load_bytes(skb, 0, &h, sizeof(h), BPF_HDR_START_MAC) < 0)
		return 0;
	if (h.type != be16(0x0800) || h.version != 0x45 || h.fragment & be16(0x3fff) || h.ttl <= 1)
		return 0;
	u32 total = be16(h.total);
	u32 transport = h.protocol == TCP ? (h.tcp_words >> 4) * 4 : 8;
	if (h.protocol == TCP ? transport < 20 : h.protocol != UDP)
		return 0;
	if (total < IP_BYTES + transport || ETHERNET_BYTES + total > len)
		return 0;
	// A super-frame is cut after its headers, and has no padding.
	if (skb->gso_size && (h.protocol != TCP || ETHERNET_BYTES + total != len))
		return 0;
	__builtin_memcpy(key->macs, h.macs, sizeof(h.macs));
	key->ifindex = skb->ifindex;
	key->tag = 0;
	key->protocol = h.protocol;
	key->tos = h.tos;
	key->addresses[0] = h.addresses[0];
	key->addresses[1] = h.addresses[1];
	key->ports[0] = h.ports[0];
	key->ports[1] = h.ports[1];
	u32 tag = 0;
	if (skb->vlan_present) {
		if (skb->vlan_proto != be16(0x8100))
			return 0;
		key->tag = skb->vlan_tci | 0x1000;
		tag = TAG_BYTES;
	}
	return tag + ETHERNET_BYTES + IP_BYTES + transport;
}

INLINE struct slot *find(const struct settings *settings, const u64 *key)
{
	u64 words[4];
	u64 hash = settings->seed;

	for (int i = 0; i < 4; i++) {
		words[i] = key[i] & settings->mask[i];
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	u32 first = (u32)hash & (SLOTS - 1) & ~(WAYS - 1);
	for (u32 way = 0; way < WAYS; way++) {
		u32 number = first + way;
		struct slot *slot = lookup(&slots, &number);
		if (!slot)
			return 0;
		if (*(volatile u64 *)&slot->epoch == settings->epoch && slot->key[0] == words[0] &&
		    slot->key[1] == words[1] && slot->key[2] == words[2] && slot->key[3] == words[3])
			return slot;
	}
	return 0;
}

// Decides about a frame, and counts it if it does not go up.
INLINE u32 decide(struct __sk_buff *skb, u32 len)
{
	union {
		struct key key;
		u64 words[4];
	} key;
	u32 zero = 0;
	const struct settings *settings = lookup(&settings_map, &zero);

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
	u64 drained = *(volatile const u64 *)&settings->drained[slot->from % PORTS];
	if (goes_up || (!slot->is_below && drained <= slot->sent_up)) {
		// What went up is to leave first.
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
