"""1,000 flows to hosts whose addresses no switch knows; forged tags; an identifier is withdrawn."""

import random
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from controller import (  # noqa: E402
    EDGES, ETH_TYPE, HOSTS, IDENTIFIERS, OPTIONS, identifier, network, trapdoor)

FLOWS, ROUNDS, FORGERIES = 1_000, 3, 100
SENDER, WITHDRAWN = 1, (4, 7)  # a host and the number of its identifier
MASK = 2**64 - 1
HEAD, WIDE = 14, 16  # bytes of the Ethernet header; of nonce and tags
LEFT_BY_OTHERS = 50  # flows of which the cache may have made room for others


def rotate(word, bits):
    """A word of 64 bits, rotated to the left."""
    return (word << bits | word >> (64 - bits)) & MASK


def siphash128(secret, data):
    """SipHash-2-4 with 128 bits, as its reference has it (J.-P. Aumasson, D. J. Bernstein)."""
    k0, k1 = struct.unpack('<2Q', secret)
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    found = []
    for word in (*struct.unpack('<%dQ' % (len(padded) // 8), padded), 'first', 'second'):
        is_last = isinstance(word, str)
        if word == 'first':
            v2 ^= 0xEE
        elif word == 'second':
            v1 ^= 0xDD
        else:
            v3 ^= word
        for _ in range(4 if is_last else 2):
            v0, v2 = (v0 + v1) & MASK, (v2 + v3) & MASK
            v1, v3 = rotate(v1, 13) ^ v0, rotate(v3, 16) ^ v2
            v0 = rotate(v0, 32)
            v2, v0 = (v2 + v1) & MASK, (v0 + v3) & MASK
            v1, v3 = rotate(v1, 17) ^ v2, rotate(v3, 21) ^ v0
            v2 = rotate(v2, 32)
        if is_last:
            found.append(v0 ^ v1 ^ v2 ^ v3)
        else:
            v0 ^= word
    return struct.pack('<2Q', *found)


def tags(nonce, host, number):
    """The tags of a host's network and of one of its identifiers, under a nonce."""
    keywords = network(HOSTS[host]), identifier(host, number)
    return [siphash128(trapdoor(keyword), nonce) for keyword in keywords]


def frame(nonce, network_tag, host_tag, data):
    """A frame in which nothing else tells its destination: all have the same addresses."""
    head = b'\x02' + bytes(5) + b'\x02' + bytes(4) + b'\x01' + struct.pack('!H', ETH_TYPE)
    return head + nonce + network_tag + host_tag + data


def forge(tag):
    """A tag in which one bit is another."""
    return tag[:-1] + bytes([tag[-1] ^ 1])


def linked(frames):
    """Parts of frames that occur in more than one flow, and are not the same in all of them."""
    places = [slice(HEAD + at * WIDE, HEAD + (at + 1) * WIDE) for at in range(3)]
    known = [one[place] for one in frames for place in places]
    others = {one[:HEAD] + one[places[-1].stop:] for one in frames}
    return len(known) - len(set(known)) + len(others) - 1


def check():
    choice = random.Random(1)
    receivers = [host for host, switch in HOSTS.items() if switch in EDGES]
    flows = []
    for _ in range(FLOWS):
        destination = choice.choice(receivers), choice.randrange(IDENTIFIERS)
        nonce = choice.randbytes(WIDE)
        flows.append((destination, nonce, *tags(nonce, *destination)))
    links = [(1, edge) for edge in EDGES]
    with lab.Lab(HOSTS, 'controller.py', OPTIONS, links) as laboratory:
        before = laboratory.messages()

        def arrive(data, but=None):
            """Sends a packet of each flow, and checks where all arrive."""
            frames = [frame(*flow[1:], data) for flow in flows]
            laboratory.send(SENDER, frames)
            arrived = laboratory.arrived()
            for host in HOSTS:
                expected = [sent for sent, flow in zip(frames, flows)
                            if flow[0][0] == host and flow[0] != but]
                assert arrived[host] == expected, 'host %d gets what is for it' % host
            return frames

        first = arrive(b'first')
        evaluated = laboratory.metric('blind_evaluations_total')
        tries = laboratory.metric('blind_tries_total')
        for turn in range(1, ROUNDS):
            arrive(b'%5d' % turn)
        again = laboratory.metric('blind_evaluations_total') - evaluated
        assert evaluated == 2 * FLOWS, 'each switch evaluates each flow once: %d' % evaluated
        assert again <= LEFT_BY_OTHERS, 'later packets of a flow are not evaluated: %d' % again
        assert laboratory.messages() == before, 'no message to or from the controller'
        forged = [frame(nonce, forge(network_tag), host_tag, b'false')
                  for _, nonce, network_tag, host_tag in flows[:FORGERIES]]
        forged += [frame(nonce, network_tag, forge(host_tag), b'false')
                   for _, nonce, network_tag, host_tag in flows[:FORGERIES]]
        forged += [frame(bytes(WIDE), network_tag, host_tag, b'false')
                   for _, _, network_tag, host_tag in flows[:FORGERIES]]
        laboratory.send(SENDER, forged)
        assert not any(laboratory.arrived().values()), 'what is forged arrives nowhere'
        laboratory.tell('forget %d %d' % WITHDRAWN)
        arrive(b'after', but=WITHDRAWN)
        shown = laboratory.controller
        shown.stdin.write('show\n')
        shown.stdin.flush()
        text = bytes.fromhex(laboratory.wait_for('SHOWN').split()[1])
    secrets = [trapdoor(identifier(host, 0)) for host in receivers]
    assert text and not any(secret in text for secret in secrets), 'no trapdoor is shown'
    withdrawn = sum(flow[0] == WITHDRAWN for flow in flows)
    assert withdrawn > 0 and linked(first) == 0, 'flows to one host have nothing in common'
    return ('%d flows to %d addresses that no switch knows arrive, %d forgeries and %d flows to a '
            'withdrawn address do not; each switch evaluates a flow once (%.0f MACs), and %d of %d '
            'later packets' % (FLOWS, len(receivers) * IDENTIFIERS, len(forged), withdrawn,
                               tries / evaluated, again, 2 * FLOWS * (ROUNDS - 1)))


if __name__ == '__main__':
    lab.main(check)
