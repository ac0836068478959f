"""100 hosts ask for 10,000 addresses; the switch answers as a kernel that has the same does."""

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, arp_request, main  # noqa: E402
from network import (ADDRESSES, ASKERS, ASKERS_AT, COMPARED_AT, KERNEL_AT,  # noqa: E402
                     TABLE_OF_ADDRESSES, TABLE_OF_ASKERS)

# Requests whose answer is timed, one after another.
TIMED = 300


def median(lab, requests):
    """The median of the time in microseconds until an answer comes."""
    times = []
    for request in requests:
        start = time.perf_counter()
        lab.hosts[ASKERS_AT].socket.send(request)
        lab.wait_for_frame(lambda frame: frame[28:32] == request[38:42])
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1e6


def check():
    choice = random.Random(1)
    askers = list(TABLE_OF_ASKERS.items())
    requests = [arp_request(*choice.choice(askers), address) for address in TABLE_OF_ADDRESSES]
    choice.shuffle(requests)
    with Lab(hosts=3, controller='controller.py') as lab:
        lab.hosts[KERNEL_AT].run('ip', 'route', 'add', 'local', '10.64.0.0/16', 'dev', 'lo')
        before = lab.messages()
        lab.send(ASKERS_AT, requests)
        by_switch = lab.arrived()[ASKERS_AT]
        in_switch = median(lab, requests[:TIMED])
        assert lab.messages() == before, 'no message to or from the controller'
        lab.resume()
        lab.send(COMPARED_AT, requests, answered=True)
        by_kernel = lab.arrived()[COMPARED_AT]
    assert len(by_switch) == ADDRESSES, '%d replies' % len(by_switch)
    assert by_switch == by_kernel, 'replies are the kernel\'s'
    with Lab(hosts=3, controller='reactive.py') as lab:
        by_controller = median(lab, requests[:TIMED])
    return ('%d replies to %d hosts are the kernel\'s to the byte; p50 %.0f us, by a controller '
            '%.0f us; 0 controller messages' % (ADDRESSES, ASKERS, in_switch, by_controller))


if __name__ == '__main__':
    main(check)
