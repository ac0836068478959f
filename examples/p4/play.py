"""What the checks of P4 programs share: packet tests and traces by `bofuss p4`, and networks.

    main(check)  prints the line that `check` returns
    stf(name)    plays NAME.stf on NAME.json
    trace(...)   explains one packet
    readme()     runs the commands of README.md
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Callable, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import program  # noqa: E402

HERE = Path(sys.argv[0]).resolve().parent


def main(check: Callable[[], str]) -> None:
    """Prints what a check returns."""
    print('checked:', check(), flush=True)


def bofuss(*words: str) -> str:
    """What `bofuss` prints, in the folder of the check."""
    done = subprocess.run([program('bofuss'), *words], cwd=HERE, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout


def stf(name: str) -> str:
    """Plays the packet tests of a program. Returns how many packets were in and out."""
    said = bofuss('p4', 'stf', name + '.json', name + '.stf')
    return said.partition('(')[2].partition(')')[0]


def trace(name: str, entries: str, port: int,
          frame: bytes) -> Tuple[str, List[Tuple[int, bytes]]]:
    """Explains a packet. Returns the text, and what leaves: ports and frames."""
    text = bofuss('p4', 'trace', name + '.json', str(port), frame.hex(), '--entries', entries)
    left = re.findall(r'^\d+ bytes leave at port (\d+)\n((?:  [0-9a-f]+\n)+)', text, re.M)
    return text, [(int(port), bytes.fromhex(''.join(lines.split()))) for port, lines in left]


def readme() -> None:
    """Runs the commands of README.md. They have to print what is below them there, where dots stand
    for any lines."""
    text = (HERE / 'README.md').read_text()
    shown = re.findall(r'^```\n\$ bofuss (.*?[^\\])\n(.*?)^```$', text, re.M | re.S)
    assert shown, 'README.md has commands'
    for words, wanted in shown:
        pattern = re.escape(wanted).replace(re.escape('...\n'), '(.*\n)*')
        said = bofuss(*words.replace('\\\n', '').split())
        assert re.fullmatch(pattern, said), 'README.md: %s\n%s' % (words, said)
