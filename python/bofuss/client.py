"""A client for live switches: flows, statistics and packet-ins, with asyncio.

The switch listens, as `bofuss run --listen` does, or it connects to `serve`:

    async with await connect("127.0.0.1", 6653) as switch:
        await switch.add_flow("priority=1,in_port=1,actions=output:2,controller")
        for entry in await switch.flows():
            print(entry)
        async for packet in switch.packet_ins():
            print(packet.match["in_port"], packet.data.hex())

A request that the switch refuses raises a `RefusedError`, and a connection that ends a `ConnectionError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, cast

from bofuss import oflib

VERSION = 4
"""The version that the client speaks: the number of OpenFlow 1.3 on the wire."""
READ_BYTES = 1 << 16
WAITING = 1024
"""The most asynchronous messages that wait to be read; further ones are dropped and counted."""


class RefusedError(Exception):
    """A switch refused a request; `error` is the message that it sent."""

    def __init__(self, error: oflib.ErrorMsg) -> None:
        super().__init__(str(error))
        self.error = error


class Connection:
    """A connection to a switch; `start` exchanges HELLOs on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._framer = oflib.Framer()
        self._xid = 0
        self._replies: dict[int, asyncio.Queue[oflib.Message | None]] = {}
        self._unasked: asyncio.Queue[oflib.Message | None] = asyncio.Queue(WAITING + 1)
        self._reading: asyncio.Task[None] | None = None
        self.lost = 0
        """The asynchronous messages that were dropped, because `WAITING` others were not read."""

    async def start(self) -> None:
        """Exchanges HELLOs. Raises ConnectionError if the switch does not speak the version."""
        self._writer.write(oflib.Hello([1 << VERSION], version=VERSION).encode())
        messages = self._messages()
        try:
            hello = await anext(messages, None)
        except oflib.DecodeError as error:
            self._writer.close()
            raise ConnectionError(f"the peer does not speak OpenFlow: {error}") from error
        if not isinstance(hello, oflib.Hello) or not _speaks(hello):
            self._writer.close()
            raise ConnectionError(f"the peer does not speak OpenFlow 1.3: {hello}")
        self._reading = asyncio.create_task(self._read(messages))

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection, and waits until its reader has ended."""
        self._writer.close()
        if self._reading is not None:
            await self._reading

    async def _messages(self) -> AsyncIterator[oflib.Message]:
        while data := await self._reader.read(READ_BYTES):
            for message in self._framer.feed(data):
                yield message

    async def _read(self, messages: AsyncIterator[oflib.Message]) -> None:
        try:
            async for message in messages:
                self._take(message)
        except (OSError, oflib.DecodeError):
            pass
        self._writer.close()
        for queue in [*self._replies.values(), self._unasked]:
            queue.put_nowait(None)

    def _take(self, message: oflib.Message) -> None:
        if isinstance(message, oflib.EchoRequest):
            self._writer.write(oflib.EchoReply(message.data, xid=message.xid).encode())
        elif message.xid in self._replies:
            self._replies[message.xid].put_nowait(message)
        elif self._unasked.qsize() < WAITING:
            self._unasked.put_nowait(message)
        else:
            self.lost += 1

    async def send(self, message: oflib.Message) -> None:
        """Sends a message; waits while the switch does not read."""
        self._writer.write(message.encode())
        await self._writer.drain()

    async def request(self, *messages: oflib.Message) -> list[oflib.Message]:
        """Sends messages, then a barrier, and returns the replies in order.

        Sets the transaction id and the version of the messages. Raises RefusedError for the first error.
        """
        if self._reading is None or self._reading.done():
            raise ConnectionError("the connection ended")
        replies: asyncio.Queue[oflib.Message | None] = asyncio.Queue()
        barrier = oflib.BarrierRequest()
        numbers = []
        for message in [*messages, barrier]:
            self._xid = self._xid % 0x7FFF_FFFF + 1
            message.xid, message.version = self._xid, VERSION
            self._replies[self._xid] = replies
            numbers.append(self._xid)
        found: list[oflib.Message] = []
        try:
            for message in [*messages, barrier]:
                await self.send(message)
            while not isinstance(reply := await replies.get(), oflib.BarrierReply):
                if reply is None:
                    raise ConnectionError("the connection ended")
                found.append(reply)
        finally:
            for number in numbers:
                del self._replies[number]
        for reply in found:
            if isinstance(reply, oflib.ErrorMsg):
                raise RefusedError(reply)
        return found

    async def statistics(self, kind: str, body: Any = None) -> Any:
        """Requests a multipart, such as `statistics("PORT_STATS")`; returns the body, its parts joined."""
        request = oflib.MultipartRequest(kind) if body is None else oflib.MultipartRequest(kind, body)
        replies = cast(Sequence[oflib.MultipartReply], await self.request(request))
        bodies: list[Any] = [reply.body for reply in replies]
        if bodies and isinstance(bodies[0], list):
            return [one for body in bodies for one in body]
        return bodies[0]

    async def flows(self, match: oflib.Match | str = "") -> list[oflib.FlowStats]:
        """The flow entries of all tables that a match covers."""
        request = oflib.FlowStatsRequest(match=match)
        return cast("list[oflib.FlowStats]", await self.statistics("FLOW", request))

    async def ports(self) -> list[oflib.PortStats]:
        """The counters of all ports."""
        return cast("list[oflib.PortStats]", await self.statistics("PORT_STATS"))

    async def add_flow(self, flow: oflib.FlowMod | str) -> None:
        """Adds the flow entry of a text, or sends a flow-mod. Raises RefusedError."""
        await self.request(oflib.flow_from_text(flow) if isinstance(flow, str) else flow)

    async def delete_flows(self, match: str = "") -> None:
        """Deletes the flow entries that a match covers; without one, all."""
        await self.request(oflib.flow_from_text(match, "delete"))

    async def unasked(self) -> AsyncIterator[oflib.Message]:
        """The asynchronous messages: packet-ins, removed entries, changes of ports."""
        while (message := await self._unasked.get()) is not None:
            yield message
        self._unasked.put_nowait(None)

    async def packet_ins(self) -> AsyncIterator[oflib.PacketIn]:
        """The packet-ins; skips other asynchronous messages."""
        async for message in self.unasked():
            if isinstance(message, oflib.PacketIn):
                yield message


def _speaks(hello: oflib.Hello) -> bool:
    """Whether a peer speaks our version. Without a bitmap, it speaks that of its header and lower ones."""
    if hello.bitmap:
        return bool(hello.bitmap[0] >> VERSION & 1)
    return hello.version >= VERSION


async def connect(host: str, port: int) -> Connection:
    """Connects to a switch that listens. Raises OSError."""
    connection = Connection(*await asyncio.open_connection(host, port))
    await connection.start()
    return connection


async def serve(
    handle: Callable[[Connection], Awaitable[None]], host: str, port: int
) -> asyncio.Server:
    """Listens for switches: passes each connection to `handle`, and closes it when that returns."""

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        try:
            await connection.start()
            await handle(connection)
        except ConnectionError:
            pass
        finally:
            await connection.close()

    return await asyncio.start_server(accepted, host, port)
