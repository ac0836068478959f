// What a program of BPFabric gets, calls and returns, for clang -target bpf.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))

// A map is a variable in SEC(".maps"): a structure with these members.
#define MAP_TYPE(of) int (*type)[of]
#define MAP_KEY(of) of *key
#define MAP_VALUE(of) of *value
#define MAP_ENTRIES(count) int (*max_entries)[count]
#define HASH 1
#define ARRAY 2

// What is before the frame.
struct packet {
	u32 in_port;
	u32 seconds;
	u32 nanoseconds;
	u16 length; // of the frame
	u8 frame[];
} __attribute__((packed, aligned(4)));

// What a program returns, besides a port.
#define CONTINUE 0xfffffffc
#define FLOOD 0xfffffffd
#define CONTROLLER 0xfffffffe
#define DROP 0xffffffff

// They return 0, or -1. The first one puts the address of the value into `value`.
static long (*const map_lookup)(void *map, const void *key, void *value) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static long (*const notify)(u32 id, const void *data, u64 bytes) = (void *)31;
