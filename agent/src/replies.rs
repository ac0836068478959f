//! Long replies in progress: begun, continued in slices, ended.
//!
//! A connection has at most one, because its next message waits for the last part. The reply is
//! kept at the connection that asked, also if that is an auxiliary one, while most of its state is
//! at the channel's main connection.

use bofuss_datapath::Datapath;
use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::message::ErrorMsg;
use bofuss_oflib::message::multipart::{ExtBody, MultipartReply, ReplyBody};
use bofuss_oflib::{ErrorCode, Message};

use crate::deliver::SwitchSink;
use crate::dump::{Dump, What, list};
use crate::extensions::extension_multipart;
use crate::io::SwitchIo;
use crate::request::{ConnId, HandlerResult, Outcome};

/// Begins a long reply and sends its first part, so that a short one needs no further turn. The
/// connection must have none in progress.
///
/// Errors: those of the first part; then no reply is in progress.
pub(crate) fn start<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    dump: Dump,
) -> HandlerResult {
    let connection = sink.connections.by_id.get_mut(&conn);
    connection.expect("the request came from it").dump = Some(dump);
    continue_dump(datapath, sink, conn)?;
    Ok(Outcome::Begun)
}

/// Makes and sends the next slice of a connection's long reply, if it has one. A slice in which
/// nothing was found sends nothing, unless it is the last: that part ends the reply.
///
/// Errors: an extension's; they end the reply.
pub(crate) fn continue_dump<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
) -> Result<(), ErrorCode> {
    // It is taken out while a slice is made, which uses all connections, and put back unless the
    // slice was the last. So an error ends it.
    let connection = sink.connections.by_id.get_mut(&conn);
    let Some(mut dump) = connection.and_then(|connection| connection.dump.take()) else {
        return Ok(());
    };
    let (last, body) = match &mut dump.what {
        What::Entries(entries) => entries.slice(sink.now, &datapath.settled()),
        What::List(listed, ids) => list(sink.now, datapath.settled().datapath(), *listed, ids),
        #[cfg(feature = "monitors")]
        What::Monitored(cursor) => match sink.connections.by_id.get_mut(&conn) {
            Some(connection) => connection.monitoring.slice(datapath, cursor),
            None => (true, None),
        },
        What::Extension(request, from) => {
            let part = extension_multipart(datapath, sink, conn, request, *from)?;
            // After the last part nothing goes on from here.
            *from = part.next.unwrap_or(0);
            let body = part.value.map(ExtBody).map(ReplyBody::Experimenter);
            (part.next.is_none(), body)
        }
    };
    if let Some(body) = body {
        let reply = MultipartReply { more: !last, body };
        sink.io.send(conn, dump.xid, Message::MultipartReply(reply));
    }
    // A change that waits for reads measures from here whether the controller still reads.
    dump.continued = sink.now;
    let connection = sink.connections.by_id.get_mut(&conn);
    if let Some(connection) = connection.filter(|_| !last) {
        connection.dump = Some(dump);
    }
    Ok(())
}

/// As [`continue_dump`], in a turn after that of the request: an error is sent to the
/// connection.
pub(crate) fn continue_late_dump<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
) {
    let connection = sink.connections.by_id.get(&conn);
    let dump = connection.and_then(|conn| conn.dump.as_ref());
    let Some(xid) = dump.map(|dump| dump.xid) else {
        return;
    };
    if let Err(error) = continue_dump(datapath, sink, conn) {
        // The request is not kept for so long, so nothing of it is quoted.
        let error = ErrorMsg::quoting(error, &[]);
        sink.io.send(conn, xid, Message::Error(error));
    }
}
