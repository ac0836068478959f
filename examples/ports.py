"""What a controller reads, sets and is told of ports that have a driver."""

import re
import struct

from bofuss.oflib import ExperimenterValue
from bofuss_machine import (EXPERIMENTER_MESSAGE, EXPERIMENTER_MULTIPART, MULTIPART_REQUEST,
                            message)
from rules import install

# A part of a text: a name, and a word or a list in parentheses.
PART = re.compile(r'([\w.-]+)=(\([^)]*\)|[^,)]*)')


def parts(text):
    """The parts of a text by their names, numbers as such."""
    found = dict(PART.findall(text))
    return {name: int(word) if re.fullmatch(r'-?\d+', word) else word
            for name, word in found.items()}


def events(switch):
    """What drivers tell, as (port, event, details), until the connection ends."""
    for kind, body in switch.messages():
        if kind != EXPERIMENTER_MESSAGE:
            continue
        value = ExperimenterValue.from_bytes('message', body)
        if value.name == 'port_event':
            details = parts(str(value).partition('(')[2])
            yield details.pop('port'), details.pop('event'), details


def port_values(switch):
    """The values of each port that has a driver; `counters` are the driver's own."""
    request = bytes(ExperimenterValue.from_text('multipart', 'port_values()'))
    head = struct.pack('!HH4x', EXPERIMENTER_MULTIPART, 0)
    reply, found, at = switch.ask(message(MULTIPART_REQUEST, head + request)), {}, 0
    while at < len(reply):
        length, = struct.unpack_from('!H', reply, at)
        one = ExperimenterValue.from_bytes('multipart', request + reply[at:at + length])
        said = parts(str(one).partition('[')[2])
        said['counters'] = parts(said['counters'][1:-1])
        found[said.pop('port')] = said
        at += length
    return found


def port_set(switch, port, **values):
    """Asks the driver of a port to set values. Raises Refused."""
    words = ','.join('%s=%s' % item for item in values.items())
    value = ExperimenterValue.from_text('message', 'port_set(port=%d,%s)' % (port, words))
    install(switch, message(EXPERIMENTER_MESSAGE, bytes(value)))
