//! A running switch: its threads, its listeners, and how it takes over another configuration.

mod attach;
mod build;
mod sockets;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bofuss_channel::{ActiveAddress, Hub, Listener, PassiveAddress, Settings, Target, Watch};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::{error_span, info, warn};

use crate::capture::MessageCaptures;
use crate::config::Config;
use crate::control;
use crate::dataplane::{Answer, Input, Operation, OperatorCommand, Scrape};
use crate::error::{Error, Result, context};
use crate::rights::Lock;
use crate::snoop::SnoopClients;

pub use build::{datapath_id, make_switch, remake_switch};

use attach::Attached;
use build::build;
use sockets::RunSockets;

/// Limit of the queue of events to the data-plane thread. While it is full, the control thread
/// waits.
const EVENT_QUEUE: usize = 256;
/// Limit of the queue of commands and scrapes to it.
const INPUT_QUEUE: usize = 16;
/// The time that a starting switch waits for another one that is ending to release its name,
/// interfaces and addresses. That usually takes 70 ms.
const PREDECESSOR_TIMEOUT: Duration = Duration::from_secs(2);
/// The time that the ports of a closing switch may take to close.
const PORT_CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs in the data-plane thread before the ports are opened, for example to enter a network
/// namespace.
pub type Enter = Box<dyn FnOnce() -> Result<()> + Send>;

/// The state that the switches of one process share.
pub struct Shared {
    /// The queue for operators' commands to any of them.
    pub requests: mpsc::Sender<control::CommandRequest>,
    /// The run-time directory of their sockets.
    pub folder: PathBuf,
    /// The rights that the process still has once it is locked down, with `--lock-down`.
    pub lock: Option<Arc<Lock>>,
    /// True if there are several switches; log lines then name theirs.
    pub are_several: bool,
}

/// The queue to the data-plane thread.
#[derive(Clone)]
pub struct DataPlaneQueue(mpsc::Sender<Input>);

impl DataPlaneQueue {
    /// Sends an operation to the thread and waits for the answer.
    pub async fn ask(&self, what: Operation) -> Answer {
        answer_of(self.begin(what).await).await
    }

    /// Sends an operation to the thread, and does not wait for the answer.
    async fn begin(&self, what: Operation) -> oneshot::Receiver<Answer> {
        let (reply, answered) = oneshot::channel();
        // If the thread has ended, the answer channel is closed.
        let _ = self
            .0
            .send(Input::Command(OperatorCommand {
                operation: what,
                reply,
            }))
            .await;
        answered
    }

    /// Adds the switch's metrics to `scrape`, slice by slice; `None` if the switch is ending.
    pub async fn scrape(&self, mut scrape: Box<Scrape>) -> Option<Box<Scrape>> {
        while !scrape.is_done() {
            let (reply, answered) = oneshot::channel();
            let _ = self.0.send(Input::Scrape(scrape, reply)).await;
            scrape = answered.await.ok()?;
        }
        Some(scrape)
    }
}

/// The answer of the data-plane thread, or an error if it is ending.
async fn answer_of(
    answer: impl Future<Output = Result<Answer, oneshot::error::RecvError>>,
) -> Answer {
    let answer = answer.await;
    answer.unwrap_or_else(|_| Err("the switch is ending".into()))
}

/// A running switch.
pub struct Running {
    /// Its name.
    pub name: String,
    /// The result of the data-plane thread, once it ends.
    pub done: oneshot::Receiver<Result<()>>,
    /// The queue to it.
    pub queue: DataPlaneQueue,
    hub: Hub,
    /// The configuration, without the controllers that `ofprotocol` attached.
    config: Config,
    attached: Option<Attached>,
    targets: Vec<(ActiveAddress, Target)>,
    listeners: Vec<(PassiveAddress, Listener)>,
    messages: MessageCaptures,
    snoop_clients: SnoopClients,
    sockets: RunSockets,
}

/// A switch that is closing: its sockets are closed, but its ports may still be open.
pub struct ClosingSwitch {
    name: String,
    queue: DataPlaneQueue,
    done: oneshot::Receiver<Result<()>>,
}

impl ClosingSwitch {
    /// Stops the data-plane thread, and waits until the ports are closed and the settings of their
    /// interfaces restored, at most [`PORT_CLOSE_TIMEOUT`].
    pub async fn wait(self) {
        let end = async {
            // A thread that has ended takes no input.
            let _ = self.queue.0.send(Input::End).await;
            let _ = self.done.await;
        };
        if timeout(PORT_CLOSE_TIMEOUT, end).await.is_err() {
            warn!(
                "switch {}: its ports are not closed after {PORT_CLOSE_TIMEOUT:?}",
                self.name
            );
        }
    }
}

/// A change of configuration that is prepared but not made, so that all switches of a process
/// change together. If this is dropped, nothing changes.
pub struct PendingReconfiguration {
    /// The name of the switch.
    pub name: String,
    config: Config,
    listeners: Vec<(PassiveAddress, Listener)>,
    new_files: NewMessageFiles,
    ready: oneshot::Receiver<()>,
    go: oneshot::Sender<()>,
    answer: oneshot::Receiver<Answer>,
}

/// Captures of messages that are new in a configuration. They end when this is dropped, unless the
/// list of files is emptied first.
struct NewMessageFiles {
    captures: MessageCaptures,
    files: Vec<String>,
}

impl Drop for NewMessageFiles {
    fn drop(&mut self) {
        for file in &self.files {
            self.captures.end(file);
        }
    }
}

impl PendingReconfiguration {
    /// Waits until the data-plane thread has prepared its part. From then on no packets are
    /// forwarded until the change is complete or dropped.
    ///
    /// Errors: why the data-plane thread refuses.
    pub async fn ready(&mut self) -> Result<()> {
        match (&mut self.ready).await {
            Ok(()) => Ok(()),
            Err(_) => answer_of(&mut self.answer).await.map(drop),
        }
    }
}

impl Running {
    /// Opens the configured listeners and connects to the configured controllers. Errors: a
    /// sentence for the user.
    async fn begin_connections(&mut self) -> Result<()> {
        let end = Instant::now() + PREDECESSOR_TIMEOUT;
        for address in &self.config.listen {
            let listener = sockets::listen_until(&self.hub, address, end)
                .await
                .map_err(|error| Error::from(error).map(|text| format!("--listen {text}")))?;
            self.listeners.push((address.clone(), listener));
        }
        for address in &self.config.controllers {
            let target = self.hub.connect(address.clone());
            self.targets.push((address.clone(), target));
        }
        Ok(())
    }

    /// Logs that the switch runs, and where it listens.
    fn log_start(&self, datapath_id: u64) {
        let name = &self.name;
        let ports = self.config.ports.len();
        let mode = self.config.fail_mode;
        info!("switch {name}: datapath id {datapath_id:#018x}, {ports} ports, fail mode {mode}");
        let listeners = self.listeners.iter().map(|(_, listener)| listener);
        for listener in listeners.chain([&self.sockets.openflow]) {
            let address = listener.address();
            info!("waiting for controllers and tools on {address}");
        }
    }

    /// The path of its OpenFlow socket in the run-time directory.
    pub fn socket(&self) -> &Path {
        &self.sockets.socket
    }

    /// Returns true if the configuration gives its name. Otherwise it has the first default name
    /// that was free.
    pub fn is_named(&self) -> bool {
        self.config.is_named
    }

    /// Closes its sockets and its connections.
    pub fn close(self) -> ClosingSwitch {
        // The other fields are dropped at the end of this function.
        let Self {
            name, queue, done, ..
        } = self;
        ClosingSwitch { name, queue, done }
    }

    /// Starts the captures of messages. To be called after rights are given up, because the threads
    /// that write the files inherit those of this one.
    ///
    /// Errors: a file that cannot be made.
    pub fn begin_messages(&self) -> Result<()> {
        let mut files = self.config.message_files.iter();
        files.try_for_each(|file| self.messages.begin(file, None, &self.name))
    }

    /// Carries out a command of an operator. Errors: a sentence for the operator.
    pub async fn obey(&mut self, name: &str, argument: String, file: Option<File>) -> Answer {
        match name {
            "ports" => self.queue.ask(Operation::Ports).await,
            "add-port" => self.queue.ask(Operation::AddPort(argument)).await,
            "del-port" => self.queue.ask(Operation::DelPort(argument)).await,
            "controllers" => self.queue.ask(Operation::Connections).await,
            "counters" => self.queue.ask(Operation::Counters).await,
            "queues" => self.queue.ask(Operation::Queues).await,
            "capture" => self.capture(argument, file).await,
            "mirror" => self.queue.ask(Operation::Mirror(argument)).await,
            "captures" => {
                let ports = self.queue.ask(Operation::Captures).await?;
                Ok(format!("{}{}{ports}", self.messages, self.snoop_clients))
            }
            "end-capture" => {
                // The same file may hold messages and frames.
                let ended = self.messages.end(&argument);
                match self.queue.ask(Operation::EndCapture(argument)).await {
                    Err(_) if ended => Ok(String::new()),
                    answer => answer,
                }
            }
            "trace" => self.queue.ask(Operation::Trace(argument)).await,
            "accelerator" => self.queue.ask(Operation::Accelerator).await,
            "memory" => self.queue.ask(Operation::Memory).await,
            "attach" => self.attach(&argument).await,
            "detach" => self.detach().await,
            other => Err(format!("there is no command '{other}' ('list' shows them)").into()),
        }
    }

    /// Starts a capture. The operator passes the open file: the switch opens no path that a peer
    /// names.
    async fn capture(&self, argument: String, file: Option<File>) -> Answer {
        let (Some((port, name)), Some(file)) = (argument.split_once(' '), file) else {
            return Err("PORT and FILE are required, and FILE open, as from bofuss ctl".into());
        };
        if port != "openflow" {
            return self.queue.ask(Operation::Capture(argument, file)).await;
        }
        self.messages.begin(name, Some(file), &self.name)?;
        Ok(String::new())
    }

    /// Prepares a new configuration: does everything that can fail, and lets the data-plane thread
    /// prepare its part.
    ///
    /// Errors: a sentence that begins with the key; nothing is changed then.
    pub async fn begin(&self, config: Config) -> Result<PendingReconfiguration> {
        let mut listeners = Vec::new();
        for address in &config.listen {
            if !self.listeners.iter().any(|(old, _)| old == address) {
                listeners.push(listen(&self.hub, address).await?);
            }
        }
        let mut whole = config.clone();
        if let Some(attached) = &self.attached {
            whole.controllers.extend(attached.controllers.clone());
            whole.fail_mode = attached.fail_mode;
            whole.has_fail_mode = attached.has_fail_mode;
        }
        let mut new_files = NewMessageFiles {
            captures: self.messages.clone(),
            files: Vec::new(),
        };
        let files = config.message_files.iter();
        for file in files.filter(|file| !self.config.message_files.contains(file)) {
            let begun = self.messages.begin(file, None, &self.name);
            begun.map_err(context(format_args!("--capture openflow {file}")))?;
            new_files.files.push(file.clone());
        }
        let (can, ready) = oneshot::channel();
        let (go, may) = oneshot::channel();
        let operation = Operation::Reconfigure(Box::new(whole), can, may);
        Ok(PendingReconfiguration {
            name: self.name.clone(),
            config,
            listeners,
            new_files,
            ready,
            go,
            answer: self.queue.begin(operation).await,
        })
    }

    /// Completes a change that is ready. Errors: the system's; the rest of the change is done
    /// nevertheless.
    pub async fn complete(&mut self, change: PendingReconfiguration) -> Result<()> {
        let PendingReconfiguration {
            config,
            mut listeners,
            mut new_files,
            go,
            answer,
            ..
        } = change;
        new_files.files.clear();
        let _ = go.send(());
        let done = answer_of(answer).await;
        let old = self.config.message_files.iter();
        for gone in old.filter(|file| !config.message_files.contains(file)) {
            self.messages.end(gone);
        }
        self.hub
            .set(settings(&config, &self.messages, &self.snoop_clients));
        self.listeners
            .retain(|(old, _)| config.listen.contains(old));
        self.listeners.append(&mut listeners);
        let controllers = &config.controllers;
        self.targets.retain(|(old, _)| controllers.contains(old));
        for address in controllers {
            if !self.targets.iter().any(|(old, _)| old == address) {
                let target = self.hub.connect(address.clone());
                self.targets.push((address.clone(), target));
            }
        }
        self.config = config;
        done.map(drop)
    }
}

/// Starts the switch of `config`. Errors: a sentence for the user.
pub async fn start(mut config: Config, shared: &Shared, enter: Option<Enter>) -> Result<Running> {
    let (events, received) = mpsc::channel(EVENT_QUEUE);
    let messages = MessageCaptures::default();
    let snoop_clients = SnoopClients::default();
    let hub = Hub::new(settings(&config, &messages, &snoop_clients), events);
    let sockets = sockets::open(&mut config, &hub, shared, &snoop_clients).await?;
    let name = config.name.clone();
    let (up, started) = oneshot::channel();
    let (end, done) = oneshot::channel();
    let (inputs, asked) = mpsc::channel(INPUT_QUEUE);
    let plane_config = config.clone();
    let lock = shared.lock.clone();
    // At a lower level than error, a filter for errors would remove the name from their lines.
    let several = shared.are_several.then(|| error_span!("switch", name));
    thread::Builder::new()
        .name("data-plane".into())
        .spawn(move || {
            let _span = several.map(|span| span.entered());
            let (plane, id) = match build(plane_config, lock.as_deref(), enter, received, asked) {
                Ok(plane) => plane,
                Err(error) => return drop(up.send(Err(error))),
            };
            // After the rights are given up: the thread that it starts gets what is left.
            #[cfg(feature = "allocator")]
            bofuss_ports::return_memory_in_background();
            if up.send(Ok(id)).is_ok() {
                let _ = end.send(plane.run().map_err(context("data plane")));
            }
        })
        .map_err(context("data-plane thread"))?;
    let datapath_id = started
        .await
        .map_err(|_| "the data-plane thread died".to_string())??;
    let mut running = Running {
        name,
        done,
        queue: DataPlaneQueue(inputs),
        hub,
        config,
        attached: None,
        targets: Vec::new(),
        listeners: Vec::new(),
        messages,
        snoop_clients,
        sockets,
    };
    match running.begin_connections().await {
        Ok(()) => running.log_start(datapath_id),
        Err(error) => {
            running.close().wait().await;
            return Err(error);
        }
    }
    Ok(running)
}

/// The settings that the connections of `config` share.
fn settings(config: &Config, messages: &MessageCaptures, snoop_clients: &SnoopClients) -> Settings {
    let mut settings = Settings::new(Arc::clone(&config.catalogue));
    settings.versions.clone_from(&config.versions);
    settings.probe_interval = config.probe_interval;
    settings.max_backoff = config.max_backoff;
    settings.message_rate = config.message_rate;
    settings.packet_in_rate = config.packet_in_rate;
    settings.tls.clone_from(&config.tls);
    settings.auxiliaries.clone_from(&config.auxiliaries);
    settings.is_switch = true;
    let messages = messages.clone();
    let snoop_clients = snoop_clients.clone();
    settings.watch = Some(Watch(Arc::new(move |origin, ends, received, bytes| {
        messages.see(ends, received, bytes);
        snoop_clients.see(origin, bytes);
    })));
    settings
}

/// Listens at an address. Errors: why it cannot.
async fn listen(hub: &Hub, address: &PassiveAddress) -> Result<(PassiveAddress, Listener)> {
    let listener = hub
        .listen(address)
        .await
        .map_err(|error| Error::from(error).map(|text| format!("--listen {text}")))?;
    Ok((address.clone(), listener))
}
