"""Changes the channel of a radio when it is jammed."""

import threading

from ports import events, port_set, port_values
from rules import accept, install, run_commands

WIRE, RADIO = 1, 2
CHANNELS = (1, 6, 11)


class Hopping:
    """Which channel comes next, and whether the radio is helped."""

    def __init__(self, switch):
        self.switch, self.helps = switch, False

    def help(self, wanted):
        self.helps = wanted == 'yes'

    def listen(self):
        """Answers a jammed channel with the next one, and a more robust modulation."""
        for port, event, details in events(self.switch):
            if event == 'jammed' and self.helps:
                said = port_values(self.switch)[port]
                if said['channel'] == details['channel']:  # else it has changed already
                    place = CHANNELS.index(said['channel']) + 1
                    port_set(self.switch, port, channel=CHANNELS[place % len(CHANNELS)],
                             modulation='qpsk')


if __name__ == '__main__':
    connected = accept(1)
    install(connected[1], 'in_port=%d,udp,actions=output:%d' % (WIRE, RADIO))
    hopping = Hopping(connected[1])
    threading.Thread(target=hopping.listen, daemon=True).start()
    print('READY', flush=True)
    run_commands(connected, {'help': lambda _, wanted: hopping.help(wanted)})
