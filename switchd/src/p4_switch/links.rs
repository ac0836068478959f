//! The links of ports, which the program, the disciplines and the record follow.

use bofuss_embed::record::RecordedInput;
use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::message::port::{PortDesc, PortState};

use super::plane::P4Plane;

impl P4Plane {
    /// Follows a port that is new.
    pub(super) fn begin_port(&mut self, desc: PortDesc, offloads: OffloadCapabilities) {
        self.follow_speed(&desc);
        self.switch.set_link(desc.port_no.0, has_link(&desc));
        self.note(RecordedInput::Port(Box::new(desc), offloads));
    }

    /// Follows a port that may have changed.
    pub(super) fn follow_port(&mut self, desc: PortDesc, offloads: OffloadCapabilities) {
        if self.switch.has_link(desc.port_no.0) == has_link(&desc) {
            return self.follow_speed(&desc);
        }
        self.begin_port(desc, offloads);
    }

    fn follow_speed(&mut self, desc: &PortDesc) {
        let now = self.time();
        let disciplines = &mut self.outlet.disciplines;
        disciplines.set_rate(now, desc.port_no, desc.curr_speed);
    }
}

/// Returns true if a port has a link.
fn has_link(desc: &PortDesc) -> bool {
    !desc.state.has(PortState::LINK_DOWN)
}
