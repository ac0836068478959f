"""Tests `bofuss.client` with a `bofuss.Switch` that listens on a socket."""

from __future__ import annotations

import asyncio
import unittest

from bofuss import client, oflib
from bofuss.switch import Send, Switch


class Live:
    """A switch that listens, on a port that the system chooses."""

    def __init__(self) -> None:
        self.switch = Switch(ports=4)
        self.writers: dict[int, asyncio.StreamWriter] = {}

    async def start(self) -> int:
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        return int(self.server.sockets[0].getsockname()[1])

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = self.switch.connect()
        self.writers[number] = writer
        self.flush()
        while data := await reader.read(1 << 16):
            self.switch.feed(number, data)
            self.flush()
        writer.close()

    def receive(self, port: int, frame: bytes) -> None:
        self.switch.receive(port, frame)
        self.flush()

    def flush(self) -> None:
        for effect in self.switch.drain():
            if isinstance(effect, Send):
                self.writers[effect.connection].write(effect.data)


class Connections(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.live = Live()
        self.port = await self.live.start()
        self.connection = await client.connect("127.0.0.1", self.port)

    async def asyncTearDown(self) -> None:
        await self.connection.close()
        self.live.server.close()

    async def test_flows_are_added_listed_and_removed(self) -> None:
        for port in range(1, 4):
            await self.connection.add_flow(f"priority={port},in_port={port},actions=output:4")
        flows = await self.connection.flows()
        self.assertEqual(sorted(flow.priority for flow in flows), [1, 2, 3])
        await self.connection.delete_flows("in_port=2")
        self.assertEqual(len(await self.connection.flows()), 2)
        self.assertEqual(len(await self.connection.flows("in_port=1")), 1)

    async def test_long_statistics_are_joined(self) -> None:
        flows = [oflib.flow_from_text(f"priority={n},udp,udp_dst={n},actions=output:1") for n in range(2000)]
        await self.connection.request(*flows)
        self.assertEqual(len(await self.connection.flows()), 2000)

    async def test_what_is_refused_raises_and_the_next_request_is_answered(self) -> None:
        with self.assertRaisesRegex(client.RefusedError, "BAD_ACTION/BAD_OUT_GROUP"):
            await self.connection.add_flow("actions=group:77")
        self.assertEqual(len(await self.connection.ports()), 4)

    async def test_packet_ins_are_iterated(self) -> None:
        await self.connection.add_flow("actions=controller")
        for port in (1, 2, 3):
            self.live.receive(port, bytes(60))
        found = []
        async for packet in self.connection.packet_ins():
            found.append(packet.match["in_port"])
            if len(found) == 3:
                break
        self.assertEqual(found, [1, 2, 3])

    async def test_a_connection_that_ends_is_an_error_and_ends_iterations(self) -> None:
        for writer in self.live.writers.values():
            writer.close()
        self.assertEqual([one async for one in self.connection.packet_ins()], [])
        with self.assertRaises(ConnectionError):
            await asyncio.wait_for(self.connection.flows(), 5)

    async def test_packet_ins_that_nobody_reads_are_counted_and_cost_bounded_memory(self) -> None:
        await self.connection.add_flow("actions=controller")
        for _ in range(client.WAITING + 50):
            self.live.receive(1, bytes(60))
        await self.connection.ports()
        self.assertEqual(self.connection.lost, 50)

    async def test_a_peer_that_speaks_something_else_is_a_connection_error(self) -> None:
        async def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"\0\0\0\0 220 mail server\r\n")
            writer.close()

        server = await asyncio.start_server(accepted, "127.0.0.1", 0)
        with self.assertRaisesRegex(ConnectionError, "does not speak OpenFlow"):
            await client.connect("127.0.0.1", server.sockets[0].getsockname()[1])
        server.close()

    async def test_switches_may_connect_to_the_client(self) -> None:
        seen: asyncio.Queue[int] = asyncio.Queue()

        async def handle(connection: client.Connection) -> None:
            [reply] = await connection.request(oflib.FeaturesRequest())
            assert isinstance(reply, oflib.FeaturesReply)
            seen.put_nowait(reply.datapath_id)

        server = await client.serve(handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        accepting = asyncio.create_task(self.live.accept(reader, writer))
        self.assertEqual(await asyncio.wait_for(seen.get(), 5), 1)
        await accepting
        server.close()


if __name__ == "__main__":
    unittest.main()
