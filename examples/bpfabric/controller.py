"""One stage of eBPF before a plain table; commands change its program, and read its maps."""

import json
import struct
import threading

from bofuss.oflib import ExperimenterValue
from bofuss_machine import (EXPERIMENTER_MESSAGE, EXPERIMENTER_MULTIPART, MULTIPART_REQUEST,
                            Refused, message)
from programs import AVERAGE, installation
from rules import accept, install, run_commands

STAGE = 'stage'
RULES = ['priority=1,actions=ebpf(%s,table=1)' % STAGE,
         'table=1,in_port=1,actions=output:2', 'table=1,in_port=2,actions=output:1']
NAME_BYTES = 32
# Of a notification: experimenter and type, the program's name, an id.
NOTIFICATION = '!8x%dsI4x' % NAME_BYTES
# Of an entry of a map: length, command, bytes of key and value, the names of program and map.
ENTRY = '!HBxHH2x%ds%ds' % (NAME_BYTES, NAME_BYTES)


def change(name, words):
    """A message of the extension, by its words for `dpctl`."""
    value = ExperimenterValue.from_text('message', '%s(%s)' % (name, words))
    return message(EXPERIMENTER_MESSAGE, bytes(value))


def entries(switch, of_map):
    """Keys and values of a map."""
    words = 'map_entries(program=%s,map=%s)' % (STAGE, of_map)
    value = bytes(ExperimenterValue.from_text('multipart', words))
    head = struct.pack('!HH4x', EXPERIMENTER_MULTIPART, 0)
    reply, at = switch.ask(message(MULTIPART_REQUEST, head + value)), 0
    while at < len(reply):
        length, _, key_bytes, value_bytes, _, _ = struct.unpack_from(ENTRY, reply, at)
        key_at = at + struct.calcsize(ENTRY)
        value_at = key_at + key_bytes
        yield reply[key_at:value_at], reply[value_at:value_at + value_bytes]
        at += length


def listen(switch, heard):
    """Collects what programs tell: the port and the average."""
    for kind, body in switch.messages():
        if kind == EXPERIMENTER_MESSAGE:
            _, port = struct.unpack_from(NOTIFICATION, body)
            data = body[struct.calcsize(NOTIFICATION):]
            heard.append((port, *struct.unpack(AVERAGE, data)))


def main():
    switches = accept(1)
    (switch,) = switches.values()
    heard = []
    threading.Thread(target=listen, args=(switch, heard), daemon=True).start()
    install(switch, *RULES)
    print('READY', flush=True)

    def program(_, name):
        try:
            install(switch, change('program_mod', installation(STAGE, name)))
            print('INSTALLED', flush=True)
        except (Refused, ValueError) as refusal:
            print('REFUSED', refusal, flush=True)

    def delete(_):
        install(switch, change('program_mod', 'delete,name=' + STAGE))

    def read(_, of_map):
        found = [(key.hex(), value.hex()) for key, value in entries(switch, of_map)]
        print('MAP', json.dumps(found), flush=True)

    def write(_, of_map, key, value):
        words = 'set,program=%s,map=%s,key=%s,data=%s' % (STAGE, of_map, key, value)
        install(switch, change('map_mod', words))

    def told(_):
        switch.barrier()
        print('TOLD', json.dumps(heard), flush=True)

    run_commands(switches, {'program': program, 'delete': delete, 'read': read, 'write': write,
                            'told': told})


if __name__ == '__main__':
    main()
