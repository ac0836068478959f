"""A station goes from one radio to another, and a signal fades: packets lost with and without a
warning."""

import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from bofuss_driver import Driver  # noqa: E402
from controller import RADIOS, WIRE  # noqa: E402
from paced import EACH_SECONDS, Ear, Stream  # noqa: E402

# A station associates in so many seconds after it has changed its channel, and a radio finds in as
# many that a link has gone.
ASSOCIATION_SECONDS = DETECTION_SECONDS = .04
# How long before that a radio warns, and how long packets go on afterwards.
WARNING_SECONDS, AFTER_SECONDS = .4, .4
BEST_DBM, WARNING_DBM, NO_SIGNAL_DBM, STEP_DB, STEP_SECONDS = -40, -75, -95, 5, .04
STATION = '02:00:00:00:00:02'


class Radio(Driver):
    """A radio behind a port: what comes out of the port is heard by a station that listens."""

    def __init__(self, switch, port, host):
        super().__init__(switch, port)
        self.ear, self.signal, self.attached = Ear(host), BEST_DBM, threading.Event()

    def on_attach(self):
        self.report(values={'signal_dbm': self.signal, 'channel': 36 + 4 * self.port}, link='up')
        self.attached.set()

    def fade(self, signal):
        """The signal is as strong as this; radios warn before it is none."""
        had_warned = self.signal <= WARNING_DBM
        self.signal = signal
        self.report(values={'signal_dbm': signal})
        if signal <= WARNING_DBM and not had_warned:
            self.event('going-down', signal_dbm=signal)


def handover(old, new):
    """A station listens to one radio, and then to the other, which tells when it has associated."""
    old.fade(WARNING_DBM)
    time.sleep(WARNING_SECONDS)
    new.ear.open(True)  # what has come before is of no use there, and was heard at the old one
    old.ear.open(False)
    time.sleep(ASSOCIATION_SECONDS)
    new.event('association', station=STATION, signal_dbm=new.signal)
    old.event('disassociation', station=STATION)


def trace(old, new):
    """A station listens to both radios, and the signal of one fades."""
    new.ear.open(True)
    for signal in range(BEST_DBM, NO_SIGNAL_DBM - 1, -STEP_DB):
        if signal == NO_SIGNAL_DBM:
            old.ear.open(False)
        else:
            old.fade(signal)
        time.sleep(STEP_SECONDS)
    time.sleep(DETECTION_SECONDS)
    old.report(link='down')


def lost(laboratory, radios, scene, way):
    """Packets that the station does not get, and those that were sent."""
    old, new = radios
    for radio in radios:
        radio.signal = BEST_DBM
        radio.ear.open(False)
        radio.report(values={'signal_dbm': BEST_DBM}, link='up')
        radio.ear.heard.clear()
    laboratory.tell('begin %s %s' % (scene.__name__, way))
    for radio in radios:
        radio.ear.listen()
    old.ear.open(True)
    stream = Stream(laboratory.hosts[WIRE])
    stream.start()
    time.sleep(AFTER_SECONDS)
    scene(old, new)
    time.sleep(AFTER_SECONDS)
    sent = stream.stop()
    time.sleep(lab.SILENCE_SECONDS)
    for radio in radios:
        radio.ear.listen()
    return sent - len(old.ear.heard | new.ear.heard), sent


def check():
    found = {}
    with lab.Lab(hosts=3, controller='controller.py') as laboratory:
        radios = [Radio('s1', port, laboratory.hosts[port]) for port in RADIOS]
        for radio in radios:
            radio.start()
            assert radio.attached.wait(lab.PATIENCE_SECONDS), 'the switch takes the driver'
        for scene in (handover, trace):
            for way in ('reactive', 'predictive'):
                found[scene.__name__, way] = lost(laboratory, radios, scene, way)
        assert laboratory.metric('drivers_refused') == 0, 'no line is refused'
    for (scene, way), (missing, sent) in found.items():
        least, most = DETECTION_SECONDS / EACH_SECONDS / 4, AFTER_SECONDS / EACH_SECONDS
        is_right = missing == 0 if way == 'predictive' else least < missing < most
        assert is_right, (scene, way, missing, sent)
    return 'packets lost: ' + '; '.join('%s, %s %d of %d' % (*key, *value)
                                        for key, value in found.items())


if __name__ == '__main__':
    lab.main(check)
