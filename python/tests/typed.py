"""Uses of the package whose types mypy checks; it is not run."""

from collections.abc import Iterator

from bofuss import P4Switch, oflib, p4, sim


def ports_of(message: oflib.Message) -> list[int]:
    """The ports that a flow-mod applies outputs to."""
    found: list[int] = []
    if isinstance(message, oflib.FlowMod):
        for instruction in message.instructions:
            if isinstance(instruction, oflib.InstructionApplyActions):
                actions = instruction.actions
                found += [one.port for one in actions if isinstance(one, oflib.ActionOutput)]
    return found


def flows(framer: oflib.Framer, data: bytes) -> list[oflib.FlowStats]:
    """The entries in the flow statistics that a stream brings."""
    found: list[oflib.FlowStats] = []
    for message in framer.feed(data):
        if isinstance(message, oflib.MultipartReply) and isinstance(message.body, list):
            found += [one for one in message.body if isinstance(one, oflib.FlowStats)]
    return found


def drop_all() -> bytes:
    """A flow-mod from texts and numbers."""
    flow = oflib.FlowMod(priority=5, match="ip", flags="send_flow_rem", instructions="drop")
    flow.instructions = [oflib.InstructionApplyActions([oflib.ActionOutput(oflib.PortNo.FLOOD)])]
    return flow.encode()


class Flooding(sim.Controller):
    """Callbacks may yield what they send, return it, or return nothing."""

    def on_connect(self, switch: sim.ConnectedSwitch) -> Iterator[oflib.Message]:
        yield oflib.flow_from_text("priority=0,actions=controller")

    def on_packet_in(self, switch: sim.ConnectedSwitch, packet: oflib.PacketIn) -> oflib.PacketOut:
        return oflib.PacketOut(actions="flood", data=packet.data)

    def on_error(self, switch: sim.ConnectedSwitch, error: oflib.ErrorMsg) -> None:
        self.next_tick = self.now + sim.NANOS


def events() -> int:
    """How many events a scenario has."""
    return len(sim.run("end = 1.0", controllers={"c0": Flooding()}, log=True).events)


def sent(program: bytes, frame: bytes) -> list[bytes]:
    """What leaves a P4 switch when a frame arrives."""
    switch = P4Switch(program, {"table_entries": []}, ports=2)
    switch.receive(1, memoryview(frame))
    return [effect.frame for effect in switch.drain() if isinstance(effect, p4.Transmit)]
