//! A P4Runtime server whose switch has no ports, for controllers to be tried with.
//!
//! `cargo run -p bofuss-p4runtime --example portless -- ADDRESS`: frames that a controller sends
//! come back as if each had arrived at the port that it left from.

use std::thread;
use std::time::Instant;

use bofuss_p4::{Digest, Program, Sent, Sink, Switch};
use bofuss_p4runtime::{Job, Reports, Server, Settings};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const CPU_PORT: u32 = 510;

/// Reports what is for the CPU port, and keeps what leaves elsewhere.
struct Outlet {
    reports: Reports,
    sent: Vec<Sent>,
}

impl Sink for Outlet {
    fn transmit(&mut self, sent: Sent) {
        if sent.port == CPU_PORT {
            self.reports.packet(sent.frame);
        } else {
            self.sent.push(sent);
        }
    }

    fn digest(&mut self, digest: Digest) {
        self.reports.digest(digest);
    }
}

/// The thread that owns the switch.
fn own(mut jobs: mpsc::Receiver<Job>, reports: Reports) {
    let started = Instant::now();
    let mut switch = Switch::new(Program::default(), 0);
    let sent = Vec::new();
    let mut outlet = Outlet { reports, sent };
    while let Some(job) = jobs.blocking_recv() {
        let now = started.elapsed().as_micros() as u64;
        job.run(&mut switch, now, &mut outlet);
        for Sent { port, frame, .. } in std::mem::take(&mut outlet.sent) {
            switch.receive(port, &frame, now, &mut outlet);
        }
        outlet.sent.clear();
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1);
    let address = address.ok_or("usage: portless ADDRESS")?;
    let (jobs, waiting) = mpsc::channel(64);
    let settings = Settings {
        device_id: 1,
        cpu_port: Some(CPU_PORT),
        tls: None,
    };
    let (server, reports) = Server::new(settings, jobs, None);
    let listener = TcpListener::bind(address).await?;
    println!("{}", listener.local_addr()?);
    let owner = thread::spawn(move || own(waiting, reports));
    server.serve(listener, std::future::pending()).await?;
    owner.join().map_err(|_| "the thread of the switch ended")?;
    Ok(())
}
