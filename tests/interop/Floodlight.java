// A controller that uses a switch as Floodlight does, with its library, for some time: PORT VERSION
// SECONDS. Prints how many messages of each type it got; fails if one cannot be read, if the
// switch reports an error, or if it closes the connection.

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.DataInputStream;
import java.io.EOFException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import org.projectfloodlight.openflow.protocol.OFControllerRole;
import org.projectfloodlight.openflow.protocol.OFEchoRequest;
import org.projectfloodlight.openflow.protocol.OFFactories;
import org.projectfloodlight.openflow.protocol.OFFactory;
import org.projectfloodlight.openflow.protocol.OFFlowModFlags;
import org.projectfloodlight.openflow.protocol.OFMessage;
import org.projectfloodlight.openflow.protocol.OFStatsReply;
import org.projectfloodlight.openflow.protocol.OFType;
import org.projectfloodlight.openflow.protocol.OFVersion;
import org.projectfloodlight.openflow.protocol.action.OFAction;
import org.projectfloodlight.openflow.protocol.match.Match;
import org.projectfloodlight.openflow.protocol.match.MatchField;
import org.projectfloodlight.openflow.types.EthType;
import org.projectfloodlight.openflow.types.IpProtocol;
import org.projectfloodlight.openflow.types.MacAddress;
import org.projectfloodlight.openflow.types.OFBufferId;
import org.projectfloodlight.openflow.types.OFGroup;
import org.projectfloodlight.openflow.types.OFPort;
import org.projectfloodlight.openflow.types.TableId;
import org.projectfloodlight.openflow.types.TransportPort;
import org.projectfloodlight.openflow.types.U32;
import org.projectfloodlight.openflow.types.U64;

class Floodlight {
    final OFFactory factory;
    final Socket socket;
    final Map<String, Integer> got = new ConcurrentSkipListMap<>();
    volatile boolean ends = false;
    volatile String fault = null;

    Floodlight(OFFactory factory, Socket socket) {
        this.factory = factory;
        this.socket = socket;
    }

    public static void main(String[] arguments) throws Exception {
        OFVersion version = OFVersion.valueOf(arguments[1]);
        try (ServerSocket server = new ServerSocket(Integer.parseInt(arguments[0]))) {
            System.out.println("listens");
            Floodlight controller =
                    new Floodlight(OFFactories.getFactory(version), server.accept());
            Thread reader = new Thread(controller::read);
            reader.start();
            controller.works(Integer.parseInt(arguments[2]));
            controller.ends = true;
            controller.socket.close();
            reader.join();
            System.out.println(controller.got);
            if (controller.fault != null) {
                System.out.println("fault: " + controller.fault);
                System.exit(1);
            }
        }
    }

    synchronized void send(OFMessage message) {
        ByteBuf bytes = Unpooled.buffer();
        message.writeTo(bytes);
        try {
            socket.getOutputStream().write(bytes.array(), 0, bytes.readableBytes());
        } catch (Exception error) {
            fails("send: " + error);
        }
    }

    void fails(String why) {
        if (fault == null && !ends) {
            fault = why;
        }
    }

    void read() {
        try {
            DataInputStream stream = new DataInputStream(socket.getInputStream());
            while (true) {
                byte[] head = stream.readNBytes(4);
                if (head.length < 4) {
                    throw new EOFException("the switch closed the connection");
                }
                byte[] whole = new byte[(head[2] & 255) << 8 | head[3] & 255];
                System.arraycopy(head, 0, whole, 0, 4);
                stream.readFully(whole, 4, whole.length - 4);
                ByteBuf bytes = Unpooled.wrappedBuffer(whole);
                hears(OFFactories.getGenericReader().readFrom(bytes));
            }
        } catch (Exception error) {
            fails("read: " + error);
        }
    }

    void hears(OFMessage message) {
        String name = message.getType().toString();
        if (message instanceof OFStatsReply) {
            name = ((OFStatsReply) message).getStatsType().toString();
        } else if (message.getType() == OFType.ERROR) {
            fails(message.toString());
        } else if (message instanceof OFEchoRequest) {
            byte[] data = ((OFEchoRequest) message).getData();
            send(factory.buildEchoReply().setXid(message.getXid()).setData(data).build());
        }
        got.merge(name, 1, Integer::sum);
    }

    void works(int seconds) throws InterruptedException {
        greets();
        for (int round = 0; round < 2 * seconds && fault == null; round++) {
            long generation = 2 + round;
            OFControllerRole role =
                    round % 5 == 3 ? OFControllerRole.ROLE_SLAVE : OFControllerRole.ROLE_MASTER;
            send(factory.buildRoleRequest().setRole(role)
                    .setGenerationId(U64.of(generation)).build());
            if (role == OFControllerRole.ROLE_MASTER) {
                changes(round);
            }
            asks();
            Thread.sleep(500);
        }
    }

    // What Floodlight says first.
    void greets() {
        U32 bitmap = U32.of(1 << factory.getVersion().getWireVersion());
        send(factory.hello(List.of(factory.buildHelloElemVersionbitmap()
                .setBitmaps(List.of(bitmap)).build())));
        send(factory.buildFeaturesRequest().build());
        send(factory.buildPortDescStatsRequest().build());
        send(factory.buildSetConfig().setMissSendLen(0xffff).build());
        send(factory.barrierRequest());
        send(factory.buildGetConfigRequest().build());
        send(factory.buildDescStatsRequest().build());
        send(factory.buildTableFeaturesStatsRequest().build());
        send(factory.buildRoleRequest().setRole(OFControllerRole.ROLE_MASTER)
                .setGenerationId(U64.of(1)).build());
        send(factory.buildFlowDelete().setTableId(TableId.ALL).setOutPort(OFPort.ANY)
                .setOutGroup(OFGroup.ANY).build());
        OFAction ask = factory.actions().buildOutput().setPort(OFPort.CONTROLLER)
                .setMaxLen(0xffff).build();
        send(factory.buildFlowAdd().setTableId(TableId.of(0)).setPriority(0)
                .setBufferId(OFBufferId.NO_BUFFER).setOutPort(OFPort.ANY)
                .setOutGroup(OFGroup.ANY)
                .setInstructions(List.of(
                        factory.instructions().applyActions(List.of(ask)))).build());
        send(factory.barrierRequest());
    }

    // Entries that end, one deleted, one that is left, and a probe out of a port.
    void changes(int round) {
        Match match = factory.buildMatch()
                .setExact(MatchField.ETH_TYPE, EthType.IPv4)
                .setExact(MatchField.IP_PROTO, IpProtocol.TCP)
                .setExact(MatchField.TCP_DST, TransportPort.of(round % 100)).build();
        OFAction output = factory.actions().buildOutput().setPort(OFPort.of(1 + round % 2))
                .setMaxLen(0xffff).build();
        send(factory.buildFlowAdd().setMatch(match).setPriority(100).setCookie(U64.of(round))
                .setHardTimeout(round % 3).setIdleTimeout(round % 2)
                .setFlags(Set.of(OFFlowModFlags.SEND_FLOW_REM))
                .setBufferId(OFBufferId.NO_BUFFER).setOutPort(OFPort.ANY)
                .setOutGroup(OFGroup.ANY)
                .setInstructions(List.of(
                        factory.instructions().applyActions(List.of(output)))).build());
        if (round % 4 == 0) {
            send(factory.buildFlowDelete().setMatch(match).setTableId(TableId.ALL)
                    .setOutPort(OFPort.ANY).setOutGroup(OFGroup.ANY).build());
        }
        byte[] probe = new byte[60];
        System.arraycopy(MacAddress.of("01:80:c2:00:00:0e").getBytes(), 0, probe, 0, 6);
        probe[12] = (byte) 0x88;
        probe[13] = (byte) 0xcc;
        send(factory.buildPacketOut().setBufferId(OFBufferId.NO_BUFFER)
                .setInPort(OFPort.CONTROLLER).setActions(List.of(output)).setData(probe)
                .build());
    }

    // The statistics that Floodlight collects.
    void asks() {
        send(factory.buildEchoRequest().setData(new byte[] {1, 2, 3}).build());
        send(factory.buildFlowStatsRequest().setTableId(TableId.ALL).setOutPort(OFPort.ANY)
                .setOutGroup(OFGroup.ANY).setMatch(factory.buildMatch().build()).build());
        send(factory.buildAggregateStatsRequest().setTableId(TableId.ALL)
                .setOutPort(OFPort.ANY).setOutGroup(OFGroup.ANY)
                .setMatch(factory.buildMatch().build()).build());
        send(factory.buildPortStatsRequest().setPortNo(OFPort.ANY).build());
        send(factory.buildQueueStatsRequest().setPortNo(OFPort.ANY).setQueueId(-1).build());
        send(factory.buildTableStatsRequest().build());
        send(factory.buildGroupStatsRequest().setGroup(OFGroup.ALL).build());
        send(factory.buildGroupDescStatsRequest().build());
        send(factory.buildGroupFeaturesStatsRequest().build());
        send(factory.buildMeterStatsRequest().setMeterId(0xffffffffL).build());
        send(factory.buildMeterConfigStatsRequest().setMeterId(0xffffffffL).build());
        send(factory.buildMeterFeaturesStatsRequest().build());
        send(factory.buildTableFeaturesStatsRequest().build());
        send(factory.buildPortDescStatsRequest().build());
        send(factory.buildDescStatsRequest().build());
        send(factory.barrierRequest());
    }
}
