//! P4Runtime: lets controllers set, write and read a P4 switch, by jobs for its data-plane thread.

use std::thread;

use bofuss_channel::Tls;
use bofuss_p4runtime::{Job, Server, ServerTls, Settings};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tracing::{info, warn};

use super::outlet::ToControllers;
use super::queue::P4Queue;
use crate::config::P4Program;
use crate::dataplane::log_tls_files as report;
use crate::error::{Result, context};
use crate::runtime::with_runtime;

/// The most jobs of controllers that wait for the switch.
const MOST_JOBS: usize = 64;

/// A server that listens, and does not serve yet.
pub struct RuntimeServer {
    server: Server,
    jobs: mpsc::Receiver<Job>,
    listener: TcpListener,
}

/// Opens a server for the program, if controllers may reach it; with TLS, if that is given. Errors:
/// a sentence.
pub async fn open(
    program: &P4Program,
    tls: Option<Tls>,
) -> Result<Option<(RuntimeServer, ToControllers)>> {
    let Some(options) = &program.runtime else {
        return Ok(None);
    };
    let failed = context(format!("--p4runtime {}", options.address));
    let listener = TcpListener::bind(options.address).await.map_err(failed)?;
    let settings = Settings {
        device_id: options.device_id,
        cpu_port: options.cpu_port,
        tls: tls.map(|tls| ServerTls { tls, report }),
    };
    let (waits, jobs) = mpsc::channel(MOST_JOBS);
    let (server, reports) = Server::new(settings, waits, options.pipeline.clone());
    let server = RuntimeServer {
        server,
        jobs,
        listener,
    };
    let cpu_port = options.cpu_port;
    Ok(Some((server, ToControllers { cpu_port, reports })))
}

impl RuntimeServer {
    /// Serves from now on, until what it returns is dropped. It has a thread of its own with the
    /// rights of the caller's, so that what controllers send delays no command and no metrics.
    /// Errors: the system's.
    pub fn begin(self, queue: P4Queue) -> Result<oneshot::Sender<()>> {
        let (end, ended) = oneshot::channel();
        let failed = || context("P4Runtime");
        let address = self.listener.local_addr().map_err(failed())?;
        let listener = self.listener.into_std().map_err(failed())?;
        let (server, jobs) = (self.server, self.jobs);
        let work = async move {
            let listener = TcpListener::from_std(listener).map_err(failed())?;
            let end = async { drop(ended.await) };
            let passing = tokio::spawn(pass_on(jobs, queue));
            let served = server.serve(listener, end).await;
            passing.abort();
            served.map_err(|error| format!("P4Runtime: {error}").into())
        };
        thread::Builder::new()
            .name("p4runtime".into())
            .spawn(|| {
                if let Err(error) = with_runtime(work) {
                    warn!("{error}");
                }
            })
            .map_err(failed())?;
        info!("P4Runtime: {address}");
        Ok(end)
    }
}

/// Passes jobs on to the switch until it ends.
async fn pass_on(mut jobs: mpsc::Receiver<Job>, queue: P4Queue) {
    while let Some(job) = jobs.recv().await {
        let done = queue.ask(move |plane| plane.control(job));
        if done.await.is_err() {
            return;
        }
    }
}
