"""Programs come and go while frames pass: none is lost, maps count all, faults are refused."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from lab import Lab, main, program, udp  # noqa: E402
from programs import AVERAGE, INTERVAL, SHARE_BITS  # noqa: E402

FRAMES, CHANGES, AVERAGES = 2000, 8, 3
PATIENCE_SECONDS = 20
CLANG = 'clang -O2 -g -target bpf -mcpu=v3 -c'


def asked(lab, line, word):
    """What the controller answers to a line, after this word."""
    lab.controller.stdin.write(line + '\n')
    lab.controller.stdin.flush()
    answer = lab.wait_for(word).partition(' ')[2]
    lab.wait_for('READY')
    return answer


def entries(lab, name, layout):
    """A map of numbered values, as numbers."""
    rows = json.loads(asked(lab, 'read ' + name, 'MAP'))
    return {struct.unpack('<I', bytes.fromhex(key))[0]: struct.unpack(layout, bytes.fromhex(value))
            for key, value in rows}


def frames(count, first=0):
    return [udp('10.0.0.1', '10.0.0.2', 7, b'%40d' % (first + number)) for number in range(count)]


def replaced_while_frames_pass(lab):
    """Replaces the program of counters by itself, and the map keeps its counts."""
    asked(lab, 'program count', 'INSTALLED')
    sent = frames(FRAMES)
    sending = threading.Thread(target=lab.send, args=(1, sent))
    sending.start()
    for _ in range(CHANGES):
        asked(lab, 'program count', 'INSTALLED')
    sending.join()
    assert lab.arrived()[2] == sent, 'all frames arrive in their order'
    counts = entries(lab, 'counts', '<QQ')[1]
    assert counts == (FRAMES, sum(map(len, sent))), counts
    lab.tell('write counts 01000000 ' + struct.pack('<QQ', 5, 0).hex())
    lab.send(1, frames(1))
    assert entries(lab, 'counts', '<QQ')[1][0] == 6, 'counts go on from what was written'
    lab.arrived()


def counts_in_c(lab):
    """Replaces the program of counters by the same one in C, and the map keeps its counts."""
    before = entries(lab, 'counts', '<QQ')[1]
    with tempfile.TemporaryDirectory() as folder:
        built = folder + '/count.o'
        subprocess.run([*CLANG.split(), HERE / 'count.c', '-o', built], check=True)
        words = 'add,name=stage,object=' + built
        subprocess.run([program('dpctl'), 's1', 'program_mod', words], check=True)
    sent = frames(10)
    lab.send(1, sent)
    assert lab.arrived()[2] == sent, 'the program in C passes frames on'
    counts = entries(lab, 'counts', '<QQ')[1]
    assert counts == (before[0] + 10, before[1] + sum(map(len, sent))), (before, counts)


def averages(lab):
    """Has averages of so many intervals; they are as computed here."""
    asked(lab, 'program ewma', 'INSTALLED')
    end, sent, count = time.monotonic() + PATIENCE_SECONDS, 0, 0
    while count < AVERAGES:
        assert time.monotonic() < end, 'an interval ends'
        some = frames(20)
        lab.send(1, some)
        sent += sum(map(len, some))
        time.sleep(INTERVAL / 10)
        rest, _, predicted, _, count = entries(lab, 'averages', AVERAGE)[1]
    told = []
    while len(told) < count:
        assert time.monotonic() < end, 'the program tells each interval'
        told = json.loads(asked(lab, 'told', 'TOLD'))
    prediction = volumes = 0
    for port, volume, packets, told_prediction, _, _ in told:
        prediction = (volume + (prediction << SHARE_BITS) - prediction) >> SHARE_BITS
        assert (port, told_prediction) == (1, prediction) and packets > 0, told
        volumes += volume
    assert (volumes + rest, predicted) == (sent, prediction), 'the map has the rest'
    lab.arrived()


def learns(lab):
    """Has a ping between hosts 1 and 3, which host 2 does not see once ports are known."""
    asked(lab, 'program learn', 'INSTALLED')
    lab.hosts[1].run('ping', '-n', '-c', '1', '-W', '5', lab.hosts[3].address)
    lab.arrived()
    lab.hosts[1].run('ping', '-n', '-c', '3', '-i', '0.2', '-W', '5', lab.hosts[3].address)
    seen = [one for one in lab.arrived()[2] if one[12:14] == b'\x08\x00']
    assert not seen, 'a third port sees nothing of a conversation'
    lab.resume()


def check():
    with Lab(hosts=3, controller='controller.py') as lab:
        lab.resume()
        replaced_while_frames_pass(lab)
        if shutil.which('clang') or os.environ.get('CI'):
            counts_in_c(lab)
        averages(lab)
        learns(lab)
        refused = asked(lab, 'program endless', 'REFUSED')
        asked(lab, 'program overrun', 'INSTALLED')
        lab.send(1, frames(10))
        overruns = lab.metric('extension_dropped_packets_total', 'extension="ebpf"',
                              'reason="overrun"')
        assert overruns == 10 and not lab.arrived()[2], overruns
        lab.tell('delete')
        lab.send(1, frames(10))
        assert lab.arrived()[2] == frames(10), 'without the program, frames go on'
    return ('%d frames pass while a program is replaced %d times, all counted; %d averages told '
            'and right; ports learned; an endless program refused (%s), %d overruns dropped' % (
                FRAMES, CHANGES, AVERAGES, refused, overruns))


if __name__ == '__main__':
    main(check)
