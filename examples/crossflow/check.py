"""A jammer finds the channel of a radio, again and again; the controller moves it each time."""

import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from bofuss_driver import Driver  # noqa: E402
from controller import CHANNELS, RADIO, WIRE  # noqa: E402
from paced import EACH_SECONDS, Ear, Stream  # noqa: E402

JAMS, PAUSE_SECONDS = 10, .15
# A jam is answered in this time, as a rule, and in all cases in the second one.
USUAL_SECONDS, MOST_SECONDS = .05, .5


class Radio(Driver):
    """A software-defined radio: nothing is heard on a channel with a jammer."""

    def __init__(self, host):
        super().__init__('s1', RADIO)
        self.ear, self.channel, self.modulation = Ear(host), CHANNELS[0], '16qam'
        self.jammed, self.jammed_at, self.answers = None, 0, []
        self.attached, self.lock = threading.Event(), threading.Lock()

    def on_attach(self):
        self.report(values={'channel': self.channel, 'modulation': self.modulation},
                    settable=['channel', 'modulation'])
        self.attached.set()

    def on_set(self, values):
        with self.lock:
            self.answers.append(time.monotonic() - self.jammed_at)
            self.channel, self.modulation = values['channel'], values['modulation']
            self.ear.open(self.channel != self.jammed)
        self.report(values=values)

    def jam(self, channel):
        """A jammer is on a channel from now on, or on none."""
        with self.lock:
            self.jammed, self.jammed_at = channel, time.monotonic()
            is_open = channel != self.channel
            self.ear.open(is_open)
        if not is_open:
            self.event('jammed', channel=channel)


def carried(laboratory, radio, helps):
    """Packets heard and sent, with a jammer that finds the radio so many times."""
    laboratory.tell('help ' + helps)
    radio.jam(None)
    radio.ear.heard.clear()
    stream = Stream(laboratory.hosts[WIRE])
    stream.start()
    for _ in range(JAMS):
        time.sleep(PAUSE_SECONDS)
        radio.jam(radio.channel)
    time.sleep(PAUSE_SECONDS)
    sent = stream.stop()
    time.sleep(lab.SILENCE_SECONDS)
    radio.ear.listen()
    return len(radio.ear.heard), sent


def check():
    with lab.Lab(hosts=2, controller='controller.py') as laboratory:
        radio = Radio(laboratory.hosts[RADIO])
        radio.start()
        assert radio.attached.wait(lab.PATIENCE_SECONDS), 'the switch takes the driver'
        alone, sent_alone = carried(laboratory, radio, 'no')
        assert not radio.answers and radio.modulation == '16qam', 'nobody has answered'
        helped, sent = carried(laboratory, radio, 'yes')
        assert laboratory.metric('drivers_refused') == 0, 'no line is refused'
    assert len(radio.answers) == JAMS and radio.modulation == 'qpsk', radio.answers
    usual, most = statistics.median(radio.answers), max(radio.answers)
    assert usual < USUAL_SECONDS and most < MOST_SECONDS, radio.answers
    # What is lost is what was sent until the answers, and some that were on their way.
    lost = sent - helped
    assert lost <= (sum(radio.answers) / EACH_SECONDS) + 20 * JAMS, (lost, radio.answers)
    assert alone < sent_alone / 4 and helped > sent * .8, (alone, sent_alone, helped, sent)
    return ('%d jams answered in %.1f ms as a rule, at most %.1f; %d of %d packets heard, %d of %d '
            'without the controller' % (JAMS, 1e3 * usual, 1e3 * most, helped, sent, alone,
                                        sent_alone))


if __name__ == '__main__':
    lab.main(check)
