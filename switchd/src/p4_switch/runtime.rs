//! P4Runtime: lets controllers set, write and read a P4 switch, by jobs for its data-plane thread.

use std::path::Path;
use std::{fs, thread};

use bofuss_p4runtime::{Job, Server, Settings, TlsFiles};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tracing::{info, warn};

use super::outlet::ToControllers;
use super::queue::P4Queue;
use crate::config::P4Program;
use crate::config::p4::RuntimeFiles;
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

/// Opens a server for the program, if controllers may reach it. Errors: a sentence.
pub async fn open(program: &P4Program) -> Result<Option<(RuntimeServer, ToControllers)>> {
    let Some(options) = &program.runtime else {
        return Ok(None);
    };
    let failed = context(format!("--p4runtime {}", options.address));
    let listener = TcpListener::bind(options.address).await.map_err(failed)?;
    let settings = Settings {
        device_id: options.device_id,
        cpu_port: options.cpu_port,
        tls: options.tls.as_ref().map(read).transpose()?,
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

/// Reads the files of TLS, which the configuration has checked. Errors: the system's.
fn read(files: &RuntimeFiles) -> Result<TlsFiles> {
    let bytes = |key: &str, file: &Path| {
        let name = format!("{key} {}", file.display());
        fs::read(file).map_err(context(name))
    };
    Ok(TlsFiles {
        certificate: bytes("--certificate", &files.certificate)?,
        key: bytes("--private-key", &files.private_key)?,
        authorities: Some(bytes("--ca-cert", &files.ca_cert)?),
    })
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
