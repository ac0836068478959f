"""A token bucket for each flow as an extended finite state machine: three entries."""

from bofuss_machine import (OPP, Machine, Switch, condition, fd, gd, header_extractor, hf, install,
                            match, output, set_global_variable, write_context)

CONFORMING_AT, EXCESS_AT = 2, 3
RATE_BYTES_PER_MS = 125  # 1 Mb/s
DEPTH_MS = 100  # what may come at once, in time at this rate

# Names of what the switch computes with. Times are in milliseconds, as the timestamp.
NOW, LENGTH = hf(0), hf(1)
FULL_AT, LEAST, COST, SEEN_AT = fd(0), fd(1), fd(2), fd(3)
DEPTH, RATE = gd(0), gd(1)


def machine():
    """The bucket is full again at FULL_AT; before LEAST, which is DEPTH earlier, it is empty."""
    bucket = Machine(lookup=['ipv4_src'], dialect=OPP)
    bucket.add(header_extractor(0, 'timestamp'), header_extractor(1, 'pkt_len'),
               set_global_variable(0, DEPTH_MS), set_global_variable(1, RATE_BYTES_PER_MS),
               condition(0, NOW, '>=', LEAST), condition(1, NOW, '>', FULL_AT))
    # The time goes into the packet, so that the check can compute what the switch did.
    stamp = [bucket.let(SEEN_AT, 'sum', NOW, 0), write_context(SEEN_AT, 'eth_src')]

    def take_from(time):
        return [bucket.let(COST, 'div', LENGTH, RATE), bucket.let(FULL_AT, 'sum', time, COST),
                bucket.let(LEAST, 'sub', FULL_AT, DEPTH), *stamp, output(CONFORMING_AT)]

    bucket.on(match(condition0=1, condition1=1), *take_from(NOW))
    bucket.on(match(condition0=1, condition1=0), *take_from(FULL_AT))
    bucket.on(match(condition0=0), *stamp, output(EXCESS_AT))
    return bucket


if __name__ == '__main__':
    switch = Switch.accept(6653)
    install(switch, machine())
    switch.barrier()
    print('READY', flush=True)
    switch.wait()
