//! A switch that runs: its threads and listeners, what it is told, and how it becomes another.

mod attach;
mod doors;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bofuss_agent::{Identity, Switch};
use bofuss_channel::{
    ActiveAddress, Event, Hub, Listener, PassiveAddress, Settings, Target, Watch,
};
use bofuss_datapath::{Datapath, Time};
use bofuss_frame::Pool;
use bofuss_ports::LinkMonitor;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::{error_span, info, warn};

use crate::capture::{Messages, check_place};
use crate::config::Config;
use crate::dataplane::{Answer, Command, Input, POOL_BYTES, Parts, Plane, Scrape, What};
use crate::port::{self, OpenPort};
use crate::rights::Lock;
use crate::snoop::Readers;
use crate::{control, rights};

use attach::Attached;
use doors::Doors;

/// Events that wait for the data-plane thread at most.
const EVENT_QUEUE: usize = 256;
/// What operators ask and waits for it at most.
const INPUT_QUEUE: usize = 16;
/// How long a switch that starts waits for another that is ending to let go of its name, interfaces
/// and addresses; that takes some 70 ms as a rule.
const ENDING: Duration = Duration::from_secs(2);
/// How long the ports of a switch that ends may take to close.
const LAST_PORTS: Duration = Duration::from_secs(2);

/// What runs before the ports are opened in the data-plane thread, say to enter a network
/// namespace.
pub type Enter = Box<dyn FnOnce() -> Result<(), String> + Send>;

/// What the switches of one process share.
pub struct Shared {
    /// Where their operators' commands go.
    pub requests: mpsc::Sender<control::Request>,
    /// What the process is locked down to.
    pub lock: Option<Arc<Lock>>,
    /// Whether lines of the log name the switch.
    pub are_several: bool,
}

/// The way to the data-plane thread.
#[derive(Clone)]
pub struct Queue(mpsc::Sender<Input>);

impl Queue {
    /// Has the thread do something.
    pub async fn ask(&self, what: What) -> Answer {
        told(self.begin(what).await).await
    }

    /// The same, without waiting for the answer.
    async fn begin(&self, what: What) -> oneshot::Receiver<Answer> {
        let (reply, answered) = oneshot::channel();
        // What it does not take is not answered.
        let _ = self.0.send(Input::Command(Command { what, reply })).await;
        answered
    }

    /// Adds the switch's metrics, slice by slice; `None` if it is ending.
    pub async fn scrape(&self, mut scrape: Box<Scrape>) -> Option<Box<Scrape>> {
        while !scrape.is_done() {
            let (reply, told) = oneshot::channel();
            let _ = self.0.send(Input::Scrape(scrape, reply)).await;
            scrape = told.await.ok()?;
        }
        Some(scrape)
    }
}

/// What the data-plane thread answers.
async fn told(answer: impl Future<Output = Result<Answer, oneshot::error::RecvError>>) -> Answer {
    let answer = answer.await;
    answer.unwrap_or_else(|_| Err("the switch is ending".into()))
}

/// A running switch.
pub struct Running {
    /// Its name.
    pub name: String,
    /// The data-plane thread's end.
    pub done: oneshot::Receiver<Result<(), String>>,
    /// The way to it.
    pub queue: Queue,
    hub: Hub,
    /// What is configured, without what is attached.
    config: Config,
    attached: Option<Attached>,
    targets: Vec<(ActiveAddress, Target)>,
    listeners: Vec<(PassiveAddress, Listener)>,
    messages: Messages,
    readers: Readers,
    doors: Doors,
}

/// A switch that ends: nobody reaches it any more, and its ports may still be open.
pub struct Ending {
    name: String,
    queue: Queue,
    done: oneshot::Receiver<Result<(), String>>,
}

impl Ending {
    /// Has the data-plane thread end, and waits until the ports are closed and their interfaces
    /// have their settings back; not for ever.
    pub async fn wait(self) {
        let end = async {
            // A thread that has ended takes nothing.
            let _ = self.queue.0.send(Input::End).await;
            let _ = self.done.await;
        };
        if timeout(LAST_PORTS, end).await.is_err() {
            warn!(
                "switch {}: its ports are not closed after {LAST_PORTS:?}",
                self.name
            );
        }
    }
}

/// A change of a switch that waits for those of the others. When dropped, nothing has changed.
pub struct Change {
    /// The name of the switch.
    pub name: String,
    config: Config,
    listeners: Vec<(PassiveAddress, Listener)>,
    files: Begun,
    ready: oneshot::Receiver<()>,
    go: oneshot::Sender<()>,
    answer: oneshot::Receiver<Answer>,
}

/// Captures of messages that end when dropped, unless they are taken out.
struct Begun(Messages, Vec<String>);

impl Drop for Begun {
    fn drop(&mut self) {
        self.1.iter().for_each(|file| {
            self.0.end(file);
        });
    }
}

impl Change {
    /// Waits until the data-plane thread can do its part. From then on packets wait.
    ///
    /// Errors: why it cannot.
    pub async fn ready(&mut self) -> Result<(), String> {
        match (&mut self.ready).await {
            Ok(()) => Ok(()),
            Err(_) => told(&mut self.answer).await.map(drop),
        }
    }
}

impl Running {
    /// Waits for controllers and connects to them, as configured. Errors: a sentence for the user.
    async fn begin_connections(&mut self) -> Result<(), String> {
        let end = Instant::now() + ENDING;
        for address in &self.config.listen {
            let listener = doors::listen_until(&self.hub, address, end).await;
            let listener = listener.map_err(|error| format!("--listen {error}"))?;
            self.listeners.push((address.clone(), listener));
        }
        for address in &self.config.controllers {
            let target = self.hub.connect(address.clone());
            self.targets.push((address.clone(), target));
        }
        Ok(())
    }

    /// Tells the log what runs.
    fn tell(&self, datapath_id: u64) {
        let (name, ports, mode) = (&self.name, self.config.ports.len(), self.config.fail_mode);
        info!("switch {name}: datapath id {datapath_id:#018x}, {ports} ports, fail mode {mode}");
        let listeners = self.listeners.iter().map(|(_, listener)| listener);
        for listener in listeners.chain([&self.doors.openflow]) {
            let address = listener.address();
            info!("waiting for controllers and tools on {address}");
        }
    }

    /// Its socket in the run-time directory.
    pub fn socket(&self) -> &Path {
        &self.doors.socket
    }

    /// Whether its configuration names it; else it has the first name that was free.
    pub fn is_named(&self) -> bool {
        self.config.is_named
    }

    /// Takes its sockets away, and lets go of its controllers.
    pub fn close(self) -> Ending {
        // The rest of it goes at the end of this function.
        let Self {
            name, queue, done, ..
        } = self;
        Ending { name, queue, done }
    }

    /// Begins what must have no rights from its beginning: the threads that write.
    ///
    /// Errors: a file that cannot be made.
    pub fn begin_messages(&self) -> Result<(), String> {
        let mut files = self.config.message_files.iter();
        files.try_for_each(|file| self.messages.begin(file, &self.name))
    }

    /// Does what an operator says. Errors: a sentence for the operator.
    pub async fn obey(&mut self, name: &str, argument: String) -> Answer {
        match name {
            "ports" => self.queue.ask(What::Ports).await,
            "add-port" => self.queue.ask(What::AddPort(argument)).await,
            "del-port" => self.queue.ask(What::DelPort(argument)).await,
            "controllers" => self.queue.ask(What::Connections).await,
            "counters" => self.queue.ask(What::Counters).await,
            "queues" => self.queue.ask(What::Queues).await,
            "capture" => {
                let file = argument.split(' ').nth(1).unwrap_or_default();
                check_place(file, self.config.capture_folder.as_deref())?;
                match argument.split_once(' ') {
                    Some(("openflow", file)) => {
                        self.messages.begin(file, &self.name)?;
                        Ok(String::new())
                    }
                    Some(_) | None => self.queue.ask(What::Capture(argument)).await,
                }
            }
            "mirror" => self.queue.ask(What::Mirror(argument)).await,
            "captures" => {
                let ports = self.queue.ask(What::Captures).await?;
                Ok(format!("{}{}{ports}", self.messages, self.readers))
            }
            "end-capture" => {
                // A file may have messages and frames.
                let ended = self.messages.end(&argument);
                match self.queue.ask(What::EndCapture(argument)).await {
                    Err(_) if ended => Ok(String::new()),
                    answer => answer,
                }
            }
            "trace" => self.queue.ask(What::Trace(argument)).await,
            "memory" => self.queue.ask(What::Memory).await,
            "attach" => self.attach(&argument).await,
            "detach" => self.detach().await,
            other => Err(format!("there is no command '{other}' ('list' shows them)")),
        }
    }

    /// Begins to follow a configuration: does what can fail, and has the data-plane thread try its
    /// part.
    ///
    /// Errors: a sentence that begins with the key; nothing is changed then.
    pub async fn begin(&self, config: Config) -> Result<Change, String> {
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
        }
        let mut files = Begun(self.messages.clone(), Vec::new());
        let old = &self.config.message_files;
        for file in config
            .message_files
            .iter()
            .filter(|file| !old.contains(file))
        {
            let begun = self.messages.begin(file, &self.name);
            begun.map_err(|error| format!("--capture openflow {file}: {error}"))?;
            files.1.push(file.clone());
        }
        let (can, ready) = oneshot::channel();
        let (go, may) = oneshot::channel();
        let become_it = What::Reconfigure(Box::new(whole), can, may);
        Ok(Change {
            name: self.name.clone(),
            config,
            listeners,
            files,
            ready,
            go,
            answer: self.queue.begin(become_it).await,
        })
    }

    /// Makes a change that is ready. Errors: the system's; what could be done is done.
    pub async fn complete(&mut self, change: Change) -> Result<(), String> {
        let Change {
            config,
            mut listeners,
            mut files,
            go,
            answer,
            ..
        } = change;
        files.1.clear();
        let _ = go.send(());
        let done = told(answer).await;
        let old = self.config.message_files.iter();
        for gone in old.filter(|file| !config.message_files.contains(file)) {
            self.messages.end(gone);
        }
        self.hub
            .set(settings(&config, &self.messages, &self.readers));
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
pub async fn start(
    mut config: Config,
    shared: &Shared,
    enter: Option<Enter>,
) -> Result<Running, String> {
    let (events, told) = mpsc::channel(EVENT_QUEUE);
    let messages = Messages::default();
    let readers = Readers::default();
    let hub = Hub::new(settings(&config, &messages, &readers), events);
    let doors = doors::open(&mut config, &hub, &shared.requests, &readers).await?;
    let name = config.name.clone();
    let (up, started) = oneshot::channel();
    let (end, done) = oneshot::channel();
    let (inputs, asked) = mpsc::channel(INPUT_QUEUE);
    let (plane_config, lock) = (config.clone(), shared.lock.clone());
    // It is for lines of every level.
    let several = shared.are_several.then(|| error_span!("switch", name));
    thread::Builder::new()
        .name("data-plane".into())
        .spawn(move || {
            let _span = several.map(|span| span.entered());
            let (plane, id) = match build(plane_config, lock.as_deref(), enter, told, asked) {
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
    let mut running = Running {
        name,
        done,
        queue: Queue(inputs),
        hub,
        config,
        attached: None,
        targets: Vec::new(),
        listeners: Vec::new(),
        messages,
        readers,
        doors,
    };
    match running.begin_connections().await {
        Ok(()) => running.tell(datapath_id),
        Err(error) => {
            running.close().wait().await;
            return Err(error);
        }
    }
    Ok(running)
}

/// What the connections of `config` have in common.
fn settings(config: &Config, messages: &Messages, readers: &Readers) -> Settings {
    let mut settings = Settings::new(Arc::clone(&config.catalogue));
    settings.probe_interval = config.probe_interval;
    settings.max_backoff = config.max_backoff;
    settings.message_rate = config.message_rate;
    settings.packet_in_rate = config.packet_in_rate;
    settings.tls.clone_from(&config.tls);
    settings.auxiliaries.clone_from(&config.auxiliaries);
    settings.is_switch = true;
    let (messages, readers) = (messages.clone(), readers.clone());
    settings.watch = Some(Watch(Arc::new(move |origin, ends, received, bytes| {
        messages.see(ends, received, bytes);
        readers.see(origin, bytes);
    })));
    settings
}

/// Listens at an address. Errors: why that cannot be.
async fn listen(hub: &Hub, address: &PassiveAddress) -> Result<(PassiveAddress, Listener), String> {
    let listener = hub.listen(address).await;
    let listener = listener.map_err(|error| format!("--listen {error}"))?;
    Ok((address.clone(), listener))
}

/// Opens the ports and makes the switch, then gives up rights; runs in the data-plane thread.
fn build(
    config: Config,
    lock: Option<&Lock>,
    enter: Option<Enter>,
    events: mpsc::Receiver<Event>,
    inputs: mpsc::Receiver<Input>,
) -> Result<(Plane, u64), String> {
    enter.map_or(Ok(()), |enter| enter())?;
    let monitor = LinkMonitor::open().map_err(|e| format!("watching links: {e}"))?;
    let end = Instant::now() + ENDING;
    let mut ports = Vec::new();
    for spec in &config.ports {
        ports.push(port::open_until(spec, end)?);
    }
    let datapath_id = datapath_id(&config, ports.iter().find_map(OpenPort::mac));
    let pool = Pool::new(POOL_BYTES);
    let switch = make_switch(&config, &pool, datapath_id)?;
    let parts = Parts {
        switch,
        pool,
        ports,
        config,
        events,
        inputs,
        monitor,
    };
    let mut plane = Plane::new(parts)?;
    rights::give_up(lock)?;
    // The threads that write have no rights from their beginning.
    plane.begin_taps()?;
    Ok((plane, datapath_id))
}

/// The configured datapath id, or else that of the first port's address.
pub fn datapath_id(config: &Config, mac: Option<[u8; 6]>) -> u64 {
    let from_mac = mac.map(|mac| mac.iter().fold(0, |id, &byte| id << 8 | u64::from(byte)));
    config.datapath_id.or(from_mac).unwrap_or(1)
}

/// Makes the switch of a configuration, without its ports. Errors: a wrong profile.
pub fn make_switch(config: &Config, pool: &Pool, datapath_id: u64) -> Result<Switch, String> {
    let catalogue = Arc::clone(&config.catalogue);
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
        desc: config.desc.clone(),
    };
    Ok(Switch::new(Time(0), datapath, identity, config.fail_mode))
}
