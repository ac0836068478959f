"""The proxy between an application and live switches: it logs, and mends what a failure breaks."""

import asyncio
import json
import sys
import time
import tomllib
from collections import deque
from pathlib import Path

from bofuss import client, oflib

from afro import Application, Logged, difference, replay
from app import Forwarding

PORT = 6653
SCENARIO = Path(__file__).with_name('network.toml')
# The oldest packet-ins are forgotten.
MOST_LOGGED = 10_000
LINK_DOWN = oflib.PortState.LINK_DOWN


class Proxy:
    """What stands between the application and the switches."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.links = links_of(tomllib.loads(scenario))
        self.log = deque(maxlen=MOST_LOGGED)
        self.application = Application(Forwarding())
        self.connections = {}  # by switch's name
        self.outbox = []       # what the application has sent: a connection and a message
        self.ends_down = set()
        self.recovers = False
        self.one_at_a_time = asyncio.Lock()

    async def serve(self, connection):
        """Serves a switch until its connection ends."""
        features, *_ = await connection.request(oflib.FeaturesRequest())
        name = 's%d' % features.datapath_id
        async with self.one_at_a_time:
            self.connections[name] = connection
            self.lead_to_live(name)
            self.application.connected(name)
            await self.flush()
        async for message in connection.unasked():
            async with self.one_at_a_time:
                await self.take(name, message)

    def lead_to_live(self, name):
        """Has the application's messages go to the live switch of a name."""
        connection = self.connections[name]
        self.application.send[name] = lambda message: self.outbox.append((connection, message))

    async def flush(self):
        """Sends what the application has sent."""
        sent, self.outbox = self.outbox, []
        for connection, message in sent:
            await connection.send(message)

    async def take(self, name, message):
        """Logs a message, mends what it reports, and passes it to the application."""
        if isinstance(message, oflib.PacketIn):
            port = message.match['in_port']
            if (name, port) not in self.links:
                self.log.append(Logged(name, port, message.data))
        elif isinstance(message, oflib.PortStatus):
            await self.port_changed((name, message.desc.port_no), message.desc.state)
        self.application.received(name, message)
        await self.flush()

    async def port_changed(self, end, state):
        """A port's link went down, or came up again: the other end says so, too."""
        before = self.failed()
        if state & LINK_DOWN:
            self.ends_down.add(end)
        else:
            self.ends_down.discard(end)
        if self.recovers and self.failed() != before:
            await self.recover()

    def failed(self):
        """The links that are down."""
        return {self.links[end] for end in self.ends_down if end in self.links}

    async def recover(self):
        """Installs what a fresh application would have on the network as it is now."""
        detected = time.monotonic()
        fresh = Application(Forwarding())
        tables = replay(self.scenario, self.failed(), fresh, self.log)
        replayed = time.monotonic()
        counts = [0, 0]
        for name, connection in self.connections.items():
            added, removed = difference(await connection.flows(), tables[name])
            await connection.request(*added, *removed)
            counts = [counts[0] + len(added), counts[1] + len(removed)]
        self.application = fresh
        for name in self.connections:
            self.lead_to_live(name)
        report = {
            'detected': detected, 'replay': replayed - detected,
            'install': time.monotonic() - replayed, 'packets': len(self.log),
            'added': counts[0], 'removed': counts[1],
        }
        print('RECOVERED', json.dumps(report), flush=True)


def links_of(scenario):
    """The links between switches, by each of their ends."""
    links = {}
    for link in scenario['link']:
        ends = [end.split(':') for end in link['ends']]
        if all(len(end) == 2 for end in ends):
            name = '-'.join(switch for switch, _ in ends)
            for switch, port in ends:
                links[switch, int(port)] = name
    return links


async def main():
    proxy = Proxy(SCENARIO.read_text())
    server = await client.serve(proxy.serve, '127.0.0.1', PORT)
    while len(proxy.application.controller.links) < len(proxy.links):
        await asyncio.sleep(.01)
    print('READY', flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        # From now on it recovers; what failed before is whole again when both ends have said so.
        while proxy.failed():
            await asyncio.sleep(.01)
        proxy.recovers = True
        print('READY', flush=True)
    server.close()


if __name__ == '__main__':
    asyncio.run(main())
