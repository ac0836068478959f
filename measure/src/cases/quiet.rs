//! How busy a switch is, and the wait until it is quiet.

use std::time::Instant;

use bofuss_oflib::Message;
use bofuss_oflib::wire::Bytes;

use crate::cases::settle::{Activity, WINDOW, decided};
use crate::cases::workbench::Workbench;
use crate::statistics::median;
use crate::subject::controller::{ControlSession, Controlled};
use crate::testbed::forwarder::Forwarder;

/// Echoes of an observation.
const ECHOES: u32 = 5;

impl Workbench<'_> {
    /// Notes how busy the switch is before anything was asked of it.
    pub fn note_rest(&mut self) {
        self.settling.at_start = self.activity();
    }

    /// Waits until the switch is about as quiet as at the start. A switch that does not answer is
    /// not waited for: the next request says so.
    pub fn settle(&mut self) {
        let Some(at_start) = self.settling.at_start else {
            return;
        };
        let start = Instant::now();
        while !(self.over)() {
            let waited = start.elapsed();
            let Some(now) = self.activity() else {
                return;
            };
            if let Some(is_quiet) = decided(now, at_start, waited) {
                self.settling.keep(waited, is_quiet);
                return;
            }
            std::thread::sleep(WINDOW);
        }
    }

    /// How busy the switch is, if it speaks OpenFlow and answers: by its processor time if the
    /// meter started it, else by its echoes.
    fn activity(&mut self) -> Option<Activity> {
        let subject = self.subject;
        let controller = self.controller.as_mut()?;
        let forwarder = subject.forwarder.as_ref();
        let activity = match forwarder.filter(|forwarder| forwarder.process_id() != 0) {
            Some(forwarder) => Activity {
                processors: processors(forwarder),
                echo: 0.0,
            },
            None => Activity {
                processors: 0.0,
                echo: echo(controller).ok()?,
            },
        };
        // The switch's own echo requests are answered, too: the wait may be long.
        (!controller.is_closed()).then_some(activity)
    }
}

/// The processors that a program has for a while.
fn processors(forwarder: &Forwarder) -> f64 {
    let start = Instant::now();
    let before = forwarder.cpu_nanos();
    std::thread::sleep(WINDOW);
    (forwarder.cpu_nanos() - before) / start.elapsed().as_nanos() as f64
}

/// The median time of some echoes. Unit: seconds.
///
/// Errors: the switch does not answer.
fn echo(controller: &mut ControlSession) -> Controlled<f64> {
    let mut seconds = Vec::new();
    for number in 0..ECHOES {
        let data = Bytes(number.to_be_bytes()[..].into());
        let start = Instant::now();
        controller.request(&Message::EchoRequest(data))?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok(median(&seconds))
}
