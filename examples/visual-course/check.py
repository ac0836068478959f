"""What the page of a packet says, and what happens to the packet: the same, 1,000 times."""

import random
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from controller import LESSONS  # noqa: E402

HOSTS, EACH, SENDER = 4, 100, 1
RESULT, DROPPED = '\nResult\n', 'dropped'
# "60 bytes leave by port s1-2", and below it the bytes in lines of 16.
LEAVES = re.compile(r'bytes leave by port "s1-(\d+)"\s+Its first \d+ bytes\s+'
                    r'((?:[0-9a-f]{4}  [0-9a-f ]+\n)+)')


class Words(HTMLParser):
    """The text of a page."""

    def __init__(self, page):
        super().__init__()
        self.text = ''
        self.feed(page)

    def handle_data(self, data):
        self.text += data


def frame(choice):
    """A packet that rules of some lesson are about, with bytes of its own."""
    source, destination = ('10.%d.%d.%d' % (net, choice.randrange(3), choice.randrange(250))
                           for net in (1, 9))
    kind, body = choice.choice([lab.udp, lab.tcp, lab.tcp, None]), choice.randbytes(8)
    if kind is None:
        return lab.arp_request('02:00:00:00:00:01', source, destination)
    made = kind(source, destination, choice.choice([53, 80]), body, choice.randrange(2000, 9000))
    return with_ttl(made, choice.choice([1, 2, 64]))


def with_ttl(made, ttl):
    """A frame whose packet has another TTL."""
    head = made[14:22] + bytes([ttl]) + made[23:24] + bytes(2) + made[26:34]
    return made[:14] + head[:10] + lab.checksum(head).to_bytes(2, 'big') + head[12:] + made[34:]


def explained(address, sent):
    """What the page of a frame says: the port and the bytes of each that leaves; or the drop."""
    query = urllib.parse.urlencode({'packet': '%d %s' % (SENDER, sent.hex())})
    with urllib.request.urlopen(address + 'packet?' + query) as answer:
        text = Words(answer.read().decode()).text
    _, _, result = text.partition(RESULT)
    found = [(int(port), bytes.fromhex(''.join(line[6:] for line in dump.splitlines())))
             for port, dump in LEAVES.findall(result)]
    assert found or DROPPED in result, 'it leaves, or the page says why not: ' + result
    return found


def check():
    choice = random.Random(1)
    left = copies = dropped = 0
    with lab.Lab(HOSTS, 'controller.py') as laboratory:
        web = lab.start(lab.program('bofuss'), 'web', 's1', stdout=subprocess.PIPE, text=True)
        address = web.stdout.readline().strip()
        for lesson in LESSONS:
            laboratory.tell('lesson ' + lesson)
            frames = [frame(choice) for _ in range(EACH)]
            pages = [explained(address, one) for one in frames]
            laboratory.resume()
            laboratory.send(SENDER, frames)
            arrived = laboratory.arrived()
            for port in range(1, HOSTS + 1):
                said = [made for page in pages for to, made in page if to == port]
                assert arrived[port] == said, '%s: other frames leave by port %d' % (lesson, port)
            left += sum(map(bool, pages))
            copies += sum(map(len, pages))
            dropped += pages.count([])
        web.kill()
        web.wait()
    assert min(left, copies - left, dropped) > 0, (left, copies, dropped)
    return ('%d pages of %d lessons: %d packets leave as %d frames by the ports and with the bytes '
            'of their pages, %d are dropped as theirs say' % (
                EACH * len(LESSONS), len(LESSONS), left, copies, dropped))


if __name__ == '__main__':
    lab.main(check)
