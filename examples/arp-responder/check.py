"""100 hosts ask for 10,000 addresses; the switch answers as a kernel that has the same does."""

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, arp_request, main  # noqa: E402
from network import (ADDRESSES, ASKERS, ASKERS_AT, COMPARED_AT, KERNEL_AT,  # noqa: E402
                     PAIRED_ADDRESSES, TABLE_OF_ADDRESSES, TABLE_OF_ASKERS)

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


def answers(controller, requests):
    """The replies of a switch and of a kernel to the same requests, and the switch's median time."""
    with Lab(hosts=3, controller=controller) as lab:
        lab.hosts[KERNEL_AT].run('ip', 'route', 'add', 'local', '10.64.0.0/16', 'dev', 'lo')
        before = lab.messages()
        lab.send(ASKERS_AT, requests)
        by_switch = lab.arrived()[ASKERS_AT]
        in_switch = median(lab, requests[:TIMED])
        assert lab.messages() == before, 'no message to or from the controller'
        lab.resume()
        lab.send(COMPARED_AT, requests, answered=True)
        by_kernel = lab.arrived()[COMPARED_AT]
    assert len(by_switch) == len(requests), '%d replies' % len(by_switch)
    assert by_switch == by_kernel, 'replies are the kernel\'s'
    return in_switch


def check():
    choice = random.Random(1)
    askers = list(TABLE_OF_ASKERS.items())
    requests = [arp_request(*choice.choice(askers), address) for address in TABLE_OF_ADDRESSES]
    pairs = [arp_request(*asker, address) for asker in askers for address in PAIRED_ADDRESSES]
    choice.shuffle(requests)
    choice.shuffle(pairs)
    by_copies = answers('controller.py', requests)
    by_pairs = answers('pairs.py', pairs)
    with Lab(hosts=3, controller='reactive.py') as lab:
        by_controller = median(lab, requests[:TIMED])
    return ('%d replies to %d hosts are the kernel\'s to the byte, for %d addresses by our '
            'instruction, and %d for %d by InSP\'s own, with as many entries; p50 %.0f us and '
            '%.0f us, by a controller %.0f us; 0 controller messages' % (
                len(requests), ASKERS, ADDRESSES, len(pairs), len(PAIRED_ADDRESSES), by_copies,
                by_pairs, by_controller))


if __name__ == '__main__':
    main(check)
