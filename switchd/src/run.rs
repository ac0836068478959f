//! A running switch: its threads, its listeners, and how it takes over another configuration.

mod attach;
mod build;
mod hand_over;
mod reconfigure;
mod sockets;
pub mod start;
mod take_over;

use std::fs::File;
use std::mem::take;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bofuss_channel::{
    ActiveAddress, Hub, Listener, PassiveAddress, Pursuit, Reading, Settings, Target, Watch,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::{info, warn};

use crate::capture::MessageCaptures;
use crate::config::{Config, OF_MESSAGES, STANDS_STILL, from_line};
use crate::control;
use crate::dataplane::{
    Answer, CollectSlice, Collection, Input, Operation, OperatorCommand, Page, SuccessorInput,
};
use crate::error::{Error, Result};
use crate::recent::RecentMessages;
use crate::rights::Lock;
use crate::snoop::SnoopClients;

pub use sockets::{PREDECESSOR_TIMEOUT, kept_names, open_control};

pub use reconfigure::PendingReconfiguration;

pub use build::{Enter, datapath_id, make_switch, remake_switch};

use attach::Attached;
use sockets::RunSockets;

/// Limit of the queue of events to the data-plane thread. While it is full, the control thread
/// waits.
const EVENT_QUEUE: usize = 256;
/// Limit of the queue of commands and collections to it.
const INPUT_QUEUE: usize = 16;
/// The time that the ports of a closing switch may take to close.
const PORT_CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The time that it may take besides to write its state.
const STATE_TIMEOUT: Duration = Duration::from_secs(30);

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

impl Shared {
    /// Opens the sockets of a switch. Errors: a sentence for the user.
    async fn open_sockets(
        &self,
        config: &mut Config,
        hub: &Hub,
        snoop_clients: &SnoopClients,
    ) -> Result<RunSockets> {
        sockets::open(config, hub, &self.folder, &self.requests, snoop_clients).await
    }
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

    /// Completes a collection, slice by slice; `None` if the switch is ending.
    pub async fn collect<C: Collection>(&self, mut collection: C) -> Option<C> {
        while !collection.is_done() {
            let (reply, answered) = oneshot::channel();
            let add_slice: CollectSlice = Box::new(move |switch| {
                collection.add_slice(switch);
                // The requester may be gone.
                let _ = reply.send(collection);
            });
            let _ = self.0.send(Input::Collect(add_slice)).await;
            collection = answered.await.ok()?;
        }
        Some(collection)
    }

    /// Lists a page; see [`Page`].
    pub async fn page(&self, command: &'static str, argument: &str) -> Answer {
        let page = Page::new(command, argument)?;
        let page = self.collect(page).await.ok_or("the switch is ending")?;
        page.answer()
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
    recent: RecentMessages,
    sockets: RunSockets,
}

/// A switch that is closing: its sockets are closed, but its ports may still be open.
pub struct ClosingSwitch {
    name: String,
    queue: DataPlaneQueue,
    done: oneshot::Receiver<Result<()>>,
    timeout: Duration,
}

impl ClosingSwitch {
    /// Stops the data-plane thread, and waits until the ports are closed and the settings of their
    /// interfaces restored, at most [`PORT_CLOSE_TIMEOUT`].
    pub async fn wait(self) {
        self.end_by(Input::End).await;
    }

    /// The same, and leaves the ports and the state to a successor.
    pub async fn leave(self, successor: UnixStream) {
        self.end_by(Input::Successor(SuccessorInput::Begins(successor)))
            .await;
    }

    async fn end_by(self, input: Input) {
        let end = async {
            // A thread that has ended takes no input.
            let _ = self.queue.0.send(input).await;
            let _ = self.done.await;
        };
        if timeout(self.timeout, end).await.is_err() {
            let Self { name, timeout, .. } = self;
            warn!("switch {name}: its ports are not closed after {timeout:?}");
        }
    }
}

impl Running {
    /// Opens the configured listeners that are not open yet, and connects to the configured
    /// controllers. Errors: a sentence for the user.
    async fn begin_connections(&mut self) -> Result<()> {
        let end = Instant::now() + PREDECESSOR_TIMEOUT;
        let mut open = take(&mut self.listeners);
        for address in &self.config.listen {
            if let Some(at) = open.iter().position(|known| known.0 == *address) {
                self.listeners.push(open.swap_remove(at));
                continue;
            }
            let listener = sockets::listen_until(&self.hub, address, end)
                .await
                .map_err(|error| Error::from(error).map(|text| format!("--listen {text}")))?;
            self.listeners.push((address.clone(), listener));
        }
        for (address, listener) in &self.listeners {
            sockets::keep(address, listener);
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
        let saves = self.config.state.folder.is_some();
        let state_timeout = if saves { STATE_TIMEOUT } else { Duration::ZERO };
        let Self {
            name, queue, done, ..
        } = self;
        ClosingSwitch {
            name,
            queue,
            done,
            timeout: PORT_CLOSE_TIMEOUT + state_timeout,
        }
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
            "ports" => self.queue.ask(Operation::Ports(argument)).await,
            "tables" => self.queue.ask(Operation::Tables(argument)).await,
            "controllers" => {
                let connected = self.queue.ask(Operation::Connections).await?;
                Ok(connected + &self.unconnected())
            }
            "macs" => self.queue.ask(Operation::Addresses(argument)).await,
            "flush-macs" => self.queue.ask(Operation::ForgetAddresses).await,
            "flush-paths" | "add-path" | "del-path" => {
                let change = Operation::ChangePaths(name.into(), argument);
                self.queue.ask(change).await
            }
            "counters" => self.queue.ask(Operation::Counters).await,
            "queues" => self.queue.ask(Operation::Queues(argument)).await,
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
            "messages" => self.recent.list(&argument, &self.config.catalogue),
            "trace" => self.queue.ask(Operation::Trace(argument)).await,
            "accelerator" => self.queue.ask(Operation::Accelerator(argument)).await,
            "exports" => self.queue.ask(Operation::Exports(argument)).await,
            "workers" => self.queue.ask(Operation::Workers(argument)).await,
            "p4" => Err("the switch speaks OpenFlow, and runs no P4 program".into()),
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
        if port != OF_MESSAGES {
            return self.queue.ask(Operation::Capture(argument, file)).await;
        }
        self.messages.begin(name, Some(file), &self.name)?;
        Ok(String::new())
    }

    /// Adds the controllers and listeners of `line`, with its TLS files, probe interval and
    /// back-off, and takes over its fail mode.
    ///
    /// Errors: another process has attached already, `line` is wrong, or a listener cannot be
    /// opened. Nothing has changed then.
    async fn attach(&mut self, line: &str) -> Answer {
        if self.attached.is_some() {
            return Err("another ofprotocol is attached already".into());
        }
        if self.config.past.is_some() {
            return Err(STANDS_STILL.into());
        }
        let options = from_line(line)?;
        let config = Reading::begin(move || options.check())?
            .end_in_time()
            .await?;
        let hub = self.hub.with(settings(
            &config,
            (&self.messages, &self.snoop_clients, &self.recent),
        ));
        let mut attached = Attached::listening(&hub, config).await?;
        let mut all = self.config.controllers.clone();
        all.extend(attached.controllers.iter().cloned());
        let fail_mode = attached.fail_mode;
        self.queue
            .ask(Operation::SetControllers(
                all,
                fail_mode,
                attached.has_fail_mode,
            ))
            .await?;
        attached.connect(&hub);
        self.attached = Some(attached);
        info!("ofprotocol attached: fail mode {fail_mode}");
        Ok(String::new())
    }

    /// Removes what the second process added. Errors: another process takes the switch over, or it
    /// is ending; nothing is removed yet.
    async fn detach(&mut self) -> Answer {
        let controllers = self.config.controllers.clone();
        let follow = Operation::SetControllers(
            controllers,
            self.config.fail_mode,
            self.config.has_fail_mode,
        );
        let answer = self.queue.ask(follow).await?;
        self.attached = None;
        info!("ofprotocol detached");
        Ok(answer)
    }

    /// The configured controllers to which there is no connection, one a line.
    fn unconnected(&self) -> String {
        let targets = self
            .targets
            .iter()
            .map(|(address, target)| (address, target));
        let attached = self.attached.iter().flat_map(Attached::targets);
        let pursuits = targets
            .chain(attached)
            .map(|(address, target)| (address, target.pursuit()));
        let unconnected = pursuits.filter(|(_, pursuit)| *pursuit != Pursuit::Connected);
        unconnected
            .map(|(address, pursuit)| format!("{address} {pursuit}\n"))
            .collect()
    }

    /// Its configuration, without the controllers that `ofprotocol` attached.
    pub fn config(&self) -> &Config {
        &self.config
    }
}

/// Those that see the messages of all connections.
type Watchers<'a> = (&'a MessageCaptures, &'a SnoopClients, &'a RecentMessages);

/// The settings that the connections of `config` share.
fn settings(config: &Config, watchers: Watchers<'_>) -> Settings {
    let mut settings = Settings::new(Arc::clone(&config.catalogue));
    settings.versions.clone_from(&config.versions);
    settings.probe_interval = config.probe_interval;
    settings.max_backoff = config.max_backoff;
    settings.message_rate = config.message_rate;
    settings.packet_in_rate = config.packet_in_rate;
    settings.tls.clone_from(&config.tls);
    settings.auxiliaries.clone_from(&config.auxiliaries);
    settings.is_switch = true;
    let messages = watchers.0.clone();
    let snoop_clients = watchers.1.clone();
    let recent = watchers.2.clone();
    settings.watch = Some(Watch(Arc::new(move |origin, ends, received, bytes| {
        messages.see(ends, received, bytes);
        snoop_clients.see(origin, bytes);
        recent.see(origin, received, bytes);
    })));
    settings
}
