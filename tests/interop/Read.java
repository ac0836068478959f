// Reads OpenFlow messages with openflowj: prints `ok` for each, or why it cannot be read.

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.file.Files;
import java.nio.file.Path;
import org.projectfloodlight.openflow.protocol.OFFactories;

class Read {
    public static void main(String[] arguments) throws Exception {
        ByteBuf all = Unpooled.wrappedBuffer(Files.readAllBytes(Path.of(arguments[0])));
        while (all.isReadable()) {
            ByteBuf message = all.readSlice(all.getUnsignedShort(all.readerIndex() + 2));
            System.out.println(verdict(message));
        }
    }

    static String verdict(ByteBuf message) {
        try {
            if (OFFactories.getGenericReader().readFrom(message) == null) {
                return "nothing is read";
            }
            int unread = message.readableBytes();
            return unread == 0 ? "ok" : unread + " bytes are not read";
        } catch (Exception | StackOverflowError error) {
            StackTraceElement at = error.getStackTrace()[0];
            return (error + " at " + at).replace('\n', ' ');
        }
    }
}
