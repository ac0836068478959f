//! Starts a switch: builds it, lets it take over the one that it replaces, opens its connections.

use std::thread;

use bofuss_channel::{Endpoint, Event, Hub, Listener, PassiveAddress};
use tokio::sync::{mpsc, oneshot};
use tracing::error_span;

use super::build::{build, build_past};
use super::sockets::RunSockets;
use super::take_over::{self, Go, LeftListeners};
use super::{
    ClosingSwitch, DataPlaneQueue, EVENT_QUEUE, Enter, INPUT_QUEUE, PORT_CLOSE_TIMEOUT, Running,
    Shared, Watchers, settings,
};
use crate::capture::MessageCaptures;
use crate::config::Config;
use crate::error::{Error, Result, context};
use crate::recent::RecentMessages;
use crate::snoop::SnoopClients;
use crate::successor::Predecessor;

/// The number of the first connection to a switch of the past, whose own have smaller ones.
const AFTER_PAST: u64 = 1 << 32;

/// A switch that is built, but does not take over the one that it replaces before the others of its
/// process can start, too. If this is dropped, it does not.
pub struct Prepared {
    config: Config,
    hub: Hub,
    messages: MessageCaptures,
    snoop_clients: SnoopClients,
    recent: RecentMessages,
    /// Its sockets, unless the switch that it replaces has them.
    sockets: Option<RunSockets>,
    listeners: Vec<(PassiveAddress, Listener)>,
    /// Lets the data-plane thread take over.
    go: Go,
    started: oneshot::Receiver<Result<Started>>,
    has_started: Option<Started>,
    done: oneshot::Receiver<Result<()>>,
    queue: DataPlaneQueue,
}

/// The datapath id of a switch that has started, and what is left of the one that it replaces.
type Started = (u64, Option<Predecessor>);

/// Starts the switch of `config`. Errors: a sentence for the user.
pub async fn start(config: Config, shared: &Shared, enter: Option<Enter>) -> Result<Running> {
    let prepared = prepare(config, shared, enter).await?;
    prepared.complete(shared).await
}

/// Builds the switch of `config`. Errors: a sentence for the user.
pub async fn prepare(
    mut config: Config,
    shared: &Shared,
    enter: Option<Enter>,
) -> Result<Prepared> {
    let (events, received) = mpsc::channel(EVENT_QUEUE);
    let messages = MessageCaptures::default();
    let snoop_clients = SnoopClients::default();
    let recent = RecentMessages::default();
    let watchers = (&messages, &snoop_clients, &recent);
    let hub = hub(&config, watchers, events);
    let replaced = take_over::replaced(&mut config)?;
    let mut sockets = None;
    if replaced.is_none() {
        sockets = Some(
            shared
                .open_sockets(&mut config, &hub, &snoop_clients)
                .await?,
        );
    }
    let (up, started) = oneshot::channel();
    let (end, done) = oneshot::channel();
    let (inputs, asked) = mpsc::channel(INPUT_QUEUE);
    let (go, mut gate) = take_over::gate();
    let plane_config = config.clone();
    let lock = shared.lock.clone();
    let of_past = recent.clone();
    // At a lower level than error, a filter for errors would remove the name from their lines.
    let several = shared
        .are_several
        .then(|| error_span!("switch", config.name));
    thread::Builder::new()
        .name("data-plane".into())
        .spawn(move || {
            let _span = several.map(|span| span.entered());
            let predecessor = replaced.map(|path| Predecessor::ask(&path)).transpose();
            let built = predecessor.and_then(|mut predecessor| {
                let ways = (&mut predecessor, &mut gate);
                let queues = (received, asked);
                let lock = lock.as_deref();
                let (plane, id) = match plane_config.past.clone() {
                    Some(moment) => build_past(plane_config, &*moment, &of_past, lock, queues)?,
                    None => build(plane_config, lock, enter, ways, queues)?,
                };
                Ok((plane, (id, predecessor)))
            });
            let (plane, started) = match built {
                Ok(built) => built,
                Err(error) => return drop(up.send(Err(error))),
            };
            // After the rights are given up: the thread that it starts gets what is left.
            #[cfg(feature = "allocator")]
            bofuss_ports::return_memory_in_background();
            if up.send(Ok(started)).is_ok() {
                let _ = end.send(plane.run().map_err(context("data plane")));
            }
        })
        .map_err(context("data-plane thread"))?;
    let mut prepared = Prepared {
        config,
        hub,
        messages,
        snoop_clients,
        recent,
        sockets,
        listeners: Vec::new(),
        go,
        started,
        has_started: None,
        done,
        queue: DataPlaneQueue(inputs),
    };
    prepared.wait().await?;
    Ok(prepared)
}

/// A hub for the connections of a switch.
fn hub(config: &Config, watchers: Watchers<'_>, events: mpsc::Sender<Event>) -> Hub {
    let hub = Hub::new(settings(config, watchers), events);
    if config.past.is_some() {
        hub.number_from(AFTER_PAST);
    }
    hub
}

impl Prepared {
    /// Waits until it is at the gate, or has started if it replaces none. Errors: a sentence for
    /// the user.
    async fn wait(&mut self) -> Result<()> {
        let left = match self.sockets {
            Some(_) => None,
            None => self.go.left().await,
        };
        match left {
            Some(left) => self.listen(left).await?,
            // It replaces none, or has ended.
            None => self.has_started = Some(self.started().await?),
        }
        Ok(())
    }

    /// Listens where the switch that it replaces does, with its sockets, and where that does not;
    /// at files later. Errors: a sentence for the user.
    async fn listen(&mut self, mut left: LeftListeners) -> Result<()> {
        for address in &self.config.listen {
            let name = address.to_string();
            let found = left.iter().position(|socket| socket.0 == name);
            let listener = match (found, &address.0) {
                (Some(at), _) => self.hub.listen_on(address, left.swap_remove(at).1),
                (None, Endpoint::Unix(_)) => continue,
                (None, Endpoint::Tcp { .. } | Endpoint::Tls { .. }) => {
                    self.hub.listen(address).await
                }
            };
            let listener = listener
                .map_err(|error| Error::from(error).map(|text| format!("--listen {text}")))?;
            self.listeners.push((address.clone(), listener));
        }
        Ok(())
    }

    async fn started(&mut self) -> Result<Started> {
        if let Some(started) = self.has_started.take() {
            return Ok(started);
        }
        let started = (&mut self.started).await;
        started.map_err(|_| "the data-plane thread died".to_string())?
    }

    /// Ends it, and waits until its ports are closed.
    pub async fn end(self) {
        // One that would replace another leaves that alone.
        drop(self.go);
        let closing = ClosingSwitch {
            name: self.config.name,
            queue: self.queue,
            done: self.done,
            timeout: PORT_CLOSE_TIMEOUT,
        };
        closing.wait().await;
    }

    /// Lets it take over, and opens its connections. Errors: a sentence for the user.
    pub async fn complete(mut self, shared: &Shared) -> Result<Running> {
        self.go.go();
        let (datapath_id, predecessor) = self.started().await?;
        let Self {
            mut config,
            hub,
            messages,
            snoop_clients,
            recent,
            sockets,
            listeners,
            done,
            queue,
            ..
        } = self;
        if let Some(predecessor) = predecessor {
            tokio::spawn(queue.clone().follow(predecessor));
        }
        let sockets = match sockets {
            Some(sockets) => sockets,
            // Its predecessor has closed them.
            None => {
                shared
                    .open_sockets(&mut config, &hub, &snoop_clients)
                    .await?
            }
        };
        let mut running = Running {
            name: config.name.clone(),
            done,
            queue,
            hub,
            config,
            attached: None,
            targets: Vec::new(),
            listeners,
            messages,
            snoop_clients,
            recent,
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
}
