//! P4Runtime: lets controllers set, write and read a P4 switch, by jobs for its data-plane thread.

use std::fs;
use std::path::Path;

use bofuss_p4runtime::{Job, Server, Settings, TlsFiles};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tracing::{info, warn};

use super::outlet::ToControllers;
use super::queue::P4Queue;
use crate::config::P4Program;
use crate::config::p4::RuntimeFiles;
use crate::error::{Result, context};

/// The most jobs of controllers that wait for the switch.
const MOST_JOBS: usize = 64;
/// The most controllers at once.
const MOST_CONNECTIONS: usize = 64;

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
        max_connections: MOST_CONNECTIONS,
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
    /// Serves from now on, until what it returns is dropped.
    pub fn begin(self, queue: P4Queue) -> oneshot::Sender<()> {
        let Self {
            server,
            mut jobs,
            listener,
        } = self;
        match listener.local_addr() {
            Ok(address) => info!("P4Runtime: {address}"),
            Err(error) => warn!("P4Runtime: {error}"),
        }
        let (end, ended) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let served = server.serve(listener, async { drop(ended.await) });
            if let Err(error) = served.await {
                warn!("P4Runtime: {error}");
            }
        });
        tokio::spawn(async move {
            while let Some(job) = jobs.recv().await {
                let done = queue.ask(move |plane| {
                    let now = plane.now();
                    job.run(&mut plane.switch, now, &mut plane.outlet);
                });
                if done.await.is_err() {
                    break;
                }
            }
        });
        end
    }
}
