"""Five mock ROADMs in a row: lightpaths are accepted or rejected as a formula says that knows the
fibres."""

import itertools
import math
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from bofuss_driver import Driver  # noqa: E402
from controller import FIRST_MHZ, GRID_MHZ, REQUIRED_DB, SWITCHES  # noqa: E402

# Fibres to the next ROADM, in km; what one loses in dB/km, besides the ROADM itself.
FIBRES, DB_PER_KM, ROADM_DB = {1: 120, 2: 140, 3: 100, 4: 160}, .2, 6.5
# Planck's constant times 193.4 THz times 12.5 GHz in mW, and the noise figure of amplifiers.
QUANTUM_MW, NOISE_FACTOR = 6.626e-34 * 193.4e12 * 12.5e9 * 1e3, 10 ** .55
POWERS_DBM, LEAST_DBM, MOST_DBM = (-1.5, 2), -5, 4
PACKETS = 3


def loss(here):
    """The loss of a span in dB."""
    return FIBRES[here] * DB_PER_KM + ROADM_DB


class Line(Driver):
    """A port of a ROADM towards another: a laser that can be tuned, an amplifier, and a meter."""

    def __init__(self, here, there, ports):
        super().__init__('s%d' % here, there)
        self.here, self.there, self.ports = here, there, ports
        self.power, self.frequency, self.attached = 0., FIRST_MHZ, threading.Event()

    def received(self):
        """The power that arrives from the other end."""
        return self.ports[self.there, self.here].power - loss(min(self.here, self.there))

    def on_attach(self):
        self.report(optical={
            'supported': ['TX_TUNE', 'TX_PWR', 'USE_FREQ'], 'tx_min_freq_lmda': FIRST_MHZ,
            'tx_max_freq_lmda': FIRST_MHZ + 96 * GRID_MHZ, 'tx_grid_freq_lmda': GRID_MHZ,
            'tx_pwr_min': LEAST_DBM * 10, 'tx_pwr_max': MOST_DBM * 10})
        self.measure()
        self.attached.set()

    def measure(self):
        """Reports what the meters of both ends show."""
        self.report(optical_stats={
            'flags': ['TX_TUNE', 'TX_PWR', 'RX_PWR'], 'tx_freq_lmda': self.frequency,
            'tx_pwr': round(self.power * 10), 'rx_pwr': round(self.received() * 10)})

    def on_optical_mod(self, change):
        if 'TX_PWR' in change['configure']:
            self.power = change['tx_pwr'] / 10
        if 'TX_TUNE' in change['configure']:
            self.frequency = change['freq_lmda']
        self.measure()
        self.ports[self.there, self.here].measure()


def answer(laboratory, line):
    laboratory.controller.stdin.write(line + '\n')
    laboratory.controller.stdin.flush()
    said = laboratory.wait_for('ANSWER').split()[1:]
    laboratory.wait_for('READY')
    return said


def is_good(first, last, modulation, power):
    """What the formula says from fibres and powers, without a ROADM's meters: each amplifier makes
    up for the loss of a span, and adds its noise to the signal."""
    noise = sum(QUANTUM_MW * NOISE_FACTOR * 10 ** (loss(here) / 10) for here in range(first, last))
    quality = 10 * math.log10(10 ** (power / 10) / noise)
    return quality >= REQUIRED_DB[modulation], quality


def arrives(laboratory, first, last):
    """Whether packets of a host arrive at another, and as they were."""
    frames = [lab.udp('10.1.0.%d' % first, '10.2.0.%d' % last, 9, bytes([number]))
              for number in range(PACKETS)]
    laboratory.send(first, frames)
    found = laboratory.arrived()[last]
    assert found in ([], frames), 'packets arrive all and as they were, or not at all'
    return found == frames


def check():
    hosts = {number: number for number in range(1, SWITCHES + 1)}
    links = [(here, here + 1) for here in FIBRES]
    counts = {'ACCEPTED': 0, 'REJECTED': 0}
    with lab.Lab(hosts, controller='controller.py', links=links) as laboratory:
        ports = {}
        for here, there in links + [(there, here) for here, there in links]:
            ports[here, there] = Line(here, there, ports)
        for port in ports.values():
            port.start()
        for port in ports.values():
            assert port.attached.wait(lab.PATIENCE_SECONDS), 'the switch takes the driver'
        for power in POWERS_DBM:
            laboratory.tell('power %g' % power)
            lab.until(lambda: all(ports[link].power == power for link in links), 'lasers are set')
            for first, last in itertools.combinations(hosts, 2):
                for modulation in REQUIRED_DB:
                    verdict, quality, *channel = answer(
                        laboratory, 'request %d %d %s' % (first, last, modulation))
                    is_accepted, expected = is_good(first, last, modulation, power)
                    assert abs(float(quality) - expected) < .1, (first, last, quality, expected)
                    assert (verdict == 'ACCEPTED') == is_accepted, (first, last, modulation, power)
                    counts[verdict] += 1
                    if is_accepted:
                        wanted = FIRST_MHZ + int(channel[0]) * GRID_MHZ
                        tuned = [ports[here, here + 1] for here in range(first, last)]
                        lab.until(lambda: all(one.frequency == wanted for one in tuned), 'tuned')
                best = next(iter(REQUIRED_DB))
                is_lit = is_good(first, last, best, power)[0]
                assert arrives(laboratory, first, last) == is_lit, (first, last, power)
            laboratory.tell('clear')
        refused = answer(laboratory, 'power %g' % (MOST_DBM + 1))
        assert refused[0] == 'REFUSED' and 'BAD_CONFIG' in ' '.join(refused), refused
        assert laboratory.metric('drivers_refused') == 0, 'no line is refused'
    assert min(counts.values()) > 5, counts
    return '%d lightpaths accepted and %d rejected, as the formula says; %s' % (
        counts['ACCEPTED'], counts['REJECTED'],
        'packets pass on those accepted alone; a power beyond the laser is refused')


if __name__ == '__main__':
    lab.main(check)
