// Forwards frames of known flows: a filter on each port's packet socket decides about a frame, and a tcx
// program, which sees the frame next on the same CPU, obeys. `../../docs/accelerator.md` has a drawing.
//
// The layouts of the structures in maps are also in `layout.rs`, and the hash in `table.rs`.

#include "frame.h"
#include "meter.h"

// Of kernel headers since 6.6.
#define TCX_NEXT -1
#define TCX_DROP 2

#define SEC(name) __attribute__((section(name), used))

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
static long (*const send_copy)(void *skb, u32 ifindex, u64 flags) = (void *)BPF_FUNC_clone_redirect;

// The switch loads the program with as many slots and legs as it needs.
#define SLOTS (1 << 17)
#define LEGS (1 << 15)
#define WAYS 8
#define SECOND 24 // The bit of a hash at which the number of the second bucket begins.
#define CPUS 1024
#define PORTS 256
#define METERS 4096
#define LONGEST_WAY 8
#define SHORTEST 60 // The switch pads frames that are shorter without their tag.

// A flow. The key, `out` and `longest` do not change while `epoch` is the settings' one.
struct slot {
	u64 key[KEY_WORDS];
	u64 epoch;
	u32 out; // The interface that frames leave by; 0 drops them.
	u32 longest; // The most bytes of a frame, or of a segment, without its tag.
	u64 sent_up; // When its last frame was left to the switch,
	u32 is_below; // and whether frames have stopped going there.
	u16 from; // The place in `drained` of the port that they arrive on.
	u16 parting; // TCP flags, as in the key, that entries read and only one segment of a super-frame has.
	u64 packets; // Those that no meter dropped.
	u64 bytes;
	u64 used; // When the last of these came.
	u32 leg; // The first of its legs; 0 if frames leave as they came, by one interface.
	u16 hops; // By how much their TTL is lowered.
	u16 meter; // The meter that judges them; 0 if there is none.
};

// What the meter of the flow in a slot dropped, and when it did last.
struct dropped {
	u64 packets;
	u64 bytes;
	u64 last;
};

// What one CPU does now. `section` is odd from when a frame meets the filter until the tcx program has
// handled it: then it is counted and on its way, or it waits in the packet socket.
struct cpu {
	u64 section;
	u32 ifindex; // The port that `verdict` is about.
	u32 verdict;
	u32 leg;
	u32 is_shared; // Whether sockets of two switches may meet a frame.
	u32 unused[10];
};
#define UP 0
#define DROP 0xffffffff

// 16 bits of the hash of each key in a bucket of slots: most unknown frames look no further. A key is in
// one of two buckets.
struct tags {
	u16 of[WAYS];
};

struct settings {
	u64 epoch; // Slots of another epoch are empty.
	u64 mask[KEY_WORDS];
	u64 seed;
	u64 buckets; // How many there are, less one.
	u64 flows; // How many slots are not empty.
	u64 start; // The switch's time 0.
	u64 drained[PORTS]; // All frames that arrived on a port before then have left the switch.
	u64 hold[PORTS]; // Until then, frames of known flows are dropped that would go up,
	u64 held[PORTS]; // and are counted here.
};

MAP(slots, struct slot, SLOTS);
MAP(tags, struct tags, SLOTS / WAYS);
MAP(cpus, struct cpu, CPUS);
MAP(settings_map, struct settings, 1);
MAP(legs, struct leg, LEGS);
MAP(dropped, struct dropped, SLOTS);
MAP(meters, struct meter, METERS);
MAP(noted, u64, SLOTS / 64); // A bit of each slot that has counted since the switch took its counts.

// Finds the flow of a key, and the number of its slot.
INLINE struct slot *find(const struct settings *settings, const u64 *key, u32 *number)
{
	u64 words[KEY_WORDS];
	u64 hash = settings->seed;

	for (int i = 0; i < KEY_WORDS; i++) {
		words[i] = key[i] & settings->mask[i];
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	for (u32 shift = 0; shift <= SECOND; shift += SECOND) {
		u32 bucket = (u32)(hash >> shift) & (u32)settings->buckets;
		const volatile struct tags *of_bucket = lookup(&tags, &bucket);
		if (!of_bucket)
			return 0;
		for (u32 way = 0; way < WAYS; way++) {
			*number = bucket * WAYS + way;
			if (of_bucket->of[way] != hash >> 48)
				continue;
			struct slot *slot = lookup(&slots, number);
			if (!slot)
				return 0;
			u64 differs = *(volatile u64 *)&slot->epoch ^ settings->epoch;
			for (int i = 0; i < KEY_WORDS; i++)
				differs |= slot->key[i] ^ words[i];
			if (!differs)
				return slot;
		}
	}
	return 0;
}

// Counts a frame of a slot, and notes that the switch has to ask the slot.
INLINE void count(u64 *packets_sum, u64 *bytes_sum, u32 number, u64 packets, u64 bytes)
{
	u32 place = number / 64;
	u64 bit = 1ull << number % 64;
	u64 *bits = lookup(&noted, &place);

	__sync_fetch_and_add(packets_sum, packets);
	// The switch takes the note before the counts. An addition whose result is used is a barrier.
	volatile u64 before = __sync_fetch_and_add(bytes_sum, bytes);
	(void)before;
	if (bits && !(*(volatile u64 *)bits & bit))
		__sync_fetch_and_or(bits, bit);
}

// Decides about a frame, and counts it if it does not go up. Sets its first leg, if it has one.
INLINE u32 decide(struct __sk_buff *skb, u32 len, u32 *leg)
{
	struct found found = {};
	u32 zero = 0, number;
	struct settings *settings = lookup(&settings_map, &zero);

	if (!settings || !*(volatile u64 *)&settings->flows || !read(skb, len, &found))
		return UP;
	struct slot *slot = find(settings, found.words, &number);
	if (!slot)
		return UP;
	u32 tag = skb->vlan_present ? TAG_BYTES : 0;
	u64 now = clock_ns();
	u64 packets = 1;
	u64 bytes = len + tag;
	u32 longest = len;
	if (skb->gso_size) {
		u32 payload = len + tag - found.headers;
		packets = (payload + skb->gso_size - 1) / skb->gso_size;
		bytes += (packets - 1) * found.headers;
		longest = found.headers - tag + skb->gso_size;
	}
	// The drop of a super-frame is counted once, as that of a frame. One of UDP may be cut or fragmented, or
	// belong to a tunnel, which cannot be told here.
	int is_tcp = (found.key.protocol & ~OF_IPV6) == TCP;
	int goes_up = !packets || len < SHORTEST || longest > slot->longest || found.ttl <= 1 ||
		      found.ttl <= slot->hops ||
		      (skb->gso_size && (!is_tcp || !slot->out || found.key.tcp_flags & slot->parting));
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
	u32 meter_number = slot->meter;
	struct meter *meter = meter_number ? lookup(&meters, &meter_number) : 0;
	enum judgement judgement = meter ? judge(meter, now - settings->start, packets, bytes) : PASSES;
	if (judgement == PASSES_IN_PART) {
		slot->is_below = 0;
		slot->sent_up = now;
		return UP;
	}
	slot->is_below = 1;
	if (judgement == EXCEEDS) {
		struct dropped *sum = lookup(&dropped, &number);
		if (!sum)
			return DROP;
		sum->last = now;
		count(&sum->packets, &sum->bytes, number, packets, bytes);
		return DROP;
	}
	slot->used = now;
	count(&slot->packets, &slot->bytes, number, packets, bytes);
	*leg = slot->leg;
	return slot->out ? slot->out : DROP;
}

// Sends a frame on its way, which begins with this leg.
INLINE int follow(struct __sk_buff *skb, u32 number)
{
	for (int i = 0; i < LONGEST_WAY; i++) {
		const struct leg *leg = lookup(&legs, &number);
		if (!leg)
			break;
		if (leg->changes)
			change(skb, leg);
		if (!leg->next)
			return redirect(leg->out, 0);
		send_copy(skb, leg->out, 0);
		number = leg->next;
	}
	return TCX_DROP;
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
	// The other socket has met this frame: it is decided and counted once.
	if (cpu->is_shared && (cpu->section & 1) && cpu->ifindex == skb->ifindex)
		return cpu->verdict == UP ? -1 : 0;
	begin(cpu);
	cpu->ifindex = skb->ifindex;
	cpu->leg = 0;
	cpu->verdict = decide(skb, skb->len, &cpu->leg);
	return cpu->verdict == UP ? -1 : 0;
}

SEC("classifier/obey") int accel_obey(struct __sk_buff *skb)
{
	struct cpu *cpu = this_cpu();

	if (!cpu)
		return TCX_NEXT;
	u32 verdict = cpu->ifindex == skb->ifindex ? cpu->verdict : UP;
	int result = verdict == UP ? TCX_NEXT : verdict == DROP ? TCX_DROP : 0;

	cpu->verdict = UP;
	if (!result)
		result = cpu->leg ? follow(skb, cpu->leg) : redirect(verdict, 0);
	end(cpu);
	return result;
}

// The decision as the result of a test run, for which the kernel has no socket filters with a MAC header; the
// frame is changed as its legs say. It comes with the tag in `mark`, and leaves the one that it has then there.
#define WITH_TAG 0x10000
SEC("classifier/test") int accel_test(struct __sk_buff *skb)
{
	u32 number = 0;

	if (skb->mark)
		push_vlan(skb, be16(0x8100), skb->mark);
	u32 verdict = decide(skb, skb->len, &number);
	for (int i = 0; i < LONGEST_WAY && number; i++) {
		const struct leg *leg = lookup(&legs, &number);
		if (!leg)
			break;
		if (leg->changes)
			change(skb, leg);
		number = leg->next;
	}
	skb->mark = skb->vlan_present ? WITH_TAG | skb->vlan_tci : 0;
	return verdict;
}

char license_text[] SEC("license") = "Dual MIT/GPL";
