//! Starts a switch and has it obey: ports, listeners, the control loop, the end.

mod attach;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bofuss_agent::{Identity, Switch};
use bofuss_channel::{
    ActiveAddress, Endpoint, Event, Hub, Listener, PassiveAddress, Settings, Target,
};
use bofuss_datapath::{Datapath, Time};
use bofuss_frame::Pool;
use bofuss_ports::LinkMonitor;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::{info, warn};

use crate::capture::{Messages, check_place};
use crate::config::Config;
use crate::dataplane::{Answer, Command, Input, POOL_BYTES, Parts, Plane, Scrape, What};
use crate::manager::Manager;
use crate::port::{self, OpenPort};
use crate::reload::Source;
use crate::rights::Lock;
use crate::{control, log, metrics, rights, rundir};

use attach::Attached;

/// Events that wait for the data-plane thread at most.
const EVENT_QUEUE: usize = 256;
/// What operators ask and waits for it at most.
const INPUT_QUEUE: usize = 16;
/// Permission bits of the socket in the run-time directory: any user of the machine that reaches
/// it.
const SOCKET_MODE: u32 = 0o666;

/// How long the switch stays after the command to end, for its answer.
const LAST_ANSWER: Duration = Duration::from_millis(50);

/// How long a packet may be waited for: less than who asks waits for the answer.
const NEXT_PATIENCE: Duration = Duration::from_secs(25);

/// What runs before the ports are opened in the data-plane thread, say to enter a network
/// namespace.
pub type Enter = Box<dyn FnOnce() -> Result<(), String> + Send>;

/// The way to the data-plane thread.
#[derive(Clone)]
struct Queue(mpsc::Sender<Input>);

impl Queue {
    /// Has the thread do something.
    async fn ask(&self, what: What) -> Answer {
        let (reply, answered) = oneshot::channel();
        // What it does not take is not answered.
        let _ = self.0.send(Input::Command(Command { what, reply })).await;
        answered
            .await
            .unwrap_or_else(|_| Err("the switch is ending".into()))
    }

    /// Answers those who ask for metrics at `address`. Errors: why that cannot be.
    async fn tell_metrics(self, address: metrics::Address) -> Result<metrics::Listener, String> {
        let (to, wishes) = mpsc::channel(1);
        let listener = metrics::listen(address, to).await?;
        info!("metrics: {}", listener.address);
        tokio::spawn(self.grant(wishes));
        Ok(listener)
    }

    /// Serves wishes for metrics, one after the other, slice by slice.
    async fn grant(self, mut wishes: mpsc::Receiver<metrics::Wish>) {
        while let Some(wish) = wishes.recv().await {
            let mut scrape = Box::new(Scrape::new(wish.flows));
            while !scrape.is_done() {
                let (reply, told) = oneshot::channel();
                let _ = self.0.send(Input::Scrape(scrape, reply)).await;
                let Ok(more) = told.await else {
                    return;
                };
                scrape = more;
            }
            // Whoever asked may be gone.
            let _ = wish.reply.send(scrape.samples);
        }
    }
}

/// Whether nobody, as nohup does, had SIGHUP ignored when the process began.
fn heeds_hangup() -> bool {
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & HANGUP == 0)
}

/// A running switch.
pub struct Running {
    /// Its socket in the run-time directory.
    pub socket: PathBuf,
    done: oneshot::Receiver<Result<(), String>>,
    queue: Queue,
    hub: Hub,
    /// What can be read again.
    source: Option<Source>,
    /// What is configured, without what is attached.
    config: Config,
    /// What it is locked down to.
    lock: Option<Arc<Lock>>,
    attached: Option<Attached>,
    targets: Vec<(ActiveAddress, Target)>,
    listeners: Vec<(PassiveAddress, Listener)>,
    metrics: Option<metrics::Listener>,
    messages: Messages,
    commands: mpsc::Receiver<control::Request>,
    _own: Listener,
    _control: control::Socket,
}

impl Running {
    /// Gives up the rights that were needed to start. Errors: the system's, in a sentence.
    pub fn give_up_rights(&self) -> Result<(), String> {
        match &self.lock {
            Some(lock) => lock.close(),
            None => rights::give_up(None),
        }?;
        // The threads that write have no rights from their beginning.
        let mut files = self.config.message_files.iter();
        files.try_for_each(|file| self.messages.begin(file))
    }

    /// Serves commands until one, or `stop`, ends the switch.
    ///
    /// Errors: the data-plane thread's end.
    pub async fn until(mut self, stop: impl Future<Output = ()>) -> Result<(), String> {
        let mut stop = std::pin::pin!(stop);
        // Without a file, the end of a terminal ends the switch as it ends other programs.
        let reloads = self.source.as_ref().is_some_and(|source| source.has_file());
        let hangup = (reloads || heeds_hangup()).then(|| signal(SignalKind::hangup()).ok());
        let mut hangup = hangup.flatten();
        let queue = self.queue.clone();
        let alive = async || drop(queue.ask(What::Memory).await);
        let mut telling = std::pin::pin!(async {
            match Manager::find() {
                Some(manager) => manager.follow(alive).await,
                None => std::future::pending().await,
            }
        });
        loop {
            let hung_up = async {
                match &mut hangup {
                    Some(signal) => signal.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ended = &mut self.done => {
                    return ended.unwrap_or_else(|_| Err("the data-plane thread died".into()));
                }
                () = &mut stop => return Ok(()),
                () = &mut telling => {}
                _ = hung_up => {
                    if !reloads {
                        return Ok(());
                    }
                    drop(self.obey("reload", String::new()).await);
                }
                Some(request) = self.commands.recv() => {
                    if request.name == "trace-next" {
                        tokio::spawn(trace_next(self.queue.clone(), request));
                        continue;
                    }
                    let is_last = request.name == "shutdown";
                    let answer = self.obey(request.name, request.argument).await;
                    let _ = request.reply.send(answer);
                    if is_last {
                        info!("ended by command");
                        // Whoever asked gets its answer first.
                        tokio::time::sleep(LAST_ANSWER).await;
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn obey(&mut self, name: &str, argument: String) -> Answer {
        let mut answer = self.try_to(name, argument).await;
        if self.lock.is_some() {
            answer = answer.map_err(rights::explain);
        }
        match &answer {
            Ok(_) if name == "reload" => info!("the configuration was read again"),
            Err(error) if name == "reload" => warn!("the configuration stays: {error}"),
            Ok(_) | Err(_) => {}
        }
        answer
    }

    async fn try_to(&mut self, name: &str, argument: String) -> Answer {
        match name {
            "list" => Ok(control::list()),
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
                    Some(("openflow", file)) => self.messages.begin(file).map(|()| String::new()),
                    Some(_) | None => self.queue.ask(What::Capture(argument)).await,
                }
            }
            "mirror" => self.queue.ask(What::Mirror(argument)).await,
            "captures" => {
                let ports = self.queue.ask(What::Captures).await?;
                Ok(format!("{}{ports}", self.messages))
            }
            "end-capture" if self.messages.end(&argument) => Ok(String::new()),
            "end-capture" => self.queue.ask(What::EndCapture(argument)).await,
            "trace" => self.queue.ask(What::Trace(argument)).await,
            "memory" => self.queue.ask(What::Memory).await,
            "log" => log::set(&argument).map(|()| String::new()),
            "reload" => self.reload().await,
            "attach" => self.attach(&argument).await,
            "detach" => self.detach().await,
            "shutdown" => Ok(String::new()),
            other => Err(format!("there is no command '{other}' ('list' shows them)")),
        }
    }

    /// Becomes what the file now says, or stays as it is: what can fail comes first, and what it
    /// opened goes if it does.
    async fn reload(&mut self) -> Answer {
        let source = self
            .source
            .as_ref()
            .ok_or("there is no configuration file")?;
        let (source, config) = source.read_again()?;
        let followed = self.follow(config).await;
        followed.map_err(|error| source.located(error))?;
        self.source = Some(source);
        Ok(String::new())
    }

    /// Follows a configuration. What can fail comes first, and what it opened goes if it does.
    async fn follow(&mut self, config: Config) -> Answer {
        let mut listeners = Vec::new();
        for address in &config.listen {
            if !self.listeners.iter().any(|(old, _)| old == address) {
                listeners.push(listen(&self.hub, address, None).await?);
            }
        }
        let metrics = match config.metrics {
            Some(address) if self.config.metrics != config.metrics => {
                Some(self.queue.clone().tell_metrics(address).await?)
            }
            Some(_) | None => None,
        };
        let mut whole = config.clone();
        if let Some(attached) = &self.attached {
            whole.controllers.extend(attached.controllers.clone());
            whole.fail_mode = attached.fail_mode;
        }
        let (old, new) = (&self.config.message_files, &config.message_files);
        let files = new.iter().filter(|file| !old.contains(file));
        let files: Vec<&String> = files.collect();
        for (begun, file) in files.iter().enumerate() {
            if let Err(error) = self.messages.begin(file) {
                self.end_messages(&files[..begun]);
                return Err(format!("--capture openflow {file}: {error}"));
            }
        }
        if let Err(error) = self.queue.ask(What::Become(Box::new(whole))).await {
            self.end_messages(&files);
            return Err(error);
        }
        let gone = old.iter().filter(|file| !new.contains(file));
        self.end_messages(&gone.collect::<Vec<_>>());
        if self.config.log != config.log {
            log::set(&config.log)?;
        }
        self.hub.set(settings(&config, &self.messages));
        if self.config.metrics != config.metrics {
            self.metrics = metrics;
        }
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
        Ok(String::new())
    }

    fn end_messages(&self, files: &[&String]) {
        for file in files {
            self.messages.end(file);
        }
    }
}

/// Starts the switch of `config`, which came from `source`. Errors: a sentence for the user.
pub async fn start(
    config: Config,
    source: Option<Source>,
    enter: Option<Enter>,
) -> Result<Running, String> {
    let socket = rundir::socket(&config.name).map_err(|e| format!("run-time directory: {e}"))?;
    let lock = Lock::of(&config, &socket)?.map(Arc::new);
    let (up, started) = oneshot::channel();
    let (end, done) = oneshot::channel();
    let (events, told) = mpsc::channel(EVENT_QUEUE);
    let (inputs, asked) = mpsc::channel(INPUT_QUEUE);
    let (plane_config, plane_lock) = (config.clone(), lock.clone());
    thread::Builder::new()
        .name("data-plane".into())
        .spawn(move || {
            let lock = plane_lock.as_deref();
            let (plane, id) = match build(plane_config, lock, enter, told, asked) {
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
    let queue = Queue(inputs);
    let messages = Messages::default();
    let hub = Hub::new(settings(&config, &messages), events);
    let own = PassiveAddress(Endpoint::Unix(socket.clone()));
    let (_, own) = listen(&hub, &own, Some(SOCKET_MODE)).await?;
    let metrics = match config.metrics {
        Some(address) => Some(queue.clone().tell_metrics(address).await?),
        None => None,
    };
    let (requests, commands) = mpsc::channel(1);
    // Whoever has the socket above may replace what another left here.
    let control = control::listen(&socket.with_extension("ctl"), requests)
        .map_err(|error| format!("control socket: {error}"))?;
    let mut listeners = Vec::new();
    for address in &config.listen {
        listeners.push(listen(&hub, address, None).await?);
    }
    let connect = |address: &ActiveAddress| (address.clone(), hub.connect(address.clone()));
    let targets = config.controllers.iter().map(connect).collect();
    let (name, ports, mode) = (&config.name, config.ports.len(), config.fail_mode);
    info!("switch {name}: datapath id {datapath_id:#018x}, {ports} ports, {mode:?}");
    for listener in listeners.iter().map(|(_, listener)| listener).chain([&own]) {
        let address = listener.address();
        info!("waiting for controllers and tools on {address}");
    }
    Ok(Running {
        socket,
        done,
        queue,
        hub,
        source,
        config,
        lock,
        attached: None,
        targets,
        listeners,
        metrics,
        messages,
        commands,
        _own: own,
        _control: control,
    })
}

/// What the connections of `config` have in common.
fn settings(config: &Config, messages: &Messages) -> Settings {
    let mut settings = Settings::new(Arc::new(bofuss_ext::catalogue()));
    settings.probe_interval = config.probe_interval;
    settings.max_backoff = config.max_backoff;
    settings.message_rate = config.message_rate;
    settings.packet_in_rate = config.packet_in_rate;
    settings.tls.clone_from(&config.tls);
    settings.auxiliaries.clone_from(&config.auxiliaries);
    settings.watch = Some(messages.watch());
    settings
}

/// Listens at an address. Errors: why that cannot be.
async fn listen(
    hub: &Hub,
    address: &PassiveAddress,
    mode: Option<u32>,
) -> Result<(PassiveAddress, Listener), String> {
    let listener = hub.listen(address, mode).await;
    let listener = listener.map_err(|error| format!("--listen {error}"))?;
    Ok((address.clone(), listener))
}

/// Answers with the way of the next packet that matches; other commands need not wait for it.
async fn trace_next(queue: Queue, request: control::Request) {
    let told = timeout(NEXT_PATIENCE, queue.ask(What::TraceNext(request.argument))).await;
    let none = || Err(format!("no such packet came within {NEXT_PATIENCE:?}"));
    let _ = request.reply.send(told.unwrap_or_else(|_| none()));
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
    let ports: Result<Vec<_>, _> = config.ports.iter().map(port::open).collect();
    let ports = ports?;
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
        desc: config.desc.clone(),
    };
    Ok(Switch::new(Time(0), datapath, identity, config.fail_mode))
}
