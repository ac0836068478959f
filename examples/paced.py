"""Numbered packets at an even pace, and which of them were heard."""

import threading
import time

from lab import udp

PORT, EACH_SECONDS, NUMBER = 7000, .001, slice(42, 50)


class Stream(threading.Thread):
    """Sends a packet each millisecond from a host, until it is stopped."""

    def __init__(self, host):
        super().__init__()
        self.host, self.sent, self.ends = host, 0, False

    def run(self):
        begin = time.monotonic()
        while not self.ends:
            self.host.socket.send(udp('10.1.0.1', '10.2.0.1', PORT, b'%08d' % self.sent))
            self.sent += 1
            time.sleep(max(0, begin + self.sent * EACH_SECONDS - time.monotonic()))

    def stop(self):
        """Sends no more; returns how many were sent."""
        self.ends = True
        self.join()
        return self.sent


class Ear:
    """What is heard behind a port, while it is listened to."""

    def __init__(self, host):
        self.host, self.is_open, self.heard = host, False, set()

    def listen(self):
        """Hears what has come so far, or does not."""
        self.host.receive()
        frames, self.host.frames = self.host.frames, []
        if self.is_open:
            self.heard.update(frame[NUMBER] for frame in frames)

    def open(self, is_open):
        """From now on, the port is listened to or not."""
        self.listen()
        self.is_open = is_open
