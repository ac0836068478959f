//! The status for tools: which controllers are connected.

use std::fmt::Write;

use bofuss_agent::{ConnId, SwitchIo};
use bofuss_channel::ActiveAddress;
use bofuss_ext::status;
use bofuss_oflib::Message;

use super::live_switch::LiveSwitch;

/// Answers `message` if it is a request for the status, and returns whether it was; `controllers`
/// are those of the configuration.
pub(super) fn is_answered(
    live: &mut LiveSwitch,
    controllers: &[ActiveAddress],
    (conn, xid): (ConnId, u32),
    message: &Message,
) -> bool {
    let Message::Experimenter(value) = message else {
        return false;
    };
    let Some(reply) = status::answer(value, || status(live, controllers)) else {
        return false;
    };
    live.io_mut().send(conn, xid, Message::Experimenter(reply));
    true
}

/// Lines of `key=value`. `remote.is-connected` is about all controllers: true if one is connected,
/// or none is configured.
fn status(live: &LiveSwitch, controllers: &[ActiveAddress]) -> String {
    let uptime = live.clock().uptime().as_secs();
    let pid = std::process::id();
    let mut text = format!("switch.uptime={uptime}\nswitch.pid={pid}\n");
    text += "local.is-connected=true\n";
    let is_up = |controller| live.io().connections.have(controller);
    let any = controllers.is_empty() || controllers.iter().any(is_up);
    let _ = writeln!(text, "remote.is-connected={any}");
    for (number, controller) in (1..).zip(controllers) {
        let up = is_up(controller);
        let _ = writeln!(text, "remote.{number}.name={controller}");
        let _ = writeln!(text, "remote.{number}.is-connected={up}");
    }
    text
}
