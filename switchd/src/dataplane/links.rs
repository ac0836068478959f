//! Link events from the kernel: interfaces that change, disappear and return.

use bofuss_ports::LinkEvent;
use tracing::{debug, info, warn};

use super::DataPlane;

impl DataPlane {
    /// Applies the kernel's link events to the ports.
    pub(super) fn follow_links(&mut self) -> std::io::Result<()> {
        for event in self.monitor.poll()? {
            match event {
                LinkEvent::New(link) | LinkEvent::Changed(link) => {
                    self.live.accelerator().follow_upper(&link, true);
                    self.follow_link(&link);
                }
                LinkEvent::Address {
                    index,
                    address,
                    is_there,
                } => {
                    let mut accelerator = self.live.accelerator();
                    accelerator.follow_address((index, address), is_there);
                }
                LinkEvent::Gone(link) => {
                    self.live.accelerator().follow_upper(&link, false);
                    if let Some(number) = self.live.io().ports.with_index(link.index) {
                        self.live.lose_port(number);
                    }
                }
            }
        }
        Ok(())
    }

    fn follow_link(&mut self, link: &bofuss_ports::Link) {
        if let Some((desc, capabilities)) = self.live.io_mut().ports.update_link(link) {
            self.live.workers().tell_of_link(link);
            let now = self.live.now();
            self.live.port_changed(now, desc, capabilities);
            return;
        }
        let Some(spec) = self
            .config
            .current
            .ports
            .iter()
            .find(|spec| spec.kind.interface() == Some(&link.name))
        else {
            return;
        };
        if self.live.io().ports.contains(spec.number) {
            return;
        }
        match self.live.io().open(spec) {
            Ok(port) => {
                info!("port {}: {} is back", spec.number, link.name);
                if let Err(error) = self.config.add_port(&mut self.live, port) {
                    warn!("{error}");
                }
            }
            Err(error) if self.live.io().is_locked => warn!("{} is back: {error}", link.name),
            Err(error) => debug!("{error}"),
        }
    }
}
