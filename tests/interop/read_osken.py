"""Reads OpenFlow messages with os-ken: prints `ok` for each, or why it cannot be read."""

import logging
import sys

from messages import each, told
from os_ken.ofproto import ofproto_parser, ofproto_protocol


class Kept(logging.Handler):
    """Keeps what the library logs: it reports a message that it cannot read so."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        error = record.exc_info[1] if record.exc_info else None
        self.lines.append(record.getMessage()[:60] if error is None else told(error))


def verdict(message, kept):
    kept.lines.clear()
    peer = ofproto_protocol.ProtocolDesc(message[0])
    try:
        read = ofproto_parser.msg(peer, *ofproto_parser.header(message), message)
        if read is not None:
            read.to_jsondict()
    except Exception as error:
        return told(error)
    return "; ".join(kept.lines) or ("ok" if read is not None else "nothing is read")


def main():
    kept = Kept()
    logging.getLogger().addHandler(kept)
    for message in each(sys.argv[1]):
        print(verdict(message, kept))


main()
