//! The status for tools: which controllers are connected.

use std::fmt::Write;

use bofuss_agent::{ConnId, SwitchIo};
use bofuss_channel::{ActiveAddress, Origin};
use bofuss_ext::status;
use bofuss_oflib::Message;

use super::DataPlane;

impl DataPlane {
    /// Answers `message` if it is a request for the status, and returns whether it was.
    pub(super) fn answers_status(&mut self, conn: ConnId, xid: u32, message: &Message) -> bool {
        let Message::Experimenter(value) = message else {
            return false;
        };
        let Some(reply) = status::answer(value, || self.status()) else {
            return false;
        };
        self.io.send(conn, xid, Message::Experimenter(reply));
        true
    }

    /// Whether a connection to this controller is up.
    pub(super) fn is_up(&self, controller: &ActiveAddress) -> bool {
        let connections = &self.io.connections;
        let up =
            connections.select(|origin| matches!(origin, Origin::Active(to) if to == controller));
        !up.is_empty()
    }

    /// Lines of `key=value`. `remote.is-connected` is about all controllers: true if one is
    /// connected, or none is configured.
    fn status(&self) -> String {
        let uptime = self.lane.epoch.elapsed().as_secs();
        let pid = std::process::id();
        let mut text = format!("switch.uptime={uptime}\nswitch.pid={pid}\n");
        text += "local.is-connected=true\n";
        let controllers = &self.config.controllers;
        let any = controllers.is_empty() || controllers.iter().any(|one| self.is_up(one));
        let _ = writeln!(text, "remote.is-connected={any}");
        for (number, controller) in (1..).zip(controllers) {
            let up = self.is_up(controller);
            let _ = writeln!(text, "remote.{number}.name={controller}");
            let _ = writeln!(text, "remote.{number}.is-connected={up}");
        }
        text
    }
}
