//! What a switch sends out: the program that runs it passes this on.

use bofuss_datapath::Step;
use bofuss_frame::Frame;
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Message, PortNo};

use crate::request::{ConnId, Refusal};

/// The outputs of a switch: frames, messages and changes of links. The program that runs the switch
/// implements it.
pub trait SwitchIo {
    /// True if [`SwitchIo::step`] wants the steps of a trace.
    const TRACES: bool = false;
    /// Sends a frame out of a port, at the latest by the next [`SwitchIo::flush`].
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame);
    /// Sends all frames that were transmitted before.
    fn flush(&mut self);
    /// Sends a message on a connection. No message is lost silently: a connection whose peer does
    /// not read is closed in the end, and the controller has to synchronise again.
    fn send(&mut self, conn: ConnId, xid: u32, message: Message);
    /// Returns true if a connection has room for messages. If false, packet-ins, notifications and
    /// triggered statistics are dropped; its next messages, long replies, and changes of ports and
    /// of controllers wait; the rest is sent all the same. The answer may change between two calls.
    fn has_room(&self, conn: ConnId) -> bool;
    /// Returns true if a connection has room for a packet-in from this ingress port; if so, the
    /// packet-in is counted as sent.
    fn takes_packet_in(&mut self, conn: ConnId, _in_port: PortNo) -> bool {
        self.has_room(conn)
    }
    /// Returns true if a port accepts frames now. If false, say by [`crate::Switch::ports`] when it
    /// has room again.
    fn port_takes_frames(&self, _port: PortNo) -> bool {
        true
    }
    /// Returns true if controllers may set links up and down and change what they advertise.
    fn may_change_links(&self) -> bool {
        true
    }
    /// Called when a message of a connection is refused, before the ERROR is sent.
    fn refused(&mut self, _conn: ConnId, _xid: u32, _message: &Message, _why: &Refusal) {}
    /// Returns true if packets may be held for controllers, who then get only a part of each.
    fn holds_packets(&self) -> bool {
        true
    }
    /// Sets a port's link administratively up or down.
    fn set_link(&mut self, port: PortNo, up: bool);
    /// Changes the features that a port's interface advertises.
    fn advertise(&mut self, _port: PortNo, _features: PortFeatures) {}
    /// Takes one step of a trace.
    fn step(&mut self, _: Step<'_>) {}
}
