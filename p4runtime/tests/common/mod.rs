//! A server whose switch has no ports, and a controller for it.
#![allow(dead_code, reason = "each test program uses some of it")]

mod controller;

use std::thread;
use std::time::Instant;

use bofuss_p4::{Digest, Program, Sent, Sink, Switch};
use bofuss_p4runtime::{Job, Pipeline, Reports, Server, Settings};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

pub use controller::*;

pub const CPU_PORT: u32 = 510;

/// The pipeline of the program `controlled`.
pub fn pipeline() -> Pipeline {
    let text = String::from_utf8(file("p4info.txt")).expect("it is text");
    Pipeline::new(&text, file("json")).expect("p4c wrote both")
}

struct Outlet {
    reports: Reports,
    sent: std::sync::mpsc::Sender<Sent>,
}

impl Sink for Outlet {
    fn transmit(&mut self, sent: Sent) {
        if sent.port == CPU_PORT {
            self.reports.packet(sent.frame);
        } else {
            // A test that looks for nothing has gone.
            let _ = self.sent.send(sent);
        }
    }

    fn digest(&mut self, digest: Digest) {
        self.reports.digest(digest);
    }
}

/// A server that runs, and its switch.
pub struct Running {
    pub address: String,
    pub jobs: mpsc::Sender<Job>,
    pub reports: Reports,
    pub sent: std::sync::mpsc::Receiver<Sent>,
    pub end: Option<oneshot::Sender<()>>,
    pub served: tokio::task::JoinHandle<()>,
}

/// Starts a server with the pipeline `controlled`, or with none.
pub async fn start(has_pipeline: bool) -> Running {
    let program = if has_pipeline {
        Program::load(&file("json")).expect("p4c wrote it")
    } else {
        Program::default()
    };
    let (jobs, mut waiting) = mpsc::channel::<Job>(16);
    let settings = Settings {
        device_id: 1,
        cpu_port: Some(CPU_PORT),
        tls: None,
    };
    let (server, reports) = Server::new(settings, jobs.clone(), has_pipeline.then(pipeline));
    let (transmit, sent) = std::sync::mpsc::channel();
    let mut outlet = Outlet {
        reports: reports.clone(),
        sent: transmit,
    };
    thread::spawn(move || {
        let started = Instant::now();
        let mut switch = Switch::new(program, 0);
        while let Some(job) = waiting.blocking_recv() {
            job.run(
                &mut switch,
                started.elapsed().as_micros() as u64,
                &mut outlet,
            );
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    let (end, ended) = oneshot::channel();
    let served = tokio::spawn(async move {
        let ended = async { drop(ended.await) };
        server.serve(listener, ended).await.expect("it serves");
    });
    Running {
        address,
        jobs,
        reports,
        sent,
        end: Some(end),
        served,
    }
}
