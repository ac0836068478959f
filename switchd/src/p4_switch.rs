//! `bofuss run --p4`: a switch whose pipeline is a P4 program, from its start to its end.

mod commands;
mod disciplines;
mod exports;
mod links;
mod outlet;
mod plane;
mod queue;
mod runtime;
mod scrape;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bofuss_channel::Reading;
use bofuss_embed::record::P4RecordedConfig;
use bofuss_frame::Pool;
use bofuss_ports::{LinkMonitor, restore_settings_left};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::account::Account;
use crate::config::p4::LoadedSwitch;
use crate::config::{Config, P4Program, table};
use crate::control::{self, CommandRequest};
use crate::dataplane::{Answer, Scrape};
use crate::error::{Error, Result, context};
use crate::manager::Manager;
use crate::metrics::{self, MetricsRequest};
use crate::process::{Hangup, SHUTDOWN_ANSWER_DELAY};
use crate::record::{RecordFile, SwitchRecorder};
use crate::reload::ConfigSource;
use crate::rights::{self, Lock};
use crate::run::{PREDECESSOR_TIMEOUT, open_control};
use crate::runtime::POOL_BYTES;
use crate::{kept, log, port, rundir};

use outlet::ToControllers;
use plane::{Input, P4Plane};
use queue::P4Queue;

/// Limit of the queue to the data-plane thread.
const INPUT_QUEUE: usize = 16;
/// The time that the ports of an ending switch may take to close.
const PORT_CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The keys of which a reload takes over the new value.
const FOLLOWED: &[&str] = &["p4", "p4-entries", "seed", "log"];

/// A configuration that was read again, with the switch that it describes.
type Change = (Option<ConfigSource>, Config, LoadedSwitch);

/// The peer that asked for a reload, if it was no signal.
type Asker = Option<oneshot::Sender<Answer>>;

/// A running switch with a P4 program.
struct P4Process {
    config: Config,
    source: Arc<ConfigSource>,
    queue: P4Queue,
    done: oneshot::Receiver<Result<()>>,
    lock: Option<Arc<Lock>>,
    /// The change of which files are read, and who asked for it, if it was no signal.
    reading: Option<(Reading<Change, Error>, Asker)>,
    /// Until it begins.
    server: Option<runtime::RuntimeServer>,
    _control: control::Socket,
}

/// Runs the switch of `config`, which was read from `source`, until a command or `stop` ends it.
///
/// Errors: a sentence for the user; the system's, which end the switch.
pub async fn serve(
    source: ConfigSource,
    mut config: Config,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let account = Account::instead_of_root(config.lock_down);
    let folder = rundir::directory(account.as_ref()).map_err(context(rundir::RUN_FOLDER))?;
    let own = rundir::own_directory().map_err(context(rundir::RUN_FOLDER))?;
    bofuss_ports::keep_settings_in(own);
    let configs = std::slice::from_ref(&config);
    let lock = Lock::of(configs, &folder, account)?.map(Arc::new);
    let (to, requests) = mpsc::channel(1);
    let control = open_control(&mut config, &folder, &to).await?;
    let program = config.p4.as_mut().ok_or("there is no P4 program")?;
    let loaded = program.take_switch().ok_or("the switch runs already")?;
    let opened = runtime::open(program, config.tls.clone()).await?;
    let (server, controllers) = opened.unzip();
    let (queue, done) = start(&config, loaded, lock.clone(), controllers).await?;
    let process = P4Process {
        config,
        source: Arc::new(source),
        queue: queue.clone(),
        done,
        lock,
        reading: None,
        server,
        _control: control,
    };
    let served = process.run(requests, stop).await;
    let end = queue.0.send(Input::End);
    // A thread that has ended takes no input; the ports close when it drops the queue.
    if timeout(PORT_CLOSE_TIMEOUT, async {
        (end.await, queue.0.closed().await)
    })
    .await
    .is_err()
    {
        warn!("the ports are not closed after {PORT_CLOSE_TIMEOUT:?}");
    }
    served
}

/// Starts the data-plane thread. Returns its queue, and where its end is told. Errors: a sentence.
async fn start(
    config: &Config,
    loaded: LoadedSwitch,
    lock: Option<Arc<Lock>>,
    controllers: Option<ToControllers>,
) -> Result<(P4Queue, oneshot::Receiver<Result<()>>)> {
    let (up, started) = oneshot::channel();
    let (end, done) = oneshot::channel();
    let (inputs, asked) = mpsc::channel(INPUT_QUEUE);
    let its_config = config.clone();
    thread::Builder::new()
        .name("data-plane".into())
        .spawn(move || {
            let mut plane = match build(&its_config, loaded, lock.as_deref(), asked) {
                Ok(plane) => plane,
                Err(error) => return drop(up.send(Err(error))),
            };
            plane.outlet.controllers = controllers;
            #[cfg(feature = "allocator")]
            bofuss_ports::return_memory_in_background();
            if up.send(Ok(())).is_ok() {
                let _ = end.send(plane.run().map_err(context("data plane")));
            }
        })
        .map_err(context("data-plane thread"))?;
    started.await.map_err(|_| "the data-plane thread died")??;
    Ok((P4Queue(inputs), done))
}

/// Opens the ports of the switch and gives up rights, in the data-plane thread. Errors: a sentence.
fn build(
    config: &Config,
    loaded: LoadedSwitch,
    lock: Option<&Lock>,
    inputs: mpsc::Receiver<Input>,
) -> Result<P4Plane> {
    let monitor = LinkMonitor::open().map_err(context("watching links"))?;
    let pool = Pool::new(POOL_BYTES);
    let file = config.record.as_deref().map(RecordFile::open).transpose()?;
    let cpu_port = config.p4.as_ref().and_then(P4Program::cpu_port);
    let run = P4RecordedConfig { cpu_port };
    let begun = file.map(|file| SwitchRecorder::of_p4(file, config, run, pool.clone()));
    let (recorder, writer) = begun.unzip();
    let mut plane = P4Plane::new(loaded.switch, pool, monitor, inputs, config.clone())?;
    plane.outlet.recorder = recorder;
    if let Some(port) = cpu_port {
        plane.switch.set_link(port, true);
    }
    plane.note_all(loaded.inputs);
    let end = Instant::now() + PREDECESSOR_TIMEOUT;
    for spec in &config.ports {
        plane.add_port(port::open_until(spec, 1, end, None)?)?;
    }
    if let Err(error) = restore_settings_left() {
        warn!("settings that killed switches have left: {error}");
    }
    rights::give_up(lock)?;
    // The threads of captures, exports and the record have the rights that are left.
    plane.begin_copiers()?;
    plane.begin_exports();
    if let (Some(recorder), Some(writer)) = (&mut plane.outlet.recorder, writer) {
        recorder.start(writer).map_err(context("record thread"))?;
    }
    Ok(plane)
}

impl P4Process {
    /// Gives up rights, and serves commands, signals and metrics until the end.
    async fn run(
        mut self,
        mut requests: mpsc::Receiver<CommandRequest>,
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        let mut stop = std::pin::pin!(stop);
        let (to, mut scrapes) = mpsc::channel::<MetricsRequest>(1);
        let mut listener = None;
        if let Some(address) = self.config.metrics {
            let open = metrics::listen(address, to).await?;
            info!("metrics: {}", open.address);
            listener = Some(open);
        }
        match &self.lock {
            Some(lock) => lock.close()?,
            None => rights::give_up(None)?,
        }
        let server = self.server.take();
        let server = server.map(|server| server.begin(self.queue.clone()));
        let _server = server.transpose()?;
        self.log_start();
        let mut hangup = Hangup::new(self.source.has_file());
        kept::let_rest_go();
        let mut manager = Manager::find();
        loop {
            tokio::select! {
                ended = &mut self.done => {
                    return ended.unwrap_or_else(|_| Err("the data-plane thread died".into()));
                }
                () = &mut stop => return Ok(()),
                () = Manager::notification_due(&mut manager) => {
                    // If the data-plane thread does not answer, the manager gets no notification.
                    self.queue.ask(|_| ()).await?;
                    manager.iter().for_each(Manager::notify_alive);
                }
                () = hangup.received() => {
                    if !self.source.has_file() {
                        return Ok(());
                    }
                    self.begin_reload(None);
                }
                change = read(&mut self.reading) => self.end_reload(change).await,
                Some(request) = scrapes.recv(), if listener.is_some() => self.answer(request),
                Some(request) = requests.recv() => {
                    if self.obey(request).await {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn log_start(&self) {
        let (name, ports) = (&self.config.name, self.config.ports.len());
        let program = self.config.p4.as_ref().and_then(P4Program::program);
        let program = program.map_or("that a controller sets".into(), Path::to_string_lossy);
        info!("switch {name}: P4 program {program}, {ports} ports");
    }

    /// Carries out a command. Returns true if it ends the switch.
    async fn obey(&mut self, request: CommandRequest) -> bool {
        let CommandRequest {
            name,
            argument,
            file,
            reply,
            switch: _,
        } = request;
        let answer = match name {
            "list" => Ok(control::list()),
            "switches" => Ok(format!("{}\n", self.config.name)),
            "log" => log::set(&argument).map(|()| String::new()),
            "config" | "save-config" => self.source.running(Vec::new()),
            "reload" => {
                self.begin_reload(Some(reply));
                return false;
            }
            "shutdown" => Ok(String::new()),
            of_switch => match commands::obey(&self.queue, of_switch, argument, file).await {
                Some(answer) => answer,
                None => Err(format!("a switch with a P4 program has no command '{name}'").into()),
            },
        };
        // Who asked may be gone.
        let _ = reply.send(answer);
        let ends = name == "shutdown";
        if ends {
            info!("switch {}: ended by command", self.config.name);
            sleep(SHUTDOWN_ANSWER_DELAY).await;
        }
        ends
    }

    /// Collects the metrics.
    fn answer(&self, request: MetricsRequest) {
        let (queue, name) = (self.queue.clone(), self.config.name.clone());
        tokio::spawn(async move {
            let mut samples = Scrape::new(false).samples;
            samples.switch = Some(name);
            let collected = queue.ask(move |plane| {
                scrape::add(plane, &mut samples);
                samples
            });
            if let Ok(samples) = collected.await {
                // Who asked may be gone.
                let _ = request.reply.send(samples);
            }
        });
    }

    /// Begins to read the program again, and the configuration file if there is one.
    fn begin_reload(&mut self, reply: Asker) {
        let program = self.config.p4.as_ref();
        if program.is_some_and(|program| program.runtime.is_some()) {
            let why = "with --p4runtime, controllers set the program: nothing was changed";
            return report(Err(why.into()), reply);
        }
        let (source, config) = (Arc::clone(&self.source), self.config.clone());
        let begun = match &self.reading {
            Some(_) => Err("the files of another change are still being read".into()),
            None => Reading::begin(move || read_again(&source, &config)).map_err(Error::from),
        };
        match begun {
            Ok(reading) => self.reading = Some((reading, reply)),
            Err(error) => report(Err(error), reply),
        }
    }

    /// Lets the new program run, or changes nothing.
    async fn end_reload(&mut self, change: Result<Change>) {
        let reply = self.reading.take().and_then(|(_, reply)| reply);
        let done = match change {
            Ok(change) => self.follow(change).await,
            Err(error) if self.lock.is_some() => Err(rights::explain(error)),
            Err(error) => Err(error),
        };
        report(done, reply);
    }

    async fn follow(&mut self, (source, mut config, loaded): Change) -> Answer {
        self.queue.ask(|plane| plane.replace(loaded)).await?;
        if config.log != self.config.log {
            log::set(&config.log)?;
        }
        config.name.clone_from(&self.config.name);
        self.config = config;
        if let Some(source) = source {
            self.source = Arc::new(source);
        }
        Ok(String::new())
    }
}

/// Waits until the files of a change are read; forever if there is none.
async fn read(reading: &mut Option<(Reading<Change, Error>, Asker)>) -> Result<Change> {
    match reading {
        Some((reading, _)) => reading.end().await,
        None => std::future::pending().await,
    }
}

/// Reads the files again. Errors: what is wrong with them; a key changed that needs a restart.
fn read_again(source: &ConfigSource, old: &Config) -> Result<Change> {
    let (source, mut config) = if source.has_file() {
        let (source, mut configs) = source.read_again()?;
        if configs.len() > 1 {
            return Err("the file describes several switches now".into());
        }
        (Some(source), configs.remove(0))
    } else {
        (None, old.options.clone().check()?)
    };
    let (before, after) = (table(&old.options), table(&config.options));
    let mut keys = before.keys().chain(after.keys());
    let changed =
        |key: &&String| before.get(*key) != after.get(*key) && !FOLLOWED.contains(&key.as_str());
    if let Some(key) = keys.find(changed) {
        let error = format!("{key}: with --p4 a change needs a restart; nothing was changed");
        return Err(error.into());
    }
    let program = config.p4.as_mut();
    let loaded = program.and_then(P4Program::take_switch);
    let loaded = loaded.ok_or("there is no P4 program")?;
    Ok((source, config, loaded))
}

/// Logs the result of a change, and tells it to whoever asked.
fn report(done: Answer, reply: Asker) {
    match &done {
        Ok(_) => info!("the P4 program was read again, and runs"),
        Err(error) => warn!("the P4 program was not changed: {error}"),
    }
    // Who asked may be gone.
    reply.map(|reply| reply.send(done));
}
