// Judges frames by meters, whose buckets the switch shares.

typedef __s64 s64;

static u32 (*const random_number)(void) = (void *)BPF_FUNC_get_prandom_u32;

// A meter with one band, which drops packets.
struct meter {
	s64 until; // The switch's time up to which the rate was handed out: that is all of the bucket.
	s64 depth; // How long a time before now can still be handed out.
	u64 per_packet; // The tokens of a packet, and of a byte of it.
	u64 per_byte;
	u32 rate; // Tokens in a nanosecond.
	u32 deepens; // Whether the bucket becomes as deep as a packet, nearly.
};

enum judgement { PASSES, PASSES_IN_PART, EXCEEDS };
#define TRIES 8

// Takes the time that packets of a frame cost from the bucket, if it is not below 0. A super-frame that
// would bring it below 0 is for the switch, which judges its segments.
INLINE enum judgement judge(struct meter *meter, s64 now, u64 packets, u64 bytes)
{
	u64 tokens = packets * meter->per_packet + bytes * meter->per_byte;
	// The rest of the division counts as often as it is large.
	s64 cost = meter->rate ? (tokens + random_number() % meter->rate) / meter->rate : 0;

	if (meter->deepens && meter->depth < cost - 1)
		meter->depth = cost - 1;
	for (int i = 0; i < TRIES; i++) {
		s64 until = *(volatile s64 *)&meter->until;
		s64 from = until < now - meter->depth ? now - meter->depth : until;
		if (from > now)
			return EXCEEDS;
		if (packets > 1 && from + cost > now)
			return PASSES_IN_PART;
		if (__sync_bool_compare_and_swap(&meter->until, until, from + cost))
			return PASSES;
	}
	return PASSES_IN_PART;
}
