"""Reads OpenFlow messages with python-openflow: prints `ok` for each, or why it cannot be read."""

import sys

from messages import each, told
from pyof.utils import unpack
from pyof.v0x04.symmetric.hello import Hello

HELLO = 0


def verdict(message):
    try:
        if message[1] == HELLO:
            # A controller reads it before it knows the version.
            read = Hello()
            read.unpack(message[8:])
        else:
            read = unpack(message)
    except Exception as error:
        return told(error)
    return "ok" if read is not None else "nothing is read"


def main():
    for message in each(sys.argv[1]):
        print(verdict(message))


main()
