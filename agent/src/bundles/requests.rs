//! Requests about bundles, and the commits that the switch goes on with.

use alloc::boxed::Box;

use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::error::{BadRequest, BundleFailed};
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::multipart::{BundleFeaturesRequest, ReplyBody};
use bofuss_oflib::message::{BundleControl, ErrorMsg};
use bofuss_oflib::{ErrorCode, Message};

use crate::bundles::{Bundles, Commit};
use crate::deliver::SwitchSink;
use crate::io::SwitchIo;
use crate::parts::Parts;
use crate::request::{ConnId, HandlerResult, Origin, Outcome, refuse_experimenters};

/// Handles BUNDLE_CONTROL and BUNDLE_ADD_MESSAGE. Of the latter this is only the check:
/// [`Bundles::add`] then adds the message.
///
/// Errors: BUNDLE_FAILED's; BAD_PROPERTY/BAD_EXPERIMENTER; BAD_REQUEST/BAD_TYPE for any other
/// message.
pub(crate) fn bundle_message<E: FrameEngine, I: SwitchIo>(
    parts: &mut Parts<'_, E, I>,
    from: Origin<'_>,
    message: &Message,
) -> HandlerResult {
    if let Message::BundleAdd(add) = message {
        parts.bundles.check_add(parts.sink.now, from, add)
    } else if let Message::BundleControl(control) = message {
        bundle_control(parts, from, control)
    } else {
        Err(BadRequest::BAD_TYPE)
    }
}

/// Handles BUNDLE_CONTROL. A commit whose time has not come, or that another change is before,
/// waits; a bundle whose commit cannot be scheduled is discarded.
///
/// Errors: BUNDLE_FAILED's; BAD_PROPERTY/BAD_EXPERIMENTER.
fn bundle_control<E: FrameEngine, I: SwitchIo>(
    parts: &mut Parts<'_, E, I>,
    from: Origin<'_>,
    control: &BundleControl,
) -> HandlerResult {
    let Parts {
        datapath,
        sink,
        bundles,
        change,
        ..
    } = parts;
    refuse_experimenters(&control.experimenters)?;
    if control.ty != BundleControlType::COMMIT_REQUEST {
        let reply = bundles.control(sink.now, from, control)?;
        return Ok(Outcome::Reply(Message::BundleControl(reply)));
    }
    let conn = from.conn;
    bundles.check_commit(conn, control)?;
    let bundle = bundles.take(conn, control.bundle_id)?;
    if !control.flags.has(BundleFlags::TIME) {
        let commit = Commit::begin(datapath, from, control, bundle);
        change.commit = Some(Box::new(commit));
        return Ok(Outcome::Begun);
    }
    let main = sink.connections.channel(conn).main;
    let tolerances = bundles.tolerances.get(&main).copied().unwrap_or_default();
    let scheduled = bundles.clock.schedule(sink.now, from, control, tolerances);
    match scheduled {
        Err(error) => {
            bundles.dispose(bundle);
            return Err(error);
        }
        Ok(due) if bundles.clock.is_due(sink.now, &due) && !change.goes_on(datapath) => {
            let commit = Commit::begin(datapath, from, control, bundle).at(due);
            change.commit = Some(Box::new(commit));
        }
        Ok(due) => bundles.put_back(conn, bundle, due),
    }
    Ok(Outcome::Begun)
}

/// Handles the multipart BUNDLE_FEATURES. The limits of scheduling are the channel's, also if an
/// auxiliary connection sets them.
///
/// Errors: BAD_PROPERTY/BAD_EXPERIMENTER.
pub(crate) fn bundle_features<I>(
    bundles: &mut Bundles,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    request: &BundleFeaturesRequest,
) -> Result<ReplyBody, ErrorCode> {
    let main = sink.connections.channel(conn).main;
    let tolerances = bundles.tolerances.entry(main).or_default();
    bundles.clock.bundle_features(sink.now, tolerances, request)
}

/// Begins the earliest scheduled commit whose preparation is due, unless another change is in
/// progress. If it has missed its time, it is discarded and its connection gets
/// BUNDLE_FAILED/SCHED_PAST.
pub(crate) fn begin_due_commit<E: FrameEngine, I: SwitchIo>(parts: &mut Parts<'_, E, I>) {
    let Some(clock_ns) = parts.bundles.clock.ns(parts.sink.now) else {
        return;
    };
    if parts.change.goes_on(parts.datapath) {
        return;
    }
    let Some((conn, due, bundle)) = parts.bundles.take_due(clock_ns) else {
        return;
    };
    let from = due.origin(conn);
    if due.is_missed(clock_ns) {
        let error = ErrorMsg::quoting(BundleFailed::SCHED_PAST, from.head);
        parts.sink.io.send(conn, from.xid, Message::Error(error));
        parts.bundles.dispose(bundle);
    } else {
        let commit = Commit::begin(parts.datapath, from, &due.control, bundle).at(due);
        parts.change.commit = Some(Box::new(commit));
    }
}

/// Does one slice of a commit. Returns true if that was the last.
pub(crate) fn go_on_with_commit<E: FrameEngine, I: SwitchIo>(
    parts: &mut Parts<'_, E, I>,
    mut commit: Box<Commit>,
) -> bool {
    let clock = &mut parts.bundles.clock;
    let is_last = commit.slice(parts.datapath, &mut parts.sink, clock);
    if is_last {
        commit.end(parts.sink.connections, parts.bundles);
    } else {
        parts.change.commit = Some(commit);
    }
    is_last
}
