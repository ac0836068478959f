"""Each application has a rate, a mark, or copies: meters and groups of OpenFlow 1.3."""

from rules import run

# Applications by UDP port: those with a rate in kb/s, one whose excess is marked, one that is copied.
RATES = {5001: 1000, 5002: 2000, 5003: 4000}
BURST_SECONDS = .5  # what may come at once, in time at the rate
MARKED, MARKED_RATE = 5004, 1000
COPIED = 5005
SERVER_AT, COPIES_AT = 2, [2, 3, 4]
COPY_GROUP = 1


def meter(number, kind, rate):
    """A meter of a rate in kb/s."""
    return 'add-meter meter=%d,kbps,burst,bands=type=%s,rate=%d,burst_size=%d' % (
        number, kind, rate, rate * BURST_SECONDS)


def rules():
    """The meters and the group, and an entry for each application."""
    for number, (port, rate) in enumerate(RATES.items(), start=1):
        yield meter(number, 'drop', rate)
        yield 'udp,tp_dst=%d,actions=meter:%d,output:%d' % (port, number, SERVER_AT)
    last = len(RATES) + 1
    yield meter(last, 'dscp_remark,prec_level=1', MARKED_RATE)
    yield 'udp,tp_dst=%d,actions=meter:%d,output:%d' % (MARKED, last, SERVER_AT)
    yield 'add-group group_id=%d,type=all%s' % (
        COPY_GROUP, ''.join(',bucket=output:%d' % port for port in COPIES_AT))
    yield 'udp,tp_dst=%d,actions=group:%d' % (COPIED, COPY_GROUP)


if __name__ == '__main__':
    run({1: list(rules())})
