//! Starts a switch: opens ports and listeners, runs the control loop, ends cleanly.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use bofuss_agent::{Identity, Switch};
use bofuss_channel::{Endpoint, Hub, Listener, PassiveAddress, Settings, Target};
use bofuss_datapath::{Datapath, Time};
use bofuss_frame::Pool;
use bofuss_oflib::message::multipart::Desc;
use bofuss_ports::{AfPacketOptions, LinkMonitor};
use rustix::event::{EventfdFlags, eventfd};
use tokio::sync::{mpsc, oneshot};
use tracing::info;

use crate::config::Config;
use crate::dataplane::{POOL_BYTES, Parts, Plane};
use crate::port::{self, OpenPort};
use crate::rundir;

/// Events that wait for the data-plane thread at most.
const EVENT_QUEUE: usize = 256;
/// Permission bits of the socket in the run-time directory: any user of the machine that reaches
/// it.
const SOCKET_MODE: u32 = 0o666;

/// What runs before the ports are opened in the data-plane thread, say to enter a network
/// namespace.
pub type Enter = Box<dyn FnOnce() -> Result<(), String> + Send>;

/// A running switch.
pub struct Running {
    /// Its socket in the run-time directory.
    pub socket: PathBuf,
    done: oneshot::Receiver<Result<(), String>>,
    _targets: Vec<Target>,
    _listeners: Vec<Listener>,
}

impl Running {
    /// Waits until the data-plane thread ends, which is an error, or `stop` is done, which is not.
    pub async fn until(self, stop: impl Future<Output = ()>) -> Result<(), String> {
        let Self { done, .. } = self;
        tokio::select! {
            ended = done => ended.unwrap_or_else(|_| Err("the data-plane thread died".into())),
            () = stop => Ok(()),
        }
    }
}

/// Starts the switch of `config`. Errors: a sentence for the user.
pub async fn start(config: Config, enter: Option<Enter>) -> Result<Running, String> {
    let socket = rundir::socket(&config.name).map_err(|e| format!("run-time directory: {e}"))?;
    let (up, started) = oneshot::channel();
    let (end, done) = oneshot::channel();
    let (to_plane, events) = mpsc::channel(EVENT_QUEUE);
    let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
        .map_err(|e| format!("event descriptor: {e}"))?;
    let wake = Arc::new(wake);
    let plane_wake = Arc::clone(&wake);
    let plane_config = config.clone();
    thread::Builder::new()
        .name("data-plane".into())
        .spawn(move || {
            let plane = build(&plane_config, enter, events, plane_wake);
            let (plane, id) = match plane {
                Ok(plane) => plane,
                Err(error) => return drop(up.send(Err(error))),
            };
            if up.send(Ok(id)).is_ok() {
                let _ = end.send(plane.run().map_err(|e| format!("data plane: {e}")));
            }
        })
        .map_err(|e| format!("data-plane thread: {e}"))?;
    let datapath_id = started
        .await
        .map_err(|_| "the data-plane thread died".to_string())??;
    let mut settings = Settings::new(Arc::new(bofuss_ext::catalogue()));
    settings.probe_interval = config.probe_interval;
    settings.max_backoff = config.max_backoff;
    settings.tls = config.tls;
    let hub = Hub::new(settings, forward(to_plane, wake));
    let mut listeners = Vec::new();
    let own = PassiveAddress(Endpoint::Unix(socket.clone()));
    for (address, mode) in config
        .listen
        .iter()
        .map(|a| (a, None))
        .chain([(&own, Some(SOCKET_MODE))])
    {
        let listener = hub.listen(address, mode).await;
        listeners.push(listener.map_err(|error| format!("--listen {error}"))?);
    }
    let targets = config
        .controllers
        .into_iter()
        .map(|address| hub.connect(address))
        .collect();
    info!(
        "switch {}: datapath id {datapath_id:#018x}, {} ports, {:?}",
        config.name,
        config.ports.len(),
        config.fail_mode
    );
    for listener in &listeners {
        info!(
            "waiting for controllers and tools on {}",
            listener.address()
        );
    }
    Ok(Running {
        socket,
        done,
        _targets: targets,
        _listeners: listeners,
    })
}

/// A queue that wakes the data-plane thread with each event.
fn forward<T: Send + 'static>(to: mpsc::Sender<T>, wake: Arc<OwnedFd>) -> mpsc::Sender<T> {
    let (inlet, mut outlet) = mpsc::channel(1);
    tokio::spawn(async move {
        while let Some(event) = outlet.recv().await {
            if to.send(event).await.is_err() {
                return;
            }
            let _ = rustix::io::write(&wake, &1u64.to_ne_bytes());
        }
    });
    inlet
}

/// Opens the ports and makes the switch; runs in the data-plane thread.
fn build(
    config: &Config,
    enter: Option<Enter>,
    events: mpsc::Receiver<bofuss_channel::Event>,
    wake: Arc<OwnedFd>,
) -> Result<(Plane, u64), String> {
    enter.map_or(Ok(()), |enter| enter())?;
    let monitor = LinkMonitor::open().map_err(|e| format!("watching links: {e}"))?;
    let options = AfPacketOptions {
        take_over: config.take_over,
        pad_runts: config.pad_runts,
        ..AfPacketOptions::default()
    };
    let mut ports: Vec<OpenPort> = Vec::new();
    for spec in &config.ports {
        let open =
            port::open(spec, options).map_err(|error| format!("port {}: {error}", spec.kind));
        ports.push(open?);
    }
    let first = ports.iter().find_map(OpenPort::mac);
    let from_mac = first.map(|mac| mac.iter().fold(0, |id, &byte| id << 8 | u64::from(byte)));
    let datapath_id = config.datapath_id.or(from_mac).unwrap_or(1);
    let pool = Pool::new(POOL_BYTES);
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let mut datapath = Datapath::new(config.tables.clone(), catalogue, pool.clone());
    if let Some(profile) = &config.profile {
        let tables = profile.tables(&datapath.table_features());
        let done = datapath.set_profile(&tables);
        done.map_err(|error| format!("--profile: {error}"))?;
    }
    bofuss_ext::hooks(datapath.catalogue())
        .into_iter()
        .for_each(|hook| datapath.add_hook(hook));
    let identity = Identity {
        datapath_id,
        desc: description(config),
    };
    let switch = Switch::new(Time(0), datapath, identity, config.fail_mode);
    let specs = config
        .ports
        .iter()
        .map(|spec| (spec.clone(), options))
        .collect();
    let parts = Parts {
        switch,
        pool,
        ports,
        specs,
        events,
        wake,
        monitor,
    };
    let mut plane = Plane::new(parts).map_err(|e| format!("data plane: {e}"))?;
    config
        .queues
        .iter()
        .try_for_each(|queue| plane.add_queue(queue))?;
    Ok((plane, datapath_id))
}

fn description(config: &Config) -> Desc {
    Desc {
        mfr_desc: "bofuss".into(),
        hw_desc: "user space".into(),
        sw_desc: env!("CARGO_PKG_VERSION").into(),
        serial_num: "none".into(),
        dp_desc: config.name.as_str().into(),
    }
}
