//! The process: one switch or several, their commands, signals, reloads and the end.

mod changes;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bofuss_channel::Reading;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tracing::info;

use crate::account::Account;
use crate::config::Config;
use crate::control::CommandRequest;
use crate::dataplane::{Answer, Operation, Scrape};
use crate::edits;
use crate::error::{Error, Result, context};
use crate::manager::Manager;
use crate::metrics::{self, Address, MetricsRequest};
use crate::reload::ConfigSource;
use crate::rights::Lock;
use crate::run::start::{Prepared, prepare};
use crate::run::{DataPlaneQueue, Enter, Running, Shared, kept_names};
use crate::successor::{HAND_OVER, LEAVE};
use crate::{control, kept, log, rights, rundir};

/// The time that a switch runs on after the command `shutdown`, so that its answer arrives.
pub const SHUTDOWN_ANSWER_DELAY: Duration = Duration::from_millis(50);

/// The time that `trace-next` waits for a packet: less than the client waits for the answer.
const TRACE_NEXT_TIMEOUT: Duration = Duration::from_secs(25);

/// Returns true if the process ignores SIGHUP, as it does from the start under `nohup`.
fn ignores_sighup() -> bool {
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask & HANGUP != 0)
}

/// A configuration that is to be applied.
enum Change {
    /// Of all switches: the file was read again.
    Reread(ConfigSource, Vec<Config>),
    /// Of one switch, by a command; with the effects that the changed keys have as a rule.
    Edited(ConfigSource, Box<Config>, String),
}

/// Reads what a change needs, in a thread of its own.
type ReadChange = Box<dyn FnOnce(&ConfigSource) -> Result<Change> + Send>;

/// The peer that asked for a reload, if it was no signal.
type Asker = Option<oneshot::Sender<Answer>>;

/// The running switches, in the order of the configuration file.
pub struct Process {
    switches: Vec<Running>,
    shared: Shared,
    /// The configuration's source, for reloads.
    source: Arc<ConfigSource>,
    /// The change in progress, of which files are read.
    reading: Option<(Reading<Change, Error>, Asker)>,
    /// Those that wait for it: at most one for each command that is carried out at a time.
    waiting: VecDeque<(Asker, ReadChange)>,
    log: String,
    /// The address of the metrics, and the listener there.
    metrics: (Option<Address>, Option<metrics::MetricsListener>),
    metrics_requests: (mpsc::Sender<MetricsRequest>, mpsc::Receiver<MetricsRequest>),
    requests: mpsc::Receiver<CommandRequest>,
}

/// A process whose switches are built. Those that replace others take over in [`Self::complete`],
/// or not at all if this is dropped.
pub struct PreparedProcess {
    process: Process,
    address: Option<Address>,
    prepared: Vec<(String, Prepared)>,
}

impl PreparedProcess {
    /// Completes the start of all switches. Errors: as of [`Process::start`].
    pub async fn complete(self) -> Result<Process> {
        let Self {
            process: mut this,
            address,
            prepared,
        } = self;
        for (name, switch) in prepared {
            match switch.complete(&this.shared).await {
                Ok(started) => this.switches.push(started),
                Err(error) => {
                    this.end().await;
                    return Err(this.named(&name, error));
                }
            }
        }
        match this.listen(address).await {
            Ok(listener) => this.metrics = (address, listener),
            Err(error) => {
                this.end().await;
                return Err(error);
            }
        }
        Ok(this)
    }
}

impl Process {
    /// Starts the switches of `configs`, of which there is at least one; they were read from
    /// `source`. `enter` is run for the first. Errors: a sentence for the user.
    pub async fn start(
        configs: Vec<Config>,
        source: ConfigSource,
        enter: Option<Enter>,
    ) -> Result<Self> {
        let prepared = Self::prepare(configs, source, enter).await?;
        prepared.complete().await
    }

    /// Builds the switches; those that replace others do not take over yet. Errors: as of
    /// [`Self::start`].
    pub async fn prepare(
        configs: Vec<Config>,
        source: ConfigSource,
        mut enter: Option<Enter>,
    ) -> Result<PreparedProcess> {
        let account = Account::instead_of_root(configs.iter().any(|config| config.lock_down));
        let folder = rundir::directory(account.as_ref()).map_err(context(rundir::RUN_FOLDER))?;
        bofuss_ports::keep_settings_in(
            rundir::own_directory().map_err(context(rundir::RUN_FOLDER))?,
        );
        let (to, requests) = mpsc::channel(1);
        let shared = Shared {
            requests: to,
            lock: Lock::of(&configs, &folder, account)?.map(Arc::new),
            folder,
            are_several: configs.len() > 1,
        };
        let log = configs[0].log.clone();
        let address = configs[0].metrics;
        let this = Self {
            switches: Vec::new(),
            shared,
            source: Arc::new(source),
            reading: None,
            waiting: VecDeque::new(),
            log,
            metrics: (None, None),
            metrics_requests: mpsc::channel(1),
            requests,
        };
        let mut prepared = Vec::new();
        for config in configs {
            let name = config.name.clone();
            match prepare(config, &this.shared, enter.take()).await {
                Ok(switch) => prepared.push((name, switch)),
                Err(error) => {
                    for (_, switch) in prepared {
                        switch.end().await;
                    }
                    return Err(this.named(&name, error));
                }
            }
        }
        Ok(PreparedProcess {
            process: this,
            address,
            prepared,
        })
    }

    /// The error of a switch, with its name if there are several.
    fn named(&self, name: &str, error: Error) -> Error {
        if self.shared.are_several {
            context(format_args!("switch {name}"))(error)
        } else {
            error
        }
    }

    /// Closes all switches, and waits until their ports are closed.
    async fn end(&mut self) {
        let endings: Vec<_> = self.switches.drain(..).map(Running::close).collect();
        for ending in endings {
            ending.wait().await;
        }
    }

    /// The OpenFlow socket of the first switch.
    pub fn socket(&self) -> &Path {
        self.switches[0].socket()
    }

    /// Gives up the rights that only the start needs. Errors: the system's, in a sentence.
    fn give_up_rights(&self) -> Result<()> {
        match &self.shared.lock {
            Some(lock) => lock.close(),
            None => rights::give_up(None),
        }?;
        self.switches.iter().try_for_each(Running::begin_messages)
    }

    /// Serves metrics at `address`. Errors: why it cannot.
    async fn listen(&self, address: Option<Address>) -> Result<Option<metrics::MetricsListener>> {
        let Some(address) = address else {
            return Ok(None);
        };
        let listener = metrics::listen(address, self.metrics_requests.0.clone()).await?;
        info!("metrics: {}", listener.address);
        Ok(Some(listener))
    }

    /// Reports with `ready` that the switches run, gives up the rights that only the start needs,
    /// and serves commands until one of them, or `stop`, ends the last switch. What `ready` returns
    /// is kept until then.
    ///
    /// Errors: that of `ready`, rights that cannot be given up, or the error that ended a
    /// data-plane thread. All switches are closed then, too.
    pub async fn run<T>(
        mut self,
        ready: impl FnOnce() -> Result<T>,
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        let prepared = ready().and_then(|kept| self.give_up_rights().map(|()| kept));
        match prepared {
            Ok(_kept) => self.until(stop).await,
            Err(error) => {
                self.end().await;
                Err(error)
            }
        }
    }

    /// Serves commands until one of them, or `stop`, ends the last switch.
    ///
    /// Errors: the error that ended a data-plane thread.
    pub async fn until(mut self, stop: impl Future<Output = ()>) -> Result<()> {
        let served = self.serve(stop).await;
        self.end().await;
        served
    }

    async fn serve(&mut self, stop: impl Future<Output = ()>) -> Result<()> {
        let mut stop = std::pin::pin!(stop);
        let reloads = self.source.has_file();
        let mut hangup = Hangup::new(reloads);
        kept::let_rest_go();
        let mut manager = Manager::find();
        while !self.switches.is_empty() {
            tokio::select! {
                (at, ended) = ended(&mut self.switches) => {
                    self.switches.remove(at);
                    return ended;
                }
                () = &mut stop => return Ok(()),
                () = Manager::notification_due(&mut manager) => {
                    for switch in &self.switches {
                        // If a data-plane thread does not answer, the manager gets no watchdog
                        // notification.
                        drop(switch.queue.ask(Operation::Memory).await);
                    }
                    manager.iter().for_each(Manager::notify_alive);
                }
                () = hangup.received() => {
                    if !reloads {
                        return Ok(());
                    }
                    self.begin_reload(None);
                }
                (read, reply) = finished(&mut self.reading) => self.end_change(read, reply).await,
                Some(request) = self.metrics_requests.1.recv() => {
                    let switches = self.switches.iter();
                    let queues = switches.map(|switch| (switch.name.clone(), switch.queue.clone()));
                    tokio::spawn(answer_metrics(request, queues.collect()));
                }
                Some(request) = self.requests.recv() => self.obey(request).await,
            }
        }
        Ok(())
    }

    /// Carries out a command of an operator, for one switch or all.
    async fn obey(&mut self, request: CommandRequest) {
        let CommandRequest {
            switch,
            name,
            argument,
            file,
            reply,
        } = request;
        let mut switches = self.switches.iter();
        let Some(at) = switches.position(|running| *running.name == *switch) else {
            return;
        };
        let answer = match name {
            "list" => Ok(control::list()),
            "switches" => {
                let names = self
                    .switches
                    .iter()
                    .map(|switch| format!("{}\n", switch.name));
                Ok(names.collect())
            }
            "log" => log::set(&argument).map(|()| String::new()),
            "reload" => return self.begin_reload(Some(reply)),
            "config" | "save-config" => self.configuration().await,
            "shutdown" => Ok(String::new()),
            HAND_OVER => {
                let requests = self.shared.requests.clone();
                let connection = file.ok_or_else(|| "there is no connection".into());
                connection.and_then(|connection| {
                    self.switches[at].hand_over(OwnedFd::from(connection).into(), requests)
                })
            }
            LEAVE => {
                let _ = reply.send(Ok(String::new()));
                if let Some(connection) = file {
                    return self.leave(at, OwnedFd::from(connection).into()).await;
                }
                return;
            }
            "trace-next" => {
                let queue = self.switches[at].queue.clone();
                tokio::spawn(trace_next(queue, argument, reply));
                return;
            }
            "flows" | "groups" | "meters" | "paths" => {
                let queue = self.switches[at].queue.clone();
                tokio::spawn(async move {
                    // The requester may be gone.
                    let _ = reply.send(queue.page(name, &argument).await);
                });
                return;
            }
            of_switch => {
                if let Some(edit) = edits::of_command(of_switch) {
                    return self.begin_edit(&switch, edit, argument, reply);
                }
                let answer = self.switches[at].obey(of_switch, argument, file).await;
                self.explained(answer)
            }
        };
        let _ = reply.send(answer);
        if name == "shutdown" {
            info!("switch {switch}: ended by command");
            // The requester gets its answer first.
            sleep(SHUTDOWN_ANSWER_DELAY).await;
            let ended = self.switches.remove(at);
            if !self.switches.is_empty() {
                self.let_go(ended.config());
            }
            ended.close().wait().await;
        }
    }

    /// Has the service manager keep no longer what a switch has opened that is not, or no longer,
    /// one of these; the process goes on.
    fn let_go(&self, gone: &Config) {
        let all = self.switches.iter();
        let kept: Vec<String> = all.flat_map(|one| kept_names(one.config())).collect();
        let mut names = kept_names(gone);
        names.retain(|name| !kept.contains(name));
        names.iter().for_each(|name| kept::let_go(name));
    }

    /// Ends a switch whose successor is ready.
    async fn leave(&mut self, at: usize, successor: UnixStream) {
        if self.switches.len() == 1 {
            // The successor serves metrics at the same address.
            self.metrics.1 = None;
        }
        self.switches.remove(at).close().leave(successor).await;
    }

    /// The configuration as it is now, also with datapath ids that the ports would not give again.
    async fn configuration(&self) -> Answer {
        let mut kept = Vec::new();
        for switch in &self.switches {
            let id = switch.queue.ask(Operation::KeptDatapathId).await?;
            if !id.is_empty() {
                kept.push((switch.name.as_str(), id));
            }
        }
        self.source.running(kept)
    }

    /// Explains an error that a locked-down process gets for lack of rights.
    fn explained(&self, answer: Answer) -> Answer {
        match &self.shared.lock {
            Some(_) => answer.map_err(rights::explain),
            None => answer,
        }
    }
}

/// Traces the next packet that matches, unless the requester leaves or none comes in time; then the
/// switch waits for it no more.
async fn trace_next(
    queue: DataPlaneQueue,
    argument: String,
    mut reply: oneshot::Sender<Result<String>>,
) {
    let traced = timeout(
        TRACE_NEXT_TIMEOUT,
        queue.ask(Operation::TraceNext(argument)),
    );
    let answer = tokio::select! {
        answer = traced => answer.ok(),
        () = reply.closed() => None,
    };
    if answer.is_none() {
        let _ = queue.ask(Operation::ForgetTraces).await;
    }
    let seconds = TRACE_NEXT_TIMEOUT.as_secs();
    let none = || Err(format!("no such packet arrived within {seconds} s").into());
    // The requester may be gone.
    let _ = reply.send(answer.unwrap_or_else(none));
}

/// Waits until one of the switches ends. Returns its place among them and its result.
async fn ended(switches: &mut [Running]) -> (usize, Result<()>) {
    std::future::poll_fn(|context| {
        for (at, switch) in switches.iter_mut().enumerate() {
            if let Poll::Ready(end) = Pin::new(&mut switch.done).poll(context) {
                return Poll::Ready((
                    at,
                    end.unwrap_or_else(|_| Err("the data-plane thread died".into())),
                ));
            }
        }
        Poll::Pending
    })
    .await
}

/// Waits until the files of a change are read; forever if there is none.
async fn finished(
    current: &mut Option<(Reading<Change, Error>, Asker)>,
) -> (Result<Change>, Asker) {
    let Some((reading, _)) = current else {
        return std::future::pending().await;
    };
    let read = reading.end().await;
    (read, current.take().and_then(|(_, reply)| reply))
}

/// SIGHUP. Without a configuration file, closing the terminal ends the switch, as it ends other
/// programs, unless the process ignores it.
pub struct Hangup(Option<Signal>);

impl Hangup {
    /// Takes the signal; `reloads` is whether there is a file to read again.
    pub fn new(reloads: bool) -> Self {
        let is_taken = reloads || !ignores_sighup();
        Self(
            is_taken
                .then(|| signal(SignalKind::hangup()).ok())
                .flatten(),
        )
    }

    /// Waits for the signal; forever if it is not taken.
    pub async fn received(&mut self) {
        match &mut self.0 {
            Some(signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }
}

/// Collects the metrics of all switches, one after the other.
async fn answer_metrics(request: MetricsRequest, queues: Vec<(String, DataPlaneQueue)>) {
    let mut scrape = Box::new(Scrape::new(request.flows));
    for (name, queue) in queues {
        scrape.begin(name);
        let Some(more) = queue.collect(scrape).await else {
            return;
        };
        scrape = more;
    }
    // The requester may be gone.
    let _ = request.reply.send(scrape.samples);
}
