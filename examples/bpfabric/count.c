// Counts packets and bytes of each port, as the program `count` of programs.py does.

#include "bpfabric.h"

struct count {
	u64 packets;
	u64 bytes;
};

struct {
	MAP_TYPE(ARRAY);
	MAP_KEY(u32);
	MAP_VALUE(struct count);
	MAP_ENTRIES(8);
} counts SEC(".maps");

SEC("prog") u32 count(const struct packet *packet)
{
	u32 port = packet->in_port;
	struct count *of_port;

	if (map_lookup(&counts, &port, &of_port) == 0) {
		of_port->packets++;
		of_port->bytes += packet->length;
	}
	return CONTINUE;
}
